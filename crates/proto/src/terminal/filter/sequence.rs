//! One control sequence: how far it reaches and whether a terminal would answer it.
//!
//! Owns the grammar and the list of queries. Refuses state: every function looks at bytes that begin with the
//! sequence and says `Incomplete` when they do not show enough.

use super::{C1_LEAD, CAN, Clipboard, ENQ, ESC, SUB};

const BEL: u8 = 0x07;
const DEL: u8 = 0x7f;

/// What becomes of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    Keep,
    Remove,
}

/// What ends a string besides ST.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    /// BEL too.
    Bell,
    /// Nothing.
    StOnly,
}

/// What the bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scan {
    /// Not decided yet; inside a string with this ending, if inside one.
    Incomplete { string: Option<Ending> },
    /// A sequence of this length. A fragment was interrupted by the sequence that follows it.
    Complete { length: usize, verdict: Verdict, is_fragment: bool },
    /// A sequence of this length, kept, after which this screen is shown.
    Screen { length: usize, is_alternate: bool },
    /// A string whose first `head` bytes decide about all of it.
    String { head: usize, verdict: Verdict, ending: Ending },
}

/// What a byte means inside a string.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    Data,
    Incomplete,
    End { next: usize, is_fragment: bool },
}

/// Looks at the byte at `at` inside a string.
pub(super) fn mark(data: &[u8], at: usize, ending: Ending) -> Mark {
    let end = |next, is_fragment| Mark::End { next, is_fragment };
    match (data[at], data.get(at + 1)) {
        (BEL, _) if ending == Ending::Bell => end(at + 1, false),
        (CAN | SUB, _) => end(at + 1, false),
        (ESC | C1_LEAD, None) => Mark::Incomplete,
        (ESC, Some(b'\\')) | (C1_LEAD, Some(0x9c)) => end(at + 2, false),
        (ESC, Some(_)) => end(at, true),
        (C1_LEAD, Some(next)) if introducer(*next).is_some() => end(at, true),
        _ => Mark::Data,
    }
}

/// How a sequence begins.
enum Head {
    /// Its kind as the second byte of the two-byte form, and where its body begins.
    Known(u8, usize),
    /// An ordinary character that begins with 0xc2, and the byte after that.
    Character(u8),
    /// Too short to tell.
    Unknown,
}

fn head(data: &[u8]) -> Head {
    match data {
        [C1_LEAD, second, ..] => {
            introducer(*second).map_or(Head::Character(*second), |kind| Head::Known(kind, 2))
        }
        [ESC, rest @ ..] => {
            // A delete after the escape is nothing to a terminal: what follows is still the sequence's.
            let controls = rest.iter().position(|byte| !is_executed(*byte) && *byte != DEL);
            controls.map_or(Head::Unknown, |controls| Head::Known(rest[controls], controls + 2))
        }
        _ => Head::Unknown,
    }
}

/// Reads the sequence that `data` begins with; its first byte is ESC or 0xc2.
pub(super) fn scan(data: &[u8], clipboard: Clipboard) -> Scan {
    let (kind, body) = match head(data) {
        Head::Known(kind, body) => (kind, body),
        Head::Character(next) => return keep(1, matches!(next, ESC | C1_LEAD | ENQ)),
        Head::Unknown => return Scan::Incomplete { string: None },
    };
    match kind {
        b'[' => csi(data, body),
        b']' => osc(data, body, clipboard),
        b'P' => dcs(data, body),
        b'_' => apc(data, body),
        b'X' | b'^' => Scan::String { head: body, verdict: Verdict::Keep, ending: Ending::StOnly },
        b'Z' => complete(body, Verdict::Remove),
        b'c' => Scan::Screen { length: body, is_alternate: false },
        b' '..=b'/' => escape(data, body),
        ESC | C1_LEAD => keep(body - 1, true),
        _ => keep(body, false),
    }
}

/// The control characters in a whole sequence that take effect on their own; strings have none.
pub(super) fn controls_inside(sequence: &[u8]) -> Vec<u8> {
    match head(sequence) {
        Head::Known(b'[' | b'Z', _) => {
            sequence.iter().copied().filter(|byte| is_executed(*byte) && *byte != ENQ).collect()
        }
        Head::Known(..) | Head::Character(_) | Head::Unknown => Vec::new(),
    }
}

/// The second byte of the two-byte form of a C1 control that begins something.
fn introducer(byte: u8) -> Option<u8> {
    matches!(byte, 0x90 | 0x98 | 0x9a | 0x9b | 0x9d..=0x9f).then(|| byte - 0x40)
}

