//! Finds the detach keys in typed bytes, in every encoding that a terminal may use for them.
//!
//! Everything else passes byte for byte, a lone Escape at once, and nothing inside a bracketed paste counts
//! as a key. After queries to the terminal, its answers are removed (`answers`).

use std::time::Duration;

use super::answers::{self, Answer, Reading, TerminalReport};
use super::detach_keys::{DetachKeys, Key};

pub(super) const ESC: u8 = 0x1b;
/// How long the rest of a key's sequence may take to arrive.
const KEY_PAUSE: Duration = Duration::from_millis(20);
/// The same while what is held may be the beginning of an answer.
const ANSWER_PAUSE: Duration = Duration::from_millis(250);
/// The parameters with which a terminal brackets a paste.
const PASTE_BEGINS: u32 = 200;
const PASTE_ENDS: u32 = 201;

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    /// A key that was pressed, by its character and by its place on a Latin keyboard.
    Press(Key, Option<u32>),
    /// A repeated or released key, or a modifier alone.
    Aside,
    /// The mouse or the window's focus.
    Pointer,
    /// An answer of the terminal about itself.
    Answer(Answer),
    PasteBegins,
    PasteEnds,
    Other,
}

/// Whether a person wants to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachIntent {
    /// Go on.
    Stay,
    /// Detach now; what came after the key is dropped.
    Detach,
}

/// Watches typed bytes for the detach keys.
#[derive(Debug)]
pub struct KeyWatch {
    keys: DetachKeys,
    /// The prefix as it was typed, while it waits for its second key.
    prefix: Option<Vec<u8>>,
    /// The beginning of a sequence whose rest has not arrived.
    held: Vec<u8>,
    is_pasting: bool,
    is_at_line_start: bool,
    /// A tilde at the start of a line waits for its second key.
    has_tilde: bool,
    answers: Answers,
}

/// What the terminal was asked and has answered.
#[derive(Debug, Default)]
struct Answers {
    /// The terminal was asked at some time: answers are no keys.
    is_asked: bool,
    /// The last answer has not come.
    is_waiting: bool,
    /// An Escape alone may be the beginning of an answer.
    is_patient: bool,
    /// The next bytes may be the rest of an answer that another process has begun to read.
    is_torn: bool,
    /// An answer has arrived that was not collected yet.
    is_new: bool,
    /// The terminal changed between light and dark: its colours are different now.
    is_outdated: bool,
    report: TerminalReport,
}

impl KeyWatch {
    /// Watches for these keys.
    #[must_use]
    pub fn new(keys: DetachKeys) -> Self {
        let (held, answers) = (Vec::new(), Answers::default());
        Self {
            keys,
            prefix: None,
            held,
            is_pasting: false,
            is_at_line_start: true,
            has_tilde: false,
            answers,
        }
    }

    /// Records that the terminal was asked [`answers::QUESTIONS`]; its answers are removed from now on.
    pub fn expect_answers(&mut self) {
        self.answers.is_outdated = false;
        (self.answers.is_asked, self.answers.is_waiting, self.answers.is_patient) = (true, true, true);
    }

    /// Records that the process which read the answers is gone, perhaps in the middle of one.
    pub fn expect_rest_of_answer(&mut self) {
        self.answers.is_torn = self.answers.is_waiting;
    }

    /// Records answers that another process has read; later answers are removed.
    pub fn know_answers(&mut self, report: TerminalReport) {
        self.answers = Answers { is_asked: true, report, ..Answers::default() };
    }

    /// Returns true if the terminal was asked and has not given its last answer.
    #[must_use]
    pub fn is_waiting_for_answers(&self) -> bool {
        self.answers.is_waiting
    }

