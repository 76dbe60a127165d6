//! Tab stops: the default ones, setting and clearing, going forward and back.

use crate::case::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("stops are eight columns apart", "\ta\tb\tc", "        a       b       c", (1, 26)).on(40, 2),
    case("a tab at a stop goes to the next", "\x1b[9G\tx", "                x", (1, 18)).on(40, 2),
    case("a tab ends in the last column", "\t\t\tx", "         x", (1, 10)).waits(),
    case("a tab erases nothing", "abcdefghij\r\tX", "abcdefghXj", (1, 10)),
    case("hts sets a stop", "\x1b[4G\x1bH\r\tx", "   x", (1, 5)),
    case("tbc clears a stop", "\x1b[9G\x1b[g\r\tx", "                x", (1, 18)).on(40, 2),
    case("tbc 0 clears a stop", "\x1b[9G\x1b[0g\r\tx", "                x", (1, 18)).on(40, 2),
    case("tbc 3 clears all stops", "\x1b[3g\r\tx", "         x", (1, 10)).waits(),
    case("tbc where there is no stop", "\x1b[4G\x1b[g\r\tx", "        x", (1, 10)),
    case("cht goes forward", "\x1b[2Ix", "                x", (1, 18)).on(40, 2),
    case("cht zero means one", "\x1b[0Ix", "        x", (1, 10)).on(40, 2),
    case("cht ends in the last column", "\x1b[99Ix", "         x", (1, 10)).waits(),
    case("cbt goes back", "\x1b[20G\x1b[Zx", "                x", (1, 18)).on(40, 2),
    case("cbt at a stop goes to the one before", "\x1b[17G\x1b[Zx", "        x", (1, 10)).on(40, 2),
    case("cbt of several", "\x1b[20G\x1b[2Zx", "        x", (1, 10)).on(40, 2),
    case("cbt ends in the first column", "\x1b[5G\x1b[99Zx", "x", (1, 2)),
    case("cbt without stops goes to the first column", "\x1b[3g\x1b[7G\x1b[Zx", "x", (1, 2)),
    case("decst8c restores the default stops", "\x1b[3g\x1b[?5W\r\tx", "        x", (1, 10)).on(40, 2),
    case("ris restores the default stops", "\x1b[3g\x1bc\tx", "        x", (1, 10)).on(40, 2),
    case("stops survive a soft reset", "\x1b[4G\x1bH\x1b[!p\r\tx", "   x", (1, 5)),
    case("a wider screen has stops in its new columns", "", "                x", (1, 18))
        .then(40, 5, "\t\tx"),
    case("tabs are spaces in the text", "a\tb", "a       b", (1, 10)),
    case("a tab keeps the background away", "\x1b[41m\tx", "        x", (1, 10))
        .looks(&[(1, 1, "plain"), (1, 9, "bg=1")]),
];
