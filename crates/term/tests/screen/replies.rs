//! Queries: one answer each, in stream order, and never with text from the child.

use term::{ColorTable, Depth, GridSize, Limits, PaintView, Rgb, Scheme, Screen};

use crate::queries::{ANSWERED, SILENT};
use crate::streams::screen;

/// More reports that must get no answer.
const ALSO_SILENT: [&str; 26] = [
    "\x1b]1;?\x07",
    "\x1b]3;?\x07",
    "\x1b]7;?\x07",
    "\x1b]8;;?\x07",
    "\x1b]21;foreground=?\x1b\\",
    "\x1b]61;?\x07",
    "\x1b]133;?\x07",
    "\x1b]1337;ReportCellSize\x07",
    "\x1b]1337;ReportVariable=dXNlci50\x07",
    "\x1b]1337;Capabilities\x07",
    "\x1b]5522;type=read\x1b\\",
    "\x1b[1;1;1;1;24;80*y",
    "\x1b[x",
    "\x1b[1x",
    "\x1b[?1;1;0S",
    "\x1b[?15n",
    "\x1b[?26n",
    "\x1b[0q",
    "\x1b[1\"q",
    "\x1b_25a1;s\x1b\\",
    "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
    "\x1b]10;?\x07",
    "\x1b]11;?\x07",
    "\x1b]12;?\x07",
    "\x1b]4;1;?\x07",
    "\x1b[?996n",
];

fn answer(query: &str) -> String {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(query.as_bytes());
    String::from_utf8(screen.take_replies()).expect("answers are text")
}

#[test]
fn p3_every_known_query_is_answered_exactly_once() {
    for (query, expected) in ANSWERED {
        assert_eq!(answer(query), expected, "{query:?}");
    }
}

#[test]
fn p3_answers_come_in_stream_order_however_the_stream_is_cut() {
    let stream: String = ANSWERED.iter().map(|(query, _)| *query).collect();
    let expected: String = ANSWERED.iter().map(|(_, answer)| *answer).collect();
    for size in [1, 2, 3, 7, 64, 10_000] {
        let mut screen = screen(GridSize::DEFAULT);
        stream.as_bytes().chunks(size).for_each(|chunk| screen.feed(chunk));
        assert_eq!(String::from_utf8(screen.take_replies()).unwrap(), expected, "chunks of {size}");
        assert_eq!(screen.take_replies(), b"");
    }
}

#[test]
fn p3_program_status_is_answered_before_a_later_device_query() {
    assert_eq!(answer("\x1b]7501;?\x1b\\\x1b[c"), "\x1b]7501;?\x1b\\\x1b[?62;22;52c");
}

#[test]
fn p3_answers_follow_the_state_at_their_place_in_the_stream() {
    assert_eq!(
        answer(
            "\x1b[3;5H\x1b[6n\x1b[?2004h\x1b[?2004$p\x1b[>5u\x1b[?u\x1b[1;31m\x1bP$qm\x1b\\\x1b[2;5r\x1b[?6h\x1b[2;2H\x1b[6n"
        ),
        "\x1b[3;5R\x1b[?2004;1$y\x1b[?5u\x1bP1$r0;1;31m\x1b\\\x1b[2;2R"
    );
}

#[test]
fn several_colours_in_one_question_get_one_answer_each() {
    assert_eq!(
        answer(
            "\x1b]4;0;#000;7;#e5e5e5\x07\x1b]10;#fff;#101010\x07\x1b]4;0;?;7;?;8;?;300;?\x1b\\\x1b]10;?;?\x1b\\"
        ),
        "\x1b]4;0;rgb:0000/0000/0000\x1b\\\x1b]4;7;rgb:e5e5/e5e5/e5e5\x1b\\\
         \x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:1010/1010/1010\x1b\\"
    );
}

fn table(colors: &[(u16, Rgb)]) -> ColorTable {
    let mut table = ColorTable::default();
    colors.iter().for_each(|(index, color)| table.set(*index, *color));
    table
}

const PAPER: Rgb = Rgb(0xfdfd, 0xf6f6, 0xe3e3);

#[test]
fn m10a_colours_are_what_the_child_set_else_the_last_viewers_else_nothing() {
    let mut screen = screen(GridSize::DEFAULT);
    let ask = |screen: &mut Screen, before: &str| {
        screen.feed(before.as_bytes());
        screen.feed(b"\x1b]11;?\x07\x1b]4;1;?\x07\x1b[?996n");
        String::from_utf8(screen.take_replies()).unwrap()
    };
    assert_eq!(ask(&mut screen, ""), "");
    screen.set_viewer_colors(table(&[(257, PAPER), (1, Rgb(0xdcdc, 0, 0))]), None);
    let viewers = "\x1b]11;rgb:fdfd/f6f6/e3e3\x07\x1b]4;1;rgb:dcdc/0000/0000\x07\x1b[?997;2n";
    assert_eq!(ask(&mut screen, ""), viewers);
    let own = "\x1b]11;rgb:0000/0000/0000\x07\x1b]4;1;rgb:1111/2222/3333\x07\x1b[?997;1n";
    assert_eq!(ask(&mut screen, "\x1b]11;#000\x07\x1b]4;1;rgb:11/22/33\x07"), own);
    let blob = screen.checkpoint(Depth::Full);
    let mut restored = Screen::restore(&blob, Limits::default()).unwrap();
    assert_eq!(ask(&mut restored, ""), own);
    assert_eq!(ask(&mut restored, "\x1b]111\x07\x1b]104;1\x07"), viewers);
    assert_eq!(ask(&mut screen, "\x1bc"), viewers);
}

