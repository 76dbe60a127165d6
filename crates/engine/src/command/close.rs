//! `close`: end the run and its tree, then remove the entry; or the child alone, when its background is to be kept.

use proto::request::Close;
use proto::verb;
use proto::{ExitReason, ProcessId, Role, Status, Stop};

use super::{Asker, Audited, CommandResult, Decide, Needs};
use crate::Engine;
use crate::input::Ticket;
use crate::process::Then;
use crate::process::stopping::EndRequest;
use crate::rights::Verb;

impl Decide for verb::Close {
    type Order = Close;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Over(Verb::Drive);
    const AUDITED: Audited = Audited::Success;

    fn decide(engine: &mut Engine, asker: Asker, close: Close) -> CommandResult {
        close.stop.check()?;
        let (id, ticket) = (asker.target()?, asker.ticket);
        if close.keep_background {
            end_child(engine, id, close.stop, ticket);
        } else {
            let request = EndRequest::new(Some(ExitReason::Closed), Then::Remove);
            engine.end(id, request.stop(close.stop).ticket(ticket));
        }
        Ok(None)
    }
}

/// Ends the child alone, if it is not over yet. One that is not there yet has put nothing in the background, and a
/// tree that another caller is ending has none to keep. A second caller kills at once.
fn end_child(engine: &mut Engine, id: ProcessId, stop: Stop, ticket: Ticket) {
    let now = engine.ctx.out.now.uptime_ms;
    let Some(process) = engine.ctx.processes.get_mut(&id) else { return };
    let is_live = process.is_live();
    if let Some(ending) = process.run.ending.as_mut().filter(|ending| ending.keeps_background) {
        ending.tickets.push(ticket);
        if !std::mem::take(&mut ending.is_restored) && ending.grace_ms > 0 {
            ending.sweep_at = now;
        }
        return;
    }
    if process.run.ending.is_some() || (is_live && process.run.status != Status::Running) {
        let request = EndRequest::new(Some(ExitReason::Closed), Then::Remove);
        return engine.end(id, request.stop(stop).ticket(ticket));
    }
    engine.end_child_alone(id, stop, ticket);
}
