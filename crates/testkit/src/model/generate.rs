//! The Gemini interface: its requests, events and errors. `script` chooses the answer.

use serde_json::{Map, Value, json};

use super::Usage;
use super::exchange::{Content, Exchange, Refusal, Stamp, Turn, elements, pieces, text};
use super::http::{Whole, bare_event};
use super::script::Said;

/// Reads a request; the path has the model and whether to stream.
pub(super) fn read(path: &str, body: &Value) -> Exchange {
    let contents = elements(&body["contents"]);
    let of_the_user = contents.iter().filter(|message| message["role"] != "model");
    let declared = elements(&body["tools"]).iter().flat_map(|tool| elements(&tool["functionDeclarations"]));
    let tools: Vec<String> = declared.map(|function| text(&function["name"])).collect();
    let (model, action) = path.rsplit('/').next().and_then(|last| last.split_once(':')).unwrap_or_default();
    Exchange {
        model: model.to_owned(),
        said: of_the_user.flat_map(|message| elements(&message["parts"])).filter_map(said).collect(),
        messages: contents.len(),
        side: schema(body).map(|schema| filled(schema).to_string()).or_else(|| Exchange::errand(&tools)),
        tools,
        is_streamed: action.starts_with("stream"),
    }
}

fn said(part: &Value) -> Option<Said> {
    if let Some(text) = part["text"].as_str() {
        return Some(Said::Text(text.to_owned()));
    }
    part.get("functionResponse").map(|result| Said::Result(result["response"].to_string()))
}

/// Returns the schema of a side request's answer.
fn schema(body: &Value) -> Option<&Value> {
    let wanted = &body["generationConfig"];
    ["responseJsonSchema", "responseSchema"].iter().find_map(|name| wanted.get(*name))
}

/// Returns a value of this form: every property is there, a choice is its first one.
fn filled(schema: &Value) -> Value {
    if let Some(first) = elements(&schema["enum"]).first() {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
        "object" => {
            let none = Map::new();
            let properties = schema["properties"].as_object().unwrap_or(&none);
            properties.iter().map(|(name, inside)| (name.clone(), filled(inside))).collect()
        }
        "array" => json!([]),
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        "boolean" => json!(false),
        _ => json!("scripted"),
    }
}

/// Returns an answer.
pub(super) fn answer(exchange: &Exchange, content: &Content, usage: Usage, stamp: Stamp) -> Turn {
    let chunk = |part: Value| {
        let candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
        json!({"candidates": [candidate], "modelVersion": exchange.model})
    };
    // The end comes with the last part: a part of its own would be empty, which the program rejects.
    let end = |part: Value| {
        let mut last = chunk(part);
        last["candidates"][0]["finishReason"] = json!("STOP");
        last["usageMetadata"] = tokens(usage);
        last
    };
    let (part, parts) = match content {
        Content::Text(text) => {
            (json!({"text": text}), pieces(text).map(|piece| json!({"text": piece})).collect())
        }
        Content::Call { name, input } => {
            let call = json!({"functionCall": {"id": stamp.id("call"), "name": name, "args": input}});
            (call.clone(), vec![call])
        }
    };
    let (last, before) = parts.split_last().map_or((&part, &[][..]), |split| split);
    let mut events: Vec<String> = before.iter().map(|part| bare_event(&chunk(part.clone()))).collect();
    events.push(bare_event(&end(last.clone())));
    Turn { whole: end(part), events, begun: 1 }
}

fn tokens(usage: Usage) -> Value {
    let input = usage.input + usage.cached;
    json!({
        "promptTokenCount": input, "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output, "totalTokenCount": input + usage.output,
    })
}

/// Returns the number of tokens of a conversation.
pub(super) fn count(usage: Usage) -> Value {
    json!({"totalTokens": usage.input + usage.cached})
}

/// Returns an error.
pub(super) fn refuse(refusal: Refusal) -> Whole {
    let error = |code: u16, status: &str, message: &str, details: Value| Whole {
        status: code,
        headers: Vec::new(),
        body: json!({"error": {"code": code, "status": status, "message": message, "details": details}}),
    };
    match refusal {
        Refusal::Quota { reset_in } => {
            let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
            let details = json!([
                {"@type": kind("ErrorInfo"), "reason": "QUOTA_EXHAUSTED", "domain": "cloudcode-pa.googleapis.com"},
                {"@type": kind("RetryInfo"), "retryDelay": format!("{reset_in}s")},
            ]);
            // The words "exhausted your capacity" are avoided: the program would retry in silence as for an
            // overload.
            error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", details)
        }
        Refusal::Fail { status } => error(status, "INTERNAL", "scripted failure", json!([])),
    }
}
