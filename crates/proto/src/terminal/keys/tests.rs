//! Which typed bytes are a detach key, an answer of the terminal, or input for the child.

use super::*;
use crate::terminal::ColorScheme;

fn typed(keys: &DetachKeys, pieces: &[&[u8]]) -> (Vec<u8>, DetachIntent) {
    let mut watch = KeyWatch::new(keys.clone());
    let mut out = Vec::new();
    for piece in pieces {
        if watch.watch(piece, &mut out) == DetachIntent::Detach {
            return (out, DetachIntent::Detach);
        }
    }
    watch.release(&mut out);
    (out, DetachIntent::Stay)
}

const PREFIXES: &[&[u8]] =
    &[b"\x1c", b"\x1b[92;5u", b"\x1b[92;69u", b"\x1b[92;5:1u", b"\x1b[92:124;5u", b"\x1b[27;5;92~"];
const LASTS: &[&[u8]] = &[
    b"d",
    b"\x1b[100u",
    b"\x1b[100;1u",
    b"\x1b[100;1:1u",
    b"\x1b[100;;100u",
    b"\x1b[100;129u",
    b"\x1b[1074::100;1u",
];

#[test]
fn the_first_press_detaches_in_every_encoding_and_every_split() {
    for prefix in PREFIXES {
        for last in LASTS {
            let both = [*prefix, *last].concat();
            let context = both.escape_ascii().to_string();
            assert_eq!(typed(&DetachKeys::default(), &[&both]), (vec![], DetachIntent::Detach), "{context}");
            let single: Vec<&[u8]> = both.chunks(1).collect();
            // A lone escape byte does not wait, so a split right after it is the Escape key.
            if both[0] != ESC && last[0] != ESC {
                assert_eq!(typed(&DetachKeys::default(), &single).1, DetachIntent::Detach, "{context}");
            }
            for cut in 2..both.len() {
                let (head, tail) = both.split_at(cut);
                let is_after_escape = head.ends_with(b"\x1b");
                if !is_after_escape {
                    assert_eq!(
                        typed(&DetachKeys::default(), &[head, tail]).1,
                        DetachIntent::Detach,
                        "{context} at {cut}"
                    );
                }
            }
        }
    }
}

#[test]
fn releases_modifiers_and_the_pointer_do_not_spoil_the_prefix() {
    let between: &[&[u8]] =
        &[b"\x1b[92;5:3u", b"\x1b[92;5:2u", b"\x1b[57442;1:3u", b"\x1b[<35;1;1M", b"\x1b[I", b"\x1b[M !!"];
    for aside in between {
        assert_eq!(typed(&DetachKeys::default(), &[b"\x1b[92;5u", aside, b"d"]).1, DetachIntent::Detach);
    }
}

#[test]
fn the_prefix_twice_is_sent_once_and_another_key_sends_both() {
    let keys = DetachKeys::default();
    assert_eq!(typed(&keys, &[b"\x1c\x1cd"]), (b"\x1cd".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"\x1b[92;5u\x1b[92;5u"]), (b"\x1b[92;5u".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"a\x1cx"]), (b"a\x1cx".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"\x1cD"]), (b"\x1cD".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"\x1c\x1b[A"]), (b"\x1c\x1b[A".to_vec(), DetachIntent::Stay));
}

#[test]
fn what_was_typed_before_the_detach_key_is_sent() {
    assert_eq!(typed(&DetachKeys::default(), &[b"ls\r\x1cdrm"]), (b"ls\r".to_vec(), DetachIntent::Detach));
}

#[test]
fn a_paste_cannot_detach() {
    let paste = b"\x1b[200~a\x1cd\x1b[201~";
    assert_eq!(typed(&DetachKeys::default(), &[paste]), (paste.to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&DetachKeys::default(), &[paste, b"\x1cd"]).1, DetachIntent::Detach);
}

#[test]
fn a_lone_escape_goes_at_once_and_a_cut_sequence_is_held() {
    let mut watch = KeyWatch::new(DetachKeys::default());
    let mut out = Vec::new();
    watch.watch(b"\x1b", &mut out);
    assert_eq!((out.as_slice(), watch.pause()), (&b"\x1b"[..], None));
    watch.watch(b"\x1b[92", &mut out);
    assert_eq!(watch.pause(), Some(KEY_PAUSE));
    watch.release(&mut out);
    assert_eq!(out, b"\x1b\x1b[92");
}

#[test]
fn everything_else_passes_byte_for_byte() {
    let all: Vec<u8> = (0..=255u8).filter(|byte| *byte != 0x1c).collect();
    let keys = b"\x1b[A\x1bOP\x1b[1;5C\x1b[3~\x1b[97;2u\xf0\x9f\x9a\x80\x1bd\x1b[<0;3;4M";
    for input in [all.as_slice(), keys] {
        for size in 1..6 {
            let pieces: Vec<&[u8]> = input.chunks(size).collect();
            assert_eq!(typed(&DetachKeys::default(), &pieces), (input.to_vec(), DetachIntent::Stay));
        }
    }
}

