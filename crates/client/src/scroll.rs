//! A log that runs over a person's terminal, and the terminal afterwards.
//!
//! Owns what of a log such a terminal may see, and the way back from what the log has switched on: the same as after
//! attaching. Refuses taking the terminal over: it is not made raw, nothing is read from it, and the log stays on it.

use std::borrow::Cow;

use proto::terminal::CANCEL;

use crate::attach::terminal::{LEAVE_ALTERNATE, RESET, SAVE};
use crate::attach::{Clipboard, Filter};

/// Ends an open string and remembers where the cursor is: what undoes margins and origin moves it.
const STAY: &[u8] = b"\x18\x1b\\\x1b7";
/// Back to where the cursor was, without the colours, charsets and origin that were remembered with it.
const BACK: &[u8] = b"\x1b8\x1b[!p\x1b[?7h\x1b(B\x1b)B\x0f\x1b[m\x1b[?25h";

/// One log on its way to a terminal.
#[derive(Debug)]
pub struct Scroll {
    filter: Filter,
    is_raw: bool,
}

impl Scroll {
    /// A log from its beginning. Raw: with the queries that the terminal will answer.
    #[must_use]
    pub fn new(is_raw: bool) -> Self {
        Self { filter: Filter::new(Clipboard::Refused), is_raw }
    }

    /// What goes to the terminal first.
    #[must_use]
    pub fn before(&self) -> &'static [u8] {
        SAVE
    }

    /// What of these bytes goes to the terminal.
    pub fn pass<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let passed = self.filter.pass(bytes);
        if self.is_raw { Cow::Borrowed(bytes) } else { passed }
    }

    /// What goes to the terminal where bytes were skipped: no sequence goes on over a gap.
    pub fn skip(&mut self) -> &'static [u8] {
        let is_inside = !self.filter.is_at_rest();
        self.filter.abandon();
        if is_inside { &[CANCEL] } else { &[] }
    }

    /// What goes to the terminal last.
    #[must_use]
    pub fn way_back(&self) -> Vec<u8> {
        match self.filter.is_alternate() {
            true => [RESET, LEAVE_ALTERNATE].concat(),
            false => [STAY, RESET, BACK].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_leaves_the_alternate_screen_only_when_it_is_on_it() {
        let mut scroll = Scroll::new(false);
        assert_eq!(scroll.pass(b"text\x1b[c").as_ref(), b"text");
        let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        let plain = scroll.way_back();
        assert!(!has(&plain, b"?1049l") && has(&plain, b"\x1b7") && has(&plain, b"\x1b8"));
        let mut raw = Scroll::new(true);
        assert_eq!(raw.pass(b"\x1b[?1049h\x1b[c").as_ref(), b"\x1b[?1049h\x1b[c");
        let full = raw.way_back();
        assert!(has(&full, b"\x1b[?1049l") && has(&full, RESET));
    }
}
