//! Operations that the emulator lacks or gets wrong, rebuilt from its parts: insert mode, moves and margins,
//! erasing, tab stops, switching grids, repetition, soft reset. `handler` calls them.

use rio_vt::ansi::TabulationClearMode;
use rio_vt::ansi::mode::{NamedMode, NamedPrivateMode, PrivateMode};
use rio_vt::codepoint_width::codepoint_width;
use rio_vt::crosswords::Mode;
use rio_vt::crosswords::attr::Attr;
use rio_vt::crosswords::grid::Dimensions;
use rio_vt::crosswords::pos::{Column, Line};
use rio_vt::crosswords::square::Wide;
use rio_vt::performer::handler::Handler;

use super::charset::Shifts;
use super::tabs::TabStops;
use super::terminal::Terminal;
use super::work::SOFT_RESET;
use crate::fact::Fact;

impl Terminal {
    /// Prints in insert mode. The emulator shifts cells without regard to wide characters and tears them
    /// apart, so this makes room first.
    pub(super) fn insert(&mut self, character: char) {
        let width = codepoint_width(character as u32).map_or(0, usize::from);
        self.work.moved_row(&self.inner.grid);
        if width > 0 {
            if self.inner.grid.cursor.should_wrap {
                self.inner.wrapline();
            } else if !self.has_room(width) && self.inner.mode().contains(Mode::LINE_WRAP) {
                // Wraps first: room must be made in the row that the character will be in.
                self.inner.write_at_cursor(' ');
                self.inner.grid.cursor_cell().set_wide(Wide::LeadingSpacer);
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

    /// Prints a character where no marks can be kept: marks are dropped, and nothing joins the character
    /// before it.
    pub(super) fn input_alone(&mut self, character: char) {
        if codepoint_width(character as u32).unwrap_or(0) == 0 {
            return;
        }
        let clusters = PrivateMode::new(NamedPrivateMode::GraphemeCluster as u16);
        let joins = self.inner.mode().contains(Mode::GRAPHEME_CLUSTER);
        if joins {
            self.inner.unset_private_mode(clusters);
        }
        self.inner.input(character);
        if joins {
            self.inner.set_private_mode(clusters);
        }
    }

    /// Returns true if `width` cells fit between the cursor and the edge.
    fn has_room(&self, width: usize) -> bool {
        self.inner.grid.cursor.pos.col.0 + width <= self.inner.grid.columns()
    }

    /// Moves by rows, as far as the margins allow.
    pub(super) fn move_to_row(&mut self, delta: i32, col: Column) {
        let (row, last) = (self.inner.grid.cursor.pos.row.0, self.inner.grid.bottommost_line().0);
        let row = self.region.row_after(row, delta, last);
        let origin = match self.inner.mode().contains(Mode::ORIGIN) {
            true => self.region.top() as i32,
            false => 0,
        };
        self.inner.goto(Line(row - origin), col);
    }

    /// VPR: moves down to the last row regardless of the region; in origin mode the region is the limit.
    pub(super) fn move_past_margins(&mut self, rows: u32) {
        let last = match self.inner.mode().contains(Mode::ORIGIN) {
            true => self.region.bottom() as i32 - 1,
            false => self.inner.grid.bottommost_line().0,
        };
        let row = self.inner.grid.cursor.pos.row.0;
        let rows = i32::try_from(rows).unwrap_or(i32::MAX);
        self.inner.damage_cursor();
        self.inner.grid.cursor.pos.row = Line(row.saturating_add(rows).min(last));
        self.inner.damage_cursor();
        self.end_waiting();
    }

    /// Cancels a pending wrap: the next character does not wrap first.
    #[inline]
    pub(super) fn end_waiting(&mut self) {
        self.inner.grid.cursor.should_wrap = false;
    }

    /// IND: a line feed that line feed mode does not affect.
    pub(super) fn index(&mut self) {
        self.work.line_feed(&self.inner.grid, self.region);
        self.inner.linefeed();
        self.end_waiting();
    }

    /// Replaces all tab stops, the emulator's too.
    pub(super) fn set_tab_stops(&mut self, stops: TabStops) {
        self.inner.clear_tabs(TabulationClearMode::All);
        let col = self.inner.grid.cursor.pos.col;
        for stop in stops.columns() {
            self.inner.grid.cursor.pos.col = Column(stop);
            self.inner.set_horizontal_tabstop();
        }
        self.inner.grid.cursor.pos.col = col;
        self.tabs = stops;
    }

    pub(super) fn show_alternate(&mut self, on: bool) {
        if on == self.main.is_some() {
            return;
        }
        self.work.screens(&self.inner.grid, 2);
        match on {
            true => self.enter_alternate(),
            false => self.leave_alternate(),
        }
        self.outbox.facts.push(Fact::AlternateScreen(on));
    }

    /// Mode 1049 set: saves the main grid's cursor, then shows the alternate grid.
    pub(super) fn enter_saving(&mut self) {
        if self.main.is_none() {
            self.save_cursor_position();
            self.show_alternate(true);
        }
    }

    /// Mode 1049 reset: shows the main grid and restores its cursor, from whichever grid was shown.
    pub(super) fn leave_restoring(&mut self) {
        self.show_alternate(false);
        self.restore_cursor_position();
    }

    /// Modes 47 and 1047 reset: both grids share one cursor and one pen.
    pub(super) fn leave_with_cursor(&mut self) {
        if self.main.is_some() {
            let link = self.link();
            let cursor = self.inner.grid.cursor.clone();
            self.show_alternate(false);
            let grid = &mut self.inner.grid;
            grid.cursor.pos = cursor.pos;
            grid.cursor.should_wrap = false;
            grid.cursor.charsets = cursor.charsets;
            // Each grid numbers its own styles and links, so both are looked up again.
            grid.set_template_style(cursor.pending_style);
            self.set_link(link.as_ref().map(|(id, uri)| (id.as_str(), uri.as_str())));
            self.keep_in_region();
        }
    }

    /// Adds what the emulator forgets: origin mode moves the cursor home.
    pub(super) fn after_private_mode(&mut self, number: u16) {
        if number == NamedPrivateMode::Origin as u16 {
            self.inner.goto(Line(0), Column(0));
        }
    }

    /// Prints the last character again, within the stream's limit for repetition.
    pub(super) fn repeat(&mut self, count: u32) {
        let Some((character, count)) = self.repetition.take(count, self.size()) else { return };
        self.work.spend(count.into());
        if character.is_ascii() {
            let text = String::from(character).repeat(count as usize);
            self.input_ascii_str(&text);
        } else {
            (0..count).for_each(|_| self.input(character));
        }
    }

    /// DECSTR: resets what a program may have left behind, without touching the text.
    pub(super) fn soft_reset(&mut self) {
        self.work.spend(SOFT_RESET);
        self.inner.unset_mode(NamedMode::Insert.into());
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
        self.set_shifts(Shifts::default());
        self.charsets.saved = Shifts::default();
        self.charsets.single = None;
        let mut saved = self.inner.grid.cursor.clone();
        saved.pos = Default::default();
        saved.should_wrap = false;
        self.inner.grid.saved_cursor = saved;
    }
}

pub(super) fn clamp_move(rows: usize) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX).min(u16::MAX.into())
}
