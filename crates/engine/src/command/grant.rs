//! `grant`, `revoke`, `grants`, `permit`: rights beyond the tree, and rights without a target.

use proto::request::{Grant, Revoke};
use proto::{ErrorCode, Failure, ProcessId, Reply};

use super::{CommandResult, done};
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::denied;

/// Most grants at once.
const MAX_GRANTS: usize = 1_000;

impl Grants {
    /// An entry that rights may be about: one that is listed.
    pub(crate) fn grantable(
        &self,
        caller: Caller,
        target: &proto::Target,
        ctx: &Context,
    ) -> Result<ProcessId, Failure> {
        let process = self.find(caller, target, Verb::List, ctx)?;
        if process.is_departed() {
            return Err(Failure::new(ErrorCode::NotFound, format!("{} is gone", process.name)));
        }
        Ok(process.id)
    }
}

impl Grants {
    pub(crate) fn grant(&mut self, caller: Caller, request: &Grant, ctx: &mut Context) -> CommandResult {
        self.people_only(caller, "only people grant rights")?;
        let (to, over) =
            (self.grantable(caller, &request.to, ctx)?, self.grantable(caller, &request.over, ctx)?);
        if to == over {
            return Err(Failure::invalid("over", "a process has every right over itself"));
        }
        let grant = match self.same(to, request.right, over) {
            Some(known) => known,
            None if self.len() >= MAX_GRANTS => {
                let message = format!("there are {MAX_GRANTS} grants already, the most there may be");
                return Err(Failure::new(ErrorCode::Limit, message).hint("qd revoke takes one back"));
            }
            None => self.put_grant(to, request.right, over, ctx),
        };
        let gone = || Failure::new(ErrorCode::NotFound, "one of the two is gone");
        let view = self.grant_view(&grant, ctx).ok_or_else(gone)?;
        Ok(Some(CommandAnswer::Reply(Reply::Granted(view))))
    }

    pub(crate) fn revoke(&mut self, caller: Caller, request: Revoke, ctx: &mut Context) -> CommandResult {
        self.people_only(caller, "only people take rights back")?;
        if !self.drop_grant(request.grant, ctx) {
            let message = format!("no grant {}", request.grant);
            return Err(Failure::new(ErrorCode::NotFound, message).hint("qd grants lists them"));
        }
        done()
    }

    pub(crate) fn grants(&self, caller: Caller, ctx: &Context) -> CommandResult {
        Ok(Some(CommandAnswer::Reply(Reply::Grants(self.grants_seen_by(caller, ctx)))))
    }

    pub(crate) fn permit(&self, caller: Caller, verb: Verb) -> CommandResult {
        if self.may_at_all(caller, verb) { done() } else { Err(denied(caller, verb.word())) }
    }
}
