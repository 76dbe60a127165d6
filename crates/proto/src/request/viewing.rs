//! The verbs of viewers: attaching to a process, and changing what an attached viewer sees.

use serde::{Deserialize, Serialize};

use super::{Empty, SizeRequest, Target};
use crate::RunNumber;
use crate::terminal::{DetachKeys, TerminalReport};

/// Which viewer's size a process's terminal has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizePolicy {
    /// The viewer that typed last.
    #[default]
    Owner,
    /// No viewer's: it stays as it is.
    Fixed,
    /// The smallest of all viewers that may type.
    Smallest,
}

/// Arguments of `attach`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attach {
    /// Which process.
    pub target: Target,
    /// The viewer's own terminal size; a half that is left out is the process's.
    #[serde(default)]
    pub size: SizeRequest,
    /// Watch only: input frames are refused.
    #[serde(default)]
    pub read_only: bool,
    /// Sets the process's size policy; left out: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<SizePolicy>,
    /// Detach every other viewer first.
    #[serde(default)]
    pub take_over: bool,
    /// Continue with the output byte at this offset instead of a repaint. If the log no longer has it, the viewer gets
    /// a `gap` and one repaint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The run that `from` counts in; for another run `from` is ignored. Left out: the present run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// Send every output byte as it is: no skipping, no composing, no repaint after the first. Bytes that
    /// were overwritten before the viewer got them are a `gap`.
    #[serde(default)]
    pub exact: bool,
    /// Always have the process's size: the viewer gets each change of it and never decides it.
    #[serde(default)]
    pub mirror: bool,
    /// Send repaints instead of bytes, at most one in this many milliseconds (16 to 60,000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_ms: Option<u32>,
    /// Report with `typed` how much of the viewer's input has reached the child's terminal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receipts: bool,
}

/// Arguments of `detach`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detach {
    /// A process, all of whose viewers are detached, or one viewer by the name that `viewers` shows: `v7`. A
    /// process wins.
    pub target: Target,
}

/// Arguments of `view`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The new size of the viewer's terminal.
    Size(SizeRequest),
    /// Repaint the screen.
    Repaint(Empty),
    /// Become the size owner without typing.
    OwnSize(Empty),
    /// Send at most one repaint in this many milliseconds from now on; 0 ends that.
    PaceMs(u32),
    /// Read keys from the terminal whose descriptor comes with this call, and draw on it.
    Terminal(PassedTerminal),
    /// What the viewer's terminal reports about itself.
    Report(TerminalReport),
}

/// How a passed terminal is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassedTerminal {
    /// The keys that detach.
    pub detach_keys: DetachKeys,
    /// True if the child may write its clipboard.
    #[serde(default)]
    pub clipboard: bool,
    /// Whether its answers to queries about itself may be among the keys.
    #[serde(default)]
    pub questions: Questions,
    /// Bytes that the client has read from it and could not decide on yet: the first of two detach keys, or
    /// the beginning of a key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub undecided: String,
}

/// Which queries a passed terminal got about itself (`terminal::answers`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Questions {
    /// None: everything typed is keys.
    #[default]
    NotAsked,
    /// It was asked, and its answers have yet to come.
    Asked,
    /// It has answered; later answers are not keys either.
    Answered,
}

/// Arguments of `select`: clients show this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Select {
    /// Which.
    pub target: Target,
}

/// Arguments of `see`: a person has seen what a process shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct See {
    /// Which.
    pub target: Target,
    /// Up to this turn of an agent. Left out with `version`: everything until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The version of its screen, as a read returned it: what ended after that stays unseen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
