//! What agents may start: presets, trust, budgets, and what they can find out about their environment.

use proto::agent::ItemKind;
use serde_json::{Value, json};
use testkit::{FakeAgents, MarkedDaemon};

use crate::QD;
use crate::lead;
use crate::proxy::Proxy;

const PRESETS: &str = r#"
[preset.server]
argv = ["/bin/sh", "-c", "echo listening; exec sleep 1000"]
ready = { pattern = "listening" }

[preset.once]
argv = ["/bin/sh", "-c", "echo ran"]
"#;

fn with_presets() -> (FakeAgents, Proxy) {
    let crew = lead::crew();
    std::fs::write(crew.root().join(".quarterdeck.toml"), PRESETS).unwrap();
    let agent = lead::enlist(&crew, "lead");
    (crew, agent)
}

#[test]
fn a_preset_is_listed_asked_about_allowed_started_and_waited_for() {
    let (crew, mut agent) = with_presets();
    let project = agent.tool("get_project_status", json!({}));
    let presets = project["presets"].as_array().unwrap();
    let names: Vec<&Value> = presets.iter().map(|preset| &preset["preset"]).collect();
    assert_eq!(names, [&json!("once"), &json!("server")], "{project}");
    assert_eq!(presets[1]["is_trusted"], json!(false), "{project}");
    let request = json!({"kind": "command", "preset": "server", "name": "web"});
    let error = agent.refusal("spawn_process", request.clone());
    assert_eq!(error["code"], json!("needs_trust"), "{error}");
    let item = crew.item_of("lead", ItemKind::Trust);
    assert_eq!(error["item"], json!(item.item), "{error}");
    assert_eq!(
        agent.refusal("spawn_process", request.clone())["item"],
        json!(item.item),
        "one question, not two"
    );
    crew.answer(item.item, "always").unwrap();
    let spawned = agent.tool("spawn_process", request);
    assert_eq!(spawned["name"], json!("web"), "{spawned}");
    let waited = agent
        .tool("wait_for_state", json!({"processes": ["web"], "states": ["ready"], "timeout_seconds": 30}));
    assert_eq!(waited["satisfied"][0]["name"], json!("web"), "{waited}");
    let status = agent.tool("get_process_status", json!({"process": "web"}));
    assert_eq!((&status["preset"], &status["ready"]), (&json!("server"), &json!(true)), "{status}");
    let project = agent.tool("get_project_status", json!({}));
    assert_eq!(project["presets"][1]["is_trusted"], json!(true), "{project}");
}

#[test]
fn b7_a_preset_is_started_as_it_is_or_not_at_all() {
    let (crew, mut agent) = with_presets();
    for (arguments, code, field) in [
        (json!({"kind": "command", "preset": "nothing"}), "not_found", "preset"),
        (json!({"kind": "command", "preset": "server", "argv": ["true"]}), "invalid_args", "argv"),
        (json!({"kind": "command", "preset": "server", "shell": "true"}), "invalid_args", "shell"),
        (json!({"kind": "command", "preset": "server", "env": {"A": "b"}}), "invalid_args", "env"),
        (json!({"kind": "terminal", "preset": "server"}), "invalid_args", "kind"),
    ] {
        let error = agent.refusal("spawn_process", arguments.clone());
        assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!(field)), "{arguments}: {error}");
    }
    assert!(crew.inbox().is_empty(), "no person was asked: {:?}", crew.inbox());
}

#[test]
fn a_refusal_by_a_person_is_denied_and_asked_once() {
    let (crew, mut agent) = with_presets();
    let request = json!({"kind": "command", "argv": ["sleep", "1000"]});
    assert_eq!(agent.refusal("spawn_process", request.clone())["code"], json!("needs_trust"));
    crew.answer(crew.item_of("lead", ItemKind::Trust).item, "deny").unwrap();
    assert_eq!(agent.refusal("spawn_process", request)["code"], json!("denied"));
    assert!(crew.inbox().iter().all(|item| item.kind != ItemKind::Trust));
}

