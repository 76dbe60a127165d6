//! Reads a screen by the rules of a manifest: state, dialog, composer, background work; also what the program
//! reports in escape sequences.
//!
//! It reports what is there now. The engine decides how long it must be there and which source to believe.
//!
//! Reading order: `spec` (the tables of a manifest), `region` and `pattern` (their values), `rows` (a screen
//! as text), `dialog`, `composer`, `reported_status` (status, progress, notifications), `trim`.

mod composer;
mod dialog;
mod pattern;
mod region;
mod reported_status;
mod rows;
mod spec;
mod trim;

use std::cmp::Reverse;

use proto::agent::{Composer, Evidence, Source};
use proto::observed::ScreenSeen;
use term::{Fact, Screen};

use crate::manifest::Manifest;
use crate::quota::{self, Now, QuotaSpec};

pub use composer::Written;
pub use pattern::{Pattern, PatternError};
pub use region::{Region, RegionError};
pub use spec::{
    BackgroundSpec, ComposerSpec, DialogSpec, FixedOption, OptionsSpec, Press, RuleSpec, RuleState, Trim,
};

/// The longest message that a rule reads from a screen, in characters.
const MESSAGE_MAX: usize = 300;
/// Stands for the person's own text among the keys of an option.
const TEXT: &str = "{text}";

/// The result of reading one screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detection {
    /// What it shows.
    pub seen: ScreenSeen,
    /// The text of a draft in the composer.
    pub written: Written,
}

/// What a fact of the stream means.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvidence {
    /// A source has new evidence.
    Evidence(Box<Evidence>),
    /// A source withdraws its evidence.
    Withdrawn(Source),
}

