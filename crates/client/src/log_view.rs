//! Shows a log on a person's terminal and restores the terminal afterwards. It filters the log and undoes
//! what the log has switched on, as after attaching. The terminal is not made raw, nothing is read from it,
//! and the log stays on it.

use std::borrow::Cow;

use proto::terminal::CANCEL;
use proto::terminal::restore::{LEAVE_ALTERNATE, RESET, RESET_COLORS, RESTORE, SAVE};

use crate::attach::Filter;

/// Ends an open string and saves the cursor: undoing margins and origin moves it.
const STAY: &[u8] = b"\x18\x1b\\\x1b7";
/// Restores the cursor, without the colours, charsets and origin that were saved with it.
const BACK: &[u8] = b"\x1b8\x1b[!p\x1b[?7h\x1b(B\x1b)B\x0f\x1b[m\x1b[?25h";

/// One log on its way to a terminal.
#[derive(Debug)]
pub struct LogView {
    filter: Filter,
}

impl Default for LogView {
    fn default() -> Self {
        Self { filter: Filter::for_unread_terminal() }
    }
}

impl LogView {
    /// Returns what the terminal gets first.
    #[must_use]
    pub fn before(&self) -> &'static [u8] {
        SAVE
    }

    /// Returns the part of these bytes that the terminal gets.
    pub fn pass<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        self.filter.pass(bytes)
    }

    /// Returns what the terminal gets where bytes were skipped: no sequence continues over a gap.
    pub fn skip(&mut self) -> &'static [u8] {
        let is_inside = !self.filter.is_at_rest();
        self.filter.abandon();
        if is_inside { &[CANCEL] } else { &[] }
    }

    /// Returns what the terminal gets last.
    #[must_use]
    pub fn way_back(&self) -> Vec<u8> {
        let colors = if self.filter.is_colored() { RESET_COLORS } else { b"" };
        // The terminal is not asked which form its cursor had.
        let cursor: &[u8] = if self.filter.has_formed_cursor() { b"\x1b[0 q" } else { b"" };
        match self.filter.is_alternate() {
            true => [&[CANCEL], &b"\x1b\\"[..], colors, RESET, cursor, LEAVE_ALTERNATE, RESTORE].concat(),
            false => [STAY, colors, RESET, cursor, BACK, RESTORE].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_leaves_the_alternate_screen_only_when_it_is_on_it() {
        let mut log_view = LogView::default();
        assert_eq!(log_view.pass(b"text\x1b[c").as_ref(), b"text");
        let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        let plain = log_view.way_back();
        assert!(!has(&plain, b"?1049l") && has(&plain, b"\x1b7") && has(&plain, b"\x1b8"));
        let mut other = LogView::default();
        assert_eq!(other.pass(b"\x1b[?1049h\x1b[c").as_ref(), b"\x1b[?1049h");
        let full = other.way_back();
        assert!(has(&full, b"\x1b[?1049l") && has(&full, RESET));
    }
}
