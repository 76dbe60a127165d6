//! Names in, bytes out.

use proptest::prelude::*;

use super::{Key, KeyCode, KeyEvent, Keypad, Modifiers};
use crate::modes::Modes;

fn bytes(name: &str, modes: &Modes) -> String {
    let key: Key = name.parse().unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(key.encode(modes)).unwrap()
}

#[test]
fn legacy_keys_are_encoded_as_xterm_does() {
    for (name, expected) in [
        ("a", "a"),
        ("é", "é"),
        ("-", "-"),
        ("space", " "),
        ("enter", "\r"),
        ("tab", "\t"),
        ("esc", "\x1b"),
        ("backspace", "\x7f"),
        ("ctrl-backspace", "\x08"),
        ("ctrl-c", "\x03"),
        ("Ctrl-C", "\x03"),
        ("ctrl-\\", "\x1c"),
        ("ctrl-space", "\0"),
        ("ctrl--", "-"),
        ("ctrl-_", "\x1f"),
        ("alt-x", "\x1bx"),
        ("alt-enter", "\x1b\r"),
        ("ctrl-alt-c", "\x1b\x03"),
        ("shift-a", "A"),
        ("shift-tab", "\x1b[Z"),
        ("up", "\x1b[A"),
        ("ctrl-right", "\x1b[1;5C"),
        ("shift-home", "\x1b[1;2H"),
        ("delete", "\x1b[3~"),
        ("ctrl-alt-delete", "\x1b[3;7~"),
        ("pageup", "\x1b[5~"),
        ("f1", "\x1bOP"),
        ("F5", "\x1b[15~"),
        ("f6", "\x1b[17~"),
        ("f10", "\x1b[21~"),
        ("f11", "\x1b[23~"),
        ("f12", "\x1b[24~"),
        ("shift-f1", "\x1b[1;2P"),
    ] {
        assert_eq!(bytes(name, &Modes::default()), expected, "{name}");
    }
}

#[test]
fn application_cursor_changes_plain_cursor_keys_only() {
    let modes = Modes { application_cursor: true, ..Modes::default() };
    for (name, expected) in
        [("up", "\x1bOA"), ("end", "\x1bOF"), ("ctrl-up", "\x1b[1;5A"), ("delete", "\x1b[3~")]
    {
        assert_eq!(bytes(name, &modes), expected, "{name}");
    }
}

#[test]
fn the_kitty_protocol_tells_ambiguous_keys_apart() {
    let modes = Modes { keyboard_flags: 1, ..Modes::default() };
    for (name, expected) in [
        ("a", "a"),
        ("A", "A"),
        ("enter", "\r"),
        ("tab", "\t"),
        ("backspace", "\x7f"),
        ("esc", "\x1b[27u"),
        ("ctrl-i", "\x1b[105;5u"),
        ("ctrl-c", "\x1b[99;5u"),
        ("alt-x", "\x1b[120;3u"),
        ("alt-X", "\x1b[120;4u"),
        ("shift-enter", "\x1b[13;2u"),
        ("shift-tab", "\x1b[9;2u"),
        ("up", "\x1b[A"),
        ("f3", "\x1b[13~"),
    ] {
        assert_eq!(bytes(name, &modes), expected, "{name}");
    }
    let all = Modes { keyboard_flags: 9, ..Modes::default() };
    assert_eq!(bytes("a", &all), "\x1b[97u");
    assert_eq!(bytes("enter", &all), "\x1b[13u");
}

#[test]
fn names_that_are_no_key_are_refused_with_the_list() {
    for name in [
        "",
        "kp-",
        "kp-10",
        "f36",
        "f0",
        "ctrl-",
        "ctrl-ctrl-c",
        "enterr",
        "\x1b",
        "ab",
        ":release",
        "a:hold",
    ] {
        let error = name.parse::<Key>().unwrap_err().to_string();
        assert!(error.contains("pagedown"), "{name:?}: {error}");
    }
    assert_eq!("+".parse::<Key>().unwrap().code, KeyCode::Character('+'));
}

#[test]
fn n4_keys_beyond_the_classic_ones_have_their_legacy_bytes() {
    for (name, expected) in [
        ("f13", "\x1b[1;2P"),
        ("f24", "\x1b[24;2~"),
        ("f25", "\x1b[1;5P"),
        ("f35", "\x1b[23;5~"),
        ("kp-7", "7"),
        ("kp-add", "+"),
        ("kp-enter", "\r"),
        ("kp-left", "\x1b[D"),
        ("kp-begin", "\x1b[E"),
        ("meta-x", "\x1bx"),
        ("meta-up", "\x1b[1;3A"),
        ("a:repeat", "a"),
        ("a:release", ""),
        ("super-x", ""),
        ("hyper-up", ""),
    ] {
        assert_eq!(bytes(name, &Modes::default()), expected, "{name}");
    }
    let application = Modes { application_keypad: true, ..Modes::default() };
    for (name, expected) in
        [("kp-0", "\x1bOp"), ("kp-9", "\x1bOy"), ("kp-enter", "\x1bOM"), ("kp-.", "\x1bOn")]
    {
        assert_eq!(bytes(name, &application), expected, "{name}");
    }
}

