//! The schema against the types that are really printed: a field that only one of them has fails here.

mod orchestration;
mod tasks;

use clap::CommandFactory;
use proto::agent::{AgentOffer, Explanation, InboxItem, Receipt, Turn};
use proto::event::Announcement;
use proto::modes::ModesView;
use proto::reply::{
    CursorView, DaemonStatus, Ended, ManifestChecked, Match, Matches, SampleTaken, Satisfied, Spawned,
    Subscribed, Text, Waited, Wrote,
};
use proto::request::ReadMode;
use proto::styled::{CellColor, StyledRow, StyledRun, UnderlineKind};
use proto::{Exit, ExitReason, Kind, Name, ProcessId, ProcessView, RunNumber, Size, Status};
use serde_json::{Value, json};

use super::SCHEMA;
use crate::args::Cli;

/// Verbs whose output is a screen, a recording, a protocol or a text of its own, with --json and without.
const WITHOUT_JSON: &[&str] = &[
    "exec",
    "complete",
    "attach",
    "record",
    "reset",
    "completions",
    "config schema",
    "man",
    "schema",
    "mcp",
    "hook",
    "daemon",
    "help",
];

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// Every printed field is in the schema, every required field is printed, and a word is one of the listed ones; objects
/// inside are checked too.
fn check(root: &Value, shape: &Value, value: &Value, path: &str) {
    if let Some(name) = shape["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        return check(root, &root["$defs"][name], value, path);
    }
    if !shape["additionalProperties"].is_null() {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| check(root, &shape["items"], item, path)),
        Value::Object(fields) => {
            for (name, inside) in fields {
                let known = &shape["properties"][name];
                assert!(!known.is_null(), "{path}.{name} is not in the schema");
                check(root, known, inside, &format!("{path}.{name}"));
            }
            for required in shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(fields.contains_key(required), "{path}.{required} is required and not printed");
            }
        }
        _ => {
            assert!(!shape.is_null(), "{path} has no shape");
            if let Some(words) = shape["enum"].as_array() {
                assert!(words.contains(value), "{path}: {value} is not one of {words:?}");
            }
        }
    }
}

fn id() -> ProcessId {
    ProcessId::from_entropy(7)
}

fn name() -> Name {
    "build".parse().expect("a name")
}

fn exit() -> Exit {
    Exit { code: Some(0), signal: None, reason: ExitReason::Exited }
}

fn process() -> ProcessView {
    serde_json::from_value(json!({
        "id": id(), "name": "build", "kind": "command", "status": "failed", "pid": 7, "run": 1, "state": "idle",
        "parent": id(), "task": "t", "workspace": "local", "owner": "user", "size": {"cols": 80, "rows": 24},
        "viewers": 1, "exit": exit(), "failure": "f", "log": {"start": 0, "end": 9},
        "unread_answers": {"waiting": 1, "dropped": 2}, "argv": ["true"], "cwd": "/",
        "title": "t", "started_at": 1, "active_at": 2, "unseen": {"what": "turn", "turn": 3, "since": 2}, "agent": agent(), "project": "00", "preset": "dev", "ready": true
    }))
    .expect("a process")
}

fn opinion() -> Value {
    let option = json!({"names": ["1", "allow"], "label": "Yes", "keys": ["1"]});
    json!({
        "source": "dialog", "rule": "r", "state": "blocked", "kind": "permission", "message": "m", "background": 1,
        "dialog": {"digest": "d", "title": "t", "body": "b", "options": [option]}, "quota": {"reset_at": 5},
        "max_age_ms": 1, "at": 1, "counts": true
    })
}

fn agent() -> Value {
    json!({
        "manifest": "m", "state": "blocked", "since": 1, "evidence": opinion(), "runner_up": opinion(),
        "background": 1, "held": false, "quota": {"reset_at": null}, "session": "s", "turn": 2, "mail": 1,
        "context": {"used": 1, "window": 2, "total": 3}, "shortfalls": ["s"]
    })
}

