//! Reads and sets the exact cells, pens and registers of a grid, for checkpoints. `checkpoint` turns them
//! into bytes.

use rio_vt::ansi::CursorShape as ForeignShape;
use rio_vt::ansi::mode::Mode as AnsiMode;
use rio_vt::crosswords::grid::row::{Row, SemanticPrompt};
use rio_vt::crosswords::grid::{Dimensions, Grid};
use rio_vt::crosswords::pos::{CharsetIndex, Column, Cursor as ForeignCursor, Line, StandardCharset};
use rio_vt::crosswords::square::{CellFlags, Extras, Hyperlink, Square, Wide};
use rio_vt::performer::handler::Handler;

use super::charset::{CHARSETS, Shifts};
use super::convert;
use super::keyboard::Keyboard;
use super::repetition::Repetition;
use super::tabs::TabStops;
use super::terminal::Terminal;
use super::view::Width;
use crate::cell::{Color, Style};
use crate::modes::{Cursor, CursorShape, Modes, MouseEncoding, MouseTracking};

/// The state outside of the grids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// Modes; the keyboard flags in it follow from `keyboard`.
    pub(crate) modes: Modes,
    /// Only visibility, shape and blinking count; positions belong to pens.
    pub(crate) cursor: Cursor,
    /// First row of the scroll region and the row after its last.
    pub(crate) region: (u16, u16),
    /// One flag per column.
    pub(crate) tabs: Vec<bool>,
    /// Which of G0 to G3 is in use.
    pub(crate) charset: u8,
    /// The set for the next character only.
    pub(crate) shift: Option<u8>,
    /// What DECSC saved besides pen and place, on the visible grid.
    pub(crate) saved: Shifts,
    /// The same on the other grid.
    pub(crate) other_saved: Shifts,
    /// Keyboard flags of the visible grid.
    pub(crate) keyboard: Keyboard,
    /// Keyboard flags of the other grid.
    pub(crate) other_keyboard: Keyboard,
    /// What REP repeats.
    pub(crate) last_character: Option<char>,
    /// How much REP may print.
    pub(crate) repeats: u32,
    /// Modes that were saved, and whether they were on.
    pub(crate) saved_modes: Vec<(u16, bool)>,
}

/// Position and pen of one grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PenState {
    /// Column.
    pub(crate) col: u16,
    /// Visible row.
    pub(crate) row: u16,
    /// The next character wraps first.
    pub(crate) wrap_pending: bool,
    /// Looks of the next character.
    pub(crate) style: Style,
    /// Id and target of the open hyperlink.
    pub(crate) link: Option<(String, String)>,
    /// Bit n: Gn holds line drawing.
    pub(crate) line_drawing: u8,
}

impl PenState {
    pub(super) fn of(grid: &Grid<Square>, cursor: &ForeignCursor<Square>) -> PenState {
        let link = cursor
            .template
            .extras_id_checked()
            .and_then(|id| grid.extras_table.get(id))
            .and_then(|extras| extras.hyperlink.as_ref())
            .map(|link| (link.id().to_owned(), link.uri().to_owned()));
        let drawing = |(bit, index): (usize, &CharsetIndex)| {
            u8::from(cursor.charsets[*index] != StandardCharset::Ascii) << bit
        };
        PenState {
            col: cursor.pos.col.0.min(grid.columns().saturating_sub(1)) as u16,
            row: cursor.pos.row.0.clamp(0, grid.screen_lines() as i32 - 1) as u16,
            wrap_pending: cursor.should_wrap,
            style: convert::style(&cursor.pending_style),
            link,
            line_drawing: CHARSETS.iter().enumerate().map(drawing).sum(),
        }
    }
}

/// One exact cell but for its character.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawCell<'a> {
    /// Characters joined to it.
    pub(crate) marks: &'a [char],
    /// Looks.
    pub(crate) style: Style,
    /// The cell has only a background.
    pub(crate) fill: bool,
    /// Part of a character.
    pub(crate) width: Width,
    /// The text continues in the next row.
    pub(crate) wrapped: bool,
    /// Id and target of the hyperlink.
    pub(crate) link: Option<(&'a str, &'a str)>,
}

/// A cell in the emulator's form, without its character.
pub(crate) struct Stamp(Square);

/// Writes into one grid of a fresh engine.
pub(crate) struct GridBuilder<'a> {
    grid: &'a mut Grid<Square>,
    history_lines: usize,
}

