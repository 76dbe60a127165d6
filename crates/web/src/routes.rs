//! The table of routes: the single source of the router, the roles, the OpenAPI document and the security tests.

use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};
use proto::Role;

use crate::api::{access, log, processes, service, tickets};
use crate::gateway::Shared;
use crate::openapi::ApiDocument;
#[cfg(feature = "push")]
use crate::push;
use crate::verb_call::{self, Input, VerbCall};
use crate::{compression, dialect, events, page, request_check, tools, view};

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads.
    Get,
    /// Does something.
    Post,
    /// Replaces.
    Put,
    /// Removes.
    Delete,
}

impl HttpMethod {
    /// Its name on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// What a caller needs for a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing: it has no facts.
    Public,
    /// To be the server's own page; it signs in here.
    SignIn,
    /// At least this role.
    Role(Role),
    /// To be a device of an administrator that a person at the machine has confirmed.
    Confirmed,
    /// A bearer token of any role; the daemon decides what its tools may do.
    Bearer,
    /// A ticket, a bearer token or a token in the first frame, which the WebSocket's own handler checks.
    Socket,
}

/// How a route is answered.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// By one verb of the daemon.
    Verb(VerbCall),
    /// By code of this server.
    Own(fn() -> MethodRouter<Shared>),
    /// By the tools for agents, which are served here as well.
    Mcp,
}

/// One route.
#[derive(Clone, Copy)]
pub struct Route {
    /// Its method.
    pub method: HttpMethod,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// What it needs.
    pub access: Access,
    /// What it does, in one line.
    pub summary: &'static str,
    pub(crate) handler: Handler,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method.word(), self.path)
    }
}

impl Route {
    /// The verb of the daemon that answers it, if one does.
    #[must_use]
    pub fn verb(&self) -> Option<&'static str> {
        match self.handler {
            Handler::Verb(call) => Some(call.word),
            Handler::Own(_) | Handler::Mcp => None,
        }
    }
}

/// Where an item is answered. `step_up` says which answers need a confirmation besides the role.
pub(crate) const ANSWER: &str = "/api/v1/inbox/{item}/answer";

/// Routes whose answers are long texts.
const COMPRESSED: &[&str] = &["/api/v1/processes/{id}/history", "/api/v1/processes/{id}/log"];

const VIEW: Access = Access::Role(Role::View);
const TYPE: Access = Access::Role(Role::Type);
const ADMIN: Access = Access::Role(Role::Admin);

const fn own(
    method: HttpMethod,
    path: &'static str,
    access: Access,
    summary: &'static str,
    handler: fn() -> MethodRouter<Shared>,
) -> Route {
    Route { method, path, access, summary, handler: Handler::Own(handler) }
}

const fn verb(
    method: HttpMethod,
    path: &'static str,
    access: Access,
    summary: &'static str,
    call: VerbCall,
) -> Route {
    Route { method, path, access, summary, handler: Handler::Verb(call) }
}

const fn mcp(method: HttpMethod, summary: &'static str) -> Route {
    Route { method, path: "/mcp", access: Access::Bearer, summary, handler: Handler::Mcp }
}

const fn call(word: &'static str, arguments: fn(&Input) -> verb_call::Arguments) -> VerbCall {
    VerbCall { word, arguments }
}

use HttpMethod::{Delete, Get, Post, Put};

