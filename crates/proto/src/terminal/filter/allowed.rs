//! The list of what may reach a person's terminal. Everything else is removed.
//!
//! A sequence is judged by its meaning and not by its spelling: the bytes judged here have no control
//! characters in them. Refused is what a terminal would answer, what lasts beyond the attachment and cannot
//! be undone, and what reaches beyond the terminal's own screen: files, the clipboard, printers, keys,
//! programs.

use super::kept::MODES;
use super::sequence::Kind;
use super::{Clipboard, ESC};

/// Longest control sequence.
const CONTROL_MAX: usize = 256;
/// Longest target of a hyperlink.
const LINK_MAX: usize = 2048;
/// Longest value of a field in the head of an image.
const FIELD_MAX: usize = 10;

/// The verdict about a sequence.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Judged {
    /// It passes as it is.
    Keep,
    Remove,
    /// This is passed in its place.
    Replace(Vec<u8>),
}

pub(super) fn keep_if(is_allowed: bool) -> Judged {
    if is_allowed { Judged::Keep } else { Judged::Remove }
}

/// A string that passes unheld.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stream {
    pub(super) kind: Kind,
}

impl Stream {
    /// Returns true if a byte may be part of it: sixels are printable, everything else is base64.
    pub(super) fn takes(self, byte: u8) -> bool {
        match self.kind {
            Kind::Dcs => matches!(byte, 0x21..=0x7e),
            _ => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }

    pub(super) fn takes_all(self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.takes(*byte))
    }
}

/// The head of a string that decides about all of it.
pub(super) struct Head {
    pub(super) length: usize,
    /// What is passed in its place.
    pub(super) said: Vec<u8>,
    pub(super) stream: Stream,
}

/// Returns the head of a string that passes unheld: a sixel image, an image of kitty's protocol that brings
/// its own data, and an allowed write to the clipboard.
pub(super) fn string_head(kind: Kind, window: &[u8], clipboard: Clipboard) -> Option<Head> {
    if kind == Kind::Osc && clipboard == Clipboard::Refused {
        return None;
    }
    let is_introducer = |byte: &u8| *byte > b' ' && *byte != 0x7f && *byte != ESC;
    let body = window.iter().position(is_introducer)? + 1;
    let rest = &window[body..];
    let (length, said) = match kind {
        Kind::Dcs => {
            let numbers = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'))?;
            let head = rest.get(..=numbers).filter(|head| head.ends_with(b"q"))?;
            (head.len(), [b"\x1bP", head].concat())
        }
        Kind::Apc => {
            let head = &rest[..rest.iter().position(|byte| *byte == b';')?];
            (head.len() + 1, [&image(head)?[..], b";"].concat())
        }
        Kind::Osc => {
            let targets = rest.strip_prefix(b"52;")?;
            let length = targets.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
            let is_written = targets[length] == b';' && *targets.get(length + 1)? != b'?';
            is_written.then(|| (3 + length + 1, [b"\x1b]52;", &targets[..=length]].concat()))?
        }
        _ => return None,
    };
    Some(Head { length: body + length, said, stream: Stream { kind } })
}

/// Returns the head of an image in kitty's protocol, if its data comes with it and not from a file, rewritten
/// so that the terminal answers nothing.
pub(super) fn image(head: &[u8]) -> Option<Vec<u8>> {
    let mut rewritten = b"\x1b_G".to_vec();
    for field in head.strip_prefix(b"G")?.split(|byte| *byte == b',') {
        let [key, b'=', value @ ..] = field else { return None };
        let is_plain = value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        if !key.is_ascii_alphabetic() || value.is_empty() || value.len() > FIELD_MAX || !is_plain {
            return None;
        }
        match (key, value) {
            (b'q', _) => continue,
            (b't', b"d") | (b'a', b"t" | b"T" | b"p" | b"d" | b"f" | b"a" | b"c") => {}
            (b't' | b'a', _) => return None,
            _ => {}
        }
        rewritten.extend_from_slice(field);
        rewritten.push(b',');
    }
    rewritten.extend_from_slice(b"q=2");
    Some(rewritten)
}

/// Judges ESC and what follows: saving the cursor, keypad, index, tab stops, shifts, character sets, the
/// alignment pattern.
pub(super) fn escape(body: &[u8]) -> Judged {
    keep_if(match body {
        [b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'H' | b'M' | b'N' | b'O' | b'n' | b'o'] => true,
        [b'|' | b'}' | b'~'] | [b'#', b'8'] => true,
        [b'('..=b'+' | b'-'..=b'/', rest @ ..] => rest.len() <= 2,
        _ => false,
    })
}

