//! Samples of the output for timers, grants, trust and the like: one of each shape, with every field.

use proto::audit::AuditPage;
use proto::pads::PadEntry;
use proto::ports::Listening;
use proto::presets::PresetList;
use proto::reply::Asked;
use proto::reply::ViewerView;
use proto::rights::{GrantView, Identity};
use proto::timers::TimerView;
use proto::trust::TrustView;
use proto::workspace::WorkspaceView;
use serde_json::{Value, json};

use super::{id, name, printed, process};

fn project() -> Value {
    json!({"key": "00", "path": "/p"})
}

fn grant() -> Value {
    json!({"grant": 1, "to": id(), "to_name": name(), "right": "read", "over": id(), "over_name": name(), "at": 1})
}

fn timer() -> Value {
    json!({"timer": 1, "owner": id(), "owner_name": name(), "kind": "idle_any", "status": "fired", "label": "l",
        "body": "b", "watches": [id()], "remaining_ms": 0, "outcome": "o"})
}

fn audit(verified: Value) -> Value {
    let row = json!({"at": 1, "caller": "human", "verb": "kill", "target": id(), "decision": "allowed", "detail": "d",
        "hash": "00"});
    json!({"rows": [row], "verified": verified})
}

pub(super) fn samples() -> Vec<(&'static str, Value)> {
    let trust = json!({"digest": "00", "project": project(), "preset": "dev", "command": "c", "at": 1});
    let preset = |ready: Value| {
        json!({"name": "dev", "origin": "/p/f", "argv": ["x"], "cwd": "/p", "env": {"A": "b"}, "auto_restart": true, "stop": {"signal": 2, "grace_ms": 9},
            "restore": true, "ready": ready, "trusted": true})
    };
    let presets = json!({"project": project(), "faults": ["f"],
        "presets": [preset(json!({"port": 80})), preset(json!({"pattern": "x"}))]});
    let identity = json!({"caller": id(), "process": process(), "nonce": "n", "project": project(), "grants": [grant()],
        "budget": {"limits": {"spawns": 1, "live": 1, "depth": 1, "wall_ms": 1}, "spawns": 1, "live": 1, "depth": 1,
            "wall_ms": 1}, "label": "phone", "limit": {"workspace": "local", "role": "type"}});
    let pad = json!({"name": "n", "revision": 1, "author": "a", "at": 1, "bytes": 1});
    let viewer = json!({"viewer": 7, "id": id(), "name": name(), "by": "person", "pid": 1, "since": 1,
        "size": {"cols": 80, "rows": 24}, "read_only": false, "owns_size": true});
    let workspace = json!({"name": "phone", "created_at": 1, "tasks": 1, "processes": 1});
    let port = json!({"port": 80, "address": "::", "pid": 1, "program": "x"});
    vec![
        ("pads", printed::<Vec<PadEntry>>(json!([pad]))),
        ("timer", printed::<TimerView>(timer())),
        ("timers", printed::<Vec<TimerView>>(json!([timer()]))),
        ("presets", printed::<PresetList>(presets)),
        ("trusted", printed::<TrustView>(trust.clone())),
        ("trust", printed::<Vec<TrustView>>(json!([trust]))),
        ("viewers", printed::<Vec<ViewerView>>(json!([viewer]))),
        ("grant", printed::<GrantView>(grant())),
        ("grants", printed::<Vec<GrantView>>(json!([grant()]))),
        ("audit", printed::<AuditPage>(audit(json!({"intact": {"first": 2, "rows": 1, "head": "00"}})))),
        ("audit", printed::<AuditPage>(audit(json!({"broken": {"row": 1, "reason": "r"}})))),
        ("whoami", printed::<Identity>(identity)),
        ("ports", printed::<Listening>(json!({"ports": [port], "urls": ["http://x"]}))),
        ("workspaces", printed::<Vec<WorkspaceView>>(json!([workspace]))),
        ("workspace", printed::<WorkspaceView>(workspace)),
        ("workspace_removed", json!({"removed": "phone", "revoked": 1})),
        ("ask", printed::<Asked>(json!({"item": 1}))),
    ]
}
