//! Random terminal streams for properties: text, sequences, strings, wide and joined characters, resizes,
//! garbage. No test of its own.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use term::{Cell, Cursor, GridSize, Limits, Modes, PaintView, Screen, Wraps};

/// Returns a configuration with the same cases in every run, so that a failure is a change and not luck.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(80 * 24),
        ..ProptestConfig::default()
    }
}

/// What a test does to a screen.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Bytes from the child.
    Feed(Vec<u8>),
    /// A new size.
    Resize(GridSize),
}

/// Everything an observer can see of a screen.
#[derive(Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) text: String,
    pub(crate) joined: String,
    pub(crate) cells: Vec<Vec<Cell>>,
    pub(crate) cursor: Cursor,
    pub(crate) modes: Modes,
    pub(crate) alternate: bool,
    pub(crate) title: String,
    pub(crate) size: GridSize,
}

impl Picture {
    pub(crate) fn of(screen: &Screen) -> Picture {
        Picture {
            text: screen.text(Wraps::Keep),
            joined: screen.text(Wraps::Join),
            cells: (0..screen.size().rows).map(|row| screen.row_cells(row)).collect(),
            cursor: screen.cursor(),
            modes: screen.modes(),
            alternate: screen.is_alternate(),
            title: screen.title().to_owned(),
            size: screen.size(),
        }
    }
}

/// Returns a picture, the history and the bytes a viewer would get.
pub(crate) fn everything(screen: &Screen) -> (Picture, Vec<String>, Vec<u8>) {
    let lines = screen.lines(screen.first_line()..screen.next_line(), Wraps::Keep);
    let lines =
        lines.into_iter().map(|line| format!("{} {} {}", line.id.0, line.wrapped, line.text)).collect();
    (Picture::of(screen), lines, screen.repaint(PaintView::Whole))
}

pub(crate) fn limits() -> Limits {
    Limits { history_lines: 40 }
}

pub(crate) fn screen(size: GridSize) -> Screen {
    Screen::new(size, limits())
}

pub(crate) fn apply(screen: &mut Screen, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Feed(bytes) => screen.feed(bytes),
            Step::Resize(size) => screen.resize(*size),
        }
    }
}

pub(crate) fn size() -> impl Strategy<Value = GridSize> {
    (2u32..40, 1u32..12).prop_map(|(cols, rows)| GridSize::clamped(cols, rows))
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        9 => vec(piece(), 1..8).prop_map(|pieces| Step::Feed(pieces.concat())),
        1 => size().prop_map(Step::Resize),
    ];
    vec(step, 1..12)
}

/// Returns one piece of a stream, usually whole.
pub(crate) fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[ -~]{1,30}".prop_map(String::into_bytes),
        2 => Just(b"\r\n".to_vec()),
        2 => unicode(),
        8 => control(),
        3 => mode(),
        2 => style(),
        2 => escape(),
        2 => string(),
        1 => vec(any::<u8>(), 1..5),
        1 => prop_oneof![Just(b"\x1b".to_vec()), Just(b"\x1b[3".to_vec()), Just(b"\x1b]2;par".to_vec()), Just(b"\xe6\x97".to_vec())],
    ]
}

fn unicode() -> impl Strategy<Value = Vec<u8>> {
    let character = prop_oneof![
        Just("日"),
        Just("本"),
        Just("é"),
        Just("e\u{301}"),
        Just("\u{1f600}"),
        Just("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}"),
        Just("\u{2764}\u{fe0f}"),
        Just("\u{300}\u{301}\u{302}"),
        Just("a"),
        Just("\u{1f1e9}\u{1f1ea}"),
        Just("\u{2500}"),
        Just("한"),
    ];
    vec(character, 1..12).prop_map(|characters| characters.concat().into_bytes())
}

fn control() -> impl Strategy<Value = Vec<u8>> {
    let last = "[@ABCDEFGHIJKLMPSTXZ`abdefghrsu]";
    (vec(0u16..30, 0..3), last).prop_map(|(numbers, last)| {
        let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
        format!("\x1b[{}{last}", numbers.join(";")).into_bytes()
    })
}

