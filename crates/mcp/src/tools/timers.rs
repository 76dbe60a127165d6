//! Wake-ups: after a time, or when others come to rest.
//!
//! Owns the arguments of timers and waiting for one. Refuses keeping time: the daemon does, through restarts and sleep.

use std::time::Duration;

use client::{ClientError, Connection};
use proto::crew::{TimerKind, TimerStatus, TimerView};
use proto::request::{ChangeTimer, SetTimer, Target, TimerChange, TimerWatch, TimerWhen, Until, Wait};
use proto::{ErrorCode, Failure};
use serde_json::{Map, Value, json};

use super::waits::TIMEOUT;
use super::{Bench, Caller, Effect, Outcome, Tool};
use crate::failure::ToolFailure;
use crate::fields::{Arguments, Field, MAX_SECONDS, Shape, may, must};
use crate::link::{Manner, fresh_key};
use crate::pages;
use crate::views::{put, shortened};
use crate::waiting::{Then, Waiting};

/// Longest body, as for messages.
const MAX_BODY: usize = 16 << 10; // 16 KiB
const TIMER: Field = must("timer", Shape::Integer(0, i64::MAX), "");
const BODY: Field = must("body", Shape::Text(MAX_BODY), "What you are told then.");
const PROCESSES: Field = must("processes", Shape::Texts(64), "Ids or names.");
const MAX_WAIT: Field =
    must("max_wait", Shape::Seconds(MAX_SECONDS), "Seconds; it fires then at the latest.");
const SET: &str = "timer: integer, kind: string, status: string, seconds_left?: number, label?: string, \
                   body?: string, watches?: [string], outcome?: string";
const SET_FIELDS: &[(&str, &str)] = &[
    ("seconds", "seconds"),
    ("after", "seconds"),
    ("when", "seconds"),
    ("body", "body"),
    ("label", "label"),
];
const IDLE_FIELDS: &[(&str, &str)] = &[
    ("processes", "processes"),
    ("target", "processes"),
    ("targets", "processes"),
    ("body", "body"),
    ("max_wait_ms", "max_wait"),
    ("max_wait", "max_wait"),
];
const TIMER_FIELDS: &[(&str, &str)] = &[("timer", "timer"), ("until", "timer")];

/// A tool that sets a timer on processes, or changes one: they differ in a word.
macro_rules! timer {
    ($name:literal, $title:literal, $says:literal, $fields:expr, $effect:ident, $run:expr) => {
        Tool {
            name: $name,
            title: $title,
            says: $says,
            fields: $fields,
            gives: SET,
            effect: Effect::$effect,
            is_core: false,
            run: $run,
        }
    };
}

pub(super) const TOOLS: &[Tool] = &[
    timer!(
        "timer_set",
        "Set a timer",
        "Have yourself told something after a time. End your turn: the message wakes you.",
        &[
            must("seconds", Shape::Seconds(MAX_SECONDS), ""),
            BODY,
            may("label", Shape::Text(64), "Shown in the message's head."),
        ],
        Adds,
        |bench, arguments| Box::pin(set(bench, arguments))
    ),
    timer!(
        "timer_fire_when_idle_any",
        "Wake me when one rests",
        "Have yourself told when one of the processes next comes to rest: an agent idle, blocked, failed or over, \
         anything else over or silent.",
        &[PROCESSES, BODY, MAX_WAIT],
        Adds,
        |bench, arguments| Box::pin(watch(bench, arguments, TimerWhen::IdleAny))
    ),
    timer!(
        "timer_fire_when_idle_all",
        "Wake me when all rest",
        "Have yourself told when all of the processes are at rest, which they may be already.",
        &[PROCESSES, BODY, MAX_WAIT],
        Adds,
        |bench, arguments| Box::pin(watch(bench, arguments, TimerWhen::IdleAll))
    ),
    Tool {
        name: "timer_wait",
        title: "Wait for a timer",
        says: "Wait until a timer of yours fires; its body comes here and not as a message.",
        fields: &[TIMER, TIMEOUT],
        gives: "status: fired|still_running, timer: integer, body?: string, truncated?: boolean, hint?: string",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(wait(bench, arguments)),
    },
    timer!("timer_cancel", "Cancel a timer", "It never fires.", &[TIMER], Destroys, |bench, arguments| {
        Box::pin(change(bench, arguments, TimerChange::Cancel))
    }),
    timer!(
        "timer_pause",
        "Pause a timer",
        "It keeps the time that is left.",
        &[TIMER],
        Adds,
        |bench, arguments| { Box::pin(change(bench, arguments, TimerChange::Pause)) }
    ),
    timer!(
        "timer_resume",
        "Resume a timer",
        "It goes on with the time that was left.",
        &[TIMER],
        Adds,
        |bench, arguments| Box::pin(change(bench, arguments, TimerChange::Resume))
    ),
    Tool {
        name: "timer_list",
        title: "List timers",
        says: "Your timers.",
        fields: &[pages::CURSOR],
        gives: "timers: [object], next_cursor?: string",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(list(bench, arguments)),
    },
];

