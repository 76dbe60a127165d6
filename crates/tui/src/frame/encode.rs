//! The difference of two pictures as bytes for the person's terminal.
//!
//! Terminals disagree about the width of some cells; after such a cell the cursor is placed absolutely, so that a wrong
//! width spoils one cell and not the row. A difference of more than one row is one synchronized update.

use std::io::Write;
use std::sync::Arc;

use proto::Size;
use term::{Attributes, Cell, Color, CursorShape, Style, Underline, write_style};

use super::{ColorDepth, Grid, Point, width};

/// So many blank cells at the end of a row are erased instead of written.
const ERASE_FROM: usize = 5;

/// Which rows may differ from what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangedRows {
    /// Any.
    All,
    /// These.
    Only(Vec<u16>),
}

/// Writes pictures to one terminal.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// What the terminal shows; none when that is not known.
    shown: Option<Grid>,
    depth: ColorDepth,
    /// Where the terminal's cursor is; none when that is not known.
    at: Option<Point>,
    pen: Style,
    link: Option<Arc<str>>,
}

impl Encoder {
    /// For a terminal of which nothing is known but its colours.
    pub(crate) fn new(depth: ColorDepth) -> Self {
        Self { shown: None, depth, at: None, pen: Style::default(), link: None }
    }

    /// The terminal was used by somebody else: everything is drawn next time.
    pub(crate) fn forget(&mut self) {
        self.shown = None;
    }

    /// Appends the bytes that make the terminal show `next`, of which only `rows` may differ from the last picture.
    pub(crate) fn encode(&mut self, next: &Grid, rows: &ChangedRows, out: &mut Vec<u8>) {
        let shown = self.shown.take().filter(|shown| shown.size() == next.size());
        let is_new = shown.is_none();
        let mut shown = shown.unwrap_or_else(|| Grid::new(next.size()));
        let before = out.len();
        let is_small = matches!(rows, ChangedRows::Only(rows) if rows.len() <= 1) && !is_new;
        out.extend_from_slice(if is_small { b"" } else { b"\x1b[?2026h" });
        out.extend_from_slice(b"\x1b[?25l");
        let start = out.len();
        if is_new {
            self.begin(out);
        }
        match rows {
            ChangedRows::Only(rows) if !is_new => {
                rows.iter().for_each(|row| self.encode_row(*row, &mut shown, next, out));
            }
            _ => (0..next.size().rows).for_each(|row| self.encode_row(row, &mut shown, next, out)),
        }
        let is_same = out.len() == start && shown.cursor == next.cursor;
        if is_same {
            out.truncate(before);
        } else {
            self.encode_cursor(next, out);
            out.extend_from_slice(if is_small { b"" } else { b"\x1b[?2026l" });
            shown.cursor = next.cursor;
        }
        self.shown = Some(shown);
    }

