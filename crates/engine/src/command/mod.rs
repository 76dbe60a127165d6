//! The verbs. One file each, one shape: check what was asked and by whom, then apply it.
//!
//! Owns the dispatch, and the gate and the audit that every verb passes. Refuses half-done work: a verb that fails its
//! check has changed nothing.

mod ask;
mod attach;
mod close;
mod explain;
mod grant;
mod hook;
mod inbox;
mod interrupt;
mod kill;
mod list;
mod locate;
mod rename;
mod resize;
mod restart;
mod result;
mod resume;
mod see;
mod shutdown;
mod spawn;
mod tell;
mod timers;
mod trust;
mod viewers;
mod wait;
mod whoami;

use proto::reply::Done;
use proto::{Failure, Name, Reply};

use crate::Engine;
use crate::effect::CommandAnswer;
use crate::input::{Caller, Command, Ticket};

/// What a verb leaves to be said: an answer now, or nothing because a later fact will answer the ticket.
type CommandResult = Result<Option<CommandAnswer>, Failure>;

impl Engine {
    /// Nobody gets past the gate, whatever they ask for.
    pub(crate) fn command(&mut self, caller: Caller, ticket: Ticket, command: Command) {
        let entry = self.entry(&command);
        self.ctx.out.via = self.via_of(caller);
        let verdict = match self.grants.admit(caller, &self.ctx) {
            // Once it is known where a person sits, a person is a person.
            Ok(()) if caller.is_person() => self.dispatch(Caller::Human, ticket, command),
            Ok(()) => self.dispatch(caller, ticket, command),
            Err(failure) => Err(failure),
        };
        self.ctx.out.audit_verdict(caller, entry, &verdict);
        self.ctx.out.via = None;
        match verdict {
            Ok(Some(answer)) => self.ctx.out.reply(ticket, Ok(answer)),
            Ok(None) => {}
            Err(failure) => self.ctx.out.reply(ticket, Err(failure)),
        }
    }

    /// In which process a person sits who asks, by its name.
    fn via_of(&self, caller: Caller) -> Option<Name> {
        let Caller::Via(run) = caller else { return None };
        self.ctx.processes.get(&run.process).map(|process| process.name.clone())
    }

    fn dispatch(&mut self, caller: Caller, ticket: Ticket, command: Command) -> CommandResult {
        match command {
            Command::Spawn(spawn) => self.spawn(caller, ticket, *spawn),
            Command::List | Command::Subscribe => self.ctx.list(caller, &self.grants),
            Command::Locate { target, verb } => self.ctx.locate(caller, &target, verb, &self.grants),
            Command::Attach(attach) => self.ctx.attach(caller, &attach, &self.grants),
            Command::Wait(wait) => self.wait(caller, ticket, wait),
            Command::Resize(resize) => self.ctx.resize(caller, &resize, &self.grants),
            Command::Kill(kill) => self.kill(caller, ticket, &kill),
            Command::Close(close) => self.close(caller, ticket, &close),
            Command::Restart(restart) => self.restart(caller, ticket, &restart),
            Command::Rename(rename) => self.ctx.rename(caller, &rename, &self.grants),
            Command::Viewers => self.ctx.list_viewers(caller, &self.grants),
            Command::Detach(detach) => self.ctx.detach(caller, &detach, &self.grants),
            Command::Tell(tell) => self.tell(caller, ticket, tell),
            Command::Receipt(mail) => self.mail.receipt(caller, mail, &self.grants, &self.ctx),
            Command::CancelMessage(mail) => self.cancel_message(caller, mail),
            Command::Interrupt(interrupt) => self.interrupt(caller, ticket, &interrupt),
            Command::Result(ask) => self.ctx.result(caller, ticket, &ask, &self.grants),
            Command::Explain(explain) => self.explain(caller, &explain),
            Command::Inbox => self.inbox.inbox(caller, &self.grants, &self.ctx),
            Command::Answer(answer) => self.answer(caller, ticket, &answer),
            Command::Resume(resume) => self.resume(caller, ticket, &resume),
            Command::Hook(notice) => self.hook(caller, ticket, *notice),
            Command::WhoAmI => self.ctx.who_am_i(caller, &self.grants),
            Command::Standing(_) => self.ctx.standing(caller, &self.grants),
            Command::Knows(event) => self.knows(caller, &event),
            Command::SetTimer(request) => self.set_timer(caller, *request),
            Command::Timers => self.timers.timers(caller, &self.grants, &self.ctx),
            Command::ChangeTimer(request) => self.change_timer(caller, request),
            Command::Ask(request) => self.inbox.ask(caller, request, &mut self.ctx),
            Command::Attention(request) => self.inbox.attention(caller, request, &mut self.ctx),
            Command::Select(request) => self.select(caller, &request),
            Command::See { see, offset } => self.ctx.see(caller, &see, offset, &self.grants),
            Command::Grant(request) => self.grants.grant(caller, &request, &mut self.ctx),
            Command::Revoke(request) => self.grants.revoke(caller, request, &mut self.ctx),
            Command::Grants => self.grants.grants(caller, &self.ctx),
            Command::Trust(trust_subject) => self.trust(caller, *trust_subject),
            Command::Distrust(request) => self.trust.distrust(caller, &request, &self.grants, &mut self.ctx),
            Command::Trusted => self.trust.trusted(caller, &self.grants),
            Command::Permit(verb) => self.grants.permit(caller, verb),
            Command::Shutdown(shutdown) => self.begin_shutdown(caller, ticket, shutdown),
        }
    }

    /// The connection behind a ticket is gone: what it asked for happens all the same, but nobody is told.
    pub(crate) fn forget_caller(&mut self, ticket: Ticket) {
        self.waits.forget_waits_of(ticket, &mut self.ctx);
        self.mail.tickets.retain(|(waiting, _, _)| *waiting != ticket);
        self.inbox.forget_parked(ticket, &mut self.ctx);
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

/// Success that says all.
fn done() -> CommandResult {
    Ok(Some(CommandAnswer::Reply(Reply::Done(Done {}))))
}
