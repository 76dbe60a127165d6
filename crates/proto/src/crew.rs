//! What clients see of timers, grants, trust, presets, scratchpads, ports and the audit log. The engine makes
//! the decisions.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Limit, Name, ProcessId, ProcessView, Stop};

/// A workspace: an access scope. Tasks belong to one, and processes through them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceView {
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since the epoch; none for `local`, which is always there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<u64>,
    /// How many tasks belong to it; dropped ones do not count.
    pub tasks: u32,
    /// How many processes belong to it.
    pub processes: u32,
}

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

/// A right that a person may grant beyond the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Read screens and logs, wait for it.
    Read,
    /// Type, resize, signal, end, restart, rename; and read.
    Drive,
    /// Give it messages.
    Message,
}

impl Right {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Drive => "drive",
            Self::Message => "message",
        }
    }
}

/// One grant, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its number.
    pub grant: u64,
    /// The process that has the right.
    pub to: ProcessId,
    /// The right.
    pub right: Right,
    /// The process that it covers.
    pub over: ProcessId,
    /// Since when, in milliseconds since the epoch.
    pub at: u64,
}

/// One grant, with the names of both processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantView {
    /// The grant.
    #[serde(flatten)]
    pub grant: GrantRecord,
    /// The name of the process that has the right.
    pub to_name: Name,
    /// The name of the process that it covers.
    pub over_name: Name,
}

/// A grant in words.
impl fmt::Display for GrantView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} may {} {}", self.to_name, self.grant.right.word(), self.over_name)
    }
}

/// What a tree of processes may use. A limit that is left out is the daemon's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Processes it may spawn in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawns: Option<u32>,
    /// Processes that may live below it at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<u32>,
    /// How deep processes below it may be nested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// For how long it may spawn, in milliseconds since its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// The limits in effect.
    pub limits: Budget,
    /// Processes it has spawned.
    pub spawns: u32,
    /// Processes that live below it.
    pub live: u32,
    /// How deep the caller is: 1 for a process a person started.
    pub depth: u32,
    /// Milliseconds since its start.
    pub wall_ms: u64,
}

/// How a process shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// A regular expression appears in its output.
    Pattern(String),
    /// It listens on this port.
    Port(u16),
}

/// A project: a directory and its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The first 16 hex digits of SHA-256 over the real path of its main checkout: the same in every worktree.
    pub key: String,
    /// The real path of this checkout.
    pub path: String,
}

/// How the daemon identifies the caller, and what it may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// `human`, or a process's id.
    pub caller: String,
    /// For a person in a terminal that acts for them: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Name>,
    /// For a process: true if callers from it have the rights of the person who opened it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acts_for_person: bool,
    /// The process, for callers that are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Box<ProcessView>>,
    /// The secret that only Quarterdeck writes into the header of a message to this run. Only the run itself
    /// gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The project it works in.
    #[serde(default)]
    pub project: Project,
    /// The tightest budget that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetUse>,
    /// Rights beyond the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantView>,
    /// For a remote person: the label of the device or the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the connection may do at most; left out when nothing is taken away.
    #[serde(default, skip_serializing_if = "Limit::is_none")]
    pub limit: Limit,
}

/// Something that agents may start without approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustView {
    /// SHA-256 over its content, in hex.
    pub digest: String,
    /// The project it was granted for.
    pub project: Project,
    /// The preset, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The agent whose manifest it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it runs, as the person saw it.
    pub command: String,
    /// Since when, in milliseconds since the epoch.
    pub at: u64,
}

/// What a preset runs, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetCommand {
    /// What it runs; a line of shell is `["/bin/sh", "-c", line]`.
    pub argv: Vec<String>,
    /// The variables it declares.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// It restarts when it fails.
    #[serde(default)]
    pub auto_restart: bool,
    /// It restarts after a reboot of the machine.
    #[serde(default)]
    pub restore: bool,
    /// How it shows that it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// How it is asked to end.
    #[serde(default)]
    pub stop: Stop,
    /// Presets that `qd up` waits for before it starts this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// One preset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetView {
    /// Its name.
    pub name: String,
    /// The file that defines it.
    pub origin: String,
    /// What it runs, and how.
    #[serde(flatten)]
    pub command: PresetCommand,
    /// The directory it runs in.
    pub cwd: String,
    /// True if agents may start it without approval.
    pub trusted: bool,
}

/// A project's presets, and the faults of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetList {
    /// The project.
    pub project: Project,
    /// The presets by name.
    pub presets: Vec<PresetView>,
    /// The faults, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// One scratchpad of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PadEntry {
    /// Its name.
    pub name: String,
    /// Its newest revision.
    pub revision: u64,
    /// Who wrote that.
    pub author: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The result of an operation on scratchpads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PadOutcome {
    /// Which there are.
    Listed(Vec<PadEntry>),
    /// A text.
    Text {
        /// Which.
        name: String,
        /// The text.
        content: String,
        /// Of which revision.
        revision: u64,
        /// Who wrote it.
        author: String,
    },
    /// It was changed.
    Changed {
        /// Which.
        name: String,
        /// Its revision now.
        revision: u64,
    },
    /// Every revision that is kept, oldest first.
    History(Vec<PadEntry>),
}

/// To `ports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The ports on which the process's tree listens, as the kernel reports them.
    pub ports: Vec<PortView>,
    /// The web addresses that it has printed, newest first, each once, at most 50. They are unverified.
    #[serde(default)]
    pub urls: Vec<String>,
}

/// A port on which a process's tree listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortView {
    /// The port.
    pub port: u16,
    /// The address it is bound to.
    pub address: String,
    /// Which process of the system listens.
    pub pid: i32,
    /// That one's program.
    pub program: String,
}

/// One row of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// The caller: `human`, a process id with its run, `nobody`, `quarterdeck`.
    pub caller: String,
    /// For what.
    pub verb: String,
    /// The target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What was decided.
    pub decision: String,
    /// Why, or with which arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The row's hash, over the one before it.
    pub hash: String,
}

/// A page of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// Oldest first.
    pub rows: Vec<AuditEntry>,
    /// The result of checking the whole chain, if the request asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<AuditVerdict>,
}

/// The result of checking the chain of hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditVerdict {
    /// Every row fits.
    Intact {
        /// The number of the oldest row that is kept; 1 while none was deleted.
        #[serde(default = "first_row")]
        first: u64,
        /// How many rows there are.
        rows: u64,
        /// The hash of the newest.
        head: String,
    },
    /// From this row on the log was changed.
    Broken {
        /// Counted from one, deleted rows included.
        row: u64,
        /// What is wrong.
        reason: String,
    },
}

fn first_row() -> u64 {
    1
}

/// Reply to a question or a request for attention: it is in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The item, which `wait` accepts.
    pub item: u64,
}
