//! Streams in which few bytes ask for much work, one piece each, to be repeated for ever. Shared by the tests of what
//! screens count, by the example that times them and by the bench.

/// One kind: what it is, what is printed once, and what is printed again and again.
pub(crate) struct Bomb {
    /// What it does, in a word or two.
    pub(crate) name: &'static str,
    /// Printed first.
    pub(crate) before: String,
    /// Printed for ever.
    pub(crate) again: String,
}

fn bomb(name: &'static str, again: impl Into<String>) -> Bomb {
    Bomb { name, before: String::new(), again: again.into() }
}

fn after(name: &'static str, before: impl Into<String>, again: impl Into<String>) -> Bomb {
    Bomb { name, before: before.into(), again: again.into() }
}

/// Returns all kinds.
pub(crate) fn all() -> Vec<Bomb> {
    let mut all = erasing();
    all.extend(moving());
    all.extend(characters());
    all.extend(strings());
    all
}

fn erasing() -> Vec<Bomb> {
    vec![
        bomb("letter, erase all", "x\x1b[2J"),
        bomb("last row, erase all", "\x1b[9999Hx\x1b[2J"),
        bomb("erase all", "\x1b[2J"),
        bomb("erase all, colours in turn", "\x1b[41m\x1b[2J\x1b[48;5;200m\x1b[2J\x1b[48;2;1;2;3m\x1b[2J"),
        bomb("alignment", "\x1b#8"),
        bomb("alignment, erase all", "\x1b#8\x1b[2J"),
        bomb("alignment, reset", "\x1b#8\x1bc"),
        bomb("reset", "\x1bc"),
        bomb("soft reset", "\x1b[!p"),
        bomb("erase below", "\x1b#8\x1b[H\x1b[J"),
        bomb("erase above", "\x1b#8\x1b[9999;9999H\x1b[1J"),
        bomb("erase above and below, coloured", "\x1b[44m\x1b[500;50H\x1b[1J\x1b[45m\x1b[J"),
        bomb("selective erase", "x\x1b[?2J"),
        bomb("erase the history", "\n\n\n\n\x1b[3J"),
        bomb("screens into the history", "\x1b#8\x1b[2J\x1b[3J"),
        bomb("erase lines, coloured", "\x1b[42m\x1b[2K\x1b[43m\x1b[2K\x1b[B"),
        bomb("erase characters", "\r\x1b[9999X"),
        bomb("other screen and back", "\x1b[?1049h\x1b[?1049l"),
        bomb("other screen, filled", "\x1b[?1049h\x1b#8\x1b[?1049l"),
        bomb("other screen, coloured", "\x1b[41m\x1b[?1047h\x1b[42m\x1b[?1047l"),
    ]
}

fn moving() -> Vec<Bomb> {
    vec![
        bomb("scroll up", "\x1b[9999S"),
        bomb("scroll down", "\x1b[9999T"),
        bomb("scroll up by one, coloured", "\x1b[41m\x1b[S\x1b[42m\x1b[S"),
        bomb("insert lines", "\x1b[H\x1b[L"),
        bomb("delete lines", "\x1b[H\x1b[M"),
        bomb("insert and delete many lines", "\x1b#8\x1b[H\x1b[9999L\x1b#8\x1b[9999M"),
        bomb("reverse index", "\x1b[H\x1bM"),
        after("line feeds in a region", "\x1b[2;9999r\x1b[9999H", "\n"),
        after("line feeds above a fixed row", "\x1b[1;20r\x1b[20H", "\n"),
        after("index in a region", "\x1b[2r\x1b[9999H", "\x1bD"),
        after("wrapping in a region", "\x1b[2r\x1b[9999H", "wrap ".repeat(50)),
        bomb("regions", "\x1b[2;5r\x1b[r"),
        bomb("insert and delete characters", "\x1b[H\x1b[9999@\x1b[9999P\x1b[@\x1b[P"),
        after("insert mode", "\x1b[4h", "\rx"),
        after("insert mode, wide", "\x1b[4h", "\r日本"),
        after("tabs without stops", "\x1b[3g", "\r\t\x1b[65535I\x1b[65535Z"),
        bomb("tab stops", "\x1bH\x1b[C\x1b[3g\x1b[?5W"),
        bomb("save and restore", "\x1b7\x1b8\x1b[s\x1b[u\x1b[?1048h\x1b[?1048l"),
        bomb("a column at a time", "\x1b[9999;9999H日\x1b[H"),
    ]
}

fn characters() -> Vec<Bomb> {
    let marks: String = (0..70_000u32)
        .flat_map(|number| {
            let mark = |digit: u32| char::from_u32(0x300 + digit % 64).unwrap_or('x');
            ['e', mark(number), mark(number / 64), mark(number / 4096 + 7)]
        })
        .collect();
    vec![
        bomb("repetition", "x\x1b[65535b"),
        bomb("repetition, wide", "日\x1b[65535b"),
        bomb("repetition of a mark", "e\u{301}\x1b[65535b"),
        bomb("marks", "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}"),
        bomb("marks on one letter", "\u{301}"),
        bomb("ever new marks", marks),
        after("clusters", "\x1b[?2027h", "👩\u{200d}👩\u{200d}👧\u{200d}👦🇩🇪🇫🇷"),
        bomb("wide at the edge", "\x1b[H\x1b[9999C日\x1b[9999C日"),
        bomb("invalid characters", "x\u{80}\u{9b}\u{fffd}"),
        bomb("colours, ever new", colours()),
        bomb(
            "modes",
            "\x1b[?1;3;5;6;7;12;25;47;1000;1002;1003;1006;2004;2026;2027h\x1b[?5;6;1003;2026;2027l",
        ),
        bomb("synchronized", "\x1b[?2026hx\x1b[2J\x1b[?2026l"),
    ]
}

fn colours() -> String {
    (0..70_000u32).fold(String::new(), |text, number| {
        let (r, g, b) = (number & 255, number >> 8 & 255, number >> 16);
        text + &format!("\x1b[38;2;{r};{g};{b}mx")
    })
}

fn strings() -> Vec<Bomb> {
    let links = (0..70_000u32).fold(String::new(), |text, number| text + &format!("\x1b]8;;u:{number}\x07x"));
    vec![
        bomb("titles", format!("\x1b]2;{}\x07\x1b]2;{}\x07", "a".repeat(1000), "b".repeat(1000))),
        after("title stack", format!("\x1b]2;{}\x07", "a".repeat(1000)), "\x1b[22t\x1b[23t"),
        bomb("links, ever new", links),
        bomb("queries", "\x1b[c\x1b[6n\x1b[>q\x1b[18t\x1b]11;?\x07\x1b[?2026$p"),
        bomb("strings without an end", format!("\x1bP{}\x18", "q".repeat(1000))),
        bomb("long parameters", format!("\x1b[{}m", "1;".repeat(120))),
        bomb("bells and cancelled sequences", "\x07\x1b[\x18\x1b[\x1a\x07"),
    ]
}
