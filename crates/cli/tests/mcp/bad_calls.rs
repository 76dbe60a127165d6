//! Thousands of calls that are wrong in one place each, and lines that are not calls: each gets an error that
//! names the fault, and the next call works.

use serde_json::{Map, Value, json};
use testkit::{MarkedDaemon, TestDaemon, child};

use crate::QD;
use crate::proxy::{Proxy, with_tasks};

/// Values of every type, ordinary and extreme.
fn values() -> Vec<Value> {
    let mut values = vec![json!(null), json!(true), json!(false)];
    let numbers =
        [0.5, -0.5, 1.5, -1.0, 1e16, 1e19, 1e300, 1e308, -1e308, 3.7e9, 604_801.0, 0.1, -0.0001, 2.5e-3];
    values.extend(numbers.map(|number| json!(number)));
    let integers = [i64::MIN, i64::MAX, -1, -2, 1 << 53, 4_294_967_296, 65_536, 100_000];
    values.extend(integers.map(|number| json!(number)));
    values.push(json!(u64::MAX));
    let texts = [
        "",
        "\u{0}",
        "a\u{0}b",
        "NaN",
        "Infinity",
        "-1",
        "5",
        "null",
        "true",
        "[]",
        "{}",
        "../../etc/passwd",
        "$(id)",
        "%s%n",
        "\u{1b}]0;x\u{7}",
        "\u{202e}abc",
        "\u{feff}",
        "p_",
        "日本",
        "a b",
        "-rf",
        ".",
        "..",
        "any,all",
        "SCREEN",
        " screen",
    ];
    values.extend(texts.map(|text| json!(text)));
    values.push(json!("x".repeat(300_000)));
    let lists = [
        json!([]),
        json!([null]),
        json!([1]),
        json!([[]]),
        json!([{}]),
        json!([""]),
        json!(["a\u{0}"]),
        json!([true]),
    ];
    values.extend(lists);
    values.push(json!(vec!["x"; 300]));
    values.push(json!([["x", "y"], ["z"]]));
    let objects = [
        json!({}),
        json!({"a": 1}),
        json!({"": "x"}),
        json!({"a=b": "x"}),
        json!({"a": null}),
        json!({"a": {"b": "c"}}),
        json!({"a\u{0}": "x"}),
        json!({"a": ["x"]}),
        json!({"$ref": "#"}),
        json!({"__proto__": {}}),
        json!({"type": "string"}),
    ];
    values.extend(objects);
    for number in 0..24 {
        values.push(json!({"n": number}));
        values.push(json!([number, "x"]));
    }
    values
}

/// Returns true if a value fits the schema; texts may still be refused for their content.
fn is_wanted(value: &Value, schema: &Value) -> bool {
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    let number = value.as_f64();
    let least = schema["minimum"].as_f64().unwrap_or(f64::MIN);
    let most = schema["maximum"].as_f64().unwrap_or(9.3e18);
    let is_in_range = number.is_some_and(|number| (least..=most).contains(&number));
    match schema["type"].as_str().unwrap() {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => is_in_range,
        "integer" => is_in_range && number.is_some_and(|number| number.fract() == 0.0),
        "array" => value.as_array().is_some_and(|list| {
            !list.is_empty() && list.iter().all(|entry| is_wanted(entry, &schema["items"]))
        }),
        "object" => value.as_object().is_some_and(|object| object.values().all(Value::is_string)),
        other => panic!("the schema has the type {other}"),
    }
}

/// Returns a value that this schema accepts.
fn plausible(schema: &Value) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    match schema["type"].as_str().unwrap() {
        "string" => json!("nobody"),
        "boolean" => json!(false),
        "number" | "integer" => json!(1),
        "array" => json!([plausible(&schema["items"])]),
        _ => json!({}),
    }
}

/// Returns every tool, with arguments that are wrong in one field each, and that field's name.
fn wrong_calls(tools: &[Value]) -> Vec<(String, Map<String, Value>, String)> {
    let mut calls = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let fields = schema["properties"].as_object().unwrap();
        let good: Map<String, Value> =
            required.iter().map(|field| ((*field).to_owned(), plausible(&fields[*field]))).collect();
        for field in &required {
            let mut missing = good.clone();
            missing.remove(*field);
            calls.push((name.to_owned(), missing, (*field).to_owned()));
        }
        for unknown in ["Process", "procес", "x", "timeout", "__proto__", "arguments"] {
            let mut more = good.clone();
            more.insert(unknown.to_owned(), json!("x"));
            calls.push((name.to_owned(), more, unknown.to_owned()));
        }
        for (field, inner) in fields {
            for value in values().into_iter().filter(|value| !is_wanted(value, inner)) {
                let mut wrong = good.clone();
                wrong.insert(field.clone(), value);
                calls.push((name.to_owned(), wrong, field.clone()));
            }
        }
    }
    calls
}

