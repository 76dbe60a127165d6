//! One connection to the daemon that never makes the loop wait: calls and input are queued and sent as the socket accepts
//! them, and what has arrived is returned without waiting.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use client::{ClientError, Connection, Incoming};
use proto::Request;

/// A queue of more bytes takes no more keys: if a program does not read, the person waits and memory does not grow. It is
/// larger than what people paste, because the keys of the deck itself come behind the paste and must be read.
const QUEUE_MAX: usize = 16 << 20; // 16 MiB

/// A connection and what waits to be sent on it.
#[derive(Debug)]
pub(crate) struct Wire {
    connection: Connection,
    /// Bytes that were queued so far.
    queued: u64,
}

impl Wire {
    /// Takes over a connection that has said hello.
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, queued: 0 }
    }

    /// Queues a call; returns the number that its answer carries.
    pub(crate) fn call(&mut self, request: Request) -> u64 {
        let before = self.connection.unsent();
        // A request is plain data: it always has a JSON form. No call has the number 0.
        let id = self.connection.queue(request).unwrap_or_default();
        self.note_queued(before);
        id
    }

    /// Queues bytes for the child's terminal; returns the place of their end among all queued bytes.
    pub(crate) fn input(&mut self, stream: u32, bytes: &[u8]) -> u64 {
        let before = self.connection.unsent();
        // It is cut into frames of the allowed size, so it always has its form.
        let _queued = self.connection.queue_input(stream, bytes);
        self.note_queued(before);
        self.queued
    }

    fn note_queued(&mut self, before: usize) {
        self.queued += self.connection.unsent().saturating_sub(before) as u64;
    }

    /// Sends what the socket accepts now.
    pub(crate) fn flush(&mut self) -> Result<(), ClientError> {
        self.connection.send_ready()
    }

    /// Reads the socket once; to be called when it is known to have something.
    pub(crate) fn fill(&mut self) -> Result<(), ClientError> {
        self.connection.fill_ready()
    }

    /// Returns what was read already; nothing when that was all.
    pub(crate) fn arrived(&mut self) -> Result<Option<Incoming>, ClientError> {
        self.connection.next_arrived()
    }

    /// Returns what has arrived, without waiting; nothing when that was all.
    pub(crate) fn receive(&mut self) -> Result<Option<Incoming>, ClientError> {
        self.connection.receive_before(Instant::now())
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.connection.unsent() > 0
    }

    /// Bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.connection.unsent()
    }

    /// How many of the queued bytes were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.queued - self.connection.unsent() as u64
    }

    /// True if the daemon is gone and has not read everything that was sent.
    pub(crate) fn is_reset(&self) -> bool {
        self.connection.is_reset()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.connection.unsent() > QUEUE_MAX
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
