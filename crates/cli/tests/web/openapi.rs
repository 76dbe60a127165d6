//! The OpenAPI document against what the server really answers.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{TestDaemon, child};
use web::ROUTES;

use crate::server::{As, Server, traced_daemon};

/// Checks a value against a schema, as far as ours go; returns what is wrong with it.
fn fault(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(place) = schema["$ref"].as_str() {
        let target = document.pointer(place.trim_start_matches('#'));
        return target
            .map_or_else(|| Some(format!("{at}: no {place}")), |target| fault(document, target, value, at));
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let faults: Vec<_> = any.iter().map(|one| fault(document, one, value, at)).collect();
        return faults.iter().all(Option::is_some).then(|| format!("{at}: {value} is none of {faults:?}"));
    }
    if let Some(found) =
        schema["allOf"].as_array().into_iter().flatten().find_map(|one| fault(document, one, value, at))
    {
        return Some(found);
    }
    let is_listed = schema["enum"].as_array().is_none_or(|all| all.contains(value));
    let is_typed = match &schema["type"] {
        Value::String(kind) => has_type(value, kind),
        Value::Array(kinds) => kinds.iter().any(|kind| has_type(value, kind.as_str().unwrap())),
        _ => true,
    };
    if !is_listed || !is_typed {
        return Some(format!("{at}: {value} is not {schema}"));
    }
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if value.is_object()
        && let Some(missing) = required.find(|name| value.get(name).is_none())
    {
        return Some(format!("{at}: no {missing} in {value}"));
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    let in_fields = fields
        .filter_map(|(name, field)| Some((name, field, value.get(name)?)))
        .find_map(|(name, field, inner)| fault(document, field, inner, &format!("{at}.{name}")));
    let items = value.as_array().filter(|_| !schema["items"].is_null()).into_iter().flatten();
    in_fields.or_else(|| {
        items.enumerate().find_map(|(n, item)| fault(document, &schema["items"], item, &format!("{at}[{n}]")))
    })
}

fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the type {other}"),
    }
}

/// Returns every reference in a document.
fn references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            into.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| references(field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

/// Makes a task with a worktree whose branch has one change.
fn make_task(daemon: &TestDaemon, directory: &Path) {
    std::fs::create_dir(directory).unwrap();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(words);
        assert!(command.current_dir(directory).output().unwrap().status.success(), "git {words:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(directory.join("a.txt"), "one\ntwo\n").unwrap();
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=first"]);
    let made = daemon.command(&["new", "fix", "--worktree"]).current_dir(directory).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let tasks = daemon.json(&["tasks"]);
    std::fs::write(Path::new(tasks[0]["directory"].as_str().unwrap()).join("a.txt"), "one\n2\n").unwrap();
}

#[test]
fn w2_every_reference_of_the_document_resolves_and_every_route_of_the_api_says_what_it_answers() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let document = server.ask("GET", "/openapi.json", &Server::token(&daemon, "view"), b"").json();
    let mut all = Vec::new();
    references(&document, &mut all);
    assert!(all.len() > 200, "{}", all.len());
    for place in all {
        assert!(document.pointer(place.trim_start_matches('#')).is_some(), "{place}");
    }
    for route in ROUTES {
        let path = route.path.replace("{*", "{");
        let operation = &document["paths"][&path][route.method.word().to_lowercase()];
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.len() > 1, "{route:?} says only how it fails");
    }
}

#[test]
fn w2_what_the_server_answers_is_what_the_document_says() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    make_task(&daemon, &daemon.root().join("repository"));
    daemon.spawn("cat", child::shell("echo ready; exec cat"));
    daemon.wait_pattern("cat", "ready");
    let document = server.ask("GET", "/openapi.json", &page, b"").json();
    let project = daemon.root().join("repository").display().to_string();
    let check = |method: &str, template: &str, query: &str, sent: Value| {
        let path = template.replace("{id}", "cat").replace("{task}", "fix").replace("{name}", "notes");
        let body = if method == "GET" { Vec::new() } else { sent.to_string().into_bytes() };
        let answer = server.ask(method, &format!("{path}{query}"), &page, &body);
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        let operation = &document["paths"][template][method.to_lowercase()];
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(!schema.is_null(), "{method} {template} has no schema");
        let wrong = fault(&document, schema, &answer.json(), "answer");
        assert_eq!(wrong, None, "{method} {template}");
    };
    let api = |path: &str| format!("/api/v1/{path}");
    for path in ["status", "agents", "viewers", "timers", "inbox", "processes", "tasks", "me", "devices"] {
        check("GET", &api(path), "", json!({}));
    }
    for verb in ["", "/screen", "/history", "/ports"] {
        check("GET", &api(&format!("processes/{{id}}{verb}")), "", json!({}));
    }
    check("GET", &api("processes/{id}/screen"), "?styles=1", json!({}));
    check("GET", &api("processes/{id}/search"), "?pattern=ready", json!({}));
    let project = format!("?project={project}");
    check("PUT", &api("pads/{name}"), &project, json!({"content": "one"}));
    for path in ["pads", "pads/{name}", "presets"] {
        check("GET", &api(path), &project, json!({}));
    }
    check("DELETE", &api("pads/{name}"), &project, json!({}));
    let comment = json!({"add": {"file": "a.txt", "first": 2, "last": 2, "text": "why?"}});
    check("POST", &api("tasks/{task}/review"), "", comment);
    for path in ["tasks/{task}", "tasks/{task}/diff", "tasks/{task}/review"] {
        check("GET", &api(path), "", json!({}));
    }
    check("POST", &api("tickets"), "", json!({"for": "events"}));
    check("POST", &api("processes/{id}/input"), "", json!({"input": {"text": "x"}, "submit": true}));
    check("POST", &api("processes/{id}/resize"), "", json!({"size": {"cols": 90, "rows": 30}}));
    check("POST", &api("processes/{id}/see"), "", json!({}));
    check("POST", &api("processes/{id}/restart"), "", json!({}));
    check("POST", &api("processes/{id}/kill"), "", json!({}));
    check("DELETE", &api("processes/{id}"), "", json!({}));
    check("POST", &api("processes"), "", json!({"argv": ["sleep", "1000"], "name": "cat"}));
    check("POST", &api("processes/{id}/rename"), "", json!({"name": "dog"}));
    check("DELETE", &api("tasks/{task}"), "", json!({"force": true}));
    check("POST", &api("tasks/{task}/restore"), "", json!({}));
    check("POST", &api("logout"), "", json!({}));
    assert!(matches!(page, As::Page(_)));
}
