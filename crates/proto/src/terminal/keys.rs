//! The detach keys: found in what a person types, in every encoding a terminal may use for them.
//!
//! Owns splitting typed bytes into keys and the prefix's memory. Refuses changing anything else: what is no detach key
//! goes on byte for byte, a lone Escape at once, and nothing inside a bracketed paste is taken for a key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Printable;

const ESC: u8 = 0x1b;
/// The parameters by which a terminal brackets a paste.
const PASTE_BEGINS: u32 = 200;
const PASTE_ENDS: u32 = 201;

/// One key as a person would name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// Its character without modifiers.
    code: u32,
    has_control: bool,
}

/// Which keys detach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "Named")]
pub struct DetachKeys {
    prefix: Key,
    /// The key after the prefix; none when the prefix alone detaches.
    last: Option<Key>,
    /// Whether `~.` at the start of a line detaches too.
    has_tilde: bool,
}

impl Default for DetachKeys {
    /// Control and backslash, then `d`.
    fn default() -> Self {
        let prefix = Key { code: u32::from(b'\\'), has_control: true };
        Self { prefix, last: Some(Key { code: u32::from(b'd'), has_control: false }), has_tilde: false }
    }
}

impl DetachKeys {
    /// The same keys, and `~.` at the start of a line as ssh has it.
    #[must_use]
    pub fn with_tilde(mut self) -> Self {
        self.has_tilde = true;
        self
    }
}

/// Detach keys on the wire.
#[derive(Serialize, Deserialize)]
struct Named {
    keys: String,
    #[serde(default)]
    tilde: bool,
}

impl TryFrom<Named> for DetachKeys {
    type Error = BadDetachKeys;

    fn try_from(named: Named) -> Result<Self, BadDetachKeys> {
        Ok(Self { has_tilde: named.tilde, ..named.keys.parse()? })
    }
}

impl From<DetachKeys> for Named {
    fn from(keys: DetachKeys) -> Self {
        Self { keys: keys.to_string(), tilde: keys.has_tilde }
    }
}

/// A text names no detach keys.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("detach keys are one or two keys such as `ctrl-\\ d` or `ctrl-q`, not {0}")]
pub struct BadDetachKeys(String);

impl FromStr for DetachKeys {
    type Err = BadDetachKeys;

    fn from_str(text: &str) -> Result<Self, BadDetachKeys> {
        let bad = || BadDetachKeys(Printable(text).to_string());
        let mut keys = text.split([' ', ',']).filter(|word| !word.is_empty()).map(key_named);
        let prefix = keys.next().flatten().ok_or_else(bad)?;
        let last = keys.next().map(|key| key.ok_or_else(bad)).transpose()?;
        let is_plain_alone = last.is_none() && !prefix.has_control;
        if keys.next().is_some() || is_plain_alone || last == Some(prefix) {
            return Err(bad());
        }
        Ok(Self { prefix, last, has_tilde: false })
    }
}

fn key_named(word: &str) -> Option<Key> {
    let lower = word.to_ascii_lowercase();
    let control = ["ctrl-", "c-", "^"]
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix).filter(|rest| !rest.is_empty()));
    let name = control.unwrap_or(word);
    let mut characters = name.chars();
    let (Some(character), None) = (characters.next(), characters.next()) else { return None };
    let has_control = control.is_some();
    let fits =
        if has_control { matches!(character, '@'..='_' | 'a'..='z') } else { character.is_ascii_graphic() };
    fits.then(|| Key { code: u32::from(character), has_control })
}

impl fmt::Display for DetachKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |key: Key| {
            let character = char::from_u32(key.code).unwrap_or('?');
            if key.has_control {
                format!("Ctrl-{}", character.to_ascii_uppercase())
            } else {
                character.to_string()
            }
        };
        f.write_str(&name(self.prefix))?;
        self.last.map_or(Ok(()), |last| write!(f, " {}", name(last)))
    }
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    /// A key that was pressed, by its character and by its place on a Latin keyboard.
    Press(Key, Option<u32>),
    /// A key that repeats or was let go, or a modifier alone.
    Aside,
    /// The pointer or the window's focus.
    Pointer,
    PasteBegins,
    PasteEnds,
    Other,
}

