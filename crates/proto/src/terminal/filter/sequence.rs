//! The grammar of one control sequence: where it begins and ends, as the daemon's emulator and terminals
//! parse it. Every function gets bytes that begin with the sequence and returns `Incomplete` when they do not
//! contain its end.

use super::{BEL, CAN, ESC, ST, SUB};

const DEL: u8 = 0x7f;

/// What a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// ESC, intermediates and a final byte.
    Escape,
    /// CSI.
    Control,
    Osc,
    Dcs,
    Apc,
    /// SOS and PM, which are ignored.
    Ignored,
}

impl Kind {
    pub(super) fn is_string(self) -> bool {
        !matches!(self, Kind::Escape | Kind::Control)
    }
}

/// What the bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scan {
    /// The end is not in these bytes.
    Incomplete(Kind),
    /// It was aborted: these bytes have no effect.
    Fragment {
        length: usize,
        kind: Kind,
    },
    Whole(Found),
}

impl Scan {
    pub(super) fn kind(self) -> Kind {
        match self {
            Scan::Incomplete(kind) | Scan::Fragment { kind, .. } | Scan::Whole(Found { kind, .. }) => kind,
        }
    }
}

/// A whole sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) length: usize,
    /// Where the part between introducer and end begins and ends.
    pub(super) body: (usize, usize),
    /// True if it is written as we would: nothing but its own bytes, and a string with its terminator.
    pub(super) is_clean: bool,
}

impl Found {
    /// Returns the part between introducer and end, without control characters.
    pub(super) fn body(self, sequence: &[u8]) -> Vec<u8> {
        let is_own = |byte: &u8| *byte >= 0x20 && *byte != DEL;
        let mut body: Vec<u8> = sequence[self.body.0..self.body.1].iter().copied().filter(is_own).collect();
        // C1 controls, in either encoding, must not be part of a text.
        if body.iter().any(|byte| (0x80..=0x9f).contains(byte)) {
            let text = String::from_utf8_lossy(&body);
            body = text.chars().filter(|character| !character.is_control()).collect::<String>().into_bytes();
        }
        body
    }

    /// Returns the sequence as we write it.
    pub(super) fn clean(self, sequence: &[u8]) -> Vec<u8> {
        let introducer: &[u8] = match self.kind {
            Kind::Escape => b"\x1b",
            Kind::Control => b"\x1b[",
            Kind::Osc => b"\x1b]",
            Kind::Dcs => b"\x1bP",
            Kind::Apc => b"\x1b_",
            Kind::Ignored => b"\x1b^",
        };
        let end = if self.kind.is_string() { ST } else { b"" };
        [introducer, &self.body(sequence), end].concat()
    }
}

/// Where a string ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StringEnd {
    /// Not within these bytes.
    Later,
    /// It depends on what follows the byte at `from`.
    Unknown { from: usize },
    /// Its last byte is before `from`, and what follows it begins at `next`.
    Ended { from: usize, next: usize },
    /// Like `Ended`, but it was aborted.
    Broken { from: usize, next: usize },
}

/// Finds the end of a string of this kind.
pub(super) fn string_end(data: &[u8], at: usize, kind: Kind) -> StringEnd {
    let ends_by_bell = kind == Kind::Osc;
    let is_mark = |byte: &u8| matches!(*byte, ESC | CAN | SUB) || (*byte == BEL && ends_by_bell);
    let Some(distance) = data[at..].iter().position(is_mark) else { return StringEnd::Later };
    let from = at + distance;
    match (data[from], data.get(from + 1)) {
        (ESC, None) => StringEnd::Unknown { from },
        (ESC, Some(b'\\')) => StringEnd::Ended { from, next: from + 2 },
        (ESC, Some(_)) => StringEnd::Broken { from, next: from },
        (BEL, _) => StringEnd::Ended { from, next: from + 1 },
        _ => StringEnd::Broken { from, next: from + 1 },
    }
}

/// Finds the end of a control sequence whose beginning is gone.
pub(super) fn control_end(data: &[u8], at: usize) -> StringEnd {
    let is_mark = |byte: &u8| matches!(*byte, ESC | CAN | SUB | 0x40..=0x7e | 0x80..);
    let Some(distance) = data[at..].iter().position(is_mark) else { return StringEnd::Later };
    let from = at + distance;
    match data[from] {
        ESC | 0x80.. => StringEnd::Broken { from, next: from },
        _ => StringEnd::Ended { from, next: from + 1 },
    }
}

/// Reads the sequence that `data` begins with; its first byte is ESC.
pub(super) fn scan(data: &[u8]) -> Scan {
    let is_nothing = |byte: u8| (byte < 0x20 && !matches!(byte, ESC | CAN | SUB)) || byte == DEL;
    let mut start = 1;
    while data.get(start).is_some_and(|byte| is_nothing(*byte)) {
        start += 1;
    }
    let is_clean = start == 1;
    let Some(first) = data.get(start) else { return Scan::Incomplete(Kind::Escape) };
    match *first {
        ESC | 0x80.. => broken_off(start),
        CAN | SUB => broken_off(start + 1),
        b'[' => until_final(data, start + 1, is_clean, Kind::Control),
        b']' => string(data, start + 1, is_clean, Kind::Osc),
        b'P' => string(data, start + 1, is_clean, Kind::Dcs),
        b'_' => string(data, start + 1, is_clean, Kind::Apc),
        b'X' | b'^' => string(data, start + 1, is_clean, Kind::Ignored),
        _ => until_final(data, start, is_clean, Kind::Escape),
    }
}

fn broken_off(length: usize) -> Scan {
    Scan::Fragment { length, kind: Kind::Escape }
}

fn until_final(data: &[u8], body: usize, mut is_clean: bool, kind: Kind) -> Scan {
    let first_final = if kind == Kind::Control { 0x40 } else { 0x30 };
    for (at, byte) in data.iter().enumerate().skip(body) {
        match *byte {
            ESC | 0x80.. => return broken_off(at),
            CAN | SUB => return broken_off(at + 1),
            0..=0x1f | DEL => is_clean = false,
            byte if byte >= first_final => {
                return Scan::Whole(Found { kind, length: at + 1, body: (body, at + 1), is_clean });
            }
            _ => {}
        }
    }
    Scan::Incomplete(kind)
}

/// A string that an escape ended still takes effect: the emulator, and some terminals, act on it.
fn string(data: &[u8], body: usize, is_clean: bool, kind: Kind) -> Scan {
    match string_end(data, body, kind) {
        StringEnd::Later | StringEnd::Unknown { .. } => Scan::Incomplete(kind),
        StringEnd::Broken { from, next } if from != next => Scan::Fragment { length: next, kind },
        StringEnd::Broken { from, next } => {
            Scan::Whole(Found { kind, length: next, body: (body, from), is_clean: false })
        }
        StringEnd::Ended { from, next } => {
            let is_own = |byte: &u8| matches!(*byte, 0x20..=0x7e);
            let is_clean = is_clean && data[body..from].iter().all(is_own);
            Scan::Whole(Found { kind, length: next, body: (body, from), is_clean })
        }
    }
}
