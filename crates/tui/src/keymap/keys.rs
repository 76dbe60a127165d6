//! Keys as people write them: `ctrl-x`, `space`, `pgup`, `G`.

use std::fmt;
use std::str::FromStr;

use proto::Printable;
use term::{Key, KeyCode, KeyEvent, Modifiers};

/// A key with Control or Alt, as settings, hints and help write it. Shift is part of a character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyName {
    code: KeyCode,
    ctrl: bool,
    alt: bool,
    shift: bool,
}

/// Words for keys that are no character.
const WORDS: &[(&str, KeyCode)] = &[
    ("Space", KeyCode::Character(' ')),
    ("Enter", KeyCode::Enter),
    ("Tab", KeyCode::Tab),
    ("Esc", KeyCode::Escape),
    ("Backspace", KeyCode::Backspace),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Delete", KeyCode::Delete),
];

impl KeyName {
    /// The name of a key that was pressed; none for a key that has none.
    pub(crate) fn of(key: &Key) -> Option<Self> {
        let Modifiers { ctrl, alt, shift, meta, .. } = key.modifiers;
        let is_named = WORDS.iter().any(|(_, code)| *code == key.code);
        let (code, shift) = match key.code {
            KeyCode::Character(character) if ctrl => (KeyCode::Character(lower(character)), false),
            KeyCode::Character(character) => (KeyCode::Character(key.text.unwrap_or(character)), false),
            KeyCode::Function(number) => (KeyCode::Function(number), shift),
            code if is_named => (code, shift),
            _ => return None,
        };
        Some(Self { code, ctrl, alt: alt || meta, shift })
    }

    /// This key, as if it were pressed.
    pub(crate) fn press(&self) -> Key {
        let Self { code, ctrl, alt, shift } = *self;
        Key::press(code, Modifiers { ctrl, alt, shift, ..Modifiers::default() })
    }

    /// Returns true if the key is a character or an editing key that programs need, without Control or Alt.
    pub(crate) fn is_plain(&self) -> bool {
        !self.ctrl && !self.alt && !matches!(self.code, KeyCode::Function(_))
    }

    /// Returns true if this key was pressed. Older terminals send the same byte for Ctrl-4 and Ctrl-\.
    pub(crate) fn matches(&self, key: &Key) -> bool {
        let modifiers = key.modifiers;
        let code = match key.code {
            KeyCode::Character('4') if modifiers.ctrl => KeyCode::Character('\\'),
            KeyCode::Character(character) if modifiers.ctrl => KeyCode::Character(lower(character)),
            KeyCode::Character(character) => {
                let typed = key.text.unwrap_or(character);
                let is_upper = modifiers.shift && key.text.is_none();
                KeyCode::Character(if is_upper { upper(typed) } else { typed })
            }
            other => other,
        };
        let is_character = matches!(code, KeyCode::Character(_));
        key.event != KeyEvent::Release
            && code == self.code
            && modifiers.ctrl == self.ctrl
            && (modifiers.alt || modifiers.meta) == self.alt
            && (is_character || modifiers.shift == self.shift)
            && !modifiers.super_key
    }
}

fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

fn upper(character: char) -> char {
    character.to_uppercase().next().unwrap_or(character)
}

impl FromStr for KeyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{} is no key; keys are like x, G, space, ctrl-x, alt-enter", Printable(text));
        let (mut ctrl, mut alt, mut shift) = (false, false, false);
        let mut rest = text;
        while let Some((modifier, key)) = rest.split_once('-').filter(|(_, key)| !key.is_empty()) {
            match modifier.to_ascii_lowercase().as_str() {
                "ctrl" | "c" => ctrl = true,
                "alt" | "m" => alt = true,
                "shift" | "s" => shift = true,
                _ => return Err(bad()),
            }
            rest = key;
        }
        let word = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(rest)).map(|(_, code)| *code);
        let mut characters = rest.chars();
        let code = match (word, characters.next(), characters.next()) {
            (Some(code), _, _) => code,
            // With Control a letter and its capital are one key.
            (None, Some(character), None) if ctrl && !character.is_control() => {
                KeyCode::Character(lower(character))
            }
            (None, Some(character), None) if !character.is_control() => KeyCode::Character(character),
            (None, Some('F' | 'f'), Some(_)) => KeyCode::Function(
                rest[1..].parse().ok().filter(|number| (1..=24).contains(number)).ok_or_else(bad)?,
            ),
            _ => return Err(bad()),
        };
        Ok(Self { code, ctrl, alt, shift })
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = [(self.ctrl, "Ctrl-"), (self.alt, "Alt-"), (self.shift, "Shift-")];
        held.iter().filter(|(is_held, _)| *is_held).try_for_each(|(_, word)| f.write_str(word))?;
        match (WORDS.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((word, _)), _) => f.write_str(word),
            (None, KeyCode::Character(character)) if self.ctrl => write!(f, "{}", character.to_uppercase()),
            (None, KeyCode::Character(character)) => write!(f, "{character}"),
            (None, KeyCode::Function(number)) => write!(f, "F{number}"),
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_they_are_written() {
        for text in ["Ctrl-X", "Space", "PgUp", "F5", "Ctrl-F12", "G", "-", "Alt-Enter", "Ctrl-\\", "|"] {
            assert_eq!(text.parse::<KeyName>().unwrap().to_string(), text);
        }
        assert!("ctrl-".parse::<KeyName>().is_err());
        assert!("hyper-x".parse::<KeyName>().is_err());
    }

    #[test]
    fn a_key_with_control_is_pressed_whatever_the_case_of_its_letter() {
        for text in ["Ctrl-U", "ctrl-u"] {
            let name: KeyName = text.parse().unwrap();
            for bytes in [&b"\x15"[..], b"\x1b[117;5u", b"\x1b[27;5;117~"] {
                let mut events = Vec::new();
                crate::host::InputParser::default().feed(bytes, &mut events);
                let crate::host::What::Key(key) = &events[0].what else { panic!("{events:?}") };
                assert!(name.matches(key), "{text} {bytes:?}");
                assert_eq!(KeyName::of(key).as_ref(), Some(&name));
            }
        }
    }

    #[test]
    fn u12_control_and_4_is_control_and_backslash() {
        let prefix: KeyName = "ctrl-\\".parse().unwrap();
        let ctrl = Modifiers { ctrl: true, ..Modifiers::default() };
        assert!(prefix.matches(&Key::press(KeyCode::Character('\\'), ctrl)));
        assert!(prefix.matches(&Key::press(KeyCode::Character('4'), ctrl)));
        assert!(!prefix.matches(&Key::press(KeyCode::Character('4'), Modifiers::default())));
    }

    #[test]
    fn a_letter_with_shift_is_its_capital_in_every_encoding() {
        let capital: KeyName = "N".parse().unwrap();
        let shift = Modifiers { shift: true, ..Modifiers::default() };
        assert!(capital.matches(&Key::press(KeyCode::Character('n'), shift)));
        assert!(capital.matches(&Key::press(KeyCode::Character('N'), Modifiers::default())));
        assert!(!capital.matches(&Key::press(KeyCode::Character('n'), Modifiers::default())));
    }
}
