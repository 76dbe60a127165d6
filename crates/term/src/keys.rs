//! Encodes keys as the bytes that a child expects in its modes: xterm's bytes, or the kitty keyboard protocol
//! with the flags that the child has set. The names of keys are in `name`.

mod name;

use crate::modes::Modes;

pub use name::KeyError;

/// Flag of the kitty protocol: keys whose legacy bytes are ambiguous are sent as `CSI u`.
const DISAMBIGUATE: u8 = 1;
/// Flag of the kitty protocol: repeats and releases are reported.
const EVENTS: u8 = 2;
/// Flag of the kitty protocol: the shifted key is reported beside the key.
const ALTERNATES: u8 = 4;
/// Flag of the kitty protocol: every key is sent as `CSI u`.
const ALL_KEYS: u8 = 8;
/// Flag of the kitty protocol, beside [`ALL_KEYS`]: the text that a key types is reported.
const TEXT: u8 = 16;

/// The number of F13 in the kitty protocol; F14 to F35 follow.
const F13: u32 = 57376;
/// The number of the keypad's 0 in the kitty protocol; the others follow.
const KEYPAD: u32 = 57399;

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
    /// F1 to F35.
    Function(u8),
    /// A key of the keypad.
    Keypad(Keypad),
}

/// The keys of a keypad, in the order of their numbers in the kitty protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keypad {
    /// 0 to 9.
    Digit(u8),
    /// The decimal point.
    Decimal,
    /// Divide.
    Divide,
    /// Multiply.
    Multiply,
    /// Subtract.
    Subtract,
    /// Add.
    Add,
    /// Enter.
    Enter,
    /// Equal.
    Equal,
    /// The separator of thousands.
    Separator,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Insert.
    Insert,
    /// Delete.
    Delete,
    /// The 5 without number lock.
    Begin,
}

impl Keypad {
    /// Returns its offset from the number of the keypad's 0.
    fn place(self) -> u32 {
        match self {
            Self::Digit(digit) => u32::from(digit.min(9)),
            Self::Decimal => 10,
            Self::Divide => 11,
            Self::Multiply => 12,
            Self::Subtract => 13,
            Self::Add => 14,
            Self::Enter => 15,
            Self::Equal => 16,
            Self::Separator => 17,
            Self::Left => 18,
            Self::Right => 19,
            Self::Up => 20,
            Self::Down => 21,
            Self::PageUp => 22,
            Self::PageDown => 23,
            Self::Home => 24,
            Self::End => 25,
            Self::Insert => 26,
            Self::Delete => 27,
            Self::Begin => 28,
        }
    }

    /// Returns the character that it types, and the letter that it sends after SS3 in application mode.
    fn character(self) -> Option<(char, u8)> {
        Some(match self {
            Self::Digit(digit) => (char::from(b'0' + digit.min(9)), b'p' + digit.min(9)),
            Self::Decimal => ('.', b'n'),
            Self::Divide => ('/', b'o'),
            Self::Multiply => ('*', b'j'),
            Self::Subtract => ('-', b'm'),
            Self::Add => ('+', b'k'),
            Self::Equal => ('=', b'X'),
            Self::Separator => (',', b'l'),
            _ => return None,
        })
    }

    /// Returns the key elsewhere on the keyboard with the same meaning.
    fn twin(self) -> Option<KeyCode> {
        Some(match self {
            Self::Enter => KeyCode::Enter,
            Self::Left => KeyCode::Left,
            Self::Right => KeyCode::Right,
            Self::Up => KeyCode::Up,
            Self::Down => KeyCode::Down,
            Self::PageUp => KeyCode::PageUp,
            Self::PageDown => KeyCode::PageDown,
            Self::Home => KeyCode::Home,
            Self::End => KeyCode::End,
            Self::Insert => KeyCode::Insert,
            Self::Delete => KeyCode::Delete,
            _ => return None,
        })
    }
}

