//! What is observed of an agent's program: its screen and its lifecycle hooks, in words that no vendor has. The
//! crate that reads vendors' programs makes these, the engine decides about them; they are not sent over the
//! socket.

use crate::Evidence;
use crate::agent::Composer;

/// What the screen of an agent shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScreenSeen {
    /// The evidence of the screen's rules, if one matches.
    pub screen: Option<Evidence>,
    /// A live dialog.
    pub dialog: Option<Evidence>,
    /// A digest of the words above the dialog's options. It changes when the program goes on, even if the next
    /// dialog reads like the last one.
    pub dialog_context: Option<u64>,
    /// The evidence of the title's rules.
    pub title: Option<Evidence>,
    /// What the composer holds.
    pub composer: Composer,
    /// Shells, tools and agents that still run although no turn is under way.
    pub background: u32,
}

/// What a lifecycle event marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookMoment {
    /// Nothing beyond its evidence.
    Other,
    /// A prompt was submitted: a turn begins.
    PromptSubmitted {
        /// Its text, where the vendor reports it. Vendors submit prompts of their own, so this shows whose turn
        /// it is.
        prompt: Option<String>,
    },
    /// The turn is over; the agent continues if the answer has a text.
    TurnEnded,
    /// The turn failed.
    TurnFailed,
    /// The agent asks for permission to use a tool; the hook's answer decides.
    PermissionAsked {
        /// What it wants to do, in one line.
        title: String,
        /// The command, the file, the arguments.
        body: String,
    },
    /// The agent asks for permission on its own screen, where alone it can be answered.
    PermissionShown {
        /// What it wants to do, in one line.
        title: String,
        /// The command, the file, the arguments.
        body: String,
    },
}

/// The answer to a lifecycle event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookDecision {
    /// No answer: the agent continues as it would.
    Nothing,
    /// The agent continues with this text instead of ending its turn.
    Continue(String),
    /// It may.
    Allow,
    /// It may not, and why.
    Deny(String),
}