/// A control sequence, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control<'b> {
    /// `<`, `=`, `>`, `?` or 0.
    pub(super) prefix: u8,
    /// Numbers and what stands between them.
    pub(super) numbers: &'b [u8],
    /// The intermediate or 0.
    pub(super) intermediate: u8,
    pub(super) last: u8,
}

impl<'b> Control<'b> {
    /// Reads a whole control sequence with nothing but numbers in it, as nearly all are, without the steps
    /// that other forms need; `None` for any other form.
    #[inline]
    pub(super) fn plain(sequence: &'b [u8]) -> Option<Self> {
        let [ESC, b'[', rest @ ..] = sequence else { return None };
        let is_end = |byte: &u8| !matches!(*byte, b'0'..=b';');
        let length = rest.iter().take(CONTROL_MAX).position(is_end)?;
        let last = rest[length];
        matches!(last, b'@'..=b'~').then_some(Self {
            prefix: 0,
            numbers: &rest[..length],
            intermediate: 0,
            last,
        })
    }

    /// Returns how many bytes a plain one has, with its introducer.
    pub(super) fn plain_length(self) -> usize {
        self.numbers.len() + 3
    }

    /// Splits what follows the introducer; `None` for a form that is not in use.
    pub(super) fn parse(body: &'b [u8]) -> Option<Self> {
        let (last, rest) = body.split_last()?;
        let (prefix, rest) = match rest {
            [prefix @ b'<'..=b'?', rest @ ..] => (*prefix, rest),
            _ => (0, rest),
        };
        let (intermediate, numbers) = match rest {
            [numbers @ .., intermediate @ b' '..=b'/'] => (*intermediate, numbers),
            _ => (0, rest),
        };
        let is_plain = numbers.iter().all(|byte| matches!(byte, b'0'..=b';'));
        (is_plain && body.len() <= CONTROL_MAX).then_some(Self { prefix, numbers, intermediate, last: *last })
    }

    /// Returns the numbers; a missing or invalid one is zero.
    pub(super) fn values(self) -> impl Iterator<Item = u32> + 'b {
        self.numbers.split(|byte| *byte == b';').map(|digits| number(digits).unwrap_or(0))
    }

    fn is_one(self) -> bool {
        !self.numbers.contains(&b';')
    }

    pub(super) fn first(self) -> u32 {
        self.values().next().unwrap_or(0)
    }

    /// Returns the verdict where it does not depend on what came before.
    pub(super) fn judge(self) -> Judged {
        keep_if(match (self.prefix, self.intermediate, self.last) {
            (0, 0, last) if is_harmless(last) => true,
            // Erasing the scrollback would erase the person's own lines.
            (0, 0, b'J') => self.is_one() && self.first() < 3,
            // With more numbers the second form tracks the mouse.
            (0, 0, b'S' | b'T') => self.is_one(),
            (0, 0, b's' | b'u') => self.numbers.is_empty(),
            // The soft reset.
            (0, b'!', b'p') => true,
            // Selective erasing, which erases all here; tab stops as usual.
            (b'?', 0, b'J' | b'K') => true,
            (b'?', 0, b'W') => self.numbers == b"5",
            // Keys: how modified ones are written.
            (b'>', 0, b'm') => self.first() == 4,
            _ => false,
        })
    }
}

/// Returns true for what ends a control sequence that passes with any numbers: moving, inserting, deleting, erasing, tab
/// stops, margins, looks.
#[inline]
pub(super) fn is_harmless(last: u8) -> bool {
    matches!(
        last,
        b'@'..=b'I' | b'K'..=b'M' | b'P' | b'X' | b'Z' | b'`' | b'a' | b'd'..=b'g' | b'm' | b'r'
    )
}

/// Returns true for what ends a query about the terminal or its state; a query never passes.
#[inline]
pub(super) fn is_query(last: u8) -> bool {
    matches!(last, b'c' | b'n')
}

/// Returns true for modes without a prefix that may be switched: inserting, and what a line feed does.
pub(super) fn is_plain_mode(mode: u32) -> bool {
    matches!(mode, 4 | 20)
}

/// Returns true for private modes that may be switched. Margins to the left and right may only be switched
/// off.
pub(super) fn is_private_mode(mode: u32, on: bool) -> bool {
    MODES.iter().any(|known| u32::from(*known) == mode)
        || matches!(mode, 47 | 1047..=1049 | 2026)
        || (mode == 69 && !on)
}

