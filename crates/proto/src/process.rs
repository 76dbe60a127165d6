//! What clients see of one process, as the CLI's stable JSON: kind, status, size, exit. The engine decides
//! their values.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{AgentState, AgentView, Name, ProcessId, RunNumber};

/// The kind of a process, which decides what happens after its child exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A vendor's CLI with our server and hooks; the entry stays and can be resumed.
    Agent,
    /// A preset or any argv; the entry stays and can be started again.
    #[default]
    Command,
    /// A shell or any argv in a directory; the entry is removed when its child exits.
    Terminal,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::Command => "command",
            Self::Terminal => "terminal",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "agent" => Ok(Self::Agent),
            "command" => Ok(Self::Command),
            "terminal" => Ok(Self::Terminal),
            other => Err(format!("a kind is agent, command or terminal, not {}", crate::Printable(other))),
        }
    }
}

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its holder is being started.
    Starting,
    /// Its child runs.
    Running,
    /// It was asked to end and still runs.
    Stopping,
    /// Its child ended; see [`Exit`].
    Exited,
    /// Its child could not be started.
    Failed,
    /// It crashed too often and waits for a person.
    Parked,
}

impl Status {
    /// Returns true if a child runs or is about to.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Exited => "exited",
            Self::Failed => "failed",
            Self::Parked => "parked",
        })
    }
}

/// Who typed last. A lease, not a lock: it follows the last writer, and humans win.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A person.
    #[default]
    User,
    /// A program: another process.
    Orchestrator,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Orchestrator => "orchestrator",
        })
    }
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitReason {
    /// The child ended by itself.
    Exited,
    /// A signal ended the child, from us or from elsewhere.
    Signalled,
    /// A caller closed the process.
    Closed,
    /// It had no input, output or viewer for the configured time.
    IdleTimeout,
    /// Quarterdeck was asked to end everything.
    Shutdown,
    /// The holder vanished, and the run with it.
    Lost,
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exited => "exited",
            Self::Signalled => "signalled",
            Self::Closed => "closed",
            Self::IdleTimeout => "idle_timeout",
            Self::Shutdown => "shutdown",
            Self::Lost => "lost",
        })
    }
}

/// How a run ended: a code or a signal, never both; neither only when it was `lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, when the child chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal, when one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why.
    pub reason: ExitReason,
}

impl Exit {
    /// Returns the exit status a shell would show: the code, or 128 + signal.
    #[must_use]
    pub fn shell_code(&self) -> u8 {
        let code = self.code.or(self.signal.map(|signal| 128 + signal)).unwrap_or(1);
        u8::try_from(code.rem_euclid(256)).unwrap_or(u8::MAX)
    }
}

/// A terminal size. Any size parses; every entry point applies [`Size::clamped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

impl Size {
    /// The size of a process when the request names none.
    pub const DEFAULT: Self = Self { cols: 80, rows: 24 };

    /// Returns the nearest size an emulator can hold: 2..=1000 columns (a wide character needs two), 1..=1000
    /// rows.
    #[must_use]
    pub fn clamped(self) -> Self {
        Self { cols: self.cols.clamp(2, 1000), rows: self.rows.clamp(1, 1000) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.cols, self.rows)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || "a size is COLSxROWS, for example 120x40".to_owned();
        let (cols, rows) = text.split_once(['x', 'X']).ok_or_else(usage)?;
        let number = |digits: &str| {
            digits.parse::<u64>().map(|n| u16::try_from(n).unwrap_or(u16::MAX)).map_err(|_| usage())
        };
        Ok(Self { cols: number(cols)?, rows: number(rows)? })
    }
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

/// Which bytes of a process's output can still be read, by absolute offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSpan {
    /// The oldest byte still there.
    pub start: u64,
    /// One past the newest.
    pub end: u64,
}

/// Answers of the terminal that a child has asked for and has not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadAnswers {
    /// How many wait until the child reads.
    pub waiting: u64,
    /// How many were dropped because too many waited, since the daemon has the run.
    pub dropped: u64,
}

impl std::fmt::Display for UnreadAnswers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { waiting, dropped } = self;
        write!(
            f,
            "it sends queries to its terminal and does not read the answers: {waiting} wait, {dropped} were dropped"
        )
    }
}