/// A fault in a manifest's tables that is not visible in one value alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// A pattern lacks a capture that its table needs.
    #[error("the pattern of `{id}` has no capture `{capture}`")]
    MissingCapture {
        /// The rule or dialog.
        id: String,
        /// The capture.
        capture: String,
    },
    /// A rule of this kind cannot use this region.
    #[error("`{id}` cannot look at the region `{region}`")]
    Unseen {
        /// The rule, dialog, or `composer`.
        id: String,
        /// The region.
        region: Region,
    },
    /// An unknown key name.
    #[error("`{id}`: {reason}")]
    Key {
        /// The dialog.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the screen of one agent.
pub struct Detector {
    manifest: String,
    /// Strongest first.
    screen_rules: Vec<RuleSpec>,
    title_rules: Vec<RuleSpec>,
    osc_rules: Vec<RuleSpec>,
    dialogs: Vec<DialogSpec>,
    composer: Option<ComposerSpec>,
    background: Vec<BackgroundSpec>,
    quota: Vec<QuotaSpec>,
    reports: reported_status::Reports,
    /// What was read last.
    last_read: Option<ReadScreen>,
}

/// What of a screen decides whether it must be read again.
#[derive(Debug, PartialEq, Eq)]
struct ReadScreen {
    version: u64,
    /// The program accepted no input yet.
    is_deaf: bool,
    title: String,
}

impl Detector {
    /// Creates a detector for the programs of a manifest. It shares the manifest's compiled patterns.
    ///
    /// # Errors
    /// The manifest's tables contradict each other.
    pub fn new(manifest: &Manifest) -> Result<Self, DetectError> {
        spec_faults(manifest).into_iter().next().map_or(Ok(()), Err)?;
        let rules = |is_meant: fn(Region) -> bool| {
            let mut rules: Vec<_> =
                manifest.rule.iter().filter(|rule| is_meant(rule.region)).cloned().collect();
            rules.sort_by_key(|rule| Reverse((rule.priority, rule.verdict.rank())));
            rules
        };
        let mut dialogs = manifest.dialog.clone();
        dialogs.sort_by_key(|dialog| Reverse(dialog.priority));
        Ok(Self {
            manifest: manifest.name.clone(),
            screen_rules: rules(|region| !matches!(region, Region::Title | Region::Osc)),
            title_rules: rules(|region| region == Region::Title),
            osc_rules: rules(|region| region == Region::Osc),
            dialogs,
            composer: manifest.composer.clone(),
            background: manifest.background.clone(),
            quota: manifest.quota.clone(),
            reports: reported_status::Reports::default(),
            last_read: None,
        })
    }

    /// Returns true if the manifest describes the composer, so that one that is not seen is not there.
    #[must_use]
    pub fn knows_composer(&self) -> bool {
        self.composer.is_some()
    }

    /// Reads a screen; `None` when nothing about it has changed since the last call.
    pub fn look(&mut self, screen: &Screen) -> Option<Detection> {
        let title = screen.title();
        let version = screen.version();
        let is_deaf = self.composer.as_ref().is_some_and(|spec| spec.needs_paste_mode)
            && !screen.modes().bracketed_paste;
        let is_same = |last: &ReadScreen| {
            last.version == version && last.is_deaf == is_deaf && last.title.as_str() == title
        };
        if self.last_read.as_ref().is_some_and(is_same) {
            return None;
        }
        self.last_read = Some(ReadScreen { version, is_deaf, title: title.to_owned() });
        let rows = rows::Rows::of(screen);
        let place = self.composer.as_ref().and_then(|spec| composer::find(spec, &rows, screen));
        let composer = place.as_ref().map(|place| place.row);
        let scene = dialog::Scene { manifest: &self.manifest, rows: &rows, screen, composer };
        let text_of = |region: Region| rows.text(&rows.region(region, composer));
        let counts = |rule: &&RuleSpec| composer.is_none() || !rule.without_composer;
        let screen_rule =
            self.screen_rules.iter().filter(counts).find(|rule| rule.matches(text_of(rule.region)));
        let title_rule = self.title_rules.iter().filter(counts).find(|rule| rule.matches(title));
        // A program that draws its prompt before it accepts input is not idle yet, whatever it shows.
        let is_listening = |rule: &&RuleSpec| !is_deaf || rule.verdict != RuleState::Idle;
        let (screen_rule, title_rule) = (screen_rule.filter(is_listening), title_rule.filter(is_listening));
        // A title that distinguishes only work and rest shows rest during a failure or a picker too.
        let is_outdone = screen_rule.is_some_and(|rule| rule.verdict.is_beyond_titles());
        let title_rule = title_rule.filter(|rule| rule.verdict != RuleState::Idle || !is_outdone);
        let is_at_rest = screen_rule.is_some_and(|rule| rule.verdict == RuleState::Idle)
            && title_rule.is_none_or(|rule| rule.verdict == RuleState::Idle);
        // A dialog over the composer may look like text in it.
        let place = place
            .filter(|_| !is_deaf)
            .filter(|_| screen_rule.is_none_or(|rule| rule.verdict != RuleState::Hold));
        let dialog = self.dialogs.iter().find_map(|spec| dialog::read(spec, &scene));
        let seen = ScreenSeen {
            screen: screen_rule.map(|rule| rule.evidence(Source::Screen, text_of(rule.region))),
            dialog_context: dialog.as_ref().map(|dialog| dialog.context),
            dialog: dialog.map(|dialog| dialog.evidence),
            title: title_rule.map(|rule| rule.evidence(Source::Title, title)),
            composer: place.as_ref().map_or(Composer::Unknown, |place| place.holds),
            background: self.background.iter().map(|spec| spec.count(text_of(spec.region))).sum(),
        };
        self.reports.set_background(if is_at_rest && seen.dialog.is_none() { seen.background } else { 0 });
        Some(Detection { seen, written: place.map(|place| place.written).unwrap_or_default() })
    }

    /// Returns new evidence if the last read changed the meaning of the program's status report. Call it
    /// after each read.
    ///
    /// A program may report "working" for as long as anything of it runs in the background, although its turn
    /// is over.
    pub fn revised(&mut self) -> Option<StreamEvidence> {
        self.reports.revised()
    }

    /// Adds quota and reset time to the evidence of a read, where its message states them.
    pub fn note_quota(&self, seen: &mut ScreenSeen, now: &Now) {
        for evidence in [&mut seen.screen, &mut seen.dialog].into_iter().flatten() {
            quota::complete(&self.quota, evidence, now);
        }
    }

    /// Returns what a fact of the stream means, if it means anything for this program.
    pub fn hear(&mut self, fact: &Fact) -> Option<StreamEvidence> {
        self.reports.take_fact(fact, &self.osc_rules)
    }
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detector")
            .field("manifest", &self.manifest)
            .field("last_read", &self.last_read)
            .finish_non_exhaustive()
    }
}

