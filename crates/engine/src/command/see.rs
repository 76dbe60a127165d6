//! `see`: a person has seen how a process stands.

use proto::request::See;
use proto::verb;
use proto::{Failure, Role};

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::agent::turns::no_turn;
use crate::rights::Verb;

impl Decide for verb::See {
    type Order = (See, Option<u64>);
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::AtAll(Verb::See);

    fn decide(engine: &mut Engine, _: Asker, order: (See, Option<u64>)) -> CommandResult {
        let (see, offset) = order;
        if see.turn.is_some() && see.version.is_some() {
            return Err(Failure::invalid("version", "give this or `turn`, not both"));
        }
        // Only people have this right, and they have it over every process that their connection covers.
        let process = engine.ctx.processes.resolve(&see.target, &engine.ctx.out.scope.limit)?;
        let (id, newest) = (process.id, process.agent.as_deref().map_or(0, |agent| agent.record.turn));
        if let Some(turn) = see.turn.filter(|turn| *turn > newest) {
            return Err(no_turn(turn));
        }
        engine.ctx.processes.mark_seen(id, &see, offset, &mut engine.ctx.out);
        done()
    }
}