/// Returns how a value of this type is printed after it was parsed.
fn printed<T: serde::Serialize + serde::de::DeserializeOwned>(value: Value) -> Value {
    json!(serde_json::from_value::<T>(value).expect("a sample of the type"))
}

fn agent_samples() -> Vec<(&'static str, Value)> {
    let options = json!([{"names": ["1"], "label": "Yes", "keys": ["1"]}]);
    let receipt = json!({"mail": 1, "to": id(), "from": id(), "sender": "lead", "at": 1, "status": "queued",
        "reason": "busy"});
    let turn = json!({"id": id(), "turn": 1, "end": "done", "text": "t", "from": "hook", "mail": 1, "began_at": 1,
        "ended_at": 2});
    let item = json!({"item": 1, "id": id(), "name": name(), "kind": "dialog", "title": "t", "body": "b",
        "options": options, "at": 1, "expires": {"at": 2, "answer": "deny"}});
    let explanation = json!({"id": id(), "name": name(), "agent": agent(), "opinions": [opinion()], "why": "w",
        "version": "1", "drifts": 0, "composer": "empty", "unread_answers": {"waiting": 1, "dropped": 2}});
    let offer = json!({"name": "x", "program": "/x", "version": "1", "origin": ["built in"], "abilities": ["mcp"],
        "problems": ["p"]});
    let checked = json!({"faults": [{"line": 1, "reason": "r"}], "disagreements": ["d"], "unused": ["u"]});
    vec![
        ("tell", printed::<Receipt>(receipt.clone())),
        ("messages", printed::<Vec<Receipt>>(json!([receipt]))),
        ("interrupt", json!({"name": "fix", "interrupted": true})),
        ("result", printed::<Turn>(turn)),
        ("inbox", printed::<Vec<InboxItem>>(json!([item]))),
        ("explain", printed::<Explanation>(explanation)),
        ("agents", printed::<Vec<AgentOffer>>(json!([offer]))),
        ("agents_check", printed::<ManifestChecked>(checked)),
        ("agents_show", json!({"name": "n", "text": "t"})),
        ("agents_record", printed::<SampleTaken>(json!({"file": "f", "text": "t", "masked": 1}))),
        ("skills_install", json!({"written": ["f"]})),
    ]
}

fn styled_row() -> StyledRow {
    let (red, blue) = (Some(CellColor::Index(1)), Some(CellColor::Rgb(0, 0, 255)));
    let run = StyledRun {
        text: "x".to_owned(),
        width: 2,
        joined: true,
        fg: red,
        bg: blue,
        bold: true,
        dim: true,
        italic: true,
        blink: true,
        reverse: true,
        strike: true,
        overline: true,
        underline: Some(UnderlineKind::Single),
        underline_color: red,
        link: Some("https://x.org".to_owned()),
    };
    StyledRow { line: 1, wrapped: true, prompt: true, runs: vec![run] }
}

fn samples() -> Vec<(&'static str, Value)> {
    let size = Size::DEFAULT;
    let cursor = CursorView { col: 0, row: 0, visible: true };
    let text = Text {
        mode: ReadMode::Screen,
        text: String::new(),
        version: 1,
        cursor,
        size,
        offset: 0,
        missed: 0,
        truncated: false,
        alternate: false,
        title: String::new(),
        first_line: Some(1),
        cut: 1,
        modes: Some(ModesView::default()),
        rows: Some(vec![styled_row()]),
        next_row: Some(1),
    };
    let spawned = Spawned {
        id: id(),
        name: name(),
        kind: Kind::Command,
        status: Status::Running,
        pid: Some(1),
        run: RunNumber(1),
        warning: Some("w".into()),
        shortfalls: vec!["x".into()],
    };
    let satisfied = Satisfied {
        id: id(),
        name: name(),
        text: Some("x".into()),
        exit: Some(exit()),
        state: None,
        dialog: None,
        offset: 1,
    };
    let matches = Matches {
        matches: vec![Match { line: 1, start: 0, end: 1, text: "x".into(), skipped: 1, cut: true }],
        truncated: false,
    };
    let status = DaemonStatus {
        running: true,
        pid: 1,
        version: "1".into(),
        protocol: 1,
        processes: 1,
        viewers: 1,
        uptime_s: 1,
        warnings: vec!["w".into()],
    };
    vec![
        ("ps", json!([process()])),
        ("spawn", json!(spawned)),
        ("read", json!(text)),
        ("search", json!(matches)),
        ("wait", json!(Waited { satisfied: vec![satisfied] })),
        ("write", json!(Wrote { written: 1, of: 1, submitted: Some(true) })),
        ("ended", json!(Ended { id: id(), exit: Some(exit()) })),
        ("status", json!(status)),
        ("status", json!({"running": false})),
    ]
}

