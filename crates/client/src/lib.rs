//! The way through the door: connect or start, call, follow, subscribe, attach.
//!
//! Owns the client's half of the socket. Refuses knowing what is behind it, async (a verb must take milliseconds,
//! process start included) and printing: faces print.
//!
//! Reading order: [`door`] (reach a daemon, starting one when nobody listens), [`connection`] (calls and what comes
//! between their answers), [`verbs`] (one typed method per verb), [`follow`] (the log as it grows), [`events`] (what
//! happens meanwhile), [`lasting`] (the same, and waits, across the ends of daemons), [`paste`] (input too long for one
//! line), [`scroll`] (a log on a person's terminal), [`attach`] (a person's terminal as a viewer).

pub mod attach;
pub mod connection;
mod crew;
pub mod door;
pub mod error;
pub mod events;
pub mod follow;
pub mod lasting;
pub mod paste;
pub mod scroll;
pub mod verbs;

mod launch;
mod patience;
mod ready;
mod recorded;
mod rejoin;
mod shutdown;
mod signals;
mod stop;

pub use connection::{Connection, Incoming};
pub use door::Door;
pub use error::ClientError;
pub use events::EventStream;
pub use follow::{Chunk, FollowStream};
pub use lasting::{LastingEvents, LastingFollow, Next};
pub use stop::{Stop, Stops};