/// Returns a screen's text without the program's chrome.
#[must_use]
pub fn trim(manifest: &Manifest, text: &str) -> String {
    manifest.trim.apply(text)
}

/// Returns every contradiction in a manifest's tables about its screen.
#[must_use]
pub fn spec_faults(manifest: &Manifest) -> Vec<DetectError> {
    let rules = manifest.rule.iter().filter_map(RuleSpec::fault);
    let dialogs = manifest.dialog.iter().filter_map(DialogSpec::fault);
    let regions = manifest
        .composer
        .iter()
        .map(|spec| ("composer", spec.region))
        .chain(manifest.background.iter().map(|spec| (spec.id.as_str(), spec.region)));
    let unseen = regions.filter(|(_, region)| matches!(region, Region::Title | Region::Osc));
    let unseen = unseen.map(|(id, region)| DetectError::Unseen { id: id.to_owned(), region });
    rules.chain(dialogs).chain(unseen).collect()
}

impl RuleSpec {
    /// Returns true if the rule matches the text of its region.
    fn matches(&self, text: &str) -> bool {
        self.pattern.is_in(text) && !self.not.as_ref().is_some_and(|not| not.is_in(text))
    }

    /// Returns the evidence of a rule that matches.
    fn evidence(&self, source: Source, text: &str) -> Evidence {
        let mut evidence = Evidence::new(source, self.id.clone(), self.verdict.state());
        evidence.kind = self.kind;
        evidence.max_age_ms = self.max_age_ms;
        let message = self.message.as_deref().and_then(|name| {
            let found = self.pattern.last_captures(text)?;
            found.name(name).map(|part| part.as_str().split_whitespace().collect::<Vec<_>>().join(" "))
        });
        evidence.message = message.unwrap_or_default().chars().take(MESSAGE_MAX).collect();
        evidence
    }

    fn fault(&self) -> Option<DetectError> {
        let capture = self.message.as_ref().filter(|name| !self.pattern.has_capture(name))?;
        Some(DetectError::MissingCapture { id: self.id.clone(), capture: capture.clone() })
    }
}

impl BackgroundSpec {
    /// Returns how many of them run, by the text of their region.
    fn count(&self, text: &str) -> u32 {
        self.pattern
            .last_captures(text)
            .map_or(0, |found| found.name("count").and_then(|count| count.as_str().parse().ok()).unwrap_or(1))
    }
}

impl DialogSpec {
    fn fault(&self) -> Option<DetectError> {
        if matches!(self.region, Region::Title | Region::Osc) {
            return Some(DetectError::Unseen { id: self.id.clone(), region: self.region });
        }
        match &self.options {
            OptionsSpec::Row { .. } => None,
            OptionsSpec::Lines { line, press, then, .. } => {
                let also = self.also.iter().find_map(|option| self.key_fault(&option.keys));
                if let Some(fault) = self.key_fault(then).or(also) {
                    return Some(fault);
                }
                let needed = match press {
                    Press::Digit => "number",
                    Press::Key => "key",
                    Press::Move => "pointer",
                };
                let missing = ["label", needed].into_iter().find(|name| !line.has_capture(name))?;
                Some(DetectError::MissingCapture { id: self.id.clone(), capture: missing.to_owned() })
            }
            OptionsSpec::Fixed { list } => list.iter().find_map(|option| self.key_fault(&option.keys)),
        }
    }

    fn key_fault(&self, keys: &[String]) -> Option<DetectError> {
        let wrong = keys.iter().filter(|key| *key != TEXT).find_map(|key| key.parse::<term::Key>().err())?;
        Some(DetectError::Key { id: self.id.clone(), reason: wrong.to_string() })
    }
}

#[cfg(test)]
mod tests;
