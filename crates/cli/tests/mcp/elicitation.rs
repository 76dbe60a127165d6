//! Questions through the client's own form, in both protocol generations, with clients written by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use proto::agent::ItemKind;
use serde_json::{Value, json};
use testkit::{DEADLINE, TestDaemon};

use crate::http::{Http, TOKEN};
use crate::proxy::{Proxy, modern_meta, with_tasks};
use crate::{QD, lead};

fn with_forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// Returns the call again, with the person's answer to the form.
fn retried(proxy: &mut Proxy, arguments: &Value, said: Value) -> Value {
    let params = json!({"name": "ask_human", "arguments": arguments, "inputResponses": {"answer": said}});
    proxy.request("tools/call", params)["result"].clone()
}

#[test]
fn in_the_newer_era_the_form_is_the_answer_and_the_call_comes_again_with_what_was_said() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::modern(&daemon, with_forms());
    let arguments = json!({"question": "Which colour?", "options": ["red", "blue"]});
    let asked = proxy.call("ask_human", arguments.clone());
    assert_eq!(asked["resultType"], json!("input_required"), "{asked}");
    let form = &asked["inputRequests"]["answer"];
    assert_eq!(form["method"], json!("elicitation/create"), "{asked}");
    assert_eq!(form["params"]["message"], json!("Which colour?"));
    let field = &form["params"]["requestedSchema"]["properties"]["answer"];
    assert_eq!(field["enum"], json!(["red", "blue"]), "{asked}");
    let told = retried(&mut proxy, &arguments, json!({"action": "accept", "content": {"answer": "blue"}}));
    assert_eq!(told["structuredContent"], json!({"status": "answered", "answer": "blue"}), "{told}");
    assert!(!daemon.dirs().socket().exists(), "the client's person answered: the inbox is not used");
}

#[test]
fn m20h_inside_a_run_a_client_with_forms_gets_none_and_the_question_is_in_the_inbox_at_once() {
    let crew = lead::crew();
    let capabilities = json!({"elicitation": {}, "extensions": with_tasks()["extensions"]});
    let mut agent = lead::enlist_modern(&crew, "lead", capabilities);
    let arguments = json!({"question": "Now?", "options": ["now", "later"]});
    let created = agent.call("ask_human", arguments.clone());
    assert_eq!(created["resultType"], json!("task"), "{created}");
    let item = crew.item_of("lead", ItemKind::Question);
    let labels: Vec<&str> = item.options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!((item.title.as_str(), labels), ("Now?", vec!["now", "later"]));
    assert_eq!(agent.call("ask_human", arguments)["resultType"], json!("task"));
    assert_eq!(crew.inbox().len(), 1, "asked again, it waits for the same item");
    crew.answer(item.item, "later").unwrap();
    let told = agent.finished(&created)["structuredContent"].clone();
    assert_eq!(told["item"], json!(item.item), "{told}");
}

#[test]
fn a_client_that_only_opens_pages_gets_no_form() {
    let crew = lead::crew();
    let capabilities = json!({"elicitation": {"url": {}}, "extensions": with_tasks()["extensions"]});
    let mut agent = lead::enlist_modern(&crew, "lead", capabilities);
    assert_eq!(agent.call("ask_human", json!({"question": "Now?"}))["resultType"], json!("task"));
}

#[test]
fn b7_an_answer_through_the_client_never_grants_trust() {
    let crew = lead::crew();
    let mut agent = lead::enlist_modern(&crew, "lead", with_forms());
    let request = json!({"kind": "command", "argv": ["sleep", "1000"], "name": "nap"});
    let error = agent.refusal("spawn_process", request.clone());
    assert_eq!(error["code"], json!("needs_trust"), "{error}");
    let item = crew.item_of("lead", ItemKind::Trust).item;
    assert_eq!(error["item"], json!(item), "{error}");
    for said in ["allow_once", "always", "yes"] {
        let params = json!({
            "name": "spawn_process",
            "arguments": request,
            "inputResponses": {"answer": {"action": "accept", "content": {"answer": said}}},
        });
        let again = agent.request("tools/call", params)["result"].clone();
        assert!(again["content"][0]["text"].as_str().unwrap().contains("\"needs_trust\""), "{again}");
        let refused = agent.refusal("answer_prompt", json!({"dialog_id": item, "choice": said}));
        assert_ne!(refused["code"], json!("internal"), "{refused}");
    }
    assert!(crew.list().iter().all(|view| view.name.as_str() != "nap"));
    crew.answer(item, "allow_once").unwrap();
    assert_eq!(agent.tool("spawn_process", request)["name"], json!("nap"));
}