    /// Returns true if the terminal changed between light and dark since it answered, so that it must be
    /// asked again.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.answers.is_outdated
    }

    /// Returns what the terminal has answered so far.
    #[must_use]
    pub fn report(&self) -> &TerminalReport {
        &self.answers.report
    }

    /// Returns the answers once the last one has come, and whenever there is another.
    pub fn take_report(&mut self) -> Option<TerminalReport> {
        let is_due = self.answers.is_new && !self.answers.is_waiting;
        self.answers.is_new &= !is_due;
        is_due.then(|| self.answers.report.clone())
    }

    /// Returns how long to wait for the rest of held bytes, which then come through [`KeyWatch::release`].
    /// `None` when nothing is held, or when it is the beginning of an answer, which is not a key.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        match self.held.as_slice() {
            [] => None,
            _ if self.answers.is_torn => Some(ANSWER_PAUSE),
            held if self.answers.is_asked && answers::is_unmistakable(held) => None,
            held if self.answers.is_waiting && self.answers.is_patient && held.len() <= 3 => {
                Some(ANSWER_PAUSE)
            }
            _ => Some(KEY_PAUSE),
        }
    }

    /// Returns held bytes, unless they begin an answer.
    pub fn release(&mut self, out: &mut Vec<u8>) {
        if self.pause().is_some() {
            out.append(&mut self.held);
            // A person pressed Escape, so the rest of an answer is not waited for a second time.
            (self.answers.is_patient, self.answers.is_torn) = (false, false);
        }
    }

    /// Returns the typed bytes that may still become a key for the child or the detach keys.
    #[must_use]
    pub fn undecided(&self) -> Vec<u8> {
        let tilde: &[u8] = if self.has_tilde { b"~" } else { b"" };
        [self.prefix.as_deref().unwrap_or_default(), tilde, &self.held].concat()
    }

    /// Forgets the undecided bytes, because another process decides on them.
    pub fn forget_undecided(&mut self) {
        (self.prefix, self.has_tilde) = (None, false);
        self.held.clear();
    }

    /// Returns the next key or answer and its length; `None` when its rest has not arrived.
    fn next(&self, bytes: &[u8]) -> Option<(usize, Token)> {
        if self.answers.is_torn && !self.is_pasting {
            match answers::read_rest(bytes) {
                Reading::Whole(length, answer) => return Some((length, Token::Answer(answer))),
                Reading::Cut => return None,
                Reading::Other => {}
            }
        }
        if self.answers.is_asked && !self.is_pasting && bytes[0] == ESC {
            match answers::read(bytes) {
                Reading::Whole(length, answer) => return Some((length, Token::Answer(answer))),
                Reading::Cut if bytes.len() > 1 || self.answers.is_patient => return None,
                Reading::Cut | Reading::Other => {}
            }
        }
        next_token(bytes)
    }

    fn note_answer(&mut self, answer: Answer) {
        let scheme = self.answers.report.scheme;
        self.answers.report.note(answer);
        self.answers.is_new = true;
        self.answers.is_outdated |= !self.answers.is_waiting && self.answers.report.scheme != scheme;
        if answer == Answer::Last {
            (self.answers.is_waiting, self.answers.is_patient) = (false, false);
        }
    }

    /// Appends the part of `typed` that is for the child to `out`.
    pub fn watch(&mut self, typed: &[u8], out: &mut Vec<u8>) -> DetachIntent {
        let joined: Vec<u8>;
        let mut rest = typed;
        if !self.held.is_empty() {
            joined = [std::mem::take(&mut self.held).as_slice(), typed].concat();
            rest = &joined;
        }
        while !rest.is_empty() {
            let Some((length, token)) = self.next(rest) else {
                self.held.extend_from_slice(rest);
                break;
            };
            self.answers.is_torn = false;
            if self.key(token, &rest[..length], out) == DetachIntent::Detach {
                return DetachIntent::Detach;
            }
            rest = &rest[length..];
        }
        DetachIntent::Stay
    }

    fn key(&mut self, token: Token, bytes: &[u8], out: &mut Vec<u8>) -> DetachIntent {
        if let Token::Answer(answer) = token {
            self.note_answer(answer);
            return DetachIntent::Stay;
        }
        if self.is_pasting || matches!(token, Token::PasteBegins | Token::PasteEnds) {
            self.is_pasting = self.is_pasting && token != Token::PasteEnds || token == Token::PasteBegins;
            self.let_go_of_tilde(out);
            out.extend(self.prefix.take().into_iter().flatten());
            out.extend_from_slice(bytes);
            return DetachIntent::Stay;
        }
        if let Some(typed) = self.prefix.take() {
            return self.after_prefix(typed, token, bytes, out);
        }
        if is_press(token, self.keys.prefix) {
            if self.keys.last.is_none() {
                return DetachIntent::Detach;
            }
            self.let_go_of_tilde(out);
            self.prefix = Some(bytes.to_vec());
            return DetachIntent::Stay;
        }
        if self.keys.has_tilde {
            return self.tilde(token, bytes, out);
        }
        out.extend_from_slice(bytes);
        DetachIntent::Stay
    }

    fn after_prefix(
        &mut self,
        typed: Vec<u8>,
        token: Token,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> DetachIntent {
        match token {
            _ if self.keys.last.is_some_and(|last| is_press(token, last)) => return DetachIntent::Detach,
            _ if is_press(token, self.keys.prefix) => out.extend_from_slice(&typed),
            Token::Aside => self.prefix = Some(typed),
            Token::Pointer => {
                out.extend_from_slice(bytes);
                self.prefix = Some(typed);
            }
            Token::Press(..) | Token::Answer(_) | Token::PasteBegins | Token::PasteEnds | Token::Other => {
                out.extend_from_slice(&typed);
                out.extend_from_slice(bytes);
            }
        }
        DetachIntent::Stay
    }

    /// Sends a waiting tilde before whatever is sent next.
    fn let_go_of_tilde(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.has_tilde) {
            out.push(b'~');
        }
    }

    /// As in ssh, a tilde at the start of a line waits for its second key.
    fn tilde(&mut self, token: Token, bytes: &[u8], out: &mut Vec<u8>) -> DetachIntent {
        let is_key = |character: u8| bytes == [character];
        if std::mem::take(&mut self.has_tilde) {
            if is_key(b'.') {
                return DetachIntent::Detach;
            }
            out.push(b'~');
            if is_key(b'~') {
                return DetachIntent::Stay;
            }
        } else if self.is_at_line_start && is_key(b'~') {
            self.has_tilde = true;
            self.is_at_line_start = false;
            return DetachIntent::Stay;
        }
        if !matches!(token, Token::Aside | Token::Pointer) {
            self.is_at_line_start = is_key(b'\r') || is_key(b'\n');
        }
        out.extend_from_slice(bytes);
        DetachIntent::Stay
    }
}

