//! State that the viewer's terminal has only once: the form of the cursor, titles, colours and saved modes,
//! and what a repaint writes about them.

use term::{Attributes, Depth, GridSize, Limits, MouseEncoding, PaintView, Screen};

use crate::streams::screen;

fn restored(screen: &Screen) -> Screen {
    Screen::restore(&screen.checkpoint(Depth::Full), Limits::default()).expect("its own checkpoint is read")
}

fn drawn(screen: &Screen) -> Screen {
    let mut drawn = self::screen(GridSize::DEFAULT);
    drawn.feed(&screen.repaint(PaintView::Whole));
    drawn
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn m9b_a_cursor_that_nobody_chose_stays_the_terminals_own() {
    let mut screen = screen(GridSize::DEFAULT);
    assert!(has(&screen.repaint(PaintView::Whole), b"\x1b[0 q"));
    screen.feed(b"\x1b[2 q");
    assert!(has(&screen.repaint(PaintView::Whole), b"\x1b[2 q"));
    assert!(has(&restored(&screen).repaint(PaintView::Whole), b"\x1b[2 q"));
    screen.feed(b"\x1b[0 q");
    assert!(has(&screen.repaint(PaintView::Whole), b"\x1b[0 q"));
}

#[test]
fn m9b_colours_reverse_video_and_pixel_reports_are_drawn_and_kept() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"\x1b]4;3;#010203\x07\x1b]12;orange\x07\x1b[?5h\x1b[?1003;1016h");
    for copy in [&mut drawn(&screen), &mut restored(&screen)] {
        assert!(copy.modes().reverse_video);
        assert_eq!(copy.modes().mouse_encoding, MouseEncoding::SgrPixels);
        copy.feed(b"\x1b]4;3;?\x07\x1b]12;?\x07\x1b[?5$p\x1b[?1016$p");
        let answers = String::from_utf8(copy.take_replies()).unwrap();
        let colors = "\x1b]4;3;rgb:0101/0202/0303\x07\x1b]12;rgb:ffff/a5a5/0000\x07";
        assert_eq!(answers, format!("{colors}\x1b[?5;1$y\x1b[?1016;1$y"));
    }
    screen.feed(b"\x1b[?1006h");
    assert_eq!(screen.modes().mouse_encoding, MouseEncoding::Sgr);
}

#[test]
fn m9b_saved_modes_come_back_also_after_a_checkpoint() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"\x1b[?1002h\x1b[?1002;25;2004s\x1b[?1002l\x1b[?25l\x1b[?2004h");
    for copy in [&mut restored(&screen), &mut screen] {
        copy.feed(b"\x1b[?1002;25;2004r\x1b[?1002$p\x1b[?25$p\x1b[?2004$p");
        assert_eq!(copy.take_replies(), b"\x1b[?1002;1$y\x1b[?25;1$y\x1b[?2004;2$y");
    }
}

#[test]
fn m10d_only_a_character_is_repeated_and_a_checkpoint_does_not_change_that() {
    for (before, after, expected) in [
        ("ab", "\x1b[3b", "abbbb"),
        ("ab\x1b[2b", "\x1b[b", "abbbb"),
        ("a\x1b[m", "\x1b[3b", "a"),
        ("a\x1b[C", "\x1b[3b", "a"),
        ("a\x1b[?25h", "\x1b[3b", "a"),
        ("a\x1b]2;t\x07", "\x1b[3b", "a"),
        ("a\t", "\x1b[3b", "a"),
        ("a\x1b[4", "\n\x1b[3b", "a"),
        ("\u{e9}", "\x1b[2b", "\u{e9}\u{e9}\u{e9}"),
    ] {
        let mut whole = screen(GridSize::DEFAULT);
        whole.feed(format!("{before}{after}").as_bytes());
        let mut bytes = screen(GridSize::DEFAULT);
        format!("{before}{after}").bytes().for_each(|byte| bytes.feed(&[byte]));
        let mut cut = screen(GridSize::DEFAULT);
        cut.feed(before.as_bytes());
        let mut cut = restored(&cut);
        cut.feed(after.as_bytes());
        for screen in [whole, bytes, cut] {
            let row: String = screen.row_cells(0).iter().map(|cell| cell.text.to_string()).collect();
            assert_eq!(row.trim_end(), expected, "{before:?} {after:?}");
        }
    }
}

