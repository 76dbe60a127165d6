//! The stream of events of one vendor server, for as long as its agent lives.
//!
//! Owns waiting for the server to listen, reading its events and being stopped from outside. Refuses knowing what an
//! event means: its text is given on.

use std::io::{BufRead, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::http::{Body, CallError, Endpoint};

/// The longest event that is read, in bytes; longer ones are skipped.
const LONGEST_EVENT: usize = 8 * 1024 * 1024;

/// A server that says nothing for this long, not even that it lives, is gone. They say so every ten seconds.
const QUIET_LIMIT: Duration = Duration::from_secs(60);

/// The first and the longest pause between two attempts to connect.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Ends what waits for a server, from another thread. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    shared: Arc<(Mutex<Stopping>, Condvar)>,
}

/// A short lock: set, read and shut down, nothing that waits.
#[derive(Debug, Default)]
struct Stopping {
    is_stopped: bool,
    socket: Option<TcpStream>,
}

impl Stop {
    /// Ends the stream now and every attempt after it.
    pub(crate) fn stop(&self) {
        let mut stopping = self.lock();
        stopping.is_stopped = true;
        if let Some(socket) = stopping.socket.take() {
            // A peer that is gone already has ended it.
            let _gone = socket.shutdown(Shutdown::Both);
        }
        self.shared.1.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Pauses; whether it was stopped.
    fn pause(&self, pause: Duration) -> bool {
        let waited = self.shared.1.wait_timeout_while(self.lock(), pause, |stopping| !stopping.is_stopped);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_stopped
    }

    fn keep(&self, socket: &TcpStream) {
        let mut stopping = self.lock();
        if stopping.is_stopped {
            let _gone = socket.shutdown(Shutdown::Both);
        }
        stopping.socket = socket.try_clone().ok();
    }

    fn lock(&self) -> MutexGuard<'_, Stopping> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    lines: BufReader<Body>,
}

impl EventStream {
    /// Connects, again and again until the server listens; none when it was stopped first.
    pub(crate) fn open(endpoint: &Endpoint, path: &str, stop: &Stop) -> Option<Self> {
        let mut pause = PAUSES.0;
        while !stop.is_stopped() {
            match endpoint.open(path, QUIET_LIMIT, |socket| stop.keep(socket)) {
                Ok(body) => return Some(Self { lines: BufReader::new(body) }),
                Err(CallError::Absent(_)) => {}
                Err(error) => tracing::debug!(%error, "the stream of an agent's server did not open"),
            }
            if stop.pause(pause) {
                return None;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
        None
    }

    /// The data of the next event; none when the stream is over.
    pub(crate) fn next(&mut self) -> Option<String> {
        let mut data = String::new();
        let mut is_too_long = false;
        loop {
            let line = self.line()?;
            let Some(line) = line.as_deref() else {
                is_too_long = true;
                continue;
            };
            if line.is_empty() {
                if !data.is_empty() && !is_too_long {
                    return Some(data);
                }
                (data, is_too_long) = (String::new(), false);
            } else if let Some(more) = line.strip_prefix("data:") {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(more.strip_prefix(' ').unwrap_or(more));
                is_too_long |= data.len() > LONGEST_EVENT;
            }
        }
    }

    /// One line without its end; nothing inside when it was too long or no text. None at the end of the stream.
    fn line(&mut self) -> Option<Option<String>> {
        let mut line = Vec::new();
        let limit = LONGEST_EVENT as u64;
        let read = self.lines.by_ref().take(limit).read_until(b'\n', &mut line).ok()?;
        if read == 0 {
            return None;
        }
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            self.skip_line()?;
            return Some(None);
        }
        line.pop_if(|byte| *byte == b'\r');
        Some(String::from_utf8(line).ok())
    }

    fn skip_line(&mut self) -> Option<()> {
        loop {
            let held = self.lines.fill_buf().ok().filter(|held| !held.is_empty())?;
            let end = held.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(held.len(), |end| end + 1);
            self.lines.consume(length);
            if end.is_some() {
                return Some(());
            }
        }
    }
}
