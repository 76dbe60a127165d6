//! One process of the list, and the bytes of its log.

use axum::Extension;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use client::Incoming;
use proto::frame::DataKind;
use proto::request::{Empty, Follow};
use proto::{ErrorCode, Notice, Printable, ProcessView, Reply, Request, Target};
use serde::Deserialize;

use crate::gateway::{Gateway, Shared};
use crate::identity::AccessIdentity;
use crate::problem::Problem;

/// The most bytes of a log in one answer.
const MAX_LOG: usize = 1 << 20; // 1 MiB

/// Returns a process by its id or name, if the caller may know of it.
pub(crate) async fn find(
    gateway: &Gateway,
    caller: &AccessIdentity,
    id: &str,
) -> Result<ProcessView, Problem> {
    let reply = gateway.door.ask(caller, Request::List(Empty {})).await?;
    let Reply::Processes(all) = reply else {
        return Err(Problem::internal("list was answered with something else"));
    };
    let is_it = |view: &ProcessView| view.id.to_string() == id || view.name.to_string() == id;
    let found = all.into_iter().find(is_it).filter(|view| caller.covers(&view.id.to_string()));
    found.ok_or_else(|| {
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
struct Span {
    #[serde(default)]
    from: u64,
}

/// The bytes of the log from `from` on, at most 1 MiB. `X-Qd-Offset` is the offset of the first byte, which is later than
/// `from` when older bytes are gone; `X-Qd-End` is where to go on.
pub(crate) fn log() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
        Query(span): Query<Span>,
    ) -> Result<Response, Problem> {
        if !caller.covers(&id) {
            return Err(Problem::denied("this link shows another process"));
        }
        let (offset, bytes) = read_log(&gateway, &caller, &id, span.from).await?;
        let number = |name, value: u64| (HeaderName::from_static(name), value.to_string());
        let end = offset + bytes.len() as u64;
        let kind = (header::CONTENT_TYPE, "application/octet-stream".to_owned());
        let attachment = (header::CONTENT_DISPOSITION, "attachment; filename=\"log\"".to_owned());
        Ok(([kind, attachment, number("x-qd-offset", offset), number("x-qd-end", end)], bytes)
            .into_response())
    }
    get(handle)
}

/// Returns the offset of the first byte, and the bytes.
async fn read_log(
    gateway: &Gateway,
    caller: &AccessIdentity,
    id: &str,
    from: u64,
) -> Result<(u64, Vec<u8>), Problem> {
    let mut connection = gateway.door.connect(caller).await?;
    let follow = Follow { target: Target(id.to_owned()), from: Some(from), ..Follow::default() };
    let reply = connection.call(Request::Follow(follow)).await?;
    let Reply::Following(_) = reply else {
        return Err(Problem::internal("follow was answered with something else"));
    };
    let (mut start, mut bytes) = (from, Vec::new());
    while let Some(incoming) = connection.reader.next().await? {
        match incoming {
            Incoming::Data(data) if data.kind == DataKind::Output => {
                if bytes.is_empty() {
                    start = data.offset;
                } else if start + bytes.len() as u64 != data.offset {
                    break;
                }
                bytes.extend_from_slice(&data.bytes);
                if bytes.len() >= MAX_LOG {
                    bytes.truncate(MAX_LOG);
                    break;
                }
            }
            Incoming::Notice(Notice::End { .. }) => break,
            Incoming::Notice(Notice::Gap { to, .. }) if bytes.is_empty() => start = to,
            _ => {}
        }
    }
    Ok((start, bytes))
}
