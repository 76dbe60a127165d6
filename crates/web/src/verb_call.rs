//! Routes that are one verb of the daemon: path, query and body become its arguments, its reply becomes the answer.

use std::collections::HashMap;

use axum::Extension;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query};
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_server::HANDSHAKE;
use proto::request::RunChoice;
use proto::{ErrorCode, Request};
use serde_json::{Map, Value, json};

use crate::gateway::Shared;
use crate::identity::AccessIdentity;
use crate::problem::Problem;

/// The longest body of a request.
pub(crate) const MAX_BODY: usize = 1 << 20; // 1 MiB

/// The arguments of a verb, or why the request has none.
pub(crate) type Arguments = Result<Value, Problem>;

/// Which verb, and how its arguments are made.
#[derive(Clone, Copy)]
pub(crate) struct VerbCall {
    pub(crate) word: &'static str,
    pub(crate) arguments: fn(&Input) -> Arguments,
}

/// What a request has for the arguments of its verb.
#[derive(Debug, Default)]
pub(crate) struct Input {
    path: HashMap<String, String>,
    query: HashMap<String, String>,
    body: Map<String, Value>,
}

impl Input {
    /// Returns a request with this body about something of every kind.
    #[cfg(test)]
    pub(crate) fn of_body(body: &Value) -> Self {
        let names = [("id", "p_1"), ("mail", "3"), ("item", "4"), ("name", "notes"), ("task", "t")];
        let path = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { path, query: HashMap::new(), body: body.as_object().cloned().unwrap_or_default() }
    }

    /// No arguments.
    pub(crate) fn nothing(&self) -> Arguments {
        Ok(json!({}))
    }

    /// The body.
    pub(crate) fn body(&self) -> Arguments {
        Ok(Value::Object(self.body.clone()))
    }

    /// The body, about the process of the path.
    pub(crate) fn about_target(&self) -> Arguments {
        Ok(self.with(&[("target", self.text("id"))]))
    }

    /// `read` of the screen.
    pub(crate) fn screen(&self) -> Arguments {
        self.read("screen")
    }

    /// `read` of the history.
    pub(crate) fn history(&self) -> Arguments {
        self.read("history")
    }

    fn read(&self, mode: &str) -> Arguments {
        Ok(self.with(&[
            ("target", self.text("id")),
            ("mode", json!(mode)),
            ("since", self.number("since")?),
            ("until", self.number("until")?),
            ("limit", self.number("limit")?),
            ("join", self.flag("join")),
            ("styles", self.flag("styles")),
            ("run", self.run()?),
        ]))
    }

    /// Returns the run that the query names: a number, or `previous`.
    fn run(&self) -> Arguments {
        let run = self.query.get("run").map(|text| run_choice(text)).transpose()?;
        serde_json::to_value(run).map_err(Problem::internal)
    }

    /// `search`.
    pub(crate) fn search(&self) -> Arguments {
        let pattern =
            self.query.get("pattern").ok_or_else(|| Problem::invalid("pattern", "it is missing"))?;
        let limits = [("limit", self.number("limit")?), ("bytes", self.number("bytes")?)];
        Ok(self.with(&[
            ("target", self.text("id")),
            ("pattern", json!(pattern)),
            limits[0].clone(),
            limits[1].clone(),
        ]))
    }

    /// About the message of the path.
    pub(crate) fn mail(&self) -> Arguments {
        Ok(self.with(&[("mail", self.path_number("mail")?)]))
    }

    /// About the item of the path.
    pub(crate) fn item(&self) -> Arguments {
        Ok(self.with(&[("item", self.path_number("item")?)]))
    }

    /// About the project of the query.
    pub(crate) fn project(&self) -> Arguments {
        Ok(self.with(&[("project", self.query_text("project"))]))
    }

    /// The list of tasks.
    pub(crate) fn task_list(&self) -> Arguments {
        Ok(json!({"act": {"list": {}}}))
    }

    /// A new task.
    pub(crate) fn task_create(&self) -> Arguments {
        Ok(json!({"act": {"create": self.body}}))
    }

    /// One task.
    pub(crate) fn task_show(&self) -> Arguments {
        Ok(json!({"act": {"show": self.task()}}))
    }

    /// The changes of a task.
    pub(crate) fn task_diff(&self) -> Arguments {
        let diff = json!({"target": self.task(), "stat": self.flag("stat"), "base": self.query_text("base")});
        Ok(json!({"act": {"diff": without_nulls(diff)}}))
    }

    /// The comments on a task.
    pub(crate) fn task_comments(&self) -> Arguments {
        Ok(json!({"act": {"review": {"target": self.task(), "act": {"list": {}}}}}))
    }