#[test]
fn configured_keys_are_understood_or_refused() {
    let one: DetachKeys = "ctrl-q".parse().unwrap();
    assert_eq!(typed(&one, &[b"\x11"]).1, DetachIntent::Detach);
    let two: DetachKeys = "C-a,x".parse().unwrap();
    assert_eq!(typed(&two, &[b"\x01x"]).1, DetachIntent::Detach);
    assert_eq!(two.to_string(), "Ctrl-A x");
    assert_eq!("ctrl-\\ d".parse::<DetachKeys>(), Ok(DetachKeys::default()));
    for bad in ["", "d", "ctrl-", "ctrl-\u{e9}", "ctrl-a b c", "ctrl-a ctrl-a", "hyper-x"] {
        assert!(bad.parse::<DetachKeys>().is_err(), "{bad}");
    }
}

#[test]
fn keys_are_the_same_after_a_journey() {
    for text in ["ctrl-\\ d", "ctrl-q", "C-a,x", "^b D", "d ctrl-d", "ctrl-_ ~"] {
        for keys in [text.parse::<DetachKeys>().unwrap(), text.parse::<DetachKeys>().unwrap().with_tilde()] {
            let wire = serde_json::to_string(&keys).unwrap();
            assert_eq!(serde_json::from_str::<DetachKeys>(&wire).unwrap(), keys, "{wire}");
        }
    }
    assert!(serde_json::from_str::<DetachKeys>(r#"{"keys":"hyper-x"}"#).is_err());
}

#[test]
fn the_ssh_habit_works_at_the_start_of_a_line_only() {
    let keys = DetachKeys::default().with_tilde();
    assert_eq!(typed(&keys, &[b"~."]).1, DetachIntent::Detach);
    assert_eq!(typed(&keys, &[b"ls\r", b"~", b"."]), (b"ls\r".to_vec(), DetachIntent::Detach));
    assert_eq!(typed(&keys, &[b"a~."]), (b"a~.".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"~~."]), (b"~.".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"~x"]), (b"~x".to_vec(), DetachIntent::Stay));
    assert_eq!(typed(&keys, &[b"a\x1cd"]).1, DetachIntent::Detach);
    for other in [&b"~\x1cx."[..], b"~\x1b[200~.\x1b[201~"] {
        assert_eq!(typed(&keys, &[other]), (other.to_vec(), DetachIntent::Stay), "{}", other.escape_ascii());
    }
}

/// What a terminal answers to the questions, the last answer at the end.
const ANSWERED: &[u8] = b"\x1b]10;rgb:1111/2222/3333\x1b\\\x1b]11;rgb:ff/80/00\x07\x1b]12;rgba:0000/0000/ffff/ffff\x1b\\\
\x1b]4;1;rgb:cccc/0000/0000\x1b\\\x1b]4;15;rgb:ffff/ffff/ffff\x1b\\\x1b[?997;2n\x1bP1$r5 q\x1b\\\x1b[?62;22;52c";

fn expected() -> TerminalReport {
    let colors = [
        (1, [0xcccc, 0, 0]),
        (15, [0xffff; 3]),
        (256, [0x1111, 0x2222, 0x3333]),
        (257, [0xffff, 0x8080, 0]),
        (258, [0, 0, 0xffff]),
    ];
    TerminalReport { colors: colors.into(), scheme: Some(ColorScheme::Light), cursor: Some(5) }
}

fn asked() -> KeyWatch {
    let mut watch = KeyWatch::new(DetachKeys::default());
    watch.expect_answers();
    watch
}

#[test]
fn m10f_answers_are_taken_out_of_the_keys_in_every_cut_and_between_keys() {
    for cut in 0..=ANSWERED.len() {
        let (head, tail) = ANSWERED.split_at(cut);
        let (mut watch, mut out) = (asked(), Vec::new());
        watch.watch(&[b"a", head].concat(), &mut out);
        watch.watch(&[tail, b"b"].concat(), &mut out);
        assert_eq!(out, b"ab", "cut at {cut}");
        assert_eq!(watch.take_report(), Some(expected()), "cut at {cut}");
        assert!(!watch.is_waiting_for_answers() && watch.take_report().is_none());
    }
    let (mut watch, mut out) = (asked(), Vec::new());
    for byte in ANSWERED.chunks(1) {
        watch.watch(byte, &mut out);
    }
    assert_eq!((out, watch.take_report()), (vec![], Some(expected())));
}

