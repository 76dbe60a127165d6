//! Pictures through a real emulator: what is written makes a terminal show exactly the picture.

use proptest::prelude::*;
use proto::Size;
use term::{Attributes, Cell, Color, GridSize, Limits, Screen, Style, Underline};

use super::encode::ChangedRows;
use super::{ColorDepth, Encoder, Grid, Point, Rect, ShownCursor};

const SIZE: Size = Size { cols: 24, rows: 6 };

fn screen(size: Size) -> Screen {
    Screen::new(GridSize::clamped(size.cols.into(), size.rows.into()), Limits { history_lines: 0 })
}

fn assert_shows(screen: &Screen, grid: &Grid) {
    for row in 0..grid.size().rows {
        for (col, (shown, cell)) in screen.row_cells(row).iter().zip(grid.row(row)).enumerate() {
            assert_eq!(shown, cell, "row {row}, column {col}");
        }
    }
    if let Some(cursor) = grid.cursor {
        assert_eq!((screen.cursor().col, screen.cursor().row), (cursor.at.col, cursor.at.row));
    }
    assert_eq!(screen.cursor().visible, grid.cursor.is_some());
}

fn style() -> impl Strategy<Value = Style> {
    let color = prop_oneof![
        Just(Color::Default),
        (0u8..16).prop_map(Color::Basic),
        (16u8..255).prop_map(Color::Indexed),
        any::<(u8, u8, u8)>().prop_map(|(red, green, blue)| Color::Rgb(red, green, blue)),
    ];
    let underline = prop_oneof![Just(Underline::None), Just(Underline::Curly), Just(Underline::Double)];
    (color.clone(), color, underline, any::<[bool; 3]>()).prop_map(|(fg, bg, underline, switches)| {
        let mut attributes = Attributes::default();
        let all = [Attributes::BOLD, Attributes::INVERSE, Attributes::STRIKE];
        all.iter().zip(switches).filter(|(_, is_on)| *is_on).for_each(|(one, _)| attributes.insert(*one));
        Style { fg, bg, underline, underline_color: None, attributes }
    })
}

/// Texts at random places, with wide, joined and ambiguous characters, drawn over each other.
fn picture() -> impl Strategy<Value = Grid> {
    let text = prop_oneof![
        "[ -~]{0,12}".boxed(),
        "[漢字😀é─✓▸ab]{0,8}".boxed(),
        Just("e\u{301}x👩\u{200d}🚀".to_owned()).boxed(),
    ];
    let piece = (0u16..24, 0u16..6, text, style());
    let cursor = prop::option::of((0u16..24, 0u16..6));
    (prop::collection::vec(piece, 0..10), cursor).prop_map(|(pieces, cursor)| {
        let mut grid = Grid::new(SIZE);
        for (col, row, text, style) in pieces {
            grid.text(Point { col, row }, &text, style, 24);
        }
        (0..SIZE.rows).for_each(|row| grid.mend_row(row));
        grid.cursor = cursor.map(|(col, row)| ShownCursor { at: Point { col, row }, form: None });
        grid
    })
}

proptest! {
    #[test]
    fn u7_the_difference_applied_to_the_old_picture_is_the_new_one(pictures in prop::collection::vec(picture(), 1..5)) {
        let mut encoder = Encoder::new(ColorDepth::True);
        let mut shown = screen(SIZE);
        for picture in &pictures {
            let mut bytes = Vec::new();
            encoder.encode(picture, &ChangedRows::All, &mut bytes);
            shown.feed(&bytes);
            assert_shows(&shown, picture);
        }
        let mut bytes = Vec::new();
        encoder.encode(&pictures[pictures.len() - 1], &ChangedRows::All, &mut bytes);
        prop_assert!(bytes.is_empty(), "{bytes:?}");
    }
}

#[test]
fn u7_after_a_disputed_width_the_cursor_is_placed_absolutely() {
    let mut grid = Grid::new(SIZE);
    grid.text(Point::default(), "─x", Style::default(), 24);
    let mut bytes = Vec::new();
    Encoder::new(ColorDepth::True).encode(&grid, &ChangedRows::All, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("─\x1b[1;2Hx"), "{text:?}");
}

