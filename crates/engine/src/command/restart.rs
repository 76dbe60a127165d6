//! `restart`: a new run of the same argv; the old one and its tree end first.

use proto::request::Restart;
use proto::verb;
use proto::{ErrorCode, Failure, Kind, ProcessId};

use super::{Asker, Audited, CommandResult, Decide, Needs};
use crate::Engine;
use crate::input::{Caller, Ticket};
use crate::process::Then;
use crate::process::stopping::EndRequest;
use crate::rights::Verb;

impl Decide for verb::Restart {
    type Order = Restart;
    const NEEDS: Needs = Needs::Over(Verb::Drive);
    const AUDITED: Audited = Audited::Success;

    fn decide(engine: &mut Engine, asker: Asker, restart: Restart) -> CommandResult {
        engine.restart(asker.caller, asker.ticket, &restart)
    }
}

impl Engine {
    pub(super) fn restart(&mut self, caller: Caller, ticket: Ticket, restart: &Restart) -> CommandResult {
        restart.stop.check()?;
        let process = self.grants.find(caller, &restart.target, Verb::Drive, &self.ctx)?;
        if self.ctx.shutdown.is_some() {
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
        self.check_again(caller, id)?;
        if let Some(process) = self.ctx.processes.get_mut(&id) {
            process.backoff = crate::process::backoff::Backoff::default();
        }
        self.end(id, EndRequest::new(None, Then::Restart).stop(restart.stop).ticket(ticket));
        Ok(None)
    }

    /// Whether an entry may be started again. A person's word begins its time anew; a process needs time that is left
    /// and the same permission as for a first start.
    pub(super) fn check_again(&mut self, caller: Caller, id: ProcessId) -> Result<(), Failure> {
        if let Caller::Process(run) = caller {
            self.ctx.processes.check_time(run.process, &self.ctx.config, &self.ctx.out)?;
            self.ctx.processes.check_time(id, &self.ctx.config, &self.ctx.out)?;
            self.trust.check_trust_again(caller, id, &mut self.inbox, &mut self.ctx)?;
        }
        let now = self.ctx.out.now.uptime_ms;
        let Some(process) = self.ctx.processes.get_mut(&id) else { return Ok(()) };
        if caller == Caller::Human {
            process.usage.born_ms = now;
        }
        // A person's word stands, whoever asks for the same before it is carried out.
        let is_restarting = process.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Restart);
        if !is_restarting || process.launch.starter != Some(Caller::Human) {
            process.launch.starter = Some(caller);
        }
        Ok(())
    }
}
