//! Patterns somebody waits for: looked for in what is new, where a person would see it.
//!
//! Owns which lines are new to a watch. Refuses bytes: it reads rendered lines, so a pattern matches what is shown and
//! not how it was painted.
//!
//! "New" is a line whose id was not there when the watch began, or whose text has changed since. So a prompt that was
//! already on the screen does not match, and the next one does. Lines beneath an alternate screen were there too. A
//! resize deals ids anew and brings lines back from the history, so that it begins every watch again: what the screen
//! shows then has been looked at.
//!
//! Lines are read once for all watches of a run, and every pattern is looked for in all of them at once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Fact, WaitId};
use holder::{ReadOutcome, RingReader};
use term::{LineId, Screen, TextStream, Wraps};

use super::facts::FactLane;
use super::run::Run;
use crate::pattern::LinePattern;

/// How often a changing screen is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// Longest line that is reported.
const MAX_TEXT: usize = 4 * 1024;
/// Most rows above the screen that a line which ends on it is followed to its beginning.
const MAX_ROWS_ABOVE: u64 = 256;

/// The lines that are no news.
type Known = HashMap<Place, String>;

struct Watch {
    wait: WaitId,
    pattern: LinePattern,
    /// Whether it is about what comes after it began, and not about the log from some offset on.
    is_from_now: bool,
    /// The lines when it began.
    known: Arc<Known>,
    /// Lines before this one have been looked at for good.
    from: LineId,
}

/// The watches of one run.
#[derive(Default)]
pub(crate) struct Watches {
    watches: Vec<Watch>,
    looked_at: Option<Instant>,
    due: Option<Instant>,
}

/// A watch that matched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) wait: WaitId,
    pub(crate) text: String,
}

impl Watches {
    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Begins a watch for what is not on the screen yet.
    pub(crate) fn begin(&mut self, wait: WaitId, pattern: LinePattern, is_from_now: bool, screen: &Screen) {
        let (known, from) = (Arc::new(known(screen)), first_shown(screen));
        self.watches.push(Watch { wait, pattern, is_from_now, known, from });
    }

    pub(crate) fn end(&mut self, wait: WaitId) {
        self.watches.retain(|watch| watch.wait != wait);
    }

    /// Ends them all; which there were.
    pub(crate) fn end_all(&mut self) -> Vec<WaitId> {
        self.due = None;
        self.watches.drain(..).map(|watch| watch.wait).collect()
    }

    /// The screen changed. Looks now, or soon.
    pub(crate) fn changed(&mut self, screen: &Screen, now: Instant, is_last: bool) -> Vec<Hit> {
        if self.watches.is_empty() {
            return Vec::new();
        }
        let is_soon = self.looked_at.is_some_and(|looked| now.duration_since(looked) < LOOK);
        if is_soon && !is_last && !self.is_scrolling_away(screen) {
            self.due = Some(now + LOOK);
            return Vec::new();
        }
        self.looked_at = Some(now);
        self.due = None;
        self.look(screen)
    }

    /// The screen has another size. What it showed before must have been looked at.
    pub(crate) fn resized(&mut self, screen: &Screen) {
        self.begin_again(screen, |_| true);
    }

    /// The screen shows more of what was there before any of this: no news for whoever waits from now on.
    pub(crate) fn replayed(&mut self, screen: &Screen) {
        self.begin_again(screen, |watch| watch.is_from_now);
    }

    fn begin_again(&mut self, screen: &Screen, is_concerned: impl Fn(&Watch) -> bool) {
        if self.watches.is_empty() {
            return;
        }
        let (known, from) = (Arc::new(known(screen)), first_shown(screen));
        for watch in self.watches.iter_mut().filter(|watch| is_concerned(watch)) {
            (watch.known, watch.from) = (Arc::clone(&known), from);
        }
    }

    /// Whether lines not yet looked at may soon leave the history.
    fn is_scrolling_away(&self, screen: &Screen) -> bool {
        let oldest = self.watches.iter().map(|watch| watch.from).min();
        let room = (screen.next_line().0 - screen.first_line().0) / 2;
        oldest.is_some_and(|from| screen.next_line().0.saturating_sub(from.0) > room.max(1))
    }

    /// When a look is owed.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    fn look(&mut self, screen: &Screen) -> Vec<Hit> {
        let Some(from) = self.watches.iter().map(|watch| watch.from).min() else { return Vec::new() };
        let (lines, first_shown) = (Lines::read(screen, from), first_shown(screen));
        let mut hits = Vec::new();
        self.watches.retain_mut(|watch| {
            let found = watch.find(&lines).map(shortened);
            watch.from = first_shown;
            let is_open = found.is_none();
            hits.extend(found.map(|text| Hit { wait: watch.wait, text }));
            is_open
        });
        hits
    }
}

