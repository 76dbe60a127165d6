//! The stage for end-to-end tests: private daemons, a fake daemon, real terminals, fake children.
//!
//! Owns starting, waiting and cleaning up, so that a test is input and expectation. Refuses sleeping: every wait is
//! for an event and has a deadline, and what fails says what was seen.
//!
//! | file | owns |
//! |---|---|
//! | `daemon` | a real daemon in a directory of its own |
//! | `fake` | the daemon's side of the socket, spoken by the test |
//! | `pty` | a real terminal that the test types into and looks at |
//! | `child` | programs that behave in one known way |

#![expect(clippy::panic, reason = "this crate is only ever part of a test, where a panic is the verdict")]

pub mod child;
pub mod daemon;
pub mod fake;
pub mod pty;

mod deadline;

pub use daemon::TestDaemon;
pub use deadline::{DEADLINE, wait_for_end};
pub use fake::{FakeDaemon, FromClient, Peer};
pub use pty::Pty;