fn is_press(token: Token, wanted: Key) -> bool {
    let Token::Press(key, base) = token else { return false };
    key.has_control == wanted.has_control && (key.code == wanted.code || base == Some(wanted.code))
}

/// Returns the next key and its length; `None` when its rest has not arrived. An Escape alone does not wait.
fn next_token(bytes: &[u8]) -> Option<(usize, Token)> {
    match bytes {
        [ESC, b'[', ..] => control_sequence(bytes),
        [byte @ 0..=0x1a, ..] | [byte @ 0x1c..=0x1f, ..] => {
            let code = u32::from(byte | 0x40).to_owned();
            let code =
                char::from_u32(code).map_or(code, |character| u32::from(character.to_ascii_lowercase()));
            Some((1, Token::Press(Key { code, has_control: true }, None)))
        }
        [byte @ 0x20..=0x7e, ..] => {
            Some((1, Token::Press(Key { code: u32::from(*byte), has_control: false }, None)))
        }
        _ => Some((1, Token::Other)),
    }
}

fn control_sequence(bytes: &[u8]) -> Option<(usize, Token)> {
    let body = &bytes[2..];
    let Some(end) = body.iter().position(|byte| !matches!(*byte, 0x20..=0x3f)) else {
        // Longer than any key: not one.
        return (body.len() > 64).then_some((bytes.len(), Token::Other));
    };
    let length = end + 3;
    let parameters = std::str::from_utf8(&body[..end]).unwrap_or_default();
    let token = match body[end] {
        // The oldest pointer report has three raw bytes after it.
        b'M' if end == 0 => return (bytes.len() >= 6).then_some((6, Token::Pointer)),
        b'M' | b'm' if parameters.starts_with('<') => Token::Pointer,
        b'I' | b'O' if end == 0 => Token::Pointer,
        b'u' => kitty_key(parameters),
        b'~' => tilde_key(parameters),
        ESC => return Some((length - 1, Token::Other)),
        _ => Token::Other,
    };
    Some((length, token))
}

/// Reads `code:shifted:base ; modifiers:event ; text u`.
fn kitty_key(parameters: &str) -> Token {
    let mut fields = parameters.split(';');
    let mut codes = fields.next().unwrap_or_default().split(':').map(|code| code.parse::<u32>().ok());
    let mut modifiers = fields.next().unwrap_or_default().split(':');
    let Some(Some(code)) = codes.next() else { return Token::Other };
    let base = codes.nth(1).flatten();
    let held = modifiers.next().and_then(|held| held.parse::<u32>().ok()).unwrap_or(1);
    let is_modifier = matches!(code, 57358..=57360 | 57441..=57454);
    if is_modifier || modifiers.next().is_some_and(|event| event != "1") {
        return Token::Aside;
    }
    press(code, base, held)
}

/// Reads pastes, and the form `27 ; modifiers ; code ~` of xterm's modifyOtherKeys.
fn tilde_key(parameters: &str) -> Token {
    let mut numbers = parameters.split(';').map(|number| number.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten(), numbers.next().flatten()) {
        (Some(PASTE_BEGINS), None, None) => Token::PasteBegins,
        (Some(PASTE_ENDS), None, None) => Token::PasteEnds,
        (Some(27), Some(held), Some(code)) => press(code, None, held),
        _ => Token::Other,
    }
}

fn press(code: u32, base: Option<u32>, modifiers: u32) -> Token {
    /// Caps lock and num lock, which do not change the key.
    const LOCKS: u32 = 64 | 128;
    match modifiers.saturating_sub(1) & !LOCKS {
        0 => Token::Press(Key { code, has_control: false }, base),
        4 => Token::Press(Key { code, has_control: true }, base),
        _ => Token::Other,
    }
}

#[cfg(test)]
mod tests;
