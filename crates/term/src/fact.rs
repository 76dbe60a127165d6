//! The facts that a stream carries about its program, as a closed list, and the bounded log in which they
//! wait. Their meaning for states and notifications is decided in the engine and the agents crate.

use crate::status::StatusReport;

/// The most facts that wait to be collected. One more drops the oldest.
const FACTS_MAX: usize = 256;

/// Which sequence carried a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotificationSource {
    /// `OSC 9 ; text`.
    Osc9,
    /// `OSC 99 ; metadata ; text`.
    Osc99,
    /// `OSC 777 ; notify ; title ; text`.
    Osc777,
}

/// State of a progress report (`OSC 9 ; 4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Nothing to show.
    None,
    /// Running at a percentage.
    Running,
    /// Failed.
    Error,
    /// Running, no percentage known.
    Indeterminate,
    /// Paused or in need of attention.
    Paused,
}

/// A shell integration mark (`OSC 133`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptMark {
    /// `A`: a prompt starts.
    PromptStart,
    /// `B`: the prompt ended, input starts.
    InputStart,
    /// `C`: a command runs, output starts.
    OutputStart,
    /// `D`: the command ended.
    CommandEnd {
        /// Its exit code, if the shell reported one.
        exit: Option<i32>,
    },
}

/// Where an OSC 52 write wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClipboardTarget {
    /// The clipboard (`c`, or nothing named).
    Clipboard,
    /// The primary selection (`p`, `s`).
    Selection,
}

/// One statement of the stream. Text in facts has no control characters and is bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The title changed (OSC 0, OSC 2, title stack).
    Title(String),
    /// BEL.
    Bell,
    /// The child's directory (OSC 7, OSC 9;9).
    WorkingDirectory(String),
    /// The child sends a notification.
    Notification {
        /// By which sequence.
        source: NotificationSource,
        /// Heading; may be empty.
        title: String,
        /// Text; may be empty.
        body: String,
    },
    /// The child reports its progress (OSC 9;4).
    Progress {
        /// Kind of progress.
        state: Progress,
        /// Percentage, when one was given.
        percent: Option<u8>,
    },
    /// A program status report (OSC 7501) that passed every check.
    ProgramStatus(StatusReport),
    /// Shell integration (OSC 133).
    PromptMark(PromptMark),
    /// The child asks to write the clipboard (OSC 52). The caller decides whether it may. Requests to read it
    /// are never answered and never become a fact.
    Clipboard {
        /// Which clipboard.
        target: ClipboardTarget,
        /// What to put there; empty means clear.
        data: Vec<u8>,
    },
    /// The alternate screen was entered (`true`) or left.
    AlternateScreen(bool),
    /// The emulator failed, and a fresh one of the same size replaced it. The screen's content is lost.
    DisplayReset,
}

impl Fact {
    /// Returns true if only the newer of two facts matters.
    fn supersedes(&self, older: &Fact) -> bool {
        match (self, older) {
            (Fact::ProgramStatus(new), Fact::ProgramStatus(old)) => new.id == old.id,
            (Fact::Title(_), Fact::Title(_))
            | (Fact::Bell, Fact::Bell)
            | (Fact::WorkingDirectory(_), Fact::WorkingDirectory(_))
            | (Fact::Progress { .. }, Fact::Progress { .. })
            | (Fact::Clipboard { .. }, Fact::Clipboard { .. })
            | (Fact::AlternateScreen(_), Fact::AlternateScreen(_))
            | (Fact::DisplayReset, Fact::DisplayReset) => true,
            _ => false,
        }
    }
}

/// Facts waiting to be taken, in stream order, bounded.
#[derive(Debug, Default)]
pub(crate) struct FactLog {
    facts: Vec<Fact>,
}

impl FactLog {
    /// Appends a fact. Drops what it supersedes and, when the log is full, the oldest.
    pub(crate) fn push(&mut self, fact: Fact) {
        self.facts.retain(|older| !fact.supersedes(older));
        if self.facts.len() >= FACTS_MAX {
            self.facts.remove(0);
        }
        self.facts.push(fact);
    }

    /// Returns all facts and empties the log.
    pub(crate) fn take(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }
}

/// Returns `text` without control, bidirectional and zero-width characters and at most `max` bytes long.
pub(crate) fn printable(text: &str, max: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(max));
    for character in text.chars().filter(|&character| is_printable(character)) {
        if clean.len() + character.len_utf8() > max {
            break;
        }
        clean.push(character);
    }
    clean
}

/// Returns true if a character is visible and affects only its own place.
pub(crate) fn is_printable(character: char) -> bool {
    !character.is_control() && !is_hidden(character)
}

/// Returns true for a character that shows nothing, or that changes how its neighbours are read. The protocol's
/// function of the same name decides which these are; this crate knows no protocol, and the daemon's tests compare
/// the two over all characters.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
