//! The server from a client's side: every interface, streamed and whole, and what a client can do to it.
//! `tests/vendors.rs` proves that the real programs accept these answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::DEADLINE;

const SCRIPT: &str = "@tool look {\"at\":1}\n@say all done";

/// A client of one connection.
struct Client(TcpStream);

impl Client {
    fn of(server: &ModelServer) -> Self {
        let address = server.url().replace("http://", "");
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        Self(stream)
    }

    fn send(&mut self, path: &str, body: &Value) {
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        self.0.write_all(format!("{head}{body}").as_bytes()).unwrap();
    }

    /// Reads one answer with a length: its status, its head and its body.
    fn whole(&mut self) -> (u16, String, Value) {
        let head = self.until("\r\n\r\n");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        (status, head, serde_json::from_slice(&body).unwrap())
    }

    /// Reads up to the end of `mark`.
    fn until(&mut self, mark: &str) -> String {
        let mut seen = Vec::new();
        while !seen.ends_with(mark.as_bytes()) {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap_or_else(|error| {
                panic!("no {mark:?} but {error} after {:?}", String::from_utf8_lossy(&seen))
            });
            seen.push(byte[0]);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Reads to the end of the connection.
    fn rest(mut self) -> String {
        let mut text = String::new();
        self.0.read_to_string(&mut text).unwrap();
        text
    }
}

fn ask(server: &ModelServer, path: &str, body: &Value) -> (u16, Value) {
    let mut client = Client::of(server);
    client.send(path, body);
    let (status, _, body) = client.whole();
    (status, body)
}

fn stream(server: &ModelServer, path: &str, body: &Value) -> String {
    let mut client = Client::of(server);
    client.send(path, body);
    client.rest()
}

/// Returns a Messages request with one tool.
fn prompt(text: &str) -> Value {
    json!({"model": "m", "tools": [{"name": "look"}], "messages": [{"role": "user", "content": text}]})
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

#[test]
fn messages_are_answered_whole_and_as_events() {
    let server = ModelServer::start();
    let (status, answer) = ask(&server, "/v1/messages", &prompt(SCRIPT));
    assert_eq!(status, 200);
    assert_eq!(answer["content"][0]["name"], "look");
    assert_eq!(answer["content"][0]["input"], json!({"at": 1}));
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["usage"]["input_tokens"], 50_000);
    assert_eq!(answer["usage"]["cache_read_input_tokens"], 10_000);

    let mut second = prompt(SCRIPT);
    let result =
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "seen"}]});
    second["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": [result]}));
    let events = stream(&server, "/v1/messages", &streamed(second));
    let order = ["message_start", "content_block_start", "\"all \"", "\"done\"", "end_turn", "message_stop"];
    let dirs: Vec<_> = order.iter().map(|part| events.find(part).expect(part)).collect();
    assert!(dirs.is_sorted(), "{events}");
    let last = server.requests().pop().unwrap();
    assert_eq!((last.position, last.results.as_slice()), (1, &["seen".to_owned()][..]));
    assert_eq!(last.outcome, Some(ModelOutcome::Answered));
}

#[test]
fn responses_are_events_with_groups_of_tools() {
    let server = ModelServer::start();
    let body = json!({
        "model": "m", "stream": true,
        "tools": [{"type": "namespace", "name": "group", "tools": [{"name": "look"}]}, {"type": "web_search"}],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "@tool group::look {}"}]}],
    });
    let events = stream(&server, "/v1/responses", &body);
    assert!(events.contains("\"namespace\":\"group\"") && events.contains("\"name\":\"look\""), "{events}");
    assert!(events.contains("\"total_tokens\":60020"), "{events}");
    assert!(events.trim_end().lines().last().unwrap().contains("response.completed"), "{events}");
    assert_eq!(server.requests()[0].tools, ["group::look", "web_search"]);
}

