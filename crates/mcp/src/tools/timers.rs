//! Tools for timers: after a time, or when other agents become idle. The daemon keeps the time, through
//! restarts and sleep.

use std::time::Duration;

use proto::request::{ChangeTimer, Empty, SetTimer, Target, TimerChange, TimerWatch, TimerWhen, Until, Wait};
use proto::timers::{TimerKind, TimerStatus, TimerView};
use proto::{ErrorCode, Failure, verb};
use serde_json::{Map, Value, json};

use super::waits::TIMEOUT;
use super::{ServerCaller, Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Field, MAX_SECONDS, Shape, may, must};
use crate::failure::ToolFailure;
use crate::pages;
use crate::views::{put, shortened};
use crate::waiting::{AfterWait, Waiting};

/// Longest body, as for messages.
const MAX_BODY: usize = 16 << 10; // 16 KiB
const TIMER: Field = must("timer", Shape::Integer(0, i64::MAX), "");
const SET: &str = "timer: integer, kind: string, status: string, seconds_left?: number, label?: string, \
                   body?: string, watches?: [string], outcome?: string";
const SET_FIELDS: &[(&str, &str)] = &[
    ("seconds", "seconds"),
    ("after", "seconds"),
    ("when", "seconds"),
    ("max_wait_ms", "seconds"),
    ("processes", "processes"),
    ("target", "processes"),
    ("targets", "processes"),
    ("body", "body"),
    ("label", "label"),
];
const WATCH_FIELDS: &[(&str, &str)] = &[
    ("processes", "processes"),
    ("target", "processes"),
    ("targets", "processes"),
    ("max_wait_ms", "seconds"),
    ("max_wait", "seconds"),
    ("body", "body"),
    ("label", "label"),
];
const TIMER_FIELDS: &[(&str, &str)] = &[("timer", "timer"), ("until", "timer")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "timer_set",
        title: "Set a timer",
        says: "Have yourself told something after a time, or as soon as processes come to rest: an agent idle, \
               blocked, failed or over, anything else over or silent. End your turn: the message wakes you.",
        fields: &[
            must("seconds", Shape::Seconds(MAX_SECONDS), "With processes: the latest moment."),
            must("body", Shape::Text(MAX_BODY), "What you are told then."),
            may("processes", Shape::Texts(64), "Ids or names."),
            may(
                "mode",
                Shape::OneOf(&["any", "all"]),
                "any: when one next rests; all (default): when all do.",
            ),
            may("label", Shape::Text(64), "Shown in the message's head."),
        ],
        gives: SET,
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(set(context, arguments)),
    },
    Tool {
        name: "timer_wait",
        title: "Wait for a timer",
        says: "Wait until a timer of yours fires; its body comes here and not as a message.",
        fields: &[TIMER, TIMEOUT],
        gives: "status: fired|still_running, timer: integer, body?: string, truncated?: boolean, hint?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(wait(context, arguments)),
    },
    Tool {
        name: "timer_change",
        title: "Change a timer",
        says: "Cancel a timer, pause it (it keeps the time that is left) or resume it.",
        fields: &[TIMER, must("action", Shape::OneOf(&["cancel", "pause", "resume"]), "")],
        gives: SET,
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(change(context, arguments)),
    },
    Tool {
        name: "timer_list",
        title: "List timers",
        says: "Your timers.",
        fields: &[pages::CURSOR],
        gives: "timers: [object], next_cursor?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(list(context, arguments)),
    },
];

async fn set(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let time = arguments.millis("seconds").unwrap_or_default();
    let Some(processes) = arguments.texts("processes") else {
        if arguments.has("mode") {
            return Err(ToolFailure::invalid("mode", "it is about processes, and there are none"));
        }
        return put_timer(context, arguments, TimerWhen::After(time), SET_FIELDS).await;
    };
    let watch = TimerWatch { processes: processes.into_iter().map(Target).collect(), max_wait_ms: time };
    let is_any = arguments.text("mode") == Some("any");
    let when = if is_any { TimerWhen::IdleAny(watch) } else { TimerWhen::IdleAll(watch) };
    put_timer(context, arguments, when, WATCH_FIELDS).await
}

