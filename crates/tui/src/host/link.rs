//! The link to the person's terminal: how many bytes are on their way, and whether it takes another picture.
//!
//! The kernel and ssh accept pictures long before the terminal shows them: a key that is held would run on for as long as
//! their buffers last. So the terminal is asked for its status behind a picture, and its answer confirms everything that
//! was written before. As long as more than a window of bytes is unconfirmed, no picture is composed; the next one then has
//! everything that changed meanwhile. The window is twice what the link carries in one round trip, so that a fast link of
//! high latency is never idle. Pure: the caller has the clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Asks for the terminal's status (DSR). Nearly every terminal answers `CSI 0 n`; one that did not answer the first time is
/// not asked again.
pub(crate) const QUESTION: &[u8] = b"\x1b[5n";
/// A question stands behind so many bytes, and no window is smaller.
const LEAST_WINDOW: u64 = 2 << 10; // 2 KiB
/// A question that has no answer after this long confirms nothing: the link is not paced until the answer comes.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many measurements of the rate are kept; the greatest counts.
const RATES: usize = 8;

/// A question that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Question {
    /// How many bytes are written when the terminal has the question.
    ends_at: u64,
    /// How many bytes were confirmed when it was asked.
    confirmed: u64,
    /// When the terminal's descriptor took the first bytes that belong to it.
    sent_at: Option<Instant>,
}

/// What is known about the link.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// The terminal has answered a question: it can be asked again.
    is_answering: bool,
    /// In the order in which the terminal answers them.
    questions: VecDeque<Question>,
    /// Bytes that the terminal's descriptor has taken.
    written: u64,
    /// How many of them the terminal has confirmed, or had long ago.
    confirmed: u64,
    /// Where the last question ends among all bytes.
    asked_until: u64,
    /// Bytes per second, newest last.
    rates: VecDeque<f64>,
    least_trip: Option<Duration>,
}

impl Link {
    /// Notes that the bytes to be written first, of this length, have a question in them.
    pub(crate) fn asked_first(&mut self, length: usize) {
        self.asked_until = length as u64;
        self.questions.push_back(Question { ends_at: length as u64, confirmed: 0, sent_at: None });
    }

    /// Appends a question to a picture, which begins at `start` of what is to be written, when it is time for one.
    pub(crate) fn ask_behind(&mut self, start: usize, output: &mut Vec<u8>, now: Instant) {
        let ends_at = self.written + output.len() as u64;
        let is_silent = !self.is_answering || self.is_overdue(now);
        if is_silent || output.len() == start || ends_at - self.asked_until.min(ends_at) < LEAST_WINDOW {
            return;
        }
        if self.questions.is_empty() {
            // What was written before this picture is not what the terminal is busy with.
            self.confirmed = self.confirmed.max(self.written + start as u64);
        }
        output.extend_from_slice(QUESTION);
        self.asked_until = self.written + output.len() as u64;
        self.questions.push_back(Question {
            ends_at: self.asked_until,
            confirmed: self.confirmed,
            sent_at: None,
        });
    }

    /// Notes that the terminal's descriptor has taken so many bytes.
    pub(crate) fn wrote(&mut self, count: usize, now: Instant) {
        self.written += count as u64;
        if count > 0 {
            let unsent = self.questions.iter_mut().rev().take_while(|question| question.sent_at.is_none());
            unsent.for_each(|question| question.sent_at = Some(now));
        }
    }

    /// Notes an answer of the terminal. One that nobody waits for is ignored.
    pub(crate) fn answered(&mut self, now: Instant) {
        let Some(question) = self.questions.pop_front() else { return };
        self.is_answering = true;
        self.confirmed = self.confirmed.max(question.ends_at);
        let Some(sent_at) = question.sent_at else { return };
        let trip = now.saturating_duration_since(sent_at).max(Duration::from_micros(1));
        self.least_trip = Some(self.least_trip.map_or(trip, |least| least.min(trip)));
        self.rates.push_back((self.confirmed - question.confirmed) as f64 / trip.as_secs_f64());
        if self.rates.len() > RATES {
            self.rates.pop_front();
        }
    }

    /// Returns true if another picture may be composed now. The echo of a key, which is one row, has room beyond the window.
    pub(crate) fn admits(&self, is_row: bool, now: Instant) -> bool {
        let room = self.window() + if is_row { LEAST_WINDOW } else { 0 };
        self.questions.is_empty() || !self.is_answering || self.is_overdue(now) || self.unconfirmed() <= room
    }

    /// When a picture may be composed although the terminal has not answered.
    pub(crate) fn overdue_at(&self) -> Option<Instant> {
        Some(self.questions.front()?.sent_at? + TIMEOUT)
    }

    /// Returns true while an answer may come: a lone Escape may be the beginning of it.
    pub(crate) fn is_asking(&self, now: Instant) -> bool {
        let is_written = self.questions.front().is_some_and(|question| question.ends_at <= self.written);
        is_written && !self.is_overdue(now)
    }

    /// Somebody else has the terminal: no answer that comes from now on is for us.
    pub(crate) fn forget_questions(&mut self) {
        self.questions.clear();
        (self.confirmed, self.asked_until) = (self.written, self.written);
    }

    fn is_overdue(&self, now: Instant) -> bool {
        self.overdue_at().is_some_and(|overdue| overdue <= now)
    }

    fn unconfirmed(&self) -> u64 {
        self.written - self.confirmed.min(self.written)
    }

    /// How many bytes may be on their way: twice what the link carries in a round trip.
    fn window(&self) -> u64 {
        let rate = self.rates.iter().copied().fold(0.0, f64::max);
        let trip = self.least_trip.unwrap_or_default().as_secs_f64();
        ((2.0 * rate * trip) as u64).max(LEAST_WINDOW)
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
