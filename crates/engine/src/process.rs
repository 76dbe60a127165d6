//! One entry: what it is, where it is in its life, and what is to become of it.
//!
//! Owns its fields and what can be derived from them. Refuses deciding: `lifecycle` and `command` change it.

use std::collections::BTreeMap;

use proto::crew::{Budget, Project, Ready};
use proto::process::LogSpan;
use proto::reply::Spawned;
use proto::request::SizePolicy;
use proto::{
    ErrorCode, Exit, ExitReason, Failure, Kind, Name, Owner, ProcessId, ProcessView, RunNumber, Size, Status,
    Stop,
};
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::backoff::Backoff;
use crate::effect::FormerRun;
use crate::input::{Caller, RunKey, Survivor, Ticket, ViewerId, WaitId};
use crate::record::{Approval, ProcessRecord};
use crate::seen::Seen;
use crate::stopping::sweep_due;

/// When a run is swept that has not been asked to end yet: not before it has been.
pub(crate) const NOT_YET: u64 = u64::MAX;

/// What whoever starts a process is told that has no environment of a person or a parent.
const DAEMONS_ENV: &str = "nobody has the environment it was first started with any more, so it got only the harmless part \
of the daemon's (paths, locale, editor and the like); close it and spawn it again to give it yours";

/// What follows once a run and its tree are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    /// The entry stays as it is.
    Stay,
    /// A new run starts.
    Restart,
    /// The entry goes.
    Remove,
}

/// A run that is being ended, from the moment somebody asked until its tree is gone.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// Why; becomes the exit's reason. None: whatever the child's own status says.
    pub(crate) reason: Option<ExitReason>,
    /// What follows.
    pub(crate) then: Then,
    /// Who is told when it is over.
    pub(crate) tickets: Vec<Ticket>,
    /// The signal that asks.
    pub(crate) signal: i32,
    /// How long the tree may take after that signal.
    pub(crate) grace_ms: u32,
    /// The grace that somebody asked for: it counts for everything below as well.
    pub(crate) asked_grace_ms: Option<u32>,
    /// When the tree is killed, on the uptime clock; none before it has been asked.
    pub(crate) insist_at: Option<u64>,
    /// Swept from outside when the holder has not reported by then.
    pub(crate) sweep_at: u64,
    /// Whether that has been ordered.
    pub(crate) is_swept: bool,
    /// The tree was reported gone before the exit was logged.
    pub(crate) is_gone: bool,
    /// Only the child is ended; what it put in the background is nobody's to end.
    pub(crate) keeps_background: bool,
    /// An earlier daemon began it, and nobody has asked this one yet: a caller who asks again is that daemon's caller.
    pub(crate) is_restored: bool,
}

/// An end that is under way, as the next daemon goes on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndingRecord {
    reason: Option<ExitReason>,
    then: Then,
    signal: i32,
    grace_ms: u32,
    #[serde(default)]
    asked_grace_ms: Option<u32>,
    #[serde(default)]
    insist_at: Option<u64>,
    #[serde(default)]
    keeps_background: bool,
}

impl Ending {
    /// An end that begins now; nobody has been asked yet.
    pub(crate) fn new(reason: Option<ExitReason>, then: Then, (signal, grace_ms): (i32, u32)) -> Self {
        Self {
            reason,
            then,
            tickets: Vec::new(),
            signal,
            grace_ms,
            asked_grace_ms: None,
            insist_at: None,
            sweep_at: NOT_YET,
            is_swept: false,
            is_gone: false,
            keeps_background: false,
            is_restored: false,
        }
    }

    fn from_record(record: &EndingRecord, has_holder: bool) -> Self {
        Self {
            asked_grace_ms: record.asked_grace_ms,
            insist_at: record.insist_at,
            is_gone: !has_holder,
            keeps_background: record.keeps_background,
            is_restored: true,
            ..Self::new(record.reason, record.then, (record.signal, record.grace_ms))
        }
    }

    fn record(&self) -> EndingRecord {
        EndingRecord {
            reason: self.reason,
            then: self.then,
            signal: self.signal,
            grace_ms: self.grace_ms,
            asked_grace_ms: self.asked_grace_ms,
            insist_at: self.insist_at,
            keeps_background: self.keeps_background,
        }
    }
}

