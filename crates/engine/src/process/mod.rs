//! One process: what was asked of it (`spec`), its current run (`run_state`), and what outlives a run.

pub(crate) mod activity;
pub(crate) mod adoption;
pub(crate) mod backoff;
pub(crate) mod budgets;
mod end_request;
pub(crate) mod environment;
pub(crate) mod exit_order;
pub(crate) mod lifecycle;
mod lost_environment;
mod run_state;
pub(crate) mod seen;
mod spec;
pub(crate) mod stopping;
pub(crate) mod subtree;
mod table;
pub(crate) mod viewers;

use proto::process::{LiveNumbers, LogSpan, ProgramView, TerminalView, TimesView};
use proto::reply::Spawned;
use proto::request::Offer;
use proto::{ErrorCode, Exit, Failure, Kind, Name, Owner, ProcessId, ProcessView, RunNumber, Size, Status};

pub use end_request::EndingRecord;
pub(crate) use end_request::{Ending, NOT_YET, StopSignal, Then};
pub use run_state::RunRecord;
pub(crate) use run_state::{RunState, Viewer};
pub use spec::{Environment, Spec};
pub(crate) use table::Processes;

use crate::agent::Agent;
use crate::effect::FormerRun;
use crate::input::{Caller, Moment, RunKey, Ticket};
use crate::process::backoff::Backoff;
use crate::process::seen::SeenMark;
use crate::process::stopping::sweep_due;
use crate::record::{Approval, ProcessRecord};

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    pub(crate) id: ProcessId,
    pub(crate) name: Name,
    /// Who typed last.
    pub(crate) owner: Owner,
    /// The size of its terminal.
    pub(crate) size: Size,
    /// What was asked of it.
    pub(crate) spec: Spec,
    /// Its current run.
    pub(crate) run: RunState,
    pub(crate) launch: Launch,
    pub(crate) usage: Usage,
    /// Its recent starts.
    pub(crate) backoff: Backoff,
    /// What a person has seen of it.
    pub(crate) seen: SeenMark,
    /// What only agents have.
    pub(crate) agent: Option<Box<Agent>>,
}

/// On whose word runs of a process are started, and who waits for a start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    /// What a person allowed, if a process had it started.
    pub(crate) approval: Option<Approval>,
    /// Who has the current run started, or the next one that is under way; none: Quarterdeck itself.
    pub(crate) starter: Option<Caller>,
    /// The callers that are answered when the run has started or failed to.
    pub(crate) tickets: Vec<Ticket>,
    /// The run before, whose holder stays until this run has one.
    pub(crate) former_holder: Option<FormerRun>,
    /// The environment of the person who has it started again, in case its own is lost.
    pub(crate) offer: Option<Offer>,
}

/// What a process has used of its budget.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Processes that were spawned below it, at any depth.
    pub(crate) spawns: u32,
    /// When it was spawned, or last started by a person, on the uptime clock: its budget's time counts from here.
    pub(crate) born_ms: u64,
}

impl Process {
    /// A process whose first run is not started yet.
    pub(crate) fn new(id: ProcessId, name: Name, owner: Owner, spec: Spec) -> Self {
        Self {
            id,
            name,
            owner,
            size: Size::DEFAULT,
            spec,
            run: RunState::new(RunNumber(1), String::new(), Moment::default()),
            launch: Launch::default(),
            usage: Usage::default(),
            backoff: Backoff::default(),
            seen: SeenMark::default(),
            agent: None,
        }
    }

    /// The process an earlier daemon wrote down. A run that had a holder is `starting` again until it is adopted.
    pub(crate) fn from_record(record: ProcessRecord) -> Self {
        let turn = record.agent.as_ref().map_or(0, |agent| agent.turn);
        let before = || Self::seen_before(record.run.number.0, record.run.status, turn);
        let seen = record.seen.unwrap_or_else(before);
        let mut run_state = RunState::from_record(record.run, record.spec.restore);
        let is_starting = run_state.status == Status::Starting;
        // A terminal whose child was over has only its last output left; it was readable long enough.
        let is_over = record.spec.kind == Kind::Terminal && !(run_state.awaits.is_some() && is_starting);
        run_state.departs_at = is_over.then_some(0);
        let key = RunKey::new(record.id, run_state.number);
        let started_at = run_state.times.started_at;
        let agent =
            || Box::new(Agent::from_record(record.agent.unwrap_or_default(), key, is_starting, started_at));
        Self {
            id: record.id,
            name: record.name,
            owner: record.owner,
            size: record.size.clamped(),
            agent: (record.spec.kind == Kind::Agent).then(agent),
            spec: record.spec,
            run: run_state,
            launch: Launch { approval: record.approval, ..Launch::default() },
            usage: Usage { spawns: record.spawned, born_ms: record.born_ms },
            backoff: record.backoff,
            seen,
        }
    }

    /// What its holder keeps in memory for the next daemon: the environment too.
    pub(crate) fn whole_record(&self) -> ProcessRecord {
        ProcessRecord { spec: self.spec.clone(), ..self.record() }
    }

