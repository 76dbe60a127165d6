//! All that happens to the deck, and all that it wants done.

use std::path::PathBuf;

use proto::event::Event;
use proto::{Failure, ProcessId, ProcessView, Reply, Request, Size};

use crate::host::input::Answer;
use crate::host::{InputEvent, Mouse};
use crate::model::agent_form::AgentSettings;
use crate::model::history::HistoryLine;
use crate::model::overlay::{OpenPad, Purpose};
use crate::model::palette::Placement;
use crate::model::splits::PaneId;

/// Something happened.
#[derive(Debug)]
pub(crate) enum Message {
    /// The person typed, clicked or pasted.
    Input(InputEvent),
    /// The person's terminal has said something about itself.
    Host(Answer),
    /// The person's terminal has another size.
    Resized(Size),
    /// A deadline of the model has passed.
    Tick,
    /// The daemon is there: the truth at this moment.
    Connected(Vec<ProcessView>),
    /// The daemon is gone, with the reason.
    Disconnected(String),
    /// The daemon was shut down: no other one comes by itself.
    ShutDown,
    /// The daemon that the person wanted could not be started, for this reason.
    NotStarted(String),
    /// What was typed into a pane without a daemon does not reach its program.
    Untyped(PaneId),
    /// The view of a process was closed, and so many KiB that were typed into it had not been read.
    Unread(ProcessId, usize),
    /// Something happened in the crew.
    Happened(Event),
    /// A call was answered.
    Answered(CallFor, Result<Reply, Failure>),
    /// The terminal behind a pane has this size, and not the pane's.
    OtherSize(PaneId, Option<Size>),
    /// The stream of a pane ended.
    PaneEnded(PaneId, String),
    /// The mouse did something in a pane whose program does not want to hear of it.
    UnwantedMouse { pane: PaneId, mouse: Mouse, lines: Vec<HistoryLine>, is_alternate: bool },
    /// What a pane shows, to scroll and copy.
    Lines { pane: PaneId, lines: Vec<HistoryLine>, is_alternate: bool, search: bool },
    /// What became of a copy.
    Copied(String),
    /// The program in a pane asks to write this to the clipboard.
    ChildCopies(PaneId, Vec<u8>),
    /// The person asks to open this link.
    Link(String),
    /// A call was begun when there was no daemon to ask.
    NotAsked(CallFor),
    /// A call was sent, and the daemon was gone before it answered.
    Unanswered(CallFor, Box<Request>),
    /// A text comes back from the person's editor.
    Edited(EditFor, String),
    /// What the repository does in a new worktree.
    Prepares(crate::preparation::Preparation),
    /// The settings were read again.
    Configured(Box<crate::config::Config>, Option<String>),
}

/// What a text in the person's editor is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditFor {
    /// To be read; changes are dropped.
    Reading,
    /// What a new agent, or the one of a new task, is asked.
    FirstMessage,
    /// The answer to a question of the deck.
    Purpose(Purpose),
    /// The changes of this task are read again.
    Changes(String),
    /// The new text of a scratchpad.
    Pad(OpenPad),
}

/// What a call was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallFor {
    Inbox,
    Timers,
    Pads,
    Presets,
    Agents,
    Tasks,
    /// Which tasks would conflict.
    Forecast,
    /// Which dropped tasks can be brought back.
    Restorable,
    /// A task was created or brought back; its agent is started.
    TaskMade {
        runs: bool,
        /// The person stays where they are.
        stays: bool,
        /// How the agent is started.
        settings: AgentSettings,
    },
    /// Something was done to a task.
    TaskDone,
    /// The changes of a task: its review is opened, or the open one is read again.
    Changes {
        opens: bool,
    },
    Ports(ProcessId),
    /// Whose size the terminal behind a pane has.
    SizeOwner(PaneId),
    /// Something was started, to be shown there.
    Start(Placement),
    /// The answer to an item of the inbox.
    Answer(u64),
    Explain,
    PadText,
    /// The text of an earlier revision of a scratchpad.
    OldPadText,
    /// A scratchpad was changed.
    PadChanged,
    /// A scratchpad was written in the person's editor.
    PadWritten(OpenPad),
    /// Something that the person wrote in a line. It is kept if it does not arrive.
    Written(Box<Written>),
    /// The revisions of this scratchpad.
    PadRevisions(String),
    History(ProcessId),
    /// A message to an agent.
    Tell(ProcessId),
    /// Something whose success is told in these words.
    Confirmed(String),
    /// Who looks at a process.
    Viewers(ProcessId),
    /// What a run of a process has printed.
    Log(ProcessId, u32),
    Messages,
    Grants,
    /// How the daemon is.
    Status,
    /// Which tasks would be collected; asked before they are.
    WouldCollect,
    /// Only a failure is of interest.
    Nothing,
}

impl CallFor {
    /// Returns true if it only brings what the deck shows anyway up to date: the next daemon is asked for all of it.
    pub(crate) fn is_refresh(&self) -> bool {
        matches!(
            self,
            Self::Inbox
                | Self::Timers
                | Self::Pads
                | Self::Presets
                | Self::Agents
                | Self::Tasks
                | Self::Ports(_)
                | Self::SizeOwner(_)
                | Self::Status
        )
    }
}

/// A text of the person on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) purpose: Purpose,
    pub(crate) text: String,
    /// What the call is for otherwise.
    pub(crate) what: CallFor,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// To the program in a pane, as it was typed.
    Type(PaneId, InputEvent),
    /// To the program in a pane, as if pasted.
    Paste(PaneId, String),
    /// To the program in a pane, if it wants to hear of the mouse.
    Mouse(PaneId, Mouse),
    /// Asks for what a pane shows, to select text in it with the mouse.
    Select(PaneId, Mouse),
    /// Tells the program in a pane about the focus, if it wants to hear of it.
    Focus(PaneId, bool),
    Call(CallFor, Box<Request>),
    /// Asks for what a pane shows.
    Lines {
        pane: PaneId,
        search: bool,
    },
    /// Hands text to the terminal's clipboard.
    Copy(String),
    /// Hands text of the program with this name to the terminal's clipboard.
    CopyFor(String, String),
    /// Hands a link to the person's desktop.
    OpenLink(String),
    /// Lends the terminal to the person's editor with this text.
    Edit(EditFor, String),
    /// Removes a file whose text was saved.
    RemoveDraft(PathBuf),
    /// Lends the terminal to the person's editor with this file, at a line.
    EditFile {
        what: EditFor,
        path: PathBuf,
        line: u32,
    },
    /// Asks the person's terminal for a notice.
    Notify(String),
    /// Lends the whole terminal to a process.
    Direct(ProcessId),
    /// Writes a setting, by its name and with its value as the file has it.
    KeepSetting(&'static str, String),
    /// The layout has changed.
    KeepLayout,
    /// A hint was shown once more.
    KeepHints,
    /// Asks what the repository does in a new worktree.
    Preparation,
    /// Starts a daemon although the last one was shut down.
    StartDaemon,
    Leave,
}
