//! The OpenAI Chat Completions interface, which most other vendors offer too: its requests, events and
//! errors. `script` chooses the answer.

use serde_json::{Value, json};

use super::Usage;
use super::exchange::{Content, Exchange, Refusal, Stamp, Turn, elements, flat, pieces, text};
use super::http::{Whole, bare_event};
use super::script::Said;

/// The last line of every stream.
const DONE: &str = "data: [DONE]\n\n";

/// Reads a request.
pub(super) fn read(body: &Value) -> Exchange {
    let messages = elements(&body["messages"]);
    let said = |message: &Value| match message["role"].as_str() {
        Some("user") => Some(Said::Text(flat(&message["content"]))),
        Some("tool") => Some(Said::Result(flat(&message["content"]))),
        _ => None,
    };
    let tools: Vec<String> =
        elements(&body["tools"]).iter().map(|tool| text(&tool["function"]["name"])).collect();
    Exchange {
        model: text(&body["model"]),
        said: messages.iter().filter_map(said).collect(),
        messages: messages.len(),
        side: Exchange::errand(&tools),
        tools,
        is_streamed: body["stream"] == true,
    }
}

/// Returns an answer.
pub(super) fn answer(exchange: &Exchange, content: &Content, usage: Usage, stamp: Stamp) -> Turn {
    let completion = |kind: &str, choices: Value| {
        json!({
            "id": stamp.id("chatcmpl"), "object": kind, "created": 0, "model": exchange.model,
            "choices": choices,
        })
    };
    let chunk = |delta: Value, finish: Value| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        bare_event(&completion("chat.completion.chunk", choice))
    };
    let (message, deltas, finish) = match content {
        Content::Text(text) => (
            json!({"role": "assistant", "content": text}),
            pieces(text).map(|piece| json!({"content": piece})).collect::<Vec<_>>(),
            "stop",
        ),
        Content::Call { name, input } => {
            let call = json!({
                "index": 0, "id": stamp.id("call"), "type": "function",
                "function": {"name": name, "arguments": input.to_string()},
            });
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, vec![json!({"tool_calls": [call]})], "tool_calls")
        }
    };
    let choice = json!([{"index": 0, "message": message, "finish_reason": finish}]);
    let mut whole = completion("chat.completion", choice);
    whole["usage"] = tokens(usage);
    let mut last = completion("chat.completion.chunk", json!([]));
    last["usage"] = tokens(usage);
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(deltas.into_iter().map(|delta| chunk(delta, Value::Null)));
    events.extend([chunk(json!({}), json!(finish)), bare_event(&last), DONE.to_owned()]);
    Turn { whole, events, begun: 2 }
}

fn tokens(usage: Usage) -> Value {
    let input = usage.input + usage.cached;
    json!({
        "prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    })
}

/// Returns an error.
pub(super) fn refuse(refusal: Refusal) -> Whole {
    let error = |status, kind: &str, message: &str| Whole {
        status,
        headers: Vec::new(),
        body: json!({"error": {"type": kind, "code": kind, "message": message}}),
    };
    match refusal {
        Refusal::Quota { reset_in } => Whole {
            headers: vec![("retry-after", reset_in.to_string())],
            ..error(429, "insufficient_quota", "You exceeded your current quota.")
        },
        Refusal::Fail { status: status @ ..500 } => {
            error(status, "invalid_request_error", "scripted failure")
        }
        Refusal::Fail { status } => error(status, "server_error", "scripted failure"),
    }
}
