//! `close`: end the run and its tree, then remove the entry.

use proto::event::Event;
use proto::reply::Ended;
use proto::request::Close;
use proto::{ErrorCode, ExitReason, Failure, Reply};

use super::Verdict;
use crate::Engine;
use crate::effect::Answer;
use crate::input::{Caller, Ticket};
use crate::process::Then;
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
            let message = format!("{} still runs: its background can be kept once it is over", process.name);
            return Err(Failure::new(ErrorCode::Conflict, message)
                .hint("qd kill ends the tree, exit in it ends the shell"));
        }
        self.release(run, false, "closed");
        self.remove(id);
        self.announce(Event::Done { id });
        Ok(Some(Answer::Reply(Reply::Ended(Ended { id, exit }))))
    }
}
