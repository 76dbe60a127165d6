//! What may pass between a child and a person's terminal, in words that both ends of the door share.
//!
//! Owns the filter and the detach keys: whoever holds the terminal applies them, the client or, when it was passed
//! the terminal, the daemon. Refuses touching a terminal: bytes in, bytes out.
//!
//! | file | owns |
//! |---|---|
//! | `answers` | what the person's terminal is asked about itself, and its answers |
//! | `filter` | the list of what reaches the person's terminal |
//! | `detach_keys` | which keys detach |
//! | `keys` | the keys and answers among what is typed |
//! | `restore` | how the person's terminal is left as it was |

pub mod answers;
pub mod detach_keys;
pub mod filter;
pub mod keys;
pub mod restore;

pub use answers::{ColorScheme, TerminalReport};
pub use detach_keys::{BadDetachKeys, DetachKeys};
pub use filter::{Clipboard, Filter};
pub use keys::{DetachIntent, KeyWatch};

/// Ends whatever sequence a terminal is inside of; nothing otherwise.
pub const CANCEL: u8 = 0x18;
/// Says that a key was not typed to anybody.
pub const BELL: u8 = 0x07;