#[test]
fn chat_is_answered_whole_and_as_events() {
    let server = ModelServer::start();
    let body = json!({
        "model": "m", "tools": [{"type": "function", "function": {"name": "look"}}],
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": SCRIPT}],
    });
    let (_, answer) = ask(&server, "/v1/chat/completions", &body);
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{\"at\":1}");
    let events = stream(&server, "/v1/chat/completions", &streamed(body));
    assert!(events.contains("\"finish_reason\":\"tool_calls\"") && events.ends_with("data: [DONE]\n\n"));
}

#[test]
fn generate_takes_model_and_form_from_its_path_and_fills_a_schema() {
    let server = ModelServer::start();
    let body = json!({
        "tools": [{"functionDeclarations": [{"name": "look"}]}],
        "contents": [{"role": "user", "parts": [{"text": SCRIPT}]}],
    });
    let (_, answer) = ask(&server, "/v1beta/models/big:generateContent", &body);
    let candidate = &answer["candidates"][0];
    assert_eq!(candidate["content"]["parts"][0]["functionCall"]["args"], json!({"at": 1}));
    assert_eq!(candidate["finishReason"], "STOP");
    let events = stream(&server, "/v1beta/models/big:streamGenerateContent?alt=sse", &body);
    assert!(events.contains("\"totalTokenCount\":60020"), "{events}");

    let form = json!({"type": "object", "properties": {
        "choice": {"type": "string", "enum": ["flash", "pro"]}, "score": {"type": "number"},
    }});
    let errand = json!({"contents": body["contents"], "generationConfig": {"responseJsonSchema": form}});
    let (_, answer) = ask(&server, "/v1beta/models/small:generateContent", &errand);
    let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"choice": "flash", "score": 1}));
    let models: Vec<_> =
        server.requests().into_iter().map(|request| (request.model, request.is_side)).collect();
    assert_eq!(models, [("big", false), ("big", false), ("small", true)].map(|(m, s)| (m.to_owned(), s)));
}

#[test]
fn an_errand_plays_no_script_and_is_no_submission() {
    let server = ModelServer::start();
    let mut errand = prompt("@fail 500");
    errand["tools"] = json!([]);
    assert_eq!(ask(&server, "/v1/messages", &errand).0, 200);
    assert_eq!(server.submissions("@fail 500"), 0);
    assert_eq!(ask(&server, "/v1/messages", &prompt("@fail 500")).0, 500);
    assert_eq!(server.submissions("@fail 500"), 1);
}

#[test]
fn a_quota_is_told_in_every_vendors_own_words() {
    let server = ModelServer::start();
    let mut client = Client::of(&server);
    client.send("/v1/messages", &prompt("@quota 3600"));
    let (status, head, body) = client.whole();
    assert_eq!((status, &body["error"]["type"]), (429, &json!("rate_limit_error")));
    assert!(
        head.contains("anthropic-ratelimit-unified-status: rejected") && head.contains("retry-after: 3600")
    );

    let body = json!({"tools": [{"name": "t"}], "input": "@quota 3600", "stream": true});
    let (status, body) = ask(&server, "/v1/responses", &body);
    assert_eq!((status, &body["error"]["type"]), (429, &json!("usage_limit_reached")));
    assert!(body["error"]["resets_at"].as_u64().is_some_and(|at| at > 1_700_000_000));

    let body = json!({
        "tools": [{"functionDeclarations": [{"name": "t"}]}],
        "contents": [{"role": "user", "parts": [{"text": "@quota 3600"}]}],
    });
    let (status, body) = ask(&server, "/v1beta/models/m:streamGenerateContent", &body);
    assert_eq!((status, &body["error"]["details"][1]["retryDelay"]), (429, &json!("3600s")));
    let refused = |request: &ModelRequest| request.outcome == Some(ModelOutcome::Refused(429));
    assert!(server.requests().iter().all(refused));
}

#[test]
fn a_gate_holds_the_answer_until_the_test_opens_it() {
    let server = ModelServer::start();
    let mut client = Client::of(&server);
    client.send("/v1/messages", &prompt("@gate later\n@say after"));
    let waiting = server.wait_request(|request| request.prompt.contains("later"), DEADLINE);
    assert_eq!(waiting.outcome, None);
    server.open("later");
    assert_eq!(client.whole().2["content"][0]["text"], "after");
    // A gate stays open.
    assert_eq!(ask(&server, "/v1/messages", &prompt("@gate later\n@say again")).0, 200);
}

