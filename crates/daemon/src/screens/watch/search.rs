//! One search for a pattern: the log first, then what was shown since. `matcher` decides how much of it is
//! searched at a time.

use std::sync::Arc;

use holder::{ReadOutcome, RingReader};
use term::{LineId, TextStream};

use super::{Known, Lines, Row};
use crate::line_pattern::LinePattern;

/// Text that is searched in one piece: some sixty milliseconds for the costliest pattern, twenty for the
/// costliest light one. A longer line is one piece.
const PIECE: usize = 4 * 1024;
const LIGHT_PIECE: usize = 16 * 1024;
/// Longest line that is reported.
const MAX_TEXT: usize = 4 * 1024;

/// A search for one pattern.
pub(super) struct Search {
    pattern: LinePattern,
    /// The part of the log before it began that is requested and not searched yet.
    log: Option<LogScan>,
    /// The text that it searches now.
    screen: Option<ScreenSearch>,
}

/// The result of one step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Everything that was given has been searched.
    Idle,
    /// This many bytes were searched.
    Looked(usize),
    /// It is there.
    Found {
        /// The line.
        text: String,
        /// Output up to here was on the screen.
        offset: u64,
    },
    /// Output was overwritten before it was searched.
    Overtaken,
}

impl Search {
    pub(super) fn new(pattern: LinePattern, log: Option<LogScan>) -> Self {
        Self { pattern, log, screen: None }
    }

    pub(super) fn is_light(&self) -> bool {
        self.pattern.is_light()
    }

    /// Returns true if everything that was given has been searched.
    pub(super) fn is_idle(&self) -> bool {
        self.log.is_none() && self.screen.is_none()
    }

    /// Gives it more text.
    pub(super) fn take(&mut self, screen: ScreenSearch) {
        self.screen = Some(screen);
    }

    /// Searches the next piece.
    pub(super) fn step(&mut self) -> Step {
        if let Some(log) = &mut self.log {
            let step = log.search(&self.pattern);
            self.log.take_if(|log| log.is_over());
            return step;
        }
        let Some(screen) = &mut self.screen else { return Step::Idle };
        let step = screen.search(&self.pattern);
        self.screen.take_if(|screen| screen.is_over());
        step
    }
}

/// What a screen showed at one time, for one search.
pub(super) struct ScreenSearch {
    lines: Arc<Lines>,
    known: Arc<Known>,
    offset: u64,
    /// The first row that has not been searched.
    next: usize,
}

impl ScreenSearch {
    /// Creates a search of the lines from this one on; known ones are not new.
    pub(super) fn new(lines: Arc<Lines>, from: LineId, known: Arc<Known>, offset: u64) -> Self {
        let next = lines.since(from);
        Self { lines, known, offset, next }
    }

    fn is_over(&self) -> bool {
        self.next >= self.lines.rows.len()
    }

    fn search(&mut self, pattern: &LinePattern) -> Step {
        let rest = self.lines.rows.get(self.next..).unwrap_or_default();
        let Some(first) = rest.first() else { return Step::Idle };
        let begin = first.text.start;
        let most = if pattern.is_light() { LIGHT_PIECE } else { PIECE };
        let count = rest.partition_point(|row| row.text.end - begin <= most).max(1);
        self.next += count;
        let rows = rest.get(..count).unwrap_or_default();
        let end = rows.last().map_or(begin, |row| row.text.end);
        match self.find(pattern, rows, begin..end) {
            Some(text) => Step::Found { text: shortened(text), offset: self.offset },
            None => Step::Looked(end - begin),
        }
    }

    /// Returns the first of these rows, with this text, that is new and matches.
    fn find(&self, pattern: &LinePattern, rows: &[Row], text: std::ops::Range<usize>) -> Option<&str> {
        let begin = text.start;
        let earliest = begin + pattern.earliest_in(self.lines.text.get(text)?)?;
        let rows = rows.get(rows.partition_point(|row| row.text.end < earliest)..)?;
        let is_new = |row: &Row, text: &str| self.known.get(&row.place).is_none_or(|known| known != text);
        let texts = rows.iter().filter_map(|row| Some((row, self.lines.text.get(row.text.clone())?)));
        let mut matching = texts.filter(|(_, text)| pattern.is_in(text));
        matching.find(|(row, text)| is_new(row, text)).map(|(_, text)| text)
    }
}

/// The log itself, searched as text.
pub(super) struct LogScan {
    ring: Arc<RingReader>,
    at: u64,
    end: u64,
    stream: TextStream,
}

impl LogScan {
    /// Creates a search of the output from one offset to another, as far as it is still kept.
    pub(super) fn new(ring: &Arc<RingReader>, since: u64, end: u64) -> Self {
        let at = since.max(ring.start());
        Self { ring: Arc::clone(ring), at, end, stream: TextStream::default() }
    }

    fn is_over(&self) -> bool {
        self.at >= self.end
    }

    fn search(&mut self, pattern: &LinePattern) -> Step {
        let mut buffer = [0; PIECE];
        let most = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(PIECE).min(PIECE);
        let (mut text, mut is_overtaken) = (String::new(), false);
        match self.ring.read(self.at, &mut buffer[..most]) {
            ReadOutcome::Bytes(0) => self.at = self.end,
            ReadOutcome::Bytes(count) => {
                text = self.stream.feed(&buffer[..count]);
                self.at += count as u64;
            }
            ReadOutcome::Missed { resume_at } => (self.at, is_overtaken) = (resume_at, true),
        }
        if self.is_over() {
            text.push_str(&self.stream.partial());
        }
        match text.lines().find(|line| pattern.is_in(line)) {
            Some(line) => Step::Found { text: shortened(line), offset: self.end },
            None if is_overtaken => Step::Overtaken,
            None => Step::Looked(most),
        }
    }
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default().to_owned()
}
