//! What was typed, as the child expects it: the very bytes where the modes of the terminal and of the child agree, and
//! another encoding only for keys that need one.

use proto::ProcessView;
use term::{Key, KeyCode, KeyEvent, Modes, Modifiers, PastePiece};

use crate::host::{InputEvent, What};

/// Flag of the kitty protocol: every key is a sequence.
const ALL_KEYS: u8 = 8;
/// The same with the text that keys type.
const TEXT: u8 = ALL_KEYS | 16;

/// How the person's terminal sends keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostKeyboard {
    /// Flags of the kitty protocol in effect.
    pub(crate) flags: u8,
}

/// Returns the key that makes a new line in an agent's composer, if its manifest names one.
pub(crate) fn new_line_key(view: &ProcessView) -> Option<Key> {
    view.agent.as_ref()?.new_line.as_ref()?.parse().ok()
}

/// Gives a paste the line ends that an agent expects where it accepts no brackets.
pub(crate) fn with_line_ends(piece: PastePiece, modes: &Modes, new_line: Option<Key>) -> PastePiece {
    match new_line {
        Some(key) => piece.with_line_end(key.encode(modes)),
        None => piece,
    }
}

/// The bytes for a child in these modes. A child that cannot distinguish Shift-Enter from Enter gets its key for a new
/// line, if it has one.
pub(crate) fn bytes(event: &InputEvent, modes: &Modes, host: HostKeyboard, new_line: Option<Key>) -> Vec<u8> {
    let key = match &event.what {
        What::Key(key) => key,
        What::Text(text) if modes.keyboard_flags & TEXT != TEXT => return text.clone().into_bytes(),
        What::Unknown if is_strange(event, modes, host) => return Vec::new(),
        What::Text(_) | What::Unknown => return event.raw.clone(),
        What::PasteBegins | What::PasteText | What::PasteEnds => return Vec::new(),
        What::Mouse(_) | What::Focus(_) | What::Answer(_) => return Vec::new(),
    };
    let is_legacy = modes.keyboard_flags == 0 && modes.modify_other_keys == 0;
    let is_shift_enter =
        key.code == KeyCode::Enter && key.modifiers == Modifiers { shift: true, ..Modifiers::default() };
    if let Some(new_line) = new_line.filter(|_| is_legacy && is_shift_enter) {
        return if key.event == KeyEvent::Release { Vec::new() } else { new_line.encode(modes) };
    }
    let is_sequence = event.raw.first() == Some(&0x1b) && event.raw.len() > 1;
    // A control byte says nothing about what was pressed: a terminal that sends LF for Shift-Enter means LF.
    let is_control = matches!(event.raw.as_slice(), [byte] if byte.is_ascii_control() && *byte != 0x1b);
    let all_keys = modes.keyboard_flags & ALL_KEYS != 0 && !is_control;
    // Only cursor keys without modifiers have another form for a child in the mode of applications.
    let is_short = matches!(event.raw.as_slice(), [0x1b, b'[' | b'O', _]);
    let agree = host.flags == modes.keyboard_flags
        && modes.modify_other_keys == 0
        && !(is_short && modes.application_cursor);
    if agree || (!is_sequence && !all_keys && !is_ambiguous(event, modes)) {
        return event.raw.clone();
    }
    key.encode(modes)
}

/// Returns true for a key of the kitty protocol that has no form for this child, such as a modifier alone: the terminal still sends
/// keys as another child wanted them.
fn is_strange(event: &InputEvent, modes: &Modes, host: HostKeyboard) -> bool {
    let is_kitty = event.raw.starts_with(b"\x1b[") && event.raw.ends_with(b"u");
    is_kitty && host.flags != modes.keyboard_flags && modes.keyboard_flags & ALL_KEYS == 0
}

/// A lone Escape is another key for a child with the kitty protocol.
fn is_ambiguous(event: &InputEvent, modes: &Modes) -> bool {
    event.raw == b"\x1b" && modes.keyboard_flags & 1 != 0
}

#[cfg(test)]
#[path = "typing_tests.rs"]
mod tests;
