//! Every wrong request that a client can send: each gets an error, the next request on the same connection
//! works, and nothing that runs is lost.

#![expect(clippy::panic, reason = "a test that cannot be set up has failed")]

use proto::frame::{DataKind, data_header};
use serde_json::{Value, json};
use testkit::{MarkedDaemon, RawClient, child, scaled};

#[path = "bad_input/command_line.rs"]
mod command_line;
#[path = "bad_input/samples.rs"]
mod samples;

use samples::requests;

/// A daemon with a running process that must survive everything.
struct Scene {
    stage: MarkedDaemon,
    client: RawClient,
}

impl Scene {
    fn new() -> Self {
        let stage = MarkedDaemon::start(env!("CARGO_BIN_EXE_qd"));
        stage.run("witness", child::repeat_lines());
        stage.wait_pattern("witness", "ready");
        let client = RawClient::welcomed(&stage.dirs());
        Self { stage, client }
    }

    /// The next request on the same connection works.
    fn still_works(&mut self, after: &str) {
        let answer = self.client.call(json!({"read": {"target": "witness"}}));
        let text = answer["outcome"]["ok"]["text"]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains("ready")), "after {after}: {answer}");
    }

    /// Returns the error of a request.
    fn refused(&mut self, request: Value) -> (String, String) {
        let told = request.to_string();
        let answer = self.client.call(request);
        let error = error(&answer).unwrap_or_else(|| panic!("{told} was not refused: {answer}"));
        self.still_works(&told);
        error
    }

    /// Nothing was lost: the process that ran before all this still answers.
    fn witness(self) {
        self.stage.type_text("witness", "alive\n");
        self.stage.wait_pattern("witness", "got:alive");
    }
}

/// Returns code and message of an error, safe to show.
fn error(answer: &Value) -> Option<(String, String)> {
    let error = &answer["outcome"]["error"];
    let message = error["message"].as_str()?;
    let all = format!("{message}{}", error["hint"].as_str().unwrap_or_default());
    assert!(!message.is_empty() && !all.chars().any(char::is_control), "not fit to be shown: {answer}");
    Some((error["code"].as_str()?.to_owned(), message.to_owned()))
}

#[test]
fn unknown_and_dead_processes_are_told() {
    let mut scene = Scene::new();
    scene.stage.run("dead", child::print_and_exit("x", 3));
    scene.stage.wait_exit("dead");
    let verbs = |target: &str| {
        vec![
            json!({"read": {"target": target}}),
            json!({"search": {"target": target, "pattern": "x"}}),
            json!({"wait": {"targets": ["witness", target], "until": {"exit": {}}}}),
            json!({"write": {"target": target, "input": {"text": "x"}}}),
            json!({"write": {"target": target, "input": {"paste_stream": {}}}}),
            json!({"resize": {"target": target, "size": {"cols": 10}}}),
            json!({"kill": {"target": target}}),
            json!({"close": {"target": target}}),
            json!({"restart": {"target": target}}),
            json!({"rename": {"target": target, "name": "x"}}),
            json!({"attach": {"target": target, "size": {}}}),
            json!({"follow": {"target": target}}),
        ]
    };
    for target in ["nobody", "p_zzzzzzzz", "", "a/b", "\u{1b}[2J", "\u{202e}x", &"x".repeat(100_000)] {
        for request in verbs(target) {
            let (code, message) = scene.refused(request.clone());
            assert_eq!(code, "not_found", "{request} {message}");
            assert!(message.contains("no process") && message.len() < 1000, "{message}");
        }
    }
    for request in [
        json!({"write": {"target": "dead", "input": {"text": "x"}}}),
        json!({"write": {"target": "dead", "input": {"keys": ["enter"]}}}),
        json!({"kill": {"target": "dead"}}),
        json!({"kill": {"target": "dead", "signal": 15}}),
    ] {
        let (code, message) = scene.refused(request);
        assert_eq!(code, "not_running");
        assert!(message.contains("dead"), "{message}");
    }
    scene.witness();
}