impl<'a> GridBuilder<'a> {
    pub(super) fn new(grid: &'a mut Grid<Square>, history_lines: usize) -> GridBuilder<'a> {
        GridBuilder { grid, history_lines }
    }

    /// Adds blank history up to the limit; returns how many rows there are now.
    pub(crate) fn grow_history(&mut self, rows: usize) -> usize {
        let wanted = rows.min(self.history_lines);
        let screen = self.grid.screen_lines();
        while self.grid.history_size() < wanted {
            let step = (wanted - self.grid.history_size()).min(screen);
            let before = self.grid.history_size();
            self.grid.scroll_up(&(Line(0)..Line(screen as i32)), step);
            if self.grid.history_size() == before {
                break;
            }
        }
        self.grid.history_size()
    }

    /// Marks a row, counted from the oldest, as the beginning of a prompt.
    pub(crate) fn mark_prompt(&mut self, row: usize) {
        if row < self.grid.total_lines() {
            let line = row as i32 - self.grid.history_size() as i32;
            self.grid[Line(line)].semantic_prompt = SemanticPrompt::Prompt;
        }
    }

    /// Prepares a cell that can be written any number of times.
    pub(crate) fn stamp(&mut self, cell: &RawCell<'_>) -> Stamp {
        Stamp(self.square(cell))
    }

    /// Writes a stamp with a character into `count` cells from `col` on, in a row counted from the oldest.
    /// Cells outside are dropped.
    pub(crate) fn print(&mut self, place: (usize, usize), count: usize, stamp: &Stamp, character: char) {
        let (row, col) = place;
        let columns = self.grid.columns();
        if row >= self.grid.total_lines() || col >= columns {
            return;
        }
        let mut square = stamp.0;
        if !square.is_bg_only() {
            square.set_c(character);
        }
        let line = Line(row as i32 - self.grid.history_size() as i32);
        let target = &mut self.grid[line];
        note_contents(target, square);
        let end = col.saturating_add(count).min(columns);
        target[Column(col)..Column(end)].fill(square);
    }

    /// Sets position and pen.
    pub(crate) fn set_pen(&mut self, pen: &PenState) {
        self.grid.cursor = self.cursor(pen);
    }

    /// Sets the saved position and pen.
    pub(crate) fn set_saved_pen(&mut self, pen: &PenState) {
        self.grid.saved_cursor = self.cursor(pen);
    }

    fn cursor(&mut self, pen: &PenState) -> ForeignCursor<Square> {
        let mut cursor = ForeignCursor::<Square>::default();
        cursor.pos.col = Column(usize::from(pen.col).min(self.grid.columns() - 1));
        cursor.pos.row = Line(i32::from(pen.row).min(self.grid.screen_lines() as i32 - 1));
        cursor.should_wrap = pen.wrap_pending;
        cursor.pending_style = convert::foreign_style(&pen.style);
        cursor.style_dirty = true;
        if let Some((id, uri)) = &pen.link {
            let extras = self.extras(&[], Some((id, uri)));
            cursor.template.set_extras_id(extras);
            cursor.template.insert_cell_flag(CellFlags::HYPERLINK);
        }
        for (bit, index) in CHARSETS.into_iter().enumerate() {
            if pen.line_drawing & (1 << bit) != 0 {
                cursor.charsets[index] = StandardCharset::SpecialCharacterAndLineDrawing;
            }
        }
        cursor
    }

    fn extras(&mut self, marks: &[char], link: Option<(&str, &str)>) -> Option<u16> {
        let hyperlink = link.map(|(id, uri)| Hyperlink::new(Some(id), uri));
        let id = self.grid.alloc_extras(Extras { zerowidth: marks.to_vec(), hyperlink });
        Some(id).filter(|&id| id != 0)
    }

    fn square(&mut self, cell: &RawCell<'_>) -> Square {
        let mut square = Square::default();
        match cell.style.bg {
            Color::Indexed(index) if cell.fill => square.set_bg_palette(index),
            Color::Rgb(red, green, blue) if cell.fill => square.set_bg_rgb(red, green, blue),
            _ => self.text_square(&mut square, cell),
        }
        square.set_wide(match cell.width {
            Width::Narrow => Wide::Narrow,
            Width::Wide => Wide::Wide,
            Width::Spacer => Wide::Spacer,
            Width::LeadingSpacer => Wide::LeadingSpacer,
        });
        square.set_wrapline(cell.wrapped);
        square
    }

    fn text_square(&mut self, square: &mut Square, cell: &RawCell<'_>) {
        if cell.style != Style::default() {
            self.grid.set_template_style(convert::foreign_style(&cell.style));
            self.grid.sync_template_style();
            square.set_style_id(self.grid.template_style_id());
        }
        if !cell.marks.is_empty() || cell.link.is_some() {
            square.set_extras_id(self.extras(cell.marks, cell.link));
        }
        if !cell.marks.is_empty() {
            square.insert_cell_flag(CellFlags::GRAPHEME);
        }
        if cell.link.is_some() {
            square.insert_cell_flag(CellFlags::HYPERLINK);
        }
    }
}

/// Marks in the row what it contains. Without these marks the emulator's sweeps would free entries in use.
fn note_contents(row: &mut Row<Square>, square: Square) {
    row.has_extras |= square.has_extras();
    row.has_styles |= square.style_id_checked().is_some_and(|id| id != 0);
}

impl Terminal {
    pub(super) fn registers(&self) -> Registers {
        Registers {
            modes: self.modes(),
            cursor: self.cursor(),
            region: (self.region.top() as u16, self.region.bottom() as u16),
            tabs: self.tabs.flags().to_vec(),
            charset: self.charsets.active as u8,
            shift: self.charsets.single.map(|index| index as u8),
            saved: self.charsets.saved,
            other_saved: self.charsets.other_saved,
            keyboard: self.keyboards.shown.clone(),
            other_keyboard: self.keyboards.hidden.clone(),
            last_character: self.repetition.last,
            repeats: self.repetition.budget(),
            saved_modes: self.own_modes.saved().to_vec(),
        }
    }

