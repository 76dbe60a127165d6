//! Typed bytes to events: keys, pastes, the mouse, the focus, and the terminal's answers about itself.
//!
//! Every event keeps the bytes that it was made of, so that a child whose modes agree with the terminal's gets exactly
//! what was typed. However the bytes are cut, the events are the same; only time decides about a lone Escape.

use std::time::Duration;

use term::{Key, KeyCode, Modifiers};

use super::mouse::Mouse;
use super::sequence;

const ESC: u8 = 0x1b;
/// How long the rest of a key's sequence may take.
const KEY_PAUSE: Duration = Duration::from_millis(20);
/// The same over a network.
const REMOTE_KEY_PAUSE: Duration = Duration::from_millis(50);
/// How long answers are awaited, and how long the rest of one may take before its beginning is dropped.
pub(crate) const REST_OF_ANSWER: Duration = Duration::from_secs(2);
/// No key and no answer that is understood is longer.
const SEQUENCE_MAX: usize = 512;
const PASTE_END: &[u8] = b"\x1b[201~";
/// The answer to the question for the status.
const STATUS: &[u8] = b"\x1b[0n";

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InputEvent {
    /// The bytes it was made of.
    pub(crate) raw: Vec<u8>,
    pub(crate) what: What,
}

/// What it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Key(Key),
    /// Text that no single key has typed, as input methods write it.
    Text(String),
    /// The beginning, a piece or the end of a paste; only pieces have text.
    PasteBegins,
    PasteText,
    PasteEnds,
    Mouse(Mouse),
    Focus(bool),
    /// The terminal about itself: never anybody's key.
    Answer(Answer),
    /// Bytes that mean nothing here.
    Unknown,
}

/// What the terminal says about itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The kitty keyboard flags in effect.
    KeyboardFlags(u8),
    /// A private mode and whether the terminal knows it.
    Mode(u16, bool),
    /// A colour by its index in a report: 257 is the ground.
    Color(u16, [u16; 3]),
    /// It says itself that it is light, or dark.
    IsLight(bool),
    /// It works: everything that was written before the question has arrived.
    Status,
    /// The last answer to the batch of questions.
    Last,
    /// Any other.
    Other,
}

/// What the next bytes are.
pub(super) enum Token {
    Whole(usize, What),
    /// The rest has not come.
    Cut,
}

/// Turns typed bytes into events.
#[derive(Debug, Default)]
pub(crate) struct InputParser {
    held: Vec<u8>,
    is_pasting: bool,
    /// Answers are awaited: a lone Escape may be the beginning of one.
    pub(crate) is_waiting: bool,
    /// The same for the answer behind a picture.
    pub(crate) is_status_awaited: bool,
    /// The terminal is at the other end of a network.
    pub(crate) is_remote: bool,
}