/// Every route.
pub const ROUTES: &[Route] = &[
    own(Get, "/healthz", Access::Public, "Answers while the server runs", service::health),
    own(Get, "/openapi.json", VIEW, "This API as an OpenAPI document", service::openapi),
    own(Get, "/metrics", ADMIN, "Counters for Prometheus", service::metrics),
    own(Get, "/", Access::Public, "The page", page::index),
    own(Get, "/pair", Access::Public, "The page, for signing in", page::index),
    own(Get, "/inbox", Access::Public, "The page, at the inbox", page::index),
    own(Get, "/inbox/{item}", Access::Public, "The page, at one item", page::index),
    own(Get, "/tasks", Access::Public, "The page, at the tasks", page::index),
    own(Get, "/pads", Access::Public, "The page, at the pads", page::index),
    own(Get, "/pads/{name}", Access::Public, "The page, at one pad", page::index),
    own(Get, "/settings", Access::Public, "The page, at the settings", page::index),
    own(Get, "/wall", Access::Public, "The page, at the wall", page::index),
    own(Get, "/p/{id}", Access::Public, "The page, at one process", page::index),
    own(Get, "/t/{task}", Access::Public, "The page, at one task", page::index),
    own(Get, "/assets/{*file}", Access::Public, "A file of the page", page::asset),
    own(Get, "/{file}", Access::Public, "A file of the page beside it", page::root_file),
    own(Post, "/api/v1/login", Access::SignIn, "Signs a device in by a code or a link", access::login),
    own(Post, "/api/v1/logout", VIEW, "Signs the calling device out", access::logout),
    own(Get, "/api/v1/me", VIEW, "Who calls, and what it may do", access::me),
    own(Post, "/api/v1/step-up", ADMIN, "Confirms this device by a code of the machine", access::step_up),
    own(Get, "/api/v1/devices", ADMIN, "Devices, tokens and links", access::list),
    own(Delete, "/api/v1/devices/{id}", ADMIN, "Revokes a device, a token or a link", access::revoke),
    own(Post, "/api/v1/tokens", Access::Confirmed, "Mints a bearer token", access::mint_token),
    own(
        Post,
        "/api/v1/links",
        Access::Confirmed,
        "Mints a link to watch one process or one task",
        access::mint_link,
    ),
    own(Post, "/api/v1/tickets", VIEW, "A ticket that opens one WebSocket", tickets::issue),
    verb(Get, "/api/v1/status", VIEW, "How the daemon is", call("status", Input::nothing)),
    verb(Get, "/api/v1/agents", VIEW, "The agents that can be started", call("agents", Input::nothing)),
    verb(Get, "/api/v1/viewers", VIEW, "The viewers of all processes", call("viewers", Input::nothing)),
    own(Get, "/api/v1/processes", VIEW, "All processes", processes::list),
    verb(Post, "/api/v1/processes", TYPE, "Starts a process", call("spawn", Input::body)),
    own(Get, "/api/v1/processes/{id}", VIEW, "One process", processes::one),
    verb(
        Delete,
        "/api/v1/processes/{id}",
        TYPE,
        "Ends and removes a process",
        call("close", Input::about_target),
    ),
    verb(Post, "/api/v1/processes/{id}/kill", TYPE, "Ends the run", call("kill", Input::about_target)),
    verb(
        Post,
        "/api/v1/processes/{id}/restart",
        TYPE,
        "Starts a new run",
        call("restart", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/resume",
        TYPE,
        "Resumes an agent's session",
        call("resume", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/rename",
        TYPE,
        "Gives it another name",
        call("rename", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/input",
        TYPE,
        "Types text, pastes or presses keys",
        call("write", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/resize",
        TYPE,
        "Sets the terminal's size",
        call("resize", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/tell",
        TYPE,
        "Gives an agent a message",
        call("tell", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/interrupt",
        TYPE,
        "Ends an agent's turn",
        call("interrupt", Input::about_target),
    ),
    verb(
        Post,
        "/api/v1/processes/{id}/see",
        TYPE,
        "Marks what it did as seen",
        call("see", Input::about_target),
    ),
    verb(
        Get,
        "/api/v1/processes/{id}/screen",
        VIEW,
        "The screen, as text or styled rows",
        call("read", Input::screen),
    ),
    verb(
        Get,
        "/api/v1/processes/{id}/history",
        VIEW,
        "Lines by id, as text or styled rows",
        call("read", Input::history),
    ),
    own(Get, "/api/v1/processes/{id}/log", VIEW, "Bytes of the log from an offset", log::log),
    verb(
        Get,
        "/api/v1/processes/{id}/search",
        VIEW,
        "Matches in what it has shown",
        call("search", Input::search),
    ),
    own(
        Get,
        "/api/v1/processes/{id}/result",
        VIEW,
        "What an agent said at the end of a turn",
        processes::result,
    ),
    own(Post, "/api/v1/processes/{id}/files", TYPE, "Stores a file for an agent", processes::attach),
    verb(
        Get,
        "/api/v1/processes/{id}/explain",
        VIEW,
        "The evidence for an agent's state",
        call("explain", Input::about_target),
    ),
    verb(
        Get,
        "/api/v1/processes/{id}/ports",
        VIEW,
        "The ports it listens on",
        call("ports", Input::about_target),
    ),
    verb(Get, "/api/v1/receipts/{mail}", VIEW, "What became of a message", call("receipt", Input::mail)),
    verb(
        Delete,
        "/api/v1/receipts/{mail}",
        TYPE,
        "Takes a queued message back",
        call("cancel_message", Input::mail),
    ),
    own(Get, "/api/v1/inbox", VIEW, "What needs a person", processes::inbox),
    verb(Post, ANSWER, TYPE, "Answers an item", call("answer", Input::item)),
    verb(Get, "/api/v1/timers", VIEW, "The timers", call("timers", Input::nothing)),
    verb(Get, "/api/v1/presets", VIEW, "A project's stored commands", call("presets", Input::project)),
    verb(Get, "/api/v1/pads", VIEW, "A project's scratchpads", call("pad", Input::pad_list)),
    verb(Get, "/api/v1/pads/{name}", VIEW, "A scratchpad", call("pad", Input::pad_read)),
    verb(Put, "/api/v1/pads/{name}", TYPE, "Writes a scratchpad", call("pad", Input::pad_write)),
    verb(Delete, "/api/v1/pads/{name}", TYPE, "Removes a scratchpad", call("pad", Input::pad_delete)),
    verb(Get, "/api/v1/tasks", VIEW, "All tasks", call("task", Input::task_list)),
    verb(Post, "/api/v1/tasks", TYPE, "Makes a task", call("task", Input::task_create)),
    verb(Get, "/api/v1/tasks/{task}", VIEW, "One task", call("task", Input::task_show)),
    verb(
        Delete,
        "/api/v1/tasks/{task}",
        TYPE,
        "Drops a task; what would be lost is saved",
        call("task", Input::task_drop),
    ),
    verb(
        Post,
        "/api/v1/tasks/{task}/restore",
        TYPE,
        "Brings a dropped task back",
        call("task", Input::task_restore),
    ),
    verb(Get, "/api/v1/tasks/{task}/diff", VIEW, "Its changes", call("task", Input::task_diff)),
    verb(Get, "/api/v1/tasks/{task}/review", VIEW, "The comments on it", call("task", Input::task_comments)),
    verb(
        Post,
        "/api/v1/tasks/{task}/review",
        TYPE,
        "Adds, sends, resolves or removes comments",
        call("task", Input::task_review),
    ),
    verb(Post, "/api/v1/tasks/{task}/land", Access::Confirmed, "Lands it", call("task", Input::task_land)),
    #[cfg(feature = "push")]
    own(Get, "/api/v1/push/key", VIEW, "The key with which a browser subscribes", push::key),
    #[cfg(feature = "push")]
    own(Post, "/api/v1/push/subscriptions", VIEW, "Subscribes this device's browser", push::subscribe),
    #[cfg(feature = "push")]
    own(Delete, "/api/v1/push/subscriptions", VIEW, "Ends that", push::unsubscribe),
    #[cfg(feature = "push")]
    own(Post, "/api/v1/push/test", VIEW, "Notifies this device's browsers", push::test),
    mcp(Post, "A message of the Model Context Protocol"),
    mcp(Get, "The stream of a session of that protocol"),
    mcp(Delete, "Ends a session of that protocol"),
    own(Get, "/ws/events", Access::Socket, "Events, as a WebSocket", events::route),
    own(Get, "/ws/view/{id}", Access::Socket, "A process's screen, as a WebSocket", view::route),
    own(Get, "/ws/terminal", Access::Socket, "The terminal.* dialect, as a WebSocket", dialect::route),
    own(Get, "/ws/issues/{id}/terminal", Access::Socket, "The same for one task", dialect::task_route),
];

/// Returns the router of the whole table; behind `request_check::guard` for everything.
pub(crate) fn router(gateway: &Shared, document: ApiDocument) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, answered(route, gateway));
    }
    let router = match gateway.base.trim_matches('/') {
        "" => router,
        // A proxy may pass the base on or remove it.
        base => router.clone().route(&format!("/{base}/"), page::index()).nest(&format!("/{base}"), router),
    };
    let router = router.fallback(page::unknown).layer(Extension(document));
    router.layer(from_fn_with_state(gateway.clone(), request_check::guard)).with_state(gateway.clone())
}

fn answered(route: &'static Route, gateway: &Shared) -> MethodRouter<Shared> {
    let methods = match route.handler {
        Handler::Own(handler) => handler(),
        Handler::Verb(call) => lasting(on(route.method.filter(), verb_call::handler(call)), gateway),
        Handler::Mcp => lasting(on(route.method.filter(), tools::handle), gateway),
    };
    let methods =
        if COMPRESSED.contains(&route.path) { methods.layer(from_fn(compression::gzip)) } else { methods };
    methods.route_layer(from_fn_with_state(gateway.clone(), move |state, request, next| {
        request_check::authorize(route, state, request, next)
    }))
}

/// What may take long ends when its caller is revoked.
fn lasting(methods: MethodRouter<Shared>, gateway: &Shared) -> MethodRouter<Shared> {
    methods.layer(from_fn_with_state(gateway.clone(), request_check::until_revoked))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn w2_every_route_stands_once_in_the_table() {
        let all: BTreeSet<_> = ROUTES.iter().map(|route| (route.method.word(), route.path)).collect();
        assert_eq!(all.len(), ROUTES.len());
    }

    #[test]
    fn w6_what_changes_something_needs_more_than_to_view() {
        for route in ROUTES.iter().filter(|route| route.method != HttpMethod::Get) {
            // They change nothing but what belongs to the caller itself.
            let own = ["/api/v1/login", "/api/v1/logout", "/api/v1/tickets"];
            let is_own = own.contains(&route.path) || route.path.starts_with("/api/v1/push/");
            assert!(is_own || route.access != VIEW && route.access != Access::Public, "{route:?}");
        }
    }

    #[test]
    fn only_the_page_and_health_are_public() {
        for route in ROUTES.iter().filter(|route| route.access == Access::Public) {
            assert!(!route.path.starts_with("/api") && !route.path.starts_with("/ws"), "{route:?}");
        }
    }
}
