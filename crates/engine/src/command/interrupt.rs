//! `interrupt`: ends an agent's turn, and the agent stays.

use proto::request::Interrupt;
use proto::verb;
use proto::{AgentState, ErrorCode, Failure, Role};

use super::{Asker, Audited, CommandResult, Decide, Needs};
use crate::Engine;
use crate::agent::interrupt::dialog_open;
use crate::input::Caller;
use crate::mail::delivery::LEASE_MS;
use crate::rights::Verb;

impl Decide for verb::Interrupt {
    type Order = Interrupt;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::OverAgent(Verb::Drive);
    const AUDITED: Audited = Audited::Success;

    fn decide(engine: &mut Engine, asker: Asker, _: Interrupt) -> CommandResult {
        let Asker { caller, ticket, .. } = asker;
        let id = asker.target()?;
        let process = engine.ctx.processes.find_known(id)?;
        let name = process.name.clone();
        if !process.is_live() {
            return Err(Failure::new(ErrorCode::NotRunning, format!("{name} is not running")));
        }
        let Some(agent) = process.agent.as_deref() else {
            return Err(Failure::new(ErrorCode::WrongKind, format!("{name} is no agent")));
        };
        match agent.state() {
            AgentState::Working | AgentState::Thinking => {}
            AgentState::Blocked => return Err(dialog_open()),
            state => {
                let message = format!("{name} is {state}: there is no turn to interrupt");
                return Err(Failure::new(ErrorCode::Conflict, message));
            }
        }
        if agent.live.interrupting.is_some() {
            return Err(Failure::new(ErrorCode::Busy, format!("{name} is being interrupted already")));
        }
        let keys = agent.live.launched.as_ref().map(|launched| launched.interrupt.clone());
        let Some(keys) = keys.filter(|keys| !keys.is_empty()) else {
            let message = format!("the manifest of {name} names no keys that interrupt a turn");
            return Err(Failure::new(ErrorCode::WrongKind, message)
                .hint("add `interrupt` to its table [deliver], or press the keys with qd key"));
        };
        // A person may interrupt whenever they like; a program waits for the person who types there.
        let person_quiet_ms = if caller == Caller::Person { 0 } else { LEASE_MS };
        if let Some(agent) = engine.ctx.processes.agent_mut(id) {
            agent.begin_interrupt(ticket, keys, person_quiet_ms, &mut engine.ctx.out);
        }
        Ok(None)
    }
}
