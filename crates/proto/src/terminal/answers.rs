//! The queries that a person's terminal gets when an attachment begins, and its answers among the keys.
//!
//! The process that reads the keys removes the answers: they are never keys, however late or in how many
//! pieces they arrive. Only numbers leave this file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keys::ESC;

/// The queries for the colours of text, background, cursor and the first sixteen of the palette, and for light
/// or dark.
macro_rules! color_questions {
    () => {
        "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]12;?\x1b\\\
\x1b]4;0;?\x1b\\\x1b]4;1;?\x1b\\\x1b]4;2;?\x1b\\\x1b]4;3;?\x1b\\\x1b]4;4;?\x1b\\\x1b]4;5;?\x1b\\\x1b]4;6;?\x1b\\\x1b]4;7;?\x1b\\\
\x1b]4;8;?\x1b\\\x1b]4;9;?\x1b\\\x1b]4;10;?\x1b\\\x1b]4;11;?\x1b\\\x1b]4;12;?\x1b\\\x1b]4;13;?\x1b\\\x1b]4;14;?\x1b\\\x1b]4;15;?\x1b\\\
\x1b[?996n"
    };
}

/// The queries for a terminal's colours alone, without one that every terminal answers.
pub const COLOR_QUESTIONS: &[u8] = color_questions!().as_bytes();

/// The queries, in one batch that every terminal ends by answering the last: the colours, the form of the
/// cursor, and the kind of terminal. Among them the terminal is asked to report changes between light and
/// dark.
pub const QUESTIONS: &[u8] = concat!(color_questions!(), "\x1bP$q q\x1b\\\x1b[?2031h\x1b[c").as_bytes();

/// The longest answer that is expected; longer strings are not answers.
const ANSWER_MAX: usize = 64;
/// How many colours of the palette a terminal is asked for.
const PALETTE: u16 = 16;
/// The indices of text, ground and cursor follow those of the whole palette.
const FOREGROUND: u16 = 256;
const CURSOR: u16 = 258;
/// The highest number of a cursor's form.
const FORM_MAX: u8 = 6;

/// Whether a terminal is light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColorScheme {
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// What a terminal has answered about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalReport {
    /// Red, green and blue by index: 0 to 15 of the palette, 256 text, 257 ground, 258 cursor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub colors: BTreeMap<u16, [u16; 3]>,
    /// Light or dark, if the terminal says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<ColorScheme>,
    /// The form of its cursor, by the number that chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u8>,
}

impl TerminalReport {
    /// Returns true if it has no colours.
    #[must_use]
    pub fn is_colorless(&self) -> bool {
        self.colors.is_empty() && self.scheme.is_none()
    }

    /// Returns the sequences that set a terminal's colours to this report.
    #[must_use]
    pub fn restoring_colors(&self) -> Vec<u8> {
        let known = self.colors.iter().filter(|(index, _)| **index < PALETTE || **index >= FOREGROUND);
        let written = known.map(|(index, [red, green, blue])| {
            let name = match index.checked_sub(FOREGROUND) {
                Some(dynamic) => (10 + dynamic).to_string(),
                None => format!("4;{index}"),
            };
            format!("\x1b]{name};rgb:{red:04x}/{green:04x}/{blue:04x}\x1b\\")
        });
        written.collect::<String>().into_bytes()
    }

    /// Returns the sequence that sets a terminal's cursor to this report's form, or to the default when it is
    /// not known.
    #[must_use]
    pub fn restoring_cursor(&self) -> Vec<u8> {
        let form = self.cursor.filter(|form| *form <= FORM_MAX).unwrap_or(0);
        format!("\x1b[{form} q").into_bytes()
    }

    pub(super) fn note(&mut self, answer: Answer) {
        match answer {
            Answer::Color(index, color) => drop(self.colors.insert(index, color)),
            Answer::Scheme(scheme) => self.scheme = Some(scheme),
            Answer::Cursor(form) => self.cursor = form,
            Answer::Torn | Answer::Last => {}
        }
    }
}

/// Returns the index and the colour that a terminal answers with in this string, which begins after `ESC ]`
/// and ends before its terminator.
#[must_use]
pub fn read_color(text: &[u8]) -> Option<(u16, [u16; 3])> {
    match color(text)? {
        Answer::Color(index, color) => Some((index, color)),
        Answer::Scheme(_) | Answer::Cursor(_) | Answer::Torn | Answer::Last => None,
    }
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Color(u16, [u16; 3]),
    Scheme(ColorScheme),
    Cursor(Option<u8>),
    /// The rest of an answer that another process has begun to read.
    Torn,
    /// The kind of terminal: every other answer has come before.
    Last,
}

/// What typed bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// No answer.
    Other,
    /// The beginning of an answer, or of something else.
    Cut,
    /// An answer of so many bytes.
    Whole(usize, Answer),
}

/// Reads an answer at the beginning of typed bytes, the first of which is ESC.
pub(super) fn read(bytes: &[u8]) -> Reading {
    match bytes {
        [ESC] => Reading::Cut,
        [ESC, b']', body @ ..] => string(body, is_color_head, color),
        [ESC, b'P', body @ ..] => string(body, is_form_head, form),
        [ESC, b'[', b'?', body @ ..] => control(body),
        [ESC, b'['] => Reading::Cut,
        _ => Reading::Other,
    }
}

