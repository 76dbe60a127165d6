//! A corpus of sequences: the text is what a person would have read, and the screen agrees.

use super::TextStream;
use crate::{GridSize, Limits, Screen, Wraps};

/// Bytes and the text they mean. The screen must show the same, line for line.
const CORPUS: [(&str, &str); 54] = [
    ("plain", "plain"),
    ("a\r\nb\r\n", "a\nb"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b[38;2;8;8;8mgrey\x1b[m", "grey"),
    ("\x1b[38;5;8mgrey\x1b[39m", "grey"),
    ("\x1b[1;4:3;58:2::8:8:8mwave\x1b[0m", "wave"),
    ("\x1b[8msecret\x1b[28mopen", "      open"),
    ("\x1b[0;8msecret\x1b[mopen", "      open"),
    ("\x1b]0;title\x07text", "text"),
    ("\x1b]2;title\x1b\\text", "text"),
    ("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1b]7;file://host/tmp\x07text", "text"),
    ("\x1b]9;message\x07text", "text"),
    ("\x1b]9;4;1;50\x07text", "text"),
    ("\x1b]52;c;aGVsbG8=\x07text", "text"),
    ("\x1b]99;i=1;hello\x1b\\text", "text"),
    ("\x1b]133;A\x07$ ls\x1b]133;C\x07", "$ ls"),
    ("\x1b]777;notify;a;b\x07text", "text"),
    ("\x1b]1337;SetUserVar=a=b\x07text", "text"),
    ("\x1b]1337;File=inline=1:AAAA\x07text", "text"),
    ("\x1b]7501;state=idle\x1b\\text", "text"),
    ("\x1b]4;1;?\x07text", "text"),
    ("\x1b]11;?\x1b\\text", "text"),
    ("\x1bPq#0;2;0;0;0~\x1b\\text", "text"),
    ("\x1bP+q544e\x1b\\text", "text"),
    ("\x1bP$qm\x1b\\text", "text"),
    ("\x1b_Ga=T,f=100;AAAA\x1b\\text", "text"),
    ("\x1b^private\x1b\\text", "text"),
    ("\x1bXstring\x1b\\text", "text"),
    ("\x1b[?25l\x1b[?2004htext", "text"),
    ("\x1b[?2026htext\x1b[?2026l", "text"),
    ("\x1b[>4;1m\x1b[>1u\x1b[<utext", "text"),
    ("\x1b[c\x1b[6n\x1b[>q\x1b[?utext", "text"),
    ("\x1b[?996n\x1b[14t\x1b[18ttext", "text"),
    ("\x1b[22;0t\x1b[23;0ttext", "text"),
    ("\x1b(B\x1b)0\x1b=\x1b>text", "text"),
    ("\x1b7text\x1b[1 q", "text"),
    ("\x1b[!ptext", "text"),
    ("working 10%\rworking 20%\rdone\x1b[K", "done"),
    ("aaaa\rbb", "bbaa"),
    ("abc\x08\x08X", "aXc"),
    ("abcdef\x1b[3D\x1b[K", "abc"),
    ("abcdef\x1b[2G\x1b[2X", "a  def"),
    ("abcdef\x1b[2G\x1b[2P", "adef"),
    ("abc\x1b[1K", ""),
    ("abc\x1b[2K\rx", "x"),
    ("a\x1b[5Cb", "a     b"),
    ("-\x1b[4b", "-----"),
    ("a\x07b\x05c\x0e\x0fd", "abcd"),
    ("gr\u{fc}n \u{65e5}\u{672c} \u{1f600}", "gr\u{fc}n \u{65e5}\u{672c} \u{1f600}"),
    ("e\u{301}", "e\u{301}"),
    ("bro\u{18}ken\x1b[3\u{18}1m", "broken1m"),
    ("cut\x1b[\x1b[31mred", "cutred"),
    ("one\x1b]0;never ended\x18two", "onetwo"),
];

fn shown(bytes: &str) -> String {
    let mut screen = Screen::new(GridSize::DEFAULT, Limits::default());
    screen.feed(bytes.as_bytes());
    screen.text(Wraps::Join)
}

fn streamed(bytes: &[u8], size: usize) -> String {
    let mut stream = TextStream::new();
    let mut text: String = bytes.chunks(size).map(|chunk| stream.feed(chunk)).collect();
    text.push_str(&stream.finish());
    text
}

#[test]
fn c10_text_is_what_a_person_sees() {
    for (bytes, expected) in CORPUS {
        assert_eq!(shown(bytes), expected, "screen: {bytes:?}");
        let text = streamed(bytes.as_bytes(), usize::MAX);
        assert_eq!(text.trim_end_matches('\n'), expected, "stream: {bytes:?}");
    }
}

#[test]
fn c10_text_does_not_depend_on_how_bytes_are_cut() {
    for (bytes, _) in CORPUS {
        let whole = streamed(bytes.as_bytes(), usize::MAX);
        for size in 1..5 {
            assert_eq!(streamed(bytes.as_bytes(), size), whole, "{bytes:?} by {size}");
        }
    }
}

#[test]
fn words_in_different_rows_never_join() {
    assert_eq!(streamed(b"\x1b[1;1Hone\x1b[2;1Htwo\x1b[2J", 64), "one\ntwo\n");
}

#[test]
fn a_prompt_can_be_read_before_its_line_ends() {
    let mut stream = TextStream::new();
    assert_eq!(stream.feed(b"first\npassword: "), "first\n");
    assert_eq!(stream.partial(), "password:");
}

#[test]
fn a_stream_without_newlines_stays_bounded() {
    let mut stream = TextStream::new();
    let text = stream.feed(&vec![b'x'; 200_000]);
    assert_eq!(text.lines().count(), 3);
    assert!(stream.partial().len() < 64 * 1024);
    stream.feed(b"\x1b[99999999C\x1b[99999999G\x1b[999999999b");
    assert!(stream.partial().len() <= 64 * 1024);
}