#[test]
fn e8_five_thousand_wrong_calls_are_each_told_the_field_and_the_next_one_works() {
    let daemon = TestDaemon::without_start(QD);
    let mut count = 0;
    for mut proxy in [Proxy::greeted(&daemon), Proxy::modern(&daemon, with_tasks())] {
        let tools = proxy.request("tools/list", json!({}))["result"]["tools"].clone();
        for (tool, arguments, field) in wrong_calls(tools.as_array().unwrap()) {
            let shown: String = json!(arguments).to_string().chars().take(200).collect();
            let error = proxy.refusal(&tool, Value::Object(arguments));
            assert_eq!(error["code"], json!("invalid_args"), "{tool} {shown}: {error}");
            assert_eq!(error["field"], json!(field), "{tool} {shown}: {error}");
            assert!(error["message"].as_str().unwrap().starts_with(&field), "{tool} {shown}: {error}");
            count += 1;
            if count % 50 == 0 {
                assert_eq!(
                    proxy.tool("help", json!({"topic": "io"}))["topic"],
                    json!("io"),
                    "after {tool} {shown}"
                );
            }
        }
        proxy.end();
    }
    assert!(count >= 5_000, "{count} calls");
    assert!(!daemon.dirs().socket().exists(), "wrong arguments are no reason to start a daemon");
}

#[test]
fn a_process_nobody_knows_is_blamed_on_the_argument_that_names_it() {
    let stage = MarkedDaemon::start(QD);
    stage.run("known", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let names =
        ["nobody", "p_00000000", "../x", "a b", "\u{1b}[2J", "'; drop table", "日本", "KNOWN", "known ", "-"];
    for name in names {
        for (tool, arguments) in [
            ("get_process_status", json!({"process": name})),
            ("get_process_output", json!({"process": name})),
            ("get_process_raw_output", json!({"process": name})),
            ("search_output", json!({"process": name, "pattern": "x"})),
            ("wait_for_pattern", json!({"process": name, "pattern": "x"})),
            ("send_input", json!({"process": name, "kind": "text", "text": "x"})),
            ("start_process", json!({"process": name})),
            ("restart_process", json!({"process": name})),
            ("stop_process", json!({"process": name})),
            ("close_process", json!({"process": name})),
            ("rename_process", json!({"process": name, "name": "x"})),
            ("explain_state", json!({"process": name})),
            ("get_result", json!({"process": name})),
        ] {
            let error = proxy.refusal(tool, arguments);
            assert_eq!(
                (&error["code"], &error["field"]),
                (&json!("not_found"), &json!("process")),
                "{tool} {name:?}: {error}"
            );
            assert!(!error.to_string().contains("\\u001b"), "{error}");
        }
        let error =
            proxy.refusal("wait_for_state", json!({"processes": ["known", name], "states": ["exited"]}));
        assert_eq!(error["field"], json!("processes"), "{name:?}: {error}");
        let error = proxy.refusal("send_message", json!({"target": name, "message": "x"}));
        assert_eq!(error["field"], json!("target"), "{name:?}: {error}");
    }
}

#[test]
fn what_only_the_daemon_can_judge_is_blamed_on_the_right_argument() {
    let stage = MarkedDaemon::start(QD);
    stage.run("known", child::run_for_ever());
    stage.wait_pattern("known", "ready");
    let mut proxy = Proxy::greeted(&stage);
    for (tool, arguments, field) in [
        ("search_output", json!({"process": "known", "pattern": "("}), "pattern"),
        ("wait_for_pattern", json!({"process": "known", "pattern": "(a{0,999}){999}"}), "pattern"),
        ("send_input", json!({"process": "known", "kind": "key", "keys": ["hyper-x"]}), "keys"),
        ("send_input", json!({"process": "known", "kind": "key", "text": "x"}), "text"),
        ("send_input", json!({"process": "known", "kind": "text", "keys": ["a"], "text": "x"}), "keys"),
        ("get_process_output", json!({"process": "known", "since": 3}), "since"),
        ("rename_process", json!({"process": "known", "name": "a b"}), "name"),
        ("spawn_process", json!({"kind": "command"}), "argv"),
        ("spawn_process", json!({"kind": "command", "argv": ["true"], "shell": "true"}), "shell"),
        ("spawn_process", json!({"kind": "command", "argv": ["true"], "name": "known"}), "name"),
        ("spawn_process", json!({"kind": "command", "argv": ["true"], "name": "a/b"}), "name"),
        ("wait_for_state", json!({"processes": ["known"], "states": ["idle"]}), "states"),
        ("get_messages", json!({"message_id": 99_999}), "message_id"),
    ] {
        let error = proxy.refusal(tool, arguments.clone());
        assert_eq!(error["field"], json!(field), "{tool} {arguments}: {error}");
    }
    let error = proxy.refusal(
        "spawn_process",
        json!({"kind": "command", "argv": ["true"], "working_dir": "/no/such/place"}),
    );
    assert_eq!((&error["code"], &error["field"]), (&json!("workdir_gone"), &json!("working_dir")), "{error}");
    let error = proxy.refusal("spawn_process", json!({"kind": "command", "argv": ["/no/such/program"]}));
    assert_eq!((&error["code"], &error["field"]), (&json!("spawn_failed"), &json!("argv")), "{error}");
}

#[test]
fn e8_a_line_that_is_no_message_is_answered_and_the_next_one_works() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::greeted(&daemon);
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    let deep_argument = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"help","arguments":{}1{}}}}}"#,
        r#"{"a":"#.repeat(100),
        "}".repeat(100)
    );
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "i".repeat(200));
    let broken: [&[u8]; 18] = [
        b"garbage",
        b"{",
        b"}",
        b"null",
        b"42",
        b"\"text\"",
        b"[]",
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        b"\xff\xfe\xfd",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\\",
        b"\x00\x01\x02",
        &deep,
        deep_argument.as_bytes(),
        long_id.as_bytes(),
        br#"{"id":1,"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":1}"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}"#,
    ];
    for line in broken {
        proxy.write(line);
        proxy.write(b"\n");
        let answer = proxy.line();
        let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"));
        assert!([-32700, -32600, -32602].contains(&code), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(':'), "no field: {answer}");
        assert_eq!(proxy.request("ping", json!({}))["result"], json!({}));
    }
}