/// Reads the rest of an answer whose beginning another process has read; its last byte alone counts, too.
pub(super) fn read_rest(bytes: &[u8]) -> Reading {
    let is_body = |byte: &&u8| byte.is_ascii_hexdigit() || b"rg:/;$ q?]P[".contains(byte);
    let length = bytes.iter().take_while(is_body).count();
    if length > ANSWER_MAX {
        return Reading::Other;
    }
    // A `c` is a digit of a colour, or the end of the last answer.
    let is_color = bytes[..length].iter().any(|byte| b"/:".contains(byte));
    let last = bytes[..length].iter().position(|byte| *byte == b'c').filter(|_| !is_color);
    match (&bytes[length..], last) {
        ([ESC, b'\\', ..], _) => Reading::Whole(length + 2, Answer::Torn),
        ([0x07, ..], _) => Reading::Whole(length + 1, Answer::Torn),
        (_, Some(at)) => Reading::Whole(at + 1, Answer::Last),
        ([b'\\' | b'n', ..], None) => Reading::Whole(length + 1, Answer::Torn),
        ([] | [ESC], None) => Reading::Cut,
        _ => Reading::Other,
    }
}

/// Returns true if these bytes begin an answer and cannot be a key.
pub(super) fn is_unmistakable(bytes: &[u8]) -> bool {
    let has_number = |body: &[u8]| body.contains(&b';') || body.contains(&b'$');
    match bytes {
        [ESC, b']' | b'P', body @ ..] => has_number(body) && read(bytes) == Reading::Cut,
        [ESC, b'[', b'?', _, ..] => read(bytes) == Reading::Cut,
        _ => false,
    }
}

fn string(body: &[u8], is_head: fn(&[u8]) -> bool, parse: fn(&[u8]) -> Option<Answer>) -> Reading {
    let end = body.iter().position(|byte| !matches!(byte, 0x20..=0x7e));
    let text = &body[..end.unwrap_or(body.len())];
    if text.len() > ANSWER_MAX || !is_head(text) {
        return Reading::Other;
    }
    let terminator = match &body[text.len()..] {
        [] | [ESC] => return Reading::Cut,
        [0x07, ..] => 1,
        [ESC, b'\\', ..] => 2,
        _ => return Reading::Other,
    };
    parse(text).map_or(Reading::Other, |answer| Reading::Whole(2 + text.len() + terminator, answer))
}

/// Returns true if a string may become the answer about a colour.
fn is_color_head(text: &[u8]) -> bool {
    let codes: [&[u8]; 4] = [b"4;", b"10;", b"11;", b"12;"];
    let is_rest = |rest: &[u8]| rest.iter().all(|byte| byte.is_ascii_hexdigit() || b"rg:/;".contains(byte));
    codes.iter().any(|code| code.starts_with(text) || text.strip_prefix(*code).is_some_and(is_rest))
}

fn color(text: &[u8]) -> Option<Answer> {
    let mut fields = text.split(|byte| *byte == b';');
    let index = match fields.next()? {
        b"4" => decimal(fields.next()?).filter(|index| *index < PALETTE)?,
        dynamic => FOREGROUND + decimal(dynamic)?.checked_sub(10)?,
    };
    let spec = fields.next()?;
    let spec = spec.strip_prefix(b"rgb:").or_else(|| spec.strip_prefix(b"rgba:"))?;
    let mut parts = spec.split(|byte| *byte == b'/').map(scaled);
    let color = [parts.next()??, parts.next()??, parts.next()??];
    (index <= CURSOR && fields.next().is_none()).then_some(Answer::Color(index, color))
}

/// Returns true if a string may become the answer about the form of the cursor.
fn is_form_head(text: &[u8]) -> bool {
    let heads: [&[u8]; 2] = [b"1$r", b"0$r"];
    let is_rest = |rest: &[u8]| rest.iter().all(|byte| byte.is_ascii_digit() || b" q".contains(byte));
    heads.iter().any(|head| head.starts_with(text) || text.strip_prefix(*head).is_some_and(is_rest))
}

fn form(text: &[u8]) -> Option<Answer> {
    let form = text.strip_prefix(b"1$r").and_then(|rest| rest.strip_suffix(b" q"));
    let form = form.and_then(decimal).and_then(|form| u8::try_from(form).ok());
    Some(Answer::Cursor(form.filter(|form| *form <= FORM_MAX)))
}

/// Reads `CSI ? 997 ; 1 n` and `CSI ? … c`.
fn control(body: &[u8]) -> Reading {
    let end = body.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
    let Some(end) = end.filter(|end| *end <= ANSWER_MAX) else {
        return if body.len() <= ANSWER_MAX { Reading::Cut } else { Reading::Other };
    };
    let answer = match (&body[..end], body[end]) {
        (_, b'c') => Answer::Last,
        (b"997;1", b'n') => Answer::Scheme(ColorScheme::Dark),
        (b"997;2", b'n') => Answer::Scheme(ColorScheme::Light),
        _ => return Reading::Other,
    };
    Reading::Whole(3 + end + 1, answer)
}

fn decimal(digits: &[u8]) -> Option<u16> {
    let is_number = matches!(digits.len(), 1..=3) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
}

/// Returns one to four hexadecimal digits as sixteen bits.
fn scaled(digits: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(digits).ok().filter(|_| matches!(digits.len(), 1..=4))?;
    let value = u32::from_str_radix(text, 16).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))?;
    u16::try_from(value * 0xffff / ((1 << (4 * digits.len())) - 1)).ok()
}
