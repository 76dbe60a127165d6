//! Random lives: whatever happens in whatever order, dying daemons included, nothing panics, every ticket is answered at
//! most once, everything that was told to end does, and no start that was not carried out is taken for one that was.

use proptest::prelude::*;
use proto::agent::{Composer, Source};
use proto::request::{OnTimeout, PermissionWait, Quantifier, Resume, Tell};
use proto::{AgentState, Evidence, ExitReason, Kind, Status};

use super::agents::scene::saved;
use super::stage::{Stage, close, command, exit, kill, next, order, restart, shutdown, target, terminal};
use crate::input::ChildExit;
use crate::{
    Caller, Command, Config, Effect, Engine, HookMoment, HookNotice, Input, Launched, RunFact, RunKey,
    ScreenSeen, Ticket, TypingOutcome,
};

#[derive(Clone, Debug)]
enum Step {
    Spawn {
        kind: Kind,
        below: Option<usize>,
    },
    Start(usize),
    FailToStart(usize),
    Exit(usize, i32),
    TreeGone(usize),
    Lose(usize),
    Close(usize),
    Kill(usize),
    Restart(usize),
    Wait(usize),
    Pass(u64),
    Tell(usize),
    Resume(usize),
    Say(usize, Source, AgentState),
    Look(usize, bool, Composer),
    Typed(usize, TypingOutcome),
    HookSays(usize, HookMoment),
    /// The daemon dies; of the starts that were under way these come to be.
    Crash {
        held: u16,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let index = 0usize..12;
    prop_oneof![
        3 => (kind(), prop::option::of(0usize..12)).prop_map(|(kind, below)| Step::Spawn { kind, below }),
        4 => index.clone().prop_map(Step::Start),
        1 => index.clone().prop_map(Step::FailToStart),
        3 => (index.clone(), 0..3).prop_map(|(n, code)| Step::Exit(n, code)),
        4 => index.clone().prop_map(Step::TreeGone),
        1 => index.clone().prop_map(Step::Lose),
        2 => index.clone().prop_map(Step::Close),
        2 => index.clone().prop_map(Step::Kill),
        2 => index.clone().prop_map(Step::Restart),
        2 => index.clone().prop_map(Step::Wait),
        2 => (0u64..8_000).prop_map(Step::Pass),
        3 => index.clone().prop_map(Step::Tell),
        1 => index.clone().prop_map(Step::Resume),
        6 => (index.clone(), source(), state()).prop_map(|(n, source, state)| Step::Say(n, source, state)),
        4 => (index.clone(), any::<bool>(), composer()).prop_map(|(n, asks, held)| Step::Look(n, asks, held)),
        5 => (index.clone(), typing()).prop_map(|(n, outcome)| Step::Typed(n, outcome)),
        3 => (index, moment()).prop_map(|(n, moment)| Step::HookSays(n, moment)),
        1 => any::<u16>().prop_map(|held| Step::Crash { held }),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Agent), Just(Kind::Agent), Just(Kind::Command), Just(Kind::Terminal)]
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![Just(Source::ProgramStatus), Just(Source::Hook), Just(Source::Title), Just(Source::StateFile)]
}

fn state() -> impl Strategy<Value = AgentState> {
    prop::sample::select(&AgentState::ALL[1..7])
}

fn composer() -> impl Strategy<Value = Composer> {
    prop_oneof![Just(Composer::Empty), Just(Composer::Draft), Just(Composer::Unknown)]
}

fn typing() -> impl Strategy<Value = TypingOutcome> {
    let refusals = vec![
        TypingOutcome::Dialog,
        TypingOutcome::Stale,
        TypingOutcome::NoEcho,
        TypingOutcome::Draft,
        TypingOutcome::PersonTyping,
        TypingOutcome::Partial,
    ];
    prop_oneof![6 => Just(TypingOutcome::Done), 3 => prop::sample::select(refusals), 1 => Just(TypingOutcome::Gone)]
}

