//! Reads a vendor's transcript line by line as it grows, by the manifest's table: how full the context is,
//! the agent's text, how its turns ended.
//!
//! It gets every byte once, in any pieces, and keeps one partial line and a few numbers. The daemon reads the
//! file.

pub mod fields;
mod lines;
pub mod location;
mod spec;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use proto::Printable;
use proto::agent::{AgentState, Context, Evidence, Quota, Source, TurnEnd};
use proto::printable::shortened;
use serde_json::Value;

use crate::Manifest;
use crate::context_window::ContextSpec;
use crate::quota::instant;
use fields::{Field, sum};
use lines::Lines;

pub use lines::ReadFrom;
pub use spec::{EndWord, LineSpec, TextSpec, TranscriptSpec};

/// The longest text of a turn that is kept, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;

/// Most turns before the newest that are kept.
const MOST_FORMER: usize = 8;

/// The longest message of a failure, in characters.
const LONGEST_MESSAGE: usize = 300;

/// Reads one transcript as it grows.
#[derive(Clone, Debug)]
pub struct TranscriptReader {
    spec: TranscriptSpec,
    windows: ContextSpec,
    lines: Lines,
    session: Option<String>,
    turn: TurnSoFar,
    /// The turns before it, newest first: a caller may ask for their texts after the next prompts were
    /// written.
    former: VecDeque<TurnSoFar>,
    figures: Figures,
}

/// The content of the newest turn so far.
#[derive(Clone, Debug, Default)]
struct TurnSoFar {
    /// When its prompt was written, in milliseconds since the epoch.
    prompted_at: Option<u64>,
    /// The agent's text since the prompt.
    text: String,
    /// Where in it the newest message begins, and which message that is.
    newest: usize,
    text_message: Option<String>,
    failure: Option<TurnFailure>,
    reset_at: Option<u64>,
    is_interrupted: bool,
}

/// How a turn fails.
#[derive(Clone, Debug)]
struct TurnFailure {
    rule: String,
    message: String,
    quota: Option<Quota>,
}

/// The tokens counted so far.
#[derive(Clone, Debug, Default)]
struct Figures {
    used: Option<u64>,
    said_window: Option<u64>,
    model: Option<String>,
    total: u64,
    counted_message: Option<String>,
    counted_tokens: u64,
}

/// What newly read lines state. Of a transcript that existed before, only its context and its session are
/// news.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranscriptChange {
    /// How full the context is now.
    pub context: Option<Context>,
    /// The vendor session.
    pub session: Option<String>,
    /// How many prompts were accepted.
    pub prompts: u32,
    /// The turns that ended, in order.
    pub turns: Vec<EndedTurn>,
    /// Evidence from the newest of them: only failures and interruptions, for which a hook may not run.
    pub evidence: Option<Evidence>,
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedTurn {
    /// How it ended.
    pub end: TurnEnd,
    /// The agent's last message.
    pub text: String,
    /// When its prompt was written, in milliseconds since the epoch.
    pub prompted_at: Option<u64>,
}

impl TranscriptChange {
    /// Returns the part that counts in a transcript that was written before the daemon watched it.
    #[must_use]
    pub fn past(self) -> Self {
        Self { context: self.context, session: self.session, ..Self::default() }
    }

    /// Returns true if there is no news.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl TranscriptReader {
    /// Creates a reader for this vendor; `None` when its manifest describes no transcript.
    #[must_use]
    pub fn new(manifest: &Manifest, start: ReadFrom) -> Option<Self> {
        let spec = manifest.transcript.clone()?;
        let windows = manifest.context.clone().unwrap_or_default();
        Some(Self {
            spec,
            windows,
            lines: Lines::new(start),
            session: None,
            turn: TurnSoFar::default(),
            former: VecDeque::new(),
            figures: Figures::default(),
        })
    }

