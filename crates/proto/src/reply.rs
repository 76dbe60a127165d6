//! The daemon's replies: the shapes of success. Which verb gets which is declared in [`mod@crate::verbs`].

use serde::{Deserialize, Serialize};

use crate::agent::{InboxItem, ManifestFault};
use crate::event::{Announcement, Notice};
use crate::modes::ModesView;
use crate::process::LogSpan;
use crate::request::ReadMode;
use crate::styled::StyledRow;
pub use crate::verbs::Reply;
use crate::{Exit, Failure, Kind, Limit, Name, ProcessId, ProcessView, RunNumber, Size, Status};

/// One line from the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerLine {
    /// The reply to one call.
    Reply(Answer),
    /// Something happened; only after `subscribe`.
    Event(Announcement),
    /// Something about this connection's own stream; only after `attach` or `follow`.
    Notice(Notice),
}

/// The reply to one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The call's id; 0 when it could not be read.
    pub id: u64,
    /// Its result.
    pub outcome: Outcome,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It worked.
    Ok(Reply),
    /// It did not.
    Error(Failure),
}

impl From<Result<Reply, Failure>> for Outcome {
    fn from(result: Result<Reply, Failure>) -> Self {
        match result {
            Ok(reply) => Self::Ok(reply),
            Err(failure) => Self::Error(failure),
        }
    }
}

/// To `hello`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol of the daemon.
    pub protocol: u16,
    /// The daemon's version.
    pub version: String,
    /// The daemon's pid.
    pub pid: u32,
    /// How the daemon identifies the caller: `human`, a process id, or `nobody`.
    pub caller: String,
    /// What the connection may do at most. A daemon that knows no limits leaves it out: a client that needs one
    /// must then leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// To `status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Always true: a daemon answered.
    pub running: bool,
    /// The daemon's pid.
    pub pid: u32,
    /// The daemon's version.
    pub version: String,
    /// Its protocol.
    pub protocol: u16,
    /// Entries it has.
    pub processes: u32,
    /// The number of attached clients.
    pub viewers: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// What a person should know: a full disk, a corrupt database that was moved away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// To `spawn` and `restart`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawned {
    /// Its id.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// Its status.
    pub status: Status,
    /// The child's pid.
    pub pid: Option<i32>,
    /// Which run.
    pub run: RunNumber,
    /// What differs from what the caller may expect, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// For agents: what the launch lacks, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
}

/// A cursor, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorView {
    /// Column.
    pub col: u16,
    /// Row.
    pub row: u16,
    /// True if it is visible.
    pub visible: bool,
}

/// To `read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// Which text this is.
    pub mode: ReadMode,
    /// The text.
    pub text: String,
    /// The screen's version: it grows with every visible change.
    pub version: u64,
    /// The cursor.
    pub cursor: CursorView,
    /// The terminal's size.
    pub size: Size,
    /// Where the next read continues: an offset (stream), a line id (history), the log's end (screen).
    pub offset: u64,
    /// Bytes (stream) or lines (history) before the oldest that are lost.
    pub missed: u64,
    /// True if the limit cut something off.
    pub truncated: bool,
    /// True if the alternate screen is shown.
    pub alternate: bool,
    /// The title the child set, made printable.
    pub title: String,
    /// The id of the first line of the text (history): where wraps are kept, the line after it has the next id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// Bytes of the last line (history), or of the links of a row (`styles`), that were left out because not
    /// even one row fits the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// The modes that the child has switched on (screen).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<ModesView>,
    /// Styled rows, if `styles` asked for them; `text` is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<StyledRow>>,
    /// The row of the screen at which the next read continues (screen with `styles`, cut by the limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// The line's id.
    pub line: u64,
    /// First byte of the match in `text`.
    pub start: usize,
    /// One past its last byte in `text`.
    pub end: usize,
    /// The line, soft wraps joined; for a line longer than 512 bytes the part around the match.
    pub text: String,
    /// Bytes of the line before `text`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// True if the line, or the match itself, continues after `text`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// To `search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matches {
    /// In order of line ids.
    pub matches: Vec<Match>,
    /// True if a limit, of matches or of bytes, cut some off.
    pub truncated: bool,
}

/// One process that satisfied a wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Satisfied {
    /// Which.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// The line that matched, for patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How it ended, for exits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Its state, for agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<crate::AgentState>,
    /// The dialog that it waits for, when it is blocked: what `answer` accepts, with the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Box<InboxItem>>,
    /// The log's end at that moment.
    pub offset: u64,
}

/// To `wait`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// The processes that satisfied it: all of them, or the first.
    pub satisfied: Vec<Satisfied>,
}

/// To `write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wrote {
    /// Bytes that reached the terminal.
    pub written: u64,
    /// The total number of bytes, as encoded for the terminal.
    pub of: u64,
    /// True if Enter was pressed and the screen changed; absent when `submit` was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<bool>,
}

/// To `attach`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    /// Which process.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// Which run.
    pub run: RunNumber,
    /// The terminal's size, which may differ from the viewer's.
    pub size: Size,
    /// The stream number of the frames that follow.
    pub stream: u32,
    /// True if the viewer may pass its terminal.
    #[serde(default)]
    pub takes_terminal: bool,
    /// True if the daemon distinguishes a terminal's answers about itself from keys.
    #[serde(default)]
    pub takes_answers: bool,
    /// True if the viewer asked for receipts of its input and gets them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receipts: bool,
}

/// To `follow`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Following {
    /// Which process.
    pub id: ProcessId,
    /// Which run.
    pub run: RunNumber,
    /// The stream number of the frames that follow.
    pub stream: u32,
    /// The readable part of the log.
    pub log: LogSpan,
    /// The terminal's size, for recordings.
    pub size: Size,
    /// The offset that the stream begins at.
    #[serde(default)]
    pub from: u64,
}

/// One viewer, as `viewers` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewerView {
    /// Its number; `v` and the number is its name.
    pub viewer: u64,
    /// The process that it watches.
    pub id: ProcessId,
    /// That process's name.
    pub name: Name,
    /// The viewer's caller: `person`, `person via NAME`, or the name of a process.
    pub by: String,
    /// The pid of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Since when, in milliseconds since the epoch.
    pub since: u64,
    /// The size of its terminal.
    pub size: Size,
    /// It only watches.
    #[serde(default)]
    pub read_only: bool,
    /// The process has its size.
    #[serde(default)]
    pub owns_size: bool,
}

/// To `subscribe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscribed {
    /// Events after this revision follow.
    pub revision: u64,
    /// All processes at that revision.
    pub processes: Vec<ProcessView>,
}

/// To `kill` and `close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Which process.
    pub id: ProcessId,
    /// How its run ended; absent when it never had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

/// Reply to a question or a request for attention: it is in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The item, which `wait` accepts.
    pub item: u64,
}

/// To `hook`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// What the hook prints, as JSON; none means nothing.
    pub output: Option<serde_json::Value>,
}

/// To `check_manifest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestChecked {
    /// The faults; empty when there are none.
    pub faults: Vec<ManifestFault>,
    /// Recordings with another result than they expect, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disagreements: Vec<String>,
    /// Rules, dialogs and the composer that no recording needed, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
}

/// To `sample`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleTaken {
    /// A name for its file.
    pub file: String,
    /// The file's text.
    pub text: String,
    /// The number of masked secrets.
    pub masked: u32,
}

/// To verbs without a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {}

impl From<Done> for () {
    fn from(_: Done) {}
}