#[test]
fn m10a_a_child_that_wants_to_hear_of_another_scheme_is_told_once() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.set_viewer_colors(ColorTable::default(), Some(Scheme::Dark));
    screen.feed(b"\x1b[?2031h");
    assert_eq!(screen.take_replies(), b"");
    screen.set_viewer_colors(ColorTable::default(), Some(Scheme::Light));
    screen.set_viewer_colors(ColorTable::default(), Some(Scheme::Light));
    assert_eq!(screen.take_replies(), b"\x1b[?997;2n");
    screen.feed(b"\x1b[?2031l");
    screen.set_viewer_colors(ColorTable::default(), Some(Scheme::Dark));
    assert_eq!(screen.take_replies(), b"");
}

#[test]
fn m10b_reports_are_written_as_terminals_write_them() {
    assert_eq!(
        answer("\x1b[38;5;200;48;2;1;2;3m\x1bP$qm\x1b\\\x1b[>4;2m\x1b[?4m"),
        "\x1bP1$r0;38:5:200;48:2::1:2:3m\x1b\\\x1b[>4;2m"
    );
    // `indn` and `Ms`, by their names and values in hexadecimal.
    assert_eq!(
        answer("\x1bP+q696e646e;4D73\x1b\\"),
        "\x1bP1+r696E646E=1B5B257031256453\x1b\\\x1bP1+r4D73=1B5D35323B25703125733B257032257307\x1b\\"
    );
    // Programs take any answer to this query as a yes.
    assert_eq!(answer("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"), "");
}

#[test]
fn m10e_dropped_answers_are_counted() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(&b"\x1b[6n".repeat(1000));
    let kept = screen.take_replies().len() / b"\x1b[1;1R".len();
    assert_eq!(screen.take_dropped_replies(), 1000 - kept as u64);
    assert_eq!(screen.take_dropped_replies(), 0);
}

#[test]
fn c5_reports_of_child_text_are_never_answered() {
    for query in SILENT.into_iter().chain(ALSO_SILENT) {
        assert_eq!(answer(query), "", "{query:?}");
    }
}

/// Puts the marker everywhere a child can put text, then asks everything there is to ask.
#[test]
fn c5_no_answer_ever_contains_what_the_child_wrote() {
    let marker = ";touch x;";
    let hex: String = marker.bytes().map(|byte| format!("{byte:02x}")).collect();
    let places = [
        format!("\x1b]0;{marker}\x07"),
        format!("\x1b]1;{marker}\x07"),
        format!("\x1b]2;{marker}\x1b\\"),
        "\x1b[22t".to_owned(),
        format!("\x1b]7;file://{marker}/{marker}\x07"),
        format!("\x1b]8;id={marker};https://{marker}\x07"),
        format!("\x1b]4;1;{marker}\x07\x1b]10;{marker}\x07\x1b]11;{marker}\x07\x1b]50;{marker}\x07"),
        format!("\x1b]52;c;{marker}\x07\x1b]52;c;O3RvdWNoIHg7\x07"),
        format!("\x1b]7501;state=blocked:app={marker}:msg=O3RvdWNoIHg7\x1b\\"),
        format!("\x1b]1337;SetUserVar=t={marker}\x07"),
        format!("\x1bP1$r{marker}\x1b\\\x1b_G{marker}\x1b\\\x1b^{marker}\x1b\\"),
        format!("{marker}\r\n{marker}"),
    ];
    let echoing = [
        format!("\x1bP$q{marker}\x1b\\"),
        format!("\x1bP+q{hex}\x1b\\"),
        format!("\x1bP+q{marker}\x1b\\"),
        format!("\x1b]4;{marker};?\x07"),
        format!("\x1b]10;{marker};?\x07"),
        format!("\x1b]7501;?{marker}\x1b\\"),
        format!("\x1b_Gi=1{marker},a=q;\x1b\\"),
        format!("\x1b_Ga=q,i=7,{marker};{marker}\x1b\\"),
        format!("\x1b[?1{marker}$p"),
    ];
    let mut screen = screen(GridSize::DEFAULT);
    let mut queries = 0;
    let mut answers = Vec::new();
    for place in &places {
        screen.feed(place.as_bytes());
        let known = ANSWERED.iter().map(|(query, _)| *query).chain(SILENT).chain(ALSO_SILENT);
        for query in known.chain(echoing.iter().map(String::as_str)) {
            screen.feed(query.as_bytes());
            answers.extend(screen.take_replies());
            queries += 1;
        }
    }
    assert!(queries >= 60 * places.len());
    let answers = String::from_utf8_lossy(&answers).to_lowercase();
    assert!(answers.contains("[?62"), "the screen went silent");
    for trace in ["touch", &hex, "o3rvdwnoihg7"] {
        assert!(!answers.contains(trace), "{trace} in {answers:?}");
    }
}

#[test]
fn e2_queries_nobody_answers_stay_bounded() {
    let mut screen = screen(GridSize::DEFAULT);
    for _ in 0..1_000 {
        screen.feed(&b"\x1b[6n".repeat(100));
    }
    screen.feed(b"\x1b[7;9H\x1b[6n");
    let replies = screen.take_replies();
    assert!(replies.len() <= 4096 && replies.len() > 3000);
    assert!(replies.ends_with(b"\x1b[7;9R"), "the newest answer is kept");
    assert!(replies.starts_with(b"\x1b["), "answers are dropped whole");
}

#[test]
fn a_repaint_of_a_repaint_asks_nothing() {
    let mut first = screen(GridSize::DEFAULT);
    first.feed(b"\x1b[?1049h\x1b[>5u\x1b[?1003h\x1b[?1006hx");
    let mut second = screen(GridSize::DEFAULT);
    second.feed(&first.repaint(PaintView::Whole));
    second.feed(&second.repaint(PaintView::Window(GridSize::clamped(10, 5))));
    assert_eq!(second.take_replies(), b"");
}
