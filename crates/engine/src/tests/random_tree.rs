//! A crew on the stage: agents with a channel for their mail, a clock that can be set, and a daemon that can die.

use proto::agent::{Composer, Delivery, Source};
use proto::request::{ChangeTimer, Close, SetTimer, Target, TimerChange, TimerWatch, TimerWhen};
use proto::timers::{TimerStatus, TimerView};
use proto::{AgentState, Evidence, Failure, Reply};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, target};
use crate::input::ChildExit;
use crate::{
    Caller, Command, Config, Effect, Engine, HandOver, Input, Launched, MailRecord, Moment, Principal,
    Record, RunFact, RunKey, ScreenSeen, Ticket,
};

pub(super) struct Crew {
    pub(super) stage: Stage,
    /// How far the wall clock is off, in milliseconds.
    pub(super) wall_shift: i64,
    /// Effects already carried out.
    seen: usize,
    /// Every message that was handed over, to which run.
    pub(super) messages: Vec<(RunKey, String)>,
    next_ticket: u64,
}

impl Crew {
    pub(super) fn new() -> Self {
        let config = Config { max_processes: 500, ..Config::default() };
        let stage = Stage::with(Engine::new(config));
        Self { stage, wall_shift: 0, seen: 0, messages: Vec::new(), next_ticket: 1_000_000 }
    }

    /// One input at the moment it is, on both clocks; what was ordered of channels happens.
    pub(super) fn input(&mut self, input: Input) {
        let mut moment = self.stage.moment();
        moment.wall_ms = moment.wall_ms.wrapping_add_signed(self.wall_shift + 100_000_000);
        self.handle(moment, input);
        while self.seen < self.stage.effects.len() {
            let effect = self.stage.effects[self.seen].clone();
            self.seen += 1;
            if let Effect::HandOver { run, mail, text } = effect {
                self.messages.push((run, text));
                let fact = RunFact::HandedOver { mail, outcome: HandOver::Delivered };
                self.handle(moment, Input::Fact { run, fact });
            }
        }
    }

    fn handle(&mut self, moment: Moment, input: Input) {
        let effects = self.stage.handle(moment, input);
        self.stage.effects.extend(effects);
    }

    pub(super) fn ask_as(&mut self, caller: Caller, command: Command) -> Ticket {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        self.input(Input::Command { principal: Principal::unlimited(caller), ticket, command });
        ticket
    }

    pub(super) fn ask(&mut self, command: Command) -> Ticket {
        self.ask_as(Caller::Person, command)
    }

    pub(super) fn fact(&mut self, run: RunKey, fact: RunFact) {
        self.input(Input::Fact { run, fact });
    }

    /// An agent whose channel takes mail at any time, as soon as it was seen to rest once.
    pub(super) fn agent(&mut self, name: &str, parent: Option<RunKey>) -> RunKey {
        let caller = parent.map_or(Caller::Person, Caller::Process);
        let run = self.stage.spawn_as(caller, agent(name));
        self.launch(run);
        self.report(run, AgentState::Idle);
        run
    }

    pub(super) fn launch(&mut self, run: RunKey) {
        let launched = Launched { has_channel: true, channel_reaches_busy: true, ..Launched::default() };
        self.fact(run, RunFact::Launched(launched));
        let look = ScreenSeen { composer: Composer::Empty, ..ScreenSeen::default() };
        self.fact(run, RunFact::ScreenSeen(Box::new(look)));
    }

    pub(super) fn report(&mut self, run: RunKey, state: AgentState) {
        let evidence = Evidence::new(Source::ProgramStatus, "rule", Some(state));
        self.fact(run, RunFact::Evidence(Box::new(evidence)));
    }

    pub(super) fn state(&self, run: RunKey) -> Option<AgentState> {
        self.stage.view(run.process).filter(|view| view.run == run.run).and_then(|view| view.state)
    }

    pub(super) fn exit(&mut self, run: RunKey, code: i32) {
        self.fact(run, RunFact::Exited { exit: ChildExit::Code(code), final_offset: 10 });
    }

    /// Closes an entry, and its holder does what it is told.
    pub(super) fn close(&mut self, run: RunKey) {
        self.ask(Command::Close(Close {
            target: target(run),
            keep_background: false,
            stop: proto::Stop::default(),
        }));
        self.die(run);
    }

    pub(super) fn die(&mut self, run: RunKey) {
        self.fact(run, RunFact::Exited { exit: ChildExit::Signal(1), final_offset: 10 });
        self.fact(run, RunFact::TreeGone);
    }

