//! Parses the names of keys, as people and agents write them.

use std::str::FromStr;

use super::{Key, KeyCode, KeyEvent, Keypad, Modifiers};

/// A name that no key has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no key is called {name:?}; use a single character, space, enter, tab, esc, backspace, delete, insert, \
     up, down, left, right, home, end, pageup, pagedown, f1 to f35 or kp-0 to kp-9, kp-enter and so on, with ctrl-, \
     alt-, shift-, super-, hyper- and meta- in front, and :repeat or :release behind"
)]
pub struct KeyError {
    name: String,
}

impl FromStr for Key {
    type Err = KeyError;

    /// Reads names such as `enter`, `ctrl-c`, `alt-x`, `shift-tab`, `ctrl-alt-delete`, `F5`, `kp-7`, `super-é`,
    /// `a:release`.
    fn from_str(name: &str) -> Result<Key, KeyError> {
        let (held, event) = match name.rsplit_once(':').filter(|(key, _)| !key.is_empty()) {
            Some((key, "repeat")) => (key, KeyEvent::Repeat),
            Some((key, "release")) => (key, KeyEvent::Release),
            _ => (name, KeyEvent::Press),
        };
        let (modifiers, rest) = modifiers_of(held);
        let code = code_of(rest).ok_or_else(|| KeyError { name: name.chars().take(40).collect() })?;
        Ok(Key { event, ..Key::press(code, modifiers) })
    }
}

/// Splits a name into its modifiers and the key's own name.
fn modifiers_of(name: &str) -> (Modifiers, &str) {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    while let Some((prefix, after)) = rest.split_once(['-', '+']).filter(|(_, after)| !after.is_empty()) {
        let held = match prefix.to_ascii_lowercase().as_str() {
            "ctrl" | "control" | "c" => &mut modifiers.ctrl,
            "alt" | "m" => &mut modifiers.alt,
            "shift" | "s" => &mut modifiers.shift,
            "super" | "cmd" | "win" => &mut modifiers.super_key,
            "hyper" => &mut modifiers.hyper,
            "meta" => &mut modifiers.meta,
            _ => break,
        };
        if std::mem::replace(held, true) {
            break;
        }
        rest = after;
    }
    (modifiers, rest)
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
        other => match other.strip_prefix("kp-").or_else(|| other.strip_prefix("kp_")) {
            Some(key) => KeyCode::Keypad(keypad_of(key)?),
            None => {
                let number: u8 = other.strip_prefix('f')?.parse().ok()?;
                return (1..=35).contains(&number).then_some(KeyCode::Function(number));
            }
        },
    })
}

fn keypad_of(name: &str) -> Option<Keypad> {
    Some(match name {
        "decimal" | "." => Keypad::Decimal,
        "divide" | "/" => Keypad::Divide,
        "multiply" | "*" => Keypad::Multiply,
        "subtract" | "-" => Keypad::Subtract,
        "add" | "+" => Keypad::Add,
        "enter" => Keypad::Enter,
        "equal" | "=" => Keypad::Equal,
        "separator" | "," => Keypad::Separator,
        "left" => Keypad::Left,
        "right" => Keypad::Right,
        "up" => Keypad::Up,
        "down" => Keypad::Down,
        "pageup" | "pgup" => Keypad::PageUp,
        "pagedown" | "pgdn" => Keypad::PageDown,
        "home" => Keypad::Home,
        "end" => Keypad::End,
        "insert" | "ins" => Keypad::Insert,
        "delete" | "del" => Keypad::Delete,
        "begin" => Keypad::Begin,
        digit => {
            let [byte @ b'0'..=b'9'] = digit.as_bytes() else { return None };
            Keypad::Digit(byte - b'0')
        }
    })
}
