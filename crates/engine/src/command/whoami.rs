//! `who_am_i`: whom the caller is taken for, and what it may.

use proto::crew::{Identity, Project};
use proto::request::Empty;
use proto::verb;
use proto::{Failure, Reply};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::context::Context;
use crate::effect::{CallerStanding, CommandAnswer};
use crate::input::Caller;
use crate::rights::grants::Grants;
use crate::rights::registry::denied;

impl Decide for verb::WhoAmI {
    type Order = Empty;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        engine.ctx.who_am_i(asker.caller, &engine.grants)
    }
}

impl Context {
    pub(crate) fn who_am_i(&self, caller: Caller, grants: &Grants) -> CommandResult {
        let identity = self.identity(caller, grants)?;
        Ok(Some(CommandAnswer::Reply(Reply::Identity(Box::new(identity)))))
    }

    /// Who asks, and how its process finds programs.
    pub(crate) fn standing(&self, caller: Caller, grants: &Grants) -> CommandResult {
        let identity = self.identity(caller, grants)?;
        let process = match caller {
            Caller::Process(run) => self.processes.get(&run.process),
            Caller::Human | Caller::Via(_) | Caller::Nobody => None,
        };
        let variable =
            |name: &str| process.and_then(|process| process.spec.environment.env.get(name)).cloned();
        let standing = CallerStanding { identity, path: variable("PATH"), shell: variable("SHELL") };
        Ok(Some(CommandAnswer::Standing(Box::new(standing))))
    }

    pub(crate) fn identity(&self, caller: Caller, grants: &Grants) -> Result<Identity, Failure> {
        Ok(match caller {
            Caller::Nobody => return Err(denied(caller, "who_am_i")),
            Caller::Human | Caller::Via(_) => Identity {
                caller: "human".to_owned(),
                via: self.out.via.clone(),
                acts_for_person: false,
                process: None,
                nonce: None,
                project: Project::default(),
                budget: None,
                grants: Vec::new(),
            },
            Caller::Process(run) => {
                let Some(process) = self.processes.get(&run.process) else {
                    return Err(denied(Caller::Nobody, "who_am_i"));
                };
                let nonce = process.agent.as_deref().map(|agent| agent.record.nonce.clone());
                Identity {
                    caller: run.process.to_string(),
                    via: None,
                    acts_for_person: grants.acts_for_person(run.process, self),
                    process: Some(Box::new(process.view())),
                    nonce: nonce.filter(|nonce| !nonce.is_empty()),
                    project: process.spec.project.clone(),
                    budget: self.processes.tightest(run.process, &self.config, &self.out),
                    grants: grants.grants_seen_by(caller, self),
                }
            }
        })
    }
}
