//! What each route reads besides its path, and what it answers: the names of schemas, which are in `schemas.json` or among those of
//! `qd schema`.

use crate::routes::{HttpMethod, Route};

use HttpMethod::{Delete, Get, Post, Put};

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryParameter {
    pub(super) name: &'static str,
    /// Its type in JSON Schema.
    pub(super) kind: &'static str,
    pub(super) is_required: bool,
}

/// A parameter that may be left out.
const fn optional(name: &'static str, kind: &'static str) -> QueryParameter {
    QueryParameter { name, kind, is_required: false }
}

/// A parameter that must be there.
const fn required(name: &'static str, kind: &'static str) -> QueryParameter {
    QueryParameter { name, kind, is_required: true }
}

/// What a request has besides its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Nothing,
    /// JSON of this schema.
    Json(&'static str),
    /// A file.
    Bytes,
}

/// What a route answers when it worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// JSON of this schema.
    Json(&'static str),
    /// JSON of this schema, or 204 while there is none.
    JsonOrNothing(&'static str),
    /// Bytes, or a part of them.
    Bytes,
    /// Text of this type.
    Text(&'static str),
    /// A WebSocket.
    Socket,
    /// The document of this kind itself.
    OpenApi,
}

/// The shape of one route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) query: &'static [QueryParameter],
    pub(super) sent: Sent,
    pub(super) answered: Answered,
}

const PROJECT: QueryParameter = optional("project", "string");
const READ: &[QueryParameter] = &[
    optional("since", "integer"),
    optional("until", "integer"),
    optional("limit", "integer"),
    optional("join", "boolean"),
    optional("styles", "boolean"),
    optional("run", "string"),
];
const VIEW: &[QueryParameter] = &[
    optional("from", "integer"),
    optional("run", "integer"),
    optional("exact", "boolean"),
    optional("mode", "string"),
];
const TERMINAL: &[QueryParameter] =
    &[optional("workspace_id", "string"), optional("cols", "integer"), optional("rows", "integer")];

const fn reads(query: &'static [QueryParameter], answered: Answered) -> Shape {
    Shape { query, sent: Sent::Nothing, answered }
}

const fn takes(sent: &'static str, answered: &'static str) -> Shape {
    Shape { query: &[], sent: Sent::Json(sent), answered: Answered::Json(answered) }
}

const fn json(answered: &'static str) -> Shape {
    reads(&[], Answered::Json(answered))
}

/// Returns the shape of a route; none if the table below has forgotten it.
pub(super) fn of(route: &Route) -> Option<Shape> {
    let Some(path) = route.path.strip_prefix("/api/v1/") else { return outside(route) };
    let (first, _) = path.split_once('/').unwrap_or((path, ""));
    match first {
        "processes" | "receipts" | "inbox" => of_process(route.method, path),
        "tasks" | "pads" | "presets" => of_task(route.method, path),
        _ => of_access(route.method, path),
    }
}

/// Routes that are not of the API.
fn outside(route: &Route) -> Option<Shape> {
    Some(match (route.method, route.path) {
        (Get, "/healthz") => json("Health"),
        (Get, "/openapi.json") => reads(&[], Answered::OpenApi),
        (Get, "/metrics") => reads(&[], Answered::Text("text/plain")),
        (Get, "/mcp") => reads(&[], Answered::Text("text/event-stream")),
        (Post, "/mcp") => takes("JsonRpc", "JsonRpc"),
        (Delete, "/mcp") => reads(&[], Answered::Text("text/plain")),
        (Get, "/ws/view/{id}") => reads(VIEW, Answered::Socket),
        (Get, "/ws/issues/{id}/terminal") => reads(TERMINAL, Answered::Socket),
        (Get, "/ws/events" | "/ws/terminal") => reads(&[], Answered::Socket),
        (Get, "/assets/{*file}" | "/{file}") => reads(&[], Answered::Bytes),
        (Get, _) => reads(&[], Answered::Text("text/html")),
        _ => return None,
    })
}

/// Routes about processes, their messages and their questions.
fn of_process(method: HttpMethod, path: &str) -> Option<Shape> {
    const SEARCH: &[QueryParameter] =
        &[required("pattern", "string"), optional("limit", "integer"), optional("bytes", "integer")];
    Some(match (method, path) {
        (Get, "processes") => json("ps"),
        (Post, "processes") => takes("Spawn", "spawn"),
        (Get, "processes/{id}") => json("process"),
        (Delete, "processes/{id}") => takes("Close", "ended"),
        (Post, "processes/{id}/kill") => takes("Kill", "ended"),
        (Post, "processes/{id}/restart") => takes("Restart", "spawn"),
        (Post, "processes/{id}/resume") => takes("Resume", "spawn"),
        (Post, "processes/{id}/rename") => takes("Rename", "Empty"),
        (Post, "processes/{id}/input") => takes("Input", "write"),
        (Post, "processes/{id}/resize") => takes("Resize", "Empty"),
        (Post, "processes/{id}/tell") => takes("Message", "tell"),
        (Post, "processes/{id}/interrupt") => takes("Empty", "Empty"),
        (Post, "processes/{id}/see") => takes("See", "Empty"),
        (Get, "processes/{id}/screen" | "processes/{id}/history") => reads(READ, Answered::Json("read")),
        (Get, "processes/{id}/log") => {
            reads(const { &[optional("from", "integer"), optional("run", "string")] }, Answered::Bytes)
        }
        (Get, "processes/{id}/search") => reads(SEARCH, Answered::Json("search")),
        (Get, "processes/{id}/result") => {
            reads(const { &[optional("turn", "integer")] }, Answered::JsonOrNothing("result"))
        }
        (Post, "processes/{id}/files") => Shape {
            query: const { &[required("name", "string")] },
            sent: Sent::Bytes,
            answered: Answered::Json("StoredFile"),
        },
        (Get, "processes/{id}/explain") => json("explain"),
        (Get, "processes/{id}/ports") => json("ports"),
        (Get | Delete, "receipts/{mail}") => json("tell"),
        (Get, "inbox") => json("inbox"),
        (Post, "inbox/{item}/answer") => takes("Answer", "Empty"),
        _ => return None,
    })
}

/// Routes about tasks, scratchpads and stored commands.
fn of_task(method: HttpMethod, path: &str) -> Option<Shape> {
    const PAD: &[QueryParameter] = &[PROJECT, optional("revision", "integer")];
    const GONE_PAD: &[QueryParameter] = &[PROJECT, optional("expected_revision", "integer")];
    const DIFF: &[QueryParameter] = &[optional("base", "string"), optional("stat", "boolean")];
    Some(match (method, path) {
        (Get, "presets") => reads(&[PROJECT], Answered::Json("presets")),
        (Get, "pads") => reads(&[PROJECT], Answered::Json("pads")),
        (Get, "pads/{name}") => reads(PAD, Answered::Json("pads_show")),
        (Put, "pads/{name}") => Shape { query: &[PROJECT], ..takes("WritePad", "pads_changed") },
        (Delete, "pads/{name}") => reads(GONE_PAD, Answered::Json("pads_changed")),
        (Get, "tasks") => json("tasks"),
        (Post, "tasks") => takes("CreateTask", "task_created"),
        (Get, "tasks/{task}") => json("task"),
        (Delete, "tasks/{task}") => takes("DropTask", "task_dropped"),
        (Post, "tasks/{task}/restore") => takes("Empty", "task"),
        (Get, "tasks/{task}/diff") => reads(DIFF, Answered::Json("task_diff")),
        (Get, "tasks/{task}/review") => json("task_review"),
        (Post, "tasks/{task}/review") => takes("Review", "task_review"),
        (Post, "tasks/{task}/land") => takes("LandTask", "task_landed"),
        _ => return None,
    })
}

/// Routes about who calls, and about the daemon.
fn of_access(method: HttpMethod, path: &str) -> Option<Shape> {
    Some(match (method, path) {
        (Post, "login") => takes("Login", "Identity"),
        (Post, "logout") => json("Empty"),
        (Get, "me") => json("Me"),
        (Post, "step-up") => takes("Proof", "Confirmed"),
        (Get, "devices") => json("access_list"),
        (Delete, "devices/{id}") => json("Empty"),
        (Post, "tokens") => takes("NewToken", "access_minted"),
        (Post, "links") => takes("NewLink", "access_minted"),
        (Post, "tickets") => takes("NewTicket", "Ticket"),
        (Get, "status") => json("status"),
        (Get, "agents") => json("agents"),
        (Get, "viewers") => json("viewers"),
        (Get, "timers") => json("timers"),
        (Get, "push/key") => json("PushKey"),
        (Post, "push/subscriptions") => takes("PushSubscription", "Empty"),
        (Delete, "push/subscriptions") => takes("PushEndpoint", "Empty"),
        (Post, "push/test") => json("PushOutcomes"),
        _ => return None,
    })
}