fn moment() -> impl Strategy<Value = HookMoment> {
    let asked = HookMoment::PermissionAsked { title: "t".into(), body: "b".into() };
    let moments =
        vec![HookMoment::Other, HookMoment::PromptSubmitted { prompt: None }, HookMoment::TurnEnded, asked];
    prop::sample::select(moments)
}

struct Life {
    stage: Stage,
    runs: Vec<RunKey>,
    tickets: Vec<Ticket>,
}

impl Life {
    fn live(&mut self, step: Step) {
        match step {
            Step::Spawn { kind, below } => self.spawn(kind, below),
            Step::Pass(ms) => self.stage.pass(ms),
            Step::Start(n) => self.fact(n, RunFact::Started { pid: 10 }),
            Step::FailToStart(n) => {
                let failure = proto::Failure::new(proto::ErrorCode::SpawnFailed, "no");
                self.fact(n, RunFact::StartFailed(failure));
            }
            Step::Exit(n, code) => {
                self.fact(n, RunFact::Exited { exit: ChildExit::Code(code), final_offset: 5 })
            }
            Step::TreeGone(n) => self.fact(n, RunFact::TreeGone),
            Step::Lose(n) => self.fact(n, RunFact::Lost { final_offset: 5, survivors: vec![] }),
            Step::Close(n) => self.ask(n, close),
            Step::Kill(n) => self.ask(n, kill),
            Step::Restart(n) => self.ask(n, restart),
            Step::Wait(n) => {
                if let Some(run) = self.runs.get(n).copied() {
                    let ticket = self.stage.wait_on(&[run], exit(), Quantifier::All, Some(2_000));
                    self.tickets.push(ticket);
                }
            }
            Step::Tell(n) => self.ask(n, |run| {
                let target = target(run);
                let text = "x".to_owned();
                Command::Tell(Tell {
                    target,
                    text,
                    key: None,
                    wait_ms: Some(3_000),
                    expires_ms: Some(20_000),
                })
            }),
            Step::Resume(n) => self.ask(n, |run| {
                Command::Resume(Resume {
                    target: target(run),
                    session: Some("s".to_owned()),
                    ..Resume::default()
                })
            }),
            Step::Say(n, source, state) => {
                self.fact(n, RunFact::Evidence(Box::new(Evidence::new(source, "r", Some(state)))));
            }
            Step::Look(n, asks, composer) => {
                let asked = Evidence::new(Source::Dialog, "d", Some(AgentState::Blocked));
                let look = ScreenSeen { dialog: asks.then_some(asked), composer, ..ScreenSeen::default() };
                self.fact(n, RunFact::ScreenSeen(Box::new(look)));
            }
            Step::Typed(n, outcome) => self.typed(n, outcome),
            Step::Crash { held } => self.crash(held),
            Step::HookSays(n, moment) => {
                if let Some(run) = self.runs.get(n).copied() {
                    let notice = HookNotice { evidence: None, moment };
                    let ticket = self.stage.ask_as(Caller::Process(run), Command::Hook(Box::new(notice)));
                    self.tickets.push(ticket);
                }
            }
        }
        self.note_new_runs();
    }

    /// The newest typing that was ordered for a run comes out like this.
    fn typed(&mut self, n: usize, outcome: TypingOutcome) {
        let Some(of) = self.runs.get(n).copied() else { return };
        let newest = self.stage.effects.iter().rev().find_map(|effect| match effect {
            Effect::Type { run, job, .. } if *run == of => Some(*job),
            _ => None,
        });
        if let Some(job) = newest {
            self.stage.fact(of, RunFact::TypingDone { job, outcome });
        }
    }

    fn spawn(&mut self, kind: Kind, below: Option<usize>) {
        let caller = below.and_then(|n| self.runs.get(n)).map_or(Caller::Person, |run| Caller::Process(*run));
        let mut spawn = match kind {
            Kind::Terminal => terminal("x"),
            Kind::Command | Kind::Agent => command("x"),
        };
        spawn.kind = kind;
        if kind == Kind::Agent {
            spawn.agent.prompt = Some("begin".to_owned());
            spawn.agent.permissions = Some(PermissionWait { timeout_ms: 4_000, on_timeout: OnTimeout::Deny });
        }
        spawn.name = None;
        let ticket = self.stage.ask_as(caller, order(caller, spawn));
        self.tickets.push(ticket);
    }

