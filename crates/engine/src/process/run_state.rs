//! What is known of the current run of a process; a new run replaces all of it by one assignment.

use std::collections::BTreeMap;

use proto::{Exit, RunNumber, Size, Status};
use serde::{Deserialize, Serialize};

use super::end_request::{Ending, EndingRecord};
use crate::input::{Caller, Moment, Survivor, ViewerId, WaitId};

/// The current run.
#[derive(Clone, Debug)]
pub(crate) struct RunState {
    /// Which run of the process it is.
    pub(crate) number: RunNumber,
    /// The mark that its processes carry in their environment.
    pub(crate) token: String,
    pub(crate) status: Status,
    /// A holder exists, or is being started, for it.
    pub(crate) has_holder: bool,
    /// An earlier daemon started its holder, and whether that is still there is not known yet.
    pub(crate) awaits: Option<Unadopted>,
    pub(crate) pid: Option<i32>,
    pub(crate) exit: Option<Exit>,
    /// Why it could not be started.
    pub(crate) failure: Option<String>,
    pub(crate) log_end: u64,
    pub(crate) title: String,
    pub(crate) times: RunTimes,
    pub(crate) is_ready: bool,
    /// The watch that reports that it is ready, while it goes on.
    pub(crate) ready_watch: Option<WaitId>,
    pub(crate) viewers: Viewers,
    pub(crate) ending: Option<Ending>,
    /// What survived the last end of it or of something below it.
    pub(crate) survivors: Vec<Survivor>,
    /// When the next run is started by itself, on the uptime clock.
    pub(crate) restart_at: Option<u64>,
    /// A terminal whose child is over: not listed any more, readable until this moment.
    pub(crate) departs_at: Option<u64>,
}

/// When things happened to a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunTimes {
    /// Its start, wall time.
    pub(crate) started_at: u64,
    /// Last activity, wall time.
    pub(crate) active_at: u64,
    /// Last input, output or viewer, on the uptime clock.
    pub(crate) last_activity: u64,
    /// Last output, on the uptime clock.
    pub(crate) last_output: u64,
}

/// Who is attached to a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Viewers {
    pub(crate) attached: BTreeMap<ViewerId, Viewer>,
    /// The viewer whose size the terminal has.
    pub(crate) size_owner: Option<ViewerId>,
}

/// One attached viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Viewer {
    /// The size of its terminal.
    pub(crate) size: Size,
    /// Watching only.
    pub(crate) read_only: bool,
    /// It mirrors the size and never changes it.
    pub(crate) mirrors: bool,
    /// On whose behalf.
    pub(crate) by: Caller,
    /// The device or the token of a remote person.
    pub(crate) label: Option<String>,
    /// The pid of its client.
    pub(crate) pid: Option<i32>,
    /// When it joined, in milliseconds since the epoch.
    pub(crate) since: u64,
}

impl Viewer {
    /// Returns true if its size may become the terminal's: it types, and does not mirror.
    pub(crate) fn counts_for_size(&self) -> bool {
        !self.read_only && !self.mirrors
    }
}

/// A holder that an earlier daemon started and that has not been found or missed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unadopted {
    /// What was last known of the run; what it is now only its holder knows.
    pub(crate) status: Status,
    /// When it is missed, the process is started again.
    pub(crate) restores: bool,
}

/// What is made durable of a run. Part of its process's document: new fields need a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which run.
    #[serde(rename = "run")]
    pub number: RunNumber,
    /// The mark the run's processes carry in their environment.
    #[serde(default, rename = "run_token")]
    pub token: String,
    /// Where it is in its life.
    pub status: Status,
    /// Whether a holder should exist for the run.
    #[serde(default)]
    pub has_holder: bool,
    /// The child's pid.
    #[serde(default)]
    pub pid: Option<i32>,
    /// How the run ended.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// Why it could not be started.
    #[serde(default)]
    pub failure: Option<String>,
    /// When the run started, wall time.
    #[serde(default)]
    pub started_at: u64,
    /// Whether it has reported that it is ready.
    #[serde(default)]
    pub is_ready: bool,
    /// When the next run is started by itself, on the uptime clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_at: Option<u64>,
    /// The end that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<EndingRecord>,
}

impl RunState {
    /// A run whose holder is to be started now.
    pub(crate) fn new(number: RunNumber, token: String, now: Moment) -> Self {
        let times = RunTimes {
            started_at: now.wall_ms,
            active_at: now.wall_ms,
            last_activity: now.uptime_ms,
            last_output: now.uptime_ms,
        };
        Self {
            number,
            token,
            status: Status::Starting,
            has_holder: true,
            awaits: None,
            pid: None,
            exit: None,
            failure: None,
            log_end: 0,
            title: String::new(),
            times,
            is_ready: false,
            ready_watch: None,
            viewers: Viewers::default(),
            ending: None,
            survivors: Vec::new(),
            restart_at: None,
            departs_at: None,
        }
    }

    /// The run an earlier daemon wrote down. If it had a holder, it is `starting` again until the holder is adopted.
    pub(crate) fn from_record(record: RunRecord, restores: bool) -> Self {
        let has_holder = record.has_holder;
        let is_awaited = has_holder && record.status.is_live();
        // What was stopping was ended on request: it is not brought back.
        let restores = restores && record.status != Status::Stopping;
        let times =
            RunTimes { started_at: record.started_at, active_at: record.started_at, ..RunTimes::default() };
        Self {
            status: if is_awaited { Status::Starting } else { record.status },
            has_holder,
            awaits: has_holder.then_some(Unadopted { status: record.status, restores }),
            pid: record.pid,
            exit: record.exit,
            failure: record.failure,
            times,
            is_ready: record.is_ready,
            ending: record.ending.as_ref().map(|ending| Ending::from_record(ending, has_holder)),
            restart_at: record.restart_at,
            ..Self::new(record.number, record.token, Moment::default())
        }
    }

    /// What is made durable of it.
    pub(crate) fn record(&self) -> RunRecord {
        RunRecord {
            number: self.number,
            token: self.token.clone(),
            status: self.last_known(),
            has_holder: self.has_holder,
            pid: self.pid,
            exit: self.exit,
            failure: self.failure.clone(),
            started_at: self.times.started_at,
            is_ready: self.is_ready,
            restart_at: self.restart_at,
            ending: self.ending.as_ref().map(Ending::record),
        }
    }

    /// Returns true if a child runs or is about to.
    pub(crate) fn is_live(&self) -> bool {
        self.status.is_live()
    }

    /// Its status, or what it was when its holder was last heard.
    pub(crate) fn last_known(&self) -> Status {
        match self.awaits {
            Some(awaits) if self.status == Status::Starting && self.ending.is_none() => awaits.status,
            Some(_) if self.status == Status::Starting => Status::Stopping,
            _ => self.status,
        }
    }

    /// When it is followed by the next run; not before it is known whether its holder is gone.
    pub(crate) fn restart_due(&self) -> Option<u64> {
        self.restart_at.filter(|_| self.awaits.is_none())
    }

    /// When its process goes by itself, once it is known whether its holder is gone; an end that a caller asked for
    /// removes the process instead, and answers them.
    pub(crate) fn departure(&self) -> Option<u64> {
        self.departs_at.filter(|_| self.ending.is_none() && self.awaits.is_none())
    }
}