#[test]
fn m10f_an_answer_whose_rest_is_late_is_no_key_however_late_it_is() {
    for head in [&b"\x1b]11;rg"[..], b"\x1b]4;1", b"\x1bP1$r", b"\x1b[?99", b"\x1b]10;rgb:1/2/3\x1b"] {
        let (mut watch, mut out) = (asked(), Vec::new());
        watch.watch(b"\x1b[?62c", &mut out);
        watch.watch(head, &mut out);
        assert_eq!(watch.pause(), None, "{}", head.escape_ascii());
        watch.release(&mut out);
        assert_eq!(out, b"", "{}", head.escape_ascii());
    }
    // Answers may also come long after the last one: a new scheme is reported, and nothing is typed.
    let (mut watch, mut out) = (asked(), Vec::new());
    watch.watch(ANSWERED, &mut out);
    drop(watch.take_report());
    watch.watch(b"x\x1b[?997;1ny\x1b]11;rgb:0/0/0\x1b\\z", &mut out);
    assert_eq!(out, b"xyz");
    let report = watch.take_report().unwrap();
    assert_eq!((report.scheme, report.colors[&257]), (Some(ColorScheme::Dark), [0; 3]));
    // Its colours have changed: it is asked again, and its answers are not reported until they are complete.
    assert!(watch.is_outdated());
    watch.expect_answers();
    watch.watch(b"\x1b[?997;2n", &mut out);
    assert!(!watch.is_outdated() && watch.take_report().is_none());
}

#[test]
fn m10g_the_rest_of_an_answer_that_a_dead_reader_has_begun_is_no_key() {
    for cut in 0..ANSWERED.len() {
        let (mut watch, mut out) = (asked(), Vec::new());
        watch.expect_rest_of_answer();
        watch.watch(&ANSWERED[cut..], &mut out);
        watch.watch(b"key", &mut out);
        assert_eq!(out, b"key", "cut at {cut}");
        assert!(!watch.is_waiting_for_answers(), "cut at {cut}");
    }
    for typed in [&b"x"[..], b"ab\r", b"ls\r", b"\x1b[A"] {
        let (mut watch, mut out) = (asked(), Vec::new());
        watch.expect_rest_of_answer();
        watch.watch(typed, &mut out);
        watch.release(&mut out);
        assert_eq!(out, typed, "{}", typed.escape_ascii());
    }
}

#[test]
fn m10f_keys_that_begin_like_answers_are_keys() {
    for keys in [&b"\x1b"[..], b"\x1b]", b"\x1b[", b"\x1bP", b"\x1b]1", b"\x1b[A"] {
        let (mut watch, mut out) = (asked(), Vec::new());
        watch.watch(keys, &mut out);
        watch.release(&mut out);
        assert_eq!(out, keys, "{}", keys.escape_ascii());
        // The person has typed: an Escape does not wait a second time.
        out.clear();
        watch.watch(b"\x1b", &mut out);
        assert_eq!(out, if keys == b"\x1b[A" { &b""[..] } else { b"\x1b" }, "{}", keys.escape_ascii());
    }
    for keys in [&b"\x1b]x"[..], b"\x1b]13;?\x07", b"\x1b[?1;2$y", b"\x1b[?1u", b"\x1bPd", b"\x1b]11;x\x07"] {
        let (mut watch, mut out) = (asked(), Vec::new());
        watch.watch(keys, &mut out);
        watch.release(&mut out);
        assert_eq!(out, keys, "{}", keys.escape_ascii());
    }
    // In a paste everything is text, and without a query nothing is an answer.
    let paste = [&b"\x1b[200~"[..], ANSWERED, b"\x1b[201~"].concat();
    let (mut watch, mut out) = (asked(), Vec::new());
    watch.watch(&paste, &mut out);
    assert_eq!((&out, watch.is_waiting_for_answers()), (&paste, true));
    assert_eq!(typed(&DetachKeys::default(), &[ANSWERED]), (ANSWERED.to_vec(), DetachIntent::Stay));
}

#[test]
fn m10f_a_terminal_gets_back_what_it_has_answered() {
    let report = expected();
    let said = String::from_utf8(report.restoring_colors()).unwrap();
    assert!(said.contains("\x1b]11;rgb:ffff/8080/0000\x1b\\"), "{said:?}");
    assert!(said.contains("\x1b]4;1;rgb:cccc/0000/0000\x1b\\"), "{said:?}");
    assert_eq!(report.restoring_cursor(), b"\x1b[5 q");
    assert_eq!(TerminalReport::default().restoring_cursor(), b"\x1b[0 q");
    let wire = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<TerminalReport>(&wire).unwrap(), report, "{wire}");
}

#[test]
fn s1_what_one_reader_could_not_decide_another_one_decides() {
    for (typed, rest) in [(&b"a\x1c"[..], &b"d"[..]), (b"\x1b[92;5", b"ud"), (b"\x1b[92;5u", b"d")] {
        let (mut first, mut next) =
            (KeyWatch::new(DetachKeys::default()), KeyWatch::new(DetachKeys::default()));
        let mut out = Vec::new();
        assert_eq!(first.watch(typed, &mut out), DetachIntent::Stay);
        let undecided = first.undecided();
        first.forget_undecided();
        assert_eq!(first.undecided(), b"");
        out.clear();
        assert_eq!(next.watch(&undecided, &mut out), DetachIntent::Stay);
        assert_eq!(next.watch(rest, &mut out), DetachIntent::Detach);
        assert_eq!(out, b"");
    }
}
