//! One job of the input queue, from its request to its outcome, and the check whether the kernel would
//! truncate its lines. The queue keeps the order.

use std::time::Instant;

use engine::ViewerId;
use engine::effect::Guard;
use engine::input::TypingOutcome;
use term::PastePiece;
use tokio::sync::oneshot;

use super::replies;
use crate::screens::order::{Begun, JobKey, Text, WriteJob, WriteOutcome};
use crate::screens::typing::MAX_CANONICAL;

/// Whether a job may go while the child reads whole lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Not judged yet.
    Unjudged,
    /// It waits until the child reads raw; since when it does.
    Held { raw_since: Option<Instant> },
    /// It may go.
    CommandRule,
}

/// One job.
pub(super) struct Job {
    pub(super) serial: u64,
    /// The text, until it is encoded for the present modes.
    pub(super) text: Option<Text>,
    /// The same, encoded.
    pub(super) bytes: Vec<u8>,
    pub(super) of: usize,
    pub(super) sent: usize,
    pub(super) written: u64,
    pub(super) in_flight: usize,
    /// Enter follows it.
    pub(super) is_prompt: bool,
    pub(super) hold: Hold,
    /// For keystrokes: their viewer.
    pub(super) typist: Option<ViewerId>,
    /// A piece of a paste: which of its ends it has.
    pub(super) piece: Option<Ends>,
    /// It closes brackets, and nothing goes before it.
    pub(super) is_ending: bool,
    /// Its bytes are within brackets.
    pub(super) is_bracketed: bool,
    pub(super) deadline: Option<Instant>,
    pub(super) guard: Option<Guard>,
    pub(super) obstacle: Option<TypingOutcome>,
    /// The key under which the holder counts its bytes.
    pub(super) key: Option<JobKey>,
    /// The note of the earlier daemon that began it.
    pub(super) begun: Option<Begun>,
    pub(super) is_given_up: bool,
    reply: Option<oneshot::Sender<WriteOutcome>>,
}

/// Which ends of a paste a piece has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl Job {
    /// Returns a job with a waiting caller.
    pub(super) fn watched(serial: u64, job: WriteJob) -> Self {
        let (deadline, reply) = (Some(job.deadline), Some(job.reply));
        let unwatched = Self::unwatched(serial, job.text);
        let (is_prompt, guard, hold) = (job.is_prompt, job.guard, Hold::Unjudged);
        Self { is_prompt, guard, hold, deadline, reply, key: job.key, ..unwatched }
    }

    /// Returns a job without a waiting caller.
    pub(super) fn unwatched(serial: u64, text: Text) -> Self {
        let ends = |piece: &PastePiece| Ends { is_first: piece.is_first(), is_last: piece.is_last() };
        Self {
            serial,
            of: text.length(),
            piece: if let Text::Paste(piece) = &text { Some(ends(piece)) } else { None },
            text: Some(text),
            bytes: Vec::new(),
            sent: 0,
            written: 0,
            in_flight: 0,
            is_prompt: false,
            hold: Hold::CommandRule,
            typist: None,
            is_ending: false,
            is_bracketed: false,
            deadline: None,
            guard: None,
            obstacle: None,
            key: None,
            begun: None,
            is_given_up: false,
            reply: None,
        }
    }

    /// Returns a viewer's keystrokes; without a viewer: the rest of an answer that has begun.
    pub(super) fn keys(serial: u64, typist: Option<ViewerId>, bytes: Vec<u8>) -> Self {
        Self { typist, ..Self::unwatched(serial, Text::Bytes(bytes)) }
    }

    /// Returns how many answers to the child's queries it has: the rest of one that has begun, and those after
    /// it.
    pub(super) fn answers(&self) -> u64 {
        let is_answer = self.typist.is_none() && self.reply.is_none() && !self.is_ending;
        match &self.text {
            _ if !is_answer || self.piece.is_some() => 0,
            Some(Text::Bytes(waiting)) => 1 + replies::count(waiting),
            Some(_) => 0,
            None => 1 + replies::count(&self.bytes),
        }
    }

    /// Appends the next keystrokes of the same viewer while none of it is on its way and it stays within
    /// `most` bytes; returns true if it did. A thousand waiting keys become a few jobs.
    pub(super) fn join(&mut self, typist: Option<ViewerId>, bytes: &[u8], most: usize) -> bool {
        let is_same = self.typist.is_some() && self.typist == typist && !self.is_given_up;
        let Some(Text::Bytes(waiting)) = self.text.as_mut().filter(|_| is_same) else { return false };
        if waiting.len() + bytes.len() > most {
            return false;
        }
        waiting.extend_from_slice(bytes);
        self.of = waiting.len();
        true
    }

    /// Returns the job that closes the brackets of a paste that does not continue.
    pub(super) fn ending(serial: u64) -> Self {
        let text = Text::Bytes(PastePiece::ending().encode(true));
        Self { is_ending: true, ..Self::unwatched(serial, text) }
    }

    /// Returns true if it continues a paste that an earlier job began.
    pub(super) fn goes_on(&self) -> bool {
        self.piece.is_some_and(|ends| !ends.is_first)
    }

    pub(super) fn is_held(&self) -> bool {
        matches!(self.hold, Hold::Held { .. })
    }

    /// Returns true if the holder has all of it.
    pub(super) fn is_sent(&self) -> bool {
        self.is_given_up || (self.text.is_none() && self.sent == self.bytes.len())
    }

    pub(super) fn is_over(&self) -> bool {
        self.in_flight == 0 && self.is_sent()
    }

    /// Returns true if it is cancelled and not all of it was written.
    pub(super) fn is_cut(&self) -> bool {
        self.is_given_up && (self.text.is_some() || self.written < self.bytes.len() as u64)
    }

    /// Returns true if the job only asks about a paste whose opening bracket an earlier daemon wrote without
    /// the closing one.
    pub(super) fn leaves_open(&self) -> bool {
        let is_begun = self.begun.is_some_and(|begun| !begun.is_whole);
        is_begun && self.is_bracketed && self.bytes.is_empty()
    }

    /// Sends the outcome to the caller, which may have stopped waiting.
    pub(super) fn reply(self) {
        let (written, of, was_held) = (self.written, self.of as u64, self.is_held());
        let Some(reply) = self.reply else { return };
        let (obstacle, begun) = (self.obstacle, self.begun);
        let _gone = reply.send(WriteOutcome { written, of, was_held, obstacle, begun });
    }
}

