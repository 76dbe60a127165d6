//! The OpenAPI document, made from the table of routes. `shapes` says what each route reads and answers.

mod shapes;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::routes::{Access, ROUTES, Route};
use shapes::{Answered, QueryParameter, Sent};

/// The schemas of what only the web has.
const OWN: &str = include_str!("schemas.json");

/// The document, as every request for it shares it.
#[derive(Clone, Debug)]
pub(crate) struct ApiDocument(Arc<Value>);

impl ApiDocument {
    /// Makes the document; `defined` are the schemas of what the verbs answer, by name, as `qd schema` has them.
    pub(crate) fn new(defined: &Value) -> Self {
        Self(Arc::new(document(defined)))
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }
}

fn document(defined: &Value) -> Value {
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
            "schemas": schemas(defined),
        },
    })
}

/// Returns all schemas; those of the verbs refer to one another by their place in this document.
fn schemas(defined: &Value) -> Map<String, Value> {
    let text = defined.to_string().replace("#/$defs/", "#/components/schemas/");
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut all = parse(&text);
    all.extend(parse(OWN));
    all
}

fn operation(route: &Route) -> Value {
    let security = match route.access {
        Access::Public | Access::SignIn => json!([]),
        Access::Bearer => json!([{"bearer": []}]),
        Access::Role(_) | Access::Confirmed | Access::Socket => json!([{"bearer": []}, {"device": []}]),
    };
    let mut operation = json!({
        "summary": route.summary,
        "parameters": path_parameters(route.path),
        "security": security,
        "x-qd-access": access_word(route.access),
        "responses": {"default": {
            "description": "It did not work",
            "content": {"application/json": {"schema": reference("Problem")}},
        }},
    });
    if let Some(verb) = route.verb() {
        operation["x-qd-verb"] = json!(verb);
    }
    add_shape(&mut operation, route);
    operation
}

/// Adds what the route reads besides its path, and what it answers.
fn add_shape(operation: &mut Value, route: &Route) {
    let Some(shape) = shapes::of(route) else { return };
    if let Some(parameters) = operation["parameters"].as_array_mut() {
        parameters.extend(shape.query.iter().map(|QueryParameter { name, kind, is_required }| {
            json!({"name": name, "in": "query", "required": is_required, "schema": {"type": kind}})
        }));
    }
    match shape.sent {
        Sent::Nothing => {}
        Sent::Json(name) => {
            let content = json!({"application/json": {"schema": reference(name)}});
            operation["requestBody"] = json!({ "content": content });
        }
        Sent::Bytes => operation["requestBody"] = json!({"content": {"application/octet-stream": {}}}),
    }
    let worked = |content: Value| json!({"description": "It worked", "content": content});
    let of_schema = |name: &str| worked(json!({"application/json": {"schema": reference(name)}}));
    let responses = &mut operation["responses"];
    match shape.answered {
        Answered::Json(name) => responses["200"] = of_schema(name),
        Answered::JsonOrNothing(name) => {
            responses["200"] = of_schema(name);
            responses["204"] = json!({"description": "There is none yet"});
        }
        Answered::Bytes => responses["200"] = worked(json!({"application/octet-stream": {}})),
        Answered::Text(kind) => responses["200"] = worked(json!({ kind: {} })),
        Answered::Socket => {
            responses["101"] = json!({"description": "A WebSocket: docs/web.md has its messages"})
        }
        Answered::OpenApi => responses["200"] = worked(json!({"application/json": {}})),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
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

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let parameter = |name: &str| json!({"name": name.trim_start_matches('*'), "in": "path", "required": true, "schema": {"type": "string"}});
    names.map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Handler;
    use crate::verb_call::Input;

    #[test]
    fn w2_the_document_has_every_route_and_no_other() {
        let document = document(&json!({}));
        let paths = document["paths"].as_object().unwrap();
        let operations: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(operations, ROUTES.len());
    }

    #[test]
    fn w2_the_document_says_what_every_route_reads_and_answers() {
        for route in ROUTES {
            assert!(shapes::of(route).is_some(), "{route:?} has no shape");
        }
    }

    /// Returns a value of a schema with every field that it names.
    fn sample(schemas: &Map<String, Value>, schema: &Value) -> Value {
        if let Some(place) = schema["$ref"].as_str() {
            return sample(schemas, &schemas[place.rsplit('/').next().unwrap()]);
        }
        if let Some(first) = schema["enum"].get(0).or(schema.get("const")) {
            return first.clone();
        }
        if let Some(first) = schema["anyOf"].get(0) {
            return sample(schemas, first);
        }
        match schema["type"].as_str() {
            Some("string") => json!("x"),
            Some("integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([sample(schemas, &schema["items"])]),
            Some("object") => {
                let fields = schema["properties"].as_object().cloned().unwrap_or_default();
                fields.iter().map(|(name, field)| (name.clone(), sample(schemas, field))).collect()
            }
            other => panic!("{other:?} in {schema}"),
        }
    }

    #[test]
    fn w2_a_body_like_the_document_says_is_understood_by_its_verb_and_no_field_is_lost() {
        let schemas = schemas(&json!({}));
        for route in ROUTES {
            let (Handler::Verb(call), Some(shape)) = (route.handler, shapes::of(route)) else { continue };
            let Sent::Json(name) = shape.sent else { continue };
            let body = sample(&schemas, &schemas[name]);
            let input = Input::of_body(&body);
            let arguments = (call.arguments)(&input).unwrap();
            let request: proto::Request = serde_json::from_value(json!({ call.word: arguments }))
                .unwrap_or_else(|error| panic!("{route:?} {body}: {error}"));
            let read = serde_json::to_value(request).unwrap().to_string();
            for field in body.as_object().unwrap().keys() {
                assert!(read.contains(&format!("\"{field}\":")), "{route:?}: {field} is lost in {read}");
            }
        }
    }
}
