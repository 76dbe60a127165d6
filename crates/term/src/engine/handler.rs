//! What each operation of a stream does: most go straight to the emulator, some keep the shadow in step,
//! some repair what the emulator gets wrong. A list, so it may be long. Queries are in `query`.

use rio_vt::ansi::mode::{Mode as AnsiMode, NamedMode, NamedPrivateMode, PrivateMode};
use rio_vt::ansi::{
    ClearMode, CursorShape as ForeignShape, KeyboardModes, KeyboardModesApplyBehavior, LineClearMode,
    TabulationClearMode,
};
use rio_vt::codepoint_width::codepoint_width;
use rio_vt::crosswords::Mode;
use rio_vt::crosswords::attr::Attr;
use rio_vt::crosswords::grid::Dimensions;
use rio_vt::crosswords::pos::{CharsetIndex, Column, Line, StandardCharset};
use rio_vt::performer::handler::Handler;

use super::keyboard::Keyboard;
use super::terminal::{Terminal, default_tabs};
use crate::fact::Fact;

/// First character that may join the one before it.
const FIRST_MARK: u32 = 0x300;
/// How much dearer it is to repeat a character outside of ASCII.
const WIDE_REPEAT_COST: u32 = 4;
/// Tabs further than this many columns end at the margin anyway.
const TABS_MAX: u16 = 1000;

/// Writes forwarding methods: `name(argument: Type, …)`.
macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(#[inline]
        fn $name(&mut self, $($argument: $kind),*) {
            self.inner.$name($($argument),*);
        })*
    };
}

