//! `who_am_i`: whom the caller is taken for, and what it may.

use proto::crew::{Identity, Project};
use proto::{Failure, Reply};

use super::CommandResult;
use crate::Engine;
use crate::effect::{CallerStanding, CommandAnswer};
use crate::input::Caller;
use crate::registry::denied;

impl Engine {
    pub(super) fn who_am_i(&mut self, caller: Caller) -> CommandResult {
        let identity = self.identity(caller)?;
        Ok(Some(CommandAnswer::Reply(Reply::Identity(Box::new(identity)))))
    }

    /// Who asks, and how its process finds programs.
    pub(super) fn standing(&mut self, caller: Caller) -> CommandResult {
        let identity = self.identity(caller)?;
        let process = match caller {
            Caller::Process(run) => self.processes.get(&run.process),
            Caller::Human | Caller::Via(_) | Caller::Nobody => None,
        };
        let variable =
            |name: &str| process.and_then(|process| process.spec.environment.env.get(name)).cloned();
        let standing = CallerStanding { identity, path: variable("PATH"), shell: variable("SHELL") };
        Ok(Some(CommandAnswer::Standing(Box::new(standing))))
    }

    fn identity(&self, caller: Caller) -> Result<Identity, Failure> {
        Ok(match caller {
            Caller::Nobody => return Err(denied(caller, "who_am_i")),
            Caller::Human | Caller::Via(_) => Identity {
                caller: "human".to_owned(),
                via: self.via.clone(),
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
                    acts_for_person: self.acts_for_person(run.process),
                    process: Some(Box::new(process.view())),
                    nonce: nonce.filter(|nonce| !nonce.is_empty()),
                    project: process.spec.project.clone(),
                    budget: self.tightest(run.process),
                    grants: self.grants_seen_by(caller),
                }
            }
        })
    }
}
