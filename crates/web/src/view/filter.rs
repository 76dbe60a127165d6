//! What of a child's output reaches a browser. Queries are removed, because the daemon's emulator has answered them, and a
//! terminal in a browser would answer them again as if somebody had typed. A text for the clipboard (OSC 52) reaches only clients
//! that ask a person first; a question about the clipboard reaches none.

use std::borrow::Cow;

use proto::terminal::{CANCEL, Clipboard, Filter};

/// The filter of one viewer, with the offset at which another connection can go on.
#[derive(Debug)]
pub(crate) struct OutputFilter {
    filter: Filter,
    /// The end of the last frame that had bytes: the next one's first byte is here, although its sequence was cut.
    shown: u64,
    /// The end of what the daemon has sent.
    received: u64,
    is_after_output: bool,
}

/// What may be shown of a piece of output.
#[derive(Debug, PartialEq)]
pub(crate) struct Shown<'o> {
    pub(crate) bytes: Cow<'o, [u8]>,
    /// The log's offset of the first byte. Spans follow one another without a hole, unless the log has lost bytes.
    pub(crate) begin: u64,
    /// Where a client that has parsed the bytes goes on: all before it was passed on or removed, and no sequence is open here.
    pub(crate) end: u64,
}

impl OutputFilter {
    /// Creates a filter for a stream that begins at `offset`.
    pub(crate) fn new(offset: u64, clipboard: Clipboard) -> Self {
        Self { filter: Filter::new(clipboard), shown: offset, received: offset, is_after_output: false }
    }

    /// Returns what may be shown of output at `offset`.
    pub(crate) fn output<'o>(&mut self, offset: u64, output: &'o [u8]) -> Shown<'o> {
        self.is_after_output = true;
        if offset != self.received {
            self.shown = offset;
        }
        self.received = offset + output.len() as u64;
        let bytes = self.filter.pass(output);
        let end = self.received.saturating_sub(self.filter.unfinished());
        let begin = self.shown.min(end);
        if !bytes.is_empty() {
            self.shown = end;
        }
        Shown { bytes, begin, end }
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
        (self.shown, self.received) = (offset, offset);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns (offset of the first byte, end, bytes) of what is shown of this output.
    fn output(filter: &mut OutputFilter, offset: u64, output: &[u8]) -> (u64, u64, Vec<u8>) {
        let shown = filter.output(offset, output);
        (shown.begin, shown.end, shown.bytes.into_owned())
    }

    #[test]
    fn w15_a_query_is_removed_and_its_bytes_count_all_the_same() {
        let mut filter = OutputFilter::new(10, Clipboard::Writable);
        assert_eq!(output(&mut filter, 10, b"a\x1b[cb"), (10, 15, b"ab".to_vec()));
        assert_eq!(output(&mut filter, 15, b"\x1b[c"), (15, 18, Vec::new()));
        assert_eq!(output(&mut filter, 18, b"d\x1b[6ne"), (15, 24, b"de".to_vec()));
    }

    #[test]
    fn w16_a_client_goes_on_before_a_sequence_that_is_not_whole() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        assert_eq!(output(&mut filter, 0, b"ab\x1b[3"), (0, 2, b"ab".to_vec()));
        assert_eq!(output(&mut filter, 5, b"1mc"), (2, 8, b"\x1b[31mc".to_vec()));
        let title = [b"\x1bP".to_vec(), vec![b'x'; 40_000]].concat();
        let string = output(&mut filter, 8, &title);
        assert_eq!(string, (8, 8, Vec::new()), "the string that is being removed has no end yet");
        let end = 8 + title.len() as u64;
        assert_eq!(output(&mut filter, end, b"\x1b\\d"), (8, end + 3, b"d".to_vec()));
    }

    #[test]
    fn w16_a_letter_that_is_cut_is_counted_where_it_is_shown() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        assert_eq!(output(&mut filter, 0, b"a\xc2"), (0, 1, b"a".to_vec()));
        assert_eq!(output(&mut filter, 2, b"\xa7b"), (1, 4, b"\xc2\xa7b".to_vec()));
    }

    #[test]
    fn w16_a_span_never_ends_before_it_begins() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        output(&mut filter, 0, b"ab\x1bPx");
        for offset in [5, 6, 7] {
            assert_eq!(output(&mut filter, offset, b"x"), (2, 2, Vec::new()));
        }
    }

    #[test]
    fn w16_text_before_a_string_that_has_no_end_yet_is_not_shown_again() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        let long = [b"ab\x1bP".to_vec(), vec![b'x'; 40_000]].concat();
        assert_eq!(output(&mut filter, 0, &long), (0, 2, b"ab".to_vec()));
        assert_eq!(output(&mut filter, 40_004, b"\x1b\\cd"), (2, 40_008, b"cd".to_vec()));
    }

    #[test]
    fn w16_a_repaint_begins_anew() {
        let mut filter = OutputFilter::new(0, Clipboard::Writable);
        filter.output(0, b"\x1b[3");
        assert_eq!(filter.repaint(100, b"\x1b[2Jx"), b"\x1b[2Jx");
        assert_eq!(output(&mut filter, 100, b"1m"), (100, 102, b"1m".to_vec()));
    }

    #[test]
    fn w22_bytes_that_the_log_has_lost_leave_a_hole() {
        let mut filter = OutputFilter::new(0, Clipboard::Refused);
        assert_eq!(output(&mut filter, 0, b"a"), (0, 1, b"a".to_vec()));
        assert_eq!(output(&mut filter, 9, b"b"), (9, 10, b"b".to_vec()));
    }

    #[test]
    fn w13_a_text_for_the_clipboard_reaches_a_view_and_not_the_dialect_and_a_question_reaches_neither() {
        let (write, question) = (b"a\x1b]52;c;aGk=\x07b", b"c\x1b]52;c;?\x07d");
        let offered: &[u8] = b"a\x1b]52;c;aGk=\x1b\\b";
        for (clipboard, expected) in [(Clipboard::Writable, offered), (Clipboard::Refused, b"ab")] {
            let mut filter = OutputFilter::new(0, clipboard);
            let end = write.len() as u64;
            assert_eq!(output(&mut filter, 0, write), (0, end, expected.to_vec()));
            assert_eq!(output(&mut filter, end, question).2, b"cd");
        }
    }
}
