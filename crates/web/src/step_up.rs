//! Which answers need a confirmation at the machine. Routes that always need one say so in the table; an answer needs one if it
//! decides what agents may start from now on.

use axum::extract::RawPathParams;
use proto::agent::{InboxItem, ItemKind};
use proto::request::Empty;
use proto::{Reply, Request, Role};

use crate::gateway::Gateway;
use crate::identity::AccessIdentity;
use crate::problem::Problem;
use crate::request_check;
use crate::routes::ANSWER;

/// Refuses an answer that gives lasting power to a caller that was not confirmed; everything else passes.
pub(crate) async fn check_route(
    gateway: &Gateway,
    caller: &AccessIdentity,
    path: &str,
    named: &RawPathParams,
) -> Result<(), Problem> {
    let item = named.iter().find(|(name, _)| *name == "item").and_then(|(_, value)| value.parse().ok());
    let (true, Some(item)) = (path == ANSWER, item) else { return Ok(()) };
    let Reply::Inbox(items) = gateway.door.ask(caller, Request::Inbox(Empty {})).await? else {
        return Err(Problem::internal("inbox was answered with something else"));
    };
    if !lasts(&items, item) {
        return Ok(());
    }
    caller.check_role(Role::Admin)?;
    request_check::check_confirmed(gateway, caller)
}

/// Returns true if the item's answer counts for longer than for itself. An item that is not there is refused by the daemon.
fn lasts(items: &[InboxItem], item: u64) -> bool {
    items.iter().any(|known| known.item == item && known.kind == ItemKind::Trust)
}
