//! Filters a child's output for a person's terminal: text passes, and the sequences of one list.
//!
//! Everything that is not listed in `allowed` is removed: the daemon's emulator answers queries, and a
//! terminal knows commands that no child may give it. Attaching, logs and recordings all use this filter.
//!
//! Only whole sequences pass, so that nothing can be assembled from the bytes around a removal. Control
//! characters inside a sequence take effect before it, as terminals do it, and are not part of what passes. A
//! sequence is held back until its end, at most [`MAX_HELD`] bytes; a longer one is removed. Images and the
//! clipboard are judged by their head and pass without being held, byte by byte, in an alphabet that cannot
//! end them.
//!
//! Some sequences are rewritten, because the terminal also keeps what the person did before: saved modes and
//! pushed titles are kept here, a full reset becomes single resets, and a repeated character is written out.

mod allowed;
mod kept;
mod keyboard;
mod sequence;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use allowed::{Control, Judged, Stream, string_head};
use kept::{Kept, Last};
use sequence::{Kind, Scan, StringEnd, scan};

/// The most bytes of one undecided sequence: far above any that passes. A held sequence is scanned again with
/// each piece that arrives, so this also bounds that work.
pub const MAX_HELD: usize = 16 << 10; // 16 KiB

const ESC: u8 = 0x1b;
const ENQ: u8 = 0x05;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
/// The first byte of the C1 controls in UTF-8, which some terminals obey like their two-byte forms.
const C1_LEAD: u8 = 0xc2;
const ST: &[u8] = b"\x1b\\";

/// Whether a child may write the viewer's clipboard (OSC 52). A request to read it never passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clipboard {
    /// OSC 52 is removed.
    #[default]
    Refused,
    /// OSC 52 that sets the clipboard passes.
    Writable,
}

/// The state of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// Between sequences, or at the first byte of one that is held.
    #[default]
    Ground,
    /// Inside a string that passes unheld.
    Passing(Stream),
    /// Inside something that is removed to its end.
    Removing(Kind),
}

/// The streaming state.
#[derive(Debug, Default)]
pub struct Filter {
    state: State,
    clipboard: Clipboard,
    /// The beginning of an undecided sequence or character.
    held: Vec<u8>,
    /// The bytes since the beginning of the string that passes or is removed unheld.
    unheld: u64,
    kept: Kept,
}

/// The output for one piece of input: one slice of it, copied only once there is a second.
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

/// Returns where the text at `at` ends. In coloured output a sequence is near, and one look at eight bytes is cheaper
/// than the search that is fast over long text.
#[inline]
fn text_end(data: &[u8], at: usize) -> usize {
    let rest = &data[at..];
    match rest.first_chunk::<8>().map(|near| first_mark(*near)) {
        Some(found) if found < 8 => at + found,
        _ => memchr::memchr3(ESC, ENQ, C1_LEAD, rest).map_or(data.len(), |found| at + found),
    }
}

