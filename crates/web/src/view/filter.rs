//! What of a child's output reaches a browser. Queries are removed, because the daemon's emulator has answered them, and a
//! terminal in a browser would answer them again as if somebody had typed. A text for the clipboard (OSC 52) reaches only clients
//! that ask a person first; a question about the clipboard reaches none.

use std::borrow::Cow;

use proto::terminal::{CANCEL, Clipboard, Filter};

/// The filter of one viewer, with the offset at which another connection can go on.
#[derive(Debug)]
pub(crate) struct OutputFilter {
    filter: Filter,
    /// Everything before this offset was passed on or removed, and no sequence is open there.
    resume: u64,
    is_after_output: bool,
}

impl OutputFilter {
    /// Creates a filter for a stream that begins at `offset`.
    pub(crate) fn new(offset: u64, clipboard: Clipboard) -> Self {
        Self { filter: Filter::new(clipboard), resume: offset, is_after_output: false }
    }

    /// Returns what may be shown of output at `offset`, and where a client that has parsed it goes on.
    pub(crate) fn output<'o>(&mut self, offset: u64, bytes: &'o [u8]) -> (Cow<'o, [u8]>, u64) {
        self.is_after_output = true;
        let shown = self.filter.pass(bytes);
        self.resume = (offset + bytes.len() as u64).saturating_sub(self.filter.unfinished());
        (shown, self.resume)
    }

    /// Returns a repaint of the screen as it was at `offset`.
    pub(crate) fn repaint(&mut self, offset: u64, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len() + 1);
        if std::mem::take(&mut self.is_after_output) {
            // Bytes were skipped: the sequence that the terminal is inside of will never be finished.
            if !self.filter.is_at_rest() {
                shown.push(CANCEL);
            }
            self.filter.abandon();
        }
        shown.extend_from_slice(&self.filter.pass(bytes));
        self.resume = offset;
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w15_a_query_is_removed_and_its_bytes_count_all_the_same() {
        let mut filter = OutputFilter::new(10, Clipboard::Writable);
        let (shown, end) = filter.output(10, b"a\x1b[cb");
        assert_eq!((shown.as_ref(), end), (&b"ab"[..], 15));
    }

    #[test]
    fn w16_a_client_goes_on_before_a_sequence_that_is_not_whole() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        let (shown, end) = filter.output(0, b"ab\x1b[3");
        assert_eq!((shown.as_ref(), end), (&b"ab"[..], 2));
        let (shown, end) = filter.output(5, b"1mc");
        assert_eq!((shown.as_ref(), end), (&b"\x1b[31mc"[..], 8));
        let title = [b"\x1bP".to_vec(), vec![b'x'; 40_000]].concat();
        let (_, end) = filter.output(8, &title);
        assert_eq!(end, 8, "the string that is being removed has no end yet");
        let (shown, end) = filter.output(8 + title.len() as u64, b"\x1b\\d");
        assert_eq!((shown.as_ref(), end), (&b"d"[..], 8 + title.len() as u64 + 3));
    }

    #[test]
    fn w16_text_before_a_string_that_has_no_end_yet_is_not_shown_again() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        let long = [b"ab\x1bP".to_vec(), vec![b'x'; 40_000]].concat();
        let (shown, end) = filter.output(0, &long);
        assert_eq!((shown.as_ref(), end), (&b"ab"[..], 2));
        let (shown, end) = filter.output(40_004, b"\x1b\\cd");
        assert_eq!((shown.as_ref(), end), (&b"cd"[..], 40_008));
    }

    #[test]
    fn w16_a_repaint_begins_anew() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        filter.output(0, b"\x1b[3");
        assert_eq!(filter.repaint(100, b"\x1b[2Jx"), b"\x1b[2Jx");
        let (shown, end) = filter.output(100, b"1m");
        assert_eq!((shown.as_ref(), end), (&b"1m"[..], 102));
    }

    #[test]
    fn w13_a_text_for_the_clipboard_reaches_a_view_and_not_the_dialect_and_a_question_reaches_neither() {
        let (write, question) = (b"a\x1b]52;c;aGk=\x07b", b"c\x1b]52;c;?\x07d");
        let offered: &[u8] = b"a\x1b]52;c;aGk=\x1b\\b";
        for (clipboard, expected) in [(Clipboard::Writable, offered), (Clipboard::Refused, b"ab")] {
            let mut filter = OutputFilter::new(0, clipboard);
            let (shown, end) = filter.output(0, write);
            assert_eq!((shown.as_ref(), end), (expected, write.len() as u64));
            let (shown, _) = filter.output(end, question);
            assert_eq!(shown.as_ref(), b"cd");
        }
    }
}