#[test]
fn bad_names_sizes_programs_and_directories_are_told_by_name() {
    let mut scene = Scene::new();
    let long = "x".repeat(41);
    for name in ["", "a b", "a/b", "\u{0}", "\u{1b}]0;x\u{7}", "\u{202e}", "..", "-rf", "p_00000000", &long] {
        for request in [
            json!({"spawn": {"argv": ["true"], "name": name}}),
            json!({"rename": {"target": "witness", "name": name}}),
        ] {
            let (code, message) = scene.refused(request);
            assert_eq!(code, "invalid_args", "{name:?}: {message}");
            assert!(message.starts_with("name: "), "{name:?}: {message}");
        }
    }
    let (code, _) = scene.refused(json!({"spawn": {"argv": ["true"], "name": "witness"}}));
    assert_eq!(code, "conflict");
    for (request, code, word) in [
        (json!({"spawn": {"argv": ["/no/such"]}}), "spawn_failed", "/no/such"),
        (json!({"spawn": {"argv": ["/dev/null"]}}), "spawn_failed", "/dev/null"),
        (json!({"spawn": {"argv": ["true"], "cwd": "/no/such"}}), "workdir_gone", "/no/such"),
        (json!({"spawn": {"argv": ["true"], "cwd": "/dev/null"}}), "workdir_gone", "/dev/null"),
        (json!({"spawn": {"argv": ["true"], "cwd": "relative"}}), "invalid_args", "cwd"),
        (json!({"spawn": {"argv": ["true"], "cwd": "/\u{0}"}}), "invalid_args", "cwd"),
        (json!({"spawn": {"argv": []}}), "invalid_args", "argv"),
        (json!({"spawn": {"argv": [""]}}), "invalid_args", "argv"),
        (json!({"spawn": {"argv": ["a\u{0}b"]}}), "invalid_args", "argv"),
        (json!({"spawn": {"argv": ["true", "x".repeat(2 << 20)]}}), "invalid_args", "argv"),
        (json!({"spawn": {"argv": ["true"], "env": {"A=B": "x"}}}), "invalid_args", "env"),
        (json!({"spawn": {"argv": ["true"], "env": {"QD_PROCESS_ID": "x"}}}), "invalid_args", "QD_"),
        (json!({"spawn": {"argv": ["true"], "idle_timeout_ms": 0}}), "invalid_args", "idle_timeout_ms"),
        (json!({"spawn": {"argv": ["true"], "task": "t"}}), "task_not_found", "\"t\""),
        (json!({"kill": {"target": "witness", "signal": 0}}), "invalid_args", "signal"),
        (json!({"kill": {"target": "witness", "signal": 65}}), "invalid_args", "signal"),
        (json!({"read": {"target": "witness", "limit": 0}}), "invalid_args", "limit"),
        (json!({"follow": {"target": "witness", "from": 1u64 << 60}}), "invalid_args", "from"),
        (json!({"search": {"target": "witness", "pattern": "("}}), "invalid_args", "pattern"),
        (json!({"search": {"target": "witness", "pattern": "(a{0,999}){999}"}}), "invalid_args", "pattern"),
        (json!({"wait": {"targets": [], "until": {"exit": {}}}}), "invalid_args", "targets"),
        (json!({"wait": {"targets": ["witness"], "until": {"pattern": "["}}}), "invalid_args", "pattern"),
        (
            json!({"wait": {"targets": ["witness"], "until": {"silence": u64::MAX}}}),
            "invalid_args",
            "silence",
        ),
        (json!({"write": {"target": "witness", "input": {"keys": []}}}), "invalid_args", "keys"),
        (json!({"write": {"target": "witness", "input": {"keys": ["no-such-key"]}}}), "invalid_args", "keys"),
        (json!({"view": {"repaint": {}}}), "protocol", "attached"),
    ] {
        let (told, message) = scene.refused(request.clone());
        assert_eq!(told, code, "{request}: {message}");
        assert!(message.contains(word), "{request}: {message}");
    }
    // No size is wrong: sizes are clamped.
    for size in [json!({"cols": 0, "rows": 0}), json!({"cols": u32::MAX, "rows": u32::MAX}), json!({})] {
        let answer = scene.client.call(json!({"resize": {"target": "witness", "size": size}}));
        assert!(error(&answer).is_none(), "{answer}");
    }
    scene.witness();
}

fn bad_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}"),
        json!("\u{1b}]0;x\u{7}\u{9b}2J"),
        json!("x".repeat(10_000)),
        json!([]),
        json!([[[[]]]]),
        json!({}),
        json!({"a": {"b": null}}),
        json!([null, 1, "x"]),
    ]
}