#[test]
fn u7_the_second_column_of_a_disputed_character_is_blanked_first() {
    let mut grid = Grid::new(SIZE);
    let wide =
        Cell { text: term::CellText::new("\u{26a0}\u{fe0f}"), width: 2, ..Cell::blank(Style::default()) };
    let half = Cell { text: term::CellText::new(""), width: 0, ..Cell::blank(Style::default()) };
    (grid.row_mut(0)[0], grid.row_mut(0)[1]) = (wide, half);
    let mut bytes = Vec::new();
    Encoder::new(ColorDepth::True).encode(&grid, &ChangedRows::All, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("  \x1b[1;1H\u{26a0}\u{fe0f}"), "{text:?}");
}

#[test]
fn u21_the_text_of_chrome_loses_its_control_characters() {
    let mut grid = Grid::new(SIZE);
    grid.text(Point::default(), "a\x1b[2Jb\u{9b}c", Style::default(), 24);
    assert_eq!(grid.to_text().lines().next(), Some("a\\u{1b}[2Jb\\u{9b}c"));
}

#[test]
fn u21_a_mark_of_direction_in_a_pane_does_not_reach_the_row_that_it_shares() {
    let mut program = screen(SIZE);
    program.feed("ab\u{202e}c\u{2066}漢\u{61c}👩\u{200d}🚀e\u{301}".as_bytes());
    let mut grid = Grid::new(SIZE);
    grid.copy_row(Rect::of(SIZE), 0, &program.row_cells(0));
    let mut bytes = Vec::new();
    Encoder::new(ColorDepth::True).encode(&grid, &ChangedRows::All, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.chars().any(super::width::turns_direction), "{text:?}");
    assert!(text.contains("\u{200d}🚀") && text.contains("e\u{301}"), "{text:?}");
}

#[test]
fn u21_what_is_measured_is_what_is_drawn() {
    for text in ["a\x1b[2Jb", "\u{202e}abc", "漢\u{feff}字", "tab\tline\nend", "\u{9b}"] {
        let columns: u16 = super::width::clusters(text).iter().map(|(_, width)| u16::from(*width)).sum();
        assert_eq!(super::width::columns(text), columns, "{text:?}");
        let mut grid = Grid::new(Size { cols: 80, rows: 1 });
        assert_eq!(grid.text(Point::default(), text, Style::default(), 80), columns, "{text:?}");
    }
}

#[test]
fn a_link_is_written_once_for_the_cells_it_covers() {
    let mut grid = Grid::new(SIZE);
    for col in 0..3 {
        grid.row_mut(0)[col] =
            Cell { link: Some("https://a.example".into()), ..Cell::blank(Style::default()) };
    }
    let mut bytes = Vec::new();
    Encoder::new(ColorDepth::True).encode(&grid, &ChangedRows::All, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("https://a.example").count(), 1, "{text:?}");
}

#[test]
fn a_part_that_is_drawn_over_half_a_wide_character_leaves_no_half() {
    let mut grid = Grid::new(SIZE);
    grid.text(Point::default(), "漢字", Style::default(), 24);
    grid.fill(Rect { col: 1, row: 0, cols: 2, rows: 1 }, Style::default());
    grid.mend_row(0);
    assert!(grid.row(0).iter().all(|cell| cell.width == 1));
}

#[test]
fn u21_a_link_whose_target_could_end_its_sequence_is_no_link() {
    let targets = [
        "https://e/\x1b\\\x1b]0;owned\x07",
        "https://e/\x07",
        "https://e/\u{9c}",
        "https://e/\u{202e}",
        "https://e/\n",
    ];
    for (target, is_link) in targets.iter().map(|target| (*target, false)).chain([("https://e/?a=b", true)]) {
        let mut grid = Grid::new(SIZE);
        grid.text(Point { col: 0, row: 0 }, "x", Style::default(), 1);
        grid.row_mut(0)[0].link = Some(target.into());
        let mut bytes = Vec::new();
        Encoder::new(ColorDepth::True).encode(&grid, &ChangedRows::All, &mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.contains("https://e/"), is_link, "{text:?}");
        assert!(
            !["\x07", "\x1b]0;", "\u{9c}", "\u{202e}"].iter().any(|hostile| text.contains(hostile)),
            "{text:?}"
        );
    }
}
