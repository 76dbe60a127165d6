//! Writes and reads one grid of a checkpoint: its pen and its rows. A row is a list of runs of cells that
//! differ only in their character. Each style and link is written once and then referred to by number.

use std::collections::HashMap;

use crate::cell::{Attributes, Color, Style, Underline};
use crate::engine::{CellView, GridBuilder, GridView, PenState, RawCell, RowView, StyleKey, Width};
use crate::size::GridSize;
use crate::wire::{Malformed, Reader, Writer};

/// From this many equal cells on, a row stores a count instead of the cells.
const REPEAT_MIN: usize = 4;
/// The most marks that a cell in a blob may carry; a live cell holds at most eight.
const MARKS_MAX: usize = 8;
/// Longest link id and target in a blob.
const LINK_MAX: usize = 4096;

const WIDTH_BITS: u8 = 0b11;
const FILL: u8 = 1 << 2;
const MARKS: u8 = 1 << 3;
const LINK: u8 = 1 << 4;
const WRAPPED: u8 = 1 << 5;
const REPEAT: u8 = 1 << 6;

/// Appends a grid with its newest `history` lines of history.
pub(super) fn write(writer: &mut Writer, grid: GridView<'_>, history: usize) {
    write_pen(writer, &grid.pen());
    write_pen(writer, &grid.saved_pen());
    writer.number(history as u64);
    let mut encoder = Encoder { writer, styles: HashMap::new(), links: HashMap::new() };
    let first = grid.history() - history;
    for row in (first..grid.history() + grid.rows()).filter_map(|index| grid.row(index)) {
        encoder.row(row);
    }
}

/// Appends the rows of a grid in which prompts begin, counted from the oldest that is written.
pub(super) fn write_prompts(writer: &mut Writer, grid: GridView<'_>, history: usize) {
    let first = grid.history() - history;
    let is_prompt = |index: &usize| grid.row(first + index).is_some_and(|row| row.is_prompt());
    let prompts: Vec<usize> = (0..history + grid.rows()).filter(is_prompt).collect();
    writer.number(prompts.len() as u64);
    prompts.iter().for_each(|index| writer.number(*index as u64));
}

/// Marks the rows in which prompts begin; the oldest `dropped` ones are not there.
pub(super) fn read_prompts(
    reader: &mut Reader<'_>,
    grid: &mut GridBuilder<'_>,
    dropped: u64,
) -> Result<(), Malformed> {
    for _ in 0..reader.number()? {
        let row = reader.number()?.checked_sub(dropped);
        row.and_then(|row| usize::try_from(row).ok()).into_iter().for_each(|row| grid.mark_prompt(row));
    }
    Ok(())
}

/// Fills a grid and returns how many lines of history did not fit.
pub(super) fn read(
    reader: &mut Reader<'_>,
    grid: &mut GridBuilder<'_>,
    size: GridSize,
) -> Result<u64, Malformed> {
    let pen = read_pen(reader)?;
    let saved_pen = read_pen(reader)?;
    let history: usize = reader.small()?;
    let rows = usize::from(size.rows);
    // Every row takes at least one byte, so a short blob cannot ask for much memory.
    if history.saturating_add(rows) > reader.left() {
        return Err(Malformed);
    }
    let kept = grid.grow_history(history);
    let dropped = history - kept;
    let mut decoder = Decoder { reader, styles: Vec::new(), links: Vec::new(), cols: size.cols.into() };
    for index in 0..history + rows {
        decoder.row(index.checked_sub(dropped).map(|row| (&mut *grid, row)))?;
    }
    grid.set_pen(&pen);
    grid.set_saved_pen(&saved_pen);
    Ok(dropped as u64)
}

struct Encoder<'w, 'g> {
    writer: &'w mut Writer,
    styles: HashMap<StyleKey, u64>,
    links: HashMap<(&'g str, &'g str), u64>,
}

