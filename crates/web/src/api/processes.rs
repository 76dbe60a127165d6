//! Handlers about processes: list, one process, its inbox items, its result, uploaded files.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Json};
use client::CallError;
use proto::agent::InboxItem;
use proto::request::{AskResult, Empty};
use proto::{ErrorCode, Printable, ProcessView, Reply, Request, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api_query::ApiQuery;
use crate::attachments;
use crate::gateway::{Gateway, Shared};
use crate::identity::AccessIdentity;
use crate::link;
use crate::problem::Problem;

async fn all(gateway: &Gateway, caller: &AccessIdentity) -> Result<Vec<ProcessView>, Problem> {
    match gateway.door.ask(caller, Request::List(Empty {})).await? {
        Reply::Processes(all) => Ok(all),
        _ => Err(Problem::internal("list was answered with something else")),
    }
}

/// All processes that the caller may know of.
pub(crate) fn list() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
    ) -> Result<Json<Vec<ProcessView>>, Problem> {
        let all = all(&gateway, &caller).await?;
        link::visible_processes(&gateway, &caller, all).await.map(Json)
    }
    get(handle)
}

/// What needs a person, of the processes that the caller may know of.
pub(crate) fn inbox() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
    ) -> Result<Json<Vec<InboxItem>>, Problem> {
        let Reply::Inbox(mut items) = gateway.door.ask(&caller, Request::Inbox(Empty {})).await? else {
            return Err(Problem::internal("inbox was answered with something else"));
        };
        if caller.scope.target.is_some() {
            let all = all(&gateway, &caller).await?;
            let shown = link::visible_processes(&gateway, &caller, all).await?;
            items.retain(|item| shown.iter().any(|process| process.id == item.id));
        }
        Ok(Json(items))
    }
    get(handle)
}

/// Returns a process by its id or name. A link has got no further than to its own processes.
pub(crate) async fn find(
    gateway: &Gateway,
    caller: &AccessIdentity,
    id: &str,
) -> Result<ProcessView, Problem> {
    let all = all(gateway, caller).await?;
    let is_it = |view: &ProcessView| view.id.to_string() == id || view.name.to_string() == id;
    all.into_iter().find(is_it).ok_or_else(|| {
        let message = format!("no process \"{}\"", Printable(id));
        Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
    })
}

pub(crate) fn one() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
    ) -> Result<Json<ProcessView>, Problem> {
        find(&gateway, &caller, &id).await.map(Json)
    }
    get(handle)
}

#[derive(Debug, Deserialize)]
struct TurnQuery {
    turn: Option<u64>,
}

/// What an agent said at the end of a turn: of the newest one that is over, if none is named. No content while none is.
pub(crate) fn result() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
        ApiQuery(TurnQuery { turn }): ApiQuery<TurnQuery>,
    ) -> Result<Response, Problem> {
        let process = find(&gateway, &caller, &id).await?;
        let is_new = process.agent.as_ref().is_some_and(|agent| agent.turn == 0);
        if turn.is_none() && is_new {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        let ask = AskResult { target: Target(id), turn };
        match gateway.door.ask(&caller, Request::Result(ask)).await {
            Ok(Reply::Turn(turn)) => Ok(Json(turn).into_response()),
            Ok(_) => Err(Problem::internal("result was answered with something else")),
            // Its first turn is under way.
            Err(CallError::Refused(failure)) if turn.is_none() && failure.code == ErrorCode::Conflict => {
                Ok(StatusCode::NO_CONTENT.into_response())
            }
            Err(error) => Err(error.into()),
        }
    }
    get(handle)
}

#[derive(Debug, Deserialize)]
struct FileQuery {
    #[serde(default)]
    name: String,
}

/// Stores the body as a file, whose path a person then sends to the process.
pub(crate) fn attach() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
        ApiQuery(FileQuery { name }): ApiQuery<FileQuery>,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Json<Value>, Problem> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        attachments::check_length(length.unwrap_or(0))?;
        let process = find(&gateway, &caller, &id).await?;
        let stored = gateway.attachments.store(&process.id.to_string(), &name, body).await?;
        gateway.audit.note(&caller, "attached", json!({"process": process.id, "bytes": stored.bytes}));
        Ok(Json(json!({"path": stored.path, "bytes": stored.bytes})))
    }
    post(handle)
}
