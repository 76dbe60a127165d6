//! What one control sequence from the terminal means: a key, the mouse, the focus, a paste or an answer.

use proto::terminal::answers::read_color;
use term::{Key, KeyCode, KeyEvent, Keypad, Modifiers};

use super::input::{Answer, Token, What, key};
use super::mouse::{self};

const ESC: u8 = 0x1b;
/// No sequence that is understood is longer.
const CONTROL_MAX: usize = 128;

/// The sequence that these bytes, `ESC [` and more, begin with.
pub(super) fn control(bytes: &[u8]) -> Token {
    let body = &bytes[2..];
    let Some(end) = body.iter().position(|byte| !matches!(*byte, 0x20..=0x3f)) else {
        return if body.len() > CONTROL_MAX { Token::Whole(bytes.len(), What::Unknown) } else { Token::Cut };
    };
    let length = end + 3;
    let parameters = std::str::from_utf8(&body[..end]).unwrap_or_default();
    match body[end] {
        // The oldest mouse report has three raw bytes behind it.
        b'M' if end == 0 => match body.get(1..4) {
            Some(raw) => Token::Whole(6, mouse::of_bytes([raw[0], raw[1], raw[2]])),
            None => Token::Cut,
        },
        final_byte @ (b'M' | b'm') if parameters.starts_with('<') => {
            Token::Whole(length, mouse::of_sgr(&parameters[1..], final_byte == b'm'))
        }
        b'I' if end == 0 => Token::Whole(length, What::Focus(true)),
        b'O' if end == 0 => Token::Whole(length, What::Focus(false)),
        b'Z' if end == 0 => key(length, KeyCode::Tab, Modifiers { shift: true, ..Modifiers::default() }),
        0x40..=0x7e if parameters.starts_with('?') => {
            Token::Whole(length, What::Answer(answer(&parameters[1..], body[end])))
        }
        b'n' if parameters == "0" => Token::Whole(length, What::Answer(Answer::Status)),
        b'c' | b't' | b'n' => Token::Whole(length, What::Answer(Answer::Other)),
        // A key is in row 1 for all that looks like a report of the cursor.
        b'R' if parameters.split_once(';').is_some_and(|(row, _)| row != "1") => {
            Token::Whole(length, What::Answer(Answer::Other))
        }
        b'u' => Token::Whole(length, kitty_key(parameters)),
        b'~' => Token::Whole(length, tilde_key(parameters)),
        letter @ 0x40..=0x7e => Token::Whole(length, lettered_key(parameters, letter)),
        // Cut off by the next sequence, or no sequence at all.
        ESC => Token::Whole(length - 1, What::Unknown),
        _ => Token::Whole(length, What::Unknown),
    }
}

/// What a string of the terminal says; only colours are of use.
pub(super) fn string_answer(body: &[u8]) -> What {
    let color = body.strip_prefix(b"]").and_then(read_color);
    What::Answer(color.map_or(Answer::Other, |(index, color)| Answer::Color(index, color)))
}

fn answer(parameters: &str, final_byte: u8) -> Answer {
    let numbers: Vec<u16> =
        parameters.trim_end_matches('$').split(';').filter_map(|number| number.parse().ok()).collect();
    match (final_byte, numbers.as_slice()) {
        (b'c', _) => Answer::Last,
        (b'u', [flags]) => Answer::KeyboardFlags(u8::try_from(*flags).unwrap_or(0)),
        (b'y', [mode, state]) => Answer::Mode(*mode, matches!(state, 1..=3)),
        (b'n', [997, scheme]) => Answer::IsLight(*scheme == 2),
        _ => Answer::Other,
    }
}

/// The key behind the letter of a cursor or function key.
pub(super) fn letter_key(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P' => KeyCode::Function(1),
        b'Q' => KeyCode::Function(2),
        b'R' => KeyCode::Function(3),
        b'S' => KeyCode::Function(4),
        b'E' => KeyCode::Keypad(Keypad::Begin),
        _ => return None,
    })
}

/// `1 ; modifiers:event LETTER`.
fn lettered_key(parameters: &str, letter: u8) -> What {
    let Some(code) = letter_key(letter) else { return What::Unknown };
    let state = parameters.split(';').nth(1).unwrap_or_default();
    with_state(code, state)
}

