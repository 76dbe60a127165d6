//! Waits on behalf of clients: in one go for clients with tasks, in slices with `still_running` for the
//! others.
//!
//! A wait is repeated with the same beginning until it is satisfied, so that nothing between two slices is
//! lost.

use std::time::{Duration, Instant};

use client::{AsyncClient, CallError, CallOptions};
use proto::agent::Turn;
use proto::reply::{Satisfied, Waited};
use proto::request::{AskResult, Target, Until, Wait};
use proto::{AgentState, ErrorCode, ProcessId, verb};
use serde_json::{Map, Value, json};

use crate::failure::ToolFailure;
use crate::pages;
use crate::tools::asking::Questions;
use crate::tools::started_runs::{StartedRun, StartedRuns};
use crate::tools::turn_told;
use crate::views::{self, put};

/// How often a waiting client gets a progress message.
pub(crate) const PROGRESS: Duration = Duration::from_secs(8);
/// How long one answer may take for clients without tasks; the strictest of them gives up after 60 s.
pub(crate) const ONE_ANSWER: Duration = Duration::from_secs(44);
/// When `still_running` is returned although the daemon does not answer at all.
const LATEST: Duration = Duration::from_secs(48);
/// The default length of a task's wait.
pub(crate) const ONE_TASK: Duration = Duration::from_secs(3600);
/// The longest single wait at the daemon.
const SLICE: Duration = Duration::from_secs(600);

/// A result that comes when something has happened.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The wait; its own time limit is set for each slice.
    pub(crate) wait: Wait,
    /// When to give up with an error.
    pub(crate) timeout: Option<Duration>,
    /// What it waits for, in words.
    pub(crate) status: String,
    /// The daemon's field names with the tool's.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    /// The result for clients without tasks; `None` makes them wait too.
    pub(crate) meanwhile: Option<Value>,
    /// A dialog that blocks the agent ends the wait too.
    pub(crate) is_over_when_blocked: bool,
    /// How to build the result.
    pub(crate) then: AfterWait,
}

/// How to build the result of a satisfied wait.
#[derive(Debug)]
pub(crate) enum AfterWait {
    /// Who satisfied it.
    Tell,
    /// Who satisfied it; the run is no longer one whose output counts from its start.
    TellOutput(StartedRuns, StartedRun),
    /// The agent's text at the end of a turn, added to `base`.
    GiveTurn {
        /// Which agent.
        process: ProcessId,
        /// Which turn.
        turn: u64,
        /// What is known.
        base: Map<String, Value>,
    },
    /// The timer's body, added to the known fields.
    GiveBody(Map<String, Value>),
    /// The person's answer, added to the known fields of the question.
    GiveAnswer {
        /// Which item.
        item: u64,
        /// What is known.
        base: Map<String, Value>,
        /// The list of open questions from which it is removed.
        open: Questions,
    },
}

impl Waiting {
    /// Returns true if the daemon delivers the answer only once, to the client that waits at that moment.
    /// Such a wait must not be tried and abandoned.
    pub(crate) fn is_told_once(&self) -> bool {
        matches!(self.then, AfterWait::GiveBody(_) | AfterWait::GiveAnswer { .. })
    }

