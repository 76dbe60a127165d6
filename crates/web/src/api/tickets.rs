//! Issues tickets for WebSockets.

use axum::body::Body;
use axum::extract::State;
use axum::routing::{MethodRouter, post};
use axum::{Extension, Json};
use proto::Role;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gateway::Shared;
use crate::identity::AccessIdentity;
use crate::link;
use crate::problem::Problem;
use crate::tickets::{NoTicket, TicketFor};
use crate::verb_call::read_object;

#[derive(Debug, Deserialize)]
struct Wanted {
    r#for: String,
    process: Option<String>,
    #[serde(default)]
    mode: Option<String>,
}

pub(crate) fn issue() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        body: Body,
    ) -> Result<Json<Value>, Problem> {
        let wanted = Value::Object(read_object(body).await?);
        let wanted: Wanted =
            serde_json::from_value(wanted).map_err(|error| Problem::invalid("body", error))?;
        let what = purpose(&caller, wanted)?;
        if let TicketFor::View { process, .. } = &what {
            link::check_process(&gateway, &caller, process).await?;
        }
        let ticket = gateway.tickets.issue(&caller, what).map_err(|error| match error {
            NoTicket::TooMany => Problem::busy("too many tickets are open: use them, or wait half a minute"),
            NoTicket::Random(error) => Problem::internal(error),
        })?;
        Ok(Json(json!({"ticket": ticket.expose(), "seconds": 30})))
    }
    post(handle)
}

/// Returns what the ticket is for, if the caller may have it.
fn purpose(caller: &AccessIdentity, wanted: Wanted) -> Result<TicketFor, Problem> {
    let types = match wanted.mode.as_deref() {
        None | Some("view") => false,
        Some("type") => true,
        Some(_) => return Err(Problem::invalid("mode", "view or type")),
    };
    let needs_type = types || wanted.r#for == "dialect";
    if needs_type {
        caller.check_role(Role::Type)?;
    }
    if caller.scope.target.is_some() && wanted.r#for != "view" {
        return Err(Problem::denied("a link opens views only"));
    }
    match (wanted.r#for.as_str(), wanted.process) {
        ("events", _) => Ok(TicketFor::Events),
        ("dialect", _) => Ok(TicketFor::Dialect),
        ("view", Some(process)) => Ok(TicketFor::View { process, types }),
        ("view", None) => Err(Problem::invalid("process", "say which one")),
        _ => Err(Problem::invalid("for", "events, view or dialect")),
    }
}
