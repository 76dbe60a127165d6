//! The `terminal.*` dialect: JSON text frames `{type, payload}` with bytes in base64, on two paths.
//!
//! | file | what it has |
//! |---|---|
//! | `wire` | the frames and the error codes |
//! | `connection` | one socket: authentication, opening, and frames to and from its sessions |
//! | `session` | one terminal of a socket: attaches, passes on, types, ends |
//! | `registry` | how sessions ended, for clients that come back later |

mod connection;
mod registry;
mod session;
mod wire;

use axum::extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serde::Deserialize;

use crate::api_query::ApiQuery;
use crate::gateway::Shared;
use crate::problem::Problem;
use crate::socket;
use crate::tickets::TicketFor;
use connection::{Connection, Opener};
pub(crate) use registry::Registry;
use wire::Open;

/// What the second path says in its query; it opens a terminal by itself.
#[derive(Debug, Deserialize)]
struct Implicit {
    #[serde(default)]
    workspace_id: String,
    #[serde(default)]
    cols: u32,
    #[serde(default)]
    rows: u32,
}

pub(crate) fn route() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        headers: HeaderMap,
        upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    ) -> Result<Response, Problem> {
        begin(gateway, &headers, upgrade, None)
    }
    get(handle)
}

pub(crate) fn task_route() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Path(task): Path<String>,
        ApiQuery(query): ApiQuery<Implicit>,
        headers: HeaderMap,
        upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    ) -> Result<Response, Problem> {
        let open = Open {
            request_id: String::new(),
            task_id: task,
            workspace_id: query.workspace_id,
            cols: query.cols,
            rows: query.rows,
        };
        begin(gateway, &headers, upgrade, Some(open))
    }
    get(handle)
}

fn begin(
    gateway: Shared,
    headers: &HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    implicit: Option<Open>,
) -> Result<Response, Problem> {
    let known = match socket::opener(&gateway, headers)? {
        Some((_, Some(what))) if what != TicketFor::Dialect => {
            return Err(Problem::denied("this ticket opens something else"));
        }
        Some((identity, _)) => {
            connection::check_role(&identity)?;
            Some(identity)
        }
        None => None,
    };
    Ok(match upgrade {
        Ok(upgrade) => {
            let opener = known.map_or_else(|| Opener::Guest(gateway.guests.enter()), Opener::Known);
            let serve = move |socket| Connection::serve(gateway, opener, implicit, socket);
            socket::limited(upgrade).on_upgrade(serve)
        }
        Err(rejection) => rejection.into_response(),
    })
}