impl InputParser {
    /// Takes the next bytes and appends the events that are whole.
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        self.held.extend_from_slice(bytes);
        let mut start = 0;
        while start < self.held.len() {
            let Some(length) = self.next(start, events) else { break };
            start += length;
        }
        self.held.drain(..start);
    }

    /// How long to wait for the rest of what is held; then it is due through [`InputParser::release`].
    pub(crate) fn pause(&self) -> Option<Duration> {
        match self.held.as_slice() {
            [] => None,
            _ if self.is_pasting => Some(REST_OF_ANSWER),
            held if is_answer_head(held) => Some(REST_OF_ANSWER),
            // Nobody types the beginning of a sequence by hand within the pause: its rest is on the way, whatever it is.
            [ESC, b'[', 0x30..=0x3f, ..] => Some(REST_OF_ANSWER),
            [ESC] | [ESC, b'['] if self.is_status_awaited => Some(REST_OF_ANSWER),
            [ESC] | [ESC, b'[' | b']' | b'P'] if self.is_waiting => Some(REST_OF_ANSWER),
            _ if self.is_remote => Some(REMOTE_KEY_PAUSE),
            _ => Some(KEY_PAUSE),
        }
    }

    /// Gives up waiting: what is held is what was typed, unless it is the beginning of an answer.
    pub(crate) fn release(&mut self, events: &mut Vec<InputEvent>) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        if self.is_pasting {
            events.push(InputEvent { raw: held, what: What::PasteText });
        } else if is_answer_head(&held) {
            events.push(InputEvent { raw: held, what: What::Answer(Answer::Other) });
        } else {
            release_keys(&held, events);
        }
    }

    /// Appends the event at `start`; returns its length, or nothing when its rest has not come.
    fn next(&mut self, start: usize, events: &mut Vec<InputEvent>) -> Option<usize> {
        let bytes = &self.held[start..];
        if self.is_pasting {
            return self.next_of_paste(start, events);
        }
        match token(bytes) {
            Token::Cut => None,
            Token::Whole(length, what) => {
                self.is_pasting = what == What::PasteBegins;
                self.is_waiting &= what != What::Answer(Answer::Last);
                events.push(InputEvent { raw: bytes[..length].to_vec(), what });
                Some(length)
            }
        }
    }

    fn next_of_paste(&mut self, start: usize, events: &mut Vec<InputEvent>) -> Option<usize> {
        let bytes = &self.held[start..];
        if bytes.starts_with(PASTE_END) {
            self.is_pasting = false;
            events.push(InputEvent { raw: PASTE_END.to_vec(), what: What::PasteEnds });
            return Some(PASTE_END.len());
        }
        if let Some((length, answer)) = self.answer_inside_paste(bytes) {
            let raw = bytes[..length].to_vec();
            self.is_waiting &= answer != Answer::Last;
            events.push(InputEvent { raw, what: What::Answer(answer) });
            return Some(length);
        }
        let is_stop = |at: usize| bytes[at] == ESC && self.may_be_no_text(&bytes[at..]);
        let end = (0..bytes.len()).find(|at| is_stop(*at)).unwrap_or(bytes.len());
        if end == 0 {
            return None;
        }
        events.push(InputEvent { raw: bytes[..end].to_vec(), what: What::PasteText });
        Some(end)
    }

    /// Returns the awaited answer that these bytes begin with, and its length. A multiplexer that hands a long paste on in
    /// pieces puts its own answers between them; they are no part of the text.
    fn answer_inside_paste(&self, bytes: &[u8]) -> Option<(usize, Answer)> {
        if bytes.first() != Some(&ESC) {
            return None;
        }
        match token(bytes) {
            Token::Whole(length, What::Answer(answer)) if self.awaits(&answer) => Some((length, answer)),
            Token::Whole(..) | Token::Cut => None,
        }
    }

    fn awaits(&self, answer: &Answer) -> bool {
        match answer {
            Answer::Status => self.is_status_awaited,
            Answer::Other => false,
            Answer::KeyboardFlags(_)
            | Answer::Mode(..)
            | Answer::Color(..)
            | Answer::IsLight(_)
            | Answer::Last => self.is_waiting,
        }
    }

    /// Returns true if these bytes, which begin with Escape, are or may become the end of the paste or an awaited answer.
    fn may_be_no_text(&self, bytes: &[u8]) -> bool {
        let is_end = bytes.starts_with(PASTE_END) || PASTE_END.starts_with(bytes);
        let may_become_answer = || match token(bytes) {
            Token::Cut => self.is_waiting || (self.is_status_awaited && STATUS.starts_with(bytes)),
            Token::Whole(_, What::Answer(answer)) => self.awaits(&answer),
            Token::Whole(..) => false,
        };
        is_end || may_become_answer()
    }
}

/// The first event of these bytes.
fn token(bytes: &[u8]) -> Token {
    match bytes {
        [ESC] => Token::Cut,
        [ESC, ESC, ..] => key(1, KeyCode::Escape, Modifiers::default()),
        [ESC, b'[', ..] => sequence::control(bytes),
        [ESC, b'O', ..] => single_shift(bytes),
        [ESC, b']', ..] => string(bytes, |byte| byte.is_ascii_digit()),
        [ESC, b'P', ..] => string(bytes, |byte| byte.is_ascii_digit() || byte == b'>'),
        [ESC, ..] => alternate(bytes),
        _ => plain(bytes),
    }
}