    /// Something about the comments on a task: the body is `{add}`, `{send}`, `{resolve}` or `{remove}`.
    pub(crate) fn task_review(&self) -> Arguments {
        Ok(json!({"act": {"review": {"target": self.task(), "act": self.body}}}))
    }

    /// Lands a task.
    pub(crate) fn task_land(&self) -> Arguments {
        Ok(json!({"act": {"land": self.with(&[("target", self.task())])}}))
    }

    /// Drops a task.
    pub(crate) fn task_drop(&self) -> Arguments {
        Ok(json!({"act": {"drop": self.with(&[("target", self.task())])}}))
    }

    /// Brings a task back.
    pub(crate) fn task_restore(&self) -> Arguments {
        Ok(json!({"act": {"restore": self.task()}}))
    }

    fn task(&self) -> Value {
        json!({"name": self.text("task")})
    }

    /// The list of pads.
    pub(crate) fn pad_list(&self) -> Arguments {
        Ok(self.pad(json!({"list": {}})))
    }

    /// One pad.
    pub(crate) fn pad_read(&self) -> Arguments {
        let act = without_nulls(json!({"name": self.text("name"), "revision": self.number("revision")?}));
        Ok(self.pad(json!({ "read": act })))
    }

    /// A pad's new text.
    pub(crate) fn pad_write(&self) -> Arguments {
        let mut act = self.body.clone();
        act.insert("name".to_owned(), self.text("name"));
        Ok(self.pad(json!({ "write": act })))
    }

    /// A pad that goes.
    pub(crate) fn pad_delete(&self) -> Arguments {
        let expected = self.number("expected_revision")?;
        let act = without_nulls(json!({"name": self.text("name"), "expected_revision": expected}));
        Ok(self.pad(json!({ "delete": act })))
    }

    fn pad(&self, act: Value) -> Value {
        without_nulls(json!({"project": self.query_text("project"), "act": act}))
    }

    /// Returns the body with these fields, which win over its own; a field without a value is left out.
    fn with(&self, fields: &[(&str, Value)]) -> Value {
        let mut object = self.body.clone();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            object.insert((*name).to_owned(), value.clone());
        }
        Value::Object(object)
    }

    fn text(&self, name: &str) -> Value {
        json!(self.path.get(name))
    }

    fn query_text(&self, name: &str) -> Value {
        json!(self.query.get(name))
    }

    fn flag(&self, name: &str) -> Value {
        json!(self.query.get(name).is_some_and(|value| matches!(value.as_str(), "" | "1" | "true")))
    }

    fn number(&self, name: &str) -> Arguments {
        self.query.get(name).map_or(Ok(Value::Null), |text| parse_number(name, text))
    }

    fn path_number(&self, name: &str) -> Arguments {
        parse_number(name, self.path.get(name).map_or("", String::as_str))
    }
}

fn parse_number(name: &str, text: &str) -> Arguments {
    text.parse::<u64>().map(|number| json!(number)).map_err(|_| Problem::invalid(name, "it is not a number"))
}

/// Reads the run of a query: its number, or `previous`.
pub(crate) fn run_choice(text: &str) -> Result<RunChoice, Problem> {
    match (text, text.parse()) {
        ("previous", _) => Ok(RunChoice::Previous),
        (_, Ok(number)) => Ok(RunChoice::Number(number)),
        _ => Err(Problem::invalid("run", "it is a number or previous")),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}

/// Returns the handler of a route that is one verb.
pub(crate) fn handler(call: VerbCall) -> impl Handler<((),), Shared> {
    Wrapped(call)
}

/// A verb as a handler of its own type: a closure would need all extractors in its signature.
#[derive(Clone, Copy)]
struct Wrapped(VerbCall);

impl Handler<((),), Shared> for Wrapped {
    type Future = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: axum::extract::Request, gateway: Shared) -> Self::Future {
        Box::pin(async move { serve(self.0, request, gateway).await.unwrap_or_else(Problem::into_response) })
    }
}

async fn serve(
    call: VerbCall,
    request: axum::extract::Request,
    gateway: Shared,
) -> Result<Response, Problem> {
    let (identity, input) = read(request, &gateway).await?;
    let arguments = (call.arguments)(&input)?;
    let request: Request = serde_json::from_value(json!({ call.word: arguments }))
        .map_err(|error| Problem::invalid("body", error))?;
    let reply = gateway.door.ask(&identity, request).await?;
    let reply = serde_json::to_value(reply).map_err(Problem::internal)?;
    let value = untagged(reply);
    // Tasks and pads have one verb for several replies.
    let is_nested = matches!(call.word, "task" | "pad");
    Ok(Json(if is_nested { untagged(value) } else { value }).into_response())
}

