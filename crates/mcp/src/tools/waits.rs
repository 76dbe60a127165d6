//! Tools that wait for something to happen: their conditions and from where on they count. [`crate::waiting`]
//! limits how long one answer may take.

use std::time::Duration;

use proto::AgentState;
use proto::request::{Empty, Quantifier, Target, Until, Wait};
use serde_json::{Map, json};

use super::lifecycle::find;
use super::{Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Field, MAX_SECONDS, PROCESS, Shape, may, must};
use crate::failure::ToolFailure;
use crate::views::put;
use crate::waiting::{AfterWait, Waiting};

pub(super) const TIMEOUT: Field =
    may("timeout_seconds", Shape::Seconds(MAX_SECONDS), "Then the error timeout.");
/// The states, in the order of an agent's life, and `ready`, which a command may report.
const STATES: &[&str] =
    &["starting", "working", "thinking", "blocked", "waiting", "idle", "error", "exited", READY];
const READY: &str = "ready";
const STATE_FIELDS: &[(&str, &str)] = &[
    ("targets", "processes"),
    ("target", "processes"),
    ("state", "states"),
    ("ready", "states"),
    ("until", "states"),
];
const TURN_FIELDS: &[(&str, &str)] = &[("target", "process"), ("targets", "process"), ("turn", "turn")];
const PATTERN_FIELDS: &[(&str, &str)] =
    &[("target", "process"), ("targets", "process"), ("pattern", "pattern"), ("since", "since")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "wait_for_state",
        title: "Wait for a state",
        says: "Wait until agents are in one of the states (idle: takes a prompt; blocked: needs an answer), or with \
               states [exited] until processes of any kind are over, with [ready] until commands say that they are \
               ready. Answers still_running within 50 s (call it again) unless the \
               client has MCP tasks.",
        fields: &[
            must("processes", Shape::Texts(64), "Ids or names."),
            must("states", Shape::SomeOf(STATES), ""),
            may("mode", Shape::OneOf(&["any", "all"]), "How many of them; default all."),
            TIMEOUT,
        ],
        gives: "status: satisfied|still_running, satisfied: [object], since?: integer, hint?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(state(context, arguments)),
    },
    Tool {
        name: "wait_for_turn",
        title: "Wait for an answer",
        says: "Wait until an agent's turn is over and get what it said, or the dialog it is blocked by. \
               still_running: call it again.",
        fields: &[
            PROCESS,
            may("turn", Shape::Integer(1, i64::MAX), "From the receipt; default: the newest."),
            TIMEOUT,
        ],
        gives: "status: over|blocked|still_running, id: string, turn: integer, end?: string, text?: string, \
                source?: string, offset?: integer, truncated?: boolean, dialog?: object, hint?: string",
        effect: ToolEffect::Reads,
        is_core: true,
        run: |context, arguments| Box::pin(turn(context, arguments)),
    },
    Tool {
        name: "wait_for_pattern",
        title: "Wait for output",
        says: "Wait until a line matching a regular expression appears, also right before exit. A run you \
               started counts from its start until a wait on it succeeds; else only new output counts. After \
               still_running, pass its since.",
        fields: &[
            PROCESS,
            must("pattern", Shape::Text(1024), ""),
            may("since", Shape::Integer(0, i64::MAX), "Count output from this offset on."),
            TIMEOUT,
        ],
        gives: "status: satisfied|still_running, satisfied: [object], since?: integer, hint?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(pattern(context, arguments)),
    },
];

#[expect(clippy::unused_async, reason = "every tool of the table has one shape")]
async fn state(_bench: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let words = arguments.texts("states").unwrap_or_default();
    let states: Vec<AgentState> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let until = match words.as_slice() {
        [word] if word == READY => Until::Ready(Empty {}),
        _ if words.iter().any(|word| word == READY) => {
            return Err(ToolFailure::invalid("states", "ready stands alone"));
        }
        _ if states == [AgentState::Exited] => Until::Exit(Empty {}),
        _ => Until::State(states),
    };
    let processes = arguments.texts("processes").unwrap_or_default();
    let status = format!("waiting for {} to be {}", processes.join(", "), words.join(" or "));
    let wait = Wait {
        quantifier: if arguments.text("mode") == Some("any") { Quantifier::Any } else { Quantifier::All },
        ..Wait::until(processes.into_iter().map(Target).collect(), until)
    };
    Ok(waiting(wait, arguments, status, STATE_FIELDS, AfterWait::Tell))
}

async fn turn(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let view = find(context, arguments.required("process")).await?;
    let Some(agent) = &view.agent else {
        let message = format!("process: {} is a {}: only agents have turns", view.name, view.kind);
        return Err(ToolFailure::new("wrong_kind", message).hint("wait_for_pattern waits for any process"));
    };
    // A message that waits for an idle agent begins the next turn.
    let next = agent.turn + u64::from(agent.mail > 0 && !agent.state.is_busy());
    let turn = arguments.count("turn").unwrap_or(next.max(1));
    let mut base = Map::new();
    put(&mut base, "id", json!(view.id));
    put(&mut base, "turn", json!(turn));
    Ok(ToolOutcome::Waiting(Box::new(Waiting {
        wait: Wait::until(vec![Target(view.id.to_string())], Until::Turn(turn)),
        timeout: arguments.millis("timeout_seconds").map(Duration::from_millis),
        status: format!("waiting for turn {turn} of {}", view.name),
        fields: TURN_FIELDS,
        meanwhile: None,
        is_over_when_blocked: true,
        then: AfterWait::GiveTurn { process: view.id, turn, base },
    })))
}

async fn pattern(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let wanted = arguments.required("process").to_owned();
    // The start is fixed before the wait begins, so that output between two calls, or while the daemon is
    // away, still counts.
    let (since, then) = match arguments.count("since") {
        Some(since) => (since, AfterWait::Tell),
        None => {
            let view = find(context, &wanted).await?;
            let (started, run) = (context.started.clone(), (view.id, view.run));
            let since = if started.has(run) { 0 } else { view.live.log.end };
            (since, AfterWait::TellOutput(started, run))
        }
    };
    let pattern = arguments.required("pattern").to_owned();
    let status = format!("waiting for {pattern} in {wanted}");
    let wait = Wait { since: Some(since), ..Wait::until(vec![Target(wanted)], Until::Pattern(pattern)) };
    Ok(waiting(wait, arguments, status, PATTERN_FIELDS, then))
}

fn waiting(
    wait: Wait,
    arguments: &Arguments,
    status: String,
    fields: &'static [(&'static str, &'static str)],
    then: AfterWait,
) -> ToolOutcome {
    let timeout = arguments.millis("timeout_seconds").map(Duration::from_millis);
    let status = crate::views::shortened(&status, 200);
    let (meanwhile, is_over_when_blocked) = (None, false);
    ToolOutcome::Waiting(Box::new(Waiting {
        wait,
        timeout,
        status,
        fields,
        meanwhile,
        is_over_when_blocked,
        then,
    }))
}
