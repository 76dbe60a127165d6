//! Many processes, many viewers, much output: everything is answered, nothing grows, nothing is left. The
//! sizes here are for one short run; `QD_TEST_SCALE` multiplies them.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "scale/bombs.rs"]
mod bombs;
#[path = "scale/crowd.rs"]
mod crowd;
#[path = "scale/flood.rs"]
mod flood;
#[path = "scale/soak.rs"]
mod soak;

use std::time::Instant;

use client::{Connection, Incoming};
use proto::Size;
use proto::request::{Attach, SizeRequest};
use testkit::{DEADLINE, TestDaemon};

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// Returns a viewer of a process, by the protocol alone.
fn attach(daemon: &TestDaemon, name: &str) -> Connection {
    let mut connection = daemon.client();
    let size = SizeRequest::from(Size::DEFAULT);
    connection.attach(Attach { target: name.into(), size, read_only: true, ..Attach::default() }).unwrap();
    connection
}

/// Returns the next thing that is sent, in time.
fn next(connection: &mut Connection) -> Incoming {
    connection.receive_before(Instant::now() + DEADLINE).unwrap().expect("something is sent in time")
}