/// One attached viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Viewer {
    /// The size of its terminal.
    pub(crate) size: Size,
    /// Watching only.
    pub(crate) read_only: bool,
    /// It mirrors the size and never changes it.
    pub(crate) mirrors: bool,
    /// On whose behalf.
    pub(crate) by: Caller,
    /// The pid of its client.
    pub(crate) pid: Option<i32>,
    /// When it joined, in milliseconds since the epoch.
    pub(crate) since: u64,
}

impl Viewer {
    /// Whether its size may become the terminal's: it types, and does not mirror.
    pub(crate) fn counts_for_size(&self) -> bool {
        !self.read_only && !self.mirrors
    }
}

/// A holder that an earlier daemon started and that has not been found or missed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unadopted {
    /// What was last known of the run; what it is now only its holder knows.
    pub(crate) status: Status,
    /// When it is missed, the entry is started again.
    pub(crate) restores: bool,
}

/// One entry.
#[derive(Clone, Debug)]
pub struct Process {
    pub(crate) id: ProcessId,
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) parent: Option<ProcessId>,
    pub(crate) task: Option<String>,
    pub(crate) workspace: String,
    pub(crate) owner: Owner,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    /// Empty: nobody knows it any more.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) env_hex: BTreeMap<String, String>,
    /// Nobody had an environment for it: it got the allow-listed part of the daemon's.
    pub(crate) has_daemons_env: bool,
    /// Names of the variables that were declared.
    pub(crate) declared: Vec<String>,
    pub(crate) session: Option<String>,
    pub(crate) size: Size,
    pub(crate) policy: SizePolicy,
    pub(crate) status: Status,
    pub(crate) run: RunNumber,
    pub(crate) run_token: String,
    /// A holder exists, or is being started, for the run.
    pub(crate) has_holder: bool,
    /// The run before, whose holder stays until this run has one.
    pub(crate) former_holder: Option<FormerRun>,
    pub(crate) pid: Option<i32>,
    pub(crate) exit: Option<Exit>,
    pub(crate) failure: Option<String>,
    pub(crate) log_end: u64,
    pub(crate) title: String,
    pub(crate) started_at: u64,
    pub(crate) active_at: u64,
    /// Last input, output or viewer, on the uptime clock.
    pub(crate) last_activity: u64,
    /// Last output, on the uptime clock.
    pub(crate) last_output: u64,
    pub(crate) auto_restart: bool,
    pub(crate) backoff: Backoff,
    pub(crate) restart_at: Option<u64>,
    pub(crate) idle_timeout_ms: Option<u64>,
    pub(crate) viewers: BTreeMap<ViewerId, Viewer>,
    pub(crate) size_owner: Option<ViewerId>,
    /// Who is told when the run has started or failed to.
    pub(crate) starters: Vec<Ticket>,
    pub(crate) ending: Option<Ending>,
    /// What survived the last end of it or of something below it.
    pub(crate) survivors: Vec<Survivor>,
    /// How it is asked to end, when whoever ends it does not say.
    pub(crate) stop: Stop,
    /// A terminal whose child is over: not listed any more, readable until this moment.
    pub(crate) departs_at: Option<u64>,
    /// What a person has seen of it.
    pub(crate) seen: Seen,
    /// What only agents have.
    pub(crate) agent: Option<Box<Agent>>,
    pub(crate) project: Project,
    pub(crate) preset: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) restore: bool,
    /// Who calls from it has the rights of the person who opened it, unless something stands against it.
    pub(crate) acts_for_person: bool,
    pub(crate) ready: Option<Ready>,
    pub(crate) is_ready: bool,
    /// The watch that tells it, while it goes on.
    pub(crate) ready_watch: Option<WaitId>,
    pub(crate) budget: Option<Budget>,
    pub(crate) spawns: u32,
    pub(crate) leave: Option<Approval>,
    /// Who has the current run started, or the next one that is under way; none: Quarterdeck itself.
    pub(crate) starter: Option<Caller>,
    /// When it was spawned, or last started by a person, on the uptime clock: its budget's time counts from here.
    pub(crate) born_ms: u64,
    /// An earlier daemon started its holder, and whether that is still there is not known yet.
    pub(crate) awaits: Option<Unadopted>,
}

