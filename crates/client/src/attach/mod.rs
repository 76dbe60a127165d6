//! A person's terminal as a viewer of one process: one loop over three descriptors (keys, socket, signals),
//! without threads.
//!
//! The terminal is passed to the daemon, which then reads its keys and draws on it. Where that is not
//! possible (input and output are not one terminal, or the daemon does not accept it), typed keys are read
//! and sent in one write, and what arrives is drawn in one write. After the death of a daemon it attaches
//! again to the next one.
//!
//! | file | what it has |
//! |---|---|
//! | `terminal` | raw mode and restoring |
//! | `reset` | repairing a terminal that a killed program left |
//! | `handoff` | passing the terminal to the daemon and taking it back |
//! | `asking` | queries to the terminal about itself, and its answers |
//! | `stall` | reading the keys in place of a daemon that does nothing |
//! | `reattach` | attaching again after the daemon died, and to the next run |
//! | `signals` | size changes and requests to end |
//! | `attach_once` | the beginning and the end |
//! | `session` | the loop |

pub mod terminal;

mod asking;
mod attach_once;
mod handoff;
mod reattach;
mod reset;
mod session;
mod signals;
mod stall;

use std::os::fd::BorrowedFd;

use proto::Exit;
use proto::request::{SizePolicy, Target};

pub use proto::terminal::{BadDetachKeys, Clipboard, DetachKeys, Filter};
pub use reset::reset_terminal;
pub use terminal::Terminal;

use crate::{ClientError, DaemonAddress};

/// How to attach.
#[derive(Clone, Debug)]
pub struct AttachOptions {
    /// To which process.
    pub target: Target,
    /// Watch only.
    pub read_only: bool,
    /// Detach every other viewer first.
    pub take_over: bool,
    /// Sets the process's size policy.
    pub policy: Option<SizePolicy>,
    /// The keys that detach.
    pub keys: DetachKeys,
    /// Whether the child may write this terminal's clipboard.
    pub clipboard: Clipboard,
    /// Draw unfiltered when the output is not a terminal.
    pub raw: bool,
}

impl AttachOptions {
    /// Creates a request to attach to `target` with every default.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            read_only: false,
            take_over: false,
            policy: None,
            keys: DetachKeys::default(),
            clipboard: Clipboard::default(),
            raw: false,
        }
    }
}

/// Why an attachment has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    /// The person pressed the detach keys.
    Detached,
    /// The person's terminal is gone.
    HungUp,
    /// A signal ended the client.
    Signalled(i32),
    /// The run is over.
    Exited(Exit),
    /// The daemon ended the stream: `closed`, `taken_over`, `shutdown`.
    Ended(String),
}

/// The result of an attachment.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachOutcome {
    /// The process's name; the requested target until the daemon has sent it.
    pub name: String,
    /// Why it is over.
    pub left: Left,
}

/// Attaches this process's own terminal until the person, the process or the daemon ends it. The terminal is
/// restored when this returns, also with an error.
pub fn attach(address: &mut DaemonAddress, options: &AttachOptions) -> Result<AttachOutcome, ClientError> {
    attach_terminal(address, options, rustix::stdio::stdin(), rustix::stdio::stdout())
}

/// Like [`attach`], for a terminal that is not this process's own.
pub fn attach_terminal(
    address: &mut DaemonAddress,
    options: &AttachOptions,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> Result<AttachOutcome, ClientError> {
    attach_once::run(address, options, input, output)
}