/// Controls that take effect inside a sequence without ending it.
fn is_executed(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, ESC | CAN | SUB)
}

fn complete(length: usize, verdict: Verdict) -> Scan {
    Scan::Complete { length, verdict, is_fragment: false }
}

fn keep(length: usize, is_fragment: bool) -> Scan {
    Scan::Complete { length, verdict: Verdict::Keep, is_fragment }
}

/// ESC with intermediates: everything of that form is harmless.
fn escape(data: &[u8], body: usize) -> Scan {
    for (at, byte) in data.iter().enumerate().skip(body) {
        match *byte {
            ESC | C1_LEAD => return keep(at, true),
            CAN | SUB | 0x30..=0x7e => return keep(at + 1, false),
            _ => {}
        }
    }
    Scan::Incomplete { string: None }
}

/// What of a CSI sequence decides whether it is a query.
#[derive(Default)]
struct Csi {
    /// `<`, `=`, `>`, `?` or 0.
    prefix: u8,
    /// The last intermediate or 0.
    intermediate: u8,
    first: Option<u32>,
    current: u32,
    names_alternate: bool,
}

impl Csi {
    fn end_parameter(&mut self) {
        self.first = self.first.or(Some(self.current));
        self.names_alternate |= matches!(self.current, 47 | 1047 | 1049);
        self.current = 0;
    }

    fn end(mut self, length: usize, last: u8) -> Scan {
        self.end_parameter();
        if self.names_alternate && self.prefix == b'?' && matches!(last, b'h' | b'l') {
            return Scan::Screen { length, is_alternate: last == b'h' };
        }
        complete(length, if self.is_query(last) { Verdict::Remove } else { Verdict::Keep })
    }

    fn is_query(&self, last: u8) -> bool {
        match (self.prefix, self.intermediate, last) {
            // Device attributes, status and cursor reports. Some terminals answer them whatever stands between, and nothing
            // else of that form is in use.
            (0 | b'>' | b'=', _, b'c') | (0 | b'?', _, b'n') => true,
            // Modes, version, kitty keyboard flags.
            (0 | b'?', b'$', b'p') | (b'>', 0, b'q') | (b'?', 0, b'u') => true,
            // Window reports.
            (0, 0, b't') => matches!(self.first, Some(11 | 13..=16 | 18..=21)),
            // Terminal parameters, graphics limits, key modifier options.
            (0, 0, b'x') | (b'?', 0, b'S' | b'm' | b'g') => true,
            // Checksums, presentation and terminal state, supplemental set, extent, colours, locator.
            (0, b'*', b'y') | (0, b'$', b'w' | b'u') | (0, b'&', b'u') | (0, b'"', b'v') => true,
            (0, b'#', b'R' | b'|') | (0, b'\'', b'|') => true,
            _ => false,
        }
    }
}

fn csi(data: &[u8], body: usize) -> Scan {
    let mut csi = Csi::default();
    let mut at = body;
    while let Some(byte) = data.get(at) {
        match *byte {
            digit @ b'0'..=b'9' => {
                csi.current = csi.current.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            }
            b';' | b':' => csi.end_parameter(),
            last @ 0x40..=0x7e => return csi.end(at + 1, last),
            prefix @ b'<'..=b'?' => csi.prefix = prefix,
            intermediate @ b' '..=b'/' => csi.intermediate = intermediate,
            ESC => return keep(at, true),
            CAN | SUB => return keep(at + 1, false),
            C1_LEAD => match data.get(at + 1) {
                None => break,
                Some(next) if introducer(*next).is_some() => return keep(at, true),
                Some(_) => {}
            },
            _ => {}
        }
        at += 1;
    }
    Scan::Incomplete { string: None }
}

/// DCS: the final byte of its head says what it is.
fn dcs(data: &[u8], body: usize) -> Scan {
    let ending = Ending::StOnly;
    let mut intermediate = 0;
    for at in body..data.len() {
        match mark(data, at, ending) {
            Mark::Incomplete => break,
            Mark::End { next, is_fragment } => return keep(next, is_fragment),
            Mark::Data => {}
        }
        match data[at] {
            byte @ b' '..=b'/' => intermediate = byte,
            last @ 0x40..=0x7e => {
                // XTGETTCAP, DECRQSS and X resources.
                let is_query = matches!((intermediate, last), (b'+' | b'$', b'q') | (b'+', b'Q'));
                let verdict = if is_query { Verdict::Remove } else { Verdict::Keep };
                return Scan::String { head: at + 1, verdict, ending };
            }
            _ => {}
        }
    }
    Scan::Incomplete { string: Some(ending) }
}

