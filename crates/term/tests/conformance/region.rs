//! Scroll region and origin mode, and everything that scrolls: line feeds, IND, NEL, RI, SU, SD.

use crate::case::{Case, case};

macro_rules! five {
    ($rest:literal) => {
        concat!("a\r\nb\r\nc\r\nd\r\ne", $rest)
    };
}

pub(crate) const CASES: &[Case] = &[
    case("decstbm goes home", five!("\x1b[2;4r"), "a|b|c|d|e", (1, 1)),
    case(
        "decstbm without parameters is the whole screen",
        five!("\x1b[2;3r\x1b[r\x1b[5;1H\nx"),
        "b|c|d|e|x",
        (5, 2),
    ),
    case("decstbm with the bottom left out", five!("\x1b[3r\x1b[5;1H\nx"), "a|b|d|e|x", (5, 2)),
    case("decstbm with the top left out", five!("\x1b[;2r\x1b[2;1H\nx"), "b|x|c|d|e", (2, 2)),
    case("decstbm of one row is ignored", five!("\x1b[2;2r"), "a|b|c|d|e", (5, 2)),
    case("decstbm upside down is ignored", five!("\x1b[4;2r"), "a|b|c|d|e", (5, 2)),
    case(
        "decstbm beyond the screen ends in the last row",
        five!("\x1b[4;99r\x1b[5;1H\nx"),
        "a|b|c|e|x",
        (5, 2),
    ),
    case(
        "a line feed at the bottom margin scrolls the region",
        five!("\x1b[2;4r\x1b[4;1H\nx"),
        "a|c|d|x|e",
        (4, 2),
    ),
    case("a line feed below the region moves", five!("\x1b[1;3r\x1b[4;1H\nx"), "a|b|c|d|x", (5, 2)),
    case(
        "a line feed in the last row below the region stays",
        five!("\x1b[1;3r\x1b[5;1H\n\nx"),
        "a|b|c|d|x",
        (5, 2),
    ),
    case("a line feed above the region moves into it", five!("\x1b[3;4r\x1b[2;1H\nx"), "a|b|x|d|e", (3, 2)),
    case("ind keeps the column", "abc\x1bDx", "abc|   x", (2, 5)),
    case("ind at the bottom margin scrolls", five!("\x1b[2;3r\x1b[3;1H\x1bDx"), "a|c|x|d|e", (3, 2)),
    case("nel goes to the start of the next row", "abc\x1bEx", "abc|x", (2, 2)),
    case("nel at the bottom scrolls", five!("\x1bEx"), "b|c|d|e|x", (5, 2)),
    case("ri moves up and keeps the column", "a\r\nbc\x1bMx", "a x|bc", (1, 4)),
    case("ri at the top scrolls down", five!("\x1b[H\x1bMx"), "x|a|b|c|d", (1, 2)),
    case("ri at the top margin scrolls the region", five!("\x1b[2;4r\x1b[2;1H\x1bMx"), "a|x|b|c|e", (2, 2)),
    case("ri above the region moves", five!("\x1b[3;4r\x1b[2;1H\x1bMx"), "x|b|c|d|e", (1, 2)),
    case(
        "ri in the first row above the region stays",
        five!("\x1b[3;4r\x1b[H\x1bM\x1bMx"),
        "x|b|c|d|e",
        (1, 2),
    ),
    case("ri from below the region moves into it", five!("\x1b[2;4r\x1b[5;1H\x1bMx"), "a|b|c|x|e", (4, 2)),
    case("su scrolls up and leaves the cursor", five!("\x1b[2;2H\x1b[2S"), "c|d|e", (2, 2)),
    case("su scrolls only the region", five!("\x1b[2;4r\x1b[S"), "a|c|d||e", (1, 1)),
    case("su of more rows than there are", five!("\x1b[2;4r\x1b[99S"), "a||||e", (1, 1)),
    case("su zero means one", five!("\x1b[0S"), "b|c|d|e", (5, 2)),
    case("sd scrolls down and leaves the cursor", five!("\x1b[2;2H\x1b[2T"), "||a|b|c", (2, 2)),
    case("sd scrolls only the region", five!("\x1b[2;4r\x1b[T"), "a||b|c|e", (1, 1)),
    case("sd of more rows than there are", five!("\x1b[2;4r\x1b[99T"), "a||||e", (1, 1)),
    case("su fills with the background", "\x1b[44m\x1b[S\x1b[m", "", (1, 1))
        .looks(&[(5, 1, "bg=4"), (5, 10, "bg=4")]),
    case("sd fills with the background", "\x1b[44m\x1b[T\x1b[m", "", (1, 1))
        .looks(&[(1, 1, "bg=4"), (2, 1, "plain")]),
    case("a scrolling line feed fills with the background", "\x1b[5;1H\x1b[42m\n", "", (5, 1)).looks(&[
        (5, 1, "bg=2"),
        (5, 10, "bg=2"),
        (4, 1, "plain"),
    ]),
    case("ri fills with the background", "\x1b[42m\x1bM", "", (1, 1))
        .looks(&[(1, 10, "bg=2"), (2, 1, "plain")]),
    case("scrolling keeps only the background", "\x1b[1;4;7;31;44m\x1b[S", "", (1, 1))
        .looks(&[(5, 1, "bg=4")]),
    case("origin mode goes to the region's home", "\x1b[2;4r\x1b[?6hx", "|x", (2, 2)),
    case("leaving origin mode goes home", "\x1b[2;4r\x1b[?6h\x1b[?6lx", "x", (1, 2)),
    case("origin mode counts rows from the top margin", "\x1b[2;4r\x1b[?6h\x1b[2;3Hx", "||  x", (3, 4)),
    case("origin mode ends at the bottom margin", "\x1b[2;4r\x1b[?6h\x1b[99;1Hx", "|||x", (4, 2)),
    case("vpa in origin mode", "\x1b[2;4r\x1b[?6h\x1b[3dx", "|||x", (4, 2)),
    case("cha in origin mode keeps the row", "\x1b[2;4r\x1b[?6h\x1b[2;1H\x1b[4Gx", "||   x", (3, 5)),
    case("cuu in origin mode ends at the top margin", "\x1b[2;4r\x1b[?6h\x1b[3;1H\x1b[9Ax", "|x", (2, 2)),
    case("cud in origin mode ends at the bottom margin", "\x1b[2;4r\x1b[?6h\x1b[9Bx", "|||x", (4, 2)),
    case("a report in origin mode counts from the margin", "\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[6n", "", (3, 3))
        .says("\x1b[2;3R"),
    case("decstbm in origin mode goes to the new home", "\x1b[?6h\x1b[3;4rx", "||x", (3, 2)),
    case("erasing below ignores margins", five!("\x1b[2;3r\x1b[3;1H\x1b[J"), "a|b", (3, 1)),
    case("erasing above ignores margins", five!("\x1b[2;3r\x1b[3;1H\x1b[1J"), "|||d|e", (3, 1)),
    case("text above the region scrolls nothing", five!("\x1b[4;5r\x1b[Hx"), "x|b|c|d|e", (1, 2)),
];
