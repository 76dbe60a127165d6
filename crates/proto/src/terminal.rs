//! What may pass between a child and a person's terminal: the output filter and the detach keys. The client
//! applies them, or the daemon when it was passed the terminal. It works on bytes and touches no terminal.
//!
//! | file | what it has |
//! |---|---|
//! | `answers` | the queries to the person's terminal, and its answers |
//! | `filter` | the list of what reaches the person's terminal |
//! | `detach_keys` | which keys detach |
//! | `keys` | finds keys and answers among typed bytes |
//! | `restore` | how the person's terminal is restored |

pub mod answers;
pub mod detach_keys;
pub mod filter;
pub mod keys;
pub mod restore;

pub use answers::{ColorScheme, TerminalReport};
pub use detach_keys::{BadDetachKeys, DetachKeys};
pub use filter::{Clipboard, Filter};
pub use keys::{DetachIntent, KeyWatch};

/// Ends an unfinished sequence of a terminal; does nothing otherwise.
pub const CANCEL: u8 = 0x18;
/// Sounds when a typed key was not delivered.
pub const BELL: u8 = 0x07;
