//! Erasing in lines and on the screen, plain and selective, and the background it leaves.

use crate::case::{Case, case};

macro_rules! filled {
    ($rest:literal) => {
        concat!("abc\r\ndef\r\nghi\r\njkl\r\nmno", $rest)
    };
}

pub(crate) const CASES: &[Case] = &[
    case("el erases to the right", "abcdef\x1b[3G\x1b[K", "ab", (1, 3)),
    case("el 0 is the same", "abcdef\x1b[3G\x1b[0K", "ab", (1, 3)),
    case("el 1 erases to the left, the cursor's place included", "abcdef\x1b[3G\x1b[1K", "   def", (1, 3)),
    case("el 2 erases the line", "abcdef\x1b[3G\x1b[2K", "", (1, 3)),
    case("el with an unknown parameter does nothing", "abcdef\x1b[3G\x1b[3K\x1b[9K", "abcdef", (1, 3)),
    case("el touches no other row", filled!("\x1b[2;1H\x1b[2K"), "abc||ghi|jkl|mno", (2, 1)),
    case("el fills with the background", "\x1b[3G\x1b[1;4;42m\x1b[K", "", (1, 3)).looks(&[
        (1, 2, "plain"),
        (1, 3, "bg=2"),
        (1, 10, "bg=2"),
    ]),
    case("el 1 fills with the background", "\x1b[3G\x1b[42m\x1b[1K", "", (1, 3)).looks(&[
        (1, 1, "bg=2"),
        (1, 3, "bg=2"),
        (1, 4, "plain"),
    ]),
    case("el fills with an indexed background", "\x1b[48;5;200m\x1b[K", "", (1, 1))
        .looks(&[(1, 10, "bg=200")]),
    case("el fills with a true background", "\x1b[48;2;1;2;3m\x1b[K", "", (1, 1))
        .looks(&[(1, 10, "bg=1/2/3")]),
    case("el ignores inverse", "\x1b[7m\x1b[K", "", (1, 1)).looks(&[(1, 1, "plain")]),
    case("ed erases below", filled!("\x1b[3;2H\x1b[J"), "abc|def|g", (3, 2)),
    case("ed 1 erases above", filled!("\x1b[3;2H\x1b[1J"), "||  i|jkl|mno", (3, 2)),
    case("ed 1 in the second row", filled!("\x1b[2;1H\x1b[1J"), "| ef|ghi|jkl|mno", (2, 1)),
    case("ed 1 in the first row", filled!("\x1b[1;2H\x1b[1J"), "  c|def|ghi|jkl|mno", (1, 2)),
    case("ed 2 erases everything and moves nothing", filled!("\x1b[3;2H\x1b[2J"), "", (3, 2)),
    case("ed 3 leaves the screen alone", filled!("\x1b[3;2H\x1b[3J"), "abc|def|ghi|jkl|mno", (3, 2)),
    case(
        "ed with an unknown parameter does nothing",
        filled!("\x1b[3;2H\x1b[7J"),
        "abc|def|ghi|jkl|mno",
        (3, 2),
    ),
    case("ed fills with the background", "\x1b[3;2H\x1b[1;45m\x1b[J", "", (3, 2)).looks(&[
        (3, 1, "plain"),
        (3, 2, "bg=5"),
        (5, 10, "bg=5"),
        (2, 10, "plain"),
    ]),
    case("ed 1 fills with the background", "\x1b[3;2H\x1b[1;45m\x1b[1J", "", (3, 2)).looks(&[
        (1, 1, "bg=5"),
        (3, 2, "bg=5"),
        (3, 3, "plain"),
    ]),
    case("ed 2 fills with the background", "x\x1b[1;45m\x1b[2J", "", (1, 2))
        .looks(&[(1, 1, "bg=5"), (5, 10, "bg=5")]),
    case("ed 2 on the alternate screen", "\x1b[?1049hx\x1b[45m\x1b[2J", "", (1, 2))
        .looks(&[(1, 1, "bg=5"), (5, 10, "bg=5")]),
    case("decsel erases to the right", "abcdef\x1b[3G\x1b[?K", "ab", (1, 3)),
    case("decsel 1 erases to the left", "abcdef\x1b[3G\x1b[?1K", "   def", (1, 3)),
    case("decsel 2 erases the line", "abcdef\x1b[3G\x1b[?2K", "", (1, 3)),
    case("decsed erases below", filled!("\x1b[3;2H\x1b[?J"), "abc|def|g", (3, 2)),
    case("decsed 1 erases above", filled!("\x1b[3;2H\x1b[?1J"), "||  i|jkl|mno", (3, 2)),
    case("decsed 2 erases everything", filled!("\x1b[3;2H\x1b[?2J"), "", (3, 2)),
    case("decsca protects from decsel", "ab\x1b[1\"qcd\x1b[0\"qef\x1b[?2K", "  cd", (1, 7)),
    case("decsca protects from decsed", "ab\x1b[1\"qcd\x1b[2\"qef\x1b[?2J", "  cd", (1, 7)),
    case("decsca does not protect from el", "ab\x1b[1\"qcd\x1b[0\"qef\x1b[2K", "", (1, 7)),
    case("decsca does not protect from ed and ech", "\x1b[1\"qabcd\x1b[1G\x1b[2X\r\n\x1b[1J", "", (2, 1)),
    case("decaln fills the screen with e and goes home", "\x1b[3;3H\x1b#8", "EEEE|EEEE|EEEE", (1, 1))
        .on(4, 3),
    case("decaln resets the margins", "\x1b[2;3r\x1b#8\x1b[4;1H\nx", "EE|EE|EE|x", (4, 2)).on(2, 4),
    case("decaln has no looks", "\x1b[1;31m\x1b#8", "EE|EE", (1, 1)).on(2, 2).looks(&[(1, 1, "plain")]),
];