/// Returns one event of each kind.
fn event_samples() -> Vec<(&'static str, Value)> {
    let receipt = json!({"mail": 1, "to": id(), "status": "submitted", "turn": 3});
    let item = json!({"item": 1, "id": id(), "name": name(), "kind": "question", "title": "t", "options": [], "at": 1});
    let timer = json!({"timer": 1, "owner": id(), "owner_name": name(), "kind": "delay", "status": "fired", "body": "b",
        "remaining_ms": 0});
    let kinds = [
        json!({"changed": process()}),
        json!({"exited": {"id": id(), "run": 1, "exit": exit(), "final_offset": 9}}),
        json!({"removed": {"id": id()}}),
        json!({"done": {"id": id()}}),
        json!({ "mail": receipt }),
        json!({"turn_ended": {"id": id(), "turn": 3}}),
        json!({ "item_opened": item }),
        json!({"item_closed": {"item": 1}}),
        json!({ "timer": timer }),
        json!({"task_changed": {"task": 1, "name": "n", "dropped": false}}),
        json!({"pad_changed": {"project": "00", "name": "n", "revision": 1, "author": "human"}}),
        json!({"selected": {"id": id()}}),
        json!({"resync": {}}),
    ];
    let begin = json!({"revision": 1, "processes": [process()]});
    let events = kinds.map(|what| ("events", printed::<Announcement>(json!({"revision": 2, "what": what}))));
    events.into_iter().chain([("events", printed::<Subscribed>(begin))]).collect()
}

#[test]
fn the_schema_names_exactly_what_is_printed() {
    let root = schema();
    for (verb, value) in samples()
        .into_iter()
        .chain(agent_samples())
        .chain(event_samples())
        .chain(orchestration::samples())
        .chain(tasks::samples())
    {
        check(&root, &root["$defs"][verb], &value, verb);
    }
}

/// Every verb that can be typed; one with verbs of its own counts when it runs without them.
fn verbs(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    for verb in command.get_subcommands() {
        let name = format!("{path}{}", verb.get_name());
        if !verb.is_subcommand_required_set() {
            found.push(name.clone());
        }
        verbs(verb, &format!("{name} "), found);
    }
}

#[test]
fn every_verb_has_a_definition_of_what_it_prints() {
    let (root, mut typed) = (schema(), Vec::new());
    verbs(&Cli::command(), "", &mut typed);
    let named = root["verbs"].as_object().expect("verbs by name");
    for verb in typed.iter().filter(|verb| !WITHOUT_JSON.contains(&verb.as_str())) {
        let shape =
            named.get(verb).and_then(Value::as_str).unwrap_or_else(|| panic!("{verb} has no definition"));
        assert!(root["$defs"][shape].is_object(), "{verb}: {shape} is not defined");
    }
    for verb in named.keys() {
        // A verb may print something else with a flag.
        let plain = verb.split_once(" --").map_or(verb.as_str(), |(plain, _)| plain);
        assert!(typed.iter().any(|typed| typed == plain), "{verb} is no verb");
        assert!(!WITHOUT_JSON.contains(&verb.as_str()), "{verb} prints no JSON");
    }
}

#[test]
fn every_definition_that_is_referred_to_is_there() {
    let root = schema();
    for reference in SCHEMA.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(root["$defs"][reference].is_object(), "{reference}");
    }
}