    /// A holder only speaks of a run that was started, so facts go to runs the engine asked for.
    fn fact(&mut self, n: usize, fact: RunFact) {
        if let Some(run) = self.runs.get(n).copied() {
            self.stage.fact(run, fact);
        }
    }

    fn ask(&mut self, n: usize, command: fn(RunKey) -> Command) {
        if let Some(run) = self.runs.get(n).copied() {
            let ticket = self.stage.ask(command(run));
            self.tickets.push(ticket);
        }
    }

    fn note_new_runs(&mut self) {
        for start in self.stage.starts() {
            match self.runs.iter_mut().find(|run| run.process == start.run.process) {
                Some(run) if next(*run) == start.run => *run = start.run,
                Some(_) => continue,
                None => self.runs.push(start.run),
            }
            if start.agent.is_some() {
                let launched = Launched { delivers_at_turn_end: true, ..Launched::default() };
                self.stage.fact(start.run, RunFact::Launched(launched));
            }
        }
    }

    /// Another daemon goes on with what is in the records and whose holder is there. Who waited for an answer of the old
    /// one asks nobody any more.
    fn crash(&mut self, held: u16) {
        let effects = std::mem::take(&mut self.stage.effects);
        let saved = saved(&effects);
        let records = saved.processes.clone();
        let mut stage = Stage::with(Engine::restore(Config::default(), saved));
        (stage.now, stage.next_ticket) = (self.stage.now + 50, self.stage.next_ticket);
        self.tickets.clear();
        // The records of the dead daemon are still the records.
        stage.effects = effects;
        self.stage = stage;
        let is_held =
            |run: RunKey| held >> (run.process.to_string().bytes().map(u32::from).sum::<u32>() % 16) & 1 == 1;
        for record in records.into_iter().filter(|record| record.run.has_holder) {
            let run = RunKey::new(record.id, record.run.number);
            let was_started = record.run.status != Status::Starting;
            if was_started || is_held(run) {
                let exit = record.run.exit.map(|_| (ChildExit::Code(0), 5));
                self.stage.input(Input::Adopted { record: Box::new(record), pid: 10, exit });
                continue;
            }
            self.stage.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
            let view = self.stage.view(run.process);
            let is_lost =
                view.is_some_and(|view| view.exit.is_some_and(|exit| exit.reason == ExitReason::Lost));
            assert!(!is_lost, "{run:?} was never started");
        }
    }

    /// The world does its part: whatever was asked of a holder happens.
    fn finish(&mut self) {
        for _ in 0..40 {
            self.note_new_runs();
            for run in self.runs.clone() {
                self.stage.fact(run, RunFact::Started { pid: 1 });
                let is_killed =
                    |effect: &Effect| matches!(effect, Effect::Kill { run: killed, .. } if *killed == run);
                if self.stage.effects.iter().any(is_killed) {
                    self.stage.die(run);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_happens_a_shutdown_ends_everything_and_answers_every_caller(steps in prop::collection::vec(step(), 1..60)) {
        let mut life = Life { stage: Stage::new(), runs: Vec::new(), tickets: Vec::new() };
        for step in steps {
            life.live(step);
        }
        let ticket = life.stage.ask(shutdown(true));
        life.tickets.push(ticket);
        life.finish();
        life.stage.pass(20_000);
        prop_assert!(matches!(life.stage.answer(ticket), Some(Ok(_))), "shutdown was not answered");
        for ticket in &life.tickets {
            prop_assert!(life.stage.answer(*ticket).is_some(), "{:?} was never answered", ticket);
        }
        let live = life.stage.engine.snapshot().into_iter().filter(|view| view.pid.is_some()).count();
        prop_assert_eq!(live, 0);
    }
}