/// The pointer of every field below the verb.
fn fields(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (name, inner) in entries {
                let path = format!("{at}/{name}");
                fields(inner, &path, found);
                found.push(path);
            }
        }
        Value::Array(items) => {
            for (place, inner) in items.iter().enumerate() {
                let path = format!("{at}/{place}");
                fields(inner, &path, found);
                found.push(path);
            }
        }
        _ => {}
    }
}

/// Fields that are found wrong together with another one, and the name in the error.
const TOGETHER: [(&str, &str); 1] = [("/wait/targets", "since_version: ")];

/// Returns true if a message names the field at `path`; for a place in a list, the list. If the whole
/// arguments of a verb were replaced, any of its fields.
fn is_named(message: &str, path: &str, paths: &[String]) -> bool {
    let word = |path: &str| path.rsplit('/').find(|word| word.parse::<usize>().is_err()).map(str::to_owned);
    let is_in = |path: &str| word(path).is_some_and(|word| message.contains(&word));
    let beside = TOGETHER.iter().any(|(field, other)| path == *field && message.starts_with(other));
    is_in(path) || beside || path.matches('/').count() == 1 && paths.iter().any(|path| is_in(path))
}

/// Returns true if the request would really end the daemon.
fn is_a_real_shutdown(request: &Value) -> bool {
    let Some(arguments) = request.get("shutdown") else { return false };
    let kill = arguments.get("kill");
    arguments.is_object() && kill.is_none_or(Value::is_boolean)
        || arguments.as_array().is_some_and(Vec::is_empty)
}

/// Sends one request with one bad value in one field: it is answered, and an invalid request is refused by
/// the name of the field.
fn answer_to_bad(scene: &mut Scene, broken: &Value, path: &str, paths: &[String]) {
    let answer = scene.client.call(broken.clone());
    let refusal = error(&answer);
    let is_request = serde_json::from_value::<proto::Request>(broken.clone()).is_ok();
    assert!(is_request || refusal.is_some(), "{broken}: taken as a request: {answer}");
    if let Some((code, message)) = refusal {
        assert!(is_request || code == "invalid_args", "{broken}: {code}: {message}");
        assert!(code != "internal", "{broken}: {message}");
        let is_told = code != "invalid_args" || is_named(&message, path, paths);
        assert!(is_told, "{broken}: {path} is not named in: {message}");
    }
    if broken.get("hello").is_none() {
        return scene.still_works(&broken.to_string());
    }
    // A client that greets again may be another caller now; it is answered all the same.
    let answer = scene.client.call(json!({"status": {}}));
    assert!(answer["outcome"]["ok"]["status"].is_object(), "after {broken}: {answer}");
    scene.client = RawClient::welcomed(&scene.stage.dirs());
}

#[test]
fn e8_every_field_of_every_request_with_every_bad_value_is_answered_by_name() {
    let mut scene = Scene::new();
    let mut cases = 0;
    for request in requests() {
        let mut paths = Vec::new();
        fields(&request, "", &mut paths);
        for path in &paths {
            for bad in bad_values() {
                let mut broken = request.clone();
                *broken.pointer_mut(path).unwrap() = bad.clone();
                if is_a_real_shutdown(&broken) {
                    continue;
                }
                answer_to_bad(&mut scene, &broken, path, &paths);
                cases += 1;
            }
        }
    }
    assert!(cases >= 3000, "{cases} cases");
    scene.witness();
}

#[test]
fn e8_missing_fields_and_unknown_verbs_are_told_by_name() {
    let mut scene = Scene::new();
    for (request, word) in [
        (json!({"kill": {}}), "target"),
        (json!({"rename": {"target": "x"}}), "name"),
        (json!({"wait": {"targets": ["x"]}}), "until"),
        (json!({"write": {"target": "x"}}), "input"),
        (json!({"search": {"target": "x"}}), "pattern"),
        (json!({"frobnicate": {}}), "frobnicate"),
        (json!({"kill": {"target": "x"}, "close": {"target": "x"}}), "request"),
        (json!({}), "request"),
        (json!("kill"), "request"),
        (json!(null), "request"),
    ] {
        let (code, message) = scene.refused(request.clone());
        assert_eq!(code, "invalid_args", "{request}");
        assert!(message.contains(word), "{request}: {message}");
    }
    scene.witness();
}

