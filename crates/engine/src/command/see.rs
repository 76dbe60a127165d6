//! `see`: a person has seen how a process stands.

use proto::request::See;
use proto::verb;
use proto::{Failure, Role};

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::agent::turns::no_turn;
use crate::rights::Verb;

/// What was asked, and what the daemon knows of the version that was named.
pub(crate) struct SeeOrder {
    pub(super) see: See,
    /// How much of the log the screen of that version shows.
    pub(super) offset: Option<u64>,
}

impl Decide for verb::See {
    type Order = SeeOrder;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::AtAll(Verb::See);

    fn decide(engine: &mut Engine, _: Asker, order: SeeOrder) -> CommandResult {
        let SeeOrder { see, offset } = order;
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