    /// What is made durable.
    pub(crate) fn record(&self) -> ProcessRecord {
        ProcessRecord {
            id: self.id,
            name: self.name.clone(),
            owner: self.owner,
            spec: self.spec.stored(),
            run: self.run.record(),
            size: self.size,
            seen: Some(self.seen),
            agent: self.agent.as_deref().map(|agent| agent.record.clone()),
            spawned: self.usage.spawns,
            approval: self.launch.approval.clone(),
            born_ms: self.usage.born_ms,
            backoff: self.backoff.clone(),
        }
    }

    /// What a client sees. Live numbers of the data plane (log start, title) are filled in by the daemon.
    pub(crate) fn view(&self) -> ProcessView {
        ProcessView {
            id: self.id,
            name: self.name.clone(),
            kind: self.spec.kind,
            status: self.run.last_known(),
            pid: self.run.pid.filter(|_| self.is_live()),
            run: self.run.number,
            state: self.agent.as_deref().map(Agent::state),
            agent: self.agent.as_deref().map(|agent| Box::new(agent.view(self.manifest()))),
            parent: self.spec.parent,
            task: self.spec.task.clone(),
            workspace: self.spec.workspace.clone(),
            terminal: TerminalView {
                owner: self.owner,
                size: self.size,
                viewers: u32::try_from(self.run.viewers.attached.len()).unwrap_or(u32::MAX),
            },
            exit: self.run.exit,
            failure: self.run.failure.clone(),
            unseen: self.unseen(),
            live: LiveNumbers { log: LogSpan { start: 0, end: self.run.log_end }, unread_answers: None },
            program: ProgramView {
                argv: self.spec.argv.clone(),
                cwd: self.spec.cwd.clone(),
                project: self.spec.project.key.clone(),
                preset: self.spec.preset.clone(),
            },
            ready: self.spec.ready.as_ref().map(|_| self.run.is_ready),
            title: self.run.title.clone(),
            times: TimesView { started_at: self.run.times.started_at, active_at: self.run.times.active_at },
        }
    }

    /// The reply to the caller that spawned it.
    pub(crate) fn spawned(&self) -> Spawned {
        Spawned {
            id: self.id,
            name: self.name.clone(),
            kind: self.spec.kind,
            status: self.run.status,
            pid: self.run.pid,
            run: self.run.number,
            warning: self.spec.environment.warning(),
            shortfalls: self.agent.as_deref().map(|agent| agent.shortfalls().to_vec()).unwrap_or_default(),
        }
    }

    /// The manifest an agent was started from: its first word.
    pub(crate) fn manifest(&self) -> &str {
        self.spec.argv.first().map_or("", String::as_str)
    }

    /// The key of the current run.
    pub(crate) fn key(&self) -> RunKey {
        RunKey::new(self.id, self.run.number)
    }

    /// Returns true if a child runs or is about to.
    pub(crate) fn is_live(&self) -> bool {
        self.run.is_live()
    }

    /// Returns true if its run is over and another one takes its place, because the vendor refused the session that the run
    /// was to continue. Waits for the run go on with the other one.
    pub(crate) fn is_being_replaced(&self) -> bool {
        !self.is_live() && self.agent.as_deref().is_some_and(|agent| agent.refused_session.is_some())
    }

    /// Returns true if an earlier daemon ordered its run and never learned that it started.
    pub(crate) fn was_launching(&self) -> bool {
        self.run.status == Status::Starting
            && self.run.awaits.is_some_and(|awaits| awaits.status == Status::Starting)
    }

    /// Returns true if this daemon is starting its holder.
    pub(crate) fn is_launching(&self) -> bool {
        self.run.status == Status::Starting && self.run.awaits.is_none()
    }

    /// Checks that its holder has answered this daemon; before that nothing can be done with its terminal.
    pub(crate) fn check_reachable(&self) -> Result<(), Failure> {
        match self.run.awaits {
            None => Ok(()),
            Some(_) => {
                let message = format!("{} cannot be reached: its holder does not answer", self.name);
                Err(Failure::new(ErrorCode::Busy, message)
                    .hint("it goes on when its holder answers; qd close ends it"))
            }
        }
    }

    /// Returns true if it is no longer listed.
    pub(crate) fn is_departed(&self) -> bool {
        self.run.departs_at.is_some()
    }

    /// When the idle timeout will end it, if nothing happens until then.
    pub(crate) fn idle_deadline(&self) -> Option<u64> {
        let is_idle = self.run.status == Status::Running
            && self.run.viewers.attached.is_empty()
            && self.run.ending.is_none();
        self.spec
            .idle_timeout_ms
            .filter(|_| is_idle)
            .map(|timeout| self.run.times.last_activity.saturating_add(timeout))
    }

    /// When the next thing about this entry is due.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let sweep = self.run.ending.as_ref().and_then(sweep_due);
        let agent = self.agent.as_deref().and_then(Agent::next_deadline);
        let run = &self.run;
        [self.idle_deadline(), sweep, run.restart_due(), run.departure(), agent].into_iter().flatten().min()
    }

    /// In how many milliseconds it is started again by itself after ending like this; none: it is not.
    pub(crate) fn restarts_in(&self, exit: Exit, now: u64) -> Option<u64> {
        let has_failed = self.spec.kind == Kind::Command && self.spec.auto_restart && exit.code != Some(0);
        has_failed.then(|| self.backoff.delay_after_failure(now)).flatten()
    }
}

#[cfg(test)]
mod tests;