/// What a child that reads whole lines has got of a text before its next piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    total: usize,
    open_line: usize,
}

impl Before {
    /// Returns true if bytes must wait until the child reads raw: before that the kernel would truncate a
    /// long line, and a program would drop a prompt when it changes modes.
    pub(super) fn needs_raw(self, bytes: &[u8], is_prompt: bool) -> bool {
        let mut lines = bytes.split(is_line_end).map(<[u8]>::len);
        let first = self.open_line + lines.next().unwrap_or(0);
        let longest = lines.fold(first, usize::max);
        longest > MAX_CANONICAL || (is_prompt && self.total + bytes.len() > MAX_CANONICAL)
    }

    /// Returns the same after these bytes.
    pub(super) fn and(self, bytes: &[u8], is_canonical: bool) -> Self {
        let open_line = match bytes.iter().rposition(is_line_end) {
            // A child that reads raw has no line in the kernel.
            _ if !is_canonical => 0,
            Some(end) => bytes.len() - end - 1,
            None => self.open_line + bytes.len(),
        };
        Self { total: self.total + bytes.len(), open_line }
    }
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m10h_the_rest_of_an_answer_counts_with_those_after_it_and_keys_do_not() {
        let rest = b"1R\x1b[2;2R\x1b[3;3R".to_vec();
        assert_eq!(Job::keys(1, None, rest.clone()).answers(), 3);
        assert_eq!(Job::keys(1, Some(ViewerId(1)), rest).answers(), 0);
        assert_eq!(Job::ending(1).answers(), 0);
    }

    fn needs_raw(bytes: &[u8], is_prompt: bool) -> bool {
        Before::default().needs_raw(bytes, is_prompt)
    }

    #[test]
    fn e3_only_lines_the_kernel_would_cut_wait_for_raw_mode() {
        assert!(!needs_raw(&[b'a'; MAX_CANONICAL], true));
        assert!(needs_raw(&[b'a'; MAX_CANONICAL + 1], false));
        let lines = [b'a', b'\n'].repeat(MAX_CANONICAL);
        assert!(!needs_raw(&lines, false) && needs_raw(&lines, true));
    }

    #[test]
    fn p2_a_line_in_two_pieces_is_as_long_as_both() {
        let half = [b'a'; MAX_CANONICAL / 2 + 1];
        let before = Before::default().and(b"short\r", true).and(&half, true);
        assert!(before.needs_raw(&half, false));
        assert!(!before.needs_raw(b"\rnext", false));
        assert!(!before.and(b"\r", true).needs_raw(&half, false));
        assert!(!Before::default().and(&half, false).needs_raw(&half, false), "what was read raw is no line");
        let lines = b"a\r".repeat(MAX_CANONICAL / 4 + 1);
        assert!(Before::default().and(&lines, true).needs_raw(&lines, true));
    }
}
