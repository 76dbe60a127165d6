//! The verbs for timers, with their arguments.

use serde::{Deserialize, Serialize};

use super::Target;

/// When a timer fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerWhen {
    /// After this many milliseconds.
    After(u64),
    /// When one of these becomes idle after now.
    IdleAny(TimerWatch),
    /// When all of these are idle, which they may be already.
    IdleAll(TimerWatch),
}

/// The processes that a timer watches, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerWatch {
    /// Which processes.
    pub processes: Vec<Target>,
    /// Fire at the latest after this many milliseconds.
    pub max_wait_ms: u64,
}

/// Arguments of `set_timer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetTimer {
    /// The process that it wakes; left out: the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Target>,
    /// When.
    pub when: TimerWhen,
    /// The text of the message to the owner.
    pub body: String,
    /// Its name, for people and for the header of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Chosen by the caller: the same key again returns the same timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The change to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerChange {
    /// It never fires.
    Cancel,
    /// It keeps the remaining time.
    Pause,
    /// It continues with the remaining time.
    Resume,
}

/// Arguments of `change_timer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTimer {
    /// Which.
    pub timer: u64,
    /// What.
    pub change: TimerChange,
}
