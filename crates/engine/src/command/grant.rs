//! `grant`, `revoke`, `grants`, `permit`: rights beyond the tree, and rights without a target.

use proto::request::Empty;
use proto::request::{Grant, Revoke};
use proto::rights::{GrantRecord, Right};
use proto::verb;
use proto::{ErrorCode, Failure, Printable, ProcessId, Reply, Role};

use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::input::Caller;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::not_related;

/// Most grants at once.
const MAX_GRANTS: usize = 1_000;

impl Decide for verb::Grant {
    type Order = Grant;
    const ROLE: Role = Role::Admin;
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
    const ROLE: Role = Role::Admin;
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
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        engine.grants.grants(asker.caller, &engine.ctx)
    }
}

impl Grants {
    /// An entry that rights may be about: one that is listed.
    fn grantable(target: &proto::Target, ctx: &Context) -> Result<ProcessId, Failure> {
        let process = ctx.processes.resolve(target, &ctx.out.scope.limit)?;
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
        let grant = match self.find_grant(to, request.right, over) {
            Some(known) => known,
            None if self.len() >= MAX_GRANTS => {
                let message = format!("there are {MAX_GRANTS} grants already, which is the limit");
                return Err(Failure::new(ErrorCode::Limit, message).hint("qd revoke takes one back"));
            }
            None => self.put_grant(to, request.right, over, ctx),
        };
        if request.right == Right::Drive {
            stop_acting(over, ctx);
        }
        let gone = || Failure::new(ErrorCode::NotFound, "one of the two is gone");
        let view = self.grant_view(&grant, ctx).ok_or_else(gone)?;
        Ok(Some(CommandAnswer::Reply(Reply::Granted(view))))
    }

    pub(crate) fn revoke(&mut self, request: Revoke, ctx: &mut Context) -> CommandResult {
        let is_covered = |grant: &GrantRecord| ctx.covers(grant.to) && ctx.covers(grant.over);
        let known = self.given.get(&request.grant).copied().filter(is_covered);
        let Some(grant) = known.filter(|grant| self.drop_grant(grant.grant, ctx)) else {
            let message = format!("no grant {}", request.grant);
            return Err(Failure::new(ErrorCode::NotFound, message).hint("qd grants lists them"));
        };
        let_viewers_go(grant, ctx);
        done()
    }

    pub(crate) fn grants(&self, caller: Caller, ctx: &Context) -> CommandResult {
        Ok(Some(CommandAnswer::Reply(Reply::Grants(self.grants_seen_by(caller, ctx)))))
    }
}

/// Ends what a process watches by a grant that was taken back. What it may still watch it can attach to again.
fn let_viewers_go(grant: GrantRecord, ctx: &mut Context) {
    let Some(process) = ctx.processes.get(&grant.over) else { return };
    let run = process.key();
    let is_its = |by: Caller| matches!(by, Caller::Process(run) if run.process == grant.to);
    let viewers = process.run.viewers.attached.iter().filter(|(_, viewer)| is_its(viewer.by));
    let let_go: Vec<Effect> = viewers.map(|(viewer, _)| Effect::LetGo { run, viewer: *viewer }).collect();
    ctx.out.effects.extend(let_go);
}

/// Takes a person's rights from a process that another one may drive from now on. They do not come back with the end
/// of the grant: what was typed meanwhile may have left a job behind that waits for that.
fn stop_acting(id: ProcessId, ctx: &mut Context) {
    if let Some(process) = ctx.processes.get_mut(&id)
        && process.spec.acts_for_person
    {
        process.spec.acts_for_person = false;
        ctx.out.mark_durable(id);
    }
}

/// Permits what has no target. What only people do is then about all workspaces.
pub(super) fn permit(verb: Verb, ctx: &Context) -> CommandResult {
    if verb == Verb::Administer {
        ctx.check_all_workspaces()?;
    }
    done()
}

/// Permits what belongs to a project; without one, the gate has checked all there is.
pub(super) fn permit_project(caller: Caller, project: Option<&str>, ctx: &Context) -> CommandResult {
    if project.is_none_or(|project| ctx.may_reach_project(caller, project)) {
        return done();
    }
    match &ctx.out.scope.limit.workspace {
        Some(only) if caller.is_person() => {
            let message = format!("denied: no process of workspace {} is in that project", Printable(only));
            Err(Failure::new(ErrorCode::Denied, message).hint("start one there first"))
        }
        _ => Err(not_related(caller, "a process has its own project only")),
    }
}