impl Process {
    /// The entry an earlier daemon wrote down. A run that had a holder is `starting` again until it is adopted.
    pub(crate) fn from_record(record: ProcessRecord) -> Self {
        let is_awaited = record.has_holder
            && matches!(record.status, Status::Starting | Status::Running | Status::Stopping);
        // Somebody was ending what was stopping: it is not brought back.
        let restores = record.restore && record.status != Status::Stopping;
        let status = if is_awaited { Status::Starting } else { record.status };
        let turn = record.agent.as_ref().map_or(0, |agent| agent.turn);
        let seen = record.seen.unwrap_or_else(|| Self::seen_before(record.run.0, record.status, turn));
        Self {
            id: record.id,
            name: record.name,
            kind: record.kind,
            parent: record.parent,
            task: record.task,
            workspace: record.workspace,
            owner: record.owner,
            argv: record.argv,
            cwd: record.cwd,
            env: record.env,
            env_hex: record.env_hex,
            has_daemons_env: false,
            declared: record.declared,
            session: None,
            size: record.size.clamped(),
            policy: record.policy,
            status,
            run: record.run,
            run_token: record.run_token,
            has_holder: record.has_holder,
            former_holder: None,
            pid: record.pid,
            exit: record.exit,
            failure: record.failure,
            log_end: 0,
            title: String::new(),
            started_at: record.started_at,
            active_at: record.started_at,
            last_activity: 0,
            last_output: 0,
            auto_restart: record.auto_restart,
            backoff: record.backoff,
            restart_at: record.restart_at,
            idle_timeout_ms: record.idle_timeout_ms,
            viewers: BTreeMap::new(),
            size_owner: None,
            starters: Vec::new(),
            ending: record.ending.as_ref().map(|ending| Ending::from_record(ending, record.has_holder)),
            survivors: Vec::new(),
            stop: record.stop,
            // A terminal whose child was over has only its last words left; they were readable long enough.
            departs_at: (record.kind == Kind::Terminal && !is_awaited).then_some(0),
            seen,
            agent: (record.kind == Kind::Agent).then(|| {
                Box::new(Agent::from_record(record.agent.unwrap_or_default(), status == Status::Starting))
            }),
            project: record.project,
            preset: record.preset,
            key: record.key,
            restore: record.restore,
            acts_for_person: record.acts_for_person,
            ready: record.ready,
            is_ready: record.is_ready,
            ready_watch: None,
            budget: record.budget,
            spawns: record.spawned,
            leave: record.leave,
            starter: None,
            born_ms: record.born_ms,
            awaits: record.has_holder.then_some(Unadopted { status: record.status, restores }),
        }
    }

    /// What its holder keeps in memory for the next daemon: the environment too.
    pub(crate) fn whole_record(&self) -> ProcessRecord {
        ProcessRecord { env: self.env.clone(), env_hex: self.env_hex.clone(), ..self.record() }
    }

    /// What is made durable. An environment has secrets: it is written down only for what is restored after a reboot.
    pub(crate) fn record(&self) -> ProcessRecord {
        let kept = |env: &BTreeMap<String, String>| if self.restore { env.clone() } else { BTreeMap::new() };
        ProcessRecord {
            id: self.id,
            name: self.name.clone(),
            kind: self.kind,
            parent: self.parent,
            task: self.task.clone(),
            workspace: self.workspace.clone(),
            owner: self.owner,
            argv: self.argv.clone(),
            cwd: self.cwd.clone(),
            env: kept(&self.env),
            env_hex: kept(&self.env_hex),
            declared: self.declared.clone(),
            size: self.size,
            policy: self.policy,
            status: self.last_known(),
            run: self.run,
            run_token: self.run_token.clone(),
            has_holder: self.has_holder,
            pid: self.pid,
            exit: self.exit,
            failure: self.failure.clone(),
            started_at: self.started_at,
            auto_restart: self.auto_restart,
            idle_timeout_ms: self.idle_timeout_ms,
            seen: Some(self.seen),
            agent: self.agent.as_deref().map(|agent| agent.record.clone()),
            project: self.project.clone(),
            preset: self.preset.clone(),
            key: self.key.clone(),
            restore: self.restore,
            acts_for_person: self.acts_for_person,
            ready: self.ready.clone(),
            is_ready: self.is_ready,
            budget: self.budget,
            spawned: self.spawns,
            leave: self.leave.clone(),
            born_ms: self.born_ms,
            restart_at: self.restart_at,
            backoff: self.backoff.clone(),
            stop: self.stop,
            ending: self.ending.as_ref().map(Ending::record),
        }
    }