#[test]
fn an_agent_starts_agents_without_leave_until_its_budget_is_used_up() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let who = lead::identity(&mut agent);
    assert_eq!(who["budget"]["spawns"], json!("0 of 200"), "{who}");
    assert_eq!(who["heads"].as_array().unwrap().len(), 5, "{who}");
    assert!(who["project"].as_str().is_some(), "{who}");
    agent.tool("spawn_agent", json!({"agent": "fake", "name": "child"}));
    let who = lead::identity(&mut agent);
    assert_eq!(who["budget"]["spawns"], json!("1 of 200"), "{who}");
    assert_eq!(who["children"][0]["name"], json!("child"), "{who}");
    let mut error = Value::Null;
    for _ in 0..40 {
        let answer = agent.call("spawn_agent", json!({"agent": "fake"}));
        if answer["isError"] == json!(true) {
            error = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
            break;
        }
    }
    assert_eq!(error["error"]["code"], json!("budget_exceeded"), "{error}");
    assert!(error["error"]["message"].as_str().unwrap().contains("live"), "it names the limit: {error}");
}

#[test]
fn b6_a_stranger_is_not_related() {
    let crew = lead::crew();
    crew.enlist("stranger", &[]);
    let mut agent = lead::enlist(&crew, "lead");
    for (tool, arguments) in [
        ("get_process_output", json!({"process": "stranger"})),
        ("stop_process", json!({"process": "stranger"})),
        ("get_process_ports", json!({"process": "stranger"})),
        ("select_process", json!({"process": "stranger"})),
        ("wait_for_state", json!({"processes": ["stranger"], "states": ["idle"]})),
        ("timer_set", json!({"processes": ["stranger"], "body": "x", "mode": "any", "seconds": 5})),
    ] {
        let error = agent.refusal(tool, arguments);
        assert_eq!(error["code"], json!("not_related"), "{tool}: {error}");
        assert!(error["field"].as_str().is_some_and(|field| field.starts_with("process")), "{tool}: {error}");
    }
}

#[test]
fn the_ports_of_a_process_are_told_and_it_can_be_shown_to_the_person() {
    let crew = lead::crew();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let script = format!(
        "exec perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => {port}, Listen => 1) or die; $| = 1; print \"listening\\n\"; sleep 1000'"
    );
    crew.run("web", testkit::child::shell(&script));
    crew.wait_pattern("web", "listening");
    let mut person = Proxy::greeted(&crew);
    let ports = person.tool("get_process_ports", json!({"process": "web"}));
    assert_eq!(ports["ports"][0]["port"], json!(port), "{ports}");
    let mut subscriber = crew.subscriber();
    let told = person.tool("select_process", json!({"process": "web"}));
    assert_eq!(told["selected"], json!(true));
    crew.until_event(
        &mut subscriber,
        |event| matches!(event, proto::Event::Selected { id, .. } if json!(id) == told["id"]),
    );
}

#[test]
fn m11_what_a_person_starts_by_a_server_gets_that_servers_environment_and_path() {
    let stage = MarkedDaemon::start(QD);
    let bin = stage.root().join("own-bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("only-here");
    std::fs::write(&program, "#!/bin/sh\necho \"url=$DATABASE_URL\"\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = stage.command(&["mcp"]);
    command.current_dir(stage.root()).env("DATABASE_URL", "postgres://x");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut proxy = Proxy::run(command);
    proxy.initialize("2025-11-25");
    let argv = json!(["only-here"]);
    proxy.tool("spawn_process", json!({"kind": "command", "name": "x", "argv": argv}));
    stage.wait_exit("x");
    let log = String::from_utf8(stage.qd(&["logs", "x"]).stdout).unwrap();
    assert!(log.contains("url=postgres://x"), "{log}");
}

#[test]
fn m13_the_output_of_a_run_before_and_what_a_start_lacks_are_told() {
    let stage = MarkedDaemon::start(QD);
    let mut proxy = Proxy::greeted(&stage);
    let line = "echo run $QD_TASK_ID; exit 3";
    proxy.tool("spawn_process", json!({"kind": "command", "name": "x", "shell": line}));
    stage.wait_exit("x");
    let first = stage.process("x").run;
    let again = proxy.tool("restart_process", json!({"process": "x"}));
    assert!(again.get("shortfalls").is_none(), "{again}");
    stage.wait_exit("x");
    for run in [json!(0), json!(first)] {
        let told = proxy.tool("get_process_output", json!({"process": "x", "mode": "stream", "run": run}));
        assert!(told["text"].as_str().unwrap().contains("run"), "{told}");
    }
    let missing = proxy.refusal("get_process_output", json!({"process": "x", "run": 99}));
    assert_eq!(missing["code"], json!("not_found"), "{missing}");
}
