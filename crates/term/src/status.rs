//! Program status reports (OSC 7501): the grammar, its limits and the table of each program's last report. A
//! report that breaks one rule is dropped whole; an unknown key is ignored.

use crate::base64;
use crate::fact::is_hidden;

/// Longest whole sequence, introducer and terminator not counted.
const REPORT_MAX: usize = 4096;
/// The most records that are kept. The one that was not updated for longest goes first.
const RECORDS_MAX: usize = 256;
/// Levels of an id such as `lead/worker/3`.
const ID_LEVELS_MAX: usize = 8;
/// Longest id.
const ID_MAX: usize = 256;
/// Longest decoded title.
const TITLE_MAX: usize = 192;
/// Longest decoded message.
const MESSAGE_MAX: usize = 2048;
/// Longest `app` and `kind`.
const TOKEN_MAX: usize = 64;

/// What a program reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramState {
    /// Waits for the person.
    Idle,
    /// Works.
    Working,
    /// Cannot go on without an answer.
    Blocked,
    /// Finished what it was asked.
    Done,
    /// Failed.
    Error,
}

/// One accepted report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusReport {
    /// The state; `None` when the program withdrew its report (`state=clear`).
    pub state: Option<ProgramState>,
    /// Which part of the process reports: `a/b/c`; empty for the program itself.
    pub id: String,
    /// Name of the program.
    pub app: Option<String>,
    /// Why it is blocked: `permission`, `question` and the like.
    pub kind: Option<String>,
    /// 0 to 100.
    pub progress: Option<u8>,
    /// Heading.
    pub title: Option<String>,
    /// Text.
    pub message: Option<String>,
}

impl StatusReport {
    /// Parses what follows `7501;`. Returns `None` when anything in it breaks a rule.
    pub(crate) fn parse(payload: &[u8]) -> Option<StatusReport> {
        if payload.len() > REPORT_MAX {
            return None;
        }
        let payload = std::str::from_utf8(payload).ok()?;
        let mut report = StatusReport {
            state: None,
            id: String::new(),
            app: None,
            kind: None,
            progress: None,
            title: None,
            message: None,
        };
        let mut state = None;
        for field in payload.split(':') {
            let (key, value) = field.split_once('=')?;
            match key {
                "state" => state = Some(parse_state(value)?),
                "id" => report.id = parse_id(value)?,
                "app" => report.app = Some(parse_token(value)?),
                "kind" => report.kind = Some(parse_token(value)?),
                "progress" => report.progress = Some(parse_progress(value)?),
                "title" => report.title = Some(parse_text(value, TITLE_MAX)?),
                "msg" => report.message = Some(parse_text(value, MESSAGE_MAX)?),
                _ if field.chars().any(char::is_control) => return None,
                _ => {}
            }
        }
        report.state = state?;
        Some(report)
    }
}

/// The outer `Option` is "valid", the inner one "not a withdrawal".
fn parse_state(value: &str) -> Option<Option<ProgramState>> {
    Some(match value {
        "idle" => Some(ProgramState::Idle),
        "working" => Some(ProgramState::Working),
        "blocked" => Some(ProgramState::Blocked),
        "done" => Some(ProgramState::Done),
        "error" => Some(ProgramState::Error),
        "clear" => None,
        _ => return None,
    })
}

fn parse_id(value: &str) -> Option<String> {
    let is_level = |level: &str| {
        !level.is_empty()
            && level.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    let valid =
        value.len() <= ID_MAX && value.split('/').count() <= ID_LEVELS_MAX && value.split('/').all(is_level);
    valid.then(|| value.to_owned())
}

fn parse_token(value: &str) -> Option<String> {
    let valid =
        !value.is_empty() && value.len() <= TOKEN_MAX && value.bytes().all(|byte| byte.is_ascii_graphic());
    valid.then(|| value.to_owned())
}

fn parse_progress(value: &str) -> Option<u8> {
    let digits = !value.is_empty() && value.len() <= 3 && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|&percent: &u8| digits && percent <= 100)
}

fn parse_text(value: &str, max: usize) -> Option<String> {
    let bytes = base64::decode(value.as_bytes())?;
    if bytes.len() > max {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    let forbidden = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t')) || is_hidden(character)
    };
    (!text.chars().any(forbidden)).then_some(text)
}

/// The last report of every id, least recently updated first.
#[derive(Debug, Default)]
pub(crate) struct StatusTable {
    records: Vec<StatusReport>,
}

impl StatusTable {
    /// Applies a report to the record of its id. A withdrawal removes its record and those below it, or every
    /// record when it names no id.
    pub(crate) fn apply(&mut self, report: &StatusReport) {
        if report.state.is_none() {
            let below = format!("{}/", report.id);
            self.records.retain(|record| {
                !report.id.is_empty() && record.id != report.id && !record.id.starts_with(&below)
            });
            return;
        }
        self.records.retain(|record| record.id != report.id);
        if self.records.len() >= RECORDS_MAX {
            self.records.remove(0);
        }
        self.records.push(report.clone());
    }

    /// Keeps only final records, at a new prompt or the end of the program.
    pub(crate) fn keep_final(&mut self) {
        self.records.retain(|record| matches!(record.state, Some(ProgramState::Done | ProgramState::Error)));
    }

    /// Removes every record, on a full reset.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
    }

    /// Returns all records.
    pub(crate) fn records(&self) -> &[StatusReport] {
        &self.records
    }
}

#[cfg(test)]
mod tests;
