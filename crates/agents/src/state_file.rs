//! Reads the file in which a vendor's program keeps its own state, by the manifest's table, and checks that
//! it belongs to a living process. The program writes such a file only on a change, so it stays valid as long
//! as its process lives.

use proto::agent::{AgentState, BlockedKind, Evidence, Source};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::deliver::{KindWord, StateWord};
use crate::template::Phrase;
use crate::transcript::fields::{Condition, Field};
use crate::transcript::location::{AgentContext, FileLocation, Root, Way};
use crate::transcript::one_line;

/// Where the file is and what it means.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateFileSpec {
    /// The directory it lies below.
    pub root: Root,
    /// The way from there.
    pub path: Way,
    /// The process it is about.
    pub pid: Field,
    /// When that process started, in clock ticks since boot, as the system counts: a number or its digits. It
    /// distinguishes the process from a later one with the same number.
    pub started: Field,
    /// The vendor session.
    #[serde(default)]
    pub session: Option<Field>,
    /// In which case the file is about what the terminal shows; in any other it means nothing.
    #[serde(default)]
    pub when: Option<Condition>,
    /// What it means; the first entry that matches counts, and where none matches it means nothing.
    pub state: Vec<StateSpec>,
}

/// What the file means in one case.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateSpec {
    /// Its name in evidence.
    pub id: String,
    /// In which case.
    pub when: Condition,
    /// The state.
    #[schemars(with = "StateWord")]
    pub state: AgentState,
    /// What a blocked agent needs.
    #[serde(default)]
    #[schemars(with = "Option<KindWord>")]
    pub kind: Option<BlockedKind>,
    /// The message.
    #[serde(default)]
    pub message: Option<Phrase>,
    /// How much still runs although the turn is over.
    #[serde(default)]
    pub background: Option<u32>,
}

/// A living process: its pid and its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PidIdentity {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since boot: field 22 of its `stat`.
    pub started: u64,
}

/// What the file states.
#[derive(Clone, Debug, PartialEq)]
pub struct StateReading {
    /// Evidence about the state; `None` withdraws earlier evidence.
    pub evidence: Option<Evidence>,
    /// The vendor session.
    pub session: Option<String>,
}

/// Returns where the file of this agent is.
#[must_use]
pub fn file_location(spec: &StateFileSpec, around: &AgentContext<'_>) -> Option<FileLocation> {
    spec.path.file_location(&spec.root, around)
}

/// Reads the file; `None` when it is half written or about another process.
#[must_use]
pub fn read(spec: &StateFileSpec, text: &str, living: PidIdentity) -> Option<StateReading> {
    let value: Value = serde_json::from_str(text).ok()?;
    if whole_number(spec.pid.of(&value)?)? != u64::try_from(living.pid).ok()? {
        return None;
    }
    if whole_number(spec.started.of(&value)?)? != living.started {
        return None;
    }
    if spec.when.as_ref().is_some_and(|when| !when.holds(&value)) {
        return Some(StateReading { evidence: None, session: None });
    }
    let session = spec.session.as_ref().and_then(|session| session.text(&value)).map(str::to_owned);
    let fitting = spec.state.iter().find(|state| state.when.holds(&value));
    Some(StateReading { evidence: fitting.map(|state| evidence(state, &value)), session })
}

fn evidence(spec: &StateSpec, value: &Value) -> Evidence {
    let message = spec.message.as_ref().map(|message| one_line(&message.render(value))).unwrap_or_default();
    let known = Evidence::new(Source::StateFile, spec.id.clone(), Some(spec.state));
    Evidence { kind: spec.kind, message, background: spec.background, ..known }
}

fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Manifest;

    const RECORDED: &str = include_str!("../tests/fixtures/state/claude-2.1.325.jsonl");
    const ITSELF: PidIdentity = PidIdentity { pid: 16315, started: 1_272_755 };

    fn spec() -> StateFileSpec {
        let manifest: Manifest = toml::from_str(include_str!("../manifests/claude.toml")).unwrap();
        manifest.state_file.unwrap()
    }

    fn said() -> Vec<(Option<AgentState>, Option<BlockedKind>, Option<u32>)> {
        let readings = RECORDED.lines().map(|line| read(&spec(), line, ITSELF).unwrap().evidence);
        readings
            .map(|said| said.map_or((None, None, None), |said| (said.state, said.kind, said.background)))
            .collect()
    }

    #[test]
    fn every_recorded_change_has_its_state() {
        let idle = (Some(AgentState::Idle), None, None);
        let working = (Some(AgentState::Working), None, None);
        let blocked = |kind| (Some(AgentState::Blocked), Some(kind), None);
        let shell = (Some(AgentState::Idle), None, Some(1));
        let unsure = (None, None, None);
        let (permission, question) = (blocked(BlockedKind::Permission), blocked(BlockedKind::Question));
        let expected = [
            idle, working, permission, working, idle, // a tool that needs permission
            working, question, working, idle, // a question
            working, idle, working, idle, // an interruption, then a slow answer
            working, shell, idle, working, idle, // a shell in the background
            working, permission, // a subagent's tool that needs permission
        ];
        let states = said();
        assert_eq!(states.get(..expected.len()), Some(expected.as_slice()));
        assert!(states.contains(&unsure), "the model picker is left to the screen");
    }

    #[test]
    fn a_file_of_an_earlier_process_with_the_same_number_is_not_believed() {
        let line = RECORDED.lines().next().unwrap();
        assert!(read(&spec(), line, ITSELF).is_some());
        assert_eq!(read(&spec(), line, PidIdentity { started: 1, ..ITSELF }), None);
        assert_eq!(read(&spec(), line, PidIdentity { pid: 2, ..ITSELF }), None);
    }

    #[test]
    fn a_half_written_file_says_nothing() {
        let line = RECORDED.lines().next().unwrap();
        for cut in [0, 1, line.len() / 2, line.len() - 1] {
            assert_eq!(read(&spec(), line.get(..cut).unwrap(), ITSELF), None);
        }
    }

    #[test]
    fn c18_a_program_whose_conversation_moved_elsewhere_says_nothing_about_it() {
        let mut parked: Value = serde_json::from_str(RECORDED.lines().next().unwrap()).unwrap();
        parked["parkedJobId"] = "ab9e7b0a".into();
        let reading = read(&spec(), &parked.to_string(), ITSELF);
        assert_eq!(reading, Some(StateReading { evidence: None, session: None }));
    }

    #[test]
    fn the_session_is_named() {
        let reading = read(&spec(), RECORDED.lines().next().unwrap(), ITSELF).unwrap();
        assert_eq!(reading.session.as_deref(), Some("cac21481-40a4-49ad-954d-7879abb62ba6"));
    }

    #[test]
    fn the_file_lies_where_the_vendor_keeps_its_configuration() {
        let env = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| "/srv/cfg".to_owned());
        let around = AgentContext { env: &env, cwd: std::path::Path::new("/w"), session: None, pid: Some(7) };
        assert_eq!(file_location(&spec(), &around).unwrap().only(), Some("/srv/cfg/sessions/7.json".into()));
    }
}