    pub(super) fn set_registers(&mut self, registers: &Registers, alternate: bool) {
        if alternate {
            self.enter_alternate();
        }
        self.set_modes(&registers.modes);
        self.set_cursor_looks(&registers.cursor);
        let (top, bottom) = registers.region;
        self.set_scrolling_region(usize::from(top) + 1, Some(usize::from(bottom)));
        self.set_tab_stops(TabStops::from_flags(registers.tabs.clone(), self.inner.grid.columns()));
        self.set_active_charset(CHARSETS[usize::from(registers.charset & 3)]);
        self.charsets.single = registers.shift.map(|index| CHARSETS[usize::from(index & 3)]);
        self.charsets.saved = registers.saved;
        self.charsets.other_saved = registers.other_saved;
        self.keyboards.shown = registers.keyboard.clone();
        self.keyboards.hidden = registers.other_keyboard.clone();
        self.repetition = Repetition::restored(registers.last_character, registers.repeats);
        self.own_modes.set_saved(&registers.saved_modes);
    }

    fn set_cursor_looks(&mut self, cursor: &Cursor) {
        let shape = match cursor.shape {
            CursorShape::Block => ForeignShape::Block,
            CursorShape::Underline => ForeignShape::Underline,
            CursorShape::Bar => ForeignShape::Beam,
        };
        self.inner.set_cursor_style(Some(shape), cursor.blinking);
        self.own_modes.is_cursor_chosen = cursor.is_chosen;
        self.apply_private_mode(25, cursor.visible);
    }

    fn set_modes(&mut self, modes: &Modes) {
        let switches = [
            (1, modes.application_cursor),
            (6, modes.origin),
            (7, modes.line_wrap),
            (1004, modes.focus_events),
            (1007, modes.alternate_scroll),
            (2004, modes.bracketed_paste),
            (2027, modes.grapheme_clusters),
        ];
        for (number, on) in switches {
            self.apply_private_mode(number, on);
        }
        let tracking = match modes.mouse {
            MouseTracking::Off => None,
            MouseTracking::X10 => Some(9),
            MouseTracking::Clicks => Some(1000),
            MouseTracking::Drag => Some(1002),
            MouseTracking::Motion => Some(1003),
        };
        let encoding = match modes.mouse_encoding {
            MouseEncoding::Bytes => None,
            MouseEncoding::Utf8 => Some(1005),
            MouseEncoding::Sgr => Some(1006),
            MouseEncoding::SgrPixels => None,
        };
        self.own_modes.mouse_pixels = modes.mouse_encoding == MouseEncoding::SgrPixels;
        self.own_modes.reverse_video = modes.reverse_video;
        for number in tracking.into_iter().chain(encoding) {
            self.apply_private_mode(number, true);
        }
        for (number, on) in [(4, modes.insert), (20, modes.linefeed_newline)] {
            match on {
                true => self.inner.set_mode(AnsiMode::new(number)),
                false => self.inner.unset_mode(AnsiMode::new(number)),
            }
        }
        match modes.application_keypad {
            true => self.inner.set_keypad_application_mode(),
            false => self.inner.unset_keypad_application_mode(),
        }
        self.own_modes.color_scheme_updates = modes.color_scheme_updates;
        self.keyboards.modify_other_keys = modes.modify_other_keys.min(2);
    }
}
