//! The one decider. Commands and facts go in, effects come out as data; the daemon carries them out.
//!
//! There is no I/O, no clock, no async, no vendor name and no raw byte in here: time is an argument, randomness is a seed,
//! and output arrives as facts about it.
//!
//! Reading order: [`input`] (what can happen), [`effect`] (what can be done about it), `context` and `outbox` (what every
//! machine works with), [`process`] (a spec and a run state, and the life of a run), `command/` (one verb, one file: check,
//! then apply). The machines, each with its own data: [`mail`], `inbox`, `waits`, `timers`, `trust`, [`rights`] (grants and
//! the check before every verb), [`tasks`], `workspaces`. For agents: [`agent`] (evidence, belief, turns; `reevaluate` is the order in which a new
//! state takes effect). `routing` delivers what one machine reports to the others. `undo` takes a command back whose records cannot be kept.
//!
//! Invariants, re-checked after every [`Engine::handle`] in debug builds (`invariants`): names are unique, no parent
//! cycle, every wait and every ending belongs to something alive, every grant is between two entries, every question of
//! trust has a run that asks it, `restore(records)` equals the live state.

mod audit;
mod command;
mod context;
mod deadlines;
mod inbox;
mod invariants;
mod outbox;
mod restore;
mod routing;
mod timers;
mod trust;
mod undo;
mod waits;
mod workspaces;

pub mod agent;
pub mod effect;
pub mod input;
pub mod mail;
pub mod process;
pub mod record;
pub mod rights;
pub mod tasks;

use std::collections::BTreeMap;

use proto::rights::Budget;
use proto::{Dirs, ProcessView};

pub use agent::AgentRecord;
pub use audit::PLACING;
pub use effect::{
    AddressedEvent, AgentStart, AuditNote, CallerIdentity, CommandAnswer, ComposerIs, Effect, FormerRun,
    Guard, Keystrokes, Located, StartRun,
};
pub use inbox::failures::{AgentFailure, FailureCause};
pub use inbox::questions::QuestionRecord;
pub use input::{
    Caller, Command, ComposerVisibility, HandOver, HookDecision, HookMoment, HookNotice, Input, JobId,
    Launched, Moment, Principal, Rule, RunFact, RunKey, ScreenSeen, SpawnOrder, Ticket, TrustSubject,
    TypingOutcome, ViewerId, WaitId,
};
pub use mail::delivery::LEASE_MS;
pub use mail::{MailRecord, MailStage, MailedReview};
pub use process::backoff::Backoff;
pub use process::seen::SeenMark;
pub use proto::rights::GrantRecord;
pub use record::{Approval, Counters, ProcessRecord, Record, Saved};
pub use rights::audience::{Audience, Subscriber};
pub use rights::{Granted, Verb};
pub use tasks::{
    DroppedTask, ImportedTask, KEPT_MS, NewTask, TaskChange, TaskCommand, TaskEnd, TaskOperation, TaskPlace,
    TaskRecord, TaskWithProcesses, task_exists, unfinished_tasks,
};
pub use timers::TimerRecord;
pub use workspaces::{LOCAL_WORKSPACE, WorkspaceRecord};

use context::Context;
use inbox::Inbox;
use mail::Mailbox;
use process::Process;
use process::stopping::{GRACE_MS, TERMINAL_GRACE_MS};
use rights::grants::Grants;
use timers::Timers;
use trust::TrustStore;
use undo::LastCommand;
use waits::Waits;
use workspaces::Workspaces;

