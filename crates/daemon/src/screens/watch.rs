//! Patterns somebody waits for: looked for in what is new, where a person would see it.
//!
//! Owns which lines are new to a watch. Refuses bytes: it reads rendered lines, so a pattern matches what is shown and
//! not how it was painted.
//!
//! "New" is a line whose id was not there when the watch began, or whose text has changed since. So a prompt that was
//! already on the screen does not match, and the next one does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use engine::WaitId;
use holder::{ReadOutcome, RingReader};
use regex::Regex;
use term::{LineId, Screen, TextStream, Wraps};

/// How often a changing screen is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// Longest line that is reported.
const MAX_TEXT: usize = 4 * 1024;

struct Watch {
    wait: WaitId,
    pattern: Regex,
    /// The lines on the screen when it began; empty rows are not kept.
    baseline: HashMap<u64, String>,
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
pub(crate) struct Hit {
    pub(crate) wait: WaitId,
    pub(crate) text: String,
}

impl Watches {
    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Begins a watch. With `since` the log from there on is looked at first and may match at once.
    pub(crate) fn begin(
        &mut self,
        wait: WaitId,
        pattern: Regex,
        since: Option<u64>,
        screen: &Screen,
        log: (&RingReader, u64),
    ) -> Option<Hit> {
        if let Some(text) = since.and_then(|since| search_log(&pattern, since, log)) {
            return Some(Hit { wait, text });
        }
        let baseline = visible(screen).into_iter().collect();
        self.watches.push(Watch { wait, pattern, baseline, from: top(screen) });
        None
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
        let top = top(screen);
        let rows = visible(screen);
        let mut hits = Vec::new();
        self.watches.retain_mut(|watch| {
            let scrolled = scrolled(screen, watch.from, top);
            watch.from = top;
            let is_new = |(id, text): &&(u64, String)| watch.baseline.get(id) != Some(text);
            let found =
                scrolled.iter().chain(&rows).filter(is_new).find(|(_, text)| watch.pattern.is_match(text));
            if let Some((_, text)) = found {
                hits.push(Hit { wait: watch.wait, text: shortened(text) });
            }
            found.is_none()
        });
        hits
    }
}

/// The id of the first line on the screen.
fn top(screen: &Screen) -> LineId {
    if screen.is_alternate() {
        return screen.next_line();
    }
    LineId(screen.next_line().0.saturating_sub(u64::from(screen.size().rows)).max(screen.first_line().0))
}

/// The rows on the screen that say something. Rows of the alternate screen have no ids; they get ones no line has.
fn visible(screen: &Screen) -> Vec<(u64, String)> {
    if screen.is_alternate() {
        let rows = screen.text(Wraps::Join);
        return rows
            .lines()
            .enumerate()
            .map(|(row, text)| (u64::MAX - row as u64, text.to_owned()))
            .collect();
    }
    scrolled(screen, top(screen), screen.next_line())
}

fn scrolled(screen: &Screen, from: LineId, to: LineId) -> Vec<(u64, String)> {
    let lines = screen.lines(from..to, Wraps::Join);
    lines.into_iter().filter(|line| !line.text.is_empty()).map(|line| (line.id.0, line.text)).collect()
}

/// Looks through the log itself, as text.
fn search_log(pattern: &Regex, since: u64, (ring, end): (&RingReader, u64)) -> Option<String> {
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
fn first_match(pattern: &Regex, text: &mut String, is_last: bool) -> Option<String> {
    let whole = if is_last { text.len() } else { text.rfind('\n').map_or(0, |end| end + 1) };
    let found = text[..whole].lines().find(|line| pattern.is_match(line)).map(shortened);
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
