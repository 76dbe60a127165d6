//! What clients see of timers.

use serde::{Deserialize, Serialize};

use crate::{Name, ProcessId};

/// Where a timer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerStatus {
    /// It will fire.
    Armed,
    /// It keeps the remaining time.
    Paused,
    /// It has fired.
    Fired,
    /// It will not fire.
    Cancelled,
}

/// What a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerKind {
    /// Time.
    Delay,
    /// One of its processes to become idle.
    IdleAny,
    /// All of its processes to be idle.
    IdleAll,
}

/// One timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerView {
    /// Its number.
    pub timer: u64,
    /// The process that it wakes.
    pub owner: ProcessId,
    /// The owner's name.
    pub owner_name: Name,
    /// What it waits for.
    pub kind: TimerKind,
    /// Where it is.
    pub status: TimerStatus,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The text of the message to its owner.
    pub body: String,
    /// The processes that it watches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<ProcessId>,
    /// Milliseconds until it fires at the latest.
    pub remaining_ms: u64,
    /// Why it fired or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}
