//! Names in, bytes out.

use super::{Key, KeyCode};
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
    for name in ["", "hyper-x", "f13", "f0", "ctrl-", "ctrl-ctrl-c", "enterr", "\x1b", "ab"] {
        let error = name.parse::<Key>().unwrap_err().to_string();
        assert!(error.contains("pagedown"), "{name:?}: {error}");
    }
    assert_eq!("+".parse::<Key>().unwrap().code, KeyCode::Character('+'));
}
