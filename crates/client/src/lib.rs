//! The way through the door: connect or start, call, follow, subscribe, attach.
//!
//! Owns the client's half of the socket. Refuses knowing what is behind it, async (a verb must take milliseconds,
//! process start included) and printing: faces print.
//!
//! Reading order: [`address`] (reach a daemon, starting one when nobody listens), [`connection`] (calls and what comes
//! between their answers), [`verbs`] (one typed method per verb), [`follow`] (the log as it grows), [`events`] (what
//! happens meanwhile), [`reconnecting`] (the same, and waits, across the ends of daemons), [`paste`] (input too long for one
//! line), [`log_view`] (a log on a person's terminal), [`attach`] (a person's terminal as a viewer).

pub mod address;
pub mod attach;
pub mod connection;
pub mod error;
pub mod events;
pub mod follow;
pub mod log_view;
mod orchestration;
pub mod paste;
pub mod reconnecting;
pub mod verbs;

mod launch;
mod ready;
mod reconnect;
mod recorded;
mod shutdown;
mod signals;
mod stream_end;
mod wait_limit;

pub use address::DaemonAddress;
pub use connection::{Connection, Incoming};
pub use error::ClientError;
pub use events::EventStream;
pub use follow::{Chunk, FollowStream};
pub use reconnecting::{Next, ReconnectingEvents, ReconnectingFollow};
pub use stream_end::{Stops, StreamEnd};
