//! The cells of one picture and its cursor, with the few ways to draw into it.

use proto::Size;
use term::{Cell, CellText, CursorShape, Style};

use super::width;

/// A place in a picture, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) col: u16,
    pub(crate) row: u16,
}

/// A part of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) col: u16,
    pub(crate) row: u16,
    pub(crate) cols: u16,
    pub(crate) rows: u16,
}

impl Rect {
    /// The whole of a picture.
    pub(crate) fn of(size: Size) -> Self {
        Self { col: 0, row: 0, cols: size.cols, rows: size.rows }
    }

    pub(crate) fn contains(self, point: Point) -> bool {
        (self.col..self.right()).contains(&point.col) && (self.row..self.bottom()).contains(&point.row)
    }

    /// The place in it that is nearest to a point; its corner if it is empty.
    pub(crate) fn nearest(self, point: Point) -> Point {
        let within = |at: u16, first: u16, end: u16| at.min(end.saturating_sub(1)).max(first);
        Point {
            col: within(point.col, self.col, self.right()),
            row: within(point.row, self.row, self.bottom()),
        }
    }

    /// The first column behind it.
    pub(crate) fn right(self) -> u16 {
        self.col.saturating_add(self.cols)
    }

    /// The first row below it.
    pub(crate) fn bottom(self) -> u16 {
        self.row.saturating_add(self.rows)
    }

    /// The rows of it from `from` on, at most `rows`.
    pub(crate) fn rows_from(self, from: u16, rows: u16) -> Self {
        let from = from.min(self.rows);
        Self { row: self.row + from, rows: rows.min(self.rows - from), ..self }
    }

    /// Without a frame of one cell.
    pub(crate) fn inside(self) -> Self {
        Self {
            col: self.col.saturating_add(1),
            row: self.row.saturating_add(1),
            cols: self.cols.saturating_sub(2),
            rows: self.rows.saturating_sub(2),
        }
    }

    /// A part of this size in its middle, at most as large as it is.
    pub(crate) fn middle(self, cols: u16, rows: u16) -> Self {
        let (cols, rows) = (cols.min(self.cols), rows.min(self.rows));
        Self { col: self.col + (self.cols - cols) / 2, row: self.row + (self.rows - rows) / 2, cols, rows }
    }
}

/// Where the terminal's own cursor is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownCursor {
    pub(crate) at: Point,
    /// None: the terminal's own form.
    pub(crate) form: Option<(CursorShape, bool)>,
}

/// One picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    size: Size,
    cells: Vec<Cell>,
    pub(crate) cursor: Option<ShownCursor>,
}

impl Grid {
    /// A blank picture.
    pub(crate) fn new(size: Size) -> Self {
        let count = usize::from(size.cols) * usize::from(size.rows);
        Self { size, cells: vec![Cell::blank(Style::default()); count], cursor: None }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn row(&self, row: u16) -> &[Cell] {
        let start = usize::from(row) * usize::from(self.size.cols);
        self.cells.get(start..start + usize::from(self.size.cols)).unwrap_or_default()
    }

    pub(crate) fn row_mut(&mut self, row: u16) -> &mut [Cell] {
        let start = usize::from(row) * usize::from(self.size.cols);
        self.cells.get_mut(start..start + usize::from(self.size.cols)).unwrap_or_default()
    }

    /// Blanks a part in this style.
    pub(crate) fn fill(&mut self, part: Rect, style: Style) {
        let blank = Cell::blank(style);
        for row in part.row..part.bottom().min(self.size.rows) {
            let cells = self.row_mut(row);
            let end = usize::from(part.right()).min(cells.len());
            let start = usize::from(part.col).min(end);
            cells[start..end].fill(blank.clone());
        }
    }

    /// Draws text from a place on, at most `columns` of it; returns the column behind it. Nothing in it drives the terminal:
    /// [`width::clusters`] sees to that.
    pub(crate) fn text(&mut self, at: Point, text: &str, style: Style, columns: u16) -> u16 {
        let end = at.col.saturating_add(columns).min(self.size.cols);
        let mut col = at.col;
        for (cluster, width) in width::clusters(text) {
            if col.saturating_add(u16::from(width)) > end {
                break;
            }
            self.put(
                Point { col, row: at.row },
                Cell { text: CellText::new(&cluster), style, width, link: None },
            );
            col += u16::from(width);
        }
        col
    }

    /// Changes the looks of a part and leaves its text.
    pub(crate) fn restyle(&mut self, part: Rect, change: impl Fn(&mut Style)) {
        for row in part.row..part.bottom().min(self.size.rows) {
            let cells = self.row_mut(row);
            let end = usize::from(part.right()).min(cells.len());
            let start = usize::from(part.col).min(end);
            cells[start..end].iter_mut().for_each(|cell| change(&mut cell.style));
        }
    }

    /// Copies cells of another screen's row into a part's row; blanks what they do not fill.
    pub(crate) fn copy_row(&mut self, part: Rect, row: u16, cells: &[Cell]) {
        let place = part.row.saturating_add(row);
        if row >= part.rows || place >= self.size.rows {
            return;
        }
        let target = self.row_mut(place);
        let end = usize::from(part.right()).min(target.len());
        let start = usize::from(part.col).min(end);
        let target = &mut target[start..end];
        let count = cells.len().min(target.len());
        target[..count].clone_from_slice(&cells[..count]);
        target[count..].fill(Cell::blank(Style::default()));
    }

    /// Blanks the halves of wide characters whose other half was drawn over or cut off.
    pub(crate) fn mend_row(&mut self, row: u16) {
        let cells = self.row_mut(row);
        for at in 0..cells.len() {
            let is_followed = cells.get(at + 1).is_some_and(|next| next.width == 0);
            let is_led = at > 0 && cells[at - 1].width == 2;
            let is_broken = match cells[at].width {
                2 => !is_followed,
                0 => !is_led,
                _ => false,
            };
            if is_broken {
                cells[at] = Cell::blank(cells[at].style);
            }
        }
    }

    /// The text of the picture, one line per row, without blanks at the ends.
    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        let line = |row| self.row(row).iter().map(|cell| cell.text.as_str()).collect::<String>();
        (0..self.size.rows).map(|row| line(row).trim_end().to_owned() + "\n").collect()
    }

    fn put(&mut self, at: Point, cell: Cell) {
        let is_wide = cell.width == 2;
        let style = cell.style;
        let cells = self.row_mut(at.row);
        let col = usize::from(at.col);
        if let Some(place) = cells.get_mut(col) {
            *place = cell;
        }
        if let Some(place) = cells.get_mut(col + 1).filter(|_| is_wide) {
            *place = Cell { text: CellText::new(""), style, width: 0, link: None };
        }
    }
}
