//! The stage: an engine with a clock in hand and its effects laid out.

use proto::project::Project;
use proto::request::{Close, Empty, Kill, Quantifier, Restart, Shutdown, Spawn, Target, Until, Wait};
use proto::task::TaskRun;
use proto::trust::TrustView;
use proto::{ErrorCode, Failure, Kind, Name, ProcessId, ProcessView, Reply, RunNumber};

use crate::input::ChildExit;
use crate::tasks::Tasks;
use crate::workspaces::Workspaces;
use crate::{
    AuditNote, Caller, Command, CommandAnswer, Config, Effect, Engine, Input, Moment, Principal, Rule,
    RunFact, RunKey, SpawnOrder, StartRun, TaskRecord, Ticket, TrustSubject,
};

/// A task called `fix` in workspace `w1`, as an earlier daemon recorded it.
fn fix_task() -> TaskRecord {
    let run = TaskRun {
        process: ProcessId::from_entropy(42),
        name: "before".parse().expect("a name"),
        kind: Kind::Agent,
        run: RunNumber(1),
        session: Some("s-42".to_owned()),
        started_at: 1,
        ended_at: Some(2),
        exit: None,
        prompt: None,
        turns: 3,
    };
    TaskRecord {
        id: 1,
        name: "fix".to_owned(),
        workspace: "w1".to_owned(),
        project: Project::default(),
        common_dir: None,
        directory: "/src/fix".to_owned(),
        is_owned: false,
        branch: None,
        base: None,
        start: None,
        agent: None,
        prompt: None,
        creator: None,
        created_at: 1,
        ports: vec![20_000, 20_001],
        dropped: None,
        operation: None,
        events: Vec::new(),
        runs: vec![run],
        comments: Vec::new(),
    }
}

/// An engine on a stage.
pub(super) struct Stage {
    pub(super) engine: Engine,
    pub(super) now: u64,
    /// How far the wall clock is ahead of the other one.
    pub(super) ahead: u64,
    pub(super) next_ticket: u64,
    /// Everything that was to be done, oldest first.
    pub(super) effects: Vec<Effect>,
}

impl Stage {
    pub(super) fn new() -> Self {
        let mut engine = Engine::new(Config { max_processes: 50, ..Config::default() });
        engine.tasks = Tasks::restore(vec![fix_task()]);
        let known = ["w0", "w1", "w2", "w7", "w9"].map(str::to_owned);
        engine.workspaces = Workspaces::restore(Vec::new(), known.into_iter());
        trust_list(&mut engine);
        Self { engine, now: 1_000, ahead: 1_000_000, next_ticket: 1, effects: Vec::new() }
    }

    pub(super) fn with(mut engine: Engine) -> Self {
        trust_list(&mut engine);
        Self { engine, ..Self::new() }
    }

    pub(super) fn moment(&self) -> Moment {
        Moment { uptime_ms: self.now, wall_ms: self.now + self.ahead }
    }

    pub(super) fn input(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.handle(self.moment(), input);
        self.effects.extend(effects.iter().cloned());
        effects
    }

    /// Decides. Every command that can be taken back is, once, before it counts: it leaves nothing behind.
    pub(super) fn handle(&mut self, moment: Moment, input: Input) -> Vec<Effect> {
        let command = match &input {
            Input::Command { command, ticket, .. }
                if command.declaration().recorded != crate::command::Recorded::Nothing =>
            {
                // The state of many processes is too long to be compared every time.
                let is_compared = self.engine.ctx.processes.len() <= 2 || ticket.0.is_multiple_of(8);
                is_compared.then(|| format!("{command:?}"))
            }
            _ => None,
        };
        let Some(command) = command else { return self.engine.handle(moment, input) };
        let before = state_words(&self.engine);
        let effects = self.engine.handle(moment, input.clone());
        if !self.engine.is_undoable() {
            return effects;
        }
        let instead = self.engine.undo(Failure::new(ErrorCode::NoSpace, "the disk is full"));
        assert_eq!(state_words(&self.engine), before, "what {command} left behind");
        let is_refusal = |effect: &Effect| matches!(effect, Effect::Reply { result, .. } if result.is_err());
        assert!(instead.len() == 1 && instead.iter().all(is_refusal), "{instead:?}");
        self.engine.handle(moment, input)
    }

