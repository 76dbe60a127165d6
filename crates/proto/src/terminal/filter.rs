//! The query filter: what a child prints, minus what would make the viewer's own terminal answer.
//!
//! Owns removing terminal queries from a stream cut anywhere. Refuses every other change: bytes that are no query pass
//! as they came, except that a cancel byte marks a removal that would otherwise glue two halves of a sequence
//! together. The daemon's emulator is the one that answers; a second answer would be typed into the child.
//!
//! A sequence is held back until it is known to be no query, at most [`MAX_HELD`] bytes; what is longer and still
//! undecided is removed. Long harmless strings (images, titles) are recognised by their head and pass unheld.

mod sequence;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use sequence::{Ending, Mark, Scan, Verdict, controls_inside, mark, scan};

/// Most bytes of one undecided sequence: far above any query and above setting a whole palette in one go. A held
/// sequence is looked at again with each piece that arrives, so this also bounds that work.
pub const MAX_HELD: usize = 16 << 10; // 16 KiB

const ESC: u8 = 0x1b;
const ENQ: u8 = 0x05;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
/// First byte of the C1 controls in UTF-8, which terminals honour like their two-byte forms.
const C1_LEAD: u8 = 0xc2;

/// Whether a child may write the viewer's clipboard (OSC 52). Reading it is never passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clipboard {
    /// OSC 52 is removed.
    #[default]
    Refused,
    /// OSC 52 that sets the clipboard passes.
    Writable,
}

/// Where the stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// Between sequences, or at the first byte of one that is held.
    #[default]
    Ground,
    /// Inside a string whose head has decided what becomes of it.
    InString(Verdict, Ending),
}

/// The streaming state.
#[derive(Debug, Default)]
pub struct Filter {
    state: State,
    clipboard: Clipboard,
    /// The beginning of an undecided sequence.
    held: Vec<u8>,
    /// The terminal was left inside a sequence that the next one interrupts.
    is_after_fragment: bool,
    is_alternate: bool,
}

/// What is passed on of one piece of input: one stretch of it, copied only once there is a second.
struct Passed<'i> {
    data: &'i [u8],
    from: usize,
    to: usize,
    copied: Vec<u8>,
}

impl<'i> Passed<'i> {
    fn keep(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        if self.from == self.to {
            (self.from, self.to) = (from, to);
        } else if self.to == from {
            self.to = to;
        } else {
            self.copied.extend_from_slice(&self.data[self.from..self.to]);
            (self.from, self.to) = (from, to);
        }
    }

    fn insert(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(&self.data[self.from..self.to]);
        (self.from, self.to) = (self.to, self.to);
        self.copied.extend_from_slice(bytes);
    }

    fn finish(mut self) -> Cow<'i, [u8]> {
        if self.copied.is_empty() {
            return Cow::Borrowed(&self.data[self.from..self.to]);
        }
        self.copied.extend_from_slice(&self.data[self.from..self.to]);
        Cow::Owned(self.copied)
    }
}

impl Filter {
    /// A filter at the start of a stream.
    #[must_use]
    pub fn new(clipboard: Clipboard) -> Self {
        Self { clipboard, ..Self::default() }
    }

