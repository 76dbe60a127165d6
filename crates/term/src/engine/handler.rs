//! One method per operation of the stream: most go straight to the emulator, some also update the state that
//! the emulator hides, some repair what it gets wrong. Queries are in `query`. The file is a list, so it may
//! be long.

use rio_vt::ansi::mode::{Mode as AnsiMode, PrivateMode};
use rio_vt::ansi::{
    ClearMode, CursorShape as ForeignShape, KeyboardModes, KeyboardModesApplyBehavior, LineClearMode,
    TabulationClearMode,
};
use rio_vt::codepoint_width::{width_in, width_table};
use rio_vt::crosswords::Mode;
use rio_vt::crosswords::attr::Attr;
use rio_vt::crosswords::grid::Dimensions;
use rio_vt::crosswords::pos::{CharsetIndex, Column, Line, StandardCharset};
use rio_vt::crosswords::style::DEFAULT_STYLE_ID;
use rio_vt::performer::handler::Handler;

use super::charset::{Charsets, Shifts};
use super::edit::clamp_move;
use super::keyboard::Keyboards;
use super::own_modes::OwnModes;
use super::region::ScrollRegion;
use super::tabs::TabStops;
use super::terminal::Terminal;
use super::width::{input_separate, right_width};
use super::work::TITLE;
use crate::fact::Fact;
use crate::reply;

