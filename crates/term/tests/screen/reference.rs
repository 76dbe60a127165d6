//! Reference table: bytes, the text they leave on a 10×4 screen, and the cursor.

use term::{GridSize, Wraps};

use crate::streams::screen;

/// Name, bytes, text, cursor as (column, row).
type Case = (&'static str, &'static str, &'static str, (u16, u16));

const CASES: [Case; 49] = [
    ("text", "hello", "hello", (5, 0)),
    ("newline keeps the column", "ab\ncd", "ab\n  cd", (4, 1)),
    ("return and newline", "ab\r\ncd", "ab\ncd", (2, 1)),
    ("newline mode returns too", "\x1b[20hab\ncd", "ab\ncd", (2, 1)),
    ("last column waits to wrap", "0123456789", "0123456789", (9, 0)),
    ("next character wraps", "0123456789a", "0123456789\na", (1, 1)),
    ("no wrap mode overwrites", "\x1b[?7l0123456789abc", "012345678c", (9, 0)),
    ("backspace cancels the wait", "0123456789\x08x", "01234567x9", (9, 0)),
    ("wide character", "日本", "日本", (4, 0)),
    ("wide character wraps whole", "012345678日", "012345678\n日", (2, 1)),
    ("half a wide character is erased", "日本\x1b[2Gx", " x本", (2, 0)),
    ("combining mark joins", "e\u{301}x", "e\u{301}x", (2, 0)),
    (
        "family is one cluster",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}x",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}x",
        (3, 0),
    ),
    ("tab", "a\tb", "a       b", (9, 0)),
    ("tab set by hand", "\x1b[4G\x1bH\ra\tb", "a  b", (4, 0)),
    ("tabs cleared", "\x1b[3ga\tb", "a        b", (9, 0)),
    ("tabs restored", "\x1b[3g\x1b[?5Wa\tb", "a       b", (9, 0)),
    ("cursor position", "\x1b[2;3Hx", "\n  x", (3, 1)),
    ("position is clamped", "\x1b[99;99Hx", "\n\n\n         x", (9, 3)),
    ("relative moves", "\x1b[2B\x1b[3C\x1b[1A\x1b[1Dx", "\n  x", (3, 1)),
    ("column and row", "\x1b[5Gx\x1b[3dy", "    x\n\n     y", (6, 2)),
    ("next and previous line", "abc\x1b[2Ed\x1b[1Fe", "abc\ne\nd", (1, 1)),
    ("erase right", "abcdef\x1b[3G\x1b[K", "ab", (2, 0)),
    ("erase left", "abcdef\x1b[3G\x1b[1K", "   def", (2, 0)),
    ("erase line", "abcdef\x1b[2K", "", (6, 0)),
    ("erase below", "a\r\nb\r\nc\x1b[2;1H\x1b[J", "a", (0, 1)),
    ("erase above", "a\r\nb\r\nc\x1b[2;1H\x1b[1J", "\n\nc", (0, 1)),
    ("erase above from row three", "a\r\nb\r\nc\r\nd\x1b[3;1H\x1b[1J", "\n\n\nd", (0, 2)),
    ("erase all", "a\r\nb\x1b[2J", "", (1, 1)),
    ("erase characters", "abcdef\x1b[2G\x1b[2X", "a  def", (1, 0)),
    ("delete characters", "abcdef\x1b[2G\x1b[2P", "adef", (1, 0)),
    ("insert blanks", "abcdef\x1b[2G\x1b[2@", "a  bcdef", (1, 0)),
    ("insert mode", "abc\x1b[2G\x1b[4hXY", "aXYbc", (3, 0)),
    ("insert line", "a\r\nb\r\nc\x1b[2;1H\x1b[L", "a\n\nb\nc", (0, 1)),
    ("delete line", "a\r\nb\r\nc\x1b[2;1H\x1b[M", "a\nc", (0, 1)),
    ("scroll up", "a\r\nb\r\nc\x1b[S", "b\nc", (1, 2)),
    ("scroll down", "a\r\nb\x1b[T", "\na\nb", (1, 1)),
    ("scroll at the bottom", "a\r\nb\r\nc\r\nd\r\ne", "b\nc\nd\ne", (1, 3)),
    ("reverse index at the top", "a\r\nb\x1b[H\x1bM", "\na\nb", (0, 0)),
    ("scroll region", "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nX", "a\nc\nX\nd", (1, 2)),
    ("origin mode", "\x1b[2;3r\x1b[?6h\x1b[1;1Hx\x1b[5Gy", "\nx   y", (5, 1)),
    ("origin mode moves", "\x1b[2;4r\x1b[?6h\x1b[2;1Ha\x1b[1Bb", "\n\na\n b", (2, 3)),
    ("origin mode goes home", "abc\x1b[2;3r\x1b[3;3H\x1b[?6hx", "abc\nx", (1, 1)),
    ("save and restore", "ab\x1b7\x1b[3;3Hx\x1b8c", "abc\n\n  x", (3, 0)),
    ("line drawing", "\x1b(0lqk\x1b(Bq", "┌─┐q", (4, 0)),
    ("shift out", "\x1b)0a\x0eq\x0fq", "a─q", (3, 0)),
    ("repeat", "ab\x1b[3b", "abbbb", (5, 0)),
    ("alternate screen and back", "main\x1b[?1049hother\x1b[?1049l", "main", (4, 0)),
    ("full reset", "abc\x1b[31m\x1b[?6h\x1bcx", "x", (1, 0)),
];

#[test]
fn the_reference_table_holds() {
    for (name, bytes, text, cursor) in CASES {
        let mut screen = screen(GridSize::clamped(10, 4));
        screen.feed(bytes.as_bytes());
        assert_eq!(screen.text(Wraps::Keep), text, "{name}");
        assert_eq!((screen.cursor().col, screen.cursor().row), cursor, "{name}");
    }
}

#[test]
fn the_reference_table_holds_byte_by_byte() {
    for (name, bytes, text, cursor) in CASES {
        let mut screen = screen(GridSize::clamped(10, 4));
        bytes.as_bytes().chunks(1).for_each(|byte| screen.feed(byte));
        assert_eq!(screen.text(Wraps::Keep), text, "{name}");
        assert_eq!((screen.cursor().col, screen.cursor().row), cursor, "{name}");
    }
}

#[test]
fn styles_reach_the_cells() {
    use term::{Attributes, Color, Underline};
    let mut screen = screen(GridSize::clamped(10, 4));
    screen.feed(
        b"\x1b[1;31mA\x1b[0;38;5;200;48;2;1;2;3mB\x1b[0;4:3;58:2::9:8:7;97mC\x1b[0;7;9mD\x1b[0m \xe6\x97\xa5",
    );
    let row = screen.row_cells(0);
    assert_eq!((row[0].style.fg, row[0].style.attributes), (Color::Basic(1), Attributes::BOLD));
    assert_eq!((row[1].style.fg, row[1].style.bg), (Color::Indexed(200), Color::Rgb(1, 2, 3)));
    assert_eq!(
        (row[2].style.underline, row[2].style.underline_color),
        (Underline::Curly, Some(Color::Rgb(9, 8, 7)))
    );
    assert_eq!(row[2].style.fg, Color::Basic(15));
    assert!(row[3].style.attributes.contains(Attributes::INVERSE));
    assert!(row[3].style.attributes.contains(Attributes::STRIKE));
    assert_eq!((row[5].text.as_str(), row[5].width, row[6].width), ("日", 2, 0));
    assert_eq!(row.len(), 10);
    assert!(screen.row_cells(4).is_empty());
}