    /// Feeds the next bytes of the file. Lines that are not JSON are ignored.
    pub fn feed(&mut self, bytes: &[u8]) -> TranscriptChange {
        let mut news = TranscriptChange::default();
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(ReadFrom::Beginning));
        lines.feed(bytes, |line| self.line(line, &mut news));
        self.lines = lines;
        news
    }

    /// Returns the agent's text since the newest prompt.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.turn.text
    }

    /// Returns the text of the newest turn, or the one before it, for which this holds, and when its prompt was written.
    pub fn newest_turn(&self, is_wanted: impl Fn(&str) -> bool) -> Option<(&str, Option<u64>)> {
        let mut turns = std::iter::once(&self.turn).chain(self.former.front());
        turns.find(|turn| is_wanted(&turn.text)).map(|turn| (turn.text.as_str(), turn.prompted_at))
    }

    /// Returns the agent's text since the newest prompt that was written in this span (milliseconds since the
    /// epoch).
    #[must_use]
    pub fn text_since_prompt_in(&self, span: &RangeInclusive<u64>) -> Option<&str> {
        let is_inside = |turn: &&TurnSoFar| turn.prompted_at.is_some_and(|at| span.contains(&at));
        let turn = std::iter::once(&self.turn).chain(&self.former).find(is_inside)?;
        (!turn.text.trim().is_empty()).then_some(turn.text.as_str())
    }

    /// Like [`Self::text_since_prompt_in`], but only for a turn that another prompt has followed: its text is
    /// complete.
    #[must_use]
    pub fn whole_text_in(&self, span: &RangeInclusive<u64>) -> Option<&str> {
        let is_newest = self.turn.prompted_at.is_some_and(|at| span.contains(&at));
        self.text_since_prompt_in(span).filter(|_| !is_newest)
    }

    /// Returns how full the context is, as far as it was read.
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        let Figures { used, said_window, model, total, .. } = &self.figures;
        let window = said_window.or_else(|| self.windows.window(model.as_deref()));
        Some(Context { used: (*used)?, window, total: *total })
    }

    fn line(&mut self, line: &[u8], news: &mut TranscriptChange) {
        let Ok(text) = std::str::from_utf8(line) else { return };
        // Most lines do not matter and some are megabytes: a text search rules them out before they are
        // parsed.
        if !self.spec.line.iter().any(|spec| spec.when.may_hold(text)) {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        let fitting: Vec<LineSpec> =
            self.spec.line.iter().filter(|spec| spec.when.holds(&value)).cloned().collect();
        for spec in &fitting {
            self.apply(spec, &value, news);
        }
    }

    fn apply(&mut self, spec: &LineSpec, value: &Value, news: &mut TranscriptChange) {
        if let Some(session) = text_at(spec.session.as_ref(), value)
            && self.session.as_deref() != Some(session)
        {
            self.session = Some(session.to_owned());
            news.session = self.session.clone();
        }
        if spec.prompt {
            let prompted_at = value.get("timestamp").and_then(instant);
            let turn = TurnSoFar { reset_at: self.turn.reset_at, prompted_at, ..TurnSoFar::default() };
            self.former.push_front(std::mem::replace(&mut self.turn, turn));
            self.former.truncate(MOST_FORMER);
            news.prompts += 1;
        }
        if self.figures.count(spec, value) {
            news.context = self.context();
        }
        self.turn.take_line(spec, value);
        // A vendor may record the end of a turn once more after its interruption.
        if let Some(end) = spec.end.filter(|_| !self.turn.is_interrupted) {
            self.turn.is_interrupted = end == EndWord::Interrupted;
            let (turn, evidence) = self.turn.ended(spec, end);
            news.turns.push(turn);
            news.evidence = evidence;
        }
    }
}

/// Returns true if a transcript has a line with this text that was written after this moment (milliseconds
/// since the epoch). The same text may be there from before: a line without a time proves nothing.
#[must_use]
pub fn has_prompt(transcript: &[u8], text: &str, since: u64) -> bool {
    let Ok(escaped) = serde_json::to_string(text.trim()) else { return false };
    let needle = escaped.trim_matches('"');
    let transcript = String::from_utf8_lossy(transcript);
    let holds = |line: &&str| !needle.is_empty() && line.contains(needle);
    transcript.lines().filter(holds).any(|line| {
        let value: Option<Value> = serde_json::from_str(line).ok();
        let at = value.as_ref().and_then(|value| value.get("timestamp")).and_then(instant);
        at.is_some_and(|at| at >= since)
    })
}

