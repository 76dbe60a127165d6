//! The end of a run that is under way, from the request until its tree is gone.

use proto::ExitReason;
use serde::{Deserialize, Serialize};

use crate::input::Ticket;

/// When a run is swept that has not been asked to end yet: not before it has been.
pub(crate) const NOT_YET: u64 = u64::MAX;

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

/// How a tree is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopSignal {
    /// The signal that asks.
    pub(crate) signal: i32,
    /// How long the tree may take after it.
    pub(crate) grace_ms: u32,
}

/// A run that is being ended, from the request until its tree is gone.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// Why; becomes the exit's reason. None: the child's own status decides.
    pub(crate) reason: Option<ExitReason>,
    /// What follows.
    pub(crate) then: Then,
    /// The callers that are answered when it is over.
    pub(crate) tickets: Vec<Ticket>,
    /// The signal that asks.
    pub(crate) signal: i32,
    /// How long the tree may take after that signal.
    pub(crate) grace_ms: u32,
    /// The grace that a caller asked for: it counts for everything below as well.
    pub(crate) asked_grace_ms: Option<u32>,
    /// When the tree is killed, on the uptime clock; none before it has been asked.
    pub(crate) insist_at: Option<u64>,
    /// Swept from outside when the holder has not reported by then.
    pub(crate) sweep_at: u64,
    /// Whether that has been ordered.
    pub(crate) is_swept: bool,
    /// The tree was reported gone before the exit was logged.
    pub(crate) is_gone: bool,
    /// Only the child is ended; what it put in the background stays.
    pub(crate) keeps_background: bool,
    /// An earlier daemon began it, and no caller has asked this one yet: a caller that asks again is that daemon's caller.
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
    /// An end that begins now; the tree has not been asked yet.
    pub(crate) fn new(reason: Option<ExitReason>, then: Then, stop: StopSignal) -> Self {
        Self {
            reason,
            then,
            tickets: Vec::new(),
            signal: stop.signal,
            grace_ms: stop.grace_ms,
            asked_grace_ms: None,
            insist_at: None,
            sweep_at: NOT_YET,
            is_swept: false,
            is_gone: false,
            keeps_background: false,
            is_restored: false,
        }
    }

    pub(super) fn from_record(record: &EndingRecord, has_holder: bool) -> Self {
        Self {
            asked_grace_ms: record.asked_grace_ms,
            insist_at: record.insist_at,
            is_gone: !has_holder,
            keeps_background: record.keeps_background,
            is_restored: true,
            ..Self::new(
                record.reason,
                record.then,
                StopSignal { signal: record.signal, grace_ms: record.grace_ms },
            )
        }
    }

    pub(super) fn record(&self) -> EndingRecord {
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