impl<'g> Encoder<'_, 'g> {
    fn row(&mut self, row: RowView<'g>) {
        let used = row.touched_length();
        self.writer.number(used as u64);
        let mut col = 0;
        while let Some(cell) = row.cell(col).filter(|_| col < used) {
            let equal = row.same_cells(col..used);
            if equal >= REPEAT_MIN {
                self.head(row, &cell, REPEAT, equal);
                self.writer.character(cell.character());
                col += equal;
            } else {
                col += self.text(row, col, used);
            }
        }
    }

    /// Writes cells that share one style but have different characters, up to the next repetition worth
    /// counting.
    fn text(&mut self, row: RowView<'g>, col: usize, used: usize) -> usize {
        let Some(cell) = row.cell(col) else { return 1 };
        let alike = row.alike_cells(col..used);
        let repeats = |at: usize| row.same_cells(at..used.min(at + REPEAT_MIN)) >= REPEAT_MIN;
        let length = (1..alike).find(|&offset| repeats(col + offset)).unwrap_or(alike);
        self.head(row, &cell, 0, length);
        for cell in (col..col + length).filter_map(|col| row.cell(col)) {
            self.writer.character(cell.character());
        }
        length
    }

    fn head(&mut self, row: RowView<'g>, cell: &CellView<'g>, repeat: u8, count: usize) {
        let width = match cell.width() {
            Width::Narrow => 0,
            Width::Wide => 1,
            Width::Spacer => 2,
            Width::LeadingSpacer => 3,
        };
        let key = cell.exact_style_key();
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        self.writer.byte(
            width
                | flag(key.is_fill(), FILL)
                | flag(!cell.marks().is_empty(), MARKS)
                | flag(cell.link().is_some(), LINK)
                | flag(cell.is_wrapped(), WRAPPED)
                | repeat,
        );
        self.writer.number(count as u64);
        self.style(row, key);
        if let Some(link) = cell.link() {
            self.link(link);
        }
        if !cell.marks().is_empty() {
            self.writer.number(cell.marks().len() as u64);
            cell.marks().iter().for_each(|&mark| self.writer.character(mark));
        }
    }

    fn style(&mut self, row: RowView<'g>, key: StyleKey) {
        let next = self.styles.len() as u64;
        match self.styles.get(&key) {
            Some(&number) => self.writer.number(number),
            None => {
                self.styles.insert(key, next);
                self.writer.number(next);
                write_style(self.writer, &row.style(key));
            }
        }
    }

    fn link(&mut self, link: (&'g str, &'g str)) {
        let next = self.links.len() as u64;
        match self.links.get(&link) {
            Some(&number) => self.writer.number(number),
            None => {
                self.links.insert(link, next);
                self.writer.number(next);
                self.writer.string(link.0.as_bytes());
                self.writer.string(link.1.as_bytes());
            }
        }
    }
}

struct Decoder<'r, 'b> {
    reader: &'r mut Reader<'b>,
    styles: Vec<Style>,
    links: Vec<(&'b str, &'b str)>,
    cols: usize,
}

impl<'b> Decoder<'_, 'b> {
    /// Reads a row into `place`, or skips it when there is no place for it.
    fn row(&mut self, mut place: Option<(&mut GridBuilder<'_>, usize)>) -> Result<(), Malformed> {
        let used: usize = self.reader.small()?;
        if used > self.cols {
            return Err(Malformed);
        }
        let mut col = 0;
        while col < used {
            let head = self.reader.byte()?;
            let count: usize = self.reader.small()?;
            if count == 0 || count > used - col {
                return Err(Malformed);
            }
            let mut marks = ['\0'; MARKS_MAX];
            let cell = self.cell(head, &mut marks)?;
            let (times, each) = if head & REPEAT != 0 { (1, count) } else { (count, 1) };
            let mut target = place.as_mut().map(|(grid, row)| (grid.stamp(&cell), &mut **grid, *row));
            for index in 0..times {
                let character = self.reader.character()?;
                if let Some((stamp, grid, row)) = target.as_mut() {
                    grid.print((*row, col + index), each, stamp, character);
                }
            }
            col += count;
        }
        Ok(())
    }

    fn cell<'m>(&mut self, head: u8, marks: &'m mut [char; MARKS_MAX]) -> Result<RawCell<'m>, Malformed>
    where
        'b: 'm,
    {
        let style = self.style()?;
        let link = if head & LINK != 0 { Some(self.link()?) } else { None };
        let mut length = 0;
        if head & MARKS != 0 {
            length = self.reader.small()?;
            for slot in marks.get_mut(..length).ok_or(Malformed)? {
                *slot = self.reader.character()?;
            }
        }
        Ok(RawCell {
            marks: &marks[..length],
            style,
            fill: head & FILL != 0,
            width: match head & WIDTH_BITS {
                0 => Width::Narrow,
                1 => Width::Wide,
                2 => Width::Spacer,
                _ => Width::LeadingSpacer,
            },
            wrapped: head & WRAPPED != 0,
            link,
        })
    }

    fn style(&mut self) -> Result<Style, Malformed> {
        let number: usize = self.reader.small()?;
        if number == self.styles.len() {
            self.styles.push(read_style(self.reader)?);
        }
        self.styles.get(number).copied().ok_or(Malformed)
    }

    fn link(&mut self) -> Result<(&'b str, &'b str), Malformed> {
        let number: usize = self.reader.small()?;
        if number == self.links.len() {
            let link = (self.reader.string(LINK_MAX)?, self.reader.string(LINK_MAX)?);
            self.links.push(link);
        }
        self.links.get(number).copied().ok_or(Malformed)
    }
}