    /// Whether the viewer's terminal shows its alternate screen after what was passed on.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.is_alternate
    }

    /// Whether the stream stands between sequences.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Ground && self.held.is_empty() && !self.is_after_fragment
    }

    /// Forgets a sequence that will never be finished because bytes were skipped.
    pub fn abandon(&mut self) {
        *self = Self { clipboard: self.clipboard, is_alternate: self.is_alternate, ..Self::default() };
    }

    /// What of `input` may reach the viewer's terminal; borrowed when it is one stretch of the input.
    pub fn pass<'i>(&mut self, input: &'i [u8]) -> Cow<'i, [u8]> {
        if self.held.is_empty() {
            return self.pass_whole(input);
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(input);
        Cow::Owned(self.pass_whole(&joined).into_owned())
    }

    /// The same for data that begins where a sequence does.
    fn pass_whole<'i>(&mut self, data: &'i [u8]) -> Cow<'i, [u8]> {
        let mut passed = Passed { data, from: 0, to: 0, copied: Vec::new() };
        let mut at = 0;
        while at < data.len() {
            let next = match self.state {
                State::Ground => self.ground(&mut passed, at),
                State::InString(verdict, ending) => self.in_string(&mut passed, at, verdict, ending),
            };
            match next {
                Some(next) => at = next,
                None => {
                    self.held.extend_from_slice(&data[at..]);
                    break;
                }
            }
        }
        passed.finish()
    }

    /// Text up to a sequence, and the sequence; where to go on, or nothing when the rest must be held. Returns at
    /// the sequence first, so that only its bytes are held.
    fn ground(&mut self, passed: &mut Passed<'_>, at: usize) -> Option<usize> {
        let data = passed.data;
        match data[at] {
            ESC | C1_LEAD => self.sequence(passed, at),
            ENQ => {
                if std::mem::take(&mut self.is_after_fragment) {
                    passed.insert(&[CAN]);
                }
                Some(at + 1)
            }
            _ => {
                self.is_after_fragment = false;
                let end =
                    memchr::memchr3(ESC, ENQ, C1_LEAD, &data[at..]).map_or(data.len(), |found| at + found);
                passed.keep(at, end);
                Some(end)
            }
        }
    }

    fn sequence(&mut self, passed: &mut Passed<'_>, at: usize) -> Option<usize> {
        let rest = &passed.data[at..];
        let window = &rest[..rest.len().min(MAX_HELD)];
        match scan(window, self.clipboard) {
            Scan::Incomplete { .. } if rest.len() < MAX_HELD => None,
            Scan::Incomplete { string } => {
                self.remove(passed, &[]);
                self.state = string.map_or(State::Ground, |ending| State::InString(Verdict::Remove, ending));
                Some(at + MAX_HELD)
            }
            Scan::Complete { length, verdict, is_fragment } => {
                self.settle(passed, (at, at + length), verdict, is_fragment);
                Some(at + length)
            }
            Scan::Screen { length, is_alternate } => {
                self.is_alternate = is_alternate;
                self.settle(passed, (at, at + length), Verdict::Keep, false);
                Some(at + length)
            }
            Scan::String { head, verdict, ending } => {
                self.settle(passed, (at, at + head), verdict, false);
                self.state = State::InString(verdict, ending);
                Some(at + head)
            }
        }
    }

    /// Passes on or removes one sequence.
    fn settle(&mut self, passed: &mut Passed<'_>, span: (usize, usize), verdict: Verdict, is_fragment: bool) {
        let (from, to) = span;
        let sequence = &passed.data[from..to];
        match verdict {
            Verdict::Keep if !sequence.contains(&ENQ) => passed.keep(from, to),
            Verdict::Keep => {
                let without: Vec<u8> = sequence.iter().copied().filter(|byte| *byte != ENQ).collect();
                passed.insert(&without);
            }
            Verdict::Remove => {
                let controls = controls_inside(sequence);
                self.remove(passed, &controls);
            }
        }
        self.is_after_fragment = is_fragment && verdict == Verdict::Keep;
    }

    /// Leaves `rest` of a removed sequence. After a fragment the terminal must be told that the fragment is over:
    /// otherwise what follows would be taken for its rest.
    fn remove(&mut self, passed: &mut Passed<'_>, rest: &[u8]) {
        if std::mem::take(&mut self.is_after_fragment) {
            passed.insert(&[CAN]);
        }
        if !rest.is_empty() {
            passed.insert(rest);
        }
    }

    /// The rest of a string; where to go on, or nothing when its last byte must be held.
    fn in_string(
        &mut self,
        passed: &mut Passed<'_>,
        at: usize,
        verdict: Verdict,
        ending: Ending,
    ) -> Option<usize> {
        let data = passed.data;
        let is_mark = |byte: &u8| matches!(*byte, ESC | C1_LEAD | CAN | SUB | 0x07);
        let found = data[at..].iter().position(is_mark).map_or(data.len(), |found| at + found);
        let (next, is_over) = match data.get(found).map(|_| mark(data, found, ending)) {
            None => (found, false),
            Some(Mark::Incomplete) if found == at => return None,
            Some(Mark::Incomplete) => (found, false),
            Some(Mark::Data) => (found + 1, false),
            Some(Mark::End { next, is_fragment }) => {
                self.is_after_fragment = is_fragment && verdict == Verdict::Keep;
                (next, true)
            }
        };
        if verdict == Verdict::Keep {
            passed.keep(at, next);
        }
        if is_over {
            self.state = State::Ground;
        }
        Some(next)
    }
}