/// Pseudo-random, the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length.div_ceil(8)).flat_map(|_| self.roll().to_le_bytes()).take(length).collect()
    }
}

/// Sends bytes that are not a request; returns the errors until the next request is answered.
fn said_about(scene: &mut Scene, bytes: &[u8]) -> Vec<(String, String)> {
    scene.client.send(bytes);
    // A stretch that ended inside a frame is over after the first line feed, a line after the second.
    scene.client.send(b"\n\n");
    let id = scene.client.ask(json!({"list": {}}));
    let mut errors = Vec::new();
    loop {
        let line = scene.client.line();
        if line["reply"]["id"] == id {
            assert!(line["reply"]["outcome"]["ok"]["processes"].is_array(), "{line}");
            return errors;
        }
        errors.extend(error(&line["reply"]));
    }
}

#[test]
fn e8_binary_garbage_is_one_error_a_stretch_and_the_next_request_works() {
    let mut scene = Scene::new();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..scaled(40) {
        let length = match round % 4 {
            0 => 1 << 10,
            1 => 1 << 14,
            2 => 1 << 17,
            _ => 1 << 20,
        };
        let mut garbage = dice.bytes(length);
        if round % 2 == 0 {
            garbage[0] = 1;
        }
        let errors = said_about(&mut scene, &garbage);
        assert!(!errors.is_empty(), "round {round}");
        assert!(
            errors.iter().all(|(code, _)| matches!(code.as_str(), "protocol" | "invalid_args")),
            "{errors:?}"
        );
    }
    scene.witness();
}

#[test]
fn e8_a_line_of_64_mib_is_one_error_and_the_next_request_works() {
    let mut scene = Scene::new();
    let line = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        scene.client.send(&line);
    }
    let errors = said_about(&mut scene, b"");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].1.contains("at most"), "{errors:?}");
    scene.witness();
}

#[test]
fn e8_lines_that_are_no_requests_are_each_answered() {
    let mut scene = Scene::new();
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    let deep_request = format!(
        r#"{{"id":1,"request":{{"list":{}{}}}}}"#,
        "{\"a\":".repeat(10_000),
        "1".to_owned() + &"}".repeat(10_000)
    );
    let cases: [(&[u8], &str); 12] = [
        (&deep, "nests"),
        (deep_request.as_bytes(), "nests"),
        (b"\xff\xfe\xfd", "UTF-8"),
        (b"{\"id\":1,\"request\":{\"rename\":{\"target\":\"\xff\",\"name\":\"x\"}}}", "UTF-8"),
        (b"not json", "JSON"),
        (b"{", "JSON"),
        (b"null", "request"),
        (b"42", "request"),
        (b"[]", "request"),
        (b"{\"id\":-1,\"request\":{\"list\":{}}}", "id"),
        (b"{\"id\":\"x\",\"request\":{\"list\":{}}}", "id"),
        (b"{\"request\":{\"list\":{}}}", "id"),
    ];
    for (line, word) in cases {
        let errors = said_about(&mut scene, line);
        let shown = line[..line.len().min(60)].escape_ascii().to_string();
        assert_eq!(errors.len(), 1, "{shown}: {errors:?}");
        assert!(errors[0].1.contains(word), "{shown}: {errors:?}");
    }
    scene.witness();
}

#[test]
fn duplicate_ids_are_each_answered() {
    let mut scene = Scene::new();
    for _ in 0..10 {
        scene.client.ask_as(7, json!({"list": {}}));
    }
    for _ in 0..10 {
        let answer = scene.client.answer_to(7);
        assert!(answer["outcome"]["ok"]["processes"].is_array(), "{answer}");
    }
    // Two pastes that claim the same stream: both are answered, neither hangs the connection.
    scene
        .client
        .ask_as(9, json!({"write": {"target": "witness", "input": {"paste_stream": {}}, "timeout_ms": 500}}));
    scene
        .client
        .ask_as(9, json!({"write": {"target": "witness", "input": {"paste_stream": {}}, "timeout_ms": 500}}));
    scene.client.send(&data_header(DataKind::Input, 9, 0, 0));
    scene.client.answer_to(9);
    scene.client.answer_to(9);
    scene.still_works("pastes of the same stream");
    scene.witness();
}

