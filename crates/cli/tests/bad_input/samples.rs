//! One sample of every request, with every field, none of which affects the witness. A test fails for a verb
//! or a kind of one without a sample here.

use std::collections::{BTreeMap, BTreeSet};

use proto::Request;
use proto::process::Ready;
use proto::request::{
    PadAct, ReviewAct, TaskAct, TaskTarget, TimerChange, TimerWhen, TrustWhat, TypedInput, Until, View,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Returns every sample.
pub(crate) fn requests() -> Vec<Value> {
    [processes(), views(), agents(), crew(), tasks()].concat()
}

fn tasks() -> Vec<Value> {
    let task = |act: Value| json!({"task": {"act": act, "key": "again"}});
    let target = || json!({"name": "no-task"});
    let review = |act: Value| task(json!({"review": {"target": target(), "act": act}}));
    let size = json!({"cols": 80, "rows": 24});
    vec![
        task(json!({"list": {}})),
        task(json!({"show": target()})),
        task(
            json!({"create": {"name": "n", "directory": "/no/such", "worktree": true, "start": "s", "agent": "a",
            "prompt": "p", "workspace": "local", "ports": 2, "base_env": {"A": "b"}}}),
        ),
        task(json!({"diff": {"target": target(), "stat": true, "base": "b", "context": 5}})),
        review(json!({"list": {}})),
        review(json!({"add": {"file": "f", "side": "new", "first": 1, "last": 2, "text": "t"}})),
        review(json!({"send": {}})),
        review(json!({"resolve": {"number": 1}})),
        review(json!({"remove": {"number": 1}})),
        task(json!({"forecast": {}})),
        task(json!({"land": {"target": target(), "into": "m", "gate": "g", "merge": true, "tell": true,
            "base_env": {"A": "b"}, "size": size}})),
        task(json!({"drop": {"target": target(), "branch": true, "force": true}})),
        task(json!({"dropped": {}})),
        task(json!({"restore": target()})),
        task(json!({"collect": {"branch": true, "dry_run": true}})),
        task(
            json!({"import": {"name": "n", "directory": "/no/such", "owned": true, "agent": "a", "created_at": 1,
            "runs": [{"session": "s", "started_at": 1, "ended_at": 2, "code": 0}], "dry_run": true}}),
        ),
        task(json!({"show": {"directory": "/"}})),
    ]
}

fn processes() -> Vec<Value> {
    let size = json!({"cols": 80, "rows": 24});
    let spawn = |ready: Value| {
        json!({"spawn": {"kind": "command", "name": "nobody-yet", "argv": ["/no/such", "x"], "cwd": "/", "size": size,
            "base_env": {"PATH": "/bin"}, "env": {"A": "b"}, "task": "no-task", "workspace": "local",
            "auto_restart": true, "idle_timeout_ms": 1000, "preset": "no-preset", "key": "k", "restore": true,
            "base_env_hex": {"B": "ff"}, "as_me": true, "stop": {"signal": 15, "grace_ms": 5},
            "ready": ready, "budget": {"spawns": 1, "live": 1, "depth": 1, "wall_ms": 1},
            "agent": {"prompt": "x", "session": "s", "permissions": {"timeout_ms": 1, "on_timeout": "deny"},
                "model": "m", "mode": "plan"}}})
    };
    let wait = |until: Value| json!({"wait": {"targets": ["nobody"], "until": until, "timeout_ms": 1}});
    vec![
        json!({"hello": {"protocol": 1, "client": "x", "token": "t"}}),
        json!({"hello": {"protocol": 1, "client": "x", "label": "phone", "limit": {"workspace": "local", "role": "type"}}}),
        json!({"status": {}}),
        json!({"list": {}}),
        spawn(json!({"pattern": "x"})),
        spawn(json!({"port": 1})),
        json!({"read": {"target": "witness", "mode": "screen", "since": 0, "until": 9, "limit": 100, "join": true}}),
        json!({"read": {"target": "witness", "mode": "screen", "styles": true, "run": "previous"}}),
        json!({"search": {"target": "witness", "pattern": "x", "limit": 3, "bytes": 100}}),
        json!({"wait": {"targets": ["nobody"], "until": {"pattern": "x"}, "quantifier": "any", "since": 0,
            "timeout_ms": 1}}),
        json!({"wait": {"targets": ["nobody"], "until": {"pattern": "x"}, "since_version": 1, "timeout_ms": 1}}),
        wait(json!({"state": ["idle"]})),
        wait(json!({"turn": 1})),
        wait(json!({"exit": {}})),
        wait(json!({"silence": 5})),
        wait(json!({"ready": {}})),
        wait(json!({"timer": 1})),
        wait(json!({"item": 1})),
        json!({"write": {"target": "nobody", "input": {"text": "x"}, "submit": true, "timeout_ms": 5}}),
        json!({"write": {"target": "nobody", "input": {"paste": "x"}, "key": {"id": "w-1", "again": true}}}),
        json!({"write": {"target": "nobody", "input": {"report": {}}, "key": {"id": "w-1", "again": true}}}),
        json!({"write": {"target": "nobody", "input": {"keys": ["enter"]}}}),
        json!({"write": {"target": "nobody", "input": {"paste_stream": {}}}}),
        json!({"resize": {"target": "nobody", "size": size}}),
        json!({"kill": {"target": "nobody", "signal": 1, "grace_ms": 5}}),
        json!({"close": {"target": "nobody", "keep_background": false, "stop": {"signal": 15, "grace_ms": 5}}}),
        json!({"restart": {"target": "nobody", "stop": {"signal": 15, "grace_ms": 5},
            "offer": {"base_env": {"A": "b"}, "base_env_hex": {"B": "ff"}}}}),
        json!({"rename": {"target": "nobody", "name": "x"}}),
        json!({"select": {"target": "nobody"}}),
        json!({"see": {"target": "nobody", "turn": 1}}),
        json!({"see": {"target": "nobody", "version": 1}}),
        json!({"ports": {"target": "nobody"}}),
        json!({"workspaces": {}}),
        json!({"change_workspace": {"name": "nowhere", "change": {"rename": "elsewhere"}}}),
        json!({"shutdown": {"kill": false, "stop": {"signal": 15, "grace_ms": 5}}}),
    ]
}

fn views() -> Vec<Value> {
    let size = json!({"cols": 80, "rows": 24});
    vec![
        json!({"attach": {"target": "nobody", "size": size, "read_only": true, "policy": "owner", "take_over": false}}),
        json!({"attach": {"target": "nobody", "from": 0, "run": 1, "exact": true}}),
        json!({"attach": {"target": "nobody", "mirror": true, "pace_ms": 100, "receipts": true}}),
        json!({"detach": {"target": "nobody"}}),
        json!({"viewers": {}}),
        json!({"view": {"pace_ms": 100}}),
        json!({"view": {"size": size}}),
        json!({"view": {"repaint": {}}}),
        json!({"view": {"own_size": {}}}),
        json!({"view": {"terminal": {"detach_keys": {"keys": "ctrl-\\ d", "tilde": true}, "clipboard": true,
            "questions": "asked", "undecided": "\u{1c}"}}}),
        json!({"view": {"report": {"colors": {"0": [0, 0, 0]}, "scheme": "dark", "cursor": 1}}}),
        json!({"follow": {"target": "nobody", "from": 0, "live": false}}),
        json!({"follow": {"target": "nobody", "since_ms": 0, "tail": 1, "times": true}}),
        json!({"follow": {"target": "nobody", "run": {"number": 1}, "screen": true}}),
        json!({"subscribe": {}}),
    ]
}

fn agents() -> Vec<Value> {
    vec![
        json!({"tell": {"target": "nobody", "text": "x", "key": "k", "wait_ms": 1, "expires_ms": 1}}),
        json!({"receipt": {"mail": 999_999}}),
        json!({"messages": {}}),
        json!({"result": {"target": "nobody", "turn": 1}}),
        json!({"cancel_message": {"mail": 999_999}}),
        json!({"interrupt": {"target": "nobody"}}),
        json!({"explain": {"target": "nobody"}}),
        json!({"inbox": {}}),
        json!({"answer": {"item": 999_999, "choice": "allow", "offer": {"base_env": {"A": "b"}, "base_env_hex": {"B": "ff"}}}}),
        json!({"resume": {"target": "nobody", "session": "s", "offer": {"base_env": {"A": "b"}, "base_env_hex": {"B": "ff"}}}}),
        json!({"hook": {"payload": {"a": 1}, "event": "e"}}),
        json!({"agents": {"path": "/bin"}}),
        json!({"check_manifest": {"text": "x = 1", "name": "x.toml",
            "recordings": [{"name": "r", "text": "+++"}]}}),
        json!({"sample": {"target": "nobody", "state": "idle"}}),
    ]
}

fn crew() -> Vec<Value> {
    let watch = json!({"processes": ["nobody"], "max_wait_ms": 1});
    let timer = |when: Value| json!({"set_timer": {"owner": "nobody", "when": when, "body": "b", "label": "l", "key": "k"}});
    let change = |change: &str| json!({"change_timer": {"timer": 999_999, "change": change}});
    let pad = |act: Value| json!({"pad": {"project": "/", "act": act}});
    vec![
        json!({"who_am_i": {}}),
        timer(json!({"after": 1})),
        timer(json!({"idle_any": watch})),
        timer(json!({"idle_all": watch})),
        json!({"timers": {}}),
        change("cancel"),
        change("pause"),
        change("resume"),
        pad(json!({"list": {}})),
        pad(json!({"read": {"name": "n", "revision": 1}})),
        pad(json!({"write": {"name": "n", "content": "c", "expected_revision": 999}})),
        pad(json!({"append": {"name": "n", "text": "t"}})),
        pad(json!({"delete": {"name": "n", "expected_revision": 999}})),
        pad(json!({"rename": {"name": "n", "to": "m"}})),
        pad(json!({"history": {"name": "n"}})),
        json!({"ask": {"question": "q", "options": ["a", "b"], "key": "k"}}),
        json!({"attention": {"reason": "r", "key": "k"}}),
        json!({"grant": {"to": "nobody", "right": "read", "over": "nobody"}}),
        json!({"revoke": {"grant": 999_999}}),
        json!({"grants": {}}),
        json!({"presets": {"project": "/", "path": "/bin"}}),
        json!({"trust": {"project": "/", "what": {"preset": "p"}, "path": "/bin"}}),
        json!({"trust": {"project": "/", "what": {"agent": "a"}}}),
        json!({"trust": {"project": "/", "what": {"policy": {}}}}),
        json!({"distrust": {"digest": "0000"}}),
        json!({"trusted": {}}),
        json!({"audit": {"since": 0, "limit": 5, "verify": true}}),
    ]
}

/// Returns the variants of this enum, from its own parser's error.
fn kinds<T: DeserializeOwned>() -> BTreeSet<String> {
    let error = serde_json::from_value::<T>(json!({"no_such_kind": {}})).err().map(|error| error.to_string());
    let told = error.unwrap_or_default();
    let (_, expected) = told.split_once("expected").unwrap_or_default();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the samples' values at this place: the words of an enum.
fn sampled(pointer: &str) -> BTreeSet<String> {
    let word = |value: &Value| match value {
        Value::String(word) => Some(word.clone()),
        other => other.as_object().and_then(|fields| fields.keys().next().cloned()),
    };
    requests().iter().filter_map(|request| request.pointer(pointer).and_then(word)).collect()
}

#[test]
fn e8_every_verb_and_every_kind_of_one_has_a_sample_that_parses() {
    for request in requests() {
        let parsed: Result<Request, _> = serde_json::from_value(request.clone());
        let verb = request.as_object().and_then(|fields| fields.keys().next().cloned());
        assert_eq!(parsed.map(|parsed| parsed.verb().to_owned()).ok(), verb, "{request}");
    }
    assert!(kinds::<Request>().len() >= 46, "{:?}", kinds::<Request>());
    for (pointer, kinds) in [
        ("", kinds::<Request>()),
        ("/wait/until", kinds::<Until>()),
        ("/write/input", kinds::<TypedInput>()),
        ("/view", kinds::<View>()),
        ("/set_timer/when", kinds::<TimerWhen>()),
        ("/change_timer/change", kinds::<TimerChange>()),
        ("/pad/act", kinds::<PadAct>()),
        ("/task/act", kinds::<TaskAct>()),
        ("/task/act/show", kinds::<TaskTarget>()),
        ("/task/act/review/act", kinds::<ReviewAct>()),
        ("/trust/what", kinds::<TrustWhat>()),
        ("/spawn/ready", kinds::<Ready>()),
    ] {
        assert_eq!(sampled(pointer), kinds, "a sample is missing at {pointer:?}");
    }
}

/// Every key in a value, however deep.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| {
            found.insert(name.clone());
            keys(inner, found);
        }),
        Value::Array(items) => items.iter().for_each(|inner| keys(inner, found)),
        _ => {}
    }
}

#[test]
fn e8_no_field_of_a_request_is_left_out_of_its_samples() {
    // A request shows all of its fields in its debug form, also those that were left out.
    let field = regex::Regex::new(r"\b([a-z_]+): ").unwrap();
    // The parsed form of the detach keys.
    let inner = ["prefix", "last", "code", "has_control", "has_tilde"].map(str::to_owned);
    let mut verbs: BTreeMap<&'static str, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for request in requests() {
        let parsed: Request = serde_json::from_value(request.clone()).unwrap();
        let (shown, sampled) = verbs.entry(parsed.verb()).or_default();
        let printed = format!("{parsed:?}");
        shown.extend(field.captures_iter(&printed).map(|found| found[1].to_owned()));
        keys(&request, sampled);
    }
    for (verb, (shown, sampled)) in verbs {
        let missing: Vec<&String> = shown.difference(&sampled).filter(|name| !inner.contains(name)).collect();
        assert!(missing.is_empty(), "no sample of {verb} has {missing:?}");
    }
}
