//! The filter: what is listed passes, everything else is removed, wherever the stream is cut.

use super::*;
use crate::terminal::restore;
use proptest::prelude::*;

/// Sequences that must not reach a terminal, each with what is shown of them.
const REMOVED: &[&[u8]] = &[
    // What a terminal would answer.
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
    b"\x1b[?4m",
    b"\x1b[14t",
    b"\x1b[18t",
    b"\x1b[20t",
    b"\x1b[21t",
    b"\x1b[021t",
    b"\x1b[014;2t",
    b"\x1b[x",
    b"\x1b[?1;1;0S",
    b"\x1b[1;1;1;1;1;1*y",
    b"\x1b[1$w",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
    b"\x1b]4;1;?\x07",
    b"\x1b]21;foreground=?\x1b\\",
    b"\x1b]7501;?\x1b\\",
    b"\x1b]99;i=1:p=?;\x1b\\",
    b"\x1b]99;i=1:a=report;x\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\x1bP$qm\x1b\\",
    b"\x1bP1$q\"p\x1b\\",
    b"\x1b_Gi=1,a=q,s=1;AAAA\x1b\\",
    b"\x1b_Ga=q\x1b\\",
    // Files, the clipboard, programs, keys, printers.
    b"\x1b]52;c;?\x07",
    b"\x1b]52;c;aGVsbG8=\x1b\\",
    b"\x1b]5\x002;c;aGk=\x07",
    b"\x1b]\x0052;c;aGk=\x07",
    b"\x1b]52\x00;c;aGk=\x07",
    b"\x1b]5\x7f2;c;aGk=\x07",
    b"\x1b]\n52;c;aGk=\x07",
    b"\x1b\x00]52;c;aGk=\x07",
    b"\x1b]0052;c;aGk=\x07",
    b"\x1b]5522;type=write;aGk=\x1b\\",
    b"\x1b]1337;Copy=:aGk=\x07",
    b"\x1b]1337;CopyToClipboard=\x07",
    b"\x1b]1337;ReportCellSize\x07",
    b"\x1b]1337;ReportVariable=dXNlcg==\x07",
    b"\x1b]1337;File=name=eA==:aGk=\x07",
    b"\x1b]9;7;touch x\x07",
    b"\x1b]9;6;macro\x07",
    b"\x1b]9;4;1;50\x07",
    b"\x1b]50;?\x07",
    b"\x1b]50;#+1\x07",
    b"\x1b]3;PROP=x\x07",
    b"\x1b]633;E;touch x\x07",
    b"\x1b]Ptitle\x1b\\",
    b"\x1b]ltitle\x1b\\",
    b"\x1b_Ga=T,t=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
    b"\x1b_Ga=T,t=t;L3RtcC94\x1b\\",
    b"\x1b_Gt=s,a=t;L3g=\x1b\\",
    b"\x1b_Gt=d,t=f,a=t;L3g=\x1b\\",
    b"\x1b_Ga=t,t\x00=f;L3g=\x1b\\",
    b"\x1bP0;1|17/746f756368\x1b\\",
    b"\x1bP1$tx\x1b\\",
    b"\x1bPtmux;\x1b\x1b[c\x1b\\",
    b"\x1bP1000p\x1b\\",
    b"\x1b[5i",
    b"\x1b[?5i",
    b"\x1b[2h",
    b"\x1b[12l",
    b"\x1b[?2l",
    b"\x1b[?3h",
    b"\x1b[?1001h",
    b"\x1b[?2048h",
    b"\x1b[?2031h",
    b"\x1b[?5522h",
    b"\x1b[?9001h",
    b"\x1b[>1;3m",
    b"\x1b[>2t",
    b"\x1b[>3p",
    // What cannot be undone, or changes how bytes are read.
    b"\x1b[3J",
    b"\x1b[8;24;80t",
    b"\x1b[2t",
    b"\x1b[22;2t",
    b"\x1b[#P",
    b"\x1b[#Q",
    b"\x1b[62;0\"p",
    b"\x1b%@",
    b"\x1b%G",
    b"\x1b G",
    b"\x1bl",
    b"\x1b[?1007s",
    b"\x1b_hello\x1b\\",
    b"\x1b^pm?\x1b\\",
    b"\x1bXsos\x1b\\",
    b"\x9b",
    b"\x9d",
    b"\xc2\x9b",
    b"\xc2\x9d",
    b"\xc2\x90",
    b"\x1b[12\x1a",
    b"\x1b\x18",
    b"\x1b\\",
];

