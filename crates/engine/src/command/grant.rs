//! `grant`, `revoke`, `grants`, `permit`: rights beyond the tree, and rights without a target.

use proto::request::{Grant, Revoke};
use proto::{ErrorCode, Failure, ProcessId, Reply};

use super::{CommandResult, done};
use crate::Engine;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::registry::denied;
use crate::rights::Verb;

/// Most grants at once.
const MAX_GRANTS: usize = 1_000;

impl Engine {
    pub(super) fn grant(&mut self, caller: Caller, request: &Grant) -> CommandResult {
        self.people_only(caller, "only people grant rights")?;
        let (to, over) = (self.grantable(caller, &request.to)?, self.grantable(caller, &request.over)?);
        if to == over {
            return Err(Failure::invalid("over", "a process has every right over itself"));
        }
        let grant = match self.grants.same(to, request.right, over) {
            Some(known) => known,
            None if self.grants.len() >= MAX_GRANTS => {
                let message = format!("there are {MAX_GRANTS} grants already, the most there may be");
                return Err(Failure::new(ErrorCode::Limit, message).hint("qd revoke takes one back"));
            }
            None => self.put_grant(to, request.right, over),
        };
        let gone = || Failure::new(ErrorCode::NotFound, "one of the two is gone");
        let view = self.grant_view(&grant).ok_or_else(gone)?;
        Ok(Some(CommandAnswer::Reply(Reply::Granted(view))))
    }

    /// An entry that rights may be about: one that is listed.
    fn grantable(&self, caller: Caller, target: &proto::Target) -> Result<ProcessId, Failure> {
        let process = self.find(caller, target, Verb::List)?;
        if process.is_departed() {
            return Err(Failure::new(ErrorCode::NotFound, format!("{} is gone", process.name)));
        }
        Ok(process.id)
    }

    pub(super) fn revoke(&mut self, caller: Caller, request: Revoke) -> CommandResult {
        self.people_only(caller, "only people take rights back")?;
        if !self.drop_grant(request.grant) {
            let message = format!("no grant {}", request.grant);
            return Err(Failure::new(ErrorCode::NotFound, message).hint("qd grants lists them"));
        }
        done()
    }

    pub(super) fn grants(&mut self, caller: Caller) -> CommandResult {
        Ok(Some(CommandAnswer::Reply(Reply::Grants(self.grants_seen_by(caller)))))
    }

    pub(super) fn permit(&mut self, caller: Caller, verb: Verb) -> CommandResult {
        if self.may_at_all(caller, verb) { done() } else { Err(denied(caller, verb.word())) }
    }
}
