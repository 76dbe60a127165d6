//! The stream of server-sent events of one vendor server: connects until the server listens, then yields each event's data.

use std::time::Duration;

use super::http::{Body, Endpoint, HttpError};

/// The longest event that is read, in bytes; longer ones are skipped.
const LONGEST_EVENT: usize = 8 * 1024 * 1024;

/// A server that sends nothing for this long, not even a comment, is gone. They send one every ten seconds.
const QUIET_LIMIT: Duration = Duration::from_secs(60);

/// The first and the longest pause between two attempts to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An open stream.
pub(crate) struct EventStream {
    body: Body,
    events: EventReader,
}

impl EventStream {
    /// Connects, again and again until the server listens. The caller ends this by dropping the future.
    pub(crate) async fn open(endpoint: &Endpoint, path: &str) -> Self {
        let mut pause = FIRST_PAUSE;
        loop {
            match endpoint.open(path).await {
                Ok(body) => return Self { body, events: EventReader::default() },
                Err(HttpError::Absent(_)) => {}
                Err(error) => tracing::debug!(%error, "the stream of an agent's server did not open"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns the data of the next event; `None` when the stream is over.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(data) = self.events.pop() {
                return Some(data);
            }
            let piece = self.body.next(QUIET_LIMIT).await?;
            self.events.push(&piece);
        }
    }
}

/// Cuts bytes into events. A line or an event over the limit is dropped without being kept in memory.
#[derive(Debug, Default)]
struct EventReader {
    /// Bytes of the incomplete last line.
    unread: Vec<u8>,
    /// The line at the end of `unread` is over the limit: its rest is dropped as it comes.
    skips_line: bool,
    data: String,
    is_too_long: bool,
    whole: std::collections::VecDeque<String>,
}

impl EventReader {
    fn pop(&mut self) -> Option<String> {
        self.whole.pop_front()
    }

    fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if !self.skips_line {
                self.unread.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.end_line();
            } else if self.unread.len() > LONGEST_EVENT {
                self.unread.clear();
                self.skips_line = true;
            }
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.unread);
        line.pop_if(|byte| *byte == b'\n');
        line.pop_if(|byte| *byte == b'\r');
        let is_skipped = std::mem::take(&mut self.skips_line);
        match String::from_utf8(line) {
            Ok(line) if !is_skipped => self.read_line(&line),
            _ => self.is_too_long = true,
        }
    }

    fn read_line(&mut self, line: &str) {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if !std::mem::take(&mut self.is_too_long) && !data.is_empty() {
                self.whole.push_back(data);
            }
        } else if let Some(more) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(more.strip_prefix(' ').unwrap_or(more));
            self.is_too_long |= self.data.len() > LONGEST_EVENT;
            if self.is_too_long {
                self.data.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &[u8], size: usize) -> Vec<String> {
        let mut reader = EventReader::default();
        text.chunks(size).for_each(|piece| reader.push(piece));
        reader.whole.into()
    }

    #[test]
    fn events_are_the_same_for_any_size_of_pieces() {
        let text = b"data: one\n\n: comment\n\nevent: x\ndata:two\r\ndata: three\r\n\r\ndata: \xff\n\ndata: four\n\ndata: cut";
        for size in 1..text.len() {
            assert_eq!(events(text, size), ["one", "two\nthree", "four"], "{size}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_skipped_and_the_next_one_read() {
        let mut text = b"data: ".to_vec();
        text.resize(LONGEST_EVENT + 100, b'x');
        text.extend_from_slice(b"\ndata: y\n\ndata: next\n\n");
        assert_eq!(events(&text, 64 * 1024), ["next"]);
        assert_eq!(events(&text, text.len()), ["next"]);
    }
}