/// What only the daemon's part that draws screens knows of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveNumbers {
    /// The readable part of its output.
    pub log: LogSpan,
    /// The terminal's answers that the child has not read; absent when it has read all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_answers: Option<UnreadAnswers>,
}

/// What has ended in a process since a person last looked at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// What.
    pub what: UnseenEnd,
    /// The turn, of an agent that still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// When it ended, in milliseconds since the epoch.
    pub since: u64,
}

/// The kind of end that a person has not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnseenEnd {
    /// The agent ended a turn.
    Turn,
    /// The run is over.
    Exit,
    /// The run could not be started, or is not restarted.
    Failure,
}

/// A process's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalView {
    /// Who types.
    pub owner: Owner,
    /// Its size.
    pub size: Size,
    /// The number of viewers.
    pub viewers: u32,
}

/// What a process runs and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramView {
    /// Its command.
    pub argv: Vec<String>,
    /// Its directory.
    pub cwd: String,
    /// The key of the project it works in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The preset it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

/// The times of a run, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimesView {
    /// When it started.
    pub started_at: u64,
    /// When it last had output or input.
    pub active_at: u64,
}

/// One row of `qd ps --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessView {
    /// Its id.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// Its status.
    pub status: Status,
    /// The pid of the run's child, while there is one.
    pub pid: Option<i32>,
    /// Which run this is.
    pub run: RunNumber,
    /// The state of an agent; `null` for processes without a judged state.
    pub state: Option<AgentState>,
    /// The agent's part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentView>>,
    /// The process that spawned it.
    pub parent: Option<ProcessId>,
    /// The task it works for.
    pub task: Option<String>,
    /// The access scope it belongs to.
    pub workspace: String,
    /// Its terminal; on the wire these are fields of the process, as with every group here.
    #[serde(flatten)]
    pub terminal: TerminalView,
    /// How the last run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Why it is `failed`, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What has ended since a person last looked at it; the same for all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// Its output and what it has not read.
    #[serde(flatten)]
    pub live: LiveNumbers,
    /// What it runs and where.
    #[serde(flatten)]
    pub program: ProgramView,
    /// True once it is ready; absent when it has no readiness check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// The title its child set, made printable.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// When its run started and when it was last active.
    #[serde(flatten)]
    pub times: TimesView,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_sizes_are_clamped_each_dimension_on_its_own() {
        let size = |cols, rows| Size { cols, rows }.clamped();
        assert_eq!(size(0, 0), Size { cols: 2, rows: 1 });
        assert_eq!(size(1, 50), Size { cols: 2, rows: 50 });
        assert_eq!(size(65535, 65535), Size { cols: 1000, rows: 1000 });
        assert_eq!("99999999x3".parse::<Size>().map(Size::clamped), Ok(Size { cols: 1000, rows: 3 }));
    }

    #[test]
    fn a_process_is_one_flat_object_whose_fields_keep_their_names_and_order() {
        let text = concat!(
            r#"{"id":"p_aaaaaaab","name":"web","kind":"command","status":"exited","pid":null,"run":2,"#,
            r#""state":null,"parent":null,"task":"login","workspace":"local","owner":"user","#,
            r#""size":{"cols":80,"rows":24},"viewers":1,"exit":{"code":3,"reason":"exited"},"#,
            r#""failure":"no such program","unseen":{"what":"exit","since":5},"log":{"start":0,"end":7},"#,
            r#""unread_answers":{"waiting":1,"dropped":0},"argv":["make","run"],"cwd":"/srv","#,
            r#""project":"0123456789abcdef","preset":"web","ready":true,"title":"web","#,
            r#""started_at":1700000000000,"active_at":1700000000001}"#,
        );
        let view: ProcessView = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&view).unwrap(), text);
    }

    #[test]
    fn an_exit_maps_to_what_a_shell_would_show() {
        let exit = |code, signal| Exit { code, signal, reason: ExitReason::Exited }.shell_code();
        assert_eq!(exit(Some(3), None), 3);
        assert_eq!(exit(None, Some(9)), 137);
        assert_eq!(exit(None, None), 1);
    }
}
