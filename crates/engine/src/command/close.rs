//! `close`: end the run and its tree, then remove the entry; or the child alone, when its background is to be kept.

use proto::request::Close;
use proto::{ExitReason, ProcessId, Status};

use super::Verdict;
use crate::Engine;
use crate::effect::Effect;
use crate::input::{Caller, Ticket};
use crate::process::{Ending, Then};
use crate::rights::Verb;

impl Engine {
    pub(super) fn close(&mut self, caller: Caller, ticket: Ticket, close: &Close) -> Verdict {
        let id = self.find_id(caller, &close.target, Verb::Drive)?;
        if close.keep_background {
            self.end_child(id, ticket);
        } else {
            self.end(id, Some(ExitReason::Closed), Then::Remove, Some(ticket));
        }
        Ok(None)
    }

    /// Ends the child alone, if it is not over yet. One that is not there yet has put nothing in the background, and a
    /// tree that is being ended for somebody else has none to keep.
    fn end_child(&mut self, id: ProcessId, ticket: Ticket) {
        let (now, grace_ms) = (self.now.uptime_ms, self.config.grace_ms);
        let Some(process) = self.processes.get_mut(&id) else { return };
        let (run, is_live) = (process.key(), process.is_live());
        if let Some(ending) = process.ending.as_mut().filter(|ending| ending.keeps_background) {
            return ending.tickets.push(ticket);
        }
        if process.ending.is_some() || (is_live && process.status != Status::Running) {
            return self.end(id, Some(ExitReason::Closed), Then::Remove, Some(ticket));
        }
        process.restart_at = None;
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
        if !is_live {
            return self.tree_gone(run);
        }
        process.status = Status::Stopping;
        self.effects.push(Effect::EndChild { run, at_once: false });
        self.touch(id);
    }
}
