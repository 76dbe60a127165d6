//! What every HTTP server of Quarterdeck stands on: how many connections there may be and how long a request may take
//! to arrive ([`connections`]), and under which names a server may be called and from which pages ([`host_and_origin`]).
//!
//! `qd mcp --http` and `qd web` use it. It knows neither tokens nor the daemon.

pub mod connections;
pub mod host_and_origin;

pub use connections::{ConnectionLimits, HANDSHAKE, HttpPeer, serve};
pub use host_and_origin::{BadOrigin, ServerNames};