impl Watch {
    /// The first line that is new and matches.
    fn find<'a>(&self, lines: &'a Lines) -> Option<&'a str> {
        let rows = lines.since(self.from);
        let begin = rows.first()?.text.start;
        let earliest = begin + self.pattern.earliest_in(&lines.text[begin..])?;
        let rows = &rows[rows.partition_point(|row| row.text.end < earliest)..];
        let is_new =
            |row: &Row| self.known.get(&row.place).is_none_or(|known| *known != lines.text[row.text.clone()]);
        let texts = rows.iter().map(|row| (row, &lines.text[row.text.clone()]));
        texts.filter(|(_, text)| self.pattern.is_in(text)).find(|(row, _)| is_new(row)).map(|(_, text)| text)
    }
}

/// Where a line is. Lines of the history and the main screen come before rows of the alternate one, which have no ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    Line(LineId),
    Alternate(usize),
}

/// The lines that say something, joined by line feeds.
#[derive(Default)]
struct Lines {
    text: String,
    /// In order of their places.
    rows: Vec<Row>,
}

struct Row {
    place: Place,
    text: Range<usize>,
}

impl Lines {
    fn read(screen: &Screen, from: LineId) -> Self {
        let mut lines = Self::default();
        for line in screen.lines(from..screen.next_line(), Wraps::Join) {
            lines.push(Place::Line(line.id), &line.text);
        }
        if screen.is_alternate() {
            for (row, text) in screen.text(Wraps::Join).lines().enumerate() {
                lines.push(Place::Alternate(row), text);
            }
        }
        lines
    }

    fn push(&mut self, place: Place, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.rows.is_empty() {
            self.text.push('\n');
        }
        let begin = self.text.len();
        self.text.push_str(text);
        self.rows.push(Row { place, text: begin..self.text.len() });
    }

    /// Those from this one on, and all of the alternate screen.
    fn since(&self, from: LineId) -> &[Row] {
        &self.rows[self.rows.partition_point(|row| row.place < Place::Line(from))..]
    }
}

/// What is on the screen now, and beneath it.
fn known(screen: &Screen) -> Known {
    let lines = Lines::read(screen, first_shown(screen));
    lines.rows.iter().map(|row| (row.place, lines.text[row.text.clone()].to_owned())).collect()
}

/// The first line that is on the main screen with any part of it. Rows alone would not do: the rest of a line whose
/// beginning has scrolled away would be another line than it was.
fn first_shown(screen: &Screen) -> LineId {
    let (first, next) = (screen.first_line().0, screen.next_line().0);
    let top = next.saturating_sub(u64::from(screen.size().rows)).max(first);
    let is_within = |row: u64| {
        let above = screen.lines(LineId(row - 1)..LineId(row), Wraps::Keep);
        above.first().is_some_and(|above| above.wrapped)
    };
    let highest = top.saturating_sub(MAX_ROWS_ABOVE).max(first);
    LineId((highest + 1..=top).rev().find(|row| !is_within(*row)).unwrap_or(highest))
}

impl Run {
    /// Begins a watch; a run that is over answers at once.
    pub(crate) fn watch(
        &mut self,
        wait: WaitId,
        pattern: LinePattern,
        since: Option<u64>,
        facts: &mut FactLane,
    ) {
        let log = (&*self.handle.ring, self.seen);
        if let Some(text) = since.and_then(|since| search_log(&pattern, since, log)) {
            self.say_hits(vec![Hit { wait, text }], facts);
        } else if self.is_over() {
            facts.say(self.key(), Fact::Unmatched { wait });
        } else {
            self.watches.begin(wait, pattern, since.is_none(), &self.handle.screen());
        }
    }

    pub(super) fn say_hits(&mut self, hits: Vec<Hit>, facts: &mut FactLane) {
        let offset = self.seen;
        for hit in hits {
            facts.say(self.key(), Fact::Matched { wait: hit.wait, text: hit.text, offset });
        }
    }

    /// No more output comes: what is still watched for will not appear.
    pub(crate) fn end_watches(&mut self, facts: &mut FactLane) {
        for wait in self.watches.end_all() {
            facts.say(self.key(), Fact::Unmatched { wait });
        }
    }
}

/// Looks through the log itself, as text.
fn search_log(pattern: &LinePattern, since: u64, (ring, end): (&RingReader, u64)) -> Option<String> {
    let (mut at, mut stream, mut text) = (since.max(ring.start()), TextStream::default(), String::new());
    let mut buffer = vec![0; 64 * 1024];
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        match ring.read(at, &mut buffer[..most]) {
            ReadOutcome::Bytes(0) => break,
            ReadOutcome::Bytes(count) => {
                text.push_str(&stream.feed(&buffer[..count]));
                at += count as u64;
            }
            ReadOutcome::Missed { resume_at } => at = resume_at,
        }
        let is_last = at >= end;
        if is_last {
            text.push_str(&stream.partial());
        }
        if let Some(found) = first_match(pattern, &mut text, is_last) {
            return Some(found);
        }
    }
    None
}

/// The first whole line that matches; what is left unfinished stays for the next piece.
fn first_match(pattern: &LinePattern, text: &mut String, is_last: bool) -> Option<String> {
    let whole = if is_last { text.len() } else { text.rfind('\n').map_or(0, |end| end + 1) };
    let found = text[..whole].lines().find(|line| pattern.is_in(line)).map(shortened);
    text.drain(..whole);
    found
}

fn shortened(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