    pub(super) fn ask_as(&mut self, caller: Caller, command: Command) -> Ticket {
        self.ask_within(Principal::unlimited(caller), command)
    }

    pub(super) fn ask_within(&mut self, principal: Principal, command: Command) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.input(Input::Command { principal, ticket, command });
        ticket
    }

    pub(super) fn ask(&mut self, command: Command) -> Ticket {
        self.ask_as(Caller::Person, command)
    }

    pub(super) fn fact(&mut self, run: RunKey, fact: RunFact) -> Vec<Effect> {
        self.input(Input::Fact { run, fact })
    }

    /// Lets time pass and the alarm ring whenever it is due.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(due) = self.engine.next_deadline().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.input(Input::DeadlinePassed);
        }
        self.now = end;
    }

    /// The answer to a ticket, if it has one; each ticket is answered at most once.
    pub(super) fn answer(&self, ticket: Ticket) -> Option<Result<CommandAnswer, Failure>> {
        let mut answers = self.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { ticket: known, result } if *known == ticket => Some((**result).clone()),
            _ => None,
        });
        let first = answers.next();
        assert!(answers.next().is_none(), "ticket {ticket:?} was answered twice");
        first
    }

    pub(super) fn failure(&self, ticket: Ticket) -> Failure {
        self.answer(ticket).expect("no answer").expect_err("it worked")
    }

    pub(super) fn reply(&self, ticket: Ticket) -> Reply {
        match self.answer(ticket).expect("no answer").expect("it failed") {
            CommandAnswer::Reply(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn starts(&self) -> Vec<StartRun> {
        let starts = self.effects.iter().filter_map(|effect| match effect {
            Effect::Start(start) => Some((**start).clone()),
            _ => None,
        });
        starts.collect()
    }

    /// Spawns and starts a process; its run.
    pub(super) fn spawn_as(&mut self, caller: Caller, spawn: Spawn) -> RunKey {
        let ticket = self.ask_as(caller, order(caller, spawn));
        let run = self.starts().last().expect("nothing was started").run;
        self.fact(run, RunFact::Started { pid: 100 });
        assert!(matches!(self.reply(ticket), Reply::Spawned(_)));
        run
    }

    pub(super) fn spawn(&mut self, spawn: Spawn) -> RunKey {
        self.spawn_as(Caller::Person, spawn)
    }

    pub(super) fn exit(&mut self, run: RunKey, code: i32) {
        self.fact(run, RunFact::Exited { exit: ChildExit::Code(code), final_offset: 10 });
    }

    /// Plays the holder's part in an ordered end: the child dies by HUP, then its tree is gone.
    pub(super) fn die(&mut self, run: RunKey) {
        self.fact(run, RunFact::Exited { exit: ChildExit::Signal(1), final_offset: 10 });
        self.fact(run, RunFact::TreeGone);
    }

    pub(super) fn view(&self, id: ProcessId) -> Option<ProcessView> {
        self.engine.snapshot().into_iter().find(|process| process.id == id)
    }

    pub(super) fn wait_on(
        &mut self,
        runs: &[RunKey],
        until: Until,
        quantifier: Quantifier,
        timeout: Option<u64>,
    ) -> Ticket {
        let targets = runs.iter().map(|run| target(*run)).collect();
        self.ask(Command::Wait(Wait { quantifier, timeout_ms: timeout, ..Wait::until(targets, until) }))
    }
}

/// The digest of the project's list of commands, which people trust here.
pub(super) const LIST: &str = "1157";

/// Lets people trust the project's list.
pub(super) fn trust_list(engine: &mut Engine) {
    let (digest, command) = (LIST.to_owned(), "allow \"run\"".to_owned());
    let list = TrustView { digest, project: Project::default(), preset: None, agent: None, command, at: 0 };
    engine.trust.trusted.insert(LIST.to_owned(), list);
}

/// A spawn as the daemon brings it: what a process starts has a trust subject, here one that the project's list covers.
pub(super) fn order(caller: Caller, spawn: Spawn) -> Command {
    let is_plain = spawn.kind == proto::Kind::Agent && spawn.argv.len() == 1;
    let needs_trust = matches!(caller, Caller::Process(_)) && !is_plain;
    let listed = TrustSubject { listed: Some(LIST.to_owned()), ..trust_subject("feed", Rule::Ask) };
    let trust_subject = needs_trust.then_some(listed);
    Command::Spawn(Box::new(SpawnOrder { trust_subject, ..spawn.into() }))
}

pub(super) fn trust_subject(digest: &str, rule: Rule) -> TrustSubject {
    let (frame, content) = (format!("frame of {digest}"), format!("content of {digest}"));
    let (digest, command) = (digest.to_owned(), "\"run\"".to_owned());
    TrustSubject { digest, frame, content, command, rule, ..TrustSubject::default() }
}

pub(super) fn target(run: RunKey) -> Target {
    Target(run.process.to_string())
}

pub(super) fn command(name: &str) -> Spawn {
    Spawn { name: Some(name.to_owned()), argv: vec!["run".to_owned()], ..Spawn::default() }
}

pub(super) fn terminal(name: &str) -> Spawn {
    Spawn { kind: proto::Kind::Terminal, name: Some(name.to_owned()), ..Spawn::default() }
}

pub(super) fn close(run: RunKey) -> Command {
    Command::Close(Close { target: target(run), keep_background: false, stop: proto::Stop::default() })
}

pub(super) fn kill(run: RunKey) -> Command {
    Command::Kill(Kill { target: target(run), signal: None, grace_ms: None })
}

pub(super) fn restart(run: RunKey) -> Command {
    Command::Restart(Restart { target: target(run), ..Restart::default() })
}

pub(super) fn shutdown(kill: bool) -> Command {
    Command::Shutdown(Shutdown { kill, stop: proto::Stop::default() })
}

pub(super) fn exit() -> Until {
    Until::Exit(Empty {})
}

pub(super) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub(super) fn next(run: RunKey) -> RunKey {
    RunKey::new(run.process, RunNumber(run.run.0 + 1))
}

impl Stage {
    /// A later daemon with what this one's effects left in the database. Its tickets go on counting.
    pub(super) fn reborn(&self) -> Self {
        self.reborn_in("")
    }

    /// The same in this boot of the machine.
    pub(super) fn reborn_in(&self, boot: &str) -> Self {
        let config = Config { max_processes: 50, seed: 99, boot: boot.to_owned(), ..Config::default() };
        let saved = super::agents::scene::saved(&self.effects);
        let mut engine = Engine::restore(config, saved);
        trust_list(&mut engine);
        Self { engine, effects: Vec::new(), ..*self }
    }

    /// A process asks for something to be started under this trust subject.
    pub(super) fn order_as(&mut self, caller: RunKey, spawn: Spawn, trust_subject: TrustSubject) -> Ticket {
        let order = SpawnOrder { trust_subject: Some(trust_subject), ..spawn.into() };
        self.ask_as(Caller::Process(caller), Command::Spawn(Box::new(order)))
    }

    /// The audit rows so far: caller, verb, target, decision and detail.
    pub(super) fn audited(&self) -> Vec<AuditNote> {
        let notes = self.effects.iter().filter_map(|effect| match effect {
            Effect::Audit(note) => Some(note.clone()),
            _ => None,
        });
        notes.collect()
    }
}

/// Everything that a command can change, in words: two states with the same words are the same.
pub(super) fn state_words(engine: &Engine) -> String {
    let ctx = &engine.ctx;
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        (&*ctx.processes, &ctx.out.numbers),
        (&engine.waits.open, &engine.waits.next),
        (&engine.inbox.items, &engine.inbox.asked),
        engine.mail,
        engine.timers,
        engine.grants,
        engine.trust,
        engine.tasks,
        engine.workspaces,
        ctx.shutdown,
        ctx.ends_all
    )
}
