//! Support for end-to-end tests: private daemons, a fake daemon, real terminals, fake children.
//!
//! It starts, waits and cleans up, so that a test is input and expectation. Every wait is for an event and
//! has a deadline, and a failure shows what was seen.
//!
//! | file | what it has |
//! |---|---|
//! | `daemon` | a real daemon in a directory of its own |
//! | `disk` | a small disk that can be filled |
//! | `fake` | the daemon's side of the socket, played by the test |
//! | `pty` | a real terminal that the test types into and reads |
//! | `child` | programs with one known behaviour |
//! | `marked_daemon` | a daemon whose children carry a mark, by which survivors are found |
//! | `tail` | a log read to its end, every offset checked |
//! | `raw` | a client that may send anything |
//! | `scripted_child` | a child that prints exactly what the test orders |
//! | `process_scan` | processes and what they use, from `/proc` |
//! | `fake_agents` | a daemon with agents whose program is a fake one |
//! | `model` | a model backend that plays the script in the prompt |
//! | `vendor` | the real programs of the vendors, each in a home of its own |
//! | `pid_namespace` | a pid namespace with few pids, for one test |

#![expect(clippy::panic, reason = "this crate is only ever part of a test, where a panic is the verdict")]

pub mod child;
pub mod daemon;
pub mod disk;
pub mod fake;
pub mod fake_agents;
pub mod marked_daemon;
pub mod model;
pub mod pid_namespace;
pub mod process_scan;
pub mod pty;
pub mod raw;
pub mod scripted_child;
pub mod tail;
pub mod vendor;

mod deadline;

pub use daemon::TestDaemon;
pub use deadline::{DEADLINE, wait_for_end};
pub use fake::{FakeDaemon, FromClient, Peer};
pub use fake_agents::FakeAgents;
pub use marked_daemon::{MarkedDaemon, scaled, survivors};
pub use model::ModelServer;
pub use process_scan::Mark;
pub use pty::Pty;
pub use raw::RawClient;
pub use scripted_child::ScriptedChild;
pub use tail::Tail;
