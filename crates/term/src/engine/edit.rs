//! Operations the emulator lacks or gets wrong, written with its parts: insert mode, moves in origin mode, tab
//! stops, switching grids, repetition, soft reset. Called from `handler`; decides nothing about sequences.

use rio_vt::ansi::TabulationClearMode;
use rio_vt::ansi::mode::{Mode as AnsiMode, NamedMode, NamedPrivateMode, PrivateMode};
use rio_vt::codepoint_width::codepoint_width;
use rio_vt::crosswords::Mode;
use rio_vt::crosswords::attr::Attr;
use rio_vt::crosswords::grid::Dimensions;
use rio_vt::crosswords::pos::{CharsetIndex, Column, Line};
use rio_vt::performer::handler::Handler;

use super::terminal::Terminal;
use crate::fact::Fact;

impl Terminal {
    /// Prints in insert mode. The emulator shifts cells without looking at wide characters and tears them
    /// apart; making room first does not.
    pub(super) fn insert(&mut self, character: char) {
        let width = codepoint_width(character as u32).map_or(0, usize::from);
        if width > 0 {
            if self.inner.grid.cursor.should_wrap {
                self.inner.wrapline();
            }
            if self.inner.grid.cursor.pos.col.0 + width < self.inner.grid.columns() {
                self.inner.insert_blank(width);
            }
        }
        self.inner.unset_mode(NamedMode::Insert.into());
        self.input(character);
        self.inner.set_mode(NamedMode::Insert.into());
    }

    pub(super) fn move_to_row(&mut self, delta: i32, col: Column) {
        let origin = match self.inner.mode().contains(Mode::ORIGIN) {
            true => self.region.0 as i32,
            false => 0,
        };
        let row = self.inner.grid.cursor.pos.row.0 + delta - origin;
        self.inner.goto(Line(row.max(0)), col);
    }

    /// Nothing stands on the visible grid.
    pub(super) fn is_blank(&self) -> bool {
        let grid = &self.inner.grid;
        (0..grid.screen_lines() as i32).all(|line| grid[Line(line)].is_clear())
    }

    pub(super) fn mark_tab(&mut self, on: bool) {
        let col = self.inner.grid.cursor.pos.col.0;
        if let Some(stop) = self.tabs.get_mut(col) {
            *stop = on;
        }
    }

    /// Replaces all tab stops, the emulator's included.
    pub(super) fn set_tab_stops(&mut self, stops: Vec<bool>) {
        self.inner.clear_tabs(TabulationClearMode::All);
        let col = self.inner.grid.cursor.pos.col;
        for (index, _) in stops.iter().enumerate().filter(|(_, stop)| **stop) {
            self.inner.grid.cursor.pos.col = Column(index);
            self.inner.set_horizontal_tabstop();
        }
        self.inner.grid.cursor.pos.col = col;
        self.tabs = stops;
    }

    pub(super) fn show_alternate(&mut self, on: bool) {
        if on == self.main.is_some() {
            return;
        }
        match on {
            true => self.enter_alternate(),
            false => self.leave_alternate(),
        }
        self.outbox.facts.push(Fact::AlternateScreen(on));
    }

    /// Modes 47 and 1047 share one cursor between the grids.
    pub(super) fn leave_with_cursor(&mut self) {
        if self.main.is_some() {
            let position = self.inner.grid.cursor.pos;
            self.show_alternate(false);
            self.inner.grid.cursor.pos = position;
            self.inner.grid.cursor.should_wrap = false;
            self.keep_in_region();
        }
    }

    /// What the emulator forgets: a new column mode resets the region, origin mode moves the cursor home.
    pub(super) fn after_private_mode(&mut self, number: u16) {
        if number == NamedPrivateMode::ColumnMode as u16 {
            self.region = (0, self.inner.grid.screen_lines());
        } else if number == NamedPrivateMode::Origin as u16 {
            self.inner.goto(Line(0), Column(0));
        }
    }

    /// Prints the last character again, as often as the stream may.
    pub(super) fn repeat(&mut self, count: u32) {
        let Some(character) = self.last_character else { return };
        let size = self.size();
        // ASCII up to a row is as cheap as any sequence; the rest has to be earned.
        let free = if character.is_ascii() { u32::from(size.cols) } else { 0 };
        let cells = u32::try_from(size.cells()).unwrap_or(u32::MAX);
        let count = count.min(cells).min(self.repeats + free);
        self.repeats -= count.saturating_sub(free);
        if character.is_ascii() {
            let text = String::from(character).repeat(count as usize);
            self.input_ascii_str(&text);
        } else {
            (0..count).for_each(|_| self.input(character));
        }
    }

    /// DECSTR: what a program may have left behind, without touching the text.
    pub(super) fn soft_reset(&mut self) {
        for mode in [4, 20] {
            self.inner.unset_mode(AnsiMode::new(mode));
        }
        for mode in [1, 6] {
            self.inner.unset_private_mode(PrivateMode::new(mode));
        }
        for mode in [7, 25] {
            self.inner.set_private_mode(PrivateMode::new(mode));
        }
        self.inner.unset_keypad_application_mode();
        self.inner.terminal_attribute(Attr::Reset);
        let position = self.inner.grid.cursor.pos;
        self.set_scrolling_region(1, None);
        self.inner.grid.cursor.pos = position;
        self.inner.grid.cursor.charsets = Default::default();
        self.set_active_charset(CharsetIndex::G0);
        let mut saved = self.inner.grid.cursor.clone();
        saved.pos = Default::default();
        saved.should_wrap = false;
        self.inner.grid.saved_cursor = saved;
    }
}

pub(super) fn clamp_move(rows: usize) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX).min(u16::MAX.into())
}
