//! Facts about typed bytes: nothing is lost, nothing depends on how they are cut, answers are nobody's keys.

use proptest::prelude::*;

use super::*;
use crate::host::{MouseAct, MouseButton};

fn parse(pieces: &[&[u8]]) -> Vec<InputEvent> {
    let mut parser = InputParser::default();
    let mut events = Vec::new();
    pieces.iter().for_each(|piece| parser.feed(piece, &mut events));
    parser.release(&mut events);
    joined(events)
}

/// Pieces of one paste, which may be cut anywhere, as one.
fn joined(events: Vec<InputEvent>) -> Vec<InputEvent> {
    let mut all: Vec<InputEvent> = Vec::new();
    for event in events {
        match all.last_mut() {
            Some(last) if last.what == What::PasteText && event.what == What::PasteText => {
                last.raw.extend_from_slice(&event.raw);
            }
            _ => all.push(event),
        }
    }
    all
}

fn pressed(bytes: &[u8]) -> Key {
    match parse(&[bytes]).as_slice() {
        [InputEvent { what: What::Key(key), .. }] => *key,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn u8_any_cutting_gives_the_same_events_and_keeps_every_byte(
        bytes in prop::collection::vec(prop_oneof![
            3 => prop::sample::select(b"\x1b[]OP?;:<0129Mmu~cAI\\\x07 x\xc3\xa9\xe6".to_vec()),
            1 => any::<u8>(),
        ], 0..40),
        cut in 1usize..6,
    ) {
        let whole = parse(&[&bytes]);
        let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
        prop_assert_eq!(&parse(&pieces), &whole);
        let raw: Vec<u8> = whole.iter().flat_map(|event| event.raw.clone()).collect();
        prop_assert_eq!(raw, bytes);
    }
}

#[test]
fn u8_keys_are_known_in_every_form() {
    let key = |code| Key::press(code, Modifiers::default());
    let with = |code, number: u8| {
        let held = number - 1;
        let modifiers = Modifiers {
            shift: held & 1 != 0,
            alt: held & 2 != 0,
            ctrl: held & 4 != 0,
            ..Modifiers::default()
        };
        Key::press(code, modifiers)
    };
    assert_eq!(pressed(b"\r"), key(KeyCode::Enter));
    assert_eq!(pressed(b"\x1b"), key(KeyCode::Escape));
    assert_eq!(pressed(b"\x1b[A"), key(KeyCode::Up));
    assert_eq!(pressed(b"\x1bOA"), key(KeyCode::Up));
    assert_eq!(pressed(b"\x1b[1;5C"), with(KeyCode::Right, 5));
    assert_eq!(pressed(b"\x1b[3~"), key(KeyCode::Delete));
    assert_eq!(pressed(b"\x1b[13;2u"), with(KeyCode::Enter, 2));
    assert_eq!(pressed(b"\x1b[27;2;13~"), with(KeyCode::Enter, 2));
    assert_eq!(pressed(b"\x1bx"), with(KeyCode::Character('x'), 3));
    assert_eq!(pressed("é".as_bytes()), key(KeyCode::Character('é')));
    assert_eq!(pressed(b"\x1b[15~"), key(KeyCode::Function(5)));
}

#[test]
fn u12_every_encoding_of_the_prefix_is_one_key() {
    // Caps lock and num lock add 64 and 128 to what is held; a key that is held comes again.
    let prefix: crate::keymap::KeyName = "ctrl-\\".parse().unwrap();
    let kitty =
        [92, 52].map(|code| ["5", "69", "133", "197", "5:1", "69:2"].map(|held| format!("[{code};{held}u")));
    let others = ["[27;5;92~", "[27;5;52~", "[92::92;5:1u", "[92:124:92;5u", "[92;5:2u"].map(str::to_owned);
    let sequences = kitty.into_iter().flatten().chain(others).map(|sequence| format!("\u{1b}{sequence}"));
    for bytes in sequences.chain(["\u{1c}".to_owned()]) {
        assert!(prefix.matches(&pressed(bytes.as_bytes())), "{}", bytes.escape_default());
    }
    for bytes in ["\u{1b}[92;5:3u", "\u{1b}[52;7u", "\u{1b}[92;13u", "\u{1b}[27;5;51~", "4", "\\"] {
        assert!(!prefix.matches(&pressed(bytes.as_bytes())), "{}", bytes.escape_default());
    }
}

#[test]
fn u8_text_without_a_key_is_text_and_keys_have_theirs() {
    let text = |bytes: &[u8]| match parse(&[bytes]).as_slice() {
        [InputEvent { what: What::Text(text), .. }] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(b"\x1b[0;;104:105u"), "hi");
    assert_eq!(text("\u{1b}[0;;28450u".as_bytes()), "漢");
    assert_eq!(text(b"\x1b[105;;105:775u"), "i\u{307}");
    assert_eq!(pressed(b"\x1b[97;2;65u").text, Some('A'));
    assert_eq!(pressed(b"\x1b[97;2u").text, None);
    assert_eq!(parse(&[b"\x1b[0;;27u"])[0].what, What::Unknown);
}

#[test]
fn u14_answers_cut_anywhere_and_late_are_no_keys() {
    let answers: [&[u8]; 13] = [
        b"\x1b[>41;379;0c",
        b"\x1b[?997;2n",
        b"\x1b[24;80R",
        b"\x1b[8;30;100t",
        b"\x1b]10;rgb:ffff/ffff/ffff\x07",
        b"\x1b]4;1;rgb:cdcd/0000/0000\x1b\\",
        b"\x1bP>|XTerm(379)\x1b\\",
        b"\x1b[0n",
        b"\x1b[?62;4c",
        b"\x1b[?1u",
        b"\x1b[?2026;2$y",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1bP1$r2 q\x1b\\",
    ];
    for answer in answers {
        // While answers are awaited no cut makes a key of one; afterwards none behind the first two bytes does.
        for (cut, is_waiting) in (1..answer.len()).flat_map(|cut| [(cut, true), (cut, false)]) {
            if cut < 3 && !is_waiting {
                continue;
            }
            let mut parser = InputParser { is_waiting, ..InputParser::default() };
            let mut events = Vec::new();
            parser.feed(&answer[..cut], &mut events);
            assert!(events.is_empty(), "{answer:?} {cut}");
            assert!(parser.pause().is_some_and(|pause| pause >= Duration::from_secs(2)), "{answer:?} {cut}");
            parser.feed(&answer[cut..], &mut events);
            assert!(matches!(events.as_slice(), [InputEvent { what: What::Answer(_), .. }]), "{events:?}");
        }
    }
}

#[test]
fn u14_the_third_function_key_with_a_modifier_is_no_report_of_the_cursor() {
    let shift = Modifiers { shift: true, ..Modifiers::default() };
    assert_eq!(pressed(b"\x1b[1;2R"), Key::press(KeyCode::Function(3), shift));
    assert_eq!(pressed(b"\x1b[R"), Key::press(KeyCode::Function(3), Modifiers::default()));
    assert_eq!(parse(&[b"\x1b[24;2R"])[0].what, What::Answer(Answer::Other));
}

#[test]
fn u14_the_status_cut_anywhere_and_late_is_no_key() {
    let status = b"\x1b[0n";
    for cut in 1..status.len() {
        let mut parser = InputParser { is_status_awaited: true, ..InputParser::default() };
        let mut events = Vec::new();
        parser.feed(&status[..cut], &mut events);
        assert!(events.is_empty(), "{cut}");
        assert_eq!(parser.pause(), Some(REST_OF_ANSWER), "{cut}");
        parser.feed(&status[cut..], &mut events);
        assert!(
            matches!(events.as_slice(), [InputEvent { what: What::Answer(Answer::Status), .. }]),
            "{events:?}"
        );
        assert_eq!(parser.pause(), None, "{cut}");
    }
    // Its beginning, of which the rest never comes, is no key either.
    let mut parser = InputParser::default();
    let mut events = Vec::new();
    parser.feed(&status[..3], &mut events);
    parser.release(&mut events);
    assert!(
        matches!(events.as_slice(), [InputEvent { what: What::Answer(Answer::Other), .. }]),
        "{events:?}"
    );
}

#[test]
fn u14_an_escape_before_the_status_is_a_key_as_soon_as_the_status_comes() {
    let whats = |pieces: &[&[u8]]| {
        let mut parser = InputParser { is_status_awaited: true, ..InputParser::default() };
        let mut events = Vec::new();
        pieces.iter().for_each(|piece| parser.feed(piece, &mut events));
        assert_eq!(parser.pause(), None);
        events.into_iter().map(|event| event.what).collect::<Vec<_>>()
    };
    let escape = What::Key(Key::press(KeyCode::Escape, Modifiers::default()));
    let both = vec![escape, What::Answer(Answer::Status)];
    let typed = b"\x1b\x1b[0n";
    for cut in 1..typed.len() {
        assert_eq!(whats(&[&typed[..cut], &typed[cut..]]), both, "{cut}");
    }
    // Without a question in flight it is a key after the pause of keys.
    let mut parser = InputParser::default();
    parser.feed(b"\x1b", &mut Vec::new());
    assert_eq!(parser.pause(), Some(KEY_PAUSE));
}

#[test]
fn a_paste_is_no_keys_whatever_is_in_it() {
    let events = parse(&[b"\x1b[200~rm \x1c\x1b[A\r\x1b[20", b"1~x"]);
    let whats: Vec<&What> = events.iter().map(|event| &event.what).collect();
    assert!(
        matches!(whats[..], [What::PasteBegins, What::PasteText, What::PasteEnds, What::Key(_)]),
        "{whats:?}"
    );
    assert_eq!(events[1].raw, b"rm \x1c\x1b[A\r");
}

#[test]
fn the_mouse_is_read_and_written_in_both_encodings() {
    let events = parse(&[b"\x1b[<0;3;4M"]);
    let What::Mouse(mouse) = &events[0].what else { panic!("{events:?}") };
    assert_eq!((mouse.act, mouse.at.col, mouse.at.row), (MouseAct::Press(MouseButton::Left), 2, 3));
    assert_eq!(mouse.encode(term::MouseEncoding::Sgr), b"\x1b[<0;3;4M");
    assert_eq!(mouse.encode(term::MouseEncoding::Bytes), b"\x1b[M #$");
    assert!(matches!(parse(&[b"\x1b[M #$"])[0].what, What::Mouse(same) if same == *mouse));
}

/// A paste with these bytes in the middle of its text, cut into pieces of this length.
fn pasted_around(inserted: &[u8], piece: usize, parser: InputParser) -> Vec<What> {
    let bytes = [b"\x1b[200~one \xe2\x96\xb8 ", inserted, b"two\x1b[201~".as_slice()].concat();
    let (mut parser, mut events) = (parser, Vec::new());
    bytes.chunks(piece).for_each(|piece| parser.feed(piece, &mut events));
    let raw: Vec<u8> = events.iter().flat_map(|event| event.raw.clone()).collect();
    assert_eq!(raw, bytes, "nothing is lost");
    joined(events).into_iter().map(|event| event.what).collect()
}

#[test]
fn u30_an_awaited_answer_between_the_pieces_of_a_paste_is_no_part_of_its_text() {
    let split = |answer| {
        vec![What::PasteBegins, What::PasteText, What::Answer(answer), What::PasteText, What::PasteEnds]
    };
    for piece in 1..40 {
        let status = InputParser { is_status_awaited: true, ..InputParser::default() };
        assert_eq!(pasted_around(b"\x1b[0n", piece, status), split(Answer::Status), "{piece}");
        let waiting = || InputParser { is_waiting: true, ..InputParser::default() };
        let ground = Answer::Color(257, [0, 0, 0]);
        let report = b"\x1b]11;rgb:0000/0000/0000\x1b\\";
        assert_eq!(pasted_around(report, piece, waiting()), split(ground), "{piece}");
        assert_eq!(pasted_around(b"\x1b[?1;2c", piece, waiting()), split(Answer::Last), "{piece}");
    }
}

#[test]
fn u30_escapes_in_a_pasted_text_that_are_no_awaited_answer_stay_in_it() {
    let whole = vec![What::PasteBegins, What::PasteText, What::PasteEnds];
    for piece in 1..40 {
        assert_eq!(pasted_around(b"\x1b[0n", piece, InputParser::default()), whole, "{piece}");
        for text in [b"\x1b[31m".as_slice(), b"\x1b[A", b"\x1b]8;;x\x1b\\", b"\x1bP1$r0m\x1b\\", b"\x1b\x1b"]
        {
            let parser = InputParser { is_waiting: true, is_status_awaited: true, ..InputParser::default() };
            assert_eq!(pasted_around(text, piece, parser), whole, "{text:?} {piece}");
        }
    }
}
