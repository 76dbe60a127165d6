//! Reads the payloads of a vendor's lifecycle hooks by the manifest's event table, and writes answers in the
//! vendor's shape. The engine decides the answer.

mod spec;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use proto::Printable;
use proto::agent::{Evidence, Source};
use proto::long_text::{self, MAX_ITEM_BODY};
use proto::observed::{HookDecision, HookMoment};
use proto::printable::shortened;
use serde_json::Value;

use crate::Manifest;
use crate::template::Placeholder;

pub use spec::{Answers, EventSpec, Fields, Hooks, MomentWord, Pointer, TimeoutUnit, TrustSpec, When};

/// Longest one-line message, in characters.
const LONGEST_LINE: usize = 300;

/// What an event states.
#[derive(Clone, Debug, PartialEq)]
pub struct HookReading {
    /// It belongs to a subagent and does not concern the agent's own state.
    pub is_child: bool,
    /// Evidence about the state.
    pub evidence: Option<Evidence>,
    /// The vendor session.
    pub session: Option<String>,
    /// Where the transcript lies.
    pub transcript: Option<PathBuf>,
    /// What it marks.
    pub moment: HookMoment,
    /// At the end of a turn: the agent's last message.
    pub text: Option<String>,
}

/// Reads what a vendor's program wrote to the hook. `event` is the name that the hook was started with, if
/// any.
#[must_use]
pub fn read(manifest: &Manifest, event: Option<&str>, payload: &Value) -> HookReading {
    let Some(hooks) = &manifest.hooks else { return nothing() };
    let fields = &hooks.fields;
    let field = |pointer: &Option<Pointer>| pointer.as_ref().and_then(|pointer| pointer.text(payload));
    let event = event.map(str::to_owned).or_else(|| field(&fields.event)).unwrap_or_default();
    let spec = hooks.event.iter().find(|spec| spec.fits(&event, payload));
    let moment = spec.map_or(HookMoment::Other, |spec| moment(spec, fields, payload));
    if fields.child.iter().any(|pointer| pointer.text(payload).is_some()) {
        // A subagent's turn is not the agent's, but its permission requests wait for the same person.
        let moment =
            if matches!(moment, HookMoment::PermissionAsked { .. }) { moment } else { HookMoment::Other };
        return HookReading { is_child: true, moment, ..nothing() };
    }
    let has_ended = matches!(moment, HookMoment::TurnEnded | HookMoment::TurnFailed);
    let background = fields.background.as_ref().and_then(|pointer| pointer.count(payload));
    HookReading {
        is_child: false,
        evidence: spec.and_then(|spec| evidence(spec, payload)).map(|known| Evidence { background, ..known }),
        session: field(&fields.session),
        transcript: field(&fields.transcript).map(PathBuf::from),
        text: field(&fields.text).filter(|_| has_ended),
        moment,
    }
}

/// Returns the output of the hook for its vendor; `None` prints nothing, and the agent continues as it would.
#[must_use]
pub fn answer(manifest: &Manifest, reading: &HookReading, decision: &HookDecision) -> Option<Value> {
    let answers = &manifest.hooks.as_ref()?.answer;
    let may_be_asked = matches!(reading.moment, HookMoment::PermissionAsked { .. });
    let (piece, text) = match decision {
        HookDecision::Nothing => return None,
        HookDecision::Continue(text) if reading.moment == HookMoment::TurnEnded => {
            (&answers.go_on, text.as_str())
        }
        HookDecision::Allow if may_be_asked => (&answers.allow, ""),
        HookDecision::Deny(why) if may_be_asked => (&answers.deny, why.as_str()),
        HookDecision::Continue(_) | HookDecision::Allow | HookDecision::Deny(_) => return None,
    };
    // An answer whose placeholder has no value here is left out rather than sent half filled.
    piece.as_ref()?.fill(&|place| (place == Placeholder::Text).then(|| text.into())).ok()
}

fn nothing() -> HookReading {
    HookReading {
        is_child: false,
        evidence: None,
        session: None,
        transcript: None,
        moment: HookMoment::Other,
        text: None,
    }
}

fn evidence(spec: &EventSpec, payload: &Value) -> Option<Evidence> {
    let state = spec.state?;
    let message = spec.message.as_ref().map(|phrase| one_line(&phrase.render(payload))).unwrap_or_default();
    let known = Evidence::new(Source::Hook, spec.id.clone(), Some(state));
    Some(Evidence { kind: spec.kind, message, max_age_ms: spec.max_age_ms, ..known })
}

fn moment(spec: &EventSpec, fields: &Fields, payload: &Value) -> HookMoment {
    match spec.moment {
        MomentWord::Other => HookMoment::Other,
        MomentWord::PromptSubmitted => HookMoment::PromptSubmitted {
            prompt: fields.prompt.as_ref().and_then(|pointer| pointer.text(payload)),
        },
        MomentWord::TurnEnded => HookMoment::TurnEnded,
        MomentWord::TurnFailed => HookMoment::TurnFailed,
        MomentWord::PermissionAsked => {
            let (title, body) = request(spec, payload);
            HookMoment::PermissionAsked { title, body }
        }
        MomentWord::PermissionShown => {
            let (title, body) = request(spec, payload);
            HookMoment::PermissionShown { title, body }
        }
    }
}

/// Returns title and body of what the agent asks permission for.
fn request(spec: &EventSpec, payload: &Value) -> (String, String) {
    let title = spec.title.as_ref().map(|phrase| one_line(&phrase.render(payload))).unwrap_or_default();
    let body = spec.body.as_ref().map(|phrase| body(&phrase.render(payload))).unwrap_or_default();
    (title, body)
}

/// Returns the text safe to show, in one line.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&Printable(&words).to_text(), LONGEST_LINE)
}

/// Returns the text of a request for permission safe to show, line by line; where it is cut, it says so.
pub(crate) fn body(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| Printable(&line.replace('\t', "    ")).to_string()).collect();
    long_text::within(&lines.join("\n"), MAX_ITEM_BODY)
}