/// Returns a reply without its name: the route says what it is.
fn untagged(reply: Value) -> Value {
    match reply {
        Value::Object(fields) if fields.len() == 1 => {
            fields.into_iter().next().map_or(Value::Null, |(_, value)| value)
        }
        other => other,
    }
}

/// Reads the caller, path, query and body of a request.
async fn read(request: axum::extract::Request, gateway: &Shared) -> Result<(AccessIdentity, Input), Problem> {
    use axum::extract::{FromRequestParts, OptionalFromRequestParts};
    let (mut parts, body) = request.into_parts();
    let Extension(identity) =
        <Extension<AccessIdentity> as FromRequestParts<Shared>>::from_request_parts(&mut parts, gateway)
            .await
            .map_err(|_| Problem::unauthorized())?;
    let path = <Path<HashMap<String, String>> as OptionalFromRequestParts<Shared>>::from_request_parts(
        &mut parts, gateway,
    )
    .await
    .map_err(|_| Problem::invalid("path", "it is not text"))?
    .map_or_else(HashMap::new, |Path(path)| path);
    let Query(query) = Query::try_from_uri(&parts.uri).map_err(|error| Problem::invalid("query", error))?;
    Ok((identity, Input { path, query, body: read_object(body).await? }))
}

/// Reads a body of JSON; none is an empty object.
pub(crate) async fn read_object(body: Body) -> Result<Map<String, Value>, Problem> {
    let bytes = match tokio::time::timeout(HANDSHAKE, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::Limit, "body: at most 1 MiB"));
        }
        Err(_) => {
            return Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                ErrorCode::Timeout,
                "body: it took too long",
            ));
        }
    };
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&bytes).map_err(|error| Problem::invalid("body", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(path: &[(&str, &str)], query: &[(&str, &str)], body: Value) -> Input {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Input { path: owned(path), query: owned(query), body: body.as_object().cloned().unwrap_or_default() }
    }

    #[test]
    fn the_process_of_the_path_wins_over_that_of_the_body() {
        let input = input(&[("id", "p_1")], &[], json!({"target": "p_2", "name": "x"}));
        assert_eq!(input.about_target().unwrap(), json!({"target": "p_1", "name": "x"}));
    }

    #[test]
    fn numbers_flags_and_texts_of_a_query_are_arguments() {
        let input = input(&[("id", "p_1")], &[("since", "7"), ("styles", "1"), ("pattern", "42")], json!({}));
        let screen = json!({"target": "p_1", "mode": "screen", "since": 7, "join": false, "styles": true});
        assert_eq!(input.screen().unwrap(), screen);
        assert_eq!(input.search().unwrap(), json!({"target": "p_1", "pattern": "42"}));
    }

    #[test]
    fn m13_an_earlier_run_is_named_by_its_number_or_as_the_previous_one() {
        let read = |run: &str| input(&[("id", "p_1")], &[("run", run)], json!({})).history();
        assert_eq!(read("3").unwrap()["run"], json!({"number": 3}));
        assert_eq!(read("previous").unwrap()["run"], json!("previous"));
        assert!(read("last").is_err());
    }

    #[test]
    fn the_body_of_a_review_is_what_is_done_with_it() {
        let body = json!({"add": {"file": "a.rs", "first": 1, "last": 2, "text": "why?"}});
        let arguments = input(&[("task", "t")], &[], body).task_review().unwrap();
        assert!(serde_json::from_value::<Request>(json!({ "task": arguments })).is_ok());
    }

    #[test]
    fn every_verb_of_the_table_understands_its_arguments() {
        let path = [("id", "p_1"), ("mail", "3"), ("item", "4"), ("name", "notes"), ("task", "t")];
        let body = json!({"argv": ["true"], "name": "n", "input": {"text": "x"}, "text": "t", "choice": "1", "content": "c", "directory": "/",
            "size": {"cols": 80, "rows": 24}});
        let input = input(&path, &[("pattern", "x")], body);
        for route in crate::routes::ROUTES {
            let crate::routes::Handler::Verb(call) = route.handler else { continue };
            if route.path.ends_with("/review") && route.method == crate::routes::HttpMethod::Post {
                continue; // Its body is the act itself: the next test.
            }
            let arguments = (call.arguments)(&input).unwrap();
            let parsed = serde_json::from_value::<Request>(json!({ call.word: arguments.clone() }));
            assert!(parsed.is_ok(), "{route:?}: {arguments} {parsed:?}");
        }
    }
}