/// Returns the index of the first byte of eight that may end text, or eight.
#[inline]
fn first_mark(bytes: [u8; 8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Each byte that is looked for becomes zero; the lowest zero byte is the lowest whose subtraction borrows.
    let zeros = |mark: u8| {
        let differs = u64::from_le_bytes(bytes) ^ (ONES * u64::from(mark));
        differs.wrapping_sub(ONES) & !differs & (ONES << 7)
    };
    ((zeros(ESC) | zeros(ENQ) | zeros(C1_LEAD)).trailing_zeros() / 8) as usize
}

impl Filter {
    /// Creates a filter at the start of a stream.
    #[must_use]
    pub fn new(clipboard: Clipboard) -> Self {
        Self { clipboard, ..Self::default() }
    }

    /// Creates a filter for a terminal whose keys nobody reads: also what changes the bytes of keys, mouse, focus and pastes
    /// is removed, so that Ctrl-C still interrupts.
    #[must_use]
    pub fn for_unread_terminal() -> Self {
        let mut filter = Self::new(Clipboard::Refused);
        filter.kept.is_unread = true;
        filter
    }

    /// Returns true if the viewer's terminal shows its alternate screen after what has passed.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.kept.is_alternate
    }

    /// Returns true if the viewer's terminal got other colours: its palette, foreground, background or
    /// cursor.
    #[must_use]
    pub fn is_colored(&self) -> bool {
        self.kept.is_colored
    }

    /// Returns true if the form of the cursor was set.
    #[must_use]
    pub fn has_formed_cursor(&self) -> bool {
        self.kept.is_cursor_formed
    }

    /// Returns true if the viewer's terminal is between sequences; held bytes have not reached it.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        !matches!(self.state, State::Passing(_))
    }

    /// Returns how many of the last bytes belong to a sequence that is not whole yet. A filter that begins before them
    /// passes on what this one has not, and nothing but the beginning of a string twice.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.unheld + self.held.len() as u64
    }

    /// Drops a sequence that will never be finished because bytes were skipped.
    pub fn abandon(&mut self) {
        self.state = State::Ground;
        self.held.clear();
        self.unheld = 0;
        self.kept.last = Last::default();
    }

    /// Returns the part of `input` that may reach the viewer's terminal; borrowed when it is one slice of the
    /// input.
    pub fn pass<'i>(&mut self, input: &'i [u8]) -> Cow<'i, [u8]> {
        if self.held.is_empty() {
            return self.pass_whole(input);
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(input);
        Cow::Owned(self.pass_whole(&joined).into_owned())
    }

    /// Like `pass`, for data that begins at a sequence or a character.
    fn pass_whole<'i>(&mut self, data: &'i [u8]) -> Cow<'i, [u8]> {
        let mut passed = Passed { data, from: 0, to: 0, copied: Vec::new() };
        let mut at = 0;
        while at < data.len() {
            let next = match self.state {
                State::Ground => self.ground(&mut passed, at),
                State::Passing(stream) => self.passing(&mut passed, at, stream),
                State::Removing(kind) => self.removing(data, at, kind),
            };
            match next {
                Some(next) => {
                    match self.state {
                        State::Ground => self.unheld = 0,
                        State::Passing(_) | State::Removing(_) => self.unheld += (next - at) as u64,
                    }
                    at = next;
                }
                None => {
                    self.held.extend_from_slice(&data[at..]);
                    break;
                }
            }
        }
        passed.finish()
    }

    /// Passes text up to a sequence, and judges the sequence. Returns where to continue, or `None` when the
    /// rest must be held. It returns at the sequence first, so that only its bytes are held.
    fn ground(&mut self, passed: &mut Passed<'_>, at: usize) -> Option<usize> {
        let data = passed.data;
        match data[at] {
            ESC => self.sequence(passed, at),
            ENQ => {
                self.kept.last = Last::default();
                Some(at + 1)
            }
            C1_LEAD => match data.get(at + 1) {
                None => None,
                Some(0x80..=0x9f) => {
                    self.kept.last = Last::default();
                    Some(at + 2)
                }
                // A character, or half of one.
                Some(0xa0..=0xbf) => Some(self.text(passed, at, at + 2)),
                Some(_) => Some(self.text(passed, at, at + 1)),
            },
            _ => {
                let end = text_end(data, at);
                if data[at..end].is_ascii() {
                    Some(self.text(passed, at, end))
                } else {
                    self.wide(passed, at, end)
                }
            }
        }
    }

    fn text(&mut self, passed: &mut Passed<'_>, from: usize, to: usize) -> usize {
        passed.keep(from, to);
        self.kept.note_text(&passed.data[from..to]);
        to
    }

    /// Passes text with characters beyond ASCII. Single C1 bytes are removed; an incomplete character is
    /// held.
    fn wide(&mut self, passed: &mut Passed<'_>, from: usize, to: usize) -> Option<usize> {
        let data = passed.data;
        let text = &data[from..to];
        let Err(error) = std::str::from_utf8(text) else { return Some(self.text(passed, from, to)) };
        let valid = from + error.valid_up_to();
        if valid > from {
            return Some(self.text(passed, from, valid));
        }
        match (error.error_len(), data[from]) {
            (None, _) if to == data.len() => None,
            (_, 0x80..=0x9f) => Some(from + 1),
            (length, _) => Some(self.text(passed, from, length.map_or(to, |length| from + length))),
        }
    }

    fn sequence(&mut self, passed: &mut Passed<'_>, at: usize) -> Option<usize> {
        let rest = &passed.data[at..];
        if let Some(control) = Control::plain(rest) {
            let end = at + control.plain_length();
            match self.kept.judge_control(control) {
                Judged::Keep => passed.keep(at, end),
                Judged::Remove => {}
                Judged::Replace(bytes) => passed.insert(&bytes),
            }
            return Some(end);
        }
        let window = &rest[..rest.len().min(MAX_HELD)];
        let scan = scan(window);
        if scan.kind().is_string()
            && let Some(next) = self.begin_stream(passed, at, window, scan.kind())
        {
            return Some(next);
        }
        let found = match scan {
            Scan::Fragment { length, kind } => {
                self.kept.last = Last::default();
                if !kind.is_string() {
                    self.carry_out(passed, &window[..length]);
                }
                return Some(at + length);
            }
            Scan::Incomplete(kind) => return self.hold_or_remove(rest, at, kind),
            Scan::Whole(found) => found,
        };
        let sequence = &window[..found.length];
        if !found.kind.is_string() {
            self.carry_out(passed, sequence);
        }
        match self.kept.judge(&found, sequence) {
            Judged::Keep if found.is_clean => passed.keep(at, at + found.length),
            Judged::Keep => passed.insert(&found.clean(sequence)),
            Judged::Remove => {}
            Judged::Replace(bytes) => passed.insert(&bytes),
        }
        Some(at + found.length)
    }

    /// Starts a string that passes unheld, if its head allows it; returns where its body begins.
    fn begin_stream(
        &mut self,
        passed: &mut Passed<'_>,
        at: usize,
        window: &[u8],
        kind: Kind,
    ) -> Option<usize> {
        let head = string_head(kind, window, self.clipboard)?;
        self.kept.last = Last::default();
        passed.insert(&head.said);
        self.state = State::Passing(head.stream);
        Some(at + head.length)
    }

    fn hold_or_remove(&mut self, rest: &[u8], at: usize, kind: Kind) -> Option<usize> {
        if rest.len() < MAX_HELD {
            return None;
        }
        self.kept.last = Last::default();
        self.state = State::Removing(kind);
        Some(at + MAX_HELD)
    }

    /// Passes the control characters in a sequence that take effect on their own.
    fn carry_out(&mut self, passed: &mut Passed<'_>, sequence: &[u8]) {
        let is_executed = |byte: &u8| *byte < 0x20 && !matches!(*byte, 0 | ENQ | ESC | CAN | SUB);
        if sequence.iter().any(is_executed) {
            let controls: Vec<u8> = sequence.iter().copied().filter(is_executed).collect();
            passed.insert(&controls);
            self.kept.last = Last::default();
        }
    }

    /// Passes the rest of a string. Returns where to continue, or `None` when its last byte must be held.
    fn passing(&mut self, passed: &mut Passed<'_>, at: usize, stream: Stream) -> Option<usize> {
        let data = passed.data;
        let end = match sequence::string_end(data, at, stream.kind) {
            StringEnd::Later if stream.takes_all(&data[at..]) => {
                passed.keep(at, data.len());
                return Some(data.len());
            }
            StringEnd::Later => (data.len(), data.len(), &b""[..]),
            StringEnd::Unknown { from } if from == at => return None,
            StringEnd::Unknown { from } => (from, from, &b""[..]),
            StringEnd::Ended { from, next } => (from, next, ST),
            StringEnd::Broken { from, next } => (from, next, &[CAN][..]),
        };
        let (to, next, said) = end;
        if stream.takes_all(&data[at..to]) {
            passed.keep(at, to);
        } else {
            let body: Vec<u8> = data[at..to].iter().copied().filter(|byte| stream.takes(*byte)).collect();
            passed.insert(&body);
        }
        if !said.is_empty() {
            passed.insert(said);
            self.state = State::Ground;
        }
        Some(next)
    }

    /// Skips the rest of what is removed.
    fn removing(&mut self, data: &[u8], at: usize, kind: Kind) -> Option<usize> {
        let end = match kind.is_string() {
            true => sequence::string_end(data, at, kind),
            false => sequence::control_end(data, at),
        };
        match end {
            StringEnd::Later => Some(data.len()),
            StringEnd::Unknown { from } if from == at => None,
            StringEnd::Unknown { from } => Some(from),
            StringEnd::Ended { next, .. } | StringEnd::Broken { next, .. } => {
                self.state = State::Ground;
                Some(next)
            }
        }
    }
}
