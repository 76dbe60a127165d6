//! `see`: a person has seen how a process stands.

use proto::Failure;
use proto::request::See;
use proto::verb;

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::agent::turns::no_turn;
use crate::context::Context;
use crate::input::Caller;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::denied;

impl Decide for verb::See {
    type Order = (See, Option<u64>);
    const NEEDS: Needs = Needs::AtAll(Verb::See);

    fn decide(engine: &mut Engine, asker: Asker, order: (See, Option<u64>)) -> CommandResult {
        engine.ctx.see(asker.caller, &order.0, order.1, &engine.grants)
    }
}

impl Context {
    pub(crate) fn see(
        &mut self,
        caller: Caller,
        see: &See,
        offset: Option<u64>,
        grants: &Grants,
    ) -> CommandResult {
        if !grants.may_at_all(caller, Verb::See) {
            return Err(denied(caller, "see"));
        }
        if see.turn.is_some() && see.version.is_some() {
            return Err(Failure::invalid("version", "the turn says it already: give one of them"));
        }
        let process = grants.find(caller, &see.target, Verb::See, self)?;
        let (id, newest) = (process.id, process.agent.as_deref().map_or(0, |agent| agent.record.turn));
        if let Some(turn) = see.turn.filter(|turn| *turn > newest) {
            return Err(no_turn(turn));
        }
        self.processes.mark_seen(id, see, offset, &mut self.out);
        done()
    }
}
