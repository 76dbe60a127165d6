//! Inserting and deleting characters and lines: ICH, DCH, ECH, IL, DL, insert mode, repetition.

use crate::case::{Case, case};

macro_rules! five {
    ($rest:literal) => {
        concat!("a\r\nb\r\nc\r\nd\r\ne", $rest)
    };
}

pub(crate) const CASES: &[Case] =
    &[
        case("ich makes room", "abcdef\x1b[3G\x1b[2@", "ab  cdef", (1, 3)),
        case("ich zero means one", "abcdef\x1b[3G\x1b[0@", "ab cdef", (1, 3)),
        case("ich pushes characters out", "0123456789\x1b[3G\x1b[3@", "01   23456", (1, 3)),
        case("ich of more than the row", "0123456789\x1b[3G\x1b[99@", "01", (1, 3)),
        case("ich pushes nothing to the next row", "0123456789ab\x1b[1;1H\x1b[2@", "  01234567|ab", (1, 1)),
        case("ich fills with the background", "abc\x1b[1G\x1b[1;41m\x1b[2@", "  abc", (1, 1)).looks(&[
            (1, 1, "bg=1"),
            (1, 2, "bg=1"),
            (1, 3, "plain"),
        ]),
        case("dch pulls characters in", "abcdef\x1b[3G\x1b[2P", "abef", (1, 3)),
        case("dch zero means one", "abcdef\x1b[3G\x1b[0P", "abdef", (1, 3)),
        case("dch of more than the row", "0123456789\x1b[3G\x1b[99P", "01", (1, 3)),
        case("dch in the last column", "0123456789\x1b[10G\x1b[P", "012345678", (1, 10)),
        case("dch pulls nothing from the next row", "0123456789ab\x1b[1;1H\x1b[2P", "23456789|ab", (1, 1)),
        case("dch fills with the background", "0123456789\x1b[1G\x1b[1;41m\x1b[2P", "23456789", (1, 1))
            .looks(&[(1, 8, "plain"), (1, 9, "bg=1"), (1, 10, "bg=1")]),
        case("dch takes looks along", "a\x1b[31mb\x1b[m\x1b[1G\x1b[P", "b", (1, 1)).looks(&[(1, 1, "fg=1")]),
        case("ech erases and moves nothing", "abcdef\x1b[3G\x1b[2X", "ab  ef", (1, 3)),
        case("ech zero means one", "abcdef\x1b[3G\x1b[0X", "ab def", (1, 3)),
        case("ech ends with the row", "0123456789ab\x1b[1;8H\x1b[99X", "0123456|ab", (1, 8)),
        case("ech fills with the background", "abc\x1b[1G\x1b[1;41m\x1b[2X", "  c", (1, 1)).looks(&[
            (1, 1, "bg=1"),
            (1, 2, "bg=1"),
            (1, 3, "plain"),
        ]),
        case("il pushes rows down", five!("\x1b[2;1H\x1b[L"), "a||b|c|d", (2, 1)),
        case("il zero means one", five!("\x1b[2;1H\x1b[0L"), "a||b|c|d", (2, 1)),
        case("il of several", five!("\x1b[2;1H\x1b[2L"), "a|||b|c", (2, 1)),
        case("il of more than there are", five!("\x1b[2;1H\x1b[99L"), "a", (2, 1)),
        case("il goes to the first column", "abc\x1b[Lx", "x|abc", (1, 2)),
        case("il ends at the bottom margin", five!("\x1b[2;4r\x1b[3;1H\x1b[L"), "a|b||c|e", (3, 1)),
        case("il outside of the region is ignored", five!("\x1b[2;4r\x1b[5;2H\x1b[L"), "a|b|c|d|e", (5, 2)),
        case("il above the region is ignored", five!("\x1b[2;4r\x1b[1;2H\x1b[L"), "a|b|c|d|e", (1, 2)),
        case("il fills with the background", "a\r\x1b[1;41m\x1b[L", "|a", (1, 1))
            .looks(&[(1, 1, "bg=1"), (1, 10, "bg=1")]),
        case("dl pulls rows up", five!("\x1b[2;1H\x1b[M"), "a|c|d|e", (2, 1)),
        case("dl of several", five!("\x1b[2;1H\x1b[2M"), "a|d|e", (2, 1)),
        case("dl of more than there are", five!("\x1b[2;1H\x1b[99M"), "a", (2, 1)),
        case("dl goes to the first column", "abc\r\ndef\x1b[1;3H\x1b[Mx", "xef", (1, 2)),
        case("dl ends at the bottom margin", five!("\x1b[2;4r\x1b[2;1H\x1b[M"), "a|c|d||e", (2, 1)),
        case("dl of more than the region", five!("\x1b[2;4r\x1b[3;1H\x1b[99M"), "a|b|||e", (3, 1)),
        case("dl outside of the region is ignored", five!("\x1b[2;4r\x1b[5;2H\x1b[M"), "a|b|c|d|e", (5, 2)),
        case("dl fills with the background", five!("\x1b[H\x1b[1;41m\x1b[M"), "b|c|d|e", (1, 1)).looks(&[
            (4, 1, "plain"),
            (5, 1, "bg=1"),
            (5, 10, "bg=1"),
        ]),
        case("insert mode pushes right", "abc\x1b[1G\x1b[4hXY", "XYabc", (1, 3)),
        case("insert mode pushes characters out", "0123456789\x1b[1G\x1b[4hX", "X012345678", (1, 2)),
        case("insert mode in the last column", "0123456789\x1b[10G\x1b[4hX", "012345678X", (1, 10)).waits(),
        case("insert mode wraps", "\x1b[4h0123456789ab", "0123456789|ab", (2, 3)),
        case("replace mode overwrites again", "abc\x1b[1G\x1b[4hX\x1b[4lY", "XYbc", (1, 3)),
        case("line feed mode returns as well", "\x1b[20hab\ncd", "ab|cd", (2, 3)),
        case(
            "line feed mode is for vertical tabs and form feeds too",
            "\x1b[20hab\x0bcd\x0cef",
            "ab|cd|ef",
            (3, 3),
        ),
        case("line feed mode leaves ind alone", "\x1b[20hab\x1bDcd", "ab|  cd", (2, 5)),
        case("line feed mode switched off", "\x1b[20h\x1b[20lab\ncd", "ab|  cd", (2, 5)),
        case("rep repeats the last character", "ab\x1b[3b", "abbbb", (1, 6)),
        case("rep zero means one", "ab\x1b[0b", "abb", (1, 4)),
        case("rep wraps", "a\x1b[11b", "aaaaaaaaaa|aa", (2, 3)),
        case("rep with nothing before it", "\x1b[5bx", "x", (1, 2)),
        case("rep of a wide character", "日\x1b[2b", "日日日", (1, 7)),
        case("rep of a drawing character", "\x1b(0q\x1b[2b\x1b(B", "───", (1, 4)),
    ];
