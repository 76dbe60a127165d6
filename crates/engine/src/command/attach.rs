//! `attach`: which run a viewer means, and whose size counts from here on.

use proto::request::Attach;
use proto::verb;
use proto::{Failure, Role};

use super::{Asker, CommandResult, Decide, Needs, locate::located};
use crate::Engine;
use crate::effect::CommandAnswer;
use crate::rights::Verb;

impl Decide for verb::Attach {
    type Order = Attach;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, attach: Attach) -> CommandResult {
        let Asker { caller, .. } = asker;
        check(&attach)?;
        // Detaching other viewers or changing the size policy needs `drive`, also for a watcher.
        let only_watches = attach.read_only && attach.policy.is_none() && !attach.take_over;
        let verb = if only_watches { Verb::Read } else { Verb::Drive };
        let process = engine.grants.find(caller, &attach.target, verb, &engine.ctx)?;
        if !attach.read_only {
            engine.grants.check_typing(process, &engine.ctx)?;
        }
        process.check_reachable()?;
        let id = process.id;
        if let (Some(policy), Some(process)) = (attach.policy, engine.ctx.processes.get_mut(&id)) {
            process.spec.policy = policy;
            engine.ctx.out.mark_durable(id);
        }
        let process = engine.ctx.processes.find_known(id)?;
        Ok(Some(CommandAnswer::Located(located(process))))
    }
}

/// Options that contradict each other are refused before anything is looked up.
fn check(attach: &Attach) -> Result<(), Failure> {
    let refused = |field: &str, why: &str| Err(Failure::invalid(field, why.to_owned()));
    match attach {
        Attach { exact: true, pace_ms: Some(_), .. } => {
            refused("pace_ms", "an exact viewer gets every byte at once; leave out `exact` or `pace_ms`")
        }
        Attach { from: Some(_), pace_ms: Some(_), .. } => {
            refused("from", "a paced viewer gets drawings, not bytes; leave out `from` or `pace_ms`")
        }
        Attach { mirror: true, policy: Some(_), .. } => {
            refused("policy", "a mirror does not decide about sizes; leave out `mirror` or `policy`")
        }
        _ => Ok(()),
    }
}
