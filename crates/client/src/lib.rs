//! The client of the daemon: connect or start, call, follow, subscribe, attach.
//!
//! It is synchronous, because a verb must take milliseconds, process start included, and prints nothing:
//! faces print.
//!
//! Reading order: [`address`] (connect to a daemon, starting one when none listens), [`connection`] (calls
//! and what comes between their answers), [`verbs`] (one typed method per verb), [`follow`] (the log as it
//! grows), [`events`] (events), [`reconnecting`] (both, and waits, across the ends of daemons), [`paste`]
//! (input too long for one line), [`log_view`] (a log on a person's terminal), [`attach`] (a person's
//! terminal as a viewer).

pub mod address;
pub mod attach;
pub mod connection;
pub mod error;
pub mod events;
pub mod follow;
pub mod log_view;
pub mod paste;
pub mod reconnecting;
pub mod signals;
pub mod verbs;

mod launch;
mod ready;
mod reconnect;
mod recorded;
mod shutdown;
mod stream_end;
mod wait_limit;

pub use address::DaemonAddress;
pub use connection::{Connection, Incoming};
pub use error::ClientError;
pub use events::EventStream;
pub use follow::{Chunk, FollowStream};
pub use reconnecting::{Next, ReconnectingEvents, ReconnectingFollow};
pub use stream_end::{Stops, StreamEnd};