/// The first character that may combine with the one before it.
const FIRST_MARK: u32 = 0x300;
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
        goto(line: Line, col: Column);
        move_forward(cols: Column);
        move_backward(cols: Column);
        backspace();
        carriage_return();
        set_mode(mode: AnsiMode);
        unset_mode(mode: AnsiMode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
    }

    /// Without a style, or with style number zero, the cursor gets the terminal's own form back.
    fn set_cursor_style(&mut self, style: Option<ForeignShape>, blinking: bool) {
        self.own_modes.is_cursor_chosen = style.is_some();
        self.inner.set_cursor_style(style, blinking);
    }

    fn set_cursor_shape(&mut self, shape: ForeignShape) {
        self.own_modes.is_cursor_chosen = true;
        self.inner.set_cursor_shape(shape);
    }

    fn input(&mut self, character: char) {
        if self.charsets.single.is_some() {
            return self.input_shifted(character);
        }
        self.repetition.last = Some(character);
        let inserts = self.inner.mode().contains(Mode::INSERT);
        if self.region.is_part() && !inserts {
            self.work.scrolled(&self.inner.grid, self.region, 1);
        }
        if (character as u32) < FIRST_MARK && !inserts {
            return self.inner.input(character);
        }
        match right_width(character as u32) {
            Some(0) => return self.join(character),
            Some(_) => return self.input_narrow(character),
            None => {}
        }
        if inserts {
            return self.insert(character);
        }
        if self.joins_as_selector(character) {
            return self.join(character);
        }
        self.work.slow_character(&self.inner.grid);
        if !self.work.may_add_extras(&self.inner.grid) {
            return self.input_alone(character);
        }
        let place = |terminal: &Terminal| {
            let cursor = &terminal.inner.grid.cursor;
            (cursor.pos, cursor.should_wrap)
        };
        let before = place(self);
        self.inner.input(character);
        if place(self) == before {
            self.work.extras(&self.inner.grid);
            self.limit_marks();
        }
    }

    #[inline]
    fn input_ascii_str(&mut self, text: &str) {
        if self.charsets.single.is_some() || self.inner.mode().contains(Mode::INSERT) {
            return text.chars().for_each(|character| self.input(character));
        }
        self.repetition.last = text.bytes().next_back().map(char::from);
        if self.region.is_part() {
            self.work.scrolled(&self.inner.grid, self.region, text.len() / self.inner.grid.columns() + 1);
        }
        if !self.print_within_row(text.as_bytes()) {
            self.inner.input_ascii_str(text);
        }
    }

    /// Characters that join the one before them are handled by themselves; those between them go on together.
    fn input_codepoints(&mut self, codepoints: &[u32]) {
        let character = |point: u32| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
        if self.charsets.single.is_some()
            || self.inner.mode().intersects(Mode::GRAPHEME_CLUSTER | Mode::INSERT)
        {
            return codepoints.iter().for_each(|&point| self.input(character(point)));
        }
        let table = width_table();
        let joins = |&point: &u32| {
            point >= FIRST_MARK && (width_in(table, point) == Some(0) || right_width(point).is_some())
        };
        let mut rest = codepoints;
        while let Some(at) = rest.iter().position(joins) {
            input_separate(self, &rest[..at]);
            self.input(character(rest[at]));
            rest = &rest[at + 1..];
        }
        input_separate(self, rest);
    }

    fn save_cursor_position(&mut self) {
        self.inner.save_cursor_position();
        self.charsets.saved = self.shifts();
    }

    fn restore_cursor_position(&mut self) {
        self.inner.restore_cursor_position();
        self.set_shifts(self.charsets.saved);
        self.keep_in_region();
    }

    /// The parser reads SGR 21 as the end of bold, as one old console did. Everywhere else it is a double
    /// underline.
    #[inline]
    fn terminal_attribute(&mut self, attribute: Attr) {
        match attribute {
            // The number of this style is always the same, and half of all text is printed with it: no lookup is needed.
            Attr::Reset => self.inner.grid.set_template_style_id(DEFAULT_STYLE_ID),
            Attr::CancelBold => self.inner.terminal_attribute(Attr::DoubleUnderline),
            attribute => self.inner.terminal_attribute(attribute),
        }
    }

    fn scroll_up(&mut self, rows: usize) {
        self.work.rows(&self.inner.grid, self.region.height(), rows);
        self.inner.scroll_up(rows);
    }

    fn scroll_down(&mut self, rows: usize) {
        self.work.rows(&self.inner.grid, self.region.height(), rows);
        self.inner.scroll_down(rows);
    }

    fn insert_blank(&mut self, count: usize) {
        self.work.moved_row(&self.inner.grid);
        self.inner.insert_blank(count);
        self.end_waiting();
    }

    fn erase_chars(&mut self, count: Column) {
        self.work.row(&self.inner.grid);
        self.inner.erase_chars(count);
        self.end_waiting();
    }

    /// Erasing to the right while a wrap is pending erases nothing and keeps the wrap pending. Coloured
    /// output erases after every word, which must not remove the last letter of a full row.
    #[inline]
    fn clear_line(&mut self, mode: LineClearMode) {
        self.work.row(&self.inner.grid);
        let right = matches!(mode, LineClearMode::Right);
        if right && self.erase_to_end() {
            return;
        }
        self.inner.clear_line(mode);
        if !right {
            self.end_waiting();
        }
    }

    fn insert_blank_lines(&mut self, count: usize) {
        if self.region.contains(self.inner.grid.cursor.pos.row.0) {
            self.work.rows(&self.inner.grid, self.region.height(), count);
            self.inner.insert_blank_lines(count);
            self.inner.carriage_return();
        }
    }

    fn delete_lines(&mut self, count: usize) {
        if self.region.contains(self.inner.grid.cursor.pos.row.0) {
            self.work.rows(&self.inner.grid, self.region.height(), count);
            self.inner.delete_lines(count);
            self.inner.carriage_return();
        }
    }

    fn reverse_index(&mut self) {
        if self.inner.grid.cursor.pos.row.0 == self.region.top() as i32 {
            self.work.rows(&self.inner.grid, self.region.height(), 1);
        }
        self.inner.reverse_index();
        self.end_waiting();
    }

    /// The emulator would not reset the margins and the cursor.
    fn decaln(&mut self) {
        self.set_scrolling_region(1, None);
        self.fill_for_alignment();
    }

    fn goto_line(&mut self, line: Line) {
        let col = self.inner.grid.cursor.pos.col;
        self.inner.goto(line, col);
    }

    /// In origin mode the emulator adds the region's top a second time; a relative move avoids that.
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

    /// The emulator also clears cells before the cursor when it deletes past the margin.
    fn delete_chars(&mut self, count: usize) {
        self.work.moved_row(&self.inner.grid);
        let right = self.inner.grid.columns() - self.inner.grid.cursor.pos.col.0;
        self.inner.delete_chars(count.min(right));
        self.end_waiting();
    }

    /// The emulator would move a tab to the next row while a wrap is pending. No terminal does.
    fn put_tab(&mut self, count: u16) {
        if self.inner.grid.cursor.should_wrap {
            return;
        }
        self.work.moved_row(&self.inner.grid);
        self.inner.put_tab(count.min(TABS_MAX));
        self.inner.damage_cursor();
    }

    fn move_forward_tabs(&mut self, count: u16) {
        self.work.moved_row(&self.inner.grid);
        self.work.spend(count.min(TABS_MAX).into());
        self.inner.move_forward_tabs(count.min(TABS_MAX));
    }

    /// The emulator would not move when there is no stop to the left.
    fn move_backward_tabs(&mut self, count: u16) {
        self.work.moved_row(&self.inner.grid);
        self.work.spend(count.min(TABS_MAX).into());
        let col = self.tabs.back(self.inner.grid.cursor.pos.col.0, count.min(TABS_MAX));
        self.goto_col(Column(col));
    }

    #[inline]
    fn linefeed(&mut self) {
        self.work.line_feed(&self.inner.grid, self.region);
        self.inner.newline();
        self.end_waiting();
    }

    fn newline(&mut self) {
        self.linefeed();
    }

    fn bell(&mut self) {
        self.outbox.facts.push(Fact::Bell);
    }

    fn set_horizontal_tabstop(&mut self) {
        self.tabs.set(self.inner.grid.cursor.pos.col.0, true);
        self.inner.set_horizontal_tabstop();
    }

    fn set_tabs(&mut self, _: u16) {
        self.work.moved_row(&self.inner.grid);
        self.set_tab_stops(TabStops::new(self.inner.grid.columns()));
    }

    fn clear_tabs(&mut self, mode: TabulationClearMode) {
        self.work.row(&self.inner.grid);
        match mode {
            TabulationClearMode::Current => self.tabs.set(self.inner.grid.cursor.pos.col.0, false),
            TabulationClearMode::All => self.tabs.clear(),
        }
        self.inner.clear_tabs(mode);
    }

    fn clear_screen(&mut self, mode: ClearMode) {
        self.erase_screen(mode);
    }

    fn reset_state(&mut self) {
        self.work.screens(&self.inner.grid, 2);
        self.leave_alternate();
        self.inner.reset_state();
        self.inner.blinking_cursor = false;
        self.own_modes = OwnModes::default();
        self.outbox.colors.reset_all();
        self.region = ScrollRegion::whole(self.inner.grid.screen_lines());
        self.tabs = TabStops::new(self.inner.grid.columns());
        self.set_shifts(Shifts::default());
        self.charsets = Charsets::default();
        self.keyboards = Keyboards::default();
        self.repetition.last = None;
        self.outbox.status.clear();
        self.outbox.title_stack.clear();
        self.outbox.set_title("");
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        match mode.raw() {
            // DECCOLM: the number of columns never changes.
            3 => {}
            5 => self.reverse(true),
            47 | 1047 => self.show_alternate(true),
            66 => self.inner.set_keypad_application_mode(),
            1048 => self.save_cursor_position(),
            1049 => self.enter_saving(),
            1016 => self.own_modes.mouse_pixels = true,
            2031 => self.own_modes.color_scheme_updates = true,
            number => {
                self.own_modes.mouse_pixels &= !matches!(number, 1005 | 1006);
                self.own_modes.is_cursor_chosen |= number == 12;
                self.inner.set_private_mode(mode);
                self.after_private_mode(number);
            }
        }
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        match mode.raw() {
            3 => {}
            5 => self.reverse(false),
            47 | 1047 => self.leave_with_cursor(),
            66 => self.inner.unset_keypad_application_mode(),
            1048 => self.restore_cursor_position(),
            1049 => self.leave_restoring(),
            1016 => self.own_modes.mouse_pixels = false,
            2031 => self.own_modes.color_scheme_updates = false,
            number => {
                self.inner.unset_private_mode(mode);
                self.after_private_mode(number);
            }
        }
    }

    /// Limits the region to the screen: beyond it the emulator would scroll rows that do not exist.
    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let rows = self.inner.grid.screen_lines();
        let bottom = bottom.unwrap_or(rows).min(rows);
        if top < bottom {
            self.region = ScrollRegion::new(top - 1, bottom, rows);
            self.inner.set_scrolling_region(top, Some(bottom));
        }
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.charsets.active = index;
        self.inner.set_active_charset(index);
    }

    fn push_title(&mut self) {
        self.work.spend(TITLE);
        self.outbox.push_title();
    }

    fn pop_title(&mut self) {
        self.work.spend(TITLE);
        self.outbox.pop_title();
    }

    fn push_keyboard_mode(&mut self, mode: KeyboardModes) {
        self.keyboards.shown.push(mode.bits());
    }

    fn pop_keyboard_modes(&mut self, count: u16) {
        self.keyboards.shown.pop(count);
    }

    fn set_keyboard_mode(&mut self, mode: KeyboardModes, behavior: KeyboardModesApplyBehavior) {
        let current = self.keyboards.shown.current();
        self.keyboards.shown.set(match behavior {
            KeyboardModesApplyBehavior::Replace => mode.bits(),
            KeyboardModesApplyBehavior::Union => current | mode.bits(),
            KeyboardModesApplyBehavior::Difference => current & !mode.bits(),
        });
    }

    fn set_modify_other_keys(&mut self, level: u8) {
        self.keyboards.modify_other_keys = level;
    }

    fn identify_terminal(&mut self, intermediate: Option<char>) {
        if let Some(reply) = reply::attributes(intermediate) {
            self.outbox.replies.push(reply);
        }
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
        self.outbox.replies.push(reply::VERSION);
    }

    fn text_area_size_pixels(&mut self) {
        self.outbox.replies.push(reply::text_area_pixels(self.size()));
    }

    fn cells_size_pixels(&mut self) {
        self.outbox.replies.push(reply::cell_pixels());
    }

    fn text_area_size_chars(&mut self) {
        self.outbox.replies.push(reply::text_area(self.size()));
    }

    fn report_keyboard_mode(&mut self) {
        self.outbox.replies.push(reply::keyboard_flags(self.keyboards.shown.current()));
    }
}