/// What a daemon decides once, when it builds its engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The allow-listed part of the daemon's own environment, for spawns that bring none.
    pub base_env: BTreeMap<String, String>,
    /// Where the daemon keeps its things, which is where a `qd` inside a run looks for it.
    pub dirs: Option<Dirs>,
    /// Where a process without a directory runs.
    pub home: String,
    /// What a terminal without argv runs.
    pub shell: String,
    /// Most entries at once; each costs a PTY, a holder and descriptors.
    pub max_processes: usize,
    /// What the tree below a process of a person may use up when they do not say.
    pub budget: Budget,
    /// How long a command or an agent may take to end after it was asked to.
    pub grace_ms: u32,
    /// How long a terminal may take.
    pub terminal_grace_ms: u32,
    /// How long the exit of a terminal stays readable after its entry is gone.
    pub linger_ms: u64,
    /// How long after the grace the holder may take to end the tree, before it is swept from outside.
    pub sweep_after_ms: u64,
    /// This boot of the machine: what was noted on the uptime clock in another one means nothing in this.
    pub boot: String,
    /// Start of the engine's own random sequence (ids, run tokens).
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_env: BTreeMap::new(),
            dirs: None,
            home: "/".to_owned(),
            shell: "/bin/sh".to_owned(),
            max_processes: 1000,
            budget: Budget { spawns: Some(200), live: Some(32), depth: Some(4), wall_ms: None },
            grace_ms: GRACE_MS,
            terminal_grace_ms: TERMINAL_GRACE_MS,
            linger_ms: 5_000,
            sweep_after_ms: 2_250,
            boot: String::new(),
            seed: 1,
        }
    }
}

/// The decider. One task owns it; all others see effects, events and snapshots.
pub struct Engine {
    /// What every machine works with.
    ctx: Context,
    tasks: tasks::Tasks,
    workspaces: Workspaces,
    waits: Waits,
    mail: Mailbox,
    inbox: Inbox,
    timers: Timers,
    grants: Grants,
    trust: TrustStore,
    /// The last input, if it was a command that can be taken back.
    last_command: Option<LastCommand>,
}

impl Engine {
    /// An engine with no processes.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            ctx: Context::new(config),
            tasks: tasks::Tasks::default(),
            workspaces: Workspaces::default(),
            waits: Waits::default(),
            mail: Mailbox::default(),
            inbox: Inbox::default(),
            timers: Timers::default(),
            grants: Grants::default(),
            trust: TrustStore::default(),
            last_command: None,
        }
    }

    /// Decides about one thing that happened. The returned effects are to be carried out in order.
    pub fn handle(&mut self, now: Moment, input: Input) -> Vec<Effect> {
        self.ctx.out.now = now;
        self.forget_last_command();
        match input {
            Input::Command { principal, ticket, command } => {
                self.mark_command(ticket, &command);
                self.command(principal, ticket, command);
            }
            Input::Fact { run, fact } => self.fact(run, fact),
            Input::Adopted { record, pid, exit } => self.adopt(record, pid, exit),
            Input::CallerGone { ticket } => self.forget_caller(ticket),
            Input::Announce(event) => self.ctx.out.announce(*event),
            Input::DeadlinePassed => {}
        }
        self.route_signals();
        self.pass_deadlines();
        self.inbox.answer_list_waiters(&self.grants, &mut self.ctx);
        self.finish_shutdown();
        self.tasks.record_changes(&mut self.ctx);
        self.ctx.out.flush(&self.ctx.processes);
        self.grants.address_events(&mut self.ctx);
        invariants::check(self);
        self.check_last_command();
        std::mem::take(&mut self.ctx.out.effects)
    }

    /// When [`Input::DeadlinePassed`] is due, on the clock of [`Moment::uptime_ms`].
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let processes = self.ctx.processes.values().filter_map(Process::next_deadline);
        let waits = self.waits.open.values().filter_map(|wait| self.waits.wait_deadline(wait, &self.ctx));
        let others = [
            self.mail.queue.next_deadline(),
            self.inbox.inbox_deadline(),
            self.inbox.list_deadline(&self.ctx),
            self.timers.timer_deadline(&self.ctx),
        ];
        processes.chain(waits).chain(others.into_iter().flatten()).min()
    }

    /// The truth at the current revision.
    #[must_use]
    pub fn snapshot(&self) -> Vec<ProcessView> {
        self.ctx.processes.values().filter(|process| !process.is_departed()).map(Process::view).collect()
    }

    /// The number of the last announced event.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.ctx.out.revision()
    }

    /// The runs whose holders should exist: what a starting daemon looks for.
    #[must_use]
    pub fn expected_runs(&self) -> Vec<ProcessRecord> {
        let expected = self.ctx.processes.values().filter(|process| process.run.has_holder);
        expected.map(Process::record).collect()
    }
}

#[cfg(test)]
mod tests;