#[test]
fn e8_sixty_four_megabytes_without_a_newline_cost_no_memory_and_one_answer() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::greeted(&daemon);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        proxy.write(&piece);
    }
    proxy.write(b"\n");
    assert_eq!(proxy.line()["error"]["code"], json!(-32600));
    assert_eq!(proxy.request("ping", json!({}))["result"], json!({}));
    let status = std::fs::read_to_string(format!("/proc/{}/status", proxy.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    assert!(peak < 64 << 10, "{peak} KiB");
}

#[test]
fn e8_methods_and_parameters_that_are_wrong_name_what_is() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::greeted(&daemon);
    for (method, params, code, field) in [
        ("no/such/method", json!({}), -32601, "method"),
        ("tools/call", json!({}), -32602, "name"),
        ("tools/call", json!({"name": 3}), -32602, "name"),
        ("tools/call", json!({"name": "no_such_tool"}), -32602, "name"),
        ("tools/call", json!({"name": "help", "arguments": []}), -32602, "arguments"),
        ("tools/call", json!({"name": "help", "arguments": "x"}), -32602, "arguments"),
        ("resources/read", json!({}), -32602, "uri"),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32002, "uri"),
        ("resources/subscribe", json!({"uri": "qd://nothing"}), -32002, "uri"),
        ("prompts/get", json!({"name": "no_such_prompt"}), -32602, "name"),
        ("prompts/get", json!({"name": "lead_a_team"}), -32602, "goal"),
        ("completion/complete", json!({"ref": 3}), -32602, "ref"),
        ("tasks/get", json!({"taskId": 3}), -32602, "taskId"),
        ("initialize", json!({"protocolVersion": 3}), -32602, "protocolVersion"),
    ] {
        let error = proxy.request(method, params.clone())["error"].clone();
        assert_eq!(error["code"], json!(code), "{method} {params}: {error}");
        assert!(
            error["message"].as_str().unwrap().starts_with(&format!("{field}:")),
            "{method} {params}: {error}"
        );
    }
    assert_eq!(proxy.tool("help", json!({}))["topic"], json!("topics"));
}

#[test]
fn e8_an_id_in_use_is_refused_and_both_requests_are_answered() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quiet", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let wait = json!({"name": "wait_for_pattern", "arguments": {"process": "quiet", "pattern": "never", "timeout_seconds": 1}});
    let id = proxy.begin("tools/call", wait);
    proxy.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    let refused = proxy.line();
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("id:"), "{refused}");
    let answer = proxy.line();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(id), &json!(true)), "{answer}");
    proxy.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!(proxy.line()["result"], json!({}), "an answered id is free again");
}
