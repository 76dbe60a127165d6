//! `hook`: a lifecycle event of the agent the caller lives in, and what the agent is to do about it.

use proto::agent::Source;
use proto::verb;
use proto::{AgentState, Evidence, Role};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::{Caller, HookDecision, HookMoment, HookNotice, RunKey};
use crate::rights::registry::denied;

impl Decide for verb::Hook {
    type Order = HookNotice;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, notice: HookNotice) -> CommandResult {
        let Asker { caller, ticket, .. } = asker;
        let run = hooked_run(caller, &engine.ctx)?;
        let id = run.process;
        let HookNotice { evidence, moment } = notice;
        match moment {
            HookMoment::Other | HookMoment::TurnFailed => {}
            // Nobody can answer the hook: the request is never held, even where requests are to wait in the inbox.
            HookMoment::PermissionShown { title, body } => {
                if let Some(agent) = engine.ctx.processes.agent_mut(id) {
                    agent.live.dialogs.asked.push(title, body);
                }
            }
            HookMoment::PromptSubmitted { prompt } => {
                if !engine.mail.prompt_confirms(id, &mut engine.ctx)
                    && !engine.mail.find_restored_prompt(id, prompt.as_deref(), &mut engine.ctx)
                    && let Some(agent) = engine.ctx.processes.agent_mut(id)
                {
                    agent.prompt_seen(&mut engine.ctx.out);
                }
            }
            HookMoment::TurnEnded => {
                engine.mail.turn_end_confirms(id, &mut engine.ctx);
                if let Some(text) = engine.mail.next_at_turn_end(id, &mut engine.ctx) {
                    // The turn goes on, whatever the event's name says.
                    let goes_on = Evidence::new(Source::Hook, "continued", Some(AgentState::Working));
                    engine.agent_evidence(run, goes_on);
                    return Ok(Some(CommandAnswer::Hook(HookDecision::Continue(text))));
                }
            }
            HookMoment::PermissionAsked { title, body } => {
                if let Some(agent) = engine.ctx.processes.agent_mut(id) {
                    agent.live.dialogs.asked.push(title.clone(), body.clone());
                }
                // The inbox gets it first: the request then stands for what its evidence says, and there is one item, not two.
                let is_held = engine.inbox.hold_permission(id, ticket, title, body, &mut engine.ctx);
                if let Some(evidence) = evidence {
                    engine.agent_evidence(run, evidence);
                }
                return Ok((!is_held).then_some(CommandAnswer::Hook(HookDecision::Nothing)));
            }
        }
        if let Some(evidence) = evidence {
            engine.agent_evidence(run, evidence);
        }
        Ok(Some(CommandAnswer::Hook(HookDecision::Nothing)))
    }
}

/// The run a hook speaks for: the caller's own, and only while it is an agent's current one.
fn hooked_run(caller: Caller, ctx: &Context) -> Result<RunKey, proto::Failure> {
    let Caller::Process(run) = caller else {
        return Err(denied(caller, "hooks come from inside an agent"));
    };
    let process = ctx.processes.get(&run.process).filter(|process| process.run.number == run.run);
    if process.is_some_and(|process| process.agent.is_some() && process.is_live()) {
        return Ok(run);
    }
    Err(denied(caller, "hooks come from inside an agent that runs"))
}