/// Keys held down together with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "a keyboard has that many")]
pub struct Modifiers {
    /// Shift.
    pub shift: bool,
    /// Alt.
    pub alt: bool,
    /// Control.
    pub ctrl: bool,
    /// Super: the key of the window system.
    pub super_key: bool,
    /// Hyper.
    pub hyper: bool,
    /// Meta, where it is not Alt. Legacy bytes do not distinguish the two.
    pub meta: bool,
}

impl Modifiers {
    /// Returns the number in sequences: one plus a bit per modifier.
    fn number(self) -> u8 {
        let bits = [self.shift, self.alt, self.ctrl, self.super_key, self.hyper, self.meta];
        1 + bits.iter().enumerate().map(|(place, is_held)| u8::from(*is_held) << place).sum::<u8>()
    }

    /// Returns true if a held modifier makes a character a command instead of text.
    fn is_command(self) -> bool {
        self.alt || self.ctrl || self.super_key || self.hyper || self.meta
    }

    /// Returns true if legacy bytes have no form for them.
    fn needs_kitty(self) -> bool {
        self.super_key || self.hyper
    }

    /// Returns the modifiers for legacy bytes, which use Alt for Meta.
    fn legacy(self) -> Self {
        Self { alt: self.alt || self.meta, meta: false, ..self }
    }
}

/// What happens to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyEvent {
    /// It goes down.
    #[default]
    Press,
    /// It is held, and types again.
    Repeat,
    /// It goes up.
    Release,
}

/// One key event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// The modifiers that are held.
    pub modifiers: Modifiers,
    /// Press, repeat or release.
    pub event: KeyEvent,
    /// The character that it types, where it differs from the key's own, as after a dead key.
    pub text: Option<char>,
}

impl Key {
    /// Returns a press of a key.
    #[must_use]
    pub fn press(code: KeyCode, modifiers: Modifiers) -> Key {
        Key { code, modifiers, event: KeyEvent::Press, text: None }
    }

    /// Returns the bytes for a child in these modes. Empty where the child gets nothing: releases, Super and
    /// Hyper before it asked for them.
    pub fn encode(&self, modes: &Modes) -> Vec<u8> {
        let flags = modes.keyboard_flags;
        match self.event {
            KeyEvent::Release if flags & EVENTS == 0 => return Vec::new(),
            // The shell that gets the keyboard back must not see the release of the key that ended a program.
            KeyEvent::Release if flags & ALL_KEYS == 0 && self.keeps_byte() => return Vec::new(),
            _ => {}
        }
        if self.modifiers.needs_kitty() && !is_kitty(flags) {
            return Vec::new();
        }
        match self.code {
            KeyCode::Character(character) => self.character(character, modes),
            KeyCode::Enter => self.control(13, b"\r", flags),
            KeyCode::Tab if self.modifiers.shift && !self.is_reported(flags) => self.prefixed(b"\x1b[Z"),
            KeyCode::Tab => self.control(9, b"\t", flags),
            KeyCode::Escape => self.control(27, b"\x1b", flags),
            KeyCode::Backspace if self.modifiers.ctrl => self.control(127, b"\x08", flags),
            KeyCode::Backspace => self.control(127, b"\x7f", flags),
            KeyCode::Up => self.letter(b'A', modes),
            KeyCode::Down => self.letter(b'B', modes),
            KeyCode::Right => self.letter(b'C', modes),
            KeyCode::Left => self.letter(b'D', modes),
            KeyCode::Home => self.letter(b'H', modes),
            KeyCode::End => self.letter(b'F', modes),
            KeyCode::Insert => self.tilde(2, flags),
            KeyCode::Delete => self.tilde(3, flags),
            KeyCode::PageUp => self.tilde(5, flags),
            KeyCode::PageDown => self.tilde(6, flags),
            KeyCode::Function(number) => self.function(number, modes),
            KeyCode::Keypad(key) => self.keypad(key, modes),
        }
    }

