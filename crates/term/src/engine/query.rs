//! Answers queries that reach the emulator as operations, with constants and numbers only. Queries that
//! arrive as strings are answered in `osc` and `dcs`.

use rio_vt::ansi::mode::PrivateMode;
use rio_vt::ansi::{ClearMode, LineClearMode};
use rio_vt::crosswords::Mode;
use rio_vt::performer::handler::Handler;

use super::own_modes::OwnModes;
use super::terminal::Terminal;
use crate::modes::{MouseEncoding, MouseTracking};
use crate::reply;

impl Terminal {
    /// Executes sequences that the parser does not know.
    pub(super) fn special(&mut self, sequence: &[u8]) {
        if sequence.get(1) != Some(&b'[') {
            return self.special_escape(sequence);
        }
        let Some((&last, middle)) = sequence.get(2..).and_then(<[u8]>::split_last) else { return };
        match (last, middle) {
            (b'b', count) if count.iter().all(u8::is_ascii_digit) => {
                self.repeat(number(count).unwrap_or(1).max(1));
            }
            (b'P', b"#" | b"0#") => self.outbox.colors.push(),
            (b'Q', b"#" | b"0#") => self.outbox.colors.pop(),
            (b's', [b'?', modes @ ..]) => self.save_modes(modes),
            (b'r', [b'?', modes @ ..]) => self.restore_modes(modes),
            (b'm', b"?4") => {
                let level = self.keyboards.modify_other_keys;
                self.outbox.replies.push(format!("\x1b[>4;{level}m"));
            }
            (b'e', count) if count.iter().all(u8::is_ascii_digit) => {
                self.move_past_margins(number(count).unwrap_or(1).max(1));
            }
            (b'n', [b'?', kind @ ..]) => self.answer_private_status(number(kind)),
            (b'p', b"!") => self.soft_reset(),
            // Selective erasing spares protected cells. Nothing can be protected here, so it erases
            // everything.
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
            Some(996) => {
                if let Some(scheme) = self.outbox.colors.scheme() {
                    self.outbox.replies.push(reply::scheme_report(scheme));
                }
            }
            _ => {}
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

    /// Returns whether a private mode is set; `None` for an unknown mode.
    fn private_mode(&self, mode: u16) -> Option<bool> {
        let modes = self.modes();
        let cursor = self.cursor();
        Some(match mode {
            1 => modes.application_cursor,
            5 => modes.reverse_video,
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
            1016 => modes.mouse_encoding == MouseEncoding::SgrPixels,
            2004 => modes.bracketed_paste,
            2026 => self.inner.synchronized_output(),
            2027 => modes.grapheme_clusters,
            2031 => modes.color_scheme_updates,
            _ => return None,
        })
    }

    /// XTSAVE: saves modes; unknown ones are left out.
    fn save_modes(&mut self, modes: &[u8]) {
        for mode in OwnModes::savable(|mode| is_named(modes, mode)) {
            if let Some(on) = self.private_mode(mode) {
                self.own_modes.save(mode, on);
            }
        }
    }

    /// XTRESTORE: restores modes.
    fn restore_modes(&mut self, modes: &[u8]) {
        for (mode, is_on) in self.own_modes.to_restore(|mode| is_named(modes, mode)) {
            match is_on {
                true => self.set_private_mode(PrivateMode::new(mode)),
                false => self.unset_private_mode(PrivateMode::new(mode)),
            }
        }
    }

    /// Mode 5: changes how every cell looks and the content of none.
    pub(super) fn reverse(&mut self, on: bool) {
        self.own_modes.reverse_video = on;
        self.inner.mark_fully_damaged();
    }

    /// Returns row and column, counted from one, within the region in origin mode.
    fn reported_position(&self) -> (usize, usize) {
        let cursor = self.cursor();
        let top = match self.inner.mode().contains(Mode::ORIGIN) {
            true => self.region.top(),
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

/// Returns true if `mode` is among the modes that a sequence names.
fn is_named(modes: &[u8], mode: u16) -> bool {
    modes.split(|byte| *byte == b';').any(|digits| number(digits) == Some(u32::from(mode)))
}

/// Parses a decimal number of at most six digits; `None` when there is none.
fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(&digits[..digits.len().min(6)]).ok()?.parse().ok()
}
