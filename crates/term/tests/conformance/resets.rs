//! What survives what: saved cursors, the two screens, soft and full reset.

use crate::case::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("decsc and decrc keep the place", "\x1b[2;3H\x1b7\x1b[5;5H\x1b8x", "|  x", (2, 4)),
    case("decrc twice", "\x1b[2;3H\x1b7\x1b[5;5H\x1b8x\x1b8y", "|  y", (2, 4)),
    case("decrc without decsc goes home", "\x1b[3;3H\x1b[1;31m\x1b8x", "x", (1, 2)).looks(&[(1, 1, "plain")]),
    case("decsc keeps the looks", "\x1b[1;4:3;31;44m\x1b7\x1b[m\x1b8x", "x", (1, 2)).looks(&[(
        1,
        1,
        "bold curly fg=1 bg=4",
    )]),
    case("decsc keeps the character set", "\x1b(0\x1b7\x1b(B\x1b8q", "─", (1, 2)),
    case("decsc keeps which set is in use", "\x1b)0\x0e\x1b7\x0f\x1b8q\x0f", "─", (1, 2)),
    case("decrc brings the first set back into use", "\x1b)0\x1b7\x0e\x1b8q", "q", (1, 2)),
    case("decsc keeps origin mode on", "\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[1;1Hx", "|x", (2, 2)),
    case("decsc keeps origin mode off", "\x1b[2;4r\x1b7\x1b[?6h\x1b8\x1b[1;1Hx", "x", (1, 2)),
    case("decsc keeps waiting", "0123456789\x1b7\x1b[3;3H\x1b8x", "0123456789|x", (2, 2)),
    case("decsc keeps not waiting", "012345678\x1b79\x1b8x", "012345678x", (1, 10)).waits(),
    case("decsc does not keep wrapping", "\x1b7\x1b[?7l\x1b80123456789ab", "012345678b", (1, 10)).waits(),
    case("decsc does not keep insert mode", "abc\r\x1b7\x1b[4h\x1b8X", "Xabc", (1, 2)),
    case("1048 saves and restores", "\x1b[2;3H\x1b[?1048h\x1b[5;5H\x1b[?1048lx", "|  x", (2, 4)),
    case("1049 shows a blank screen", "main\x1b[?1049h", "", (1, 5)),
    case("1049 and back", "main\x1b[?1049h\x1b[3;3Hother\x1b[?1049l", "main", (1, 5)),
    case("1049 brings looks back", "\x1b[31m\x1b[?1049h\x1b[0;44m\x1b[?1049lx", "x", (1, 2))
        .looks(&[(1, 1, "fg=1")]),
    case("1049 is blank on every visit", "\x1b[?1049hother\x1b[?1049l\x1b[?1049h", "", (1, 1)),
    case("1049 off without on restores the cursor", "ab\x1b7\x1b[3;3H\x1b[?1049lx", "abx", (1, 4)),
    case("1047 keeps the cursor both ways", "ab\x1b[?1047h\x1b[3;3H\x1b[?1047lx", "ab||  x", (3, 4)),
    case("1047 is blank on the next visit", "\x1b[?1047hother\x1b[?1047l\x1b[?1047h", "", (1, 6)),
    case("47 keeps the cursor both ways", "ab\x1b[?47h\x1b[3;3H\x1b[?47lx", "ab||  x", (3, 4)),
    case("47 shows what was there", "\x1b[?47hother\x1b[?47l\x1b[?47h", "other", (1, 6)),
    case("1047 and 1048 together", "ab\x1b[?1048h\x1b[?1047h\x1b[4;4H\x1b[?1047l\x1b[?1048lx", "abx", (1, 4)),
    case("looks stay when screens change with 1047", "\x1b[31m\x1b[?1047hx", "x", (1, 2))
        .looks(&[(1, 1, "fg=1")]),
    case("looks of the other screen stay after 1047", "\x1b[?1047h\x1b[31m\x1b[?1047lx", "x", (1, 2))
        .looks(&[(1, 1, "fg=1")]),
    case("the alternate screen fills with the background", "\x1b[44m\x1b[?1049h", "", (1, 1))
        .looks(&[(5, 10, "bg=4")]),
    case(
        "modes are shared by the screens",
        "\x1b[?1049h\x1b[4h\x1b[?7l\x1b[?1049l\x1b[4$p\x1b[?7$p",
        "",
        (1, 1),
    )
    .says("\x1b[4;1$y\x1b[?7;2$y"),
    case(
        "margins are shared by the screens",
        "a\r\nb\r\nc\x1b[?1047h\x1b[1;2r\x1b[?1047l\x1b[2;1H\nx",
        "b|x|c",
        (2, 2),
    ),
    case(
        "each screen saves its own cursor",
        "\x1b[2;2H\x1b7\x1b[?1047h\x1b[4;4H\x1b7\x1b[?1047l\x1b8x",
        "| x",
        (2, 3),
    ),
    case("1047 saves no cursor", "\x1b[2;2H\x1b7\x1b[3;3H\x1b[?1047h\x1b[?1047l\x1b8x", "| x", (2, 3)),
    case("character sets stay when screens change with 1047", "\x1b[?1047h\x1b(0\x1b[?1047lq", "─", (1, 2)),
    case("a soft reset leaves text and cursor", "abc\x1b[2;3H\x1b[!p", "abc", (2, 3)),
    case("a soft reset ends looks", "\x1b[1;31;44m\x1b[!px", "x", (1, 2)).looks(&[(1, 1, "plain")]),
    case("a soft reset ends insert mode", "abc\r\x1b[4h\x1b[!pX", "Xbc", (1, 2)),
    case("a soft reset ends margins", "a\r\nb\r\nc\x1b[1;2r\x1b[!p\x1b[2;1H\nx", "a|b|x", (3, 2)),
    case("a soft reset ends origin mode", "\x1b[2;4r\x1b[?6h\x1b[!p\x1b[1;1Hx", "x", (1, 2)),
    case("a soft reset ends character sets", "\x1b(0\x1b)0\x0e\x1b[!pq", "q", (1, 2)),
    case("a soft reset shows the cursor", "\x1b[?25l\x1b[?1h\x1b[!p\x1b[?25$p\x1b[?1$p", "", (1, 1))
        .says("\x1b[?25;1$y\x1b[?1;2$y"),
    case("a soft reset puts the saved cursor home", "\x1b[3;3H\x1b7\x1b[!p\x1b8x", "x", (1, 2)),
    case("a soft reset leaves line feed mode", "\x1b[20h\x1b[!p\x1b[20$p", "", (1, 1)).says("\x1b[20;1$y"),
    case("a soft reset leaves bracketed paste", "\x1b[?2004h\x1b[!p\x1b[?2004$p", "", (1, 1))
        .says("\x1b[?2004;1$y"),
    case("a full reset clears and goes home", "abc\r\ndef\x1bcx", "x", (1, 2)),
    case("a full reset ends looks", "\x1b[1;31m\x1bcx", "x", (1, 2)).looks(&[(1, 1, "plain")]),
    case("a full reset ends margins and origin mode", "\x1b[2;3r\x1b[?6h\x1bc\x1b[5;1Hx", "||||x", (5, 2)),
    case("a full reset ends character sets", "\x1b(0\x1bcq", "q", (1, 2)),
    case("a full reset leaves the alternate screen", "main\x1b[?1049hother\x1bc\x1b[?1049$p", "", (1, 1))
        .says("\x1b[?1049;2$y"),
    case(
        "a full reset resets modes",
        "\x1b[?7;25l\x1b[?1;1000;1006;2004h\x1bc\x1b[?7$p\x1b[?25$p\x1b[?1$p\x1b[?1000$p\x1b[?2004$p",
        "",
        (1, 1),
    )
    .says("\x1b[?7;1$y\x1b[?25;1$y\x1b[?1;2$y\x1b[?1000;2$y\x1b[?2004;2$y"),
    case("a full reset forgets the saved cursor", "\x1b[3;3H\x1b[31m\x1b7\x1bc\x1b8x", "x", (1, 2))
        .looks(&[(1, 1, "plain")]),
    case("a full reset empties the keyboard stack", "\x1b[>5u\x1bc\x1b[?u", "", (1, 1)).says("\x1b[?0u"),
    case("column mode is not allowed by default", "abc\x1b[?3h", "abc", (1, 4)),
    case(
        "the terminal's own initialisation leaves the text",
        "abc\x1b[!p\x1b[?3;4l\x1b[4l\x1b>",
        "abc",
        (1, 4),
    ),
];
