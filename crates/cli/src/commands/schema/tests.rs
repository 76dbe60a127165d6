//! The schema against the types that are really printed: a field that one has and the other lacks fails here.

mod crew;

use proto::agent::{AgentOffer, Explanation, InboxItem, Receipt, Turn};
use proto::reply::{
    CursorView, DaemonStatus, Ended, Match, Matches, Satisfied, Spawned, Text, Waited, Wrote,
};
use proto::request::ReadMode;
use proto::{Exit, ExitReason, Kind, Name, ProcessId, ProcessView, RunNumber, Size, Status};
use serde_json::{Value, json};

use super::SCHEMA;

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// Every printed field is in the schema and every required field is printed; objects inside are checked too.
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
        _ => assert!(!shape.is_null(), "{path} has no shape"),
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
        "viewers": 1, "exit": exit(), "failure": "f", "log": {"start": 0, "end": 9}, "argv": ["true"], "cwd": "/",
        "title": "t", "started_at": 1, "active_at": 2, "agent": agent(), "project": "00", "preset": "dev", "ready": true
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
        "context": {"used": 1, "window": 2, "total": 3}
    })
}

/// What a value of this type looks like once it has been read and printed again.
fn printed<T: serde::Serialize + serde::de::DeserializeOwned>(value: Value) -> Value {
    json!(serde_json::from_value::<T>(value).expect("a sample of the type"))
}

fn agent_samples() -> Vec<(&'static str, Value)> {
    let options = json!([{"names": ["1"], "label": "Yes", "keys": ["1"]}]);
    let receipt = json!({"mail": 1, "to": id(), "status": "queued", "reason": "busy"});
    let turn = json!({"id": id(), "turn": 1, "end": "done", "text": "t", "from": "hook", "mail": 1, "began_at": 1,
        "ended_at": 2});
    let item = json!({"item": 1, "id": id(), "name": name(), "kind": "dialog", "title": "t", "body": "b",
        "options": options, "at": 1, "expires": {"at": 2, "answer": "deny"}});
    let explanation = json!({"id": id(), "name": name(), "agent": agent(), "opinions": [opinion()], "why": "w",
        "version": "1", "drifts": 0, "composer": "empty"});
    let offer = json!({"name": "x", "program": "/x", "version": "1", "origin": ["built in"], "abilities": ["mcp"],
        "problems": ["p"]});
    vec![
        ("tell", printed::<Receipt>(receipt)),
        ("result", printed::<Turn>(turn)),
        ("inbox", printed::<Vec<InboxItem>>(json!([item]))),
        ("explain", printed::<Explanation>(explanation)),
        ("agents", printed::<Vec<AgentOffer>>(json!([offer]))),
    ]
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
    };
    let spawned = Spawned {
        id: id(),
        name: name(),
        kind: Kind::Command,
        status: Status::Running,
        pid: Some(1),
        run: RunNumber(1),
    };
    let satisfied = Satisfied {
        id: id(),
        name: name(),
        text: Some("x".into()),
        exit: Some(exit()),
        state: None,
        offset: 1,
    };
    let matches =
        Matches { matches: vec![Match { line: 1, start: 0, end: 1, text: "x".into() }], truncated: false };
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

#[test]
fn the_schema_names_exactly_what_is_printed() {
    let root = schema();
    for (verb, value) in samples().into_iter().chain(agent_samples()).chain(crew::samples()) {
        check(&root, &root["$defs"][verb], &value, verb);
    }
}
