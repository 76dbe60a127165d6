//! `result`: what an agent said at the end of a turn.

use proto::agent::TurnEnd;
use proto::request::AskResult;
use proto::verb;
use proto::{ErrorCode, Failure, Reply, Role};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::agent::turns::no_turn;
use crate::effect::CommandAnswer;
use crate::rights::Verb;

impl Decide for verb::Result {
    type Order = AskResult;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::OverAgent(Verb::Read);

    fn decide(engine: &mut Engine, asker: Asker, ask: AskResult) -> CommandResult {
        let id = asker.target()?;
        let name = engine.ctx.processes.find_known(id)?.name.clone();
        let gone = || Failure::new(ErrorCode::NotFound, format!("{name} is gone"));
        let agent = engine.ctx.processes.agent_mut(id).ok_or_else(gone)?;
        let Some(number) = ask.turn.or_else(|| agent.newest_ended()) else {
            let running = agent.running_turn().map(|turn| agent.not_over(turn, &name));
            let none = || {
                Failure::new(ErrorCode::NotFound, format!("{name} has had no turn yet"))
                    .hint(format!("qd tell {name} gives it one"))
            };
            return Err(running.unwrap_or_else(none));
        };
        let Some(turn) = agent.turns.get(&number) else { return Err(no_turn(number)) };
        if turn.end == TurnEnd::Running {
            return Err(agent.not_over(number, &name));
        }
        if agent.collecting.contains_key(&number) {
            // It is over and its text is on the way.
            agent.result_tickets.push((asker.ticket, number));
            return Ok(None);
        }
        Ok(Some(CommandAnswer::Reply(Reply::Turn(turn.clone()))))
    }
}
