//! What a program in the deck is typed, beside what it is typed in a bare terminal.

use std::path::Path;

use testkit::process_scan::eventually;

use super::deck::SIZE;
use super::deck_facts::{leave, open};
use super::window::Window;
use super::{sh, stage};

/// What xterm has typed for its keys; the file says how.
const RECORDED: &str = include_str!("../../../tui/fixtures/recorded_keys.txt");

/// What terminals with the kitty protocol type: events, other keys, texts, locks, modifiers alone, input methods.
const KITTY: [&str; 16] = [
    "[97:65:99;2u",
    "[97:65;2:2;65u",
    "[97;1:3u",
    "[97;69u",
    "[97;133u",
    "[105;;105:775u",
    "[0;;28450:23383u",
    "[57441;2u",
    "[57441;1:3u",
    "[1;1:2A",
    "[1;5:3H",
    "[3;2:2~",
    "[15;1:3~",
    "[57414;129u",
    "[13;2:1u",
    "[27;1:3u",
];

/// A program that asks for these modes and writes all that it is typed to a file.
fn writer(modes: &str, file: &Path) -> String {
    format!("stty raw -echo; printf '{modes}ready'; exec cat > '{}'", file.display())
}

/// Types all of it and then an end; returns what the program has written.
fn written(window: &Window, typed: &[u8], file: &Path) -> String {
    window.pty.type_keys(typed);
    window.type_keys("end.");
    let all = eventually("the end", || std::fs::read(file).ok().filter(|all| all.ends_with(b"end.")));
    all.escape_ascii().to_string()
}

/// What is typed arrives at a program in the deck as it does in a bare terminal.
fn assert_same(modes: &str, flags: u8, typed: &[u8]) {
    let stage = stage();
    let (in_deck, bare) = (stage.root().join("deck"), stage.root().join("bare"));
    stage.run("writer", sh(&writer(modes, &in_deck)));
    stage.wait_pattern("writer", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    window.answers = flags != 0;
    open(&mut window, "writer");
    window.until("its modes", |screen| screen.modes().keyboard_flags == flags);
    window.until_shows("ready");
    let (mut terminal, _) = Window::running(&stage, SIZE, "/bin/sh", &["-c", &writer(modes, &bare)]);
    terminal.until_shows("ready");
    assert_eq!(written(&window, typed, &in_deck), written(&terminal, typed, &bare), "flags {flags}");
    leave(window);
}

/// The bytes of a text in which `\xHH` is a byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).unwrap());
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    bytes
}

#[test]
fn u8_what_xterm_types_is_in_the_deck_what_it_is_in_a_bare_terminal() {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let keys = lines.filter_map(|line| line.rsplit_once(' ')).map(|(_, bytes)| unescaped(bytes));
    // An Escape before another key would be Alt.
    let keys: Vec<Vec<u8>> = keys.filter(|key| key.last() != Some(&0x1b)).collect();
    assert!(keys.len() > 300, "{}", keys.len());
    assert_same("", 0, &keys.concat());
}

#[test]
fn u8_keys_of_the_kitty_protocol_are_in_the_deck_what_they_are_in_a_bare_terminal() {
    let typed: String = KITTY.iter().map(|key| format!("\u{1b}{key}")).collect();
    assert_same("\\033[=31u", 31, typed.as_bytes());
    // In the modes of applications too.
    assert_same("\\033[=31u\\033[?1h\\033=", 31, typed.as_bytes());
    let without_text: String =
        KITTY.iter().filter(|key| !key.contains(";;")).map(|key| format!("\u{1b}{key}")).collect();
    for flags in [1, 3, 5, 9, 15] {
        assert_same(&format!("\\033[={flags}u"), flags, without_text.as_bytes());
    }
}
