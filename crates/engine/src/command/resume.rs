//! `resume`: a new run of an agent in the vendor session it had.

use proto::request::Resume;
use proto::verb;
use proto::{ErrorCode, Failure, Role, Status};

use super::restart::check_again;
use super::{Asker, Audited, CommandResult, Decide, Needs};
use crate::Engine;
use crate::process::Then;
use crate::process::stopping::EndRequest;
use crate::rights::Verb;

/// Longest name of a vendor session, in bytes.
const MAX_SESSION: usize = 200;

impl Decide for verb::Resume {
    type Order = Resume;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::OverAgent(Verb::Drive);
    const AUDITED: Audited = Audited::Success;

    fn decide(engine: &mut Engine, asker: Asker, resume: Resume) -> CommandResult {
        let id = asker.target()?;
        let process = engine.ctx.processes.find_known(id)?;
        let name = process.name.clone();
        if engine.ctx.shutdown.is_some() {
            return Err(Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down"));
        }
        if process.is_live() && process.run.status != Status::Stopping {
            let message = format!("{name} is running in its session");
            return Err(Failure::new(ErrorCode::Conflict, message).hint("qd kill ends it first"));
        }
        if process.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Remove) {
            return Err(Failure::new(ErrorCode::NotFound, format!("{name} is being closed")));
        }
        let known = process
            .agent
            .as_deref()
            .and_then(|agent| agent.record.session.clone().or_else(|| agent.record.past_session.clone()));
        let Some(session) = resume.session.or(known) else {
            let message = format!("{name} has no session that is known");
            return Err(Failure::new(ErrorCode::Conflict, message)
                .hint("name one with --session, or qd restart begins a new one"));
        };
        check_session(&session)?;
        check_again(engine, asker.caller, id)?;
        engine.ctx.processes.keep_offer(id, asker.caller, resume.offer);
        if let Some(agent) = engine.ctx.processes.agent_mut(id) {
            agent.resume_next = Some(session);
        }
        engine.end(id, EndRequest::new(None, Then::Restart).ticket(asker.ticket));
        Ok(None)
    }
}

/// Checks whether a vendor session may be called that: it becomes a word of an argv.
pub(super) fn check_session(session: &str) -> Result<(), Failure> {
    if session.is_empty() || session.len() > MAX_SESSION {
        return Err(Failure::invalid("session", format!("between 1 and {MAX_SESSION} bytes")));
    }
    if session.starts_with('-') || session.chars().any(char::is_control) {
        return Err(Failure::invalid(
            "session",
            "it may not begin with a dash or contain control characters",
        ));
    }
    Ok(())
}
