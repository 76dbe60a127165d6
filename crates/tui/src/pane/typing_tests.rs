//! Facts about typed keys on their way to a child: nothing is lost, nothing depends on how they are cut.

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
        .flat_map(|key| (1..=16).map(move |held| format!("\x1b{}", key.replace("{m}", &held.to_string()))))
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

/// What only a terminal with the kitty protocol writes: events, other keys, text, locks, and modifiers alone.
fn kitty_sequences() -> Vec<Vec<u8>> {
    let forms =
        ["[97:65:99;{m}u", "[97::113;{m}u", "[97:65;{m};65u", "[105;{m};105:775u", "[0;;{t}u", "[57442;{m}u"];
    let forms = forms.iter().copied().chain(["[1;{m}A", "[1;{m}H", "[3;{m}~", "[15;{m}~", "[57414;{m}u"]);
    let states =
        [1, 2, 5, 8, 9, 65, 69, 129, 133].map(|held| ["", ":1", ":2", ":3"].map(|event| (held, event)));
    let states: Vec<(u16, &str)> = states.into_iter().flatten().collect();
    let state = |form: &str, (held, event): &(u16, &str)| {
        format!(
            "\x1b{}",
            form.replace("{m}", &format!("{held}{event}")).replace("{t}", &format!("104:{held}"))
        )
    };
    forms
        .flat_map(|form| states.iter().map(move |held| state(form, held).into_bytes()).collect::<Vec<_>>())
        .collect()
}

/// What xterm has typed for keys with modifiers, in its own forms and in those of modifyOtherKeys.
fn recorded() -> Vec<Vec<u8>> {
    let lines =
        include_str!("../../fixtures/recorded_keys.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(_, bytes)| unescaped(bytes)).collect()
}

/// The bytes of a text in which `\xHH` is a byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// The bytes that a child in these modes gets, wherever what was typed is cut.
fn assert_arrives(raw: &[u8], modes: &Modes, host: HostKeyboard, expected: &[u8]) {
    for cut in 0..raw.len() {
        let mut parser = InputParser::default();
        let mut events = Vec::new();
        parser.feed(&raw[..cut], &mut events);
        parser.feed(&raw[cut..], &mut events);
        parser.release(&mut events);
        let arrived: Vec<u8> =
            events.iter().flat_map(|event| bytes(event, modes, host, Some(ctrl_j()))).collect();
        let flags = modes.keyboard_flags;
        assert_eq!(
            arrived.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{} cut at {cut}, flags {flags}",
            raw.escape_ascii()
        );
    }
}

/// Sets of flags of the kitty protocol that programs ask for.
const FLAGS: [u8; 7] = [0, 1, 3, 5, 9, 15, 31];

#[test]
fn u8_every_sequence_cut_at_every_place_arrives_as_it_was_typed_when_the_modes_agree() {
    let all = sequences();
    assert!(all.len() > 300, "{}", all.len());
    for flags in FLAGS {
        let modes = Modes { keyboard_flags: flags, ..Modes::default() };
        for raw in &all {
            let is_new_line = flags == 0 && matches!(raw.as_slice(), b"\x1b[13;2u" | b"\x1b[27;2;13~");
            let expected: &[u8] = if is_new_line { b"\n" } else { raw };
            assert_arrives(raw, &modes, HostKeyboard { flags }, expected);
        }
    }
}

#[test]
fn u8_events_alternates_texts_and_locks_arrive_as_they_were_typed_also_in_the_modes_of_applications() {
    let all = kitty_sequences();
    assert!(all.len() > 300, "{}", all.len());
    for flags in FLAGS.into_iter().filter(|flags| *flags != 0) {
        for is_application in [false, true] {
            let modes = Modes {
                keyboard_flags: flags,
                application_cursor: is_application,
                application_keypad: is_application,
                ..Modes::default()
            };
            let is_text =
                |raw: &[u8]| raw.starts_with(b"\x1b[0;") || raw.windows(7).any(|part| part == b"105:775");
            for raw in all.iter().filter(|raw| flags == 31 || !is_text(raw)) {
                assert_arrives(raw, &modes, HostKeyboard { flags }, raw);
            }
        }
    }
}

#[test]
fn u8_what_xterm_types_arrives_as_it_was_typed() {
    let all = recorded();
    assert!(all.len() > 300, "{}", all.len());
    for raw in &all {
        let is_new_line = matches!(raw.as_slice(), b"\x1b[13;2u" | b"\x1b[27;2;13~");
        let expected: &[u8] = if is_new_line { b"\n" } else { raw };
        assert_arrives(raw, &Modes::default(), HostKeyboard::default(), expected);
    }
}

#[test]
fn u8_text_of_an_input_method_is_that_text_for_a_child_that_wants_no_such_reports() {
    let text = "\u{1b}[0;;28450:23383u".as_bytes();
    for (flags, expected) in [(0, "漢字"), (1, "漢字"), (9, "漢字"), (24, "\u{1b}[0;;28450:23383u")] {
        let modes = Modes { keyboard_flags: flags, ..Modes::default() };
        assert_arrives(text, &modes, HostKeyboard { flags: 25 }, expected.as_bytes());
    }
    // One key that types two characters, and one character without a key.
    let legacy = Modes::default();
    assert_arrives(b"\x1b[104;;104:105u", &legacy, HostKeyboard { flags: 25 }, b"hi");
    assert_arrives(b"\x1b[0;;233u", &legacy, HostKeyboard { flags: 25 }, "é".as_bytes());
    // A control character is no text.
    assert_arrives(b"\x1b[0;;27u", &legacy, HostKeyboard { flags: 25 }, b"");
}

#[test]
fn u8_a_modifier_alone_is_nothing_to_a_child_that_did_not_ask_for_all_keys() {
    let shift_is_up = b"\x1b[57441;2:3u";
    for (flags, expected) in [(0, &b""[..]), (1, b""), (10, shift_is_up), (31, shift_is_up)] {
        let modes = Modes { keyboard_flags: flags, ..Modes::default() };
        assert_arrives(shift_is_up, &modes, HostKeyboard { flags: 27 }, expected);
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