async fn put_timer(
    context: &ToolContext,
    arguments: &Arguments,
    when: TimerWhen,
    fields: &[(&str, &str)],
) -> Result<ToolOutcome, ToolFailure> {
    if context.caller().await? == ServerCaller::Person {
        return Err(ToolFailure::new("wrong_kind", "a timer wakes an agent, and you are a person"));
    }
    let request = SetTimer {
        owner: None,
        when,
        body: arguments.required("body").to_owned(),
        label: arguments.text("label").map(str::to_owned),
        key: None,
    };
    let view = context.request::<verb::SetTimer>(fields, request).await?;
    Ok(Value::Object(to_value(&view)).into())
}

async fn change(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let change = match arguments.required("action") {
        "pause" => TimerChange::Pause,
        "resume" => TimerChange::Resume,
        _ => TimerChange::Cancel,
    };
    let request = ChangeTimer { timer: arguments.count("timer").unwrap_or_default(), change };
    let view = context.request::<verb::ChangeTimer>(TIMER_FIELDS, request).await?;
    Ok(Value::Object(to_value(&view)).into())
}

async fn wait(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let timer = arguments.count("timer").unwrap_or_default();
    let all = context.request::<verb::Timers>(TIMER_FIELDS, Empty {}).await?;
    let view = all.into_iter().find(|view| view.timer == timer).ok_or_else(|| {
        let failure = Failure::new(ErrorCode::NotFound, format!("there is no timer {timer}"));
        ToolFailure::refusal(&failure, TIMER_FIELDS)
    })?;
    // A wait for a timer targets its owner.
    let wait = Wait::until(vec![Target(view.owner.to_string())], Until::Timer(timer));
    Ok(ToolOutcome::Waiting(Box::new(Waiting {
        wait,
        timeout: arguments.millis("timeout_seconds").map(Duration::from_millis),
        status: format!("waiting for timer {timer}"),
        fields: TIMER_FIELDS,
        meanwhile: None,
        is_over_when_blocked: false,
        then: AfterWait::GiveBody(Map::from_iter([("timer".to_owned(), json!(timer))])),
    })))
}

async fn list(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let all = context.request::<verb::Timers>(&[], Empty {}).await?;
    Ok(Value::Object(pages::list("timers", rows(&all), arguments.text("cursor"))?).into())
}

/// Returns one row per timer, named by its number.
pub(crate) fn rows(all: &[TimerView]) -> impl Iterator<Item = (String, Map<String, Value>)> {
    all.iter().map(|view| (view.timer.to_string(), to_value(view)))
}

/// Returns a timer in few words; its body is cut to what identifies it.
fn to_value(view: &TimerView) -> Map<String, Value> {
    let kind = match view.kind {
        TimerKind::Delay => "delay",
        TimerKind::IdleAny => "idle_any",
        TimerKind::IdleAll => "idle_all",
    };
    let mut row = Map::new();
    put(&mut row, "timer", json!(view.timer));
    put(&mut row, "kind", json!(kind));
    put(&mut row, "status", json!(view.status));
    put(&mut row, "label", json!(shortened(&view.label, 64)));
    put(&mut row, "body", json!(shortened(&view.body, 120)));
    if matches!(view.status, TimerStatus::Armed | TimerStatus::Paused) {
        put(&mut row, "seconds_left", seconds(view.remaining_ms));
    }
    if !view.watches.is_empty() {
        put(&mut row, "watches", json!(view.watches));
    }
    put(&mut row, "outcome", json!(view.outcome.as_deref().map(|outcome| shortened(outcome, 200))));
    row
}

/// Returns a time as the tools write it.
fn seconds(milliseconds: u64) -> Value {
    json!(Duration::from_millis(milliseconds).as_secs_f64())
}
