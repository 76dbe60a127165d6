//! Names the wrong field when the parameters of a known method cannot be parsed. The protocol's own types
//! parse valid requests, which never come here.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::Value;

use crate::views;

#[derive(Clone, Copy)]
enum Want {
    Text,
    Object,
    /// An object, or nothing.
    MayObject,
}

const METHODS: &[(&str, &[(&str, Want)])] = &[
    (
        "initialize",
        &[("protocolVersion", Want::Text), ("capabilities", Want::Object), ("clientInfo", Want::Object)],
    ),
    ("tools/call", &[("name", Want::Text), ("arguments", Want::MayObject)]),
    ("resources/read", &[("uri", Want::Text)]),
    ("resources/subscribe", &[("uri", Want::Text)]),
    ("resources/unsubscribe", &[("uri", Want::Text)]),
    ("prompts/get", &[("name", Want::Text), ("arguments", Want::MayObject)]),
    ("completion/complete", &[("ref", Want::Object), ("argument", Want::Object)]),
    ("subscriptions/listen", &[("notifications", Want::Object)]),
    ("tasks/get", &[("taskId", Want::Text)]),
    ("tasks/cancel", &[("taskId", Want::Text)]),
    ("tasks/update", &[("taskId", Want::Text), ("inputResponses", Want::Object)]),
    ("logging/setLevel", &[("level", Want::Text)]),
    ("tools/list", &[]),
    ("prompts/list", &[]),
    ("resources/list", &[]),
    ("resources/templates/list", &[]),
    ("server/discover", &[]),
    ("ping", &[]),
];

/// Returns the error for a request that no type of the protocol could parse.
pub(crate) fn fault(method: &str, params: Option<&Value>) -> ErrorData {
    let Some((_, wants)) = METHODS.iter().find(|(known, _)| *known == method) else {
        let shown = views::shortened(method, 100);
        return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method: {shown} is not known"), None);
    };
    let meta = [("_meta", Want::MayObject)];
    let blamed = wants.iter().chain(&meta).find_map(|(name, want)| blame(name, *want, params));
    let message = blamed.unwrap_or_else(|| format!("params: not the shape of {method}"));
    ErrorData::invalid_params(message, None)
}

fn blame(name: &str, want: Want, params: Option<&Value>) -> Option<String> {
    let value = params.and_then(|params| params.get(name));
    match (want, value) {
        (Want::MayObject, None) => None,
        (Want::Text | Want::Object, None) => Some(format!("{name}: missing")),
        (Want::Text, Some(value)) => (!value.is_string()).then(|| format!("{name}: must be a text")),
        (Want::Object | Want::MayObject, Some(value)) => {
            (!value.is_object()).then(|| format!("{name}: must be an object"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_field_to_blame_is_named() {
        for (method, params, field) in [
            ("tools/call", json!({}), "name"),
            ("tools/call", json!({"name": 3}), "name"),
            ("tools/call", json!({"name": "help", "arguments": []}), "arguments"),
            ("tools/call", json!({"name": "help", "_meta": 3}), "_meta"),
            ("resources/read", json!({"uri": null}), "uri"),
            ("initialize", json!({"protocolVersion": 3}), "protocolVersion"),
            ("nonsense/method", json!({}), "method"),
        ] {
            let error = fault(method, Some(&params));
            assert!(error.message.starts_with(&format!("{field}:")), "{method}: {}", error.message);
        }
    }
}
