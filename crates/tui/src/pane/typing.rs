//! What was typed, as the child expects it: the very bytes where the modes of the terminal and of the child agree, and
//! another encoding only for keys that need one.

use term::Modes;

use crate::host::{InputEvent, What};

/// How the person's terminal sends keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostKeyboard {
    /// Flags of the kitty protocol in effect.
    pub(crate) flags: u8,
}

/// The bytes for a child in these modes.
pub(crate) fn bytes(event: &InputEvent, modes: &Modes, host: HostKeyboard) -> Vec<u8> {
    let What::Key(key) = &event.what else {
        return if event.what == What::Unknown { event.raw.clone() } else { Vec::new() };
    };
    let is_sequence = event.raw.first() == Some(&0x1b) && event.raw.len() > 1;
    let all_keys = modes.keyboard_flags & 8 != 0;
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

    fn typed(raw: &[u8], modes: &Modes, flags: u8) -> Vec<u8> {
        let mut parser = InputParser::default();
        let mut events = Vec::new();
        parser.feed(raw, &mut events);
        parser.release(&mut events);
        events.iter().flat_map(|event| bytes(event, modes, HostKeyboard { flags })).collect()
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
        for keyboard_flags in [0, 1, 3, 5] {
            let modes = Modes { keyboard_flags, ..Modes::default() };
            assert_eq!(typed(b"\n", &modes, 1), b"\n");
        }
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
