//! `/ws/view/{id}`: one process's screen in a browser, byte by byte with offsets.
//!
//! | file | what it has |
//! |---|---|
//! | `frames` | the binary frames |
//! | `credit` | how much may be on its way to a client that has not parsed it |
//! | `filter` | what of a child's output reaches a browser, and where a client can go on |
//! | `lease` | a terminal's size for one viewer, for a while |
//! | `orders` | what a client has typed and the daemon has not taken yet |
//! | `session` | one viewer: attaching, passing on, typing |

mod credit;
mod filter;
mod frames;
mod lease;
mod orders;
mod session;

use axum::extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use proto::{Role, RunNumber};
use serde::Deserialize;

use crate::api_query::ApiQuery;
use crate::gateway::Shared;
use crate::identity::AccessIdentity;
use crate::link;
use crate::problem::Problem;
use crate::socket;
use crate::tickets::TicketFor;

pub(crate) use filter::OutputFilter;
use session::{Session, Wanted};

/// How a viewer begins.
#[derive(Debug, Deserialize)]
struct Start {
    /// Continue at this offset.
    from: Option<u64>,
    /// The run that it counts in.
    run: Option<RunNumber>,
    /// Every byte, no repaints.
    #[serde(default)]
    exact: u8,
    /// `type`, for a client with a bearer token; a ticket says it otherwise.
    mode: Option<String>,
}

pub(crate) fn route() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Path(process): Path<String>,
        ApiQuery(start): ApiQuery<Start>,
        headers: HeaderMap,
        upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    ) -> Result<Response, Problem> {
        let (identity, ticket) = socket::opener(&gateway, &headers)?.ok_or_else(Problem::unauthorized)?;
        let types = may_type(&identity, ticket, &process, &start)?;
        link::check_process(&gateway, &identity, &process).await?;
        let permit =
            gateway.sockets.permit(&identity).ok_or_else(|| Problem::busy("too many sockets are open"))?;
        let wanted = Wanted { process, from: start.from, run: start.run, is_exact: start.exact != 0, types };
        Ok(match upgrade {
            Ok(upgrade) => socket::limited(upgrade).on_upgrade(move |socket| async move {
                let _permit = permit;
                Session::serve(gateway, identity, wanted, socket).await;
            }),
            Err(rejection) => rejection.into_response(),
        })
    }
    get(handle)
}

/// Returns true if the viewer types; an error if its ticket or its role is for something else.
fn may_type(
    identity: &AccessIdentity,
    ticket: Option<TicketFor>,
    process: &str,
    start: &Start,
) -> Result<bool, Problem> {
    let types = match ticket {
        Some(TicketFor::View { process: only, types }) if only == process => types,
        Some(_) => return Err(Problem::denied("this ticket opens something else")),
        None => start.mode.as_deref() == Some("type"),
    };
    if types {
        identity.check_role(Role::Type)?;
    }
    Ok(types)
}