fn write_pen(writer: &mut Writer, pen: &PenState) {
    writer.number(u64::from(pen.col));
    writer.number(u64::from(pen.row));
    writer.flag(pen.wrap_pending);
    write_style(writer, &pen.style);
    writer.byte(pen.line_drawing);
    writer.option(pen.link.as_ref().map(|(id, _)| id.as_str()));
    writer.option(pen.link.as_ref().map(|(_, target)| target.as_str()));
}

fn read_pen(reader: &mut Reader<'_>) -> Result<PenState, Malformed> {
    let (col, row) = (reader.small()?, reader.small()?);
    let wrap_pending = reader.flag()?;
    let style = read_style(reader)?;
    let line_drawing = reader.byte()?;
    let id = reader.option(LINK_MAX)?;
    let target = reader.option(LINK_MAX)?;
    let link = id.zip(target).map(|(id, target)| (id.to_owned(), target.to_owned()));
    Ok(PenState { col, row, wrap_pending, style, link, line_drawing })
}

fn write_style(writer: &mut Writer, style: &Style) {
    let [attributes, overline] = style.attributes.bits().to_le_bytes();
    writer.byte(attributes);
    writer.byte(style.underline as u8 | overline << 3);
    write_color(writer, style.fg);
    write_color(writer, style.bg);
    writer.flag(style.underline_color.is_some());
    if let Some(color) = style.underline_color {
        write_color(writer, color);
    }
}

fn read_style(reader: &mut Reader<'_>) -> Result<Style, Malformed> {
    let (attributes, lines) = (reader.byte()?, reader.byte()?);
    let attributes = Attributes::from_bits(u16::from_le_bytes([attributes, lines >> 3 & 1]));
    let underline = match lines & !(1 << 3) {
        0 => Underline::None,
        1 => Underline::Single,
        2 => Underline::Double,
        3 => Underline::Curly,
        4 => Underline::Dotted,
        5 => Underline::Dashed,
        _ => return Err(Malformed),
    };
    let (fg, bg) = (read_color(reader)?, read_color(reader)?);
    let underline_color = if reader.flag()? { Some(read_color(reader)?) } else { None };
    Ok(Style { fg, bg, underline, underline_color, attributes })
}

fn write_color(writer: &mut Writer, color: Color) {
    match color {
        Color::Default => writer.byte(0),
        Color::Basic(index) => writer.bytes.extend_from_slice(&[1, index]),
        Color::Indexed(index) => writer.bytes.extend_from_slice(&[2, index]),
        Color::Rgb(red, green, blue) => writer.bytes.extend_from_slice(&[3, red, green, blue]),
    }
}

fn read_color(reader: &mut Reader<'_>) -> Result<Color, Malformed> {
    Ok(match reader.byte()? {
        0 => Color::Default,
        1 => Color::Basic(reader.byte()? & 15),
        2 => Color::Indexed(reader.byte()?),
        3 => Color::Rgb(reader.byte()?, reader.byte()?, reader.byte()?),
        _ => return Err(Malformed),
    })
}
