//! Connections with a limit, over the real socket: the daemon refuses, whatever the client sends, and nothing that a
//! client says later widens what it said first.

use proto::request::{Request, TypedInput, Write};
use proto::{Limit, Role};
use serde_json::{Value, json};
use testkit::{MarkedDaemon, RawClient, child};

use crate::QD;
use crate::verbs::every_verb;

/// Verbs for which a connection that may only look needs no more.
const VIEWED: [&str; 27] = [
    "status",
    "list",
    "read",
    "search",
    "wait",
    "attach",
    "view",
    "viewers",
    "follow",
    "subscribe",
    "receipt",
    "result",
    "explain",
    "inbox",
    "agents",
    "check_manifest",
    "sample",
    "who_am_i",
    "timers",
    "pad",
    "ports",
    "grants",
    "presets",
    "trusted",
    "task",
    "messages",
    "workspaces",
];
/// Verbs that only a connection with the highest role may use.
const ADMINISTERED: [&str; 7] =
    ["grant", "revoke", "trust", "distrust", "change_workspace", "audit", "shutdown"];

fn needed(verb: &str) -> Role {
    match verb {
        _ if VIEWED.contains(&verb) => Role::View,
        _ if ADMINISTERED.contains(&verb) => Role::Admin,
        _ => Role::Type,
    }
}

fn limited(stage: &MarkedDaemon, workspace: Option<&str>, role: Role) -> RawClient {
    let mut client = RawClient::connect(&stage.dirs());
    let answer = hello(&mut client, workspace, role);
    assert_eq!(answer["outcome"]["ok"]["welcome"]["limit"], json!(limit(workspace, role)), "{answer}");
    client
}

fn limit(workspace: Option<&str>, role: Role) -> Limit {
    Limit { workspace: workspace.map(str::to_owned), role }
}

fn make_workspace(stage: &MarkedDaemon, name: &str) {
    let change = proto::request::WorkspaceChange::Create;
    let request = proto::request::ChangeWorkspace { name: name.to_owned(), change };
    stage.client().change_workspace(request).unwrap();
}

fn hello(client: &mut RawClient, workspace: Option<&str>, role: Role) -> Value {
    let protocol = proto::version::PROTOCOL;
    client.call(
        json!({"hello": {"protocol": protocol, "limit": limit(workspace, role), "label": "Ana's phone"}}),
    )
}

fn code(answer: &Value) -> String {
    answer["outcome"]["error"]["code"].as_str().unwrap_or("ok").to_owned()
}

fn call(client: &mut RawClient, request: &Request) -> String {
    code(&client.call(serde_json::to_value(request).unwrap()))
}

#[test]
fn n5_every_verb_beyond_its_role_is_refused_over_the_socket_and_changes_nothing() {
    let stage = MarkedDaemon::start(QD);
    stage.run("sibling", child::repeat_bytes());
    stage.wait_pattern("sibling", "ready");
    let (before, log) = (stage.process("sibling"), stage.screen("sibling"));
    for role in [Role::View, Role::Type] {
        for request in every_verb() {
            let verb = request.verb();
            if needed(verb) <= role {
                continue;
            }
            let mut client = limited(&stage, None, role);
            assert_eq!(call(&mut client, &request), "denied", "{verb} within {role:?}");
        }
    }
    let after = stage.process("sibling");
    assert_eq!(
        (after.pid, after.run, after.terminal.size, &after.name),
        (before.pid, before.run, before.terminal.size, &before.name)
    );
    assert_eq!(
        (stage.screen("sibling"), stage.list().len()),
        (log, 1),
        "not a byte arrived, nothing started"
    );
}

