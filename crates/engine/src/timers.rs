//! Wake-ups that processes own.
//!
//! Owns timers from their setting to their one firing. Refuses clocks: moments are arguments.

use proto::crew::{TimerKind, TimerStatus};
use proto::{Name, ProcessId};
use serde::{Deserialize, Serialize};

use crate::Engine;

/// One timer as it is made durable. New fields need a default, so that older documents still read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerRecord {
    /// Its number.
    pub timer: u64,
    /// Whom it wakes: the process, and the run that set it.
    pub owner: ProcessId,
    /// That run.
    pub run: proto::RunNumber,
    /// The owner's name when it was set.
    pub owner_name: Name,
    /// What it waits for.
    pub kind: TimerKind,
    /// Where it is.
    pub status: TimerStatus,
    /// Its name.
    #[serde(default)]
    pub label: String,
    /// What the owner is told.
    pub body: String,
    /// The key it was set with.
    #[serde(default)]
    pub key: Option<String>,
    /// Whom it watches.
    #[serde(default)]
    pub watches: Vec<ProcessId>,
    /// When it fires at the latest, on the uptime clock; while paused, how many milliseconds were left.
    pub due_ms: u64,
}

/// Every timer.
#[derive(Debug, Default)]
pub(crate) struct Timers {}

impl Engine {
    pub(crate) fn timer_deadline(&self) -> Option<u64> {
        let Timers {} = self.timers;
        None
    }

    pub(crate) fn pass_timer_deadlines(&mut self) {}

    pub(crate) fn restore_timers(&mut self, _saved: Vec<TimerRecord>) {}
}