/// A client of the older protocol over HTTP: the server's questions come on the stream of its own call.
struct Session {
    address: String,
    id: String,
}

impl Session {
    fn open(http: &Http, capabilities: &Value) -> Self {
        let mut session = Self { address: http.address.clone(), id: String::new() };
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client});
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut stream = session.post(&greeting);
        let head = headers(&mut stream);
        session.id = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned))
            .unwrap_or_else(|| panic!("{head}"));
        session.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn post(&self, message: &Value) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let body = message.to_string();
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        if !self.id.is_empty() {
            head.push_str(&format!("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-06-18\r\n", self.id));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Sends a message without an answer.
    fn tell(&self, message: &Value) {
        let mut stream = self.post(message);
        let head = headers(&mut stream);
        assert!(head.starts_with("HTTP/1.1 202"), "{head}");
        drop(stream.read_to_end(&mut Vec::new()));
    }
}

fn headers(stream: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
    }
    head
}

/// Returns the next message of a stream of events.
fn event(stream: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.trim_end().strip_prefix("data:")
            && let Ok(message) = serde_json::from_str(data.trim_start())
        {
            return message;
        }
    }
}

#[test]
fn in_the_older_era_the_client_is_asked_while_its_call_is_open() {
    let daemon = TestDaemon::without_start(QD);
    let http = Http::start(&daemon);
    let session = Session::open(&http, &json!({"elicitation": {}}));
    let call = json!({"name": "ask_human", "arguments": {"question": "Which?", "options": ["a", "b"]}});
    let mut stream =
        session.post(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}));
    headers(&mut stream);
    let asked = event(&mut stream);
    assert_eq!(asked["method"], json!("elicitation/create"), "{asked}");
    assert_eq!(
        asked["params"]["requestedSchema"]["properties"]["answer"]["enum"],
        json!(["a", "b"]),
        "{asked}"
    );
    let result = json!({"action": "accept", "content": {"answer": "b"}});
    session.tell(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    let answer = event(&mut stream);
    assert_eq!(answer["id"], json!(7), "{answer}");
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({"status": "answered", "answer": "b"}),
        "{answer}"
    );
    assert!(!daemon.dirs().socket().exists(), "the client's person answered: the inbox is not used");
}

#[test]
fn in_the_older_era_the_question_and_its_answer_go_over_standard_input_and_output_too() {
    let daemon = TestDaemon::without_start(QD);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut proxy = Proxy::start(&daemon);
        proxy.initialize_with(version, json!({"elicitation": {}}));
        let id = proxy.begin("tools/call", json!({"name": "ask_human", "arguments": {"question": "Now?"}}));
        let asked = proxy.note(|line| line["method"] == json!("elicitation/create"));
        // A reply to nothing that was asked changes nothing.
        proxy.send(&json!({"jsonrpc": "2.0", "id": 4_000, "result": {}}));
        proxy.send(&json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}}));
        let result = json!({"action": "accept", "content": {"answer": "yes"}});
        proxy.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
        let answer = proxy.answer(id);
        assert_eq!(answer["result"]["structuredContent"]["answer"], json!("yes"), "{version}: {answer}");
        proxy.end();
    }
    assert!(!daemon.dirs().socket().exists(), "the client's person answered: the inbox is not used");
}

#[test]
fn a_client_of_the_older_era_that_has_no_form_is_not_asked() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let told = crate::asking::asked(&crew, &mut agent, &json!({"question": "Now?"}), "yes");
    assert_eq!(told["answer"], json!("yes"), "{told}");
    assert!(
        agent.notes.iter().all(|note| note["method"] != json!("elicitation/create")),
        "{:?}",
        agent.notes
    );
}

#[test]
fn what_a_client_of_the_newer_era_says_of_itself_counts_for_that_request_only() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::modern(&daemon, with_forms());
    assert_eq!(proxy.call("ask_human", json!({"question": "Now?"}))["resultType"], json!("input_required"));
    let params = json!({"name": "help", "arguments": {}, "_meta": modern_meta(json!({}))});
    assert_eq!(proxy.request("tools/call", params)["result"]["isError"], json!(false));
}