    /// What a client sees. Live numbers of the data plane (log start, title) are filled in by the daemon.
    pub(crate) fn view(&self) -> ProcessView {
        ProcessView {
            id: self.id,
            name: self.name.clone(),
            kind: self.kind,
            status: self.last_known(),
            pid: self.pid.filter(|_| self.is_live()),
            run: self.run,
            state: self.agent.as_deref().map(Agent::state),
            agent: self.agent.as_deref().map(|agent| Box::new(agent.view(self.manifest()))),
            parent: self.parent,
            task: self.task.clone(),
            workspace: self.workspace.clone(),
            owner: self.owner,
            size: self.size,
            viewers: u32::try_from(self.viewers.len()).unwrap_or(u32::MAX),
            exit: self.exit,
            failure: self.failure.clone(),
            unseen: self.unseen(),
            log: LogSpan { start: 0, end: self.log_end },
            argv: self.argv.clone(),
            cwd: self.cwd.clone(),
            project: self.project.key.clone(),
            preset: self.preset.clone(),
            ready: self.ready.as_ref().map(|_| self.is_ready),
            title: self.title.clone(),
            started_at: self.started_at,
            active_at: self.active_at,
        }
    }

    /// What whoever spawned it is told.
    pub(crate) fn spawned(&self) -> Spawned {
        Spawned {
            id: self.id,
            name: self.name.clone(),
            kind: self.kind,
            status: self.status,
            pid: self.pid,
            run: self.run,
            warning: self.has_daemons_env.then(|| DAEMONS_ENV.to_owned()),
            shortfalls: self.agent.as_deref().map(|agent| agent.shortfalls().to_vec()).unwrap_or_default(),
        }
    }

    /// The manifest an agent was started from: its first word.
    pub(crate) fn manifest(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// The key of the current run.
    pub(crate) fn key(&self) -> RunKey {
        RunKey::new(self.id, self.run)
    }

    /// Whether a child runs or is about to.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.status, Status::Starting | Status::Running | Status::Stopping)
    }

    /// Whether an earlier daemon had its run started and nobody ever heard that it was.
    pub(crate) fn was_launching(&self) -> bool {
        self.status == Status::Starting && self.awaits.is_some_and(|awaits| awaits.status == Status::Starting)
    }

    /// Whether its holder is being started by this daemon.
    pub(crate) fn is_launching(&self) -> bool {
        self.status == Status::Starting && self.awaits.is_none()
    }

    /// Its status, or what it was when its holder was last heard.
    pub(crate) fn last_known(&self) -> Status {
        match self.awaits {
            Some(awaits) if self.status == Status::Starting && self.ending.is_none() => awaits.status,
            Some(_) if self.status == Status::Starting => Status::Stopping,
            _ => self.status,
        }
    }

    /// Whether its holder has been heard by this daemon; until then nothing can be done with its terminal.
    pub(crate) fn check_heard(&self) -> Result<(), Failure> {
        match self.awaits {
            None => Ok(()),
            Some(_) => {
                let message = format!("{} cannot be reached: its holder does not answer", self.name);
                Err(Failure::new(ErrorCode::Busy, message)
                    .hint("it goes on when its holder answers; qd close ends it"))
            }
        }
    }

    /// Whether it is no longer listed.
    pub(crate) fn is_departed(&self) -> bool {
        self.departs_at.is_some()
    }

    /// When the idle timeout will end it, if nothing happens until then.
    pub(crate) fn idle_deadline(&self) -> Option<u64> {
        let is_idle = self.status == Status::Running && self.viewers.is_empty() && self.ending.is_none();
        self.idle_timeout_ms.filter(|_| is_idle).map(|timeout| self.last_activity.saturating_add(timeout))
    }

    /// When the next thing about this entry is due.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let sweep = self.ending.as_ref().and_then(sweep_due);
        let agent = self.agent.as_deref().and_then(Agent::next_deadline);
        [self.idle_deadline(), sweep, self.restart_due(), self.departure(), agent].into_iter().flatten().min()
    }

    /// In how many milliseconds it is started again by itself after ending like this; none: it is not.
    pub(crate) fn restarts_in(&self, exit: Exit, now: u64) -> Option<u64> {
        let has_failed = self.kind == Kind::Command && self.auto_restart && exit.code != Some(0);
        has_failed.then(|| self.backoff.delay_after_failure(now)).flatten()
    }

    /// When it is started again by itself; not before it is known what became of its last holder.
    pub(crate) fn restart_due(&self) -> Option<u64> {
        self.restart_at.filter(|_| self.awaits.is_none())
    }

    /// When it goes by itself, once it is known what became of its holder; an end that somebody asked for takes it away
    /// instead, and answers them.
    pub(crate) fn departure(&self) -> Option<u64> {
        self.departs_at.filter(|_| self.ending.is_none() && self.awaits.is_none())
    }
}