#[test]
fn data_for_unknown_streams_is_refused_by_number() {
    let mut scene = Scene::new();
    for (kind, stream) in
        [(DataKind::Input, 77), (DataKind::Output, 1), (DataKind::Repaint, 0), (DataKind::Input, u32::MAX)]
    {
        let mut frame = data_header(kind, stream, 5, 3).to_vec();
        frame.extend_from_slice(b"abc");
        scene.client.send(&frame);
        let line = scene.client.line();
        let (code, message) = error(&line["reply"]).unwrap();
        assert_eq!((code.as_str(), message), ("protocol", format!("stream {stream} takes no data")));
        scene.still_works("a data frame");
    }
    // The bytes of a refused paste are dropped and do not block what follows.
    let id = scene.client.ask(json!({"write": {"target": "nobody", "input": {"paste_stream": {}}}}));
    let stream = u32::try_from(id).unwrap();
    for _ in 0..20 {
        let mut frame = data_header(DataKind::Input, stream, 0, 100_000).to_vec();
        frame.resize(frame.len() + 100_000, b'x');
        scene.client.send(&frame);
    }
    scene.client.send(&data_header(DataKind::Input, stream, 0, 0));
    let (code, _) = error(&scene.client.answer_to(id)).unwrap();
    assert_eq!(code, "not_found");
    scene.still_works("a refused paste");
    scene.witness();
}

#[test]
fn a_connection_without_hello_or_with_another_version_is_told_and_may_try_again() {
    let scene = Scene::new();
    let mut client = RawClient::connect(&scene.stage.dirs());
    let is_refused =
        |request: &Value| ["hello", "status", "shutdown"].iter().all(|word| request.get(word).is_none());
    for request in requests().into_iter().filter(is_refused) {
        let (code, message) = error(&client.call(request)).unwrap();
        assert_eq!((code.as_str(), message.as_str()), ("protocol", "say hello first"));
    }
    // The status is answered with any version.
    assert!(client.call(json!({"status": {}}))["outcome"]["ok"]["status"].is_object());
    let (code, message) = error(&client.call(json!({"hello": {"protocol": 999}}))).unwrap();
    assert_eq!(code, "version");
    assert!(message.contains("999"), "{message}");
    let (code, _) = error(&client.call(json!({"list": {}}))).unwrap();
    assert_eq!(code, "protocol");
    // A request that was sent behind a refused hello, before its answer, is not carried out.
    let hello = client.ask(json!({"hello": {"protocol": 999}}));
    let spawn = client.ask(json!({"spawn": {"kind": "command", "name": "unwelcome", "argv": ["true"]}}));
    assert_eq!(error(&client.answer_to(hello)).unwrap().0, "version");
    assert_eq!(error(&client.answer_to(spawn)).unwrap().0, "protocol");
    let answer = client.call(json!({"hello": {"protocol": proto::version::PROTOCOL}}));
    assert!(answer["outcome"]["ok"]["welcome"].is_object(), "{answer}");
    let all = client.call(json!({"list": {}}));
    let all = all["outcome"]["ok"]["processes"].as_array().unwrap();
    assert!(all.iter().all(|process| process["name"] != "unwelcome"), "{all:?}");
    scene.witness();
}

#[test]
fn an_attached_connection_answers_garbage_and_stays_attached() {
    let scene = Scene::new();
    let mut viewer = RawClient::welcomed(&scene.stage.dirs());
    // A request, then attach right after it: both are answered, in order.
    let list = viewer.ask(json!({"list": {}}));
    let attach = viewer.ask(json!({"attach": {"target": "witness", "size": {"cols": 80, "rows": 24}}}));
    assert!(viewer.answer_to(list)["outcome"]["ok"]["processes"].is_array());
    let attached = viewer.answer_to(attach);
    assert!(attached["outcome"]["ok"]["attached"].is_object(), "{attached}");
    let mut dice = Dice(7);
    for bytes in [b"garbage\n".to_vec(), b"\x01garbage\n".to_vec(), dice.bytes(100_000), vec![b'['; 20_000]] {
        viewer.send(&bytes);
        viewer.send(b"\n\n");
        let (code, message) = error(&viewer.call(json!({"list": {}}))).unwrap();
        assert_eq!(code, "protocol");
        assert!(message.contains("attached"), "{message}");
    }
    scene.stage.until_view("witness", |view| view.terminal.viewers == 1);
    scene.witness();
}
