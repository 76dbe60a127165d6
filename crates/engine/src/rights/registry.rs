//! Finding entries: by what a caller typed, by relation, by tree.
//!
//! Owns look-ups and the checks that precede every verb. Refuses changing anything.

use proto::crew::Right;
use proto::request::Target;
use proto::{ErrorCode, Failure, Kind, ProcessId};

use crate::context::Context;
use crate::input::Caller;
use crate::process::Process;
use crate::rights::grants::Grants;
use crate::rights::{Granted, Relation, Verb, may};

impl Grants {
    /// Whether whoever calls from a process has the rights of the person who opened it. Agents never do, nor what is below
    /// one. Nor does what somebody else may drive: who types in a person's name has that person's rights.
    pub(crate) fn acts_for_person(&self, id: ProcessId, ctx: &Context) -> bool {
        let is_driven = |process: &Process| {
            self.all().any(|grant| grant.over == process.id && grant.right == Right::Drive)
        };
        ctx.processes.contains_key(&id)
            && ctx.processes.line(id).all(|process| {
                process.spec.acts_for_person && process.spec.kind != Kind::Agent && !is_driven(process)
            })
    }

    /// Whether the caller is somebody at all: a person, or something inside a run that goes on at this moment. What
    /// comes from an older run, from one that is over or from a process that is gone comes from nobody.
    pub(crate) fn admit(&self, caller: Caller, ctx: &Context) -> Result<(), Failure> {
        let run = match caller {
            Caller::Human => return Ok(()),
            Caller::Nobody => return Err(unauthorized()),
            Caller::Process(run) | Caller::Via(run) => run,
        };
        let own = ctx.processes.get(&run.process).filter(|own| own.run.number == run.run);
        if own.is_some_and(Process::is_live) {
            return match caller {
                Caller::Via(_) if !self.acts_for_person(run.process, ctx) => Err(no_longer_acts()),
                _ => Ok(()),
            };
        }
        Err(Failure::new(ErrorCode::Unauthorized, "the run that asks is over")
            .hint("only a run that goes on may ask for anything"))
    }

    /// Whether the caller may do that to this entry.
    pub(crate) fn may_do(&self, caller: Caller, verb: Verb, process: &Process, ctx: &Context) -> bool {
        may(caller, verb, ctx.processes.relation(caller, process), self.granted(caller, process.id))
    }

    /// The entry a caller means, if the caller may do that to it.
    pub(crate) fn find<'a>(
        &self,
        caller: Caller,
        target: &Target,
        verb: Verb,
        ctx: &'a Context,
    ) -> Result<&'a Process, Failure> {
        let process = ctx.processes.resolve(target)?;
        if self.may_do(caller, verb, process, ctx) {
            return Ok(process);
        }
        Err(not_related(caller, &format!("{} is not yours", process.name)))
    }

    /// The id of [`Grants::find`], for verbs that go on to change the entry.
    pub(crate) fn find_id(
        &self,
        caller: Caller,
        target: &Target,
        verb: Verb,
        ctx: &Context,
    ) -> Result<ProcessId, Failure> {
        self.find(caller, target, verb, ctx).map(|process| process.id)
    }

    /// The same for verbs that only agents understand.
    pub(crate) fn find_agent(
        &self,
        caller: Caller,
        target: &Target,
        verb: Verb,
        ctx: &Context,
    ) -> Result<ProcessId, Failure> {
        let process = self.find(caller, target, verb, ctx)?;
        if process.spec.kind == Kind::Agent && process.agent.is_some() {
            return Ok(process.id);
        }
        Err(wrong_kind(process))
    }

    /// Whether the caller may do something that has no target.
    pub(crate) fn may_at_all(&self, caller: Caller, verb: Verb) -> bool {
        may(caller, verb, Relation::None, Granted::default())
    }

    /// Only people do this.
    pub(crate) fn people_only(&self, caller: Caller, what: &str) -> Result<(), Failure> {
        if self.may_at_all(caller, Verb::Administer) { Ok(()) } else { Err(denied(caller, what)) }
    }
}

/// Only agents understand this.
pub(crate) fn wrong_kind(process: &Process) -> Failure {
    let message = format!("{} is a {}: only agents understand this", process.name, process.spec.kind);
    Failure::new(ErrorCode::WrongKind, message)
        .hint("`qd ps` shows which process is an agent; `qd send` types into any process")
}

/// A person or a rule says no.
pub(crate) fn denied(caller: Caller, what: &str) -> Failure {
    match caller {
        Caller::Nobody => unauthorized(),
        Caller::Human | Caller::Via(_) | Caller::Process(_) => {
            Failure::new(ErrorCode::Denied, format!("denied: {what}")).hint("ask a person: only people may")
        }
    }
}

/// The target is out of the caller's reach.
pub(crate) fn not_related(caller: Caller, what: &str) -> Failure {
    match caller {
        Caller::Nobody => unauthorized(),
        Caller::Human | Caller::Via(_) | Caller::Process(_) => {
            Failure::new(ErrorCode::NotRelated, format!("denied: {what}"))
                .hint("a process may reach itself and what it spawned; a person can grant more")
        }
    }
}

fn no_longer_acts() -> Failure {
    Failure::new(
        ErrorCode::Unauthorized,
        "this terminal acts for you no longer: somebody else may type in it",
    )
    .hint("call again with the terminal's own rights, or from a terminal of your own")
}

fn unauthorized() -> Failure {
    Failure::new(ErrorCode::Unauthorized, "the caller could not be identified")
        .hint("call from a shell of the user who runs Quarterdeck")
}
