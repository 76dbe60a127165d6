//! The client of the daemon: connect or start, call, follow, subscribe, attach. It prints nothing: faces
//! print.
//!
//! A walk through one call, from the request to its reply:
//!
//! 1. [`protocol`] turns requests into bytes to send and received bytes into answers, events, notices and
//!    data. It has no socket and no clock.
//! 2. A driver moves the bytes. [`connection`] is the blocking one: a verb of the command line must take
//!    milliseconds, process start included. `async_connection` (feature `tokio`) is the one for servers: its
//!    `receive` can be dropped at any moment without losing anything, and `into_split` gives a task that
//!    receives and a task that sends a half each (`async_halves`).
//! 3. [`connect_or_start`] connects to a daemon and starts one when none listens.
//! 4. [`reconnect_policy`] decides everything about a daemon that is gone: whether to start another, how
//!    often and how long to try, which requests are sent again, under which key. [`reconnecting`] (streams,
//!    waits and typing of the command line), [`attach`] and `async_client` (feature `tokio`: pooled calls and
//!    events of servers) only do what it says.
//!
//! ```ignore
//! let daemon = client::AsyncClient::new(dirs, exe, 48);                       // connects at the first call
//! let all = daemon.request::<verb::List>(Empty {}).await?;             // sent again where that is harmless
//! let (mut viewer, attached) = daemon.open::<verb::Attach>(CallOptions::default(), attach).await?;
//! loop {
//!     tokio::select! {
//!         incoming = viewer.receive() => { /* Data, Notice; None when the daemon has closed it */ }
//!         bytes = typed.recv() => viewer.queue_input(attached.stream, &bytes)?, // sent by `receive`
//!     }
//! }
//! let mut events = daemon.events();
//! while let Ok(event) = events.next().await { /* `resync` first, and after each end of a daemon */ }
//! ```
//!
//! Then: [`verbs`] (one typed method per verb), [`follow`] (the log as it grows), [`events`] (events),
//! [`paste`] (input too long for one line), [`log_view`] (a log on a person's terminal).

#[cfg(feature = "tokio")]
pub mod async_client;
#[cfg(feature = "tokio")]
pub mod async_connection;
#[cfg(feature = "tokio")]
pub mod async_halves;
pub mod attach;
pub mod connect_or_start;
pub mod connection;
pub mod error;
pub mod events;
pub mod follow;
pub mod log_view;
pub mod paste;
pub mod plain_file;
pub mod protocol;
pub mod reconnect_policy;
pub mod reconnecting;
pub mod signals;
pub mod typed_duration;
pub mod verbs;

mod launch;
mod listener_check;
mod ready;
mod reconnect;
mod recorded;
mod shutdown;
mod stream_end;
mod token;
mod wait_limit;

#[cfg(feature = "tokio")]
pub use async_client::{AsyncClient, AsyncEvents, CallOptions};
#[cfg(feature = "tokio")]
pub use async_connection::AsyncConnection;
#[cfg(feature = "tokio")]
pub use async_halves::{AsyncReader, AsyncWriter};
pub use connect_or_start::DaemonAddress;
pub use connection::Connection;
pub use error::ClientError;
pub use events::EventStream;
pub use follow::{Chunk, FollowStream};
pub use plain_file::{read_plain_bytes, read_plain_file};
pub use protocol::{Incoming, Protocol, RemotePerson};
pub use reconnect_policy::{CallError, DaemonStart};
pub use reconnecting::{Next, ReconnectingEvents, ReconnectingFollow};
pub use stream_end::{Stops, StreamEnd};
