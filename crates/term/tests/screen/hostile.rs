//! Hostile and broken streams, a mebibyte of each. `malformed` and `memory` judge their cost.

const MEBIBYTE: usize = 1024 * 1024;

/// Returns a mebibyte of each, with its name.
pub(crate) fn streams() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    patterns().into_iter().map(|(name, pattern)| (name, pattern.into_iter().cycle().take(MEBIBYTE).collect()))
}

/// Returns a name and the pattern that is repeated.
fn patterns() -> Vec<(&'static str, Vec<u8>)> {
    let digits = |count: usize| "9".repeat(count);
    vec![
        ("huge parameters", format!("\x1b[{};{}H", digits(60), digits(60)).into_bytes()),
        ("endless parameters", b"1;".to_vec()),
        ("endless subparameters", b"4:".to_vec()),
        ("many empty sequences", b"\x1b[".to_vec()),
        ("many escapes", b"\x1b".to_vec()),
        ("many intermediates", b"\x1b !\"#$%&'()*+,-./".to_vec()),
        ("unfinished strings", b"\x1b]".to_vec()),
        ("strings started and cut", b"\x1b]0;x\x18\x1bPq\x1a\x1b_G\x18".to_vec()),
        ("long titles", format!("\x1b]2;{}\x07", "t".repeat(60_000)).into_bytes()),
        ("too long titles", format!("\x1b]2;{}\x07", "t".repeat(70_000)).into_bytes()),
        ("title stack", b"\x1b]2;abcdef\x07\x1b[22t".to_vec()),
        (
            "combining storm",
            "e\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}".as_bytes().to_vec(),
        ),
        ("only combining", "\u{300}".as_bytes().to_vec()),
        ("combining with moves", "\u{300}\u{301}\x1b[C\x1b[D".as_bytes().to_vec()),
        ("joiners", "\u{1f468}\u{200d}".as_bytes().to_vec()),
        ("variation selectors", "\u{2764}\u{fe0f}\u{fe0e}".as_bytes().to_vec()),
        ("repeat far too often", b"x\x1b[65535b".to_vec()),
        ("repeat a wide character", "日\x1b[9999b".as_bytes().to_vec()),
        ("insert and delete", b"\x1b[65535@\x1b[65535P".to_vec()),
        ("tabs", b"\t\x1b[65535I\x1b[65535Z".to_vec()),
        ("margins outside", b"\x1b[30;99r\x1b[5;2r\x1b[0;0r\x1b[24;24r\n\x1bM".to_vec()),
        ("links ever new", ever_new(|n| format!("\x1b]8;;https://e.org/aaaaaaaa{n}\x07x"))),
        ("sixel", b"\x1bPq#1;2;100;100;100!65535~-".to_vec()),
        ("kitty images", b"\x1b_Ga=T,f=32,s=9999,v=9999,m=1;AAAAAAAAAAAAAAAA\x1b\\".to_vec()),
        ("inline images", b"\x1b]1337;File=inline=1;size=99999999:AAAA\x07".to_vec()),
        ("clipboard", b"\x1b]52;c;AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\x07".to_vec()),
        ("program status", b"\x1b]7501;state=working:id=a/b/c:msg=AAAA\x07".to_vec()),
        ("notifications", b"\x1b]9;hello\x07".to_vec()),
        ("queries", b"\x1b[6n\x1b[c\x1b]11;?\x07\x1bP+q544e\x1b\\".to_vec()),
        ("keyboard stack", b"\x1b[>31u\x1b[<1u\x1b[>1u".to_vec()),
        ("mode storm", b"\x1b[?1;6;7;25;1000;1002;1003;1004;1006;2004;2026h\x1b[?1;6;7;25l".to_vec()),
        ("screen switches", b"\x1b[?1049hx\x1b[?1049l".to_vec()),
        ("synchronized updates", b"\x1b[?2026hframe\x1b[?2026l".to_vec()),
        ("invalid text", vec![0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf5]),
        ("cut characters", vec![0xe2, 0x82, 0x1b, b'[', b'm', 0xf0, 0x9f]),
        ("c1 bytes", (0x80..=0x9f).collect()),
        ("c0 bytes", (0x00..0x20).collect()),
        ("zeros", vec![0]),
        ("deletes", vec![0x7f]),
        (
            "true colours ever new",
            ever_new(|n| {
                format!("\x1b[38;2;{};{};{};48;2;4;5;{}mx", n % 256, n >> 8 & 255, n >> 16, n % 251)
            }),
        ),
        ("titles ever new", ever_new(|n| format!("\x1b]2;title {n}\x07\x1b[22t"))),
        (
            "marks ever new",
            ever_new(|n| (0..8).fold("e".to_owned(), |cell, bit| cell + mark(n >> (4 * bit)))),
        ),
    ]
}

/// Returns a mebibyte in which nothing repeats.
fn ever_new(piece: impl Fn(usize) -> String) -> Vec<u8> {
    (0..).flat_map(|number| piece(number).into_bytes()).take(MEBIBYTE).collect()
}

/// Returns one of sixteen combining marks.
fn mark(number: usize) -> &'static str {
    const MARKS: [&str; 16] = [
        "\u{300}", "\u{301}", "\u{302}", "\u{303}", "\u{304}", "\u{305}", "\u{306}", "\u{307}", "\u{308}",
        "\u{309}", "\u{30a}", "\u{30b}", "\u{30c}", "\u{30d}", "\u{30e}", "\u{30f}",
    ];
    MARKS[number % 16]
}
