//! `restart`: a new run of the same argv; the old one and its tree end first.

use proto::request::Restart;
use proto::verb;
use proto::{ErrorCode, Failure, Kind, ProcessId, Role};

use super::{Asker, Audited, CommandResult, Decide, Needs};
use crate::Engine;
use crate::input::Caller;
use crate::process::Then;
use crate::process::stopping::EndRequest;
use crate::rights::Verb;

impl Decide for verb::Restart {
    type Order = Restart;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Over(Verb::Drive);
    const AUDITED: Audited = Audited::Success;

    fn decide(engine: &mut Engine, asker: Asker, restart: Restart) -> CommandResult {
        restart.stop.check()?;
        let process = engine.ctx.processes.find_known(asker.target()?)?;
        if engine.ctx.shutdown.is_some() {
            return Err(Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down"));
        }
        if process.spec.kind == Kind::Terminal {
            let message = format!("{} is a terminal: it has one run", process.name);
            return Err(
                Failure::new(ErrorCode::Conflict, message).hint("qd spawn --kind terminal opens a new one")
            );
        }
        if process.is_launching() && process.run.ending.is_none() {
            let message = format!("{} is starting", process.name);
            return Err(Failure::new(ErrorCode::Conflict, message).hint("try again when it runs"));
        }
        if process.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Remove) {
            return Err(Failure::new(ErrorCode::NotFound, format!("{} is being closed", process.name)));
        }
        let id = process.id;
        check_again(engine, asker.caller, id)?;
        engine.ctx.processes.keep_offer(id, asker.caller, restart.offer);
        if let Some(process) = engine.ctx.processes.get_mut(&id) {
            process.backoff = crate::process::backoff::Backoff::default();
        }
        engine.end(id, EndRequest::new(None, Then::Restart).stop(restart.stop).ticket(asker.ticket));
        Ok(None)
    }
}

/// Checks that a process may be started again. A person begins its time anew; a process needs time that is left and the
/// same permission as for a first start; and what a limited connection starts never acts for the person.
pub(super) fn check_again(engine: &mut Engine, caller: Caller, id: ProcessId) -> Result<(), Failure> {
    engine.grants.check_typing(engine.ctx.processes.find_known(id)?, &engine.ctx)?;
    if let Caller::Process(run) = caller {
        engine.ctx.processes.check_time(run.process, &engine.ctx.config, &engine.ctx.out)?;
        engine.ctx.processes.check_time(id, &engine.ctx.config, &engine.ctx.out)?;
        engine.trust.check_trust_again(caller, id, &mut engine.inbox, &mut engine.ctx)?;
    }
    let now = engine.ctx.out.now.uptime_ms;
    let Some(process) = engine.ctx.processes.get_mut(&id) else { return Ok(()) };
    if caller == Caller::Person {
        process.usage.born_ms = now;
    }
    // A person who asked first stays the starter when a process asks for the same before it is carried out.
    let is_restarting = process.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Restart);
    if !is_restarting || process.launch.starter != Some(Caller::Person) {
        process.launch.starter = Some(caller);
    }
    Ok(())
}
