//! Processes as compact JSON for a model, without empty fields. Titles and argv are made printable.

use proto::agent::{AgentView, DialogOption, InboxItem, Opinion};
use proto::long_text;
use proto::{Exit, Printable, ProcessView};
use serde_json::{Map, Value, json};

/// Longest command in a list, in characters.
const COMMAND: usize = 24;
/// Longest text of a dialog, in bytes.
const DIALOG_MAX: usize = 8 << 10;

/// Returns one row of a list.
pub(crate) fn row(view: &ProcessView) -> Map<String, Value> {
    let mut row = Map::new();
    put(&mut row, "id", json!(view.id));
    put(&mut row, "name", json!(view.name));
    put(&mut row, "kind", json!(view.kind));
    put(&mut row, "status", json!(view.status));
    put(&mut row, "state", json!(view.state));
    put(&mut row, "parent", json!(view.parent));
    put(&mut row, "exit", view.exit.as_ref().map_or(Value::Null, |exit| json!(ended(exit))));
    put(&mut row, "command", json!(shortened(&view.program.argv.join(" "), COMMAND)));
    row
}

/// Returns everything about one process that helps to decide what to do with it.
pub(crate) fn details(view: &ProcessView, item: Option<&InboxItem>) -> Map<String, Value> {
    let mut all = row(view);
    put(&mut all, "command", json!(shortened(&view.program.argv.join(" "), 400)));
    put(&mut all, "working_dir", json!(Printable(&view.program.cwd).to_string()));
    put(&mut all, "size", json!(format!("{}x{}", view.terminal.size.cols, view.terminal.size.rows)));
    put(&mut all, "run", json!(view.run));
    put(&mut all, "pid", json!(view.pid));
    put(&mut all, "task", json!(view.task));
    put(&mut all, "preset", json!(view.program.preset));
    put(&mut all, "ready", json!(view.ready));
    put(&mut all, "typing", json!(view.terminal.owner));
    put(&mut all, "failure", json!(view.failure.as_deref().map(|why| Printable(why).to_string())));
    put(&mut all, "title", json!(shortened(&view.title, 120)));
    put(&mut all, "log", json!({"start": view.live.log.start, "end": view.live.log.end}));
    put(&mut all, "active_at_ms", json!(view.times.active_at));
    if let Some(agent) = &view.agent {
        put(&mut all, "agent", Value::Object(agent_details(agent)));
    }
    if let Some(item) = item {
        put(&mut all, "dialog", dialog(item));
    }
    all
}

/// Returns the agent's part: its state and the evidence for it.
pub(crate) fn agent_details(agent: &AgentView) -> Map<String, Value> {
    let mut all = Map::new();
    put(&mut all, "manifest", json!(agent.manifest));
    put(&mut all, "state", json!(agent.state));
    put(&mut all, "since_ms", json!(agent.since));
    put(&mut all, "evidence", agent.evidence.as_ref().map_or(Value::Null, opinion));
    put(&mut all, "turn", json!(agent.turn));
    put(&mut all, "waiting_messages", json!(agent.mail));
    put(&mut all, "session", json!(agent.session));
    put(&mut all, "context_percent", json!(agent.context.and_then(|context| context.percent())));
    if agent.background > 0 {
        put(&mut all, "background", json!(agent.background));
    }
    if agent.held {
        put(&mut all, "held", json!(true));
    }
    if let Some(quota) = agent.quota {
        put(&mut all, "quota", json!({"reset_at_ms": quota.reset_at}));
    }
    all
}

/// Returns a source's opinion.
pub(crate) fn opinion(opinion: &Opinion) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "source", json!(opinion.evidence.source));
    put(&mut fields, "rule", json!(opinion.evidence.rule));
    put(&mut fields, "state", json!(opinion.evidence.state));
    put(&mut fields, "message", json!(shortened(&opinion.evidence.message, 400)));
    put(&mut fields, "at_ms", json!(opinion.at));
    put(&mut fields, "counts", json!(opinion.counts));
    Value::Object(fields)
}

/// Returns a dialog that waits for an answer.
pub(crate) fn dialog(item: &InboxItem) -> Value {
    let options: Vec<Value> = item
        .options
        .iter()
        .map(|option| json!({"choice": choice(option), "label": shortened(&option.label, 120)}))
        .collect();
    let mut fields = Map::new();
    put(&mut fields, "dialog_id", json!(item.item));
    put(&mut fields, "kind", json!(item.kind));
    put(&mut fields, "title", json!(shortened(&item.title, 200)));
    put(&mut fields, "body", json!(long_text::within(&printable(&item.body), DIALOG_MAX)));
    put(&mut fields, "options", json!(options));
    Value::Object(fields)
}

/// Returns the word that chooses an option: its meaning, or else its number.
fn choice(option: &DialogOption) -> &str {
    let is_word = |name: &&String| name.parse::<u64>().is_err();
    option.names.iter().find(is_word).or(option.names.first()).map_or(option.label.as_str(), String::as_str)
}

/// Returns how a run ended, in two words.
pub(crate) fn ended(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => exit.reason.to_string(),
    }
}

fn printable(text: &str) -> String {
    text.split('\n').map(|line| Printable(line).to_string()).collect::<Vec<_>>().join("\n")
}

/// Makes a text printable and cuts it at a character; an ellipsis marks the cut.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    proto::printable::shortened(&printable(text), most)
}

/// Adds a value unless it is null or empty.
pub(crate) fn put(object: &mut Map<String, Value>, name: &str, value: Value) {
    let says_nothing = value.is_null() || value.as_str().is_some_and(str::is_empty);
    if !says_nothing {
        object.insert(name.to_owned(), value);
    }
}
