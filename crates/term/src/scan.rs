//! Finds where escape sequences begin and end. Cuts a byte stream into runs of text with ordinary sequences
//! and into the sequences that need separate handling. It gives no sequence a meaning.
//!
//! Every run that a sink gets starts and ends between sequences and between characters, however the stream
//! was chunked. An unfinished tail stays in the scanner, so that a checkpoint can carry it and the parser
//! behind is never in the middle of a sequence. Sequences that are too long are dropped to their end.

mod fast_scan;
mod piece;

pub(crate) use fast_scan::{MOST, Numbers};

use fast_scan::{FastScan, fast_scan, next_escape};
use piece::{Piece, REPLACEMENT, unfinished_character};

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const BEL: u8 = 0x07;

/// Longest control sequence; no program needs more, and parameters beyond are ignored anyway.
const CSI_MAX: usize = 256;
/// Most parameters of a control sequence; the emulator would ignore a sequence with more, where terminals ignore only
/// the rest.
const PARAMETERS_MAX: usize = 32;
/// Longest OSC, DCS, APC, PM or SOS string; a longer one is discarded up to its end.
pub(crate) const STRING_MAX: usize = 64 * 1024;

/// The kinds of strings a stream may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringKind {
    /// Operating system command.
    Osc,
    /// Device control string.
    Dcs,
    /// Application program command.
    Apc,
    /// Privacy message or start of string; ignored.
    Ignored,
}

/// Receives the pieces in stream order.
pub(crate) trait Sink {
    /// Text, control characters and ordinary sequences, all whole.
    fn run(&mut self, bytes: &[u8]);
    /// A run without an invalid character.
    fn valid_run(&mut self, text: &str) {
        self.run(text.as_bytes());
    }
    /// A whole sequence of the kinds that make up most of a repaint, with only numbers in it: colours and
    /// attributes (SGR), cursor position (CUP), erase in line (EL).
    fn fast_csi(&mut self, sequence: &[u8], _numbers: &Numbers) {
        match is_special(sequence) {
            true => self.special(sequence),
            false => self.run(sequence),
        }
    }
    /// A whole sequence (from ESC to final byte) that [`is_special`] picked.
    fn special(&mut self, sequence: &[u8]);
    /// A whole string without introducer and terminator.
    fn string(&mut self, kind: StringKind, payload: &[u8], terminator: &'static str);
    /// Returns true if the sink wants no more for now.
    fn is_spent(&self) -> bool {
        false
    }
}

/// Returns true for sequences that the emulator does not know or must not handle by itself: REP (its count is
/// unbounded there), VPR, private device status reports, key options, saved modes, soft reset, selective
/// erasing, overline, saved colours; IND, shifts, and sets other than ASCII and line drawing.
pub(crate) fn is_special(sequence: &[u8]) -> bool {
    match sequence {
        [_, b'[', .., b'b' | b'e']
        | [_, b'[', .., b'!', b'p']
        | [_, b'[', .., b'#', b'P' | b'Q']
        | [_, b'[', b'?', .., b'n' | b'J' | b'K' | b'm' | b'r' | b's'] => true,
        [_, b'[', b'0'..=b';', .., b'm'] => may_name_overline(&sequence[2..]),
        [_, b'D' | b'N' | b'O' | b'n' | b'o'] => true,
        [_, b'('..=b'+', b'0' | b'B'] => false,
        [_, b'('..=b'+' | b'-'..=b'/', ..] => true,
        _ => false,
    }
}

/// Returns true if the parameters of an SGR sequence may contain overline.
fn may_name_overline(parameters: &[u8]) -> bool {
    parameters.windows(2).any(|pair| matches!(pair, b"53" | b"55"))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between sequences; `pending` holds the start of a character or nothing.
    #[default]
    Ground,
    /// After ESC and any intermediates.
    Escape,
    /// After `ESC [`.
    Control,
    /// In a control sequence that is too long.
    ControlOverflow,
    /// In a string.
    String(StringKind),
    /// In a string that is too long.
    StringOverflow(StringKind),
}

/// The state between two chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    /// The unfinished sequence from its ESC on, or the unfinished character.
    pending: Vec<u8>,
    /// True if a character came last before the current sequence or the next byte.
    is_after_text: bool,
}

