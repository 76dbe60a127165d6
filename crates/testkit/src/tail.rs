//! Follows a log with a deadline and checks that every hole in the offsets was announced.

use std::time::Instant;

use client::{Connection, Incoming};
use proto::request::Follow;
use proto::{Exit, Notice};

use crate::{DEADLINE, TestDaemon};

/// A log being read.
#[derive(Debug)]
pub struct Tail {
    connection: Connection,
    /// Every byte so far.
    pub bytes: Vec<u8>,
    /// Bytes that were announced as lost.
    pub missed: u64,
    /// How the run ended, and the log's end, once announced.
    pub exit: Option<(Exit, u64)>,
    at: u64,
    is_over: bool,
}

impl Tail {
    /// Follows a process from the oldest byte that is kept until its run is over.
    #[must_use]
    pub fn live(daemon: &TestDaemon, name: &str) -> Self {
        Self::begin(daemon, Follow { target: name.into(), from: None, live: true, ..Follow::default() })
    }

    /// Begins.
    #[must_use]
    pub fn begin(daemon: &TestDaemon, follow: Follow) -> Self {
        let mut connection = daemon.client();
        let from = follow.from;
        if let Err(error) = connection.begin_follow(follow) {
            daemon.fail(&format!("not followed: {error}"));
        }
        let at = from.unwrap_or(0);
        Self { connection, bytes: Vec::new(), missed: 0, exit: None, at, is_over: false }
    }

    /// Reads until `needle` has come; returns everything so far.
    pub fn until(&mut self, needle: &[u8]) -> &[u8] {
        let mut searched = 0;
        while !self.bytes[searched..].windows(needle.len()).any(|window| window == needle) {
            searched = self.bytes.len().saturating_sub(needle.len());
            assert!(self.step(), "`{}` never came, but {}", needle.escape_ascii(), self.shown());
        }
        &self.bytes
    }

    /// Reads until there are this many bytes.
    pub fn until_length(&mut self, length: usize) -> &[u8] {
        while self.bytes.len() < length {
            assert!(self.step(), "{} of {length} bytes came: {}", self.bytes.len(), self.shown());
        }
        &self.bytes
    }

    /// Reads to the end of the stream.
    pub fn to_end(&mut self) -> &[u8] {
        while self.step() {}
        &self.bytes
    }

    /// Reads one frame or notice; returns false at the end.
    fn step(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        match self.connection.receive_before(Instant::now() + DEADLINE) {
            Ok(Some(Incoming::Data(data))) => {
                assert_eq!(data.offset, self.at, "a hole in the log that was not reported");
                assert!(self.exit.is_none(), "bytes after the exit");
                self.at += data.bytes.len() as u64;
                self.bytes.extend_from_slice(&data.bytes);
            }
            Ok(Some(Incoming::Notice(Notice::Gap { from, to, .. }))) => {
                assert_eq!(from, self.at, "a gap somewhere else");
                self.missed += to - from;
                self.at = to;
            }
            Ok(Some(Incoming::Notice(Notice::Exit { exit, offset, .. }))) => {
                assert_eq!(offset, self.at, "the exit came before the last byte");
                self.exit = Some((exit, offset));
            }
            Ok(Some(Incoming::Notice(Notice::End { .. }))) => self.is_over = true,
            Ok(Some(_)) => {}
            other => panic!("the log broke off: {other:?} after {}", self.shown()),
        }
        !self.is_over
    }

    fn shown(&self) -> String {
        let start = self.bytes.len().saturating_sub(500);
        self.bytes[start..].escape_ascii().to_string()
    }
}
