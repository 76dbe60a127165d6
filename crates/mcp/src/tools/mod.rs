//! The table of all tools, and how one is found and called. Each family has its own file; a new family is a
//! new file and one line in [`FAMILIES`].

pub(crate) mod asking;
mod coordination;
mod input;
mod inspection;
mod lifecycle;
mod meta;
mod output;
mod scratchpads;
pub(crate) mod started_runs;
mod tasks;
pub(crate) mod timers;
mod waits;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Once, OnceLock};

use client::{AsyncClient, CallError, CallOptions};
use proto::agent::MailId;
use proto::request::Empty;
use proto::rights::PERSON;
use proto::{VerbSpec, verb};
use rmcp::model::{MetaObject, Tool as Listed, ToolAnnotations};
use serde_json::Value;

use crate::arguments::{self, Arguments, Field};
use crate::failure::ToolFailure;
use crate::outputs;
use crate::vendors;
use crate::waiting::Waiting;
use asking::{Question, Questions};
use started_runs::StartedRuns;

pub(crate) use coordination::turn_told;
pub(crate) use meta::TOPICS;

/// What calling a tool does, for clients that ask their user first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// Nothing changes.
    Reads,
    /// It adds or sends something.
    Adds,
    /// It may lose something.
    Destroys,
}

/// One tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What it is for, in words for the model.
    pub(crate) says: &'static str,
    pub(crate) fields: &'static [Field],
    /// Its result, in the language of [`outputs`].
    pub(crate) gives: &'static str,
    pub(crate) effect: ToolEffect,
    /// True if a client that defers tools should load it at once.
    pub(crate) is_core: bool,
    run: ToolFunction,
}

type ToolFunction = for<'a> fn(&'a ToolContext, &'a Arguments) -> ToolFuture<'a>;
type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutcome, ToolFailure>> + Send + 'a>>;

/// The result of a call.
pub(crate) enum ToolOutcome {
    /// The answer.
    Done(Value),
    /// The result comes when something has happened.
    Waiting(Box<Waiting>),
    /// A person answers. The client's abilities decide how the person is asked.
    Question(Question),
}

/// How the daemon identifies this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerCaller {
    Person,
    /// The process of this id.
    Process(String),
    Nobody,
}

impl From<Value> for ToolOutcome {
    fn from(value: Value) -> Self {
        Self::Done(value)
    }
}

/// The shared context of every tool.
#[derive(Debug)]
pub(crate) struct ToolContext {
    pub(crate) daemon: AsyncClient,
    /// The base of relative directories: where the agent works.
    pub(crate) here: PathBuf,
    /// Messages sent through this server, newest last.
    pub(crate) sent: Mutex<VecDeque<MailId>>,
    /// Questions that a person has not answered yet.
    pub(crate) questions: Questions,
    /// Runs whose output was not waited for yet.
    pub(crate) started: StartedRuns,
    /// Set by the first answer: it follows from where this server runs, which does not change.
    caller: OnceLock<ServerCaller>,
    /// A callback for the first call of a tool, and whether it was called.
    on_first_call: (Once, fn()),
}

impl ToolContext {
    pub(crate) fn new(daemon: AsyncClient, here: PathBuf, on_first_call: fn()) -> Arc<Self> {
        let (questions, caller) = (Questions::default(), OnceLock::new());
        let on_first_call = (Once::new(), on_first_call);
        let (sent, started) = (Mutex::default(), StartedRuns::default());
        Arc::new(Self { daemon, here, sent, questions, started, caller, on_first_call })
    }

    /// Records that a client has called a tool.
    pub(crate) fn note_start(&self) {
        let (once, on_first_call) = &self.on_first_call;
        once.call_once(on_first_call);
    }