/// Whether a person wants to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Stay,
    /// Detach now; what came after the key is dropped.
    Detach,
}

/// Watches typed bytes for the detach keys.
#[derive(Debug)]
pub struct KeyWatch {
    keys: DetachKeys,
    /// The prefix as it was typed, while its second key is awaited.
    prefix: Option<Vec<u8>>,
    /// The beginning of a sequence whose rest has not arrived.
    held: Vec<u8>,
    is_pasting: bool,
    is_at_line_start: bool,
    /// A tilde at the start of a line is awaiting its second key.
    has_tilde: bool,
}

impl KeyWatch {
    /// Watches for these keys.
    #[must_use]
    pub fn new(keys: DetachKeys) -> Self {
        let held = Vec::new();
        Self { keys, prefix: None, held, is_pasting: false, is_at_line_start: true, has_tilde: false }
    }

    /// Whether bytes are held whose rest may never come; they are due after a moment through
    /// [`KeyWatch::release`].
    #[must_use]
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Hands out what is held.
    pub fn release(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }

    /// Appends to `out` what of `typed` is meant for the child.
    pub fn watch(&mut self, typed: &[u8], out: &mut Vec<u8>) -> Wish {
        let joined: Vec<u8>;
        let mut rest = typed;
        if !self.held.is_empty() {
            joined = [std::mem::take(&mut self.held).as_slice(), typed].concat();
            rest = &joined;
        }
        while !rest.is_empty() {
            let Some((length, token)) = next_token(rest) else {
                self.held.extend_from_slice(rest);
                break;
            };
            if self.key(token, &rest[..length], out) == Wish::Detach {
                return Wish::Detach;
            }
            rest = &rest[length..];
        }
        Wish::Stay
    }

    fn key(&mut self, token: Token, bytes: &[u8], out: &mut Vec<u8>) -> Wish {
        if self.is_pasting || matches!(token, Token::PasteBegins | Token::PasteEnds) {
            self.is_pasting = self.is_pasting && token != Token::PasteEnds || token == Token::PasteBegins;
            self.let_go_of_tilde(out);
            out.extend(self.prefix.take().into_iter().flatten());
            out.extend_from_slice(bytes);
            return Wish::Stay;
        }
        if let Some(typed) = self.prefix.take() {
            return self.after_prefix(typed, token, bytes, out);
        }
        if is_press(token, self.keys.prefix) {
            if self.keys.last.is_none() {
                return Wish::Detach;
            }
            self.let_go_of_tilde(out);
            self.prefix = Some(bytes.to_vec());
            return Wish::Stay;
        }
        if self.keys.has_tilde {
            return self.tilde(token, bytes, out);
        }
        out.extend_from_slice(bytes);
        Wish::Stay
    }

    fn after_prefix(&mut self, typed: Vec<u8>, token: Token, bytes: &[u8], out: &mut Vec<u8>) -> Wish {
        match token {
            _ if self.keys.last.is_some_and(|last| is_press(token, last)) => return Wish::Detach,
            _ if is_press(token, self.keys.prefix) => out.extend_from_slice(&typed),
            Token::Aside => self.prefix = Some(typed),
            Token::Pointer => {
                out.extend_from_slice(bytes);
                self.prefix = Some(typed);
            }
            Token::Press(..) | Token::PasteBegins | Token::PasteEnds | Token::Other => {
                out.extend_from_slice(&typed);
                out.extend_from_slice(bytes);
            }
        }
        Wish::Stay
    }

    /// A tilde that waits for its second key was typed before whatever is handed out next.
    fn let_go_of_tilde(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.has_tilde) {
            out.push(b'~');
        }
    }

    /// The ssh habit: a tilde at the start of a line waits for its second key.
    fn tilde(&mut self, token: Token, bytes: &[u8], out: &mut Vec<u8>) -> Wish {
        let is_key = |character: u8| bytes == [character];
        if std::mem::take(&mut self.has_tilde) {
            if is_key(b'.') {
                return Wish::Detach;
            }
            out.push(b'~');
            if is_key(b'~') {
                return Wish::Stay;
            }
        } else if self.is_at_line_start && is_key(b'~') {
            self.has_tilde = true;
            self.is_at_line_start = false;
            return Wish::Stay;
        }
        if !matches!(token, Token::Aside | Token::Pointer) {
            self.is_at_line_start = is_key(b'\r') || is_key(b'\n');
        }
        out.extend_from_slice(bytes);
        Wish::Stay
    }
}