/// Returns the verdict about an operating system command, where it does not depend on what came before.
pub(super) fn command(code: u32, rest: &[u8]) -> Judged {
    match code {
        4 => palette(rest),
        8 => link(rest),
        // Numbers are commands of one vendor's console, which can also run programs.
        9 => keep_if(!first_field(rest).iter().all(u8::is_ascii_digit)),
        10..=12 => dynamic(code, rest),
        99 => keep_if(is_notification(first_field(rest))),
        104 => keep_if(rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b';')),
        110..=112 => keep_if(rest.is_empty()),
        133 => keep_if(matches!(first_field(rest), [b'A'..=b'D' | b'I' | b'L' | b'N' | b'P'])),
        777 => keep_if(rest.starts_with(b"notify;")),
        7501 => keep_if(!rest.starts_with(b"?")),
        _ => Judged::Remove,
    }
}

fn first_field(rest: &[u8]) -> &[u8] {
    rest.split(|byte| *byte == b';').next().unwrap_or_default()
}

/// Colours by number; pairs that ask are left out.
fn palette(rest: &[u8]) -> Judged {
    let fields: Vec<&[u8]> = rest.split(|byte| *byte == b';').collect();
    let mut rewritten = Vec::new();
    for pair in fields.chunks_exact(2) {
        let [index, color] = pair else { continue };
        if number(index).is_some_and(|index| index < 256) && is_color(color) {
            rewritten.extend_from_slice(&[b"\x1b]4;", *index, b";", *color, b"\x1b\\"].concat());
        }
    }
    if rewritten.is_empty() { Judged::Remove } else { Judged::Replace(rewritten) }
}

/// Judges foreground, background and cursor: a second field is for the next of them.
fn dynamic(first: u32, rest: &[u8]) -> Judged {
    let mut rewritten = Vec::new();
    for (code, color) in (first..=12).zip(rest.split(|byte| *byte == b';')) {
        if is_color(color) {
            rewritten.extend_from_slice(&[format!("\x1b]{code};").as_bytes(), color, b"\x1b\\"].concat());
        }
    }
    if rewritten.is_empty() { Judged::Remove } else { Judged::Replace(rewritten) }
}

/// Returns true for `rgb:r/g/b`, `#rrggbb` or a name.
fn is_color(color: &[u8]) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    if let Some(parts) = color.strip_prefix(b"rgb:") {
        let parts: Vec<&[u8]> = parts.split(|byte| *byte == b'/').collect();
        return parts.len() == 3 && parts.iter().all(|part| matches!(part.len(), 1..=4) && is_hex(part));
    }
    if let Some(digits) = color.strip_prefix(b"#") {
        return matches!(digits.len(), 3 | 6 | 9 | 12) && is_hex(digits);
    }
    matches!(color.len(), 3..=32)
        && color[0].is_ascii_alphabetic()
        && color.iter().all(u8::is_ascii_alphanumeric)
}

/// Only links that a browser opens pass.
fn link(rest: &[u8]) -> Judged {
    let Some(at) = rest.iter().position(|byte| *byte == b';') else { return Judged::Remove };
    let (fields, target) = (&rest[..at], &rest[at + 1..]);
    let is_web = target.starts_with(b"http://") || target.starts_with(b"https://");
    let is_link = is_web && target.len() <= LINK_MAX && target.iter().all(u8::is_ascii_graphic);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:=".contains(byte);
    match (is_link || target.is_empty(), fields.iter().all(is_plain)) {
        (true, true) => Judged::Keep,
        (true, false) => Judged::Replace([b"\x1b]8;;", target, b"\x1b\\"].concat()),
        (false, _) => Judged::Replace(b"\x1b]8;;\x1b\\".to_vec()),
    }
}

/// Returns true if nothing in a notification makes the terminal report.
fn is_notification(fields: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+/=".contains(byte);
    fields.split(|byte| *byte == b':').all(|field| match field {
        [] | b"p=title" | b"p=body" => true,
        [b'i' | b'd' | b'e' | b'u', b'=', value @ ..] => value.iter().all(is_plain),
        _ => false,
    })
}

/// Parses a decimal number of at most nine digits.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    let sum = |sum: u32, byte: &u8| Some(sum * 10 + digit(byte)?);
    if matches!(digits.len(), 1..=9) { digits.iter().try_fold(0, sum) } else { None }
}