#[test]
fn what_hangs_has_begun_and_ends_when_released() {
    let server = ModelServer::start();
    let mut client = Client::of(&server);
    client.send("/v1/messages", &streamed(prompt("@hang")));
    client.until("hanging");
    assert_eq!(server.requests()[0].outcome, None);
    server.release();
    assert!(client.rest().contains("message_stop"));
    // A release is for those that hang now.
    let mut client = Client::of(&server);
    client.send("/v1/messages", &streamed(prompt("@hang")));
    client.until("hanging");
    assert_eq!(server.requests()[1].outcome, None);
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let server = ModelServer::start();
    for text in ["@hang", "@gate never\n@say x"] {
        let mut client = Client::of(&server);
        client.send("/v1/messages", &streamed(prompt(text)));
        server.wait_request(|request| request.prompt == text, DEADLINE);
        drop(client);
        let left = |request: &ModelRequest| {
            request.prompt == text && request.outcome == Some(ModelOutcome::ClientLeft)
        };
        server.wait_request(left, DEADLINE);
    }
}

#[test]
fn a_connection_is_kept_and_bodies_may_come_in_chunks() {
    let server = ModelServer::start();
    let mut client = Client::of(&server);
    client.send("/v1/messages", &prompt("@say one"));
    assert_eq!(client.whole().2["content"][0]["text"], "one");
    let body = prompt("@say two").to_string();
    let (first, second) = body.split_at(20);
    let chunk = |part: &str| format!("{:x}\r\n{part}\r\n", part.len());
    let head = "POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    let request = format!("{head}{}{}0\r\n\r\n", chunk(first), chunk(second));
    client.0.write_all(request.as_bytes()).unwrap();
    assert_eq!(client.whole().2["content"][0]["text"], "two");
    client.0.write_all(b"GET /v1/models HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(client.whole().2["data"][0]["id"], "scripted");
    client.0.write_all(b"GET /elsewhere HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(client.whole().0, 404);
    assert_eq!(server.strays(), ["GET /v1/models", "GET /elsewhere"]);
}

#[test]
fn token_figures_are_what_the_test_says() {
    let server = ModelServer::start();
    server.usage(700, 300, 5);
    let (_, answer) = ask(&server, "/v1/messages", &prompt("@say x"));
    let usage = &answer["usage"];
    assert_eq!((&usage["input_tokens"], &usage["cache_read_input_tokens"]), (&json!(700), &json!(300)));
    assert_eq!(ask(&server, "/v1/messages/count_tokens", &json!({})).1["input_tokens"], 1000);
}

#[test]
fn a_compressed_body_is_refused_and_told() {
    let server = ModelServer::start();
    let mut client = Client::of(&server);
    let head =
        "POST /v1/responses HTTP/1.1\r\ncontent-encoding: zstd\r\ncontent-length: 4\r\n\r\n\x28\x35\x2f\x7d";
    client.0.write_all(head.as_bytes()).unwrap();
    assert_eq!(client.whole().0, 415);
    assert_eq!(server.strays(), ["unreadable body, encoding zstd: /v1/responses"]);
}

#[test]
fn a_request_that_never_comes_fails_in_time_with_what_came() {
    let server = ModelServer::start();
    ask(&server, "/v1/messages", &prompt("@say seen"));
    let waited = std::panic::AssertUnwindSafe(|| {
        server.wait_request(|request| request.prompt == "other", Duration::from_millis(1))
    });
    let told = std::panic::catch_unwind(waited).unwrap_err();
    assert!(told.downcast_ref::<String>().unwrap().contains("@say seen"));
}

#[test]
fn dropping_the_server_ends_every_connection() {
    let server = ModelServer::start();
    let mut client = Client::of(&server);
    client.send("/v1/messages", &streamed(prompt("@hang")));
    client.until("content_block_start");
    drop(server);
    assert!(!client.rest().contains("message_stop"));
}