/// `number ; modifiers:event ~`, pastes, and `27 ; modifiers ; code ~` of modifyOtherKeys.
fn tilde_key(parameters: &str) -> What {
    let mut fields = parameters.split(';');
    let number = fields.next().and_then(|number| number.parse::<u16>().ok());
    let state = fields.next().unwrap_or_default();
    let code = match number {
        Some(200) => return What::PasteBegins,
        Some(201) => return What::PasteEnds,
        Some(27) => {
            let code = fields.next().and_then(|code| code.parse().ok()).and_then(code_of_number);
            return code.map_or(What::Unknown, |code| with_state(code, state));
        }
        Some(1 | 7) => KeyCode::Home,
        Some(2) => KeyCode::Insert,
        Some(3) => KeyCode::Delete,
        Some(4 | 8) => KeyCode::End,
        Some(5) => KeyCode::PageUp,
        Some(6) => KeyCode::PageDown,
        Some(number @ 11..=15) => function(number - 10),
        Some(number @ 17..=21) => function(number - 11),
        Some(number @ 23..=24) => function(number - 12),
        Some(_) | None => return What::Unknown,
    };
    with_state(code, state)
}

fn function(number: u16) -> KeyCode {
    KeyCode::Function(u8::try_from(number).unwrap_or(1))
}

/// `code:shifted:base ; modifiers:event ; text u`. Input methods write text alone; some keys write several characters.
fn kitty_key(parameters: &str) -> What {
    let mut fields = parameters.split(';');
    let number = fields.next().unwrap_or_default().split(':').next().and_then(|code| code.parse().ok());
    let state = fields.next().unwrap_or_default();
    let codes = fields.next().unwrap_or_default().split(':').filter_map(|code| code.parse().ok());
    let text: String = codes.filter_map(char::from_u32).filter(|text| !text.is_control()).collect();
    let one = text.chars().next().filter(|one| one.len_utf8() == text.len());
    match number.and_then(code_of_number).map(|code| with_state(code, state)) {
        Some(What::Key(typed)) if one.is_some() || text.is_empty() => What::Key(Key { text: one, ..typed }),
        Some(_) | None if !text.is_empty() => What::Text(text),
        Some(_) | None => What::Unknown,
    }
}

/// The key with this number in the kitty protocol; none for modifiers alone.
fn code_of_number(number: u32) -> Option<KeyCode> {
    Some(match number {
        9 => KeyCode::Tab,
        13 => KeyCode::Enter,
        27 => KeyCode::Escape,
        127 => KeyCode::Backspace,
        57376..=57398 => KeyCode::Function(u8::try_from(number - 57363).ok()?),
        57399..=57408 => KeyCode::Keypad(Keypad::Digit(u8::try_from(number - 57399).ok()?)),
        57409 => KeyCode::Keypad(Keypad::Decimal),
        57410 => KeyCode::Keypad(Keypad::Divide),
        57411 => KeyCode::Keypad(Keypad::Multiply),
        57412 => KeyCode::Keypad(Keypad::Subtract),
        57413 => KeyCode::Keypad(Keypad::Add),
        57414 => KeyCode::Keypad(Keypad::Enter),
        57415 => KeyCode::Keypad(Keypad::Equal),
        57344..=63743 => return None,
        other => KeyCode::Character(char::from_u32(other).filter(|character| !character.is_control())?),
    })
}

/// A key with `modifiers:event`.
fn with_state(code: KeyCode, state: &str) -> What {
    let mut fields = state.split(':');
    let held = fields.next().and_then(|held| held.parse::<u16>().ok()).unwrap_or(1).saturating_sub(1);
    let event = match fields.next() {
        Some("2") => KeyEvent::Repeat,
        Some("3") => KeyEvent::Release,
        _ => KeyEvent::Press,
    };
    let has = |bit: u16| held & bit != 0;
    let modifiers = Modifiers {
        shift: has(1),
        alt: has(2),
        ctrl: has(4),
        super_key: has(8),
        hyper: has(16),
        meta: has(32),
    };
    What::Key(Key { code, modifiers, event, text: None })
}
