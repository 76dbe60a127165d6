//! The OpenAPI document, made from the table of routes.

use serde_json::{Map, Value, json};

use crate::routes::{Access, ROUTES, Route};

/// Returns the document.
pub(crate) fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        entry[route.method.word().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Quarterdeck", "version": proto::version::VERSION},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "device": {"type": "apiKey", "in": "cookie", "name": "__Host-qd"},
            },
            "schemas": {"Problem": {
                "type": "object",
                "properties": {"error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "hint": {"type": "string"}},
                }},
            }},
        },
    })
}

fn operation(route: &Route) -> Value {
    let security = match route.access {
        Access::Public | Access::SignIn => json!([]),
        Access::Bearer => json!([{"bearer": []}]),
        Access::Role(_) | Access::Confirmed | Access::Socket => json!([{"bearer": []}, {"device": []}]),
    };
    let mut operation = json!({
        "summary": route.summary,
        "parameters": parameters(route.path),
        "security": security,
        "x-qd-access": access_word(route.access),
        "responses": {
            "200": {"description": "It worked"},
            "default": {
                "description": "It did not",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    });
    if let Some(verb) = route.verb() {
        operation["x-qd-verb"] = json!(verb);
    }
    operation
}

fn access_word(access: Access) -> String {
    match access {
        Access::Public => "public".to_owned(),
        Access::SignIn => "sign_in".to_owned(),
        Access::Role(role) => role.word().to_owned(),
        Access::Confirmed => "confirmed".to_owned(),
        Access::Bearer => "bearer".to_owned(),
        Access::Socket => "socket".to_owned(),
    }
}

fn parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let parameter = |name: &str| json!({"name": name.trim_start_matches('*'), "in": "path", "required": true, "schema": {"type": "string"}});
    names.map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_the_document_has_every_route_and_no_other() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let operations: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(operations, ROUTES.len());
    }
}
