//! The scanner emits whole pieces, wherever the stream is cut.

use proptest::prelude::*;

use super::{Dropping, STRING_MAX, Scanner, Sink, StringKind};

/// What a sink received, with runs joined: how a stream was cut into runs must not matter.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    pieces: Vec<(char, Vec<u8>)>,
}

impl Seen {
    fn add(&mut self, kind: char, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some((last, joined)) if *last == 'r' && kind == 'r' => joined.extend_from_slice(bytes),
            _ => self.pieces.push((kind, bytes.to_vec())),
        }
    }
}

impl Sink for Seen {
    fn run(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        self.add('r', bytes);
    }
    fn special(&mut self, sequence: &[u8]) {
        self.add('s', sequence);
    }
    fn string(&mut self, kind: StringKind, payload: &[u8], terminator: &'static str) {
        self.add('o', format!("{kind:?} {} {terminator:?}", payload.escape_ascii()).as_bytes());
    }
}

fn scan(chunks: &[&[u8]]) -> Seen {
    let mut seen = Seen::default();
    let mut scanner = Scanner::default();
    for chunk in chunks {
        scanner.feed(chunk, &mut seen);
    }
    seen
}

fn pieces(bytes: &str) -> Vec<(char, String)> {
    let seen = scan(&[bytes.as_bytes()]);
    seen.pieces
        .into_iter()
        .map(|(kind, bytes)| (kind, String::from_utf8_lossy(&bytes).into_owned()))
        .collect()
}

#[test]
fn text_and_ordinary_sequences_stay_in_one_run() {
    let text = "a\x1b[31mb\x1b(B\x1b7\x1b[?25lc\r\n";
    assert_eq!(pieces(text), [('r', text.to_owned())]);
}

#[test]
fn sequences_of_interest_are_cut_out_in_order() {
    assert_eq!(
        pieces("a\x1b[3bb\x1b]7501;?\x07\x1b[?996n\x1b[c"),
        [
            ('r', "a".to_owned()),
            ('s', "\x1b[3b".to_owned()),
            ('r', "b".to_owned()),
            ('o', "Osc 7501;? \"\\u{7}\"".to_owned()),
            ('s', "\x1b[?996n".to_owned()),
            ('r', "\x1b[c".to_owned()),
        ]
    );
}

/// The fast scan reads these sequences whole; a cut sends them through the careful path.
#[test]
fn an_overline_is_special_wherever_the_stream_is_cut() {
    let sequence = b"\x1b[55;m";
    for size in 1..=sequence.len() {
        let chunks: Vec<&[u8]> = sequence.chunks(size).collect();
        assert_eq!(scan(&chunks).pieces, [('s', sequence.to_vec())], "chunks of {size}");
    }
}

#[test]
fn controls_inside_a_sequence_come_before_it() {
    assert_eq!(pieces("\x1b[3\r1mx"), [('r', "\r\x1b[31mx".to_owned())]);
}

#[test]
fn c8_strings_that_are_too_long_are_dropped_to_their_end() {
    for (introducer, terminator) in
        [("\x1b]", "\x07"), ("\x1b]", "\x1b\\"), ("\x1bP", "\x1b\\"), ("\x1b_", "\x1b\\")]
    {
        let stream = format!("a{introducer}{}{terminator}b", "x".repeat(STRING_MAX + 1));
        let text: Vec<u8> =
            scan(&[stream.as_bytes()]).pieces.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(String::from_utf8_lossy(&text).replace("\x1b\\", ""), "ab", "{introducer:?}");
    }
}

#[test]
fn c8_an_endless_string_costs_no_memory() {
    let mut scanner = Scanner::default();
    let mut seen = Seen::default();
    scanner.feed(b"\x1bP", &mut seen);
    for _ in 0..64 {
        scanner.feed(&[b'y'; 64 * 1024], &mut seen);
    }
    let (tail, dropping) = scanner.unfinished();
    assert_eq!((tail.len(), dropping), (0, Dropping::String(StringKind::Dcs)));
    assert!(scanner.pending.capacity() <= 1024);
}

#[test]
fn c8_a_control_sequence_that_is_too_long_prints_nothing() {
    let stream = format!("a\x1b[{}mb", "1;".repeat(1000));
    assert_eq!(pieces(&stream), [('r', "ab".to_owned())]);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[ -~]{0,8}".prop_map(String::into_bytes),
        Just("日本é\u{1f600}e\u{301}".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
        Just(b"\x1b[".to_vec()),
        Just(b"\x1b]".to_vec()),
        Just(b"\x1bP".to_vec()),
        Just(b"\x1b\\".to_vec()),
        Just(b"\x07".to_vec()),
        "(\x1b\\[[?>]?[0-9;]{0,6}[a-zA-Z])".prop_map(String::into_bytes),
        "(\x1b\\][0-9]{1,3};[a-z]{0,6}(\x07|\x1b\\\\))".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

/// Unfinished characters at the end of a run are replaced when an ESC cuts them; in one piece the emulator
/// does that, so runs are compared as text.
fn as_text(seen: Seen) -> Vec<(char, String)> {
    seen.pieces
        .into_iter()
        .map(|(kind, bytes)| (kind, String::from_utf8_lossy(&bytes).into_owned()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_do_not_depend_on_the_cut(bytes in stream(), size in 1usize..9) {
        let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(as_text(scan(&chunks)), as_text(scan(&[&bytes])));
    }

    #[test]
    fn an_unfinished_tail_resumes(bytes in stream(), cut in any::<prop::sample::Index>()) {
        let (head, tail) = bytes.split_at(cut.index(bytes.len() + 1));
        let mut seen = Seen::default();
        let mut scanner = Scanner::default();
        scanner.feed(head, &mut seen);
        let (pending, dropping) = scanner.unfinished();
        let mut resumed = Scanner::resumed(pending, dropping);
        resumed.set_after_text(scanner.is_after_text());
        prop_assert_eq!(resumed.unfinished(), scanner.unfinished());
        resumed.feed(tail, &mut seen);
        prop_assert_eq!(as_text(seen), as_text(scan(&[&bytes])));
    }
}
