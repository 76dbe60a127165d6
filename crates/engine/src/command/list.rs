//! `list` and `subscribe`: what there is, as far as the caller may know.

use proto::request::Empty;
use proto::verb;
use proto::{ErrorCode, Event, Failure, ProcessId};

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::process::Process;
use crate::rights::Verb;

impl Decide for verb::List {
    type Order = Empty;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        list(asker.caller, engine)
    }
}

impl Decide for verb::Subscribe {
    type Order = Empty;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        list(asker.caller, engine)
    }
}

/// The listed processes that the caller may know of.
fn list(caller: Caller, engine: &Engine) -> CommandResult {
    let (ctx, grants) = (&engine.ctx, &engine.grants);
    let is_seen =
        |process: &&Process| !process.is_departed() && grants.may_do(caller, Verb::List, process, ctx);
    let processes = ctx.processes.values().filter(is_seen).map(Process::view).collect();
    Ok(Some(CommandAnswer::Listed { revision: ctx.out.revision(), processes }))
}

/// Checks that the caller may get an event: it may get what it could ask for.
pub(super) fn knows(caller: Caller, event: &Event, engine: &Engine) -> CommandResult {
    let may = |id: &ProcessId, verb| {
        engine
            .ctx
            .processes
            .get(id)
            .is_some_and(|process| engine.grants.may_do(caller, verb, process, &engine.ctx))
    };
    let is_known = caller == Caller::Human
        || match event {
            Event::Changed(view) => may(&view.id, Verb::List),
            Event::Exited { id, .. }
            | Event::Removed { id }
            | Event::Done { id }
            | Event::TurnEnded { id, .. }
            | Event::Selected { id } => may(id, Verb::List),
            Event::Mail(receipt) => {
                engine.mail.queue.may_follow(caller, receipt.mail, &engine.grants, &engine.ctx)
            }
            Event::ItemOpened(view) => engine
                .inbox
                .items
                .get(&view.item)
                .is_some_and(|item| engine.inbox.may_answer(caller, item, &engine.grants, &engine.ctx)),
            Event::Timer(view) => may(&view.owner, Verb::Read),
            Event::PadChanged { project, .. } => {
                let own = match caller {
                    Caller::Process(run) => engine.ctx.processes.get(&run.process),
                    Caller::Human | Caller::Via(_) | Caller::Nobody => None,
                };
                own.is_some_and(|own| own.spec.project.key == *project)
            }
            // The subscription knows which items it has sent to this caller.
            Event::ItemClosed { .. } => false,
            Event::Resync {} => true,
        };
    if is_known { done() } else { Err(Failure::new(ErrorCode::NotFound, "the caller may not know of it")) }
}
