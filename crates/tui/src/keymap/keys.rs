//! Keys as people write them: `ctrl-x`, `space`, `pgup`, `G`.

use std::fmt;
use std::str::FromStr;

use proto::Printable;
use term::{Key, KeyCode, KeyEvent};

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
    /// Whether this key was pressed. In terminals of old, Control and 4 is Control and backslash.
    pub(crate) fn matches(&self, key: &Key) -> bool {
        let modifiers = key.modifiers;
        let code = match key.code {
            KeyCode::Character('4') if modifiers.ctrl => KeyCode::Character('\\'),
            KeyCode::Character(character) => {
                let typed = key.text.filter(|_| !modifiers.ctrl).unwrap_or(character);
                let is_upper = modifiers.shift && !modifiers.ctrl && key.text.is_none();
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
            (None, Some(character), None) if !character.is_control() => KeyCode::Character(character),
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
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use term::Modifiers;

    #[test]
    fn keys_read_back_as_they_are_written() {
        for text in ["Ctrl-X", "Space", "PgUp", "G", "-", "Alt-Enter", "Ctrl-\\", "|"] {
            assert_eq!(text.parse::<KeyName>().unwrap().to_string(), text);
        }
        assert!("ctrl-".parse::<KeyName>().is_err());
        assert!("hyper-x".parse::<KeyName>().is_err());
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