    /// Waits at most `most`; returns `still_running` when that was not enough.
    pub(crate) async fn run(&self, daemon: &AsyncClient, most: Duration) -> Result<Value, ToolFailure> {
        let began = Instant::now();
        loop {
            let spent = began.elapsed();
            let left = self.timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(spent));
            let slice = most.saturating_sub(spent).min(left).min(SLICE);
            match self.slice(daemon, slice).await {
                Ok(waited) => return self.finish(daemon, waited).await,
                Err(CallError::Refused(failure)) if failure.code == ErrorCode::Timeout => {}
                Err(error) => return self.without(&error),
            }
            if self.timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
                return Err(ToolFailure::new(
                    "timeout",
                    format!("{}: the time given has passed", self.status),
                )
                .hint("get_process_status tells what it is doing"));
            }
            if began.elapsed() >= most {
                return Ok(self.still_running());
            }
        }
    }

    /// Waits once for this long; returns nothing when that was not enough.
    pub(crate) async fn run_once(
        &self,
        daemon: &AsyncClient,
        length: Duration,
    ) -> Option<Result<Value, ToolFailure>> {
        match self.slice(daemon, length).await {
            Ok(waited) => Some(self.finish(daemon, waited).await),
            Err(CallError::Refused(failure)) if failure.code == ErrorCode::Timeout => None,
            Err(error) => Some(self.without(&error)),
        }
    }

    /// Like [`Waiting::run`] for clients without tasks: returns in time even if the daemon does not.
    pub(crate) async fn run_briefly(&self, daemon: &AsyncClient) -> Result<Value, ToolFailure> {
        match tokio::time::timeout(LATEST, self.run(daemon, ONE_ANSWER)).await {
            Ok(answer) => answer,
            Err(_) => Ok(self.still_running()),
        }
    }

    async fn slice(&self, daemon: &AsyncClient, length: Duration) -> Result<Waited, CallError> {
        let timeout_ms = u64::try_from(length.as_millis()).ok();
        let wait = Wait { timeout_ms, ..self.wait.clone() };
        let blocked = self
            .is_over_when_blocked
            .then(|| Wait { until: Until::State(vec![AgentState::Blocked]), ..wait.clone() });
        let ask =
            |wait: Wait| daemon.request_with::<verb::Wait>(CallOptions::default().lasting(length), wait);
        let Some(blocked) = blocked else { return ask(wait).await };
        let is_blocked = async {
            match ask(blocked).await {
                Ok(waited) => waited,
                // What ends this wait also ends the other one, which returns the reason.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            waited = ask(wait) => waited,
            waited = is_blocked => Ok(waited),
        }
    }

    async fn finish(&self, daemon: &AsyncClient, waited: Waited) -> Result<Value, ToolFailure> {
        match &self.then {
            AfterWait::Tell | AfterWait::TellOutput(..) => {
                if let AfterWait::TellOutput(started, run) = &self.then {
                    started.forget(*run);
                }
                let satisfied: Vec<Value> = waited.satisfied.iter().map(to_value).collect();
                Ok(json!({"status": "satisfied", "satisfied": satisfied}))
            }
            AfterWait::GiveTurn { base, .. } if self.is_blocked(&waited) => {
                let dialog = waited.satisfied.first().and_then(|satisfied| satisfied.dialog.as_deref());
                let mut answer = base.clone();
                put(&mut answer, "status", json!("blocked"));
                put(&mut answer, "dialog", dialog.map(views::dialog).unwrap_or_default());
                Ok(Value::Object(answer))
            }
            AfterWait::GiveTurn { process, turn, base } => {
                let request = AskResult { target: Target(process.to_string()), turn: Some(*turn) };
                let asked = daemon.request::<verb::Result>(request).await;
                let result: Turn = asked.map_err(|error| ToolFailure::of_call(&error, self.fields))?;
                let mut answer = base.clone();
                answer.extend(turn_told(&result, 0));
                if self.is_over_when_blocked {
                    put(&mut answer, "status", json!("over"));
                }
                Ok(Value::Object(answer))
            }
            AfterWait::GiveBody(base) => Ok(given(base, "fired", "body", text_of(&waited))),
            AfterWait::GiveAnswer { item, base, open } => {
                open.forget(*item);
                Ok(given(base, "answered", "answer", text_of(&waited)))
            }
        }
    }

    /// Returns true if a dialog ended the wait.
    fn is_blocked(&self, waited: &Waited) -> bool {
        let is_blocked = |satisfied: &Satisfied| satisfied.state == Some(AgentState::Blocked);
        self.is_over_when_blocked && waited.satisfied.first().is_some_and(is_blocked)
    }

    /// Returns the result when the daemon returns an error. A question that is no longer open is not a
    /// failure: a person has answered it, and the answer comes as a message.
    fn without(&self, error: &CallError) -> Result<Value, ToolFailure> {
        if let (AfterWait::GiveAnswer { item, base, open }, CallError::Refused(failure)) = (&self.then, error)
        {
            open.forget(*item);
            if matches!(failure.code, ErrorCode::Conflict | ErrorCode::NotFound) {
                let mut answer = base.clone();
                put(&mut answer, "status", json!("by_message"));
                put(&mut answer, "hint", json!("the answer comes to you as a message: end your turn"));
                return Ok(Value::Object(answer));
            }
        }
        Err(ToolFailure::of_call(error, self.fields))
    }

    /// Returns the result when it did not happen in time.
    pub(crate) fn still_running(&self) -> Value {
        if let Some(meanwhile) = &self.meanwhile {
            return meanwhile.clone();
        }
        let (mut answer, hint) = match &self.then {
            AfterWait::GiveTurn { base, .. } => (base.clone(), "call this again to wait on"),
            AfterWait::Tell | AfterWait::TellOutput(..) => {
                let hint = match self.wait.since {
                    Some(_) => "call this again with this since to wait on without missing anything",
                    None => "call this again to wait on",
                };
                (Map::from_iter([("satisfied".to_owned(), json!([]))]), hint)
            }
            AfterWait::GiveBody(base) | AfterWait::GiveAnswer { base, .. } => {
                (base.clone(), "call this again to wait on, or go on: it will come as a message")
            }
        };
        put(&mut answer, "status", json!("still_running"));
        put(&mut answer, "since", json!(self.wait.since));
        put(&mut answer, "hint", json!(hint));
        Value::Object(answer)
    }
}

/// Returns the text that a wait for one process returned.
fn text_of(waited: &Waited) -> &str {
    waited.satisfied.first().and_then(|satisfied| satisfied.text.as_deref()).unwrap_or_default()
}

/// Returns the result with the delivered text under its name.
fn given(base: &Map<String, Value>, status: &str, name: &str, text: &str) -> Value {
    // The text is made printable, as all text of others, and cut to fit one result.
    let text = views::shortened(text, usize::MAX);
    let mut answer = pages::piece(base, name, &text, 0);
    answer.remove("offset");
    put(&mut answer, "status", json!(status));
    Value::Object(answer)
}

fn to_value(satisfied: &Satisfied) -> Value {
    let mut row = Map::new();
    put(&mut row, "id", json!(satisfied.id));
    put(&mut row, "name", json!(satisfied.name));
    put(&mut row, "state", json!(satisfied.state));
    put(&mut row, "text", json!(satisfied.text.as_deref().map(|text| views::shortened(text, 400))));
    put(&mut row, "exit", satisfied.exit.as_ref().map_or(Value::Null, |exit| json!(views::ended(exit))));
    put(&mut row, "offset", json!(satisfied.offset));
    put(&mut row, "dialog", satisfied.dialog.as_deref().map(views::dialog).unwrap_or_default());
    Value::Object(row)
}
