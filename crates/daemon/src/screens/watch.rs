//! Patterns that callers wait for: searched in what is new on the screen.
//!
//! It reads rendered lines, so a pattern matches what is shown and not how it was painted.
//!
//! "New" is a line whose id did not exist when the watch began, or whose text has changed since. So a prompt
//! that was already on the screen does not match, and the next one does. Lines beneath an alternate screen
//! count as known too. A resize assigns ids again and brings lines back from the history, so it restarts
//! every watch: what the screen shows then counts as known.
//!
//! Lines are read once for all watches of a run and given to their searches, which run on threads of their
//! own: a costly pattern delays neither its run nor the others on the same worker. A search that is behind
//! gets what is new when it has caught up, or when that is about to leave the history.

mod matcher;
mod search;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::{RunFact, RunKey, WaitId};
use term::{LineId, Screen, Wraps};

use self::search::{LogScan, ScreenSearch, Search};
use super::facts::FactQueue;
use super::run::Run;
use crate::line_pattern::LinePattern;

pub(super) use self::matcher::Matcher;

/// How often a changing screen is read.
const LOOK: Duration = Duration::from_millis(10);
/// How long a run's last output is searched before its end is reported all the same.
const LAST_LOOK: Duration = Duration::from_millis(10);
/// The most rows above the screen that are followed to the beginning of a line that ends on it.
const MAX_ROWS_ABOVE: u64 = 256;

/// The lines that are no news.
type Known = HashMap<LinePosition, String>;

struct Watch {
    wait: WaitId,
    /// The search for it.
    id: u64,
    is_over: Arc<AtomicBool>,
    /// True if it is about what comes after it began, and not about the log from some offset on.
    is_from_now: bool,
    /// The lines when it began.
    known: Arc<Known>,
    /// Lines before this one have been given to its search for good.
    from: LineId,
}

/// The watches of one run.
pub(crate) struct Watches {
    run: RunKey,
    matcher: Arc<Matcher>,
    watches: Vec<Watch>,
    looked_at: Option<Instant>,
    due: Option<Instant>,
}

/// Which searches get what is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Searches {
    /// Those that have searched everything so far: the others get the newest when they have.
    Waiting,
    /// All, because what is new is about to be dropped.
    All,
}

