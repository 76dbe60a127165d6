//! `list` and `subscribe`: what there is, as far as the caller may know.

use proto::request::Empty;
use proto::{Role, verb};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::process::Process;
use crate::rights::Verb;

impl Decide for verb::List {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        list(asker.caller, engine)
    }
}

impl Decide for verb::Subscribe {
    type Order = Empty;
    const ROLE: Role = Role::View;
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
