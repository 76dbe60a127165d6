//! Keys by name, and the bytes a child in given modes expects for them. Owns the names people and agents
//! may write; types nothing and knows no terminal events.

use std::str::FromStr;

use crate::modes::Modes;

/// Flag of the kitty protocol: keys that legacy bytes cannot tell apart are sent as `CSI u`.
const DISAMBIGUATE: u8 = 1;
/// Flag of the kitty protocol: every key is sent as `CSI u`.
const ALL_KEYS: u8 = 8;

/// What is pressed, without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A key that types this character.
    Character(char),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Right.
    Right,
    /// Left.
    Left,
    /// Home.
    Home,
    /// End.
    End,
    /// Insert.
    Insert,
    /// Delete.
    Delete,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// F1 to F12.
    Function(u8),
}

/// Keys held down together with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Shift.
    pub shift: bool,
    /// Alt.
    pub alt: bool,
    /// Control.
    pub ctrl: bool,
}

impl Modifiers {
    /// The number sequences carry: one plus a bit per modifier.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }
}

/// One key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// What is pressed.
    pub code: KeyCode,
    /// With what.
    pub modifiers: Modifiers,
}

/// A name that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no key is called {name:?}; use a single character, space, enter, tab, esc, backspace, delete, insert, \
     up, down, left, right, home, end, pageup, pagedown or f1 to f12, with ctrl-, alt- and shift- in front"
)]
pub struct KeyError {
    name: String,
}

impl FromStr for Key {
    type Err = KeyError;

    /// Reads names such as `enter`, `ctrl-c`, `alt-x`, `shift-tab`, `ctrl-alt-delete`, `F5`, `é`.
    fn from_str(name: &str) -> Result<Key, KeyError> {
        let mut modifiers = Modifiers::default();
        let mut rest = name;
        while let Some((prefix, after)) = rest.split_once(['-', '+']).filter(|(_, after)| !after.is_empty()) {
            match prefix.to_ascii_lowercase().as_str() {
                "ctrl" | "control" | "c" if !modifiers.ctrl => modifiers.ctrl = true,
                "alt" | "meta" | "m" if !modifiers.alt => modifiers.alt = true,
                "shift" | "s" if !modifiers.shift => modifiers.shift = true,
                _ => break,
            }
            rest = after;
        }
        let code = code_of(rest).ok_or_else(|| KeyError { name: name.chars().take(40).collect() })?;
        Ok(Key { code, modifiers })
    }
}

fn code_of(name: &str) -> Option<KeyCode> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return (!character.is_control()).then_some(KeyCode::Character(character));
    }
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "space" => KeyCode::Character(' '),
        "minus" => KeyCode::Character('-'),
        "plus" => KeyCode::Character('+'),
        "enter" | "return" | "cr" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "esc" | "escape" => KeyCode::Escape,
        "backspace" | "bs" => KeyCode::Backspace,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "right" => KeyCode::Right,
        "left" => KeyCode::Left,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "insert" | "ins" => KeyCode::Insert,
        "delete" | "del" => KeyCode::Delete,
        "pageup" | "pgup" => KeyCode::PageUp,
        "pagedown" | "pgdn" => KeyCode::PageDown,
        other => {
            let number: u8 = other.strip_prefix('f')?.parse().ok()?;
            return (1..=12).contains(&number).then_some(KeyCode::Function(number));
        }
    })
}

impl Key {
    /// The bytes for a child in these modes: xterm's, or the kitty protocol's where the child asked for it.
    pub fn encode(&self, modes: &Modes) -> Vec<u8> {
        match self.code {
            KeyCode::Character(character) => self.character(character, modes),
            KeyCode::Enter => self.control(13, b"\r", modes),
            KeyCode::Tab if self.modifiers.shift && !self.is_kitty(modes) => self.with_alt(b"\x1b[Z"),
            KeyCode::Tab => self.control(9, b"\t", modes),
            KeyCode::Escape => self.control(27, b"\x1b", modes),
            KeyCode::Backspace if self.modifiers.ctrl => self.control(127, b"\x08", modes),
            KeyCode::Backspace => self.control(127, b"\x7f", modes),
            KeyCode::Up => self.letter(b'A', modes),
            KeyCode::Down => self.letter(b'B', modes),
            KeyCode::Right => self.letter(b'C', modes),
            KeyCode::Left => self.letter(b'D', modes),
            KeyCode::Home => self.letter(b'H', modes),
            KeyCode::End => self.letter(b'F', modes),
            KeyCode::Insert => self.tilde(2),
            KeyCode::Delete => self.tilde(3),
            KeyCode::PageUp => self.tilde(5),
            KeyCode::PageDown => self.tilde(6),
            KeyCode::Function(number) => self.function(number, modes),
        }
    }