impl Scanner {
    /// Feeds the next bytes of the stream until the sink is spent and returns how many were used. The sink is
    /// asked after everything that may have cost much, so that it is never much more than spent.
    pub(crate) fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let mut resumed = 0;
        if !self.pending.is_empty() || self.state != State::Ground {
            resumed = self.resume(bytes, sink);
            if sink.is_spent() {
                return resumed;
            }
        }
        resumed + self.feed_whole(&bytes[resumed..], sink)
    }

    /// Feeds like `feed`, starting between two sequences.
    fn feed_whole(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let piece = Piece::new(bytes);
        let (mut position, mut run_start, mut careful_end) = (0, 0, 0);
        let mut numbers = Numbers::default();
        while position < bytes.len() {
            let Some(distance) = next_escape(&bytes[position..]) else { break };
            let escape = position + distance;
            match fast_scan(&bytes[escape..], &mut numbers) {
                FastScan::Ordinary(length) => position = escape + length,
                FastScan::Brief(length) => {
                    piece.emit_before_cut(run_start..escape, sink);
                    position = escape + length;
                    sink.fast_csi(&bytes[escape..position], &numbers);
                    run_start = position;
                }
                FastScan::Heavy(length) => {
                    piece.emit_before_cut(run_start..escape, sink);
                    position = escape + length;
                    sink.run(&bytes[escape..position]);
                    run_start = position;
                    if sink.is_spent() {
                        self.is_after_text = false;
                        return position;
                    }
                }
                FastScan::Careful => {
                    self.note_text(&bytes[..escape], position, careful_end);
                    piece.emit_before_cut(run_start..escape, sink);
                    position = self.careful(bytes, escape, sink);
                    careful_end = position;
                    run_start = position;
                    if sink.is_spent() {
                        return position;
                    }
                }
            }
        }
        if !bytes.is_empty() && self.state == State::Ground {
            self.note_text(bytes, position, careful_end);
        }
        if run_start < bytes.len() {
            let run = &bytes[run_start..];
            let unfinished = unfinished_character(run);
            self.pending.extend_from_slice(&run[run.len() - unfinished..]);
            piece.emit(run_start..bytes.len() - unfinished, sink);
        }
        bytes.len()
    }

    /// Returns true if a character came last; an unfinished sequence after it does not count.
    pub(crate) fn is_after_text(&self) -> bool {
        self.is_after_text
    }

    pub(crate) fn set_after_text(&mut self, is_after_text: bool) {
        self.is_after_text = is_after_text;
    }

    /// Updates `is_after_text` from the last byte of a piece that is text from `position` on, where a
    /// sequence ended or the piece began.
    fn note_text(&mut self, bytes: &[u8], position: usize, careful_end: usize) {
        match bytes[position..].last() {
            Some(last) => self.is_after_text = *last >= 0x20 && *last != 0x7f,
            // An ordinary sequence ended here, unless the careful path handled it and has set the flag.
            None => self.is_after_text &= position == careful_end,
        }
    }

    /// Returns the unfinished tail, for a checkpoint: the bytes to feed first, and what the scanner is
    /// dropping.
    pub(crate) fn unfinished(&self) -> (&[u8], Dropping) {
        let dropping = match self.state {
            State::ControlOverflow => Dropping::Control,
            State::StringOverflow(kind) => Dropping::String(kind),
            State::Ground | State::Escape | State::Control | State::String(_) => Dropping::Nothing,
        };
        (&self.pending, dropping)
    }

    /// Creates the scanner whose `unfinished()` is as given. Tails that no scanner produces are cut to what
    /// one could.
    pub(crate) fn resumed(tail: &[u8], dropping: Dropping) -> Scanner {
        let mut scanner = Scanner::default();
        match dropping {
            Dropping::Nothing => {
                scanner.feed(&tail[..tail.len().min(STRING_MAX + CSI_MAX)], &mut Nowhere);
            }
            Dropping::Control => scanner.state = State::ControlOverflow,
            Dropping::String(kind) => scanner.state = State::StringOverflow(kind),
        }
        scanner
    }

    /// Finishes what an earlier chunk left over; returns how many bytes that took.
    fn resume(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        match self.state {
            State::Ground => self.resume_character(bytes, sink),
            _ => self.careful(bytes, 0, sink),
        }
    }

    /// Completes a character that was split between chunks. Invalid ones become one replacement character, as
    /// they would in one piece.
    fn resume_character(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        for (index, &byte) in bytes.iter().enumerate() {
            self.pending.push(byte);
            match std::str::from_utf8(&self.pending) {
                Ok(_) => {
                    self.is_after_text = true;
                    sink.run(&self.pending);
                    self.pending.clear();
                    return index + 1;
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.is_after_text = true;
                    sink.run(REPLACEMENT);
                    self.pending.clear();
                    return index;
                }
            }
        }
        bytes.len()
    }

    /// Goes byte by byte from `start` to the ground state and returns the position there.
    fn careful(&mut self, bytes: &[u8], start: usize, sink: &mut impl Sink) -> usize {
        let mut position = start;
        loop {
            if let State::String(_) | State::StringOverflow(_) = self.state {
                position += self.string_bytes(&bytes[position..]);
            }
            let Some(&byte) = bytes.get(position) else { return bytes.len() };
            position += usize::from(self.step(byte, sink));
            if self.state == State::Ground {
                return position;
            }
        }
    }

    /// Collects the part of a string up to its end or the end of the chunk.
    fn string_bytes(&mut self, bytes: &[u8]) -> usize {
        let is_end = |byte: &u8| matches!(*byte, ESC | CAN | SUB | BEL);
        let length = bytes.iter().position(is_end).unwrap_or(bytes.len());
        self.collect_string(&bytes[..length]);
        length
    }

    fn collect_string(&mut self, bytes: &[u8]) {
        let State::String(kind) = self.state else { return };
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > STRING_MAX {
            self.pending = Vec::new();
            self.state = State::StringOverflow(kind);
        }
    }

    /// Feeds one byte to the state machine. Returns false when the byte ended a sequence without belonging to
    /// it.
    fn step(&mut self, byte: u8, sink: &mut impl Sink) -> bool {
        match (self.state, byte) {
            (State::String(kind), _) => self.string_step(kind, byte, sink),
            (State::StringOverflow(kind), _) => self.overflow_step(kind, byte),
            (_, CAN | SUB) => self.ground(),
            (_, ESC) => self.begin(),
            (_, 0x00..=0x1f) => {
                self.is_after_text = false;
                sink.run(&[byte]);
            }
            (_, 0x80..) => {
                self.ground();
                return false;
            }
            (_, 0x7f) => {}
            (State::Control, _) => self.control_step(byte, sink),
            (State::ControlOverflow, 0x40..=0x7e) => self.ground(),
            (State::ControlOverflow, _) => {}
            (State::Escape | State::Ground, _) => self.escape_step(byte, sink),
        }
        true
    }

    fn escape_step(&mut self, byte: u8, sink: &mut impl Sink) {
        self.pending.push(byte);
        let first = self.pending.len() == 2;
        self.state = match byte {
            0x20..=0x2f if self.pending.len() < CSI_MAX => State::Escape,
            0x20..=0x2f => State::ControlOverflow,
            b'[' if first => State::Control,
            b']' if first => State::String(StringKind::Osc),
            b'P' if first => State::String(StringKind::Dcs),
            b'_' if first => State::String(StringKind::Apc),
            b'X' | b'^' if first => State::String(StringKind::Ignored),
            _ => {
                match is_special(&self.pending) {
                    true => sink.special(&self.pending),
                    false => sink.run(&self.pending),
                }
                State::Ground
            }
        };
        if matches!(self.state, State::Ground | State::ControlOverflow) {
            self.pending.clear();
            self.is_after_text = false;
        }
    }

    fn control_step(&mut self, byte: u8, sink: &mut impl Sink) {
        self.pending.push(byte);
        if matches!(byte, 0x40..=0x7e) {
            // Only a character can be repeated, and after that it is the last one again.
            let is_repeat = byte == b'b' && self.is_after_text;
            match is_special(&self.pending) {
                true if byte == b'b' && !is_repeat => {}
                true => sink.special(&self.pending),
                false => sink.run(without_excess(&mut self.pending)),
            }
            self.ground();
            self.is_after_text = is_repeat;
        } else if self.pending.len() > CSI_MAX {
            self.pending.clear();
            self.state = State::ControlOverflow;
        }
    }

    fn string_step(&mut self, kind: StringKind, byte: u8, sink: &mut impl Sink) {
        match (kind, byte) {
            (_, CAN | SUB) => self.ground(),
            (StringKind::Osc, BEL) => {
                sink.string(kind, &self.pending[2..], "\x07");
                self.ground();
            }
            (_, BEL) => self.collect_string(&[byte]),
            _ => {
                sink.string(kind, &self.pending[2..], "\x1b\\");
                self.begin();
            }
        }
    }

    fn overflow_step(&mut self, kind: StringKind, byte: u8) {
        match (kind, byte) {
            (_, CAN | SUB) | (StringKind::Osc, BEL) => self.ground(),
            (_, ESC) => self.begin(),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.is_after_text &= self.state == State::Ground;
        self.pending.clear();
        self.pending.push(ESC);
        self.state = State::Escape;
    }

    fn ground(&mut self) {
        // A long string must not keep its buffer for the life of the screen.
        if self.pending.capacity() > 4096 {
            self.pending = Vec::new();
        }
        self.pending.clear();
        self.state = State::Ground;
        self.is_after_text = false;
    }
}

/// What a scanner discards until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropping {
    /// Nothing.
    Nothing,
    /// A control sequence that is too long.
    Control,
    /// A string that is too long.
    String(StringKind),
}

/// A sink for replaying a tail that is known to complete nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn run(&mut self, _: &[u8]) {}
    fn special(&mut self, _: &[u8]) {}
    fn string(&mut self, _: StringKind, _: &[u8], _: &'static str) {}
}

/// Cuts a control sequence to as many parameters as the emulator accepts.
fn without_excess(sequence: &mut Vec<u8>) -> &[u8] {
    let is_parameter = |byte: &u8| matches!(byte, 0x30..=0x3f);
    let separators = sequence.iter().enumerate().filter(|(_, byte)| matches!(byte, b';' | b':'));
    let excess = separators.map(|(index, _)| index).nth(PARAMETERS_MAX - 1);
    if let Some(from) = excess {
        let rest = &sequence[from..];
        let until = from + rest.iter().position(|byte| !is_parameter(byte)).unwrap_or(rest.len());
        sequence.drain(from..until);
    }
    sequence
}

#[cfg(test)]
mod tests;