#[test]
fn n5_a_connection_that_may_look_sees_everything_and_types_nowhere() {
    let stage = MarkedDaemon::start(QD);
    stage.run("sibling", child::repeat_bytes());
    stage.wait_pattern("sibling", "ready");
    for request in every_verb() {
        let verb = request.verb();
        if needed(verb) > Role::View {
            continue;
        }
        let mut client = limited(&stage, None, Role::View);
        let code = call(&mut client, &request);
        assert!(!["denied", "unauthorized", "not_related"].contains(&code.as_str()), "{verb}: {code}");
    }
    let screen = stage.screen("sibling");
    let mut viewer = limited(&stage, Some("local"), Role::View);
    for attach in [
        json!({"attach": {"target": "sibling", "size": {}}}),
        json!({"attach": {"target": "sibling", "size": {}, "read_only": true, "take_over": true}}),
        json!({"attach": {"target": "sibling", "size": {}, "read_only": true, "policy": "fixed"}}),
    ] {
        assert_eq!(code(&viewer.call(attach)), "denied");
    }
    let watching =
        json!({"attach": {"target": "sibling", "size": {"cols": 33, "rows": 11}, "read_only": true}});
    assert_eq!(code(&viewer.call(watching)), "ok");
    let mut typed = Vec::new();
    proto::frame::encode_data(&mut typed, proto::frame::DataKind::Input, 1, 0, b"typed by a viewer\r");
    viewer.send(&typed);
    assert_ne!(stage.process("sibling").terminal.size.cols, 33);
    drop(viewer);
    // A viewer is gone when everything that it sent was read.
    stage.until_view("sibling", |view| view.terminal.viewers == 0);
    assert_eq!(stage.screen("sibling"), screen);
}

#[test]
fn n5_hello_can_only_tighten_and_no_later_hello_widens() {
    let stage = MarkedDaemon::start(QD);
    stage.run("sibling", child::repeat_bytes());
    let write = Request::Write(Write {
        target: "sibling".into(),
        input: TypedInput::Text("x".to_owned()),
        submit: false,
        timeout_ms: None,
        key: None,
    });
    let mut client = limited(&stage, None, Role::Type);
    assert_eq!(call(&mut client, &write), "ok");
    assert_eq!(code(&hello(&mut client, Some("local"), Role::View)), "ok");
    for role in Role::ALL {
        let answer = hello(&mut client, None, role);
        let now = &answer["outcome"]["ok"]["welcome"]["limit"];
        assert_eq!(*now, json!(limit(Some("local"), Role::View)), "{answer}");
        assert_eq!(call(&mut client, &write), "denied");
    }
    let plain = client.call(json!({"hello": {"protocol": proto::version::PROTOCOL}}));
    assert_eq!(plain["outcome"]["ok"]["welcome"]["limit"], json!(limit(Some("local"), Role::View)));
    assert_eq!(code(&hello(&mut client, Some("other"), Role::Admin)), "workspace_mismatch");
    let other = json!({"hello": {"protocol": proto::version::PROTOCOL, "label": "somebody else"}});
    assert_eq!(code(&client.call(other)), "denied");
    assert_eq!(call(&mut client, &write), "denied");
    let bad = json!({"hello": {"protocol": proto::version::PROTOCOL, "limit": {"role": "root"}}});
    let mut fresh = RawClient::connect(&stage.dirs());
    assert_eq!(code(&fresh.call(bad)), "invalid_args");
    assert_eq!(call(&mut fresh, &write), "protocol", "a limit that does not read is no hello");
}