impl Handler for Terminal {
    forward! {
        set_cursor_style(style: Option<ForeignShape>, blinking: bool);
        set_cursor_shape(shape: ForeignShape);
        goto(line: Line, col: Column);
        insert_blank(count: usize);
        move_forward(cols: Column);
        move_backward(cols: Column);
        backspace();
        carriage_return();
        scroll_up(rows: usize);
        scroll_down(rows: usize);
        insert_blank_lines(count: usize);
        delete_lines(count: usize);
        erase_chars(count: Column);
        save_cursor_position();
        restore_cursor_position();
        clear_line(mode: LineClearMode);
        reverse_index();
        terminal_attribute(attribute: Attr);
        set_mode(mode: AnsiMode);
        unset_mode(mode: AnsiMode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        decaln();
    }

    fn input(&mut self, character: char) {
        self.last_character = Some(character);
        if self.inner.mode().contains(Mode::INSERT) {
            return self.insert(character);
        }
        if (character as u32) < FIRST_MARK {
            return self.inner.input(character);
        }
        let place = |terminal: &Terminal| {
            let cursor = &terminal.inner.grid.cursor;
            (cursor.pos, cursor.should_wrap)
        };
        let before = place(self);
        self.inner.input(character);
        if place(self) == before {
            self.limit_marks();
        }
    }

    #[inline]
    fn input_ascii_str(&mut self, text: &str) {
        if self.inner.mode().contains(Mode::INSERT) {
            return text.chars().for_each(|character| self.input(character));
        }
        self.last_character = text.bytes().next_back().map(char::from);
        self.inner.input_ascii_str(text);
    }

    fn input_codepoints(&mut self, codepoints: &[u32]) {
        let one_by_one = self.inner.mode().intersects(Mode::GRAPHEME_CLUSTER | Mode::INSERT);
        let joins = |&point: &u32| point >= FIRST_MARK && codepoint_width(point) == Some(0);
        if one_by_one || codepoints.iter().any(joins) {
            for &point in codepoints {
                self.input(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            return;
        }
        self.last_character = codepoints.last().and_then(|&point| char::from_u32(point));
        self.inner.input_codepoints(codepoints);
    }

    fn goto_line(&mut self, line: Line) {
        let col = self.inner.grid.cursor.pos.col;
        self.inner.goto(line, col);
    }

    /// The emulator adds the region's top a second time in origin mode; the relative moves take it off.
    fn goto_col(&mut self, col: Column) {
        self.move_to_row(0, col);
    }

    fn move_up(&mut self, rows: usize) {
        let col = self.inner.grid.cursor.pos.col;
        self.move_to_row(-clamp_move(rows), col);
    }

    fn move_down(&mut self, rows: usize) {
        let col = self.inner.grid.cursor.pos.col;
        self.move_to_row(clamp_move(rows), col);
    }

    fn move_up_and_cr(&mut self, rows: usize) {
        self.move_to_row(-clamp_move(rows), Column(0));
    }

    fn move_down_and_cr(&mut self, rows: usize) {
        self.move_to_row(clamp_move(rows), Column(0));
    }

    /// The emulator also clears cells before the cursor when it is asked to delete past the margin.
    fn delete_chars(&mut self, count: usize) {
        let right = self.inner.grid.columns() - self.inner.grid.cursor.pos.col.0;
        self.inner.delete_chars(count.min(right));
    }

    fn put_tab(&mut self, count: u16) {
        self.inner.put_tab(count.min(TABS_MAX));
        self.inner.damage_cursor();
    }

    fn move_forward_tabs(&mut self, count: u16) {
        self.inner.move_forward_tabs(count.min(TABS_MAX));
    }

    fn move_backward_tabs(&mut self, count: u16) {
        self.inner.move_backward_tabs(count.min(TABS_MAX));
        self.inner.grid.cursor.should_wrap = false;
    }

    #[inline]
    fn linefeed(&mut self) {
        self.inner.newline();
    }

    fn newline(&mut self) {
        self.inner.newline();
    }

    fn bell(&mut self) {
        self.outbox.facts.push(Fact::Bell);
    }

    fn set_horizontal_tabstop(&mut self) {
        self.mark_tab(true);
        self.inner.set_horizontal_tabstop();
    }

    fn set_tabs(&mut self, _: u16) {
        let stops = default_tabs(self.inner.grid.columns());
        self.set_tab_stops(stops);
    }

    fn clear_tabs(&mut self, mode: TabulationClearMode) {
        match mode {
            TabulationClearMode::Current => self.mark_tab(false),
            TabulationClearMode::All => self.tabs.fill(false),
        }
        self.inner.clear_tabs(mode);
    }

    /// The emulator forgets row 0 when the cursor is in row 1.
    fn clear_screen(&mut self, mode: ClearMode) {
        let above = matches!(mode, ClearMode::Above);
        self.inner.clear_screen(mode);
        if above && self.inner.grid.cursor.pos.row == Line(1) {
            self.inner.grid.reset_region(Line(0)..Line(1));
        }
    }

    fn reset_state(&mut self) {
        self.leave_alternate();
        self.inner.reset_state();
        self.inner.blinking_cursor = false;
        self.region = (0, self.inner.grid.screen_lines());
        self.tabs = default_tabs(self.inner.grid.columns());
        self.charset = CharsetIndex::G0;
        self.keyboard = Keyboard::default();
        self.other_keyboard = Keyboard::default();
        self.modify_other_keys = 0;
        self.color_scheme_updates = false;
        self.last_character = None;
        self.outbox.status.clear();
        self.outbox.title_stack.clear();
        self.outbox.set_title("");
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        match mode.raw() {
            47 | 1047 | 1049 => self.show_alternate(true),
            1048 => self.inner.save_cursor_position(),
            2031 => self.color_scheme_updates = true,
            number => {
                self.inner.set_private_mode(mode);
                self.after_private_mode(number);
            }
        }
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        match mode.raw() {
            1049 => self.show_alternate(false),
            47 | 1047 => self.leave_with_cursor(),
            1048 => self.inner.restore_cursor_position(),
            2031 => self.color_scheme_updates = false,
            number => {
                self.inner.unset_private_mode(mode);
                self.after_private_mode(number);
            }
        }
    }

    /// A region outside of the screen would make the emulator scroll what is not there.
    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let rows = self.inner.grid.screen_lines();
        let bottom = bottom.unwrap_or(rows).min(rows);
        if top < bottom {
            self.region = (top - 1, bottom);
            self.inner.set_scrolling_region(top, Some(bottom));
        }
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.charset = index;
        self.inner.set_active_charset(index);
    }

    fn push_title(&mut self) {
        self.outbox.push_title();
    }

    fn pop_title(&mut self) {
        self.outbox.pop_title();
    }

    fn push_keyboard_mode(&mut self, mode: KeyboardModes) {
        self.keyboard.push(mode.bits());
    }

    fn pop_keyboard_modes(&mut self, count: u16) {
        self.keyboard.pop(count);
    }

    fn set_keyboard_mode(&mut self, mode: KeyboardModes, behavior: KeyboardModesApplyBehavior) {
        let current = self.keyboard.current();
        self.keyboard.set(match behavior {
            KeyboardModesApplyBehavior::Replace => mode.bits(),
            KeyboardModesApplyBehavior::Union => current | mode.bits(),
            KeyboardModesApplyBehavior::Difference => current & !mode.bits(),
        });
    }

    fn set_modify_other_keys(&mut self, level: u8) {
        self.modify_other_keys = level;
    }

    fn identify_terminal(&mut self, intermediate: Option<char>) {
        self.answer_attributes(intermediate);
    }

    fn device_status(&mut self, kind: usize) {
        self.answer_status(kind);
    }

    fn report_mode(&mut self, mode: AnsiMode) {
        self.answer_mode(mode.raw());
    }

    fn report_private_mode(&mut self, mode: PrivateMode) {
        self.answer_private_mode(mode.raw());
    }

    fn report_version(&mut self) {
        self.answer_version();
    }

    fn text_area_size_pixels(&mut self) {
        self.answer_text_area_pixels();
    }

    fn cells_size_pixels(&mut self) {
        self.answer_cell_pixels();
    }

    fn text_area_size_chars(&mut self) {
        self.answer_text_area();
    }

    fn report_keyboard_mode(&mut self) {
        self.answer_keyboard();
    }
}

impl Terminal {
    /// Prints in insert mode. The emulator shifts cells without looking at wide characters and tears them
    /// apart; making room first does not.
    fn insert(&mut self, character: char) {
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

    fn move_to_row(&mut self, delta: i32, col: Column) {
        let origin = match self.inner.mode().contains(Mode::ORIGIN) {
            true => self.region.0 as i32,
            false => 0,
        };
        let row = self.inner.grid.cursor.pos.row.0 + delta - origin;
        self.inner.goto(Line(row), col);
    }

    fn mark_tab(&mut self, on: bool) {
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

    fn show_alternate(&mut self, on: bool) {
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
    fn leave_with_cursor(&mut self) {
        if self.main.is_some() {
            let position = self.inner.grid.cursor.pos;
            self.show_alternate(false);
            self.inner.grid.cursor.pos = position;
            self.inner.grid.cursor.should_wrap = false;
        }
    }

    fn after_private_mode(&mut self, number: u16) {
        if number == NamedPrivateMode::ColumnMode as u16 {
            self.region = (0, self.inner.grid.screen_lines());
        }
    }

    /// Prints the last character again, as often as the stream may.
    pub(super) fn repeat(&mut self, count: u32) {
        let Some(character) = self.last_character else { return };
        let cells = u32::try_from(self.size().cells()).unwrap_or(u32::MAX);
        let cost = if character.is_ascii() { 1 } else { WIDE_REPEAT_COST };
        let count = count.min(cells).min(self.repeats / cost);
        self.repeats -= count * cost;
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

fn clamp_move(rows: usize) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX).min(u16::MAX.into())
}