fn mode() -> impl Strategy<Value = Vec<u8>> {
    let private = prop_oneof![
        Just(1),
        Just(6),
        Just(7),
        Just(25),
        Just(12),
        Just(47),
        Just(1000),
        Just(1002),
        Just(1003),
        Just(1004),
        Just(1006),
        Just(1047),
        Just(1048),
        Just(1049),
        Just(2004),
        Just(2027),
        Just(2031),
        Just(3),
    ];
    prop_oneof![
        (private, any::<bool>())
            .prop_map(|(number, on)| format!("\x1b[?{number}{}", if on { 'h' } else { 'l' })),
        Just("\x1b[4h".to_owned()),
        Just("\x1b[4l".to_owned()),
        Just("\x1b[20h".to_owned()),
        (0u8..32).prop_map(|flags| format!("\x1b[>{flags}u")),
        Just("\x1b[<u".to_owned()),
        Just("\x1b[=5;2u".to_owned()),
        Just("\x1b[>4;2m".to_owned()),
        (0u8..7).prop_map(|style| format!("\x1b[{style} q")),
        Just("\x1b[!p".to_owned()),
        Just("\x1b[?5W".to_owned()),
        Just("\x1b[?J".to_owned()),
        Just("\x1b[?1K".to_owned()),
        Just("\x1b[?6;7h".to_owned()),
        Just("\x1b[3g".to_owned()),
    ]
    .prop_map(String::into_bytes)
}

fn style() -> impl Strategy<Value = Vec<u8>> {
    let code = prop_oneof![
        (0u8..10).prop_map(|code| code.to_string()),
        (30u8..50).prop_map(|code| code.to_string()),
        (90u8..108).prop_map(|code| code.to_string()),
        (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(r, g, b)| format!("38;2;{r};{g};{b}")),
        any::<u8>().prop_map(|index| format!("48;5;{index}")),
        (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(r, g, b)| format!("48:2::{r}:{g}:{b}")),
        (0u8..6).prop_map(|kind| format!("4:{kind}")),
        Just("58:5:9".to_owned()),
        Just("27".to_owned()),
    ];
    vec(code, 0..4).prop_map(|codes| format!("\x1b[{}m", codes.join(";")).into_bytes())
}

fn escape() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just("\x1b7"),
        Just("\x1b8"),
        Just("\x1bM"),
        Just("\x1bD"),
        Just("\x1bE"),
        Just("\x1bH"),
        Just("\x1bc"),
        Just("\x1b="),
        Just("\x1b>"),
        Just("\x1b(0"),
        Just("\x1b(B"),
        Just("\x1b(A"),
        Just("\x1b)0"),
        Just("\x1b*0"),
        Just("\x1bN"),
        Just("\x1bO"),
        Just("\x1bn"),
        Just("\x0e"),
        Just("\x0f"),
        Just("\t"),
        Just("\x08"),
        Just("\x1b#8"),
        Just("\x07"),
        Just("\n"),
    ]
    .prop_map(|text| text.as_bytes().to_vec())
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "(\x1b\\]2;[a-zA-Z ]{0,12}\x07)",
        Just("\x1b]8;id=x;https://example.com/a\x1b\\".to_owned()),
        Just("\x1b]8;;http://example.com/b\x07".to_owned()),
        Just("\x1b]8;;\x1b\\".to_owned()),
        Just("\x1b[22t".to_owned()),
        Just("\x1b[23t".to_owned()),
        Just("\x1b]7501;state=working:id=a/b\x1b\\".to_owned()),
        Just("\x1b]133;A\x07".to_owned()),
        Just("\x1bP$qm\x1b\\".to_owned()),
        Just("\x1b_Ga=T;AAAA\x1b\\".to_owned()),
    ]
    .prop_map(String::into_bytes)
}