#[test]
fn n4_every_flag_of_the_kitty_protocol_adds_what_it_stands_for() {
    for (flags, name, expected) in [
        (1, "super-x", "\x1b[120;9u"),
        (1, "hyper-meta-f5", "\x1b[15;49~"),
        (1, "f13", "\x1b[57376u"),
        (1, "f35", "\x1b[57398u"),
        (1, "kp-left", "\x1b[57417u"),
        (1, "kp-enter", "\x1b[57414u"),
        (1, "kp-5", "5"),
        (8, "kp-5", "\x1b[57404u"),
        (3, "up:release", "\x1b[1;1:3A"),
        (3, "ctrl-up:repeat", "\x1b[1;5:2A"),
        (3, "delete:release", "\x1b[3;1:3~"),
        (3, "esc:release", "\x1b[27;1:3u"),
        (3, "enter:release", ""),
        (3, "a:release", "\x1b[97;1:3u"),
        (11, "enter:release", "\x1b[13;1:3u"),
        (11, "a:repeat", "\x1b[97;1:2u"),
        (5, "ctrl-A", "\x1b[97:65;6u"),
        (13, "shift-a", "\x1b[97:65;2u"),
        (24, "a", "\x1b[97;;97u"),
        (24, "shift-a", "\x1b[97;2;65u"),
        (24, "ctrl-a", "\x1b[97;5u"),
        (31, "shift-a", "\x1b[97:65;2;65u"),
        (31, "shift-a:release", "\x1b[97:65;2:3u"),
    ] {
        let modes = Modes { keyboard_flags: flags, ..Modes::default() };
        assert_eq!(bytes(name, &modes), expected, "{name} with flags {flags}");
    }
    let accent = Key { text: Some('é'), ..Key::press(KeyCode::Character('e'), Modifiers::default()) };
    let modes = Modes { keyboard_flags: 24, ..Modes::default() };
    assert_eq!(accent.encode(&modes), b"\x1b[101;;233u");
    assert_eq!(accent.encode(&Modes::default()), "é".as_bytes());
}

/// Returns what a program reads from `CSI key:shifted ; modifiers:event ; text u`: key, modifiers, event.
fn read_back(sequence: &str) -> Option<(u32, u8, u8)> {
    let body = sequence.strip_prefix("\x1b[")?.strip_suffix('u')?;
    let mut fields = body.split(';');
    let code = fields.next()?.split(':').next()?.parse().ok()?;
    let mut state = fields.next().unwrap_or("1").split(':');
    let modifiers = state.next().filter(|text| !text.is_empty()).unwrap_or("1").parse().ok()?;
    Some((code, modifiers, state.next().unwrap_or("1").parse().ok()?))
}

fn any_key() -> impl Strategy<Value = Key> {
    let code = prop_oneof![
        any::<char>().prop_filter("no control", |c| !c.is_control()).prop_map(KeyCode::Character),
        (1u8..=35).prop_map(KeyCode::Function),
        (0u8..=9).prop_map(|digit| KeyCode::Keypad(Keypad::Digit(digit))),
        prop::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Tab,
            KeyCode::Escape,
            KeyCode::Backspace,
            KeyCode::Up,
            KeyCode::Home,
            KeyCode::Delete,
            KeyCode::PageDown,
            KeyCode::Keypad(Keypad::Enter),
            KeyCode::Keypad(Keypad::Begin),
            KeyCode::Keypad(Keypad::Subtract),
        ]),
    ];
    let event = prop::sample::select(vec![KeyEvent::Press, KeyEvent::Repeat, KeyEvent::Release]);
    (code, any::<[bool; 6]>(), event).prop_map(|(code, [shift, alt, ctrl, super_key, hyper, meta], event)| {
        Key { event, ..Key::press(code, Modifiers { shift, alt, ctrl, super_key, hyper, meta }) }
    })
}

proptest! {
    #[test]
    fn n4_with_all_flags_a_program_reads_back_the_key_its_modifiers_and_its_event(key in any_key()) {
        let modes = Modes { keyboard_flags: 31, ..Modes::default() };
        let sequence = String::from_utf8(key.encode(&modes)).unwrap();
        let Some((code, modifiers, event)) = read_back(&sequence) else {
            // Cursor keys and the first function keys keep their letters and tildes.
            prop_assert!(sequence.starts_with("\x1b[") && !matches!(key.code, KeyCode::Character(_)), "{sequence:?}");
            return Ok(());
        };
        prop_assert_eq!(event, 1 + key.event as u8);
        if let KeyCode::Character(character) = key.code {
            let lower = character.to_lowercase().next().unwrap();
            prop_assert_eq!(code, u32::from(lower));
            prop_assert_eq!(modifiers - 1, (key.modifiers.number() - 1) | u8::from(lower != character));
        } else {
            prop_assert_eq!(modifiers, key.modifiers.number());
        }
    }

    #[test]
    fn n4_a_release_is_told_only_to_a_child_that_asked_and_nothing_but_text_is_bare(key in any_key(), flags in 0u8..32) {
        let modes = Modes { keyboard_flags: flags, ..Modes::default() };
        let sequence = key.encode(&modes);
        if key.event == KeyEvent::Release && flags & 2 == 0 {
            prop_assert!(sequence.is_empty());
        }
        if flags & 8 != 0 && key.event == KeyEvent::Press {
            prop_assert!(sequence.starts_with(b"\x1b["), "{sequence:?}");
        }
        // The event flag alone changes no press.
        let quiet = Modes { keyboard_flags: flags & !2, ..Modes::default() };
        let press = Key { event: KeyEvent::Press, ..key };
        prop_assert_eq!(press.encode(&modes), press.encode(&quiet));
    }
}
