//! Answers to queries that reach the emulator as operations. Constants and numbers only; the rest of the
//! queries arrive as strings and are answered in `osc` and `dcs`.

use rio_vt::ansi::mode::PrivateMode;
use rio_vt::ansi::{ClearMode, LineClearMode};
use rio_vt::crosswords::Mode;
use rio_vt::performer::handler::Handler;

use super::terminal::Terminal;
use crate::modes::{MouseEncoding, MouseTracking};
use crate::reply;

impl Terminal {
    /// Sequences the parser does not know.
    pub(super) fn special(&mut self, sequence: &[u8]) {
        if sequence.get(1) != Some(&b'[') {
            return self.special_escape(sequence);
        }
        let Some((&last, middle)) = sequence.get(2..).and_then(<[u8]>::split_last) else { return };
        match (last, middle) {
            (b'b', count) if count.iter().all(u8::is_ascii_digit) => {
                self.repeat(number(count).unwrap_or(1).max(1));
            }
            (b'e', count) if count.iter().all(u8::is_ascii_digit) => {
                self.move_past_margins(number(count).unwrap_or(1).max(1));
            }
            (b'n', [b'?', kind @ ..]) => self.answer_private_status(number(kind)),
            (b'p', b"!") => self.soft_reset(),
            // Selective erasing spares what is protected, and nothing can be protected here.
            (b'J', b"?" | b"?0") => self.clear_screen(ClearMode::Below),
            (b'J', b"?1") => self.clear_screen(ClearMode::Above),
            (b'J', b"?2") => self.clear_screen(ClearMode::All),
            (b'K', b"?" | b"?0") => self.clear_line(LineClearMode::Right),
            (b'K', b"?1") => self.clear_line(LineClearMode::Left),
            (b'K', b"?2") => self.clear_line(LineClearMode::All),
            _ => {}
        }
    }

    fn answer_private_status(&mut self, kind: Option<u32>) {
        match kind {
            Some(6) => {
                let (row, col) = self.reported_position();
                self.outbox.replies.push(format!("\x1b[?{row};{col}R"));
            }
            Some(996) => self.outbox.replies.push(reply::SCHEME_DARK),
            _ => {}
        }
    }

    pub(super) fn answer_attributes(&mut self, intermediate: Option<char>) {
        match intermediate {
            None => self.outbox.replies.push(reply::DEVICE_ATTRIBUTES),
            Some('>') => self.outbox.replies.push(reply::SECONDARY_ATTRIBUTES),
            Some('=') => self.outbox.replies.push(reply::TERTIARY_ATTRIBUTES),
            Some(_) => {}
        }
    }

    pub(super) fn answer_status(&mut self, kind: usize) {
        match kind {
            5 => self.outbox.replies.push(reply::STATUS_OK),
            6 => {
                let (row, col) = self.reported_position();
                self.outbox.replies.push(format!("\x1b[{row};{col}R"));
            }
            _ => {}
        }
    }

    pub(super) fn answer_version(&mut self) {
        self.outbox.replies.push(reply::VERSION);
    }

    pub(super) fn answer_keyboard(&mut self) {
        let flags = self.keyboard.current();
        self.outbox.replies.push(format!("\x1b[?{flags}u"));
    }

    pub(super) fn answer_text_area(&mut self) {
        let size = self.size();
        self.outbox.replies.push(format!("\x1b[8;{};{}t", size.rows, size.cols));
    }

    pub(super) fn answer_text_area_pixels(&mut self) {
        let size = self.size();
        let (width, height) = reply::CELL_PIXELS;
        let (width, height) = (width * u32::from(size.cols), height * u32::from(size.rows));
        self.outbox.replies.push(format!("\x1b[4;{height};{width}t"));
    }

    pub(super) fn answer_cell_pixels(&mut self) {
        let (width, height) = reply::CELL_PIXELS;
        self.outbox.replies.push(format!("\x1b[6;{height};{width}t"));
    }

    pub(super) fn answer_mode(&mut self, mode: u16) {
        let modes = self.modes();
        let state = match mode {
            4 => Some(modes.insert),
            20 => Some(modes.linefeed_newline),
            _ => None,
        };
        self.outbox.replies.push(reply::mode_report(false, mode, state));
    }

    pub(super) fn answer_private_mode(&mut self, mode: u16) {
        let state = self.private_mode(mode);
        self.outbox.replies.push(reply::mode_report(true, mode, state));
    }

    /// Whether a private mode is set; `None` when it is unknown here.
    fn private_mode(&self, mode: u16) -> Option<bool> {
        let modes = self.modes();
        let cursor = self.cursor();
        Some(match mode {
            1 => modes.application_cursor,
            6 => modes.origin,
            7 => modes.line_wrap,
            9 => modes.mouse == MouseTracking::X10,
            12 => cursor.blinking,
            25 => cursor.visible,
            47 | 1047 | 1049 => self.main.is_some(),
            66 => modes.application_keypad,
            1000 => modes.mouse == MouseTracking::Clicks,
            1002 => modes.mouse == MouseTracking::Drag,
            1003 => modes.mouse == MouseTracking::Motion,
            1004 => modes.focus_events,
            1005 => modes.mouse_encoding == MouseEncoding::Utf8,
            1006 => modes.mouse_encoding == MouseEncoding::Sgr,
            1007 => modes.alternate_scroll,
            2004 => modes.bracketed_paste,
            2026 => self.inner.synchronized_output(),
            2027 => modes.grapheme_clusters,
            2031 => modes.color_scheme_updates,
            _ => return None,
        })
    }

    /// Row and column from one, within the region in origin mode.
    fn reported_position(&self) -> (usize, usize) {
        let cursor = self.cursor();
        let top = match self.inner.mode().contains(Mode::ORIGIN) {
            true => self.region.0,
            false => 0,
        };
        (usize::from(cursor.row).saturating_sub(top) + 1, usize::from(cursor.col) + 1)
    }

    /// Switches a private mode by number without facts or replies.
    pub(super) fn apply_private_mode(&mut self, number: u16, on: bool) {
        match on {
            true => self.inner.set_private_mode(PrivateMode::new(number)),
            false => self.inner.unset_private_mode(PrivateMode::new(number)),
        }
    }
}

/// A decimal number of at most six digits; `None` when there is none.
fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(&digits[..digits.len().min(6)]).ok()?.parse().ok()
}
