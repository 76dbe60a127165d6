//! One connection to the daemon that never makes the loop wait: calls and input are queued and sent as the socket takes
//! them, what has arrived is taken without waiting.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use client::{ClientError, Connection, Incoming};
use proto::frame::{DataKind, encode_data};
use proto::{Call, Request};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// The first number of our own calls, far above those of the greeting.
const FIRST_ID: u64 = 1 << 20;
/// A queue of more bytes takes no more keys: a program that does not read makes the person wait, not the memory grow.
const QUEUE_MAX: usize = 1 << 20; // 1 MiB

/// A connection and what waits to be sent on it.
#[derive(Debug)]
pub(crate) struct Wire {
    connection: Connection,
    queue: VecDeque<u8>,
    next_id: u64,
}

impl Wire {
    /// Takes over a connection that has said hello.
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, queue: VecDeque::new(), next_id: FIRST_ID }
    }

    /// Queues a call; returns the number that its answer carries.
    pub(crate) fn call(&mut self, request: Request) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        // A request is plain data: it always has a JSON form.
        let line = serde_json::to_vec(&Call { id, request }).unwrap_or_default();
        self.queue.extend(line);
        self.queue.push_back(b'\n');
        id
    }

    /// Queues bytes for the child's terminal.
    pub(crate) fn input(&mut self, stream: u32, bytes: &[u8]) {
        let mut frames = Vec::with_capacity(bytes.len() + proto::frame::HEADER);
        encode_data(&mut frames, DataKind::Input, stream, 0, bytes);
        self.queue.extend(frames);
    }

    /// Sends what the socket takes now.
    pub(crate) fn flush(&mut self) -> Result<(), ClientError> {
        while !self.queue.is_empty() {
            let (first, _) = self.queue.as_slices();
            match send(&self.connection, first, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.queue.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(ClientError::Broken(error.into())),
            }
        }
        Ok(())
    }

    /// What has arrived, without waiting; nothing when that was all.
    pub(crate) fn receive(&mut self) -> Result<Option<Incoming>, ClientError> {
        self.connection.receive_before(Instant::now())
    }

    pub(crate) fn is_sending(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() > QUEUE_MAX
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