    /// The size of the picture that is shown.
    pub(crate) fn shown_size(&self) -> Option<Size> {
        self.shown.as_ref().map(Grid::size)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b]8;;\x1b\\\x1b[m\x1b[H\x1b[2J");
        (self.at, self.pen, self.link) = (Some(Point::default()), Style::default(), None);
    }

    fn encode_row(&mut self, row: u16, shown: &mut Grid, next: &Grid, out: &mut Vec<u8>) {
        let cells = next.row(row);
        if shown.row(row) == cells {
            return;
        }
        let blank = Cell::blank(Style::default());
        let filled = cells.iter().rposition(|cell| *cell != blank).map_or(0, |last| last + 1);
        let old = shown.row(row);
        let mut col = 0;
        while col < cells.len() {
            // Asked once: behind the first blank column the old row has no more left to erase than there.
            let is_erasable =
                col == filled && old[col..].iter().filter(|cell| **cell != blank).count() >= ERASE_FROM;
            if is_erasable {
                self.erase_from(Point { col: at(col), row }, out);
                break;
            }
            // A wide character that goes leaves its second half behind: both are written.
            let is_half = cells[col].width == 0;
            if !is_half && (old[col] != cells[col] || is_beside_change(old, cells, col)) {
                self.encode_cell(Point { col: at(col), row }, &cells[col], cells.len(), out);
            }
            col += 1;
        }
        shown.row_mut(row).clone_from_slice(cells);
    }

    fn encode_cell(&mut self, place: Point, cell: &Cell, columns: usize, out: &mut Vec<u8>) {
        self.go(place, out);
        self.set_pen(self.depth.fit(cell.style), out);
        self.set_link(cell.link.as_ref(), out);
        if cell.width == 2 && width::is_disputed(cell) {
            // A terminal that gives it one column would leave what was in the second.
            out.extend_from_slice(b"  ");
            self.at = None;
            self.go(place, out);
        }
        match cell.style.attributes.contains(Attributes::HIDDEN) {
            true => out.extend(std::iter::repeat_n(b' ', usize::from(cell.width.max(1)))),
            false => write_text(&cell.text, out),
        }
        let behind = place.col + u16::from(cell.width.max(1));
        let is_known = usize::from(behind) < columns && !width::is_disputed(cell);
        self.at = is_known.then_some(Point { col: behind, row: place.row });
    }

    fn erase_from(&mut self, place: Point, out: &mut Vec<u8>) {
        self.go(place, out);
        self.set_pen(Style::default(), out);
        self.set_link(None, out);
        out.extend_from_slice(b"\x1b[K");
    }

    fn go(&mut self, place: Point, out: &mut Vec<u8>) {
        if self.at != Some(place) {
            put(out, format_args!("\x1b[{};{}H", place.row + 1, place.col + 1));
            self.at = Some(place);
        }
    }

    fn set_pen(&mut self, style: Style, out: &mut Vec<u8>) {
        if self.pen != style {
            write_style(out, &style);
            self.pen = style;
        }
    }

    fn set_link(&mut self, link: Option<&Arc<str>>, out: &mut Vec<u8>) {
        if self.link.as_ref() != link {
            let target = link.map_or("", |link| link.as_ref());
            let is_safe = target.bytes().all(|byte| (0x20..0x7f).contains(&byte));
            put(out, format_args!("\x1b]8;;{}\x1b\\", if is_safe { target } else { "" }));
            self.link = link.cloned();
        }
    }

    fn encode_cursor(&mut self, next: &Grid, out: &mut Vec<u8>) {
        let Some(cursor) = next.cursor else { return };
        self.go(cursor.at, out);
        let form = match cursor.form {
            None => 0,
            Some((shape, is_blinking)) => {
                let steady = match shape {
                    CursorShape::Block => 2,
                    CursorShape::Underline => 4,
                    CursorShape::Bar => 6,
                };
                steady - u8::from(is_blinking)
            }
        };
        put(out, format_args!("\x1b[{form} q\x1b[?25h"));
    }
}

/// Writes the text of a cell without marks of direction, which a program may have put there.
fn write_text(text: &str, out: &mut Vec<u8>) {
    // A mark has no column of its own: it stands behind another character.
    if text.len() < 3 || !text.chars().any(width::turns_direction) {
        return out.extend_from_slice(text.as_bytes());
    }
    let kept = text.chars().filter(|character| !width::turns_direction(*character));
    kept.for_each(|character| out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()));
}

/// Returns true if the cell has to be written because a wide character began or ended beside it.
fn is_beside_change(old: &[Cell], new: &[Cell], col: usize) -> bool {
    let half_changes = |at: usize| {
        old.get(at).is_some_and(|cell| cell.width == 0) != new.get(at).is_some_and(|cell| cell.width == 0)
    };
    let is_widths = half_changes(col) || half_changes(col + 1);
    is_widths || (new[col].width == 2 && old.get(col + 1) != new.get(col + 1))
}

fn at(col: usize) -> u16 {
    u16::try_from(col).unwrap_or(u16::MAX)
}

fn put(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a vector cannot fail");
}

/// A style from colours and switches, for chrome.
pub(crate) fn style(fg: Color, bg: Color, attributes: &[Attributes]) -> Style {
    let mut all = Attributes::default();
    attributes.iter().for_each(|attribute| all.insert(*attribute));
    Style { fg, bg, underline: Underline::None, underline_color: None, attributes: all }
}
