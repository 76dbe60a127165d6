//! The Anthropic Messages interface: its requests, events and errors. `script` chooses the answer.

use serde_json::{Value, json};

use super::Usage;
use super::exchange::{Content, Exchange, Refusal, Stamp, Turn, elements, flat, pieces, seconds_ahead, text};
use super::http::{Whole, named_event};
use super::script::Said;

/// Reads a request.
pub(super) fn read(body: &Value) -> Exchange {
    let messages = elements(&body["messages"]);
    let of_the_user = messages.iter().filter(|message| message["role"] == "user");
    let tools: Vec<String> = elements(&body["tools"]).iter().map(|tool| text(&tool["name"])).collect();
    Exchange {
        model: text(&body["model"]),
        said: of_the_user.flat_map(|message| said(&message["content"])).collect(),
        messages: messages.len(),
        side: Exchange::errand(&tools),
        tools,
        is_streamed: body["stream"] == true,
    }
}

fn said(content: &Value) -> Vec<Said> {
    if let Value::String(text) = content {
        return vec![Said::Text(text.clone())];
    }
    let part = |part: &Value| match part["type"].as_str() {
        Some("text") => Some(Said::Text(text(&part["text"]))),
        Some("tool_result") => Some(Said::Result(flat(&part["content"]))),
        _ => None,
    };
    elements(content).iter().filter_map(part).collect()
}

/// Returns an answer.
pub(super) fn answer(exchange: &Exchange, content: &Content, usage: Usage, stamp: Stamp) -> Turn {
    let (empty, full, deltas, stop) = block(content, stamp);
    let message = |content: Value, stop: Value| {
        json!({
            "id": stamp.id("msg"), "type": "message", "role": "assistant", "model": exchange.model,
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": tokens(usage),
        })
    };
    let mut events = vec![
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
    ];
    let begun = events.len() + 1;
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    events.extend(deltas.into_iter().map(delta));
    events.extend([
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": usage.output},
        }),
        json!({"type": "message_stop"}),
    ]);
    let whole = message(json!([full]), json!(stop));
    Turn { whole, events: events.iter().map(named_event).collect(), begun }
}

/// Returns the content block as it begins, as it ends, the deltas between, and the stop reason.
fn block(content: &Content, stamp: Stamp) -> (Value, Value, Vec<Value>, &'static str) {
    match content {
        Content::Text(text) => {
            let deltas = pieces(text).map(|piece| json!({"type": "text_delta", "text": piece}));
            (
                json!({"type": "text", "text": ""}),
                json!({"type": "text", "text": text}),
                deltas.collect(),
                "end_turn",
            )
        }
        Content::Call { name, input } => {
            let call = |input: &Value| json!({"type": "tool_use", "id": stamp.id("toolu"), "name": name, "input": input});
            let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
            (call(&json!({})), call(input), vec![delta], "tool_use")
        }
    }
}

fn tokens(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached, "output_tokens": usage.output,
    })
}

/// Returns the number of tokens of a conversation.
pub(super) fn count(usage: Usage) -> Value {
    json!({"input_tokens": usage.input + usage.cached})
}

/// Returns an error.
pub(super) fn refuse(refusal: Refusal) -> Whole {
    let error = |status, kind: &str, message: &str| Whole {
        status,
        headers: Vec::new(),
        body: json!({"type": "error", "error": {"type": kind, "message": message}}),
    };
    match refusal {
        // The headers make it the limit of a subscription, which the program shows with its reset time.
        Refusal::Quota { reset_in } => Whole {
            headers: vec![
                ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-reset", seconds_ahead(reset_in).to_string()),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                ("retry-after", reset_in.to_string()),
            ],
            ..error(429, "rate_limit_error", "This request would exceed your account's rate limit.")
        },
        Refusal::Fail { status } => error(status, kind(status), "scripted failure"),
    }
}

fn kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}
