//! A new size: wrapped lines join and split on the main screen, nothing moves on the alternate one.

use crate::case::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("a wider screen joins a wrapped line", "0123456789abc", "0123456789abc", (1, 14)).then(20, 5, ""),
    case("a narrower screen splits a line", "0123456789\x1b[1;4H", "012345|6789", (1, 4)).then(6, 5, ""),
    case("lines that end are not joined", "0123456789\r\nabc", "0123456789|abc", (2, 4)).then(20, 5, ""),
    case("narrower and wider again is the same", "0123456\r\nab", "0123|456|ab", (3, 3)).then(4, 5, ""),
    case("the cursor stays with its character", "0123456789abc\x1b[2;2H", "0123456789aXc", (1, 13))
        .then(20, 5, "X"),
    case("a wide character is not split", "abcd日", "abcd|日", (2, 3)).then(5, 5, ""),
    case("a taller screen leaves the rows", "a\r\nb", "a|b", (2, 2)).then(10, 8, ""),
    case("a lower screen keeps the cursor's row", "a\r\nb\r\nc\r\nd\r\ne", "d|e", (2, 2)).then(10, 2, ""),
    case("a lower screen drops blank rows first", "a\r\nb", "a|b", (2, 2)).then(10, 3, ""),
    case("the alternate screen is cut, not wrapped", "\x1b[?1049h0123456789\x1b[1;2H", "01234", (1, 2))
        .then(5, 5, ""),
    case("the main screen wraps while the alternate is shown", "0123456\x1b[?1049hx", "01234|56", (2, 3))
        .then(5, 5, "\x1b[?1049l"),
    case("margins are gone after a resize", "a\r\nb\r\nc\x1b[1;2r", "a|b|c", (3, 1)).then(
        12,
        5,
        "\x1b[2;1H\n",
    ),
    case("looks go with the text", "0123\x1b[31m4567\x1b[m", "0123|4567", (2, 4))
        .waits()
        .then(4, 5, "")
        .looks(&[(1, 4, "plain"), (2, 1, "fg=1")]),
    case("the size report follows", "", "", (1, 1)).then(33, 7, "\x1b[18t").says("\x1b[8;7;33t"),
    case("the cursor is kept inside", "\x1b[?1049h\x1b[5;10H", "", (3, 4)).then(4, 3, ""),
];