    /// Returns true if the key keeps its own byte even in the kitty protocol, so that a child that died
    /// leaves a usable shell.
    fn keeps_byte(&self) -> bool {
        matches!(self.code, KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace)
    }

    /// Returns true if a key with ambiguous legacy bytes is reported by number.
    fn is_reported(&self, flags: u8) -> bool {
        is_kitty(flags) || (self.event != KeyEvent::Press && flags & EVENTS != 0)
    }

    fn prefixed(&self, bytes: &[u8]) -> Vec<u8> {
        match self.modifiers.alt || self.modifiers.meta {
            true => [b"\x1b", bytes].concat(),
            false => bytes.to_vec(),
        }
    }

    /// Modifiers and event as a sequence carries them; `None` when both have their default.
    fn state(&self, flags: u8) -> Option<String> {
        let modifiers = if is_kitty(flags) { self.modifiers } else { self.modifiers.legacy() };
        let event = match self.event {
            _ if flags & EVENTS == 0 => "",
            KeyEvent::Press => "",
            KeyEvent::Repeat => ":2",
            KeyEvent::Release => ":3",
        };
        let number = modifiers.number();
        (number != 1 || !event.is_empty()).then(|| format!("{number}{event}"))
    }

    /// Returns `CSI key:shifted ; modifiers:event ; text u`.
    fn kitty(&self, code: u32, shifted: Option<u32>, flags: u8) -> Vec<u8> {
        let mut sequence = format!("\x1b[{code}");
        if let Some(shifted) = shifted.filter(|_| flags & ALTERNATES != 0) {
            sequence.push_str(&format!(":{shifted}"));
        }
        let text = self.typed().filter(|_| flags & TEXT != 0 && flags & ALL_KEYS != 0);
        match (self.state(flags), text) {
            (None, None) => {}
            (Some(state), None) => sequence.push_str(&format!(";{state}")),
            (state, Some(text)) => {
                sequence.push_str(&format!(";{};{}", state.unwrap_or_default(), u32::from(text)));
            }
        }
        sequence.push('u');
        sequence.into_bytes()
    }

    /// Returns the character it types, if it types one.
    fn typed(&self) -> Option<char> {
        if self.event == KeyEvent::Release || self.modifiers.is_command() {
            return None;
        }
        match self.code {
            KeyCode::Character(character) if self.modifiers.shift => {
                Some(self.text.unwrap_or(upper(character)))
            }
            KeyCode::Character(character) => Some(self.text.unwrap_or(character)),
            KeyCode::Keypad(key) => key.character().map(|(character, _)| character),
            _ => None,
        }
    }

    fn character(&self, character: char, modes: &Modes) -> Vec<u8> {
        let flags = modes.keyboard_flags;
        let is_told = flags & ALL_KEYS != 0
            || (self.modifiers.is_command() && is_kitty(flags))
            || self.event == KeyEvent::Release;
        if is_told {
            let unshifted = character.to_lowercase().next().unwrap_or(character);
            let shift = self.modifiers.shift || unshifted != character;
            let key = Key { modifiers: Modifiers { shift, ..self.modifiers }, ..*self };
            let shifted = u32::from(if unshifted == character { upper(character) } else { character });
            let code = u32::from(unshifted);
            return key.kitty(code, Some(shifted).filter(|shifted| shift && *shifted != code), flags);
        }
        let typed = self.text.unwrap_or(if self.modifiers.shift { upper(character) } else { character });
        let mut buffer = [0; 4];
        match control_byte(character).filter(|_| self.modifiers.ctrl) {
            Some(byte) => self.prefixed(&[byte]),
            None => self.prefixed(typed.encode_utf8(&mut buffer).as_bytes()),
        }
    }

