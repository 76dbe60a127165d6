//! `who_am_i`: whom the caller is taken for, and what it may.

use proto::project::Project;
use proto::request::Empty;
use proto::rights::{Identity, PERSON};
use proto::verb;
use proto::{Failure, Reply, Role};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::effect::{CallerIdentity, CommandAnswer};
use crate::input::Caller;
use crate::rights::registry::denied;

impl Decide for verb::WhoAmI {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        let identity = identity(asker.caller, engine)?;
        Ok(Some(CommandAnswer::Reply(Reply::Identity(Box::new(identity)))))
    }
}

/// Who asks, and how its process finds programs.
pub(super) fn caller_identity(caller: Caller, engine: &Engine) -> CommandResult {
    let ctx = &engine.ctx;
    let identity = identity(caller, engine)?;
    let process = match caller {
        Caller::Process(run) => ctx.processes.get(&run.process),
        Caller::Person | Caller::Via(_) | Caller::Nobody => None,
    };
    let variable = |name: &str| process.and_then(|process| process.spec.environment.env.get(name)).cloned();
    let caller_identity = CallerIdentity { identity, path: variable("PATH"), shell: variable("SHELL") };
    Ok(Some(CommandAnswer::CallerIdentity(Box::new(caller_identity))))
}

fn identity(caller: Caller, engine: &Engine) -> Result<Identity, Failure> {
    let ctx = &engine.ctx;
    Ok(match caller {
        Caller::Nobody => return Err(denied(caller, "who_am_i")),
        Caller::Person | Caller::Via(_) => Identity {
            caller: PERSON.to_owned(),
            via: ctx.out.scope.via.clone(),
            acts_for_person: false,
            process: None,
            nonce: None,
            project: Project::default(),
            budget: None,
            grants: Vec::new(),
            label: ctx.out.scope.label.clone(),
            limit: ctx.out.scope.limit.clone(),
        },
        Caller::Process(run) => {
            let Some(process) = ctx.processes.get(&run.process) else {
                return Err(denied(Caller::Nobody, "who_am_i"));
            };
            let nonce = process.agent.as_deref().map(|agent| agent.record.nonce.clone());
            Identity {
                caller: run.process.to_string(),
                via: None,
                acts_for_person: engine.grants.acts_for_person(run.process, ctx),
                process: Some(Box::new(process.view())),
                nonce: nonce.filter(|nonce| !nonce.is_empty()),
                project: process.spec.project.clone(),
                budget: ctx.processes.tightest(run.process, &ctx.config, &ctx.out),
                grants: engine.grants.grants_seen_by(caller, ctx),
                label: None,
                limit: ctx.out.scope.limit.clone(),
            }
        }
    })
}