impl Watches {
    pub(crate) fn new(run: RunKey, matcher: Arc<Matcher>) -> Self {
        Self { run, matcher, watches: Vec::new(), looked_at: None, due: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Begins a watch for what is not on the screen yet, after this part of the log was searched.
    fn begin(&mut self, wait: WaitId, pattern: LinePattern, log: Option<LogScan>, screen: &Screen) {
        let (known, from) = (Arc::new(known(screen)), first_shown(screen));
        let is_from_now = log.is_none();
        let began = self.matcher.begin(self.run, wait, Search::new(pattern, log));
        self.watches.push(Watch { wait, id: began.id, is_over: began.is_over, is_from_now, known, from });
    }

    pub(crate) fn end(&mut self, wait: WaitId) {
        let ended: Vec<u64> =
            self.watches.extract_if(.., |watch| watch.wait == wait).map(|watch| watch.id).collect();
        self.matcher.forget(&ended);
    }

    /// Closes all searches: each reports its failure once it has searched everything.
    pub(super) fn close_all(&mut self) {
        self.due = None;
        let ids: Vec<u64> = self.watches.drain(..).map(|watch| watch.id).collect();
        self.matcher.close(&ids);
    }

    /// Searches what was given, on this thread, for a short time; returns the results.
    fn finish(&self) -> Vec<(RunKey, RunFact)> {
        let ids: Vec<u64> = self.watches.iter().map(|watch| watch.id).collect();
        if ids.is_empty() { Vec::new() } else { self.matcher.finish(&ids, Instant::now() + LAST_LOOK) }
    }

    /// Handles a changed screen, which shows the output up to this offset: gives what is new to the searches,
    /// now or soon.
    pub(crate) fn changed(&mut self, screen: &Screen, seen: u64, now: Instant, is_last: bool) {
        self.watches.retain(|watch| !watch.is_over.load(Ordering::Relaxed));
        if self.watches.is_empty() {
            self.due = None;
            return;
        }
        let whom = if is_last || self.is_scrolling_away(screen) { Searches::All } else { Searches::Waiting };
        let is_soon = self.looked_at.is_some_and(|looked| now.duration_since(looked) < LOOK);
        if is_soon && whom == Searches::Waiting {
            self.due = Some(now + LOOK);
            return;
        }
        self.looked_at = Some(now);
        let has_given_all = self.pass_new_text(screen, seen, whom);
        // A search that is behind gets the rest when it has caught up.
        self.due = (!has_given_all).then(|| now + LOOK);
    }

    /// Handles another size. What the screen showed before must have been given.
    pub(crate) fn resized(&mut self, screen: &Screen) {
        self.begin_again(screen, |_| true);
    }

    /// Handles replayed output: it is not new for watches that began now.
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

    /// Returns true if lines not yet given may soon leave the history.
    fn is_scrolling_away(&self, screen: &Screen) -> bool {
        let oldest = self.watches.iter().map(|watch| watch.from).min();
        let room = (screen.next_line().0 - screen.first_line().0) / 2;
        let shown = u64::from(screen.size().rows);
        oldest.is_some_and(|from| screen.next_line().0.saturating_sub(from.0) > room.max(shown))
    }

    /// Returns when a read is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Gives what is new to these searches; returns true if there are no others.
    fn pass_new_text(&mut self, screen: &Screen, seen: u64, whom: Searches) -> bool {
        let all = self.watches.len();
        let matcher = &self.matcher;
        let is_given = |watch: &&mut Watch| whom == Searches::All || !matcher.is_behind(watch.id);
        let mut given: Vec<&mut Watch> = self.watches.iter_mut().filter(is_given).collect();
        let Some(from) = given.iter().map(|watch| watch.from).min() else { return false };
        let (lines, first_shown) = (Lines::read(screen, from), first_shown(screen));
        let lines = Arc::new(lines.counted(matcher.held()));
        let texts = given.iter_mut().map(|watch| {
            let text = ScreenSearch::new(Arc::clone(&lines), watch.from, Arc::clone(&watch.known), seen);
            watch.from = first_shown;
            (watch.id, text)
        });
        let texts: Vec<_> = texts.collect();
        let has_given_all = texts.len() == all;
        drop(lines);
        matcher.give(texts);
        has_given_all
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        let ids: Vec<u64> = self.watches.iter().map(|watch| watch.id).collect();
        self.matcher.forget(&ids);
    }
}

/// The position of a line. Lines of the history and the main screen come before rows of the alternate one,
/// which have no ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum LinePosition {
    Line(LineId),
    Alternate(usize),
}

/// Non-empty lines, joined by line feeds.
#[derive(Default)]
struct Lines {
    text: String,
    /// In order of their places.
    rows: Vec<Row>,
    /// Counts them among all the text that waits.
    held: Option<Held>,
}

/// Memory that is counted as long as it exists.
struct Held {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Row {
    place: LinePosition,
    text: Range<usize>,
}

impl Lines {
    fn read(screen: &Screen, from: LineId) -> Self {
        let mut lines = Self::default();
        for line in screen.lines(from..screen.next_line(), Wraps::Join) {
            lines.push(LinePosition::Line(line.id), &line.text);
        }
        if screen.is_alternate() {
            for (row, text) in screen.text(Wraps::Join).lines().enumerate() {
                lines.push(LinePosition::Alternate(row), text);
            }
        }
        lines
    }

    fn push(&mut self, place: LinePosition, text: &str) {
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

    /// Returns the first row from this line on; all of the alternate screen counts.
    fn since(&self, from: LineId) -> usize {
        self.rows.partition_point(|row| row.place < LinePosition::Line(from))
    }

    fn counted(mut self, all: &Arc<AtomicUsize>) -> Self {
        let bytes = self.text.capacity() + self.rows.capacity() * size_of::<Row>();
        all.fetch_add(bytes, Ordering::Relaxed);
        self.held = Some(Held { all: Arc::clone(all), bytes });
        self
    }
}

/// Returns what is on the screen now, and beneath it.
fn known(screen: &Screen) -> Known {
    let lines = Lines::read(screen, first_shown(screen));
    lines.rows.iter().map(|row| (row.place, lines.text[row.text.clone()].to_owned())).collect()
}

/// Returns the first line with any part on the main screen. Single rows would not do: the rest of a line
/// whose beginning has scrolled away would be another line than it was.
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
    /// Begins a watch; that of a run that is over ends with what there is.
    pub(crate) fn watch(&mut self, wait: WaitId, pattern: LinePattern, since: Option<u64>) {
        let log = since.map(|since| LogScan::new(&self.handle.ring, since, self.position.seen()));
        self.watches.begin(wait, pattern, log, &self.handle.screen());
        if self.end.is_over() {
            self.watches.close_all();
        }
    }

    /// Searches what the screen shows at the end, whatever the rate. It runs right here as far as it costs
    /// little: a pattern in a run's last output is found before the run's end is reported.
    pub(super) fn look_at_last_words(&mut self, now: Instant, facts: &mut FactQueue) {
        self.watches.changed(&self.handle.screen(), self.position.seen(), now, true);
        for (run, fact) in self.watches.finish() {
            facts.push_fact(run, fact);
        }
    }
}

#[cfg(test)]
mod tests;
