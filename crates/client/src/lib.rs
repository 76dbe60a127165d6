//! The way through the door: connect or start, call, follow, subscribe, attach.
//!
//! Owns the client's half of the socket. Refuses knowing what is behind it, async (a verb must take milliseconds,
//! process start included) and printing: faces print.
//!
//! Reading order: [`door`] (reach a daemon, starting one when nobody listens), [`connection`] (calls and what comes
//! between their answers), [`verbs`] (one typed method per verb), [`follow`] (the log as it grows), [`events`] (what
//! happens meanwhile), [`paste`] (input too long for one line), [`attach`] (a person's terminal as a viewer).

pub mod attach;
pub mod connection;
mod crew;
pub mod door;
pub mod error;
pub mod events;
pub mod follow;
pub mod paste;
pub mod verbs;

mod launch;
mod patience;
mod ready;

pub use connection::{Connection, Incoming};
pub use door::Door;
pub use error::ClientError;
pub use events::EventStream;
pub use follow::{Chunk, FollowStream};