    /// Returns how the daemon identifies this server.
    pub(crate) async fn caller(&self) -> Result<ServerCaller, ToolFailure> {
        if let Some(known) = self.caller.get() {
            return Ok(known.clone());
        }
        let welcome = self.daemon.welcome().await.map_err(|error| ToolFailure::of_call(&error, &[]))?;
        let caller = match welcome.caller.as_str() {
            PERSON => ServerCaller::Person,
            // A later call may find a token, so this result is not kept.
            "nobody" => return Ok(ServerCaller::Nobody),
            id => ServerCaller::Process(id.to_owned()),
        };
        Ok(self.caller.get_or_init(|| caller).clone())
    }

    /// Returns true if this server is inside a run of the daemon. No daemon is started for that: without one
    /// there is no inbox, either.
    pub(crate) async fn is_in_run(&self) -> bool {
        if let Some(known) = self.caller.get() {
            return matches!(known, ServerCaller::Process(_));
        }
        let running = self.daemon.request_with::<verb::Status>(CallOptions::optional(), Empty {}).await;
        running.is_ok() && matches!(self.caller().await, Ok(ServerCaller::Process(_)))
    }

    /// Returns the directory that names the project, for a person. A process has one project and names none.
    pub(crate) async fn directory(&self) -> Result<Option<String>, ToolFailure> {
        let here = || self.here.to_string_lossy().into_owned();
        Ok((self.caller().await? == ServerCaller::Person).then(here))
    }

    /// Asks the daemon for a verb; `fields` pairs the daemon's field names with the tool's, the one to blame
    /// by default first.
    pub(crate) async fn request<V: VerbSpec>(
        &self,
        fields: &[(&str, &str)],
        arguments: V::Arguments,
    ) -> Result<V::Reply, ToolFailure> {
        let asked = self.daemon.request::<V>(arguments).await;
        asked.map_err(|error| ToolFailure::of_call(&error, fields))
    }

    /// Asks for a verb that only some callers may use; `None` when the daemon refuses.
    pub(crate) async fn request_allowed<V: VerbSpec>(
        &self,
        arguments: V::Arguments,
    ) -> Result<Option<V::Reply>, ToolFailure> {
        match self.daemon.request::<V>(arguments).await {
            Ok(reply) => Ok(Some(reply)),
            Err(CallError::Refused(_)) => Ok(None),
            Err(error) => Err(ToolFailure::of_call(&error, &[])),
        }
    }
}

/// The daemon's `target` is a tool's `process`.
pub(crate) const TARGET: &[(&str, &str)] = &[("target", "process")];

/// The families in the order of the list.
const FAMILIES: &[&[Tool]] = &[
    lifecycle::TOOLS,
    inspection::TOOLS,
    output::TOOLS,
    waits::TOOLS,
    input::TOOLS,
    coordination::TOOLS,
    asking::TOOLS,
    timers::TOOLS,
    scratchpads::TOOLS,
    tasks::TOOLS,
    meta::TOOLS,
];

/// Returns every tool, family by family.
pub(crate) fn all() -> impl Iterator<Item = &'static Tool> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the tool of this name.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name)
}

impl Tool {
    /// Checks the arguments and runs the tool.
    pub(crate) async fn call(
        &self,
        context: &ToolContext,
        given: serde_json::Map<String, Value>,
    ) -> Result<ToolOutcome, ToolFailure> {
        let arguments = Arguments::check(self.fields, given)?;
        (self.run)(context, &arguments).await
    }

    /// Returns the tool as clients list it.
    pub(crate) fn listed(&self) -> Listed {
        let mut listed = Listed::new(self.name, self.says, arguments::schema(self.fields));
        listed.title = Some(self.title.to_owned());
        listed.output_schema = outputs::schema(self.gives).ok().map(Arc::new);
        let hints = ToolAnnotations::new();
        listed.annotations = Some(match self.effect {
            ToolEffect::Reads => hints.read_only(true).open_world(false),
            ToolEffect::Adds => hints.read_only(false).destructive(false),
            ToolEffect::Destroys => hints.read_only(false).destructive(true),
        });
        if self.is_core {
            let mut meta = MetaObject::new();
            meta.insert(vendors::always_load().to_owned(), Value::Bool(true));
            listed.meta = Some(meta);
        }
        listed
    }
}

#[cfg(test)]
mod tests;