/// Sequences and texts that must arrive as they are.
const PASSED: &[&[u8]] = &[
    b"plain text\r\n",
    "größe ✓ 日本 £ “x”\u{a0}".as_bytes(),
    b"\x1b[m",
    b"\x1b[38;2;1;2;3m",
    b"\x1b[53m",
    b"\x1b[2J",
    b"\x1b[?25l",
    b"\x1b[?5h",
    b"\x1b[>4;2m",
    b"\x1b[u",
    b"\x1b[2 q",
    b"\x1b[!p",
    b"\x1b[3;5r",
    b"\x1b]0;a title?\x07",
    b"\x1b]2;x\x1b\\",
    b"\x1b]8;;https://example.org/?q=1\x1b\\",
    b"\x1b]8;;\x1b\\",
    b"\x1b]9;done\x07",
    b"\x1b]99;i=1:d=0;title\x1b\\",
    b"\x1b]777;notify;t;b\x07",
    b"\x1b]7501;state=idle\x1b\\",
    b"\x1b]133;A\x07",
    b"\x1b(B",
    b"\x1b#8",
    b"\x1b7",
    b"\x1b=",
    b"\x1b[?2004h",
    b"\x1b[?1003;1016h",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x07",
    b"\xff\xfe",
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

fn passes_as(input: &[u8], expected: &[u8]) {
    for cuts in [&[][..], &[1], &[3, 2]] {
        let passed = pass_in_pieces(input, cuts);
        assert_eq!(
            passed.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{}",
            input.escape_ascii()
        );
    }
}

#[test]
fn m6a_what_is_not_on_the_list_does_not_reach_a_terminal() {
    for removed in REMOVED {
        let shown: Vec<u8> =
            removed.iter().copied().filter(|byte| *byte == b'\n' && removed[1] != b']').collect();
        passes_as(removed, &shown);
        passes_as(&[b"ab", *removed, b"cd"].concat(), &[b"ab", &shown[..], b"cd"].concat());
    }
}

#[test]
fn m6a_what_is_on_the_list_passes_unchanged_and_uncopied() {
    for harmless in PASSED {
        let mut filter = Filter::new(Clipboard::Refused);
        let passed = filter.pass(harmless);
        assert!(matches!(passed, Cow::Borrowed(_)), "{}", harmless.escape_ascii());
        assert_eq!(&*passed, *harmless, "{}", harmless.escape_ascii());
    }
}

#[test]
fn m6a_c1_controls_are_left_out_however_they_are_written_and_letters_are_not() {
    passes_as(b"a\xc2\x9b6nb", b"a6nb");
    passes_as(b"a\x9b6nb", b"a6nb");
    passes_as(b"\xc0\x9bc", b"\xc0c");
    passes_as(b"\xe0\x80\x9bc", b"\xe0c");
    passes_as("ß\u{a0}é“”日本🦀".as_bytes(), "ß\u{a0}é“”日本🦀".as_bytes());
    passes_as(b"\xc2\x1b[cx", b"\xc2x");
    passes_as(b"\x1b]2;a\xc2\x9cb\x9d52;c;eA==\x07", "\x1b]2;ab\u{fffd}52;c;eA==\x1b\\".as_bytes());
}

#[test]
fn m6a_a_removal_never_builds_a_sequence_from_what_is_left() {
    passes_as(b"\x1b\x1b[c[c", b"[c");
    passes_as(b"\xc2\x1b[c\x9bc", b"\xc2c");
    passes_as(b"\xc2\x05\x9bc", b"\xc2c");
    passes_as(b"\x1b[\x1b[6n6n", b"6n");
    passes_as(b"\x1b]0;t\x1b[cab\x07", b"\x1b]0;t\x1b\\ab\x07");
    passes_as(b"\x1b\x05[c", b"");
    passes_as(b"\x1b[\xc2\x9bc", b"c");
}

#[test]
fn controls_inside_a_sequence_take_effect_before_it() {
    passes_as(b"\x1b[0\r\nc", b"\r\n");
    passes_as(b"\x1b[3\x05m", b"\x1b[3m");
    passes_as(b"\x1b[3\x08C", b"\x08\x1b[3C");
    passes_as(b"\x1b]2;a\x01b\n\x07", b"\x1b]2;ab\x1b\\");
}

#[test]
fn m6a_only_the_listed_modes_of_a_sequence_are_switched() {
    passes_as(b"\x1b[?25;2031;2048;7h", b"\x1b[?25;7h");
    passes_as(b"\x1b[2;4h", b"\x1b[4h");
}

#[test]
fn m6a_colours_pass_as_numbers_and_without_the_questions_between_them() {
    passes_as(b"\x1b]4;1;rgb:11/22/33;2;?\x07", b"\x1b]4;1;rgb:11/22/33\x1b\\");
    passes_as(b"\x1b]10;#fff;?;red\x07", b"\x1b]10;#fff\x1b\\\x1b]12;red\x1b\\");
    passes_as(b"\x1b]11;\";touch x\x07", b"");
    passes_as(b"\x1b]104\x07\x1b]111\x07", b"");
    passes_as(b"\x1b]11;#000\x07\x1b]111\x07", b"\x1b]11;#000\x1b\\\x1b]111\x07");
}

#[test]
fn m6a_links_lead_to_the_web_or_nowhere() {
    passes_as(b"\x1b]8;;file:///etc/passwd\x07", b"\x1b]8;;\x1b\\");
    passes_as(b"\x1b]8;a b=1;https://x.org\x07", b"\x1b]8;;https://x.org\x1b\\");
}

#[test]
fn m6a_images_bring_their_own_data_and_are_told_to_be_quiet() {
    passes_as(b"\x1b_Ga=T,f=24,i=7;AA\x00\x07AA\x1b\\", b"\x1b_Ga=T,f=24,i=7,q=2;AAAA\x1b\\");
    passes_as(b"\x1b_Gm=0,q=0;AA==\x1b\\", b"\x1b_Gm=0,q=2;AA==\x1b\\");
    passes_as(b"\x1b_Ga=d\x1b\\", b"\x1b_Ga=d,q=2\x1b\\");
    passes_as(b"\x1bP0;1q#0;2;0;0;0~-\x1b\\", b"\x1bP0;1q#0;2;0;0;0~-\x1b\\");
    passes_as(b"\x1bPq~~\x1b[cx", b"\x1bPq~~\x18x");
}

#[test]
fn m9f_a_terminal_whose_keys_nobody_reads_goes_on_sending_what_its_driver_knows() {
    let unread = |input: &[u8]| Filter::for_unread_terminal().pass(input).into_owned();
    let modes = b"\x1b[>4;2m\x1b[=31u\x1b[>1u\x1b[?1000h\x1b[?1004h\x1b[?2004h\x1b[?1h\x1b=\x1b[?1006;9h";
    assert_eq!(unread(&[b"a", &modes[..], b"\x1b[?1049h\x1b[>5ub"].concat()), b"a\x1b[?1049hb");
    assert_eq!(unread(b"\x1b[?1000;7;25h\x1b[31mred"), b"\x1b[?7;25h\x1b[31mred");
    // A saved mode is restored to nothing, and a full reset changes nothing of it.
    assert_eq!(unread(b"\x1b[?1000h\x1b[?1000s\x1b[?1000r"), b"");
    let after_reset = unread(b"\x1bc\x1b[?1003h\x1b[=1u");
    assert!(
        !after_reset.windows(8).any(|part| part == b"\x1b[?1003h") && !after_reset.ends_with(b"\x1b[=1u")
    );
    assert_eq!(Filter::new(Clipboard::Refused).pass(b"\x1b[?1000h").as_ref(), b"\x1b[?1000h");
}

#[test]
fn m9a_a_childs_titles_are_its_own_and_an_empty_one_is_the_terminals() {
    passes_as(b"\x1b]2;\x07", b"");
    passes_as(b"\x1b]2;x\x1b\\\x1b]2;\x07", b"\x1b]2;x\x1b\\\x1b[23;2t\x1b[22;2t");
    passes_as(b"\x1b_Q0\x1b\\\x1b_Qt;under\x1b\\\x1b[23t", b"\x1b]2;under\x1b\\");
    passes_as(
        b"\x1b]2;one\x1b\\\x1b[22;0t\x1b]2;two\x1b\\\x1b[23;0t\x1b[23;0t",
        b"\x1b]2;one\x1b\\\x1b]2;two\x1b\\\x1b]2;one\x1b\\",
    );
}

#[test]
fn m9a_saved_modes_are_restored_by_what_they_were_and_not_by_the_terminals_memory() {
    passes_as(
        b"\x1b[?1002h\x1b[?1002;1004;7s\x1b[?1003;1004h\x1b[?1002;1004;7r",
        b"\x1b[?1002h\x1b[?1003;1004h\x1b[?1004l\x1b[?1002h\x1b[?7h",
    );
    passes_as(b"\x1b_Qs;25;0\x1b\\\x1b[?25r", b"\x1b[?25l");
}

#[test]
fn m9c_a_child_pops_no_keyboard_level_that_it_has_not_pushed() {
    passes_as(b"\x1b[>5u\x1b[<u\x1b[<99u", b"\x1b[=5u\x1b[=0u\x1b[=0u");
    passes_as(b"\x1b[=1u\x1b[>3u\x1b[=8;2u\x1b[=1;3u\x1b[<u", b"\x1b[=1u\x1b[=3u\x1b[=11u\x1b[=10u\x1b[=1u");
    // The alternate screen has levels of its own, which are off outside of it.
    passes_as(
        b"\x1b[>1u\x1b[?1049h\x1b[>2u\x1b[?1049l\x1b[?1049;25h\x1b[?1049l",
        b"\x1b[=1u\x1b[?1049h\x1b[=2u\x1b[=0u\x1b[?1049l\x1b[?1049;25h\x1b[=2u\x1b[=0u\x1b[?1049l",
    );
    for said in [restore::RESET, restore::LEAVE_ALTERNATE, restore::FULL_RESET] {
        assert!(!said.windows(3).any(|bytes| bytes == b"\x1b[<"), "{}", said.escape_ascii());
    }
}

#[test]
fn m9a_a_full_reset_takes_nothing_that_was_saved_for_the_person() {
    let passed = pass(b"\x1b[?1049h\x1bc");
    assert!(!passed.windows(2).any(|pair| pair == b"\x1bc"));
    assert!(passed.windows(8).any(|window| window == b"\x1b[?1049l"));
}

#[test]
fn m10d_a_repeated_character_is_spelled_out_and_ends_at_control_functions() {
    passes_as("é\x1b[3b".as_bytes(), "éééé".as_bytes());
    passes_as(b"ab\x1b[2b\x1b[b", b"abbbb");
    passes_as(b"a\n\x1b[2b", b"a\n");
    passes_as(b"a\x1b[m\x1b[2b", b"a\x1b[m");
    passes_as(b"\x1b_Qr;41\x1b\\\x1b[2b", b"AA");
    assert!(pass(b"a\x1b[999999b").len() <= 1 + 4096);
}

#[test]
fn m6b_a_writable_clipboard_may_be_set_and_never_read() {
    let mut filter = Filter::new(Clipboard::Writable);
    assert_eq!(&*filter.pass(b"\x1b]52;c;aGk=\x07"), b"\x1b]52;c;aGk=\x1b\\");
    assert_eq!(&*filter.pass(b"\x1b]52;c;?\x07"), b"");
    assert_eq!(&*filter.pass(b"\x1b]52;c;\x00?\x07"), b"\x1b]52;c;\x1b\\");
    assert_eq!(&*filter.pass(b"\x1b]52;c;aG\x1b[c"), b"\x1b]52;c;aG\x18");
}

#[test]
fn an_endless_undecided_string_is_bounded_and_removed() {
    for (begin, end) in
        [(&b"\x1b]11;"[..], &b"?\x07after"[..]), (b"\x1b[1", b"mafter"), (b"\x1bP+q", b"\x1b\\after")]
    {
        let mut filter = Filter::new(Clipboard::Refused);
        assert!(filter.pass(begin).is_empty());
        for _ in 0..64 {
            assert!(filter.pass(&[b'0'; 1024]).is_empty());
            assert!(filter.held.len() <= MAX_HELD);
        }
        assert_eq!(&*filter.pass(end), b"after");
    }
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
    filter.pass(b"\x1bPq~~");
    assert!(!filter.is_at_rest());
    filter.abandon();
    assert_eq!(&*filter.pass(b"text"), b"text");
}

fn token() -> impl Strategy<Value = (Vec<u8>, bool)> {
    let is_alone = |bytes: &&[u8]| bytes[0] != 0xff && !bytes.contains(&b'\n');
    let removed: Vec<&[u8]> = REMOVED.iter().copied().filter(is_alone).collect();
    let passed: Vec<&[u8]> = PASSED.iter().copied().filter(is_alone).collect();
    prop_oneof![
        prop::sample::select(removed).prop_map(|removed| (removed.to_vec(), false)),
        prop::sample::select(passed).prop_map(|passed| (passed.to_vec(), true)),
        "[ -~]{0,20}".prop_map(|text| (text.into_bytes(), true)),
    ]
}

/// Bytes that build sequences often: random bytes almost never would.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let alphabet =
        b"\x1b\x1b\x1b[]P_\\cnquhl?>;012459$+GaZ=q,\x00\x05\x07\x18\xc2\xc2\xe2\x9b\x9c\x9d\x90x".to_vec();
    prop::collection::vec(prop::sample::select(alphabet), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn m6a_exactly_the_list_passes(tokens in prop::collection::vec(token(), 0..20), cuts in prop::collection::vec(1usize..40, 1..8)) {
        let input: Vec<u8> = tokens.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let expected: Vec<u8> = tokens.iter().filter(|(_, stays)| *stays).flat_map(|(bytes, _)| bytes.clone()).collect();
        prop_assert_eq!(pass_in_pieces(&input, &cuts), expected);
    }

    /// A NUL in a sequence has no effect, and keeps it off the short way.
    #[test]
    fn m6a_the_short_way_judges_as_the_long_one(
        before in "[a-z]{0,3}",
        numbers in "([0-9]{1,3}[;:]?){0,5}|[0-9;]{250,260}",
        last in 0x40u8..0x7f,
    ) {
        let short = [before.as_bytes(), b"\x1b[", numbers.as_bytes(), &[last], b"."].concat();
        let long = [before.as_bytes(), b"\x1b[", numbers.as_bytes(), b"\0", &[last], b"."].concat();
        prop_assert_eq!(pass(&short), pass(&long));
    }

    #[test]
    fn m6a_no_split_changes_the_result(input in hostile(), cuts in prop::collection::vec(1usize..7, 1..8)) {
        prop_assert_eq!(pass_in_pieces(&input, &cuts), pass(&input));
    }

    /// A reader with another grammar finds nothing that begins with a C1 control, and no escape that begins
    /// anything but a listed sequence.
    #[test]
    fn m6a_what_was_passed_passes_again(input in hostile()) {
        let once = pass(&input);
        let mut second = Filter::new(Clipboard::Refused);
        let twice = [&*second.pass(&once), &second.held].concat();
        prop_assert!(!once.windows(2).any(|pair| pair[0] == 0xc2 && (0x80..=0x9f).contains(&pair[1])));
        // Only the filter itself writes the terminal's own title.
        let own = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\x1b[23;2t\x1b[22;2t", "");
        prop_assert_eq!(own(&twice), own(&once));
    }
}