impl TurnSoFar {
    fn take_line(&mut self, spec: &LineSpec, value: &Value) {
        self.reset_at =
            spec.reset.iter().find_map(|field| field.of(value)).and_then(instant).or(self.reset_at);
        if let Some(fails) = &spec.fails {
            let quota = spec.quota.then_some(Quota { reset_at: self.reset_at });
            self.failure =
                Some(TurnFailure { rule: spec.id.clone(), message: one_line(&fails.render(value)), quota });
        }
        let Some(text) = spec.text.as_ref().and_then(|text| text.of(value)) else { return };
        let message = text_at(spec.message.as_ref(), value);
        let is_same = message.is_some() && self.text_message.as_deref() == message;
        if self.text.get(self.newest..) == Some(text.as_str()) {
            return;
        }
        match (is_same, spec.joins) {
            (true, true) => self.text.push('\n'),
            // The vendor writes the message again, with what was added to it.
            (true, false) => self.text.truncate(self.newest),
            (false, _) => {
                if !self.text.is_empty() {
                    self.text.push_str("\n\n");
                }
                self.newest = self.text.len();
            }
        }
        self.text.push_str(&text);
        let cut = self.text.floor_char_boundary(LONGEST_TEXT);
        self.text.truncate(cut);
        self.text_message = message.map(str::to_owned);
    }

    /// Ends the turn. Its text stays until the next prompt, so that a caller can ask for it.
    fn ended(&mut self, spec: &LineSpec, end: EndWord) -> (EndedTurn, Option<Evidence>) {
        let failure = self.failure.take();
        let rule = |id: &str| format!("transcript.{id}");
        let (end, evidence) = match (end, failure) {
            (EndWord::Interrupted, _) => (
                TurnEnd::Interrupted,
                Some(Evidence::new(Source::Hook, rule(&spec.id), Some(AgentState::Idle))),
            ),
            (EndWord::Done, None) => (TurnEnd::Done, None),
            (EndWord::Done, Some(TurnFailure { rule: id, message, quota })) => {
                let known = Evidence::new(Source::Hook, rule(&id), Some(AgentState::Error));
                (TurnEnd::Failed, Some(Evidence { message, quota, ..known }))
            }
        };
        (EndedTurn { end, text: self.text.clone(), prompted_at: self.prompted_at }, evidence)
    }
}

impl Figures {
    /// Counts the tokens of a line. Returns true if a number changed.
    fn count(&mut self, spec: &LineSpec, value: &Value) -> bool {
        let used = sum(&spec.used, value).filter(|used| *used > 0);
        let window = spec.window.as_ref().and_then(|window| window.count(value)).filter(|window| *window > 0);
        let total = sum(&spec.total, value);
        self.used = used.or(self.used);
        self.said_window = window.or(self.said_window);
        self.total = total.unwrap_or(self.total);
        if used.is_some()
            && let Some(model) = text_at(spec.model.as_ref(), value)
        {
            self.model = Some(model.to_owned());
        }
        if let Some(spent) = sum(&spec.spent, value) {
            self.add(spent, text_at(spec.message.as_ref(), value));
        }
        used.is_some() || window.is_some() || total.is_some()
    }

    /// Adds a message's tokens to the total; a line about the same message corrects the one before.
    fn add(&mut self, spent: u64, message: Option<&str>) {
        if message.is_some() && self.counted_message.as_deref() == message {
            self.total = self.total.saturating_sub(self.counted_tokens);
        }
        self.total = self.total.saturating_add(spent);
        self.counted_message = message.map(str::to_owned);
        self.counted_tokens = spent;
    }
}

fn text_at<'v>(field: Option<&Field>, value: &'v Value) -> Option<&'v str> {
    field.and_then(|field| field.text(value))
}

/// Returns the text safe to show, in one line.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&Printable(&words).to_string(), LONGEST_MESSAGE)
}