#[test]
fn m10d_a_drawing_says_which_character_was_last() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"A");
    assert!(has(&screen.repaint(PaintView::Whole), b"\x1b_Qr;41\x1b\\"));
    screen.feed(b"\x1b[m");
    assert!(!has(&screen.repaint(PaintView::Whole), b"\x1b_Qr;"));
}

#[test]
fn m10c_a_selector_of_looks_is_kept_where_clusters_are_off_and_takes_no_cell() {
    for text in ["\u{2764}\u{fe0f}x", "1\u{fe0f}\u{20e3}x", "\u{23}\u{fe0f}x"] {
        let mut screen = screen(GridSize::DEFAULT);
        screen.feed(format!("\x1b[?2027l{text}").as_bytes());
        let cells = screen.row_cells(0);
        let row: String = cells.iter().take(2).map(|cell| cell.text.to_string()).collect();
        assert_eq!(row, text);
        assert_eq!(screen.cursor().col, 2, "{text:?}");
        let copy = drawn(&screen);
        assert_eq!(copy.row_cells(0)[..2], cells[..2], "{text:?}");
    }
}

#[test]
fn m10c_conjoining_jamo_take_no_cell_and_hexagrams_and_counting_rods_take_one() {
    for (text, col) in [
        ("\u{1112}\u{d7b0}", 2),
        ("\u{1112}\u{d7fb}", 2),
        ("\u{4dc0}", 1),
        ("\u{4dff}x", 2),
        ("\u{1d360}", 1),
    ] {
        for clusters in ["\x1b[?2027h", "\x1b[?2027l", "\x1b[4h"] {
            let mut screen = screen(GridSize::DEFAULT);
            screen.feed(format!("{clusters}{text}").as_bytes());
            assert_eq!(screen.cursor().col, col, "{text:?} {clusters:?}");
            let row: String = screen.row_cells(0).iter().map(|cell| cell.text.to_string()).collect();
            assert_eq!(row.trim_end(), text, "{clusters:?}");
        }
    }
}

#[test]
fn m9d_overline_is_drawn_and_kept() {
    for (stream, expected) in [
        ("\x1b[53mx\x1b[55my", [true, false]),
        ("\x1b[1;53mx\x1b[0my", [true, false]),
        ("\x1b[4:3;53;58:5:9mx\x1b[38;5;53;55my", [true, false]),
        ("\x1b[53m\x1b[38;5;55mx\x1b[39my", [true, true]),
    ] {
        for cut in [1, 4, stream.len()] {
            let mut screen = self::screen(GridSize::DEFAULT);
            stream.as_bytes().chunks(cut).for_each(|piece| screen.feed(piece));
            let seen = |screen: &Screen| {
                let cells = screen.row_cells(0);
                [0, 1].map(|col| cells[col].style.attributes.contains(Attributes::OVERLINE))
            };
            assert_eq!(seen(&screen), expected, "{stream:?} by {cut}");
            assert_eq!(restored(&screen).row_cells(0), screen.row_cells(0), "{stream:?} kept");
            assert_eq!(drawn(&screen).row_cells(0), screen.row_cells(0), "{stream:?} drawn");
        }
    }
    let mut screen = self::screen(GridSize::DEFAULT);
    screen.feed(b"\x1b[53m\x1bP$qm\x1b\\");
    assert_eq!(screen.take_replies(), b"\x1bP1$r0;53m\x1b\\");
}

#[test]
fn m9d_pushed_colours_come_back_also_after_a_checkpoint() {
    let mut screen = self::screen(GridSize::DEFAULT);
    screen.feed(b"\x1b]11;rgb:11/22/33\x1b\\\x1b[#P\x1b]11;rgb:ff/ff/ff\x1b\\\x1b]4;1;rgb:1/2/3\x1b\\");
    let mut screen = restored(&screen);
    screen.feed(b"\x1b[#Q\x1b]11;?\x1b\\\x1b]4;1;?\x1b\\\x1b[#Q");
    assert_eq!(screen.take_replies(), b"\x1b]11;rgb:1111/2222/3333\x1b\\");
}