    fn is_kitty(&self, modes: &Modes) -> bool {
        modes.keyboard_flags & (DISAMBIGUATE | ALL_KEYS) != 0
    }

    fn with_alt(&self, bytes: &[u8]) -> Vec<u8> {
        match self.modifiers.alt {
            true => [b"\x1b", bytes].concat(),
            false => bytes.to_vec(),
        }
    }

    /// `CSI code ; modifiers u`.
    fn kitty(&self, code: u32) -> Vec<u8> {
        match self.modifiers.number() {
            1 => format!("\x1b[{code}u").into_bytes(),
            number => format!("\x1b[{code};{number}u").into_bytes(),
        }
    }

    fn character(&self, character: char, modes: &Modes) -> Vec<u8> {
        let modified = self.modifiers.ctrl || self.modifiers.alt;
        if modes.keyboard_flags & ALL_KEYS != 0 || (modified && self.is_kitty(modes)) {
            let unshifted = character.to_lowercase().next().unwrap_or(character);
            let shift = self.modifiers.shift || unshifted != character;
            let key = Key { modifiers: Modifiers { shift, ..self.modifiers }, ..*self };
            return key.kitty(u32::from(unshifted));
        }
        let typed = match self.modifiers.shift {
            true => character.to_uppercase().next().unwrap_or(character),
            false => character,
        };
        let mut buffer = [0; 4];
        match control_byte(character).filter(|_| self.modifiers.ctrl) {
            Some(byte) => self.with_alt(&[byte]),
            None => self.with_alt(typed.encode_utf8(&mut buffer).as_bytes()),
        }
    }

    /// Keys with a control byte of their own. Enter, tab and backspace keep it unmodified even in the
    /// kitty protocol, so that a child that died leaves a usable shell.
    fn control(&self, code: u32, legacy: &[u8], modes: &Modes) -> Vec<u8> {
        let keeps_legacy = self.modifiers == Modifiers::default() && self.code != KeyCode::Escape;
        if modes.keyboard_flags & ALL_KEYS != 0 || (self.is_kitty(modes) && !keeps_legacy) {
            return self.kitty(code);
        }
        self.with_alt(legacy)
    }

    /// Cursor keys.
    fn letter(&self, letter: u8, modes: &Modes) -> Vec<u8> {
        match self.modifiers.number() {
            1 if modes.application_cursor => vec![0x1b, b'O', letter],
            1 => vec![0x1b, b'[', letter],
            number => format!("\x1b[1;{number}{}", char::from(letter)).into_bytes(),
        }
    }

    fn tilde(&self, code: u8) -> Vec<u8> {
        match self.modifiers.number() {
            1 => format!("\x1b[{code}~").into_bytes(),
            number => format!("\x1b[{code};{number}~").into_bytes(),
        }
    }

    /// F1 to F4 are letters. The kitty protocol moved F3, whose letter is that of a cursor report.
    fn function(&self, number: u8, modes: &Modes) -> Vec<u8> {
        let plain = self.modifiers.number() == 1;
        match number {
            3 if self.is_kitty(modes) => self.tilde(13),
            1..=4 => {
                let letter = b"PQRS"[usize::from(number - 1)];
                match plain {
                    true if self.is_kitty(modes) => vec![0x1b, b'[', letter],
                    true => vec![0x1b, b'O', letter],
                    false => self.letter(letter, modes),
                }
            }
            5 => self.tilde(15),
            6..=10 => self.tilde(number + 11),
            _ => self.tilde(number + 12),
        }
    }
}

/// What Control makes of a character.
fn control_byte(character: char) -> Option<u8> {
    match character {
        'a'..='z' | 'A'..='Z' | '@' | '[' | '\\' | ']' | '^' | '_' => Some(character as u8 & 0x1f),
        ' ' | '2' => Some(0),
        '3'..='7' => Some(character as u8 - b'3' + 0x1b),
        '/' => Some(0x1f),
        '8' | '?' => Some(0x7f),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