/// What an OSC's number means for it.
enum OscClass {
    Harmless,
    Clipboard,
    /// A field that begins with `?`, or a value that does, makes it a query.
    MayAsk,
}

fn osc_class(number: u32) -> OscClass {
    match number {
        52 => OscClass::Clipboard,
        // X properties, colours, kitty colours, pointer shape, font, program status.
        3 | 4 | 5 | 10..=19 | 21 | 22 | 50 | 7501 => OscClass::MayAsk,
        _ => OscClass::Harmless,
    }
}

fn osc(data: &[u8], body: usize, clipboard: Clipboard) -> Scan {
    let ending = Ending::Bell;
    let harmless = |head| Scan::String { head, verdict: Verdict::Keep, ending };
    let mut number: u32 = 0;
    for at in body..data.len() {
        match mark(data, at, ending) {
            Mark::Incomplete => break,
            Mark::End { next, is_fragment } => return keep(next, is_fragment),
            Mark::Data => {}
        }
        match data[at] {
            digit @ b'0'..=b'9' => {
                number = number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            }
            b';' => {
                return match osc_class(number) {
                    OscClass::Harmless => harmless(at + 1),
                    OscClass::Clipboard => osc_clipboard(data, at + 1, clipboard),
                    OscClass::MayAsk => osc_question(data, at + 1),
                };
            }
            _ => return harmless(at),
        }
    }
    Scan::Incomplete { string: Some(ending) }
}

/// OSC 52: targets, then data or a question mark.
fn osc_clipboard(data: &[u8], from: usize, clipboard: Clipboard) -> Scan {
    let ending = Ending::Bell;
    let decided = |head, verdict| Scan::String { head, verdict, ending };
    if clipboard == Clipboard::Refused {
        return decided(from, Verdict::Remove);
    }
    for at in from..data.len() {
        match mark(data, at, ending) {
            Mark::Incomplete => break,
            Mark::End { next, is_fragment } => return keep(next, is_fragment),
            Mark::Data => {}
        }
        match (data[at], data.get(at + 1)) {
            (b';', Some(b'?')) => return decided(at + 1, Verdict::Remove),
            (b';', Some(_)) => return decided(at + 1, Verdict::Keep),
            _ => {}
        }
    }
    Scan::Incomplete { string: Some(ending) }
}

/// An OSC that sets or asks: read to its end. Some terminals act even on one that is interrupted.
fn osc_question(data: &[u8], from: usize) -> Scan {
    let ending = Ending::Bell;
    let mut is_question = false;
    for at in from..data.len() {
        match mark(data, at, ending) {
            Mark::Incomplete => break,
            Mark::End { next, is_fragment } => {
                let verdict = if is_question { Verdict::Remove } else { Verdict::Keep };
                return Scan::Complete { length: next, verdict, is_fragment };
            }
            Mark::Data => is_question |= data[at] == b'?' && matches!(data[at - 1], b';' | b'='),
        }
    }
    Scan::Incomplete { string: Some(ending) }
}

/// APC: only kitty graphics can ask, with the key `a=q` among those before its payload.
fn apc(data: &[u8], body: usize) -> Scan {
    let ending = Ending::StOnly;
    let mut field = body + 1;
    let mut is_query = false;
    let verdict = |is_query| if is_query { Verdict::Remove } else { Verdict::Keep };
    for at in body..data.len() {
        let is_last = |field: usize| data.get(field..at) == Some(b"a=q");
        match mark(data, at, ending) {
            Mark::Incomplete => break,
            Mark::End { next, is_fragment } => {
                let verdict = verdict(is_query || is_last(field));
                return Scan::Complete { length: next, verdict, is_fragment };
            }
            Mark::Data if at == body && data[at] != b'G' => {
                return Scan::String { head: at, verdict: Verdict::Keep, ending };
            }
            Mark::Data => {}
        }
        match data[at] {
            b',' => {
                is_query |= is_last(field);
                field = at + 1;
            }
            b';' => {
                return Scan::String { head: at + 1, verdict: verdict(is_query || is_last(field)), ending };
            }
            _ => {}
        }
    }
    Scan::Incomplete { string: Some(ending) }
}