/// A key that is one character or one control byte.
fn plain(bytes: &[u8]) -> Token {
    let ctrl = Modifiers { ctrl: true, ..Modifiers::default() };
    match bytes[0] {
        b'\r' => key(1, KeyCode::Enter, Modifiers::default()),
        b'\t' => key(1, KeyCode::Tab, Modifiers::default()),
        0x7f => key(1, KeyCode::Backspace, Modifiers::default()),
        0 => key(1, KeyCode::Character(' '), ctrl),
        byte @ 0x01..=0x1a => key(1, KeyCode::Character(char::from(byte | 0x60)), ctrl),
        byte @ 0x1b..=0x1f => key(1, KeyCode::Character(char::from(byte | 0x40)), ctrl),
        byte @ 0x20..=0x7e => key(1, KeyCode::Character(char::from(byte)), Modifiers::default()),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Token {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Token::Whole(1, What::Unknown),
    };
    let there = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(there) {
        Ok(text) => {
            let character = text.chars().next().unwrap_or('\u{fffd}');
            key(length, KeyCode::Character(character), Modifiers::default())
        }
        Err(error) if error.error_len().is_none() => Token::Cut,
        Err(error) => Token::Whole(error.error_len().unwrap_or(1).max(1), What::Unknown),
    }
}

/// Escape and a key: the key with Alt.
fn alternate(bytes: &[u8]) -> Token {
    match plain(&bytes[1..]) {
        Token::Whole(length, What::Key(mut typed)) => {
            typed.modifiers.alt = true;
            Token::Whole(length + 1, What::Key(typed))
        }
        Token::Whole(length, what) => Token::Whole(length + 1, what),
        Token::Cut => Token::Cut,
    }
}

/// `ESC O` and a letter: cursor keys and F1 to F4 in their other form.
fn single_shift(bytes: &[u8]) -> Token {
    let code = match bytes.get(2) {
        None => return Token::Cut,
        Some(letter @ (b'A'..=b'D' | b'H' | b'F' | b'P'..=b'S')) => sequence::letter_key(*letter),
        Some(b'M') => Some(KeyCode::Enter),
        Some(_) => None,
    };
    match code {
        Some(code) => key(3, code, Modifiers::default()),
        None => alternate(bytes),
    }
}

/// An answer in the form of a string, which a key with Alt begins like, too.
fn string(bytes: &[u8], is_head: fn(u8) -> bool) -> Token {
    match bytes.get(2) {
        None => return Token::Cut,
        Some(byte) if !is_head(*byte) => return alternate(bytes),
        Some(_) => {}
    }
    let end = bytes[2..].iter().position(|byte| !matches!(byte, 0x20..=0x7e)).map(|end| end + 2);
    let unknown = What::Answer(Answer::Other);
    match end {
        None if bytes.len() > SEQUENCE_MAX => Token::Whole(bytes.len(), unknown),
        None => Token::Cut,
        Some(end) if bytes[end] == 0x07 => Token::Whole(end + 1, sequence::string_answer(&bytes[1..end])),
        Some(end) if bytes[end] == ESC => match bytes.get(end + 1) {
            None => Token::Cut,
            Some(b'\\') => Token::Whole(end + 2, sequence::string_answer(&bytes[1..end])),
            Some(_) => Token::Whole(end, unknown),
        },
        Some(end) => Token::Whole(end, unknown),
    }
}

/// What was held for too long, as the keys that it is made of.
fn release_keys(held: &[u8], events: &mut Vec<InputEvent>) {
    let escape = What::Key(Key::press(KeyCode::Escape, Modifiers::default()));
    match held {
        [ESC] => events.push(InputEvent { raw: held.to_vec(), what: escape }),
        [ESC, byte] => match alternate(&[ESC, *byte]) {
            Token::Whole(_, what) => events.push(InputEvent { raw: held.to_vec(), what }),
            Token::Cut => events.push(InputEvent { raw: held.to_vec(), what: What::Unknown }),
        },
        _ => events.push(InputEvent { raw: held.to_vec(), what: What::Unknown }),
    }
}

/// Returns true if these bytes are the beginning of something that no key begins with.
fn is_answer_head(held: &[u8]) -> bool {
    match held {
        // No key that people have begins with `CSI 0`; the status does.
        [ESC, b'[', b'?' | b'>', ..] | [ESC, b'[', b'0'] => true,
        [ESC, b']', byte, ..] => byte.is_ascii_digit(),
        [ESC, b'P', byte, ..] => byte.is_ascii_digit() || *byte == b'>',
        _ => false,
    }
}

pub(super) fn key(length: usize, code: KeyCode, modifiers: Modifiers) -> Token {
    Token::Whole(length, What::Key(Key::press(code, modifiers)))
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
