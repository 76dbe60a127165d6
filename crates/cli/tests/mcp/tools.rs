//! Every tool once, with its result compared to its schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::proxy::Proxy;

/// A proxy whose results are compared to the schemas of its tools.
struct Checked {
    proxy: Proxy,
    schemas: BTreeMap<String, Value>,
    called: Vec<String>,
}

impl Checked {
    fn start(stage: &MarkedDaemon) -> Self {
        let mut proxy = Proxy::greeted(stage);
        let tools = proxy.request("tools/list", json!({}))["result"]["tools"].clone();
        let named = |tool: &Value| (tool["name"].as_str().unwrap().to_owned(), tool["outputSchema"].clone());
        let schemas = tools.as_array().unwrap().iter().map(named).collect();
        Self { proxy, schemas, called: Vec::new() }
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.called.push(name.to_owned());
        let given = self.proxy.tool(name, arguments);
        fits(&given, &self.schemas[name]).unwrap_or_else(|why| panic!("{name}: {why} in {given}"));
        assert!(given.to_string().len() < 20_000, "{name} gave {} bytes", given.to_string().len());
        given
    }
}

/// Checks that a value has the types and the required fields of a schema of ours.
fn fits(value: &Value, schema: &Value) -> Result<(), String> {
    let is_right = match schema["type"].as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => return Err(format!("the schema has the type {other}")),
    };
    if !is_right {
        return Err(format!("{value} is no {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Err(format!("{value} is not in {}", schema["enum"]));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        value.get(name.as_str().unwrap()).ok_or_else(|| format!("{name} is missing"))?;
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        value.get(name).map_or(Ok(()), |value| fits(value, inner).map_err(|why| format!("{name}: {why}")))?;
    }
    value.as_array().into_iter().flatten().try_for_each(|entry| fits(entry, &schema["items"]))
}

#[test]
fn every_tool_for_processes_gives_what_it_promised() {
    let stage = MarkedDaemon::start(QD);
    let mut qd = Checked::start(&stage);
    assert_eq!(qd.tool("whoami", json!({}))["caller"], json!("human"));
    let mark = stage.mark();
    let (key, value) = mark.split_once('=').unwrap();
    let spawned = qd.tool(
        "spawn_process",
        json!({"kind": "command", "argv": child::repeat_lines(), "name": "echo", "env": {key: value}}),
    );
    let id = spawned["id"].as_str().unwrap().to_owned();
    let ready = qd.tool("wait_for_pattern", json!({"process": "echo", "pattern": "^ready", "since": 0}));
    assert_eq!(ready["satisfied"][0]["id"], json!(id));
    let sent = qd.tool(
        "send_input",
        json!({"process": "echo", "kind": "text", "text": "hello", "submit": true, "wait": 5}),
    );
    assert!(sent["screen"].as_str().unwrap().contains("got:hello"), "{sent}");
    qd.tool("send_input", json!({"process": "echo", "kind": "paste", "text": "pasted\n"}));
    qd.tool("send_input", json!({"process": "echo", "kind": "key", "keys": ["a", "enter"]}));
    qd.tool("wait_for_pattern", json!({"process": &id, "pattern": "got:a$", "since": 0}));
    for mode in ["screen", "history", "stream"] {
        let read = qd.tool("get_process_output", json!({"process": "echo", "mode": mode}));
        assert!(read["text"].as_str().unwrap().contains("got:pasted"), "{mode}: {read}");
    }
    let raw = qd.tool("get_process_raw_output", json!({"process": "echo", "since": 0, "limit": 7}));
    assert_eq!((raw["bytes"].as_str(), raw["offset"].as_u64()), (Some("ready\\r\\n"), Some(7)));
    let found = qd.tool("search_output", json!({"process": "echo", "pattern": "got:.*"}));
    assert_eq!(found["matches"][0]["text"], json!("got:hello"));
    assert_eq!(qd.tool("rename_process", json!({"process": "echo", "name": "voice"}))["id"], json!(id));
    let status = qd.tool("get_process_status", json!({"process": "voice"}));
    assert_eq!((&status["status"], &status["kind"]), (&json!("running"), &json!("command")));
    assert_eq!(qd.tool("get_project_status", json!({}))["processes"], json!(1));
    assert_eq!(qd.tool("list_processes", json!({"tree": true}))["processes"][0]["depth"], json!(0));
    assert_eq!(
        qd.tool("stop_process", json!({"process": "voice", "signal": "CONT"}))["signalled"],
        json!(true)
    );
    assert!(qd.tool("stop_process", json!({"process": "voice"}))["exit"].is_string());
    let over =
        qd.tool("wait_for_state", json!({"processes": ["voice"], "states": ["exited"], "mode": "any"}));
    assert_eq!(over["status"], json!("satisfied"));
    assert_eq!(qd.tool("start_process", json!({"process": "voice"}))["run"], json!(2));
    assert_eq!(qd.proxy.refusal("start_process", json!({"process": "voice"}))["code"], json!("conflict"));
    assert_eq!(qd.tool("restart_process", json!({"process": "voice"}))["run"], json!(3));
    assert_eq!(qd.tool("close_process", json!({"process": "voice"}))["closed"], json!(true));
    assert_eq!(qd.tool("list_processes", json!({}))["processes"], json!([]));
    assert_eq!(qd.tool("get_messages", json!({}))["messages"], json!([]));
    qd.proxy.end();
}

#[test]
fn a_terminal_without_argv_is_a_shell_and_a_shell_line_is_run_by_one() {
    let stage = MarkedDaemon::start(QD);
    let mut qd = Checked::start(&stage);
    qd.tool("spawn_process", json!({"kind": "command", "shell": "echo $((20+22)); pwd", "name": "sum"}));
    qd.tool("wait_for_state", json!({"processes": ["sum"], "states": ["exited"]}));
    let text = qd.tool("get_process_output", json!({"process": "sum"}))["text"].as_str().unwrap().to_owned();
    let here = stage.root().canonicalize().unwrap();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["42", here.to_str().unwrap()],
        "it starts where the proxy does"
    );
    qd.tool("spawn_process", json!({"kind": "terminal", "name": "shell"}));
    assert_eq!(
        qd.tool("list_processes", json!({"kind": "terminal"}))["processes"][0]["name"],
        json!("shell")
    );
    qd.tool("close_process", json!({"process": "shell"}));
}

