//! The last column: waiting to wrap, what ends the waiting, and what happens without wrapping.

use crate::case::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("the last column waits", "0123456789", "0123456789", (1, 10)).waits(),
    case("the next character wraps", "0123456789a", "0123456789|a", (2, 2)),
    case("wrapping scrolls in the last row", "\x1b[5;1H0123456789a", "|||0123456789|a", (5, 2)),
    case("return ends waiting", "0123456789\rx", "x123456789", (1, 2)),
    case("backspace ends waiting one to the left", "0123456789\x08x", "01234567x9", (1, 10)),
    case("a line feed ends waiting", "0123456789\nx", "0123456789|         x", (2, 10)).waits(),
    case(
        "a line feed that scrolls ends waiting",
        "\x1b[5;1H0123456789\nx",
        "|||0123456789|         x",
        (5, 10),
    )
    .waits(),
    case("index ends waiting", "0123456789\x1bDx", "0123456789|         x", (2, 10)).waits(),
    case("reverse index ends waiting", "\r\n0123456789\x1bMx", "         x|0123456789", (1, 10)).waits(),
    case("next line ends waiting", "0123456789\x1bEx", "0123456789|x", (2, 2)),
    case("cuf ends waiting", "0123456789\x1b[Cx", "012345678x", (1, 10)).waits(),
    case("cub counts from the last column", "0123456789\x1b[2Dx", "0123456x89", (1, 9)),
    case("cuu ends waiting", "\r\n0123456789\x1b[Ax", "         x|0123456789", (1, 10)).waits(),
    case("cud ends waiting", "0123456789\x1b[Bx", "0123456789|         x", (2, 10)).waits(),
    case("cup to the same place ends waiting", "0123456789\x1b[1;10Hx", "012345678x", (1, 10)).waits(),
    case("cha to the same place ends waiting", "0123456789\x1b[10Gx", "012345678x", (1, 10)).waits(),
    case("vpa ends waiting", "0123456789\x1b[1dx", "012345678x", (1, 10)).waits(),
    case("sgr does not end waiting", "0123456789\x1b[1mx", "0123456789|x", (2, 2)),
    case("a report does not end waiting", "0123456789\x1b[6nx", "0123456789|x", (2, 2)).says("\x1b[1;10R"),
    case("ich at the last column", "0123456789\x1b[@x", "012345678x", (1, 10)).waits(),
    case("dch at the last column", "0123456789\x1b[Px", "012345678x", (1, 10)).waits(),
    case("ech at the last column", "0123456789\x1b[Xx", "012345678x", (1, 10)).waits(),
    case("erasing left ends waiting", "0123456789\x1b[1Kx", "         x", (1, 10)).waits(),
    case("erasing the line ends waiting", "0123456789\x1b[2Kx", "         x", (1, 10)).waits(),
    case("erasing right takes the last column", "0123456789\x1b[K", "012345678", (1, 10)),
    case("erasing below takes the last column", "0123456789\x1b[J", "012345678", (1, 10)),
    case("a tab does not wrap", "0123456789\t\x1b[6n\rx", "x123456789", (1, 2)).says("\x1b[1;10R"),
    case("without wrapping the last column is overwritten", "\x1b[?7l0123456789abc", "012345678c", (1, 10))
        .waits(),
    case(
        "wrapping switched off while waiting",
        "0123456789\x1b[?7lab\x1b[?7h\x1b[2;1Hx",
        "012345678b|x",
        (2, 2),
    ),
    case("wrapping switched on again", "\x1b[?7l0123456789a\x1b[?7h\rx", "x12345678a", (1, 2)),
    case(
        "wrapping below the region does not scroll",
        "\x1b[1;2r\x1b[5;1H0123456789ab",
        "||||ab23456789",
        (5, 3),
    ),
    case(
        "wrapping at the bottom margin scrolls the region",
        "a\r\nb\r\nc\x1b[1;2r\x1b[2;1H0123456789x",
        "0123456789|x|c",
        (2, 2),
    ),
    case("a whole row and a return leave no gap", "0123456789\r\nx", "0123456789|x", (2, 2)),
    case("three rows in one go", "0123456789abcdefghijklm", "0123456789|abcdefghij|klm", (3, 4)),
    case("reverse wrap goes to the row above", "\x1b[?45h0123456789a\x08\x08x", "012345678x|a", (1, 10))
        .waits(),
];
