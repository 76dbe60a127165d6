//! The one decider. Commands and facts go in, effects come out as data; the daemon carries them out.
//!
//! Owns every process's life: who may do what, what is running, what ends when, who waits for it.
//! Refuses I/O, clocks, async, vendor names and raw bytes: time is an argument, randomness is a seed, and output
//! arrives as facts about it.
//!
//! Reading order: [`input`] (what can happen), [`effect`] (what can be done about it), [`process`] (one entry),
//! `command/` (one verb, one file: check, then apply), `lifecycle` (what facts do to an entry), `adoption`,
//! `deadlines`, `viewers`, `seen`, `waits`, `readiness`. Who may: `registry` (the gate and the look-up before every verb),
//! [`rights`], `grants`, `budgets`, `trust`, `audit`. For agents: [`agent`] (an entry's part that only they have),
//! `evidence` and `state` (what is believed and why), `reevaluate` (what follows from it), [`mail`], `delivery`, `deliver`
//! and `confirm` (how a message gets in), `turns`, `inbox`. How agents lead agents: `timers`, `questions`, `notices`,
//! `waitgraph`. What is not kept is not done: `undo`.
//!
//! Invariants, re-checked after every [`Engine::handle`] in debug builds (`invariants`): names are unique, no parent
//! cycle, every wait and every ending belongs to something alive, every grant is between two entries, every question of
//! trust has a run that asks it, `restore(records)` equals the live state.

mod activity;
mod adoption;
mod agent_exit;
mod audit;
mod backoff;
mod budgets;
mod command;
mod confirm;
mod deadlines;
mod deliver;
mod delivery;
mod drift;
mod environment;
mod evidence;
mod grants;
mod inbox;
mod interrupt;
mod invariants;
mod lifecycle;
mod mail_format;
mod notices;
mod questions;
mod readiness;
mod reevaluate;
mod registry;
mod restore;
mod seen;
mod state;
mod stopping;
mod subtree;
mod timers;
mod trust;
mod turns;
mod undo;
mod viewers;
mod waitgraph;
mod waits;

pub mod agent;
pub mod effect;
pub mod input;
pub mod mail;
pub mod process;
pub mod record;
pub mod rights;
pub mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use proto::agent::MailId;
use proto::crew::Budget;
use proto::{Dirs, Event, ProcessId, ProcessView};

pub use agent::AgentRecord;
pub use audit::PLACING;
pub use backoff::Backoff;
pub use effect::{
    AgentStart, AuditNote, CallerStanding, CommandAnswer, ComposerIs, Effect, FormerRun, Guard, Keystrokes,
    Located, StartRun,
};
pub use grants::GrantRecord;
pub use input::{
    Caller, Command, ComposerSight, HandOver, HookDecision, HookMoment, HookNotice, Input, JobId, Launched,
    Moment, Rule, RunFact, RunKey, ScreenSeen, SpawnOrder, Ticket, TrustSubject, TypingOutcome, ViewerId,
    WaitId,
};
pub use mail::{MailRecord, MailStage};
pub use questions::QuestionRecord;
pub use record::{Approval, Counters, ProcessRecord, Record, Saved};
pub use rights::{Granted, Verb};
pub use seen::Seen;
pub use tasks::{NoTasks, TaskLookup, TaskPlace};
pub use timers::TimerRecord;

use grants::Grants;
use inbox::Item;
use mail::Mailbox;
use process::Process;
use timers::Timers;
use trust::TrustStore;
use undo::{LastCommand, UndoMap};
use waits::Wait;

/// What a daemon decides once, when it builds its engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The allow-listed part of the daemon's own environment, for spawns that bring none.
    pub base_env: BTreeMap<String, String>,
    /// Where the daemon keeps its things, which is where a `qd` inside a run looks for it.
    pub places: Option<Dirs>,
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
            places: None,
            home: "/".to_owned(),
            shell: "/bin/sh".to_owned(),
            max_processes: 1000,
            budget: Budget { spawns: Some(200), live: Some(32), depth: Some(4), wall_ms: None },
            grace_ms: 5_000,
            terminal_grace_ms: 1_000,
            linger_ms: 5_000,
            sweep_after_ms: 2_250,
            boot: String::new(),
            seed: 1,
        }
    }
}

/// The decider. One task owns it; everybody else sees effects, events and snapshots.
pub struct Engine {
    config: Config,
    tasks: Box<dyn TaskLookup>,
    processes: UndoMap<ProcessId, Process>,
    waits: UndoMap<WaitId, Wait>,
    next_wait: u64,
    mail: Mailbox,
    /// What needs a person.
    items: UndoMap<u64, Item>,
    /// The items that runs asked for under keys of their own.
    asked: UndoMap<(RunKey, String), u64>,
    timers: Timers,
    grants: Grants,
    /// While a command is carried out: in which process the person sits who asked, if they sit in one.
    via: Option<proto::Name>,
    trust: TrustStore,
    counters: Counters,
    next_job: u64,
    /// Callers of `shutdown --kill` that return when everything has ended.
    shutdown: Option<Vec<Ticket>>,
    /// Everything is to end: nothing starts again.
    ends_all: bool,
    /// Grows by one with each announced event.
    revision: u64,
    random: u64,
    now: Moment,
    effects: Vec<Effect>,
    /// The last input, if it was a command that can be taken back.
    last_command: Option<LastCommand>,
    /// Entries touched by the current input: each is recorded and announced once, at its end.
    touched: BTreeSet<ProcessId>,
    /// Entries of which something changed that is not worth a record: each is announced once, at its end.
    shown: BTreeSet<ProcessId>,
}

