//! `close`: end the run and its tree, then remove the entry; or the child alone, when its background is to be kept.

use proto::event::Event;
use proto::reply::Ended;
use proto::request::Close;
use proto::{ExitReason, ProcessId, Reply, Status};

use super::Verdict;
use crate::Engine;
use crate::effect::{Answer, Effect};
use crate::input::{Caller, Ticket};
use crate::process::{Ending, Then};
use crate::rights::Verb;

impl Engine {
    pub(super) fn close(&mut self, caller: Caller, ticket: Ticket, close: &Close) -> Verdict {
        let process = self.find(caller, &close.target, Verb::Drive)?;
        let (id, run, exit) = (process.id, process.key(), process.exit);
        if !close.keep_background {
            self.end(id, Some(ExitReason::Closed), Then::Remove, Some(ticket));
            return Ok(None);
        }
        if process.is_live() {
            self.hang_up(id, ticket);
            return Ok(None);
        }
        self.release(run, false, "closed");
        self.remove(id);
        self.announce(Event::Done { id });
        Ok(Some(Answer::Reply(Reply::Ended(Ended { id, exit }))))
    }

    /// Ends the child alone. One that is not there yet has put nothing in the background, and a tree that is being ended
    /// for somebody else has none to keep.
    fn hang_up(&mut self, id: ProcessId, ticket: Ticket) {
        let (now, grace_ms) = (self.now.uptime_ms, self.config.grace_ms);
        let Some(process) = self.processes.get_mut(&id) else { return };
        if process.status != Status::Running || process.ending.is_some() {
            return self.end(id, Some(ExitReason::Closed), Then::Remove, Some(ticket));
        }
        process.restart_at = None;
        process.status = Status::Stopping;
        process.ending = Some(Ending {
            reason: Some(ExitReason::Closed),
            then: Then::Remove,
            tickets: vec![ticket],
            grace_ms,
            sweep_at: now + u64::from(grace_ms),
            is_swept: false,
            is_gone: false,
            keeps_background: true,
        });
        self.effects.push(Effect::EndChild { run: process.key(), at_once: false });
        self.touch(id);
    }
}
