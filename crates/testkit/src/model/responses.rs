//! The OpenAI Responses interface: its requests, events and errors. `script` chooses the answer.

use serde_json::{Value, json};

use super::Usage;
use super::exchange::{Content, Exchange, Refusal, Stamp, Turn, elements, flat, pieces, seconds_ahead, text};
use super::http::{Whole, named_event};
use super::script::Said;

/// Reads a request.
pub(super) fn read(body: &Value) -> Exchange {
    let input = elements(&body["input"]);
    let said = match &body["input"] {
        Value::String(text) => vec![Said::Text(text.clone())],
        _ => input.iter().filter_map(said).collect(),
    };
    let tools: Vec<String> = elements(&body["tools"]).iter().flat_map(names).collect();
    Exchange {
        model: text(&body["model"]),
        said,
        messages: input.len(),
        side: Exchange::errand(&tools),
        tools,
        is_streamed: body["stream"] == true,
    }
}

fn said(item: &Value) -> Option<Said> {
    match item["type"].as_str().unwrap_or("message") {
        "message" if item["role"] == "user" => Some(Said::Text(flat(&item["content"]))),
        kind if kind.ends_with("_output") => Some(Said::Result(flat(&item["output"]))),
        _ => None,
    }
}

/// Returns a tool's name, or those of a group as `group::tool`.
fn names(tool: &Value) -> Vec<String> {
    if tool["type"] == "namespace" {
        let inside = elements(&tool["tools"]).iter();
        return inside.map(|one| format!("{}::{}", text(&tool["name"]), text(&one["name"]))).collect();
    }
    vec![tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default().to_owned()]
}

/// Returns an answer.
pub(super) fn answer(exchange: &Exchange, content: &Content, usage: Usage, stamp: Stamp) -> Turn {
    let response = |status: &str, output: Value| {
        json!({
            "id": stamp.id("resp"), "object": "response", "status": status, "model": exchange.model,
            "output": output,
        })
    };
    let AnswerItem { begun: empty, deltas, ended: item } = match content {
        Content::Text(text) => message(text, stamp),
        Content::Call { name, input } => call(name, input, stamp),
    };
    let mut whole = response("completed", json!([item]));
    whole["usage"] = tokens(usage);
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": empty}),
    ];
    // A text's first delta follows the announcement of its part.
    let begun = events.len() + 2;
    events.extend(deltas);
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": whole}));
    Turn { whole, events: events.iter().map(named_event).collect(), begun }
}

/// An item of an answer.
struct AnswerItem {
    /// As it begins.
    begun: Value,
    /// The events between.
    deltas: Vec<Value>,
    /// As it ends.
    ended: Value,
}

fn message(text: &str, stamp: Stamp) -> AnswerItem {
    let id = stamp.id("msg");
    let item = |status: &str, content: Value| json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content});
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let about = |kind: &str, field: &str, value: Value| {
        let mut event = json!({"type": kind, "output_index": 0, "item_id": id, "content_index": 0});
        event[field] = value;
        event
    };
    let mut events = vec![about("response.content_part.added", "part", part(""))];
    events.extend(pieces(text).map(|piece| about("response.output_text.delta", "delta", json!(piece))));
    events.push(about("response.output_text.done", "text", json!(text)));
    let (begun, ended) = (item("in_progress", json!([])), item("completed", json!([part(text)])));
    AnswerItem { begun, deltas: events, ended }
}

fn call(name: &str, input: &Value, stamp: Stamp) -> AnswerItem {
    let id = stamp.id("fc");
    let arguments = input.to_string();
    let item = |status: &str, arguments: &str| {
        let mut item = json!({
            "type": "function_call", "id": id, "call_id": stamp.id("call"), "name": name,
            "arguments": arguments, "status": status,
        });
        if let Some((group, tool)) = name.split_once("::") {
            item["namespace"] = json!(group);
            item["name"] = json!(tool);
        }
        item
    };
    let events = vec![
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": id, "delta": arguments}),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "item_id": id, "arguments": arguments}),
    ];
    AnswerItem { begun: item("in_progress", ""), deltas: events, ended: item("completed", &arguments) }
}

fn tokens(usage: Usage) -> Value {
    let input = usage.input + usage.cached;
    json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    })
}

/// Returns an error.
pub(super) fn refuse(refusal: Refusal) -> Whole {
    let (status, error) = match refusal {
        Refusal::Quota { reset_in } => (
            429,
            json!({
                "type": "usage_limit_reached", "message": "The usage limit has been reached",
                "plan_type": "plus", "resets_at": seconds_ahead(reset_in),
            }),
        ),
        Refusal::Fail { status } => {
            (status, json!({"type": "server_error", "code": null, "message": "scripted failure"}))
        }
    };
    Whole { status, headers: Vec::new(), body: json!({"error": error}) }
}