impl Engine {
    /// An engine with no processes.
    #[must_use]
    pub fn new(config: Config, tasks: Box<dyn TaskLookup>) -> Self {
        let random = config.seed;
        Self {
            config,
            tasks,
            processes: UndoMap::default(),
            waits: UndoMap::default(),
            next_wait: 1,
            mail: Mailbox::default(),
            items: UndoMap::default(),
            asked: UndoMap::default(),
            timers: Timers::default(),
            grants: Grants::default(),
            trust: TrustStore::default(),
            counters: Counters::default(),
            next_job: 0,
            shutdown: None,
            via: None,
            ends_all: false,
            revision: 0,
            random,
            now: Moment::default(),
            effects: Vec::new(),
            last_command: None,
            touched: BTreeSet::new(),
            shown: BTreeSet::new(),
        }
    }

    /// Decides about one thing that happened. The returned effects are to be carried out in order.
    pub fn handle(&mut self, now: Moment, input: Input) -> Vec<Effect> {
        self.now = now;
        self.forget_last_command();
        match input {
            Input::Command { caller, ticket, command } => {
                self.mark_command(ticket, &command);
                self.command(caller, ticket, command);
            }
            Input::Fact { run, fact } => self.fact(run, fact),
            Input::Adopted { record, pid, exit } => self.adopt(record, pid, exit),
            Input::CallerGone { ticket } => self.forget_caller(ticket),
            Input::Announce(event) => self.announce(*event),
            Input::DeadlinePassed => {}
        }
        self.pass_deadlines();
        self.finish_shutdown();
        self.flush_touched();
        self.check_invariants();
        self.check_last_command();
        std::mem::take(&mut self.effects)
    }

    /// When [`Input::DeadlinePassed`] is due, on the clock of [`Moment::uptime_ms`].
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let processes = self.processes.values().filter_map(Process::next_deadline);
        let waits = self.waits.values().filter_map(|wait| self.wait_deadline(wait));
        let others = [self.mail.next_deadline(), self.inbox_deadline(), self.timer_deadline()];
        processes.chain(waits).chain(others.into_iter().flatten()).min()
    }

    /// The truth at the current revision.
    #[must_use]
    pub fn snapshot(&self) -> Vec<ProcessView> {
        self.processes.values().filter(|process| !process.is_departed()).map(Process::view).collect()
    }

    /// The number of the last announced event.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The runs whose holders should exist: what a starting daemon looks for.
    #[must_use]
    pub fn expected_runs(&self) -> Vec<ProcessRecord> {
        let expected = self.processes.values().filter(|process| process.run.has_holder);
        expected.map(Process::record).collect()
    }

    fn reply(&mut self, ticket: Ticket, result: Result<CommandAnswer, proto::Failure>) {
        self.effects.push(Effect::Reply { ticket, result: Box::new(result) });
    }

    fn announce(&mut self, event: Event) {
        self.revision += 1;
        self.effects
            .push(Effect::Announce(proto::event::Announcement { revision: self.revision, what: event }));
    }

    /// Marks an entry as changed; [`Engine::flush_touched`] records and announces it once.
    fn mark_durable(&mut self, id: ProcessId) {
        self.touched.insert(id);
    }

    /// Marks an entry as changed in a way that is not worth a record.
    fn mark_visible(&mut self, id: ProcessId) {
        self.shown.insert(id);
    }

    fn next_mail(&mut self) -> MailId {
        let id = MailId(self.counters.next_mail);
        self.counters.next_mail += 1;
        self.effects.push(Effect::Record(Record::Counters(self.counters)));
        id
    }

    fn next_item(&mut self) -> u64 {
        let item = self.counters.next_item;
        self.counters.next_item += 1;
        self.effects.push(Effect::Record(Record::Counters(self.counters)));
        item
    }

    fn flush_touched(&mut self) {
        for id in std::mem::take(&mut self.shown) {
            let is_seen = |process: &&Process| !process.is_departed();
            let view = self.processes.get(&id).filter(is_seen).map(Process::view);
            if let Some(view) = view.filter(|_| !self.touched.contains(&id)) {
                self.announce(Event::Changed(Box::new(view)));
            }
        }
        for id in std::mem::take(&mut self.touched) {
            let Some(process) = self.processes.get(&id) else { continue };
            let (record, view) = (process.record(), process.view());
            let is_departed = process.is_departed();
            self.effects.push(Effect::Record(Record::Put(Box::new(record))));
            if !is_departed {
                self.announce(Event::Changed(Box::new(view)));
            }
        }
    }

    /// The next number of a SplitMix64 sequence: unguessable enough for ids, and the same in every replay.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests;