#[test]
fn n5_t3_a_workspace_hides_the_others_and_starts_nothing_there() {
    let stage = MarkedDaemon::start(QD);
    stage.run("desk", child::run_for_ever());
    make_workspace(&stage, "phone");
    let mut client = limited(&stage, Some("phone"), Role::Admin);
    let events = client.call(json!({"subscribe": {}}));
    assert_eq!(events["outcome"]["ok"]["subscribed"]["processes"], json!([]), "{events}");
    let mut client = limited(&stage, Some("phone"), Role::Admin);
    assert_eq!(client.call(json!({"list": {}}))["outcome"]["ok"]["processes"], json!([]));
    let id = stage.process("desk").id;
    for target in ["desk".to_owned(), id.to_string()] {
        for request in [
            json!({"read": {"target": target}}),
            json!({"write": {"target": target, "input": {"text": "x"}}}),
            json!({"kill": {"target": target}}),
            json!({"follow": {"target": target}}),
            json!({"attach": {"target": target, "size": {}, "read_only": true}}),
            json!({"ports": {"target": target}}),
        ] {
            assert_eq!(code(&client.call(request.clone())), "not_found", "{request}");
        }
    }
    let argv = child::run_for_ever();
    let elsewhere = client.call(json!({"spawn": {"argv": argv, "workspace": "local", "name": "no"}}));
    assert_eq!(code(&elsewhere), "workspace_mismatch");
    for request in [json!({"audit": {}}), json!({"shutdown": {}}), json!({"pad": {"act": {"list": {}}}})] {
        assert_eq!(code(&client.call(request.clone())), "denied", "{request}");
    }
    assert_eq!(stage.list().len(), 1, "nothing was started");
    let spec = stage.spec("mine", argv);
    let spawned = client.call(json!({"spawn": spec}));
    assert_eq!(code(&spawned), "ok", "{spawned}");
    assert_eq!(stage.process("mine").workspace, "phone");
    let cwd = stage.root().display().to_string();
    let pads = client.call(json!({"pad": {"project": cwd, "act": {"list": {}}}}));
    assert_eq!(code(&pads), "ok", "a process of the workspace is in that project: {pads}");
}

#[test]
fn n5_a_subscriber_within_a_workspace_hears_of_its_own_processes_only() {
    let stage = MarkedDaemon::start(QD);
    make_workspace(&stage, "phone");
    let mut client = limited(&stage, Some("phone"), Role::View);
    client.call(json!({"subscribe": {}}));
    stage.run("desk", child::print_and_exit("x", 0));
    stage.wait_exit("desk");
    let spec = stage.spec("mine", child::run_for_ever());
    stage.spawn_as(proto::request::Spawn { workspace: Some("phone".to_owned()), ..spec });
    let line = client.line();
    assert_eq!(line["event"]["what"]["changed"]["name"], "mine", "{line}");
}

#[test]
fn n5_a_limited_connection_types_into_no_terminal_that_acts_for_the_person() {
    let stage = MarkedDaemon::start(QD);
    stage.run_terminal("desk", child::repeat_lines());
    stage.wait_pattern("desk", "ready");
    let mut client = limited(&stage, Some("local"), Role::Type);
    let write = |target: &str| json!({"write": {"target": target, "input": {"text": "hello\n"}}});
    assert_eq!(code(&client.call(write("desk"))), "denied");
    let attach = json!({"attach": {"target": "desk", "size": {}}});
    assert_eq!(code(&client.call(attach)), "denied");
    let spec =
        proto::request::Spawn { kind: proto::Kind::Terminal, ..stage.spec("own", child::repeat_lines()) };
    assert_eq!(code(&client.call(json!({"spawn": spec}))), "ok");
    stage.wait_pattern("own", "ready");
    assert_eq!(code(&client.call(write("own"))), "ok");
    stage.wait_pattern("own", "got:hello");
    assert!(!stage.screen("desk").contains("hello"));
}

#[test]
fn n5_f11_the_audit_log_names_the_device() {
    let stage = MarkedDaemon::start(QD);
    stage.run("sibling", child::repeat_bytes());
    let mut client = limited(&stage, Some("local"), Role::Type);
    assert_eq!(code(&client.call(json!({"write": {"target": "sibling", "input": {"text": "x"}}}))), "ok");
    assert_eq!(code(&client.call(json!({"audit": {}}))), "denied");
    let page = stage.client().audit(proto::request::Audit { since: 0, limit: None, verify: true }).unwrap();
    let rows: Vec<_> = page.rows.iter().filter(|row| row.caller == "person via \"Ana's phone\"").collect();
    let words: Vec<(&str, &str)> =
        rows.iter().map(|row| (row.verb.as_str(), row.decision.as_str())).collect();
    assert_eq!(words, [("write", "allowed"), ("administer", "denied")], "{:?}", page.rows);
}
