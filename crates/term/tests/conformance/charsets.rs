//! Character sets: line drawing, shifts, and designations of sets that are not here.

use crate::case::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("line drawing in g0", "\x1b(0lqqk\x1b(B", "┌──┐", (1, 5)),
    case("the corners and crossings", "\x1b(0jklmnqtuvwx\x1b(B", "┘┐┌└┼─├┤┴┬│", (1, 12)).on(20, 2),
    case("the other drawing characters", "\x1b(0`afgyz{|}~\x1b(B", "◆▒°±≤≥π≠£·", (1, 11)).on(20, 2),
    case("the scan lines", "\x1b(0opqrs\x1b(B", "⎺⎻─⎼⎽", (1, 6)),
    case("the blank", "\x1b(0a_b\x1b(Bx", "▒ \u{2409}x", (1, 5)),
    case("upper case and digits are themselves", "\x1b(0ABC123\x1b(B", "ABC123", (1, 7)),
    case("ascii again", "\x1b(0q\x1b(Bq", "─q", (1, 3)),
    case("so uses g1", "\x1b)0q\x0eq\x0fq", "q─q", (1, 4)),
    case("so without a designation is ascii", "\x0eq\x0f", "q", (1, 2)),
    case("ls2 uses g2", "\x1b*0\x1bnqq\x0fq", "──q", (1, 4)),
    case("ls3 uses g3", "\x1b+0\x1boqq\x0fq", "──q", (1, 4)),
    case("ss2 uses g2 once", "\x1b*0\x1bNqq", "─q", (1, 3)),
    case("ss3 uses g3 once", "\x1b+0\x1bOqq", "─q", (1, 3)),
    case("ss2 waits over a control", "\x1b*0\x1bN\r\nqq", "|─q", (2, 3)),
    case("ss2 with so returns to g1", "\x1b*0\x0e\x1bNqq", "─q", (1, 3)),
    case("an unknown set is ascii", "\x1b(0\x1b(Kq", "q", (1, 2)),
    case("the british set ends line drawing", "\x1b(0\x1b(Aq", "q", (1, 2)),
    case("the british set has a pound sign", "\x1b(A#", "£", (1, 2)),
    case("a designation of two bytes", "\x1b(0\x1b(%5q", "q", (1, 2)),
    case("line drawing wraps", "\x1b(0qqqqqqqqqqx\x1b(B", "──────────|│", (2, 2)),
    case("line drawing with no wrapping", "\x1b[?7l\x1b(0qqqqqqqqqqx\x1b(B", "─────────│", (1, 10)).waits(),
    case("line drawing in insert mode", "ab\r\x1b[4h\x1b(0q\x1b(B", "─ab", (1, 2)),
    case("characters beyond ascii pass", "\x1b(0é日q\x1b(B", "é日─", (1, 5)),
    case("selecting utf-8 is allowed and changes nothing", "\x1b%Gé", "é", (1, 2)),
];
