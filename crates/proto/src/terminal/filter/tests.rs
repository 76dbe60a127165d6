//! The filter's facts: queries go, everything else stays, whatever way the stream is cut.

use super::*;
use proptest::prelude::*;

/// Sequences a terminal would answer.
const QUERIES: &[&[u8]] = &[
    b"\x1b[c",
    b"\x1b[>-c",
    b"\x1b[6+n",
    b"\x1b[0c",
    b"\x1b[>c",
    b"\x1b[>0c",
    b"\x1b[=c",
    b"\x1bZ",
    b"\x1b\x7fZ",
    b"\x1b\x7f\x7f[c",
    b"\x1b\x7f]11;?\x07",
    b"\xc2\x9bc",
    b"\xc2\x9a",
    b"\x05",
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[?996n",
    b"\x1b[?2026$p",
    b"\x1b[4$p",
    b"\x1b[>0q",
    b"\x1b[>q",
    b"\x1b[?u",
    b"\x1b[14t",
    b"\x1b[16t",
    b"\x1b[18t",
    b"\x1b[20t",
    b"\x1b[21t",
    b"\x1b[014;2t",
    b"\x1b[x",
    b"\x1b[?1;1;0S",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
    b"\x1b]4;1;?\x07",
    b"\x1b]0012;?\xc2\x9c",
    b"\x1b]7501;?\x1b\\",
    b"\x1b]21;foreground=?\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\x1bP$qm\x1b\\",
    b"\x1bP1$q\"p\x1b\\",
    b"\x1b_Gi=1,a=q,s=1;AAAA\x1b\\",
    b"\x1b_Ga=q\x1b\\",
    b"\x1b]52;c;?\x07",
    b"\x1b]52;c;aGVsbG8=\x1b\\",
    b"\xc2\x9d11;?\x07",
    b"\xc2\x90+q544e\xc2\x9c",
];

/// Sequences and texts that must arrive as they are.
const HARMLESS: &[&[u8]] = &[
    b"plain text\r\n",
    "größe ✓ 日本 £ “x”\u{a0}".as_bytes(),
    b"\x1b[m",
    b"\x1b[38;2;1;2;3m",
    b"\x1b[2J",
    b"\x1b[?25l",
    b"\x1b[?1c",
    b"\x1b[>4;2m",
    b"\x1b[>1u",
    b"\x1b[<u",
    b"\x1b[=5u",
    b"\x1b[u",
    b"\x1b[2 q",
    b"\x1b[!p",
    b"\x1b[62;1\"p",
    b"\x1b[22;2t",
    b"\x1b[8;24;80t",
    b"\x1b[3;5r",
    b"\x1b]0;a title?\x07",
    b"\x1b]2;x\x1b\\",
    b"\x1b]8;;https://example.org/?q=1\x1b\\",
    b"\x1b]4;1;rgb:11/22/33\x07",
    b"\x1b]11;#fff\x1b\\",
    b"\x1b]7501;state=idle\x1b\\",
    b"\x1b]133;A\x07",
    b"\x1b]104\x07",
    b"\x1bP0;1q#0;2;0;0;0~-\x1b\\",
    b"\x1b_Ga=T,f=24,s=1,v=1;AAAA\x1b\\",
    b"\x1b_hello\x1b\\",
    b"\x1b^pm?\x1b\\",
    b"\x1b(B",
    b"\x1b#8",
    b"\x1b7",
    b"\x1b=",
    b"\x1b[?2004h",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x07",
    b"\x1b\x18",
    b"\x1b[12\x1a",
    b"\xff\xfe",
    b"\x1b[3\x08C",
];

fn pass_in_pieces(input: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut filter = Filter::new(Clipboard::Refused);
    let mut out = Vec::new();
    let mut at = 0;
    let mut sizes = cuts.iter().cycle();
    while at < input.len() {
        let size = sizes.next().copied().unwrap_or(input.len()).max(1);
        let end = (at + size).min(input.len());
        out.extend_from_slice(&filter.pass(&input[at..end]));
        at = end;
    }
    out
}

fn pass(input: &[u8]) -> Vec<u8> {
    pass_in_pieces(input, &[])
}

#[test]
fn a12_every_query_is_removed_alone_and_between_text() {
    for query in QUERIES {
        assert_eq!(pass(query), b"", "{}", query.escape_ascii());
        let between = [b"ab", *query, b"cd"].concat();
        assert_eq!(pass(&between), b"abcd", "{}", between.escape_ascii());
    }
}

#[test]
fn a12_everything_harmless_passes_unchanged_and_uncopied() {
    for harmless in HARMLESS {
        let mut filter = Filter::new(Clipboard::Refused);
        let passed = filter.pass(harmless);
        assert!(matches!(passed, Cow::Borrowed(_)), "{}", harmless.escape_ascii());
        assert_eq!(&*passed, *harmless, "{}", harmless.escape_ascii());
    }
}

#[test]
fn a12_a_removal_never_builds_a_query_from_what_is_left() {
    let cases: [(&[u8], &[u8]); 6] = [
        (b"\x1b\x1b[c[c", b"\x1b\x18[c"),
        (b"\xc2\x1b[c\x9bc", b"\xc2\x18\x9bc"),
        (b"\xc2\x05\x9bc", b"\xc2\x18\x9bc"),
        (b"\x1b[\x1b[6n6n", b"\x1b[\x186n"),
        (b"\x1b]0;t\x1b[cab\x07", b"\x1b]0;t\x18ab\x07"),
        (b"\x1b\x05[c", b""),
    ];
    for (input, expected) in cases {
        assert_eq!(pass(input), expected, "{}", input.escape_ascii());
    }
}

#[test]
fn controls_inside_a_removed_sequence_still_take_effect() {
    assert_eq!(pass(b"\x1b[0\r\nc"), b"\r\n");
    assert_eq!(pass(b"\x1b[3\x05m"), b"\x1b[3m");
}

#[test]
fn a_writable_clipboard_may_be_set_and_never_read() {
    let mut filter = Filter::new(Clipboard::Writable);
    assert_eq!(&*filter.pass(b"\x1b]52;c;aGk=\x07"), b"\x1b]52;c;aGk=\x07");
    assert_eq!(&*filter.pass(b"\x1b]52;c;?\x07"), b"");
}

#[test]
fn an_endless_undecided_string_is_bounded_and_removed() {
    let mut filter = Filter::new(Clipboard::Refused);
    assert!(filter.pass(b"\x1b]11;").is_empty());
    for _ in 0..64 {
        assert!(filter.pass(&[b'x'; 1024]).is_empty());
        assert!(filter.held.len() <= MAX_HELD);
    }
    assert_eq!(&*filter.pass(b"?\x07after"), b"after");
}

#[test]
fn an_image_passes_without_being_held() {
    let mut filter = Filter::new(Clipboard::Refused);
    let image = [b"\x1bPq".to_vec(), vec![b'~'; 200_000]].concat();
    assert_eq!(filter.pass(&image).len(), image.len());
    assert_eq!(&*filter.pass(b"\x1b\\done"), b"\x1b\\done");
}

#[test]
fn the_alternate_screen_is_known_from_what_was_passed() {
    let mut filter = Filter::new(Clipboard::Refused);
    for (bytes, is_alternate) in [
        (&b"\x1b[?1;1049h"[..], true),
        (b"\x1b[?25l", true),
        (b"\x1b[?1049l", false),
        (b"\x1b[?47h", true),
        (b"\x1bc", false),
        (b"\x1b[1049h", false),
    ] {
        filter.pass(bytes);
        assert_eq!(filter.is_alternate(), is_alternate, "{}", bytes.escape_ascii());
    }
}

#[test]
fn skipped_bytes_do_not_leave_the_filter_inside_a_sequence() {
    let mut filter = Filter::new(Clipboard::Refused);
    filter.pass(b"\x1b]52;c;abc");
    assert!(!filter.is_at_rest());
    filter.abandon();
    assert_eq!(&*filter.pass(b"text"), b"text");
}

fn token() -> impl Strategy<Value = (Vec<u8>, bool)> {
    prop_oneof![
        prop::sample::select(QUERIES).prop_map(|query| (query.to_vec(), false)),
        prop::sample::select(HARMLESS).prop_map(|harmless| (harmless.to_vec(), true)),
        "[ -~]{0,20}".prop_map(|text| (text.into_bytes(), true)),
    ]
}

/// Bytes that build sequences often: random bytes almost never would.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let alphabet = b"\x1b\x1b\x1b[]P_\\cnqu?>;0156$+GaZ=q,\x05\x07\x18\xc2\xc2\x9b\x9c\x9d\x90x".to_vec();
    prop::collection::vec(prop::sample::select(alphabet), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a12_exactly_the_queries_are_removed(tokens in prop::collection::vec(token(), 0..20), cuts in prop::collection::vec(1usize..40, 1..8)) {
        let input: Vec<u8> = tokens.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let expected: Vec<u8> = tokens.iter().filter(|(_, stays)| *stays).flat_map(|(bytes, _)| bytes.clone()).collect();
        prop_assert_eq!(pass_in_pieces(&input, &cuts), expected);
    }

    #[test]
    fn a12_no_split_changes_the_result(input in hostile(), cuts in prop::collection::vec(1usize..7, 1..8)) {
        prop_assert_eq!(pass_in_pieces(&input, &cuts), pass(&input));
    }

    #[test]
    fn a12_what_was_passed_contains_no_query(input in hostile()) {
        let once = pass(&input);
        let mut second = Filter::new(Clipboard::Refused);
        let twice = [&*second.pass(&once), &second.held].concat();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a12_random_bytes_without_introducers_pass_unchanged(input in prop::collection::vec(any::<u8>().prop_filter("introducer", |byte| !matches!(*byte, 0x1b | 0x05 | 0xc2)), 0..300)) {
        prop_assert_eq!(pass_in_pieces(&input, &[7]), input);
    }
}