    /// Encodes keys that have a control byte of their own.
    fn control(&self, code: u32, legacy: &[u8], flags: u8) -> Vec<u8> {
        let keeps_byte = self.modifiers == Modifiers::default() && self.keeps_byte();
        if flags & ALL_KEYS != 0 || (self.is_reported(flags) && !keeps_byte) {
            return self.kitty(code, None, flags);
        }
        self.prefixed(legacy)
    }

    /// Encodes cursor keys.
    fn letter(&self, letter: u8, modes: &Modes) -> Vec<u8> {
        match self.state(modes.keyboard_flags) {
            None if modes.application_cursor => vec![0x1b, b'O', letter],
            None => vec![0x1b, b'[', letter],
            Some(state) => format!("\x1b[1;{state}{}", char::from(letter)).into_bytes(),
        }
    }

    fn tilde(&self, code: u8, flags: u8) -> Vec<u8> {
        match self.state(flags) {
            None => format!("\x1b[{code}~").into_bytes(),
            Some(state) => format!("\x1b[{code};{state}~").into_bytes(),
        }
    }

    /// Encodes function keys. F1 to F4 are letters. The kitty protocol moved F3, whose letter is that of a
    /// cursor report. Beyond F12 legacy terminals send the key twelve below with Shift, and beyond F24 with
    /// Control.
    fn function(&self, number: u8, modes: &Modes) -> Vec<u8> {
        let flags = modes.keyboard_flags;
        match number {
            13.. if is_kitty(flags) => self.kitty(F13 + u32::from(number.min(35)) - 13, None, flags),
            25.. => {
                let modifiers = Modifiers { ctrl: true, ..self.modifiers };
                Key { modifiers, ..*self }.function(number.min(35) - 24, modes)
            }
            13.. => {
                let modifiers = Modifiers { shift: true, ..self.modifiers };
                Key { modifiers, ..*self }.function(number - 12, modes)
            }
            3 if is_kitty(flags) => self.tilde(13, flags),
            0..=4 => {
                let letter = b"PQRS"[usize::from(number.max(1) - 1)];
                match self.state(flags) {
                    None if is_kitty(flags) => vec![0x1b, b'[', letter],
                    None => vec![0x1b, b'O', letter],
                    Some(_) => self.letter(letter, modes),
                }
            }
            5 => self.tilde(15, flags),
            6..=10 => self.tilde(number + 11, flags),
            11..=12 => self.tilde(number + 12, flags),
        }
    }

    /// Encodes the keypad. The kitty protocol distinguishes its keys from the others; those that type a
    /// character only when it reports all keys by number.
    fn keypad(&self, key: Keypad, modes: &Modes) -> Vec<u8> {
        let flags = modes.keyboard_flags;
        let code = KEYPAD + key.place();
        match (key.character(), key.twin()) {
            (Some((character, letter)), _) => {
                let is_told = flags & ALL_KEYS != 0
                    || (self.modifiers.is_command() && is_kitty(flags))
                    || self.event == KeyEvent::Release;
                match is_told {
                    true => self.kitty(code, None, flags),
                    false if modes.application_keypad && flags == 0 => vec![0x1b, b'O', letter],
                    false => Key { code: KeyCode::Character(character), ..*self }.encode(modes),
                }
            }
            _ if self.is_reported(flags) => self.kitty(code, None, flags),
            (None, Some(KeyCode::Enter)) if modes.application_keypad => vec![0x1b, b'O', b'M'],
            (None, Some(twin)) => Key { code: twin, ..*self }.encode(modes),
            (None, None) => self.letter(b'E', modes),
        }
    }
}

/// Returns true if keys with ambiguous legacy bytes are reported by number.
fn is_kitty(flags: u8) -> bool {
    flags & (DISAMBIGUATE | ALL_KEYS) != 0
}

/// Returns the character with Shift.
fn upper(character: char) -> char {
    character.to_uppercase().next().unwrap_or(character)
}

/// Returns the byte for a character with Control.
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
