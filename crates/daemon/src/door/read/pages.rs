//! Builds the reply to one read: a page of text, where it begins, where it was cut, and where the next one
//! continues. It never exceeds its limit, and reports everything that it leaves out.

use std::ops::Range;
use std::sync::MutexGuard;

use holder::ReadOutcome;
use proto::Size;
use proto::modes::{ModesView, MouseReports};
use proto::reply::{CursorView, Text};
use proto::request::ReadMode;
use term::{LineId, Modes, MouseTracking, Screen, StreamPage, TextStream, Wraps};

use crate::screens::{Log, ReadableRun};

/// The most log bytes that are turned into text for one read, however little text they make.
const MAX_RAW: u64 = 4 << 20;
/// Log bytes read at once.
const PIECE: usize = 32 * 1024;
/// Log bytes fed at once where the newest text is kept: a few bytes may make a thousand characters.
const SIP: usize = 4 * 1024;
/// Log bytes per byte of text that are read for the newest text: colours and moves are no text.
const DENSITY: u64 = 4;

/// The requested part of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// From here on; `None` for the newest that fit.
    pub(super) since: Option<u64>,
    /// Up to here; `None` for the end.
    pub(super) until: Option<u64>,
    /// At most this many bytes of text.
    pub(super) limit: usize,
}

/// Locks the screen and fills the fields that every reply has.
pub(super) fn describe(run: &dyn ReadableRun, mode: ReadMode) -> (MutexGuard<'_, Screen>, Text) {
    // Read before the screen: output between the two is shown already, but does not count as seen.
    let seen = run.progress().borrow().seen;
    let screen = run.screen();
    let version = run.version(&screen, seen);
    let text = about(&screen, version, mode);
    (screen, text)
}

fn about(screen: &Screen, version: u64, mode: ReadMode) -> Text {
    let (cursor, size) = (screen.cursor(), screen.size());
    Text {
        mode,
        text: String::new(),
        version,
        cursor: CursorView { col: cursor.col, row: cursor.row, visible: cursor.visible },
        size: Size { cols: size.cols, rows: size.rows },
        offset: 0,
        missed: 0,
        truncated: false,
        alternate: screen.is_alternate(),
        title: screen.title().to_owned(),
        first_line: None,
        cut: 0,
        modes: None,
        rows: None,
        next_row: None,
    }
}

pub(super) fn modes(modes: &Modes) -> ModesView {
    ModesView {
        application_cursor: modes.application_cursor,
        application_keypad: modes.application_keypad,
        bracketed_paste: modes.bracketed_paste,
        mouse: match modes.mouse {
            MouseTracking::Off => MouseReports::Off,
            MouseTracking::X10 => MouseReports::X10,
            MouseTracking::Clicks => MouseReports::Clicks,
            MouseTracking::Drag => MouseReports::Drag,
            MouseTracking::Motion => MouseReports::Motion,
        },
        focus_events: modes.focus_events,
        insert: modes.insert,
        line_wrap: modes.line_wrap,
        keyboard_flags: modes.keyboard_flags,
        modify_other_keys: modes.modify_other_keys,
    }
}

/// Returns the visible grid; a text that is too long loses its beginning.
pub(super) fn screen(run: &dyn ReadableRun, caught_up: u64, wraps: Wraps, limit: usize) -> Text {
    let (screen, mut reply) = describe(run, ReadMode::Screen);
    reply.modes = Some(modes(&screen.modes()));
    reply.text = screen.text(wraps);
    drop(screen);
    reply.offset = caught_up;
    reply.truncated = keep_end(&mut reply.text, limit);
    reply
}

/// Lines from `since` on, or the newest that fit.
pub(super) fn history(run: &dyn ReadableRun, span: Span, wraps: Wraps) -> Text {
    let is_over = {
        let progress = run.progress().borrow();
        progress.exited_at.is_some() || progress.is_over
    };
    let (screen, mut reply) = describe(run, ReadMode::History);
    let written = screen.written();
    let within = |id: u64| LineId(id.clamp(written.start.0, written.end.0));
    let end = span.until.map_or(written.end, within);
    let page = match span.since.map(within) {
        Some(since) => screen.page(since.min(end)..end, wraps, span.limit),
        None => screen.last_page(written.start..end, wraps, span.limit),
    };
    let open = screen.line_being_written(wraps);
    // A reader of a part of a long line continues in its last row.
    let is_inside = span.since.is_some_and(|since| since > open.0);
    let open = if is_inside { screen.line_being_written(Wraps::Keep) } else { open };
    drop(screen);
    reply.missed = span.since.map_or(0, |since| written.start.0.saturating_sub(since));
    reply.first_line = Some(page.first.0);
    reply.cut = page.cut as u64;
    let has_more = if span.since.is_some() { page.next < end } else { page.first > written.start };
    reply.truncated = has_more || page.cut > 0;
    // The line being written is read again when there is more of it; a row that was cut is finished,
    // otherwise it would be returned for ever.
    let is_at_end = page.next >= written.end && !is_over && page.cut == 0;
    reply.offset = if is_at_end { page.next.min(open).0 } else { page.next.0 };
    reply.text = page.text;
    reply
}