fn is_press(token: Token, wanted: Key) -> bool {
    let Token::Press(key, base) = token else { return false };
    key.has_control == wanted.has_control && (key.code == wanted.code || base == Some(wanted.code))
}

/// The next key and how many bytes it has; nothing when its rest has not arrived. An Escape alone is never waited for.
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

/// `code:shifted:base ; modifiers:event ; text u`.
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

/// Pastes, and the form `27 ; modifiers ; code ~` of xterm's modifyOtherKeys.
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
    /// Caps lock and num lock, which say nothing about the key.
    const LOCKS: u32 = 64 | 128;
    match modifiers.saturating_sub(1) & !LOCKS {
        0 => Token::Press(Key { code, has_control: false }, base),
        4 => Token::Press(Key { code, has_control: true }, base),
        _ => Token::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &DetachKeys, pieces: &[&[u8]]) -> (Vec<u8>, Wish) {
        let mut watch = KeyWatch::new(keys.clone());
        let mut out = Vec::new();
        for piece in pieces {
            if watch.watch(piece, &mut out) == Wish::Detach {
                return (out, Wish::Detach);
            }
        }
        watch.release(&mut out);
        (out, Wish::Stay)
    }

    const PREFIXES: &[&[u8]] =
        &[b"\x1c", b"\x1b[92;5u", b"\x1b[92;69u", b"\x1b[92;5:1u", b"\x1b[92:124;5u", b"\x1b[27;5;92~"];
    const LASTS: &[&[u8]] = &[
        b"d",
        b"\x1b[100u",
        b"\x1b[100;1u",
        b"\x1b[100;1:1u",
        b"\x1b[100;;100u",
        b"\x1b[100;129u",
        b"\x1b[1074::100;1u",
    ];

    #[test]
    fn the_first_press_detaches_in_every_encoding_and_every_split() {
        for prefix in PREFIXES {
            for last in LASTS {
                let both = [*prefix, *last].concat();
                let context = both.escape_ascii().to_string();
                assert_eq!(typed(&DetachKeys::default(), &[&both]), (vec![], Wish::Detach), "{context}");
                let single: Vec<&[u8]> = both.chunks(1).collect();
                // A lone escape byte is never waited for, so a split right after it is the Escape key.
                if both[0] != ESC && last[0] != ESC {
                    assert_eq!(typed(&DetachKeys::default(), &single).1, Wish::Detach, "{context}");
                }
                for cut in 2..both.len() {
                    let (head, tail) = both.split_at(cut);
                    let is_after_escape = head.ends_with(b"\x1b");
                    if !is_after_escape {
                        assert_eq!(
                            typed(&DetachKeys::default(), &[head, tail]).1,
                            Wish::Detach,
                            "{context} at {cut}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn releases_modifiers_and_the_pointer_do_not_spoil_the_prefix() {
        let between: &[&[u8]] = &[
            b"\x1b[92;5:3u",
            b"\x1b[92;5:2u",
            b"\x1b[57442;1:3u",
            b"\x1b[<35;1;1M",
            b"\x1b[I",
            b"\x1b[M !!",
        ];
        for aside in between {
            assert_eq!(typed(&DetachKeys::default(), &[b"\x1b[92;5u", aside, b"d"]).1, Wish::Detach);
        }
    }

    #[test]
    fn the_prefix_twice_is_sent_once_and_another_key_sends_both() {
        let keys = DetachKeys::default();
        assert_eq!(typed(&keys, &[b"\x1c\x1cd"]), (b"\x1cd".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"\x1b[92;5u\x1b[92;5u"]), (b"\x1b[92;5u".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"a\x1cx"]), (b"a\x1cx".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"\x1cD"]), (b"\x1cD".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"\x1c\x1b[A"]), (b"\x1c\x1b[A".to_vec(), Wish::Stay));
    }

    #[test]
    fn what_was_typed_before_the_detach_key_is_sent() {
        assert_eq!(typed(&DetachKeys::default(), &[b"ls\r\x1cdrm"]), (b"ls\r".to_vec(), Wish::Detach));
    }

    #[test]
    fn a_paste_cannot_detach() {
        let paste = b"\x1b[200~a\x1cd\x1b[201~";
        assert_eq!(typed(&DetachKeys::default(), &[paste]), (paste.to_vec(), Wish::Stay));
        assert_eq!(typed(&DetachKeys::default(), &[paste, b"\x1cd"]).1, Wish::Detach);
    }

    #[test]
    fn a_lone_escape_goes_at_once_and_a_cut_sequence_is_held() {
        let mut watch = KeyWatch::new(DetachKeys::default());
        let mut out = Vec::new();
        watch.watch(b"\x1b", &mut out);
        assert_eq!((out.as_slice(), watch.is_holding()), (&b"\x1b"[..], false));
        watch.watch(b"\x1b[92", &mut out);
        assert!(watch.is_holding());
        watch.release(&mut out);
        assert_eq!(out, b"\x1b\x1b[92");
    }

    #[test]
    fn everything_else_passes_byte_for_byte() {
        let all: Vec<u8> = (0..=255u8).filter(|byte| *byte != 0x1c).collect();
        let keys = b"\x1b[A\x1bOP\x1b[1;5C\x1b[3~\x1b[97;2u\xf0\x9f\x9a\x80\x1bd\x1b[<0;3;4M";
        for input in [all.as_slice(), keys] {
            for size in 1..6 {
                let pieces: Vec<&[u8]> = input.chunks(size).collect();
                assert_eq!(typed(&DetachKeys::default(), &pieces), (input.to_vec(), Wish::Stay));
            }
        }
    }

    #[test]
    fn configured_keys_are_understood_or_refused() {
        let one: DetachKeys = "ctrl-q".parse().unwrap();
        assert_eq!(typed(&one, &[b"\x11"]).1, Wish::Detach);
        let two: DetachKeys = "C-a,x".parse().unwrap();
        assert_eq!(typed(&two, &[b"\x01x"]).1, Wish::Detach);
        assert_eq!(two.to_string(), "Ctrl-A x");
        assert_eq!("ctrl-\\ d".parse::<DetachKeys>(), Ok(DetachKeys::default()));
        for bad in ["", "d", "ctrl-", "ctrl-\u{e9}", "ctrl-a b c", "ctrl-a ctrl-a", "hyper-x"] {
            assert!(bad.parse::<DetachKeys>().is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_are_the_same_after_a_journey() {
        for text in ["ctrl-\\ d", "ctrl-q", "C-a,x", "^b D", "d ctrl-d", "ctrl-_ ~"] {
            for keys in
                [text.parse::<DetachKeys>().unwrap(), text.parse::<DetachKeys>().unwrap().with_tilde()]
            {
                let wire = serde_json::to_string(&keys).unwrap();
                assert_eq!(serde_json::from_str::<DetachKeys>(&wire).unwrap(), keys, "{wire}");
            }
        }
        assert!(serde_json::from_str::<DetachKeys>(r#"{"keys":"hyper-x"}"#).is_err());
    }

    #[test]
    fn the_ssh_habit_works_at_the_start_of_a_line_only() {
        let keys = DetachKeys::default().with_tilde();
        assert_eq!(typed(&keys, &[b"~."]).1, Wish::Detach);
        assert_eq!(typed(&keys, &[b"ls\r", b"~", b"."]), (b"ls\r".to_vec(), Wish::Detach));
        assert_eq!(typed(&keys, &[b"a~."]), (b"a~.".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"~~."]), (b"~.".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"~x"]), (b"~x".to_vec(), Wish::Stay));
        assert_eq!(typed(&keys, &[b"a\x1cd"]).1, Wish::Detach);
        for other in [&b"~\x1cx."[..], b"~\x1b[200~.\x1b[201~"] {
            assert_eq!(typed(&keys, &[other]), (other.to_vec(), Wish::Stay), "{}", other.escape_ascii());
        }
    }
}