    /// Lets time pass and the alarm ring whenever it is due.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.stage.now + ms;
        while let Some(due) = self.stage.engine.next_deadline().filter(|due| *due <= end) {
            self.stage.now = due.max(self.stage.now);
            self.input(Input::DeadlinePassed);
        }
        self.stage.now = end;
    }

    /// The machine sleeps: the alarm rings once, when it wakes.
    pub(super) fn sleep(&mut self, ms: u64) {
        self.stage.now += ms;
        if self.stage.engine.next_deadline().is_some_and(|due| due <= self.stage.now) {
            self.input(Input::DeadlinePassed);
        }
    }

    pub(super) fn set(&mut self, owner: RunKey, when: TimerWhen, body: &str) -> Result<TimerView, Failure> {
        let ticket = self.ask_as(Caller::Process(owner), set_timer(when, body));
        match self.stage.answer(ticket).expect("answered at once") {
            Ok(crate::CommandAnswer::Reply(Reply::Timer(view))) => Ok(view),
            Ok(other) => panic!("{other:?}"),
            Err(failure) => Err(failure),
        }
    }

    pub(super) fn change(&mut self, timer: u64, change: TimerChange) -> Result<TimerView, Failure> {
        let ticket = self.ask(Command::ChangeTimer(ChangeTimer { timer, change }));
        match self.stage.answer(ticket).expect("answered at once") {
            Ok(crate::CommandAnswer::Reply(Reply::Timer(view))) => Ok(view),
            Ok(other) => panic!("{other:?}"),
            Err(failure) => Err(failure),
        }
    }

    pub(super) fn timers(&mut self) -> Vec<TimerView> {
        let ticket = self.ask(Command::Timers);
        let Reply::Timers(views) = self.stage.reply(ticket) else { panic!("no timers") };
        views
    }

    pub(super) fn status(&mut self, timer: u64) -> Option<TimerStatus> {
        self.timers().into_iter().find(|view| view.timer == timer).map(|view| view.status)
    }

    /// Every message of Quarterdeck's own that was ever written down under a key that begins like this, by number.
    pub(super) fn system_messages(&self, key: &str) -> Vec<MailRecord> {
        let mut found: Vec<MailRecord> = Vec::new();
        for effect in &self.stage.effects {
            let Effect::Record(Record::PutMail(mail)) = effect else { continue };
            let is_its = mail.from.is_none() && mail.key.as_deref().is_some_and(|own| own.starts_with(key));
            if is_its && found.iter().all(|known| known.id != mail.id) {
                found.push((**mail).clone());
            }
        }
        found
    }

    /// The messages that a run was given.
    pub(super) fn messages_to(&self, run: RunKey) -> Vec<&str> {
        self.messages.iter().filter(|(to, _)| *to == run).map(|(_, text)| text.as_str()).collect()
    }

    /// The daemon dies after this many effects were made durable and is started again a moment later; every holder is
    /// adopted.
    pub(super) fn crash_after(&mut self, effects: usize) {
        self.stage.effects.truncate(effects);
        let saved = saved(&self.stage.effects);
        let records = saved.processes.clone();
        let config = Config { max_processes: 500, seed: effects as u64 + 7, ..Config::default() };
        let mut stage = Stage::with(Engine::restore(config, saved));
        (stage.now, stage.next_ticket) = (self.stage.now + 50, self.stage.next_ticket);
        // The records of the dead daemon are still the records.
        stage.effects = std::mem::take(&mut self.stage.effects);
        self.seen = stage.effects.len();
        self.stage = stage;
        for record in records.into_iter().filter(|record| record.run.has_holder) {
            let run = RunKey::new(record.id, record.run.number);
            let is_agent = record.agent.is_some();
            let exit = record.run.exit.map(|_| (ChildExit::Code(0), 10));
            let is_over = exit.is_some();
            self.input(Input::Adopted { record: Box::new(record), pid: 100, exit });
            if is_agent && !is_over {
                self.launch(run);
            }
        }
    }

    pub(super) fn crash(&mut self) {
        self.crash_after(self.stage.effects.len());
    }

    /// What became of those messages.
    pub(super) fn deliveries(&self, key: &str) -> Vec<Delivery> {
        let newest = |message: MailRecord| {
            self.stage.effects.iter().rev().find_map(|effect| match effect {
                Effect::Record(Record::PutMail(mail)) if mail.id == message.id => Some(mail.delivery.clone()),
                _ => None,
            })
        };
        self.system_messages(key).into_iter().filter_map(newest).collect()
    }
}

pub(super) fn set_timer(when: TimerWhen, body: &str) -> Command {
    Command::SetTimer(SetTimer { owner: None, when, body: body.to_owned(), label: None, key: None })
}

pub(super) fn any(runs: &[RunKey], max_wait_ms: u64) -> TimerWhen {
    TimerWhen::IdleAny(watch(runs, max_wait_ms))
}

pub(super) fn all(runs: &[RunKey], max_wait_ms: u64) -> TimerWhen {
    TimerWhen::IdleAll(watch(runs, max_wait_ms))
}

fn watch(runs: &[RunKey], max_wait_ms: u64) -> TimerWatch {
    TimerWatch { processes: runs.iter().map(|run| Target(run.process.to_string())).collect(), max_wait_ms }
}

/// A seeded sequence, the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let index = usize::try_from(self.roll(of.len() as u64)).unwrap();
        &of[index]
    }
}