/// Returns log text from `since` on, or the newest that fits.
pub(super) fn stream(run: &dyn ReadableRun, span: Span) -> Text {
    let (screen, mut reply) = describe(run, ReadMode::Stream);
    drop(screen);
    let (start, end) = (run.log().start(), run.log().end());
    let end = span.until.map_or(end, |until| until.clamp(start, end));
    match span.since {
        Some(since) => {
            reply.missed = start.saturating_sub(since);
            stream_from(&mut reply, run.log(), since.clamp(start, end)..end, span.limit);
        }
        None => newest_of_stream(&mut reply, run.log(), start..end, span.limit),
    }
    reply
}

fn stream_from(reply: &mut Text, log: &dyn Log, range: Range<u64>, limit: usize) {
    let mut page = StreamPage::new(limit);
    let mut log = LogReader::new(log, &range);
    let mut buffer = vec![0; PIECE];
    while log.at - log.from < MAX_RAW && !page.is_full() {
        // The text after a gap belongs to another page.
        let Some(bytes) = log.next(&mut buffer, Gaps::End) else { break };
        page.feed(bytes);
    }
    let is_full = page.is_full();
    let (text, taken) = page.finish();
    // A sequence longer than the limit is skipped, otherwise the next read would end here as well.
    let is_stuck = taken == 0 && log.at - log.from >= MAX_RAW;
    reply.offset = if is_stuck { log.at } else { log.from + taken };
    reply.missed += log.missed;
    reply.truncated = is_full || log.at < range.end;
    reply.text = text;
}

fn newest_of_stream(reply: &mut Text, log: &dyn Log, range: Range<u64>, limit: usize) {
    let from = range.end.saturating_sub(limit as u64 * DENSITY).max(range.start);
    let mut log = LogReader::new(log, &(from..range.end));
    let (mut stream, mut buffer) = (TextStream::default(), vec![0; SIP]);
    let mut is_cut = from > range.start;
    let mut is_begun = !is_cut;
    while let Some(bytes) = log.next(&mut buffer, Gaps::Skip) {
        let bytes = if is_begun { bytes } else { from_a_beginning(bytes, limit) };
        is_begun = true;
        reply.text.push_str(&stream.feed(bytes));
        is_cut |= keep_end(&mut reply.text, limit);
    }
    reply.text.push_str(&stream.open_line());
    reply.truncated = keep_end(&mut reply.text, limit) || is_cut;
    reply.missed += log.missed;
    reply.offset = log.at - (stream.unfinished_bytes() as u64).min(log.at - log.from);
}

/// Returns the bytes after the first line feed, or from the first escape on: those before may be the rest of
/// a sequence. Text without either begins with its first whole character.
fn from_a_beginning(bytes: &[u8], most: usize) -> &[u8] {
    let beginning = bytes.iter().take(most).position(|byte| matches!(byte, b'\n' | 0x1b));
    let is_inside = |byte: &u8| byte & 0xc0 == 0x80;
    let beginning =
        beginning.unwrap_or_else(|| bytes.iter().take(3).take_while(|byte| is_inside(byte)).count());
    match bytes.get(beginning..).unwrap_or_default() {
        [b'\n', rest @ ..] => rest,
        rest => rest,
    }
}

/// What to do where bytes were overwritten before they were read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// Continue after them.
    Skip,
    /// End before them, unless nothing was read yet.
    End,
}

/// A part of the log, read piece by piece.
struct LogReader<'r> {
    log: &'r dyn Log,
    /// The first byte there was.
    from: u64,
    at: u64,
    end: u64,
    /// Bytes that were overwritten before they were read.
    missed: u64,
}

impl<'r> LogReader<'r> {
    fn new(log: &'r dyn Log, range: &Range<u64>) -> Self {
        Self { log, from: range.start, at: range.start, end: range.end, missed: 0 }
    }

    fn next<'b>(&mut self, buffer: &'b mut [u8], gaps: Gaps) -> Option<&'b [u8]> {
        while self.at < self.end {
            let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
            match self.log.read(self.at, buffer.get_mut(..most)?) {
                ReadOutcome::Bytes(0) => return None,
                ReadOutcome::Bytes(count) => {
                    self.at += count as u64;
                    return buffer.get(..count);
                }
                ReadOutcome::Missed { .. } if gaps == Gaps::End && self.at > self.from => return None,
                ReadOutcome::Missed { resume_at } => {
                    self.missed += resume_at - self.at;
                    if self.at == self.from {
                        self.from = resume_at;
                    }
                    self.at = resume_at;
                }
            }
        }
        None
    }
}

/// Cuts a text to its last `limit` bytes; returns true if something was cut off.
fn keep_end(text: &mut String, limit: usize) -> bool {
    let Some(cut) = text.len().checked_sub(limit).filter(|cut| *cut > 0) else { return false };
    text.drain(..text.ceil_char_boundary(cut));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_a_character() {
        let mut text = "aäb".to_owned();
        assert!(keep_end(&mut text, 2));
        assert_eq!(text, "b");
        assert!(!keep_end(&mut text, 1));
    }

    #[test]
    fn the_rest_of_a_sequence_is_no_beginning() {
        assert_eq!(from_a_beginning(b"1;31mtext\nnext", 100), b"next");
        assert_eq!(from_a_beginning(b"1;31mtext\x1b[0mnext\n", 100), b"\x1b[0mnext\n");
        assert_eq!(from_a_beginning(b"text that goes on\n", 5), b"text that goes on\n");
        assert_eq!(from_a_beginning(&"\u{1f600}text".as_bytes()[2..], 5), b"text");
    }
}
