//! What was typed, as the child expects it: the very bytes where the modes of the terminal and of the child agree, and
//! another encoding only for keys that need one.

use proto::ProcessView;
use term::{Key, KeyCode, KeyEvent, Modes, Modifiers, PastePiece};

use crate::host::{InputEvent, What};

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
    let What::Key(key) = &event.what else {
        return if event.what == What::Unknown { event.raw.clone() } else { Vec::new() };
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
    let all_keys = modes.keyboard_flags & 8 != 0 && !is_control;
    let agree = host.flags == modes.keyboard_flags
        && !modes.application_cursor
        && !modes.application_keypad
        && modes.modify_other_keys == 0;
    if agree || (!is_sequence && !all_keys && !is_ambiguous(event, modes)) {
        return event.raw.clone();
    }
    key.encode(modes)
}

/// A lone Escape is another key for a child with the kitty protocol.
fn is_ambiguous(event: &InputEvent, modes: &Modes) -> bool {
    event.raw == b"\x1b" && modes.keyboard_flags & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::InputParser;

    fn ctrl_j() -> Key {
        "ctrl-j".parse().unwrap()
    }

    fn typed(raw: &[u8], modes: &Modes, flags: u8) -> Vec<u8> {
        let mut parser = InputParser::default();
        let mut events = Vec::new();
        parser.feed(raw, &mut events);
        parser.release(&mut events);
        events.iter().flat_map(|event| bytes(event, modes, HostKeyboard { flags }, None)).collect()
    }

    #[test]
    fn u8_every_byte_arrives_as_it_was_typed_when_the_modes_agree() {
        for byte in 0..=0xff_u8 {
            assert_eq!(typed(&[byte], &Modes::default(), 0), [byte], "{byte:#x}");
        }
        for raw in [&b"\x1b[A"[..], b"\x1bOP", b"\x1b[1;5C", b"\x1b[3~", b"\x1bx", b"\x1b[200;9z"] {
            assert_eq!(typed(raw, &Modes::default(), 0), raw);
        }
    }

    #[test]
    fn u9_a_line_feed_stays_a_line_feed_whatever_the_child_asked_for() {
        for keyboard_flags in 0..=31 {
            let modes = Modes { keyboard_flags, ..Modes::default() };
            for host in [0, 1, keyboard_flags] {
                assert_eq!(typed(b"\n", &modes, host), b"\n", "{keyboard_flags}, host {host}");
            }
        }
    }

    /// Keys with every combination of modifiers, as terminals write them.
    fn sequences() -> Vec<Vec<u8>> {
        let keys = ["[1;{m}A", "[1;{m}B", "[1;{m}C", "[1;{m}D", "[1;{m}H", "[1;{m}F", "[1;{m}P", "[1;{m}Q"];
        let tildes = [2, 3, 5, 6, 15, 17, 18, 19, 20, 21, 23, 24].map(|key| format!("[{key};{{m}}~"));
        let codes = [9, 13, 27, 32, 92, 97, 127, 246, 57_399, 57_414].map(|code| format!("[{code};{{m}}u"));
        let others = [13, 92, 97, 105].map(|code| format!("[27;{{m}};{code}~"));
        let keys = keys.into_iter().map(str::to_owned).chain(tildes).chain(codes).chain(others);
        let mut all: Vec<Vec<u8>> = keys
            .flat_map(|key| {
                (1..=16).map(move |held| format!("\x1b{}", key.replace("{m}", &held.to_string())))
            })
            .map(String::into_bytes)
            .collect();
        all.extend(
            [&b"\x1b[A"[..], b"\x1bOA", b"\x1b[Z", b"\x1b[3~", b"\x1bOP", b"\x1b\r", b"\x1b\x7f"]
                .map(<[u8]>::to_vec),
        );
        all.extend((0x21..0x7f).filter(|byte| !b"[]OP".contains(byte)).map(|byte| vec![0x1b, byte]));
        all.extend(["é", "漢", "😀", "\u{1b}é"].map(|text| text.as_bytes().to_vec()));
        all
    }

    #[test]
    fn u8_every_sequence_cut_at_every_place_arrives_as_it_was_typed_when_the_modes_agree() {
        let all = sequences();
        assert!(all.len() > 300, "{}", all.len());
        for flags in [0, 1] {
            let modes = Modes { keyboard_flags: flags, ..Modes::default() };
            for raw in &all {
                for cut in 0..raw.len() {
                    let mut parser = InputParser::default();
                    let mut events = Vec::new();
                    parser.feed(&raw[..cut], &mut events);
                    parser.feed(&raw[cut..], &mut events);
                    parser.release(&mut events);
                    let host = HostKeyboard { flags };
                    let arrived: Vec<u8> =
                        events.iter().flat_map(|event| bytes(event, &modes, host, Some(ctrl_j()))).collect();
                    let is_new_line =
                        flags == 0 && matches!(raw.as_slice(), b"\x1b[13;2u" | b"\x1b[27;2;13~");
                    let expected: &[u8] = if is_new_line { b"\n" } else { raw };
                    assert_eq!(arrived, expected, "{} cut at {cut}", raw.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn u10_shift_enter_is_the_manifests_key_only_where_the_agent_cannot_distinguish_it_from_enter() {
        let typed = |keyboard_flags, new_line: Option<&str>| {
            let new_line = new_line.map(|name| name.parse().unwrap());
            let mut events = Vec::new();
            InputParser::default().feed(b"\x1b[13;2u", &mut events);
            let modes = Modes { keyboard_flags, ..Modes::default() };
            bytes(&events[0], &modes, HostKeyboard { flags: 1 }, new_line)
        };
        assert_eq!(typed(0, Some("ctrl-j")), b"\n");
        assert_eq!(typed(0, Some("alt-enter")), b"\x1b\r");
        assert_eq!(typed(0, None), b"\r", "no key is known that makes a new line");
        assert_eq!(typed(1, Some("ctrl-j")), b"\x1b[13;2u");
    }

    #[test]
    fn keys_are_encoded_anew_only_where_the_child_expects_others() {
        let application = Modes { application_cursor: true, ..Modes::default() };
        assert_eq!(typed(b"\x1b[A", &application, 0), b"\x1bOA");
        assert_eq!(typed(b"ls\r", &application, 0), b"ls\r");
        let legacy = Modes::default();
        assert_eq!(typed(b"\x1b[99;5u", &legacy, 1), b"\x03");
        let kitty = Modes { keyboard_flags: 1, ..Modes::default() };
        assert_eq!(typed(b"\x1b[13;2u", &kitty, 1), b"\x1b[13;2u");
        assert_eq!(typed(b"\x1b", &kitty, 0), b"\x1b[27u");
    }
}
