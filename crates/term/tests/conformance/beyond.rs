//! What terminals of a higher level than the one we report (62) can do, and a program might try without asking.

use crate::case::{Case, case, look};

macro_rules! five {
    ($rest:literal) => {
        concat!("abcde\r\nfghij\r\nklmno\r\npqrst\r\nuvwxy", $rest)
    };
}

pub(crate) const CASES: &[Case] = &[
    case("left and right margins", "\x1b[?69h\x1b[3;5s\x1b[1;3Habcd", "  abc|  d", (2, 4)),
    case("sl moves columns left", five!("\x1b[H\x1b[2 @"), "cde|hij|mno|rst|wxy", (1, 1)),
    case(
        "sr moves columns right",
        five!("\x1b[H\x1b[2 A"),
        "  abcde|  fghij|  klmno|  pqrst|  uvwxy",
        (1, 1),
    ),
    case(
        "decic inserts columns",
        five!("\x1b[1;3H\x1b[2'}"),
        "ab  cde|fg  hij|kl  mno|pq  rst|uv  wxy",
        (1, 3),
    ),
    case("decdc deletes columns", five!("\x1b[1;3H\x1b[2'~"), "abe|fgj|klo|pqt|uvy", (1, 3)),
    case("decera erases a rectangle", five!("\x1b[2;2;4;4$z"), "abcde|f   j|k   o|p   t|uvwxy", (5, 6)),
    case("decfra fills a rectangle", five!("\x1b[35;2;2;4;4$x"), "abcde|f###j|k###o|p###t|uvwxy", (5, 6)),
    case(
        "deccra copies a rectangle",
        five!("\x1b[1;1;2;2;1;3;3;1$v"),
        "abcde|fghij|klabo|pqfgt|uvwxy",
        (5, 6),
    ),
    look("decscnm is a look of the whole screen", "\x1b[?5h\x1b[?5$px", &[(1, 1, "plain")])
        .says("\x1b[?5;1$y"),
];
