//! Which of the statuses that a program's parts report in escape sequences stands for the whole agent. The reports are
//! evidence: status (OSC 7501), progress (OSC 9;4), notifications, bells.

use std::collections::BTreeMap;

use proto::agent::{AgentState, BlockedKind, Evidence, Source};
use term::{Fact, ProgramState, Progress, PromptMark, StatusReport};

use super::StreamEvidence;
use super::spec::RuleSpec;

/// Parts of one program whose reports are kept.
const RECORDS_MAX: usize = 256;

/// The last report of the program and of each of its parts.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    records: BTreeMap<String, StatusReport>,
    /// How much the screen shows to run in the background after the turn is over.
    behind: u32,
    /// How many of these explained "working" in the last evidence.
    explained: u32,
}

impl Reports {
    /// Processes one fact of the stream.
    pub(crate) fn take_fact(&mut self, fact: &Fact, rules: &[RuleSpec]) -> Option<StreamEvidence> {
        match fact {
            Fact::ProgramStatus(report) => Some(self.take_report(report)),
            // A shell's prompt means that the program has ended; its final reports still count.
            Fact::PromptMark(PromptMark::PromptStart) => {
                let before = self.records.len();
                self.records.retain(|_, record| is_final(record.state));
                (self.records.len() != before).then(|| self.opinion())
            }
            Fact::Progress { state, .. } => Some(progress(*state, rules)),
            Fact::Bell => matching_rule("bell", rules),
            Fact::Notification { title, body, .. } => {
                matching_rule(&format!("notification {title}: {body}"), rules)
            }
            Fact::Title(_)
            | Fact::WorkingDirectory(_)
            | Fact::PromptMark(_)
            | Fact::Clipboard { .. }
            | Fact::AlternateScreen(_)
            | Fact::DisplayReset => None,
        }
    }

    /// Records how much the screen shows to run although no turn is under way.
    pub(crate) fn set_background(&mut self, behind: u32) {
        self.behind = behind;
    }

    /// Returns the evidence again when the screen has changed what "working" means.
    pub(crate) fn revised(&mut self) -> Option<StreamEvidence> {
        let is_working = self.speaker().is_some_and(|speaker| speaker.state == Some(ProgramState::Working));
        let explained = if is_working { self.behind } else { 0 };
        if explained == self.explained {
            return None;
        }
        self.explained = explained;
        Some(self.opinion())
    }

    fn take_report(&mut self, report: &StatusReport) -> StreamEvidence {
        self.explained = 0;
        if report.state.is_some() {
            if self.records.len() < RECORDS_MAX || self.records.contains_key(&report.id) {
                self.records.insert(report.id.clone(), report.clone());
            }
        } else {
            let below = format!("{}/", report.id);
            self.records.retain(|id, _| !report.id.is_empty() && *id != report.id && !id.starts_with(&below));
        }
        self.opinion()
    }

    /// Returns the record that stands for the program: its own, or, if it reports only under names, those
    /// that are no part of another.
    fn speaker(&self) -> Option<&StatusReport> {
        let speakers = self.records.iter().filter(|(id, _)| !self.is_part(id)).map(|(_, record)| record);
        speakers.max_by_key(|record| weight(record.state))
    }

    fn is_part(&self, id: &str) -> bool {
        if self.records.contains_key("") { !id.is_empty() } else { id.contains('/') }
    }

    /// Returns the evidence of the program's record; parts that work count as background.
    fn opinion(&self) -> StreamEvidence {
        let Some(speaker) = self.speaker() else {
            return StreamEvidence::Withdrawn(Source::ProgramStatus);
        };
        let parts =
            self.records.iter().filter(|(id, record)| self.is_part(id) && is_busy(record.state)).count();
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        let mut evidence =
            Evidence::new(Source::ProgramStatus, rule_of(speaker.state), speaker.state.map(state_of));
        evidence.kind = (speaker.state == Some(ProgramState::Blocked)).then(|| kind_of(speaker)).flatten();
        evidence.message = speaker.message.clone().or_else(|| speaker.title.clone()).unwrap_or_default();
        evidence.background = Some(parts.max(self.explained));
        if self.explained > 0 {
            "status:background".clone_into(&mut evidence.rule);
            evidence.state = Some(AgentState::Idle);
        }
        StreamEvidence::Evidence(Box::new(evidence))
    }
}

fn is_final(state: Option<ProgramState>) -> bool {
    matches!(state, Some(ProgramState::Done | ProgramState::Error))
}

fn is_busy(state: Option<ProgramState>) -> bool {
    matches!(state, Some(ProgramState::Working | ProgramState::Blocked))
}

fn weight(state: Option<ProgramState>) -> u8 {
    match state {
        Some(ProgramState::Blocked) => 4,
        Some(ProgramState::Working) => 3,
        Some(ProgramState::Error) => 2,
        Some(ProgramState::Idle | ProgramState::Done) => 1,
        None => 0,
    }
}

fn state_of(state: ProgramState) -> AgentState {
    match state {
        ProgramState::Idle | ProgramState::Done => AgentState::Idle,
        ProgramState::Working => AgentState::Working,
        ProgramState::Blocked => AgentState::Blocked,
        ProgramState::Error => AgentState::Error,
    }
}

fn rule_of(state: Option<ProgramState>) -> &'static str {
    match state {
        Some(ProgramState::Idle) => "status:idle",
        Some(ProgramState::Working) => "status:working",
        Some(ProgramState::Blocked) => "status:blocked",
        Some(ProgramState::Done) => "status:done",
        Some(ProgramState::Error) => "status:error",
        None => "status:clear",
    }
}

fn kind_of(report: &StatusReport) -> Option<BlockedKind> {
    match report.kind.as_deref()? {
        "permission" => Some(BlockedKind::Permission),
        "question" => Some(BlockedKind::Question),
        "auth" => Some(BlockedKind::Auth),
        "onboarding" => Some(BlockedKind::Onboarding),
        _ => None,
    }
}

/// Returns what progress means: by the manifest's rules, or else a moving bar is work and no bar means
/// nothing.
fn progress(progress: Progress, rules: &[RuleSpec]) -> StreamEvidence {
    let (word, state) = match progress {
        Progress::None => ("none", None),
        Progress::Running => ("running", Some(AgentState::Working)),
        Progress::Indeterminate => ("indeterminate", Some(AgentState::Working)),
        Progress::Error => ("error", Some(AgentState::Error)),
        Progress::Paused => ("paused", Some(AgentState::Blocked)),
    };
    matching_rule(&format!("progress {word}"), rules).unwrap_or_else(|| match state {
        None => StreamEvidence::Withdrawn(Source::Progress),
        state => StreamEvidence::Evidence(Box::new(Evidence::new(
            Source::Progress,
            format!("progress:{word}"),
            state,
        ))),
    })
}

/// Applies the manifest's rules to a report.
fn matching_rule(words: &str, rules: &[RuleSpec]) -> Option<StreamEvidence> {
    let rule = rules.iter().find(|rule| rule.matches(words))?;
    Some(StreamEvidence::Evidence(Box::new(rule.evidence(Source::Progress, words))))
}