async fn set(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let when = TimerWhen::After(arguments.millis("seconds").unwrap_or_default());
    put_timer(bench, arguments, when, SET_FIELDS).await
}

async fn watch(
    bench: &Bench,
    arguments: &Arguments,
    when: fn(TimerWatch) -> TimerWhen,
) -> Result<Outcome, ToolFailure> {
    let processes = arguments.texts("processes").unwrap_or_default().into_iter().map(Target).collect();
    let max_wait_ms = arguments.millis("max_wait").unwrap_or_default();
    put_timer(bench, arguments, when(TimerWatch { processes, max_wait_ms }), IDLE_FIELDS).await
}

async fn put_timer(
    bench: &Bench,
    arguments: &Arguments,
    when: TimerWhen,
    fields: &[(&str, &str)],
) -> Result<Outcome, ToolFailure> {
    if bench.caller().await? == Caller::Human {
        return Err(ToolFailure::new("wrong_kind", "a timer wakes an agent, and you are a person"));
    }
    let wish = SetTimer {
        owner: None,
        when,
        body: arguments.required("body").to_owned(),
        label: arguments.text("label").map(str::to_owned),
        key: Some(fresh_key()?),
    };
    let set = move |connection: &mut Connection| connection.set_timer(wish.clone());
    let view = bench.ask(Manner::KEYED, fields, set).await?;
    Ok(Value::Object(told(&view)).into())
}

async fn change(bench: &Bench, arguments: &Arguments, change: TimerChange) -> Result<Outcome, ToolFailure> {
    let wish = ChangeTimer { timer: arguments.count("timer").unwrap_or_default(), change };
    let work = move |connection: &mut Connection| connection.change_timer(wish);
    let view = bench.ask(Manner::DEED, TIMER_FIELDS, work).await?;
    Ok(Value::Object(told(&view)).into())
}

async fn wait(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let timer = arguments.count("timer").unwrap_or_default();
    let found = move |connection: &mut Connection| {
        let all = connection.timers()?;
        all.into_iter().find(|view| view.timer == timer).ok_or_else(|| {
            ClientError::Failed(Failure::new(ErrorCode::NotFound, format!("there is no timer {timer}")))
        })
    };
    let view = bench.ask(Manner::QUESTION, TIMER_FIELDS, found).await?;
    // A timer is waited for at its owner.
    let wait = Wait::until(vec![Target(view.owner.to_string())], Until::Timer(timer));
    Ok(Outcome::Waiting(Box::new(Waiting {
        wait,
        timeout: arguments.millis("timeout_seconds").map(Duration::from_millis),
        told: format!("waiting for timer {timer}"),
        fields: TIMER_FIELDS,
        meanwhile: None,
        then: Then::GiveBody(Map::from_iter([("timer".to_owned(), json!(timer))])),
    })))
}

async fn list(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let all = bench.ask(Manner::QUESTION, &[], Connection::timers).await?;
    Ok(Value::Object(pages::list("timers", rows(&all), arguments.text("cursor"))?).into())
}

/// One row per timer, named by its number.
pub(crate) fn rows(all: &[TimerView]) -> impl Iterator<Item = (String, Map<String, Value>)> {
    all.iter().map(|view| (view.timer.to_string(), told(view)))
}

/// A timer in the fewest words; its body only so far that it is recognised.
fn told(view: &TimerView) -> Map<String, Value> {
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

/// A time as the tools write it.
fn seconds(milliseconds: u64) -> Value {
    json!(Duration::from_millis(milliseconds).as_secs_f64())
}
