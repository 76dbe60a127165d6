//! `grant`, `revoke`, `grants`, `permit`: rights beyond the tree, and rights without a target.

use proto::request::Empty;
use proto::request::{Grant, Revoke};
use proto::verb;
use proto::{ErrorCode, Failure, ProcessId, Reply};

use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::rights::grants::Grants;

/// Most grants at once.
const MAX_GRANTS: usize = 1_000;

impl Decide for verb::Grant {
    type Order = Grant;
    const NEEDS: Needs = Needs::Person("only people grant rights");
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(engine: &Engine, grant: &Grant) -> String {
        format!("{:?} to {}", grant.right, engine.ctx.audited_name(&grant.to)).to_lowercase()
    }

    fn decide(engine: &mut Engine, _: Asker, grant: Grant) -> CommandResult {
        engine.grants.grant(&grant, &mut engine.ctx)
    }
}

impl Decide for verb::Revoke {
    type Order = Revoke;
    const NEEDS: Needs = Needs::Person("only people take rights back");
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(_: &Engine, revoke: &Revoke) -> String {
        format!("grant {}", revoke.grant)
    }

    fn decide(engine: &mut Engine, _: Asker, revoke: Revoke) -> CommandResult {
        engine.grants.revoke(revoke, &mut engine.ctx)
    }
}

impl Decide for verb::Grants {
    type Order = Empty;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        engine.grants.grants(asker.caller, &engine.ctx)
    }
}

impl Grants {
    /// An entry that rights may be about: one that is listed.
    fn grantable(target: &proto::Target, ctx: &Context) -> Result<ProcessId, Failure> {
        let process = ctx.processes.resolve(target)?;
        if process.is_departed() {
            return Err(Failure::new(ErrorCode::NotFound, format!("{} is gone", process.name)));
        }
        Ok(process.id)
    }

    pub(crate) fn grant(&mut self, request: &Grant, ctx: &mut Context) -> CommandResult {
        let (to, over) = (Self::grantable(&request.to, ctx)?, Self::grantable(&request.over, ctx)?);
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

    pub(crate) fn revoke(&mut self, request: Revoke, ctx: &mut Context) -> CommandResult {
        if !self.drop_grant(request.grant, ctx) {
            let message = format!("no grant {}", request.grant);
            return Err(Failure::new(ErrorCode::NotFound, message).hint("qd grants lists them"));
        }
        done()
    }

    pub(crate) fn grants(&self, caller: Caller, ctx: &Context) -> CommandResult {
        Ok(Some(CommandAnswer::Reply(Reply::Grants(self.grants_seen_by(caller, ctx)))))
    }
}