#[test]
fn a_list_of_fifty_processes_fits_twelve_kilobytes_and_longer_ones_come_in_parts() {
    let stage = MarkedDaemon::start(QD);
    for number in 0..50 {
        stage.run(&format!("a-process-with-a-name-{number:02}"), child::run_for_ever());
    }
    let mut qd = Checked::start(&stage);
    let list = qd.tool("list_processes", json!({}));
    assert_eq!(list["processes"].as_array().unwrap().len(), 50);
    assert!(list.get("next_cursor").is_none());
    let size = list.to_string().len();
    assert!(size <= 12_000, "{size} bytes");
    assert_eq!(qd.proxy.refusal("list_processes", json!({"cursor": "x"}))["field"], json!("cursor"));
}

#[test]
fn long_output_is_read_in_parts_that_meet_without_a_gap() {
    let stage = MarkedDaemon::start(QD);
    stage.run("long", child::count_lines(5_000));
    stage.wait_exit("long");
    let mut qd = Checked::start(&stage);
    let (mut since, mut text) = (0, String::new());
    loop {
        let part = qd.tool(
            "get_process_output",
            json!({"process": "long", "mode": "stream", "since": since, "limit": 16_000}),
        );
        text.push_str(part["text"].as_str().unwrap());
        since = part["offset"].as_u64().unwrap();
        if part.get("truncated").is_none() {
            break;
        }
    }
    let numbers: Vec<&str> = text.lines().filter_map(|line| line.trim_end().strip_prefix("line ")).collect();
    assert_eq!(numbers.len(), 5_000);
    assert_eq!((numbers[0], numbers[4_999]), ("1", "5000"));
}

#[test]
fn text_that_grows_in_json_still_fits_an_answer() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quotes", child::shell(r#"i=0; while [ $i -lt 400 ]; do printf '%s\n' '""""""""""""""""""""""""""""""""""""""""""""""""""'; i=$((i+1)); done"#));
    stage.wait_exit("quotes");
    let mut qd = Checked::start(&stage);
    let read =
        qd.tool("get_process_output", json!({"process": "quotes", "mode": "history", "limit": 16_000}));
    assert!(read["text"].as_str().unwrap().len() > 4_000);
    qd.tool("search_output", json!({"process": "quotes", "pattern": "\"+", "limit": 200}));
    qd.tool("get_process_raw_output", json!({"process": "quotes"}));
}

#[test]
fn output_without_line_feeds_fits_an_answer_and_is_read_to_its_end() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quotes", child::shell("head -c 100000 /dev/zero | tr '\\0' '\"'"));
    stage.wait_exit("quotes");
    let mut qd = Checked::start(&stage);
    let small = qd
        .tool("get_process_output", json!({"process": "quotes", "mode": "stream", "since": 0, "limit": 100}));
    assert_eq!((small["text"].as_str().unwrap().len(), &small["offset"]), (100, &json!(100)));
    for (mode, last) in [("stream", 100_000), ("history", 1250)] {
        let (mut since, mut text) = (0, String::new());
        while since < last {
            let part = qd.tool(
                "get_process_output",
                json!({"process": "quotes", "mode": mode, "since": since, "limit": 16_000}),
            );
            text.push_str(part["text"].as_str().unwrap());
            since = part["offset"].as_u64().unwrap();
        }
        assert!(text.trim_end() == "\"".repeat(100_000), "{mode}: {} bytes", text.len());
    }
}

#[test]
fn c7_escape_sequences_of_a_child_reach_no_answer() {
    let stage = MarkedDaemon::start(QD);
    stage.run(
        "evil",
        child::shell(r"printf '\033]0;title\033\\\033[2J\033[31mred\033[0m\007\n'; exec sleep 1000"),
    );
    stage.wait_pattern("evil", "red");
    let mut qd = Checked::start(&stage);
    for (tool, arguments) in [
        ("get_process_output", json!({"process": "evil", "mode": "stream"})),
        ("get_process_raw_output", json!({"process": "evil"})),
        ("get_process_status", json!({"process": "evil"})),
        ("list_processes", json!({})),
    ] {
        let given = qd.tool(tool, arguments).to_string();
        assert!(!given.contains("\\u001b") && !given.contains("\\u0007"), "{tool}: {given}");
    }
}
