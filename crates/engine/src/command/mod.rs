//! The verbs: one file each or one per family. A file declares what its verb needs of the caller, what the audit log
//! keeps and what must be recorded (`declaration`), and decides it; `routes` leads every command there. Here is the gate and
//! the audit that every command passes.

mod ask;
mod attach;
mod close;
mod declaration;
mod explain;
mod grant;
mod hook;
mod inbox;
mod interrupt;
mod kill;
mod list;
mod locate;
mod process_name;
mod rename;
mod resize;
mod restart;
mod result;
mod resume;
mod routes;
mod see;
mod shutdown;
mod spawn;
mod tell;
mod timers;
mod trust;
mod viewers;
mod wait;
mod whoami;
mod workspace;

use proto::reply::Done;
use proto::{Failure, Name, Reply};

use declaration::check_role;
pub(crate) use declaration::{Asker, Audited, Decide, Declaration, Needs, Recorded};
pub use routes::Command;

use crate::Engine;
use crate::audit::entry;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::{Caller, Principal, Ticket};
use crate::outbox::CallerScope;

/// The answer of a verb; none: a later fact answers the ticket.
type CommandResult = Result<Option<CommandAnswer>, Failure>;

impl Engine {
    /// Admits the caller and checks the role of its connection, has the command decided, audits it and replies.
    pub(crate) fn command(&mut self, principal: Principal, ticket: Ticket, command: Command) {
        let entry = entry(self, &command);
        let Principal { caller, label, limit } = principal;
        self.ctx.out.scope = CallerScope { via: via_of(caller, &self.ctx), label, limit };
        let admitted = self.grants.admit(caller, &self.ctx).and_then(|()| check_role(&command, &self.ctx));
        let result = match admitted {
            // From here on it does not matter in which process a person sits.
            Ok(()) if caller.is_person() => self.dispatch(Caller::Person, ticket, command),
            Ok(()) => self.dispatch(caller, ticket, command),
            Err(failure) => Err(failure),
        };
        self.ctx.out.audit_result(caller, entry, &result);
        self.ctx.out.scope = CallerScope::default();
        match result {
            Ok(Some(answer)) => self.ctx.out.reply(ticket, Ok(answer)),
            Ok(None) => {}
            Err(failure) => self.ctx.out.reply(ticket, Err(failure)),
        }
    }

    /// Checks what the verb needs of its caller, then has it decided.
    fn dispatch(&mut self, caller: Caller, ticket: Ticket, command: Command) -> CommandResult {
        let over = self.check_needs(caller, &command)?;
        self.decide(Asker { caller, ticket, over }, command)
    }

    /// Forgets a ticket whose connection is gone. What it asked for happens all the same, without an answer.
    pub(crate) fn forget_caller(&mut self, ticket: Ticket) {
        self.waits.forget_waits_of(ticket, &mut self.ctx);
        self.mail.queue.waiters.retain(|waiter| waiter.ticket != ticket);
        self.inbox.forget_permission(ticket, &mut self.ctx);
        self.inbox.list_waiters.retain(|waiter| waiter.ticket != ticket);
        for process in self.ctx.processes.values_mut() {
            process.launch.tickets.retain(|starter| *starter != ticket);
            if let Some(agent) = process.agent.as_deref_mut() {
                agent.result_tickets.retain(|(waiting, _)| *waiting != ticket);
            }
            if let Some(ending) = &mut process.run.ending {
                ending.tickets.retain(|ender| *ender != ticket);
            }
        }
        if let Some(callers) = &mut self.ctx.shutdown {
            callers.retain(|caller| *caller != ticket);
        }
    }
}

/// The name of the process in which the person who asks sits.
fn via_of(caller: Caller, ctx: &Context) -> Option<Name> {
    let Caller::Via(run) = caller else { return None };
    ctx.processes.get(&run.process).map(|process| process.name.clone())
}

/// Success without a value.
fn done() -> CommandResult {
    Ok(Some(CommandAnswer::Reply(Reply::Done(Done {}))))
}
