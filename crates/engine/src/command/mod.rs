//! The verbs. One file each, one shape: check what was asked and by whom, then apply it.
//!
//! Owns the dispatch. Refuses half-done work: a verb that fails its check has changed nothing.

mod attach;
mod close;
mod kill;
mod list;
mod locate;
mod rename;
mod resize;
mod restart;
mod shutdown;
mod spawn;
mod wait;

use proto::reply::Done;
use proto::{Failure, Reply};

use crate::Engine;
use crate::effect::Answer;
use crate::input::{Caller, Command, Ticket};

/// What a verb leaves to be said: an answer now, or nothing because a later fact will answer the ticket.
type Verdict = Result<Option<Answer>, Failure>;

impl Engine {
    pub(crate) fn command(&mut self, caller: Caller, ticket: Ticket, command: Command) {
        let verdict = match command {
            Command::Spawn(spawn) => self.spawn(caller, ticket, *spawn),
            Command::List => self.list(caller, false),
            Command::Subscribe => self.list(caller, true),
            Command::Locate { target, verb } => self.locate(caller, &target, verb),
            Command::Attach(attach) => self.attach(caller, &attach),
            Command::Wait(wait) => self.wait(caller, ticket, wait),
            Command::Resize(resize) => self.resize(caller, &resize),
            Command::Kill(kill) => self.kill(caller, ticket, &kill),
            Command::Close(close) => self.close(caller, ticket, &close),
            Command::Restart(restart) => self.restart(caller, ticket, &restart),
            Command::Rename(rename) => self.rename(caller, &rename),
            Command::Tell(_)
            | Command::Receipt(_)
            | Command::Result(_)
            | Command::Explain(_)
            | Command::Inbox
            | Command::Answer(_)
            | Command::Resume(_)
            | Command::Hook(_) => Err(Failure::new(proto::ErrorCode::WrongKind, "only agents understand this")),
            Command::Shutdown(shutdown) => self.begin_shutdown(caller, ticket, shutdown),
        };
        match verdict {
            Ok(Some(answer)) => self.reply(ticket, Ok(answer)),
            Ok(None) => {}
            Err(failure) => self.reply(ticket, Err(failure)),
        }
    }

    /// The connection behind a ticket is gone: what it asked for happens all the same, but nobody is told.
    pub(crate) fn forget_caller(&mut self, ticket: Ticket) {
        self.forget_waits_of(ticket);
        for process in self.processes.values_mut() {
            process.starters.retain(|starter| *starter != ticket);
            if let Some(ending) = &mut process.ending {
                ending.tickets.retain(|ender| *ender != ticket);
            }
        }
        if let Some(callers) = &mut self.shutdown {
            callers.retain(|caller| *caller != ticket);
        }
    }
}

/// Success that says all.
fn done() -> Verdict {
    Ok(Some(Answer::Reply(Reply::Done(Done {}))))
}
