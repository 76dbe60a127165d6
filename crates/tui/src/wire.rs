//! One connection to the daemon that never makes the loop wait: calls and input are queued and sent as the socket accepts
//! them, and what has arrived is returned without waiting.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use client::{ClientError, Connection, Incoming};
use proto::Request;

/// A queue of more bytes takes no more keys: a program that does not read makes the person wait, not the memory grow.
const QUEUE_MAX: usize = 1 << 20; // 1 MiB

/// A connection and what waits to be sent on it.
#[derive(Debug)]
pub(crate) struct Wire(Connection);

impl Wire {
    /// Takes over a connection that has said hello.
    pub(crate) fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// Queues a call; returns the number that its answer carries.
    pub(crate) fn call(&mut self, request: Request) -> u64 {
        // A request is plain data: it always has a JSON form. No call has the number 0.
        self.0.queue(request).unwrap_or_default()
    }

    /// Queues bytes for the child's terminal.
    pub(crate) fn input(&mut self, stream: u32, bytes: &[u8]) {
        // It is cut into frames of the allowed size, so it always has its form.
        let _queued = self.0.queue_input(stream, bytes);
    }

    /// Sends what the socket accepts now.
    pub(crate) fn flush(&mut self) -> Result<(), ClientError> {
        self.0.send_ready()
    }

    /// Returns what has arrived, without waiting; nothing when that was all.
    pub(crate) fn receive(&mut self) -> Result<Option<Incoming>, ClientError> {
        self.0.receive_before(Instant::now())
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.0.unsent() > 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.unsent() > QUEUE_MAX
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
