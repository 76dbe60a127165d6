//! The verb that types: text, pastes and keys, and the key by which a write is repeated.

use serde::{Deserialize, Serialize};

use super::{Empty, Target};

/// What is typed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypedInput {
    /// Characters, as if typed.
    Text(String),
    /// Characters, as if pasted: bracketed if the child asked for it, with control characters neutralised.
    Paste(String),
    /// Named keys, encoded by the child's current modes.
    Keys(Vec<String>),
    /// A paste that is too long for one line: it follows in [`crate::frame::DataKind::Input`] frames whose
    /// stream is this call's id, ended by an empty one.
    PasteStream(Empty),
    /// Types nothing and asks how much an earlier write with the same key has typed. A paste that it left
    /// open is closed.
    Report(Empty),
}

/// Longest [`WriteKey::id`].
pub const MAX_WRITE_KEY: usize = 64;

/// Identifies a write, so that a client can repeat it after the daemon died in the middle of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteKey {
    /// A different one for every write, at most [`MAX_WRITE_KEY`] characters.
    pub id: String,
    /// True if the write was sent before: what was typed of it is not typed again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// Arguments of `write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// To which process.
    pub target: Target,
    /// What.
    pub input: TypedInput,
    /// Press Enter once the text was written and the screen is stable.
    #[serde(default)]
    pub submit: bool,
    /// The time limit, after which the reply gives the bytes written; 10 s when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Identifies the write if the client repeats it; a write without a key cannot be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<WriteKey>,
}
