//! Finding entries: by what a caller typed, by relation, by tree.
//!
//! The checks before every verb are here; nothing is changed.

use proto::request::Target;
use proto::rights::Right;
use proto::{ErrorCode, Failure, Kind, ProcessId};

use crate::context::Context;
use crate::input::Caller;
use crate::process::Process;
use crate::rights::grants::Grants;
use crate::rights::{Granted, Relation, Verb, may};

impl Grants {
    /// Returns true if a caller inside a process has the rights of the person who opened it. An agent and what is below one
    /// never have them, nor a process that a grant lets another one drive: it could type in the person's name.
    pub(crate) fn acts_for_person(&self, id: ProcessId, ctx: &Context) -> bool {
        let is_driven = |process: &Process| {
            self.all().any(|grant| grant.over == process.id && grant.right == Right::Drive)
        };
        ctx.processes.contains_key(&id)
            && ctx.processes.line(id).all(|process| {
                process.spec.acts_for_person && process.spec.kind != Kind::Agent && !is_driven(process)
            })
    }

    /// Admits a person and a caller inside a run that goes on. A caller from an older run, from one that is over or from a
    /// process that is gone is refused.
    pub(crate) fn admit(&self, caller: Caller, ctx: &Context) -> Result<(), Failure> {
        let run = match caller {
            Caller::Person => return Ok(()),
            Caller::Nobody => return Err(Failure::unidentified()),
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
            .hint("this run has ended: start the process again"))
    }

    /// Returns true if the caller may do that to this process, within the limit of its connection.
    pub(crate) fn may_do(&self, caller: Caller, verb: Verb, process: &Process, ctx: &Context) -> bool {
        let limit = &ctx.out.scope.limit;
        let is_within = limit.role >= verb.role() && limit.covers(&process.spec.workspace);
        is_within
            && may(caller, verb, ctx.processes.relation(caller, process), self.granted(caller, process.id))
    }

    /// The entry a caller means, if the caller may do that to it.
    pub(crate) fn find<'a>(
        &self,
        caller: Caller,
        target: &Target,
        verb: Verb,
        ctx: &'a Context,
    ) -> Result<&'a Process, Failure> {
        ctx.check_least_role(verb.role(), verb.word())?;
        let process = ctx.processes.resolve(target, &ctx.out.scope.limit)?;
        if self.may_do(caller, verb, process, ctx) {
            return Ok(process);
        }
        Err(not_related(caller, &format!("{} is not yours", process.name)))
    }

    /// Checks that typing there gives the caller no more than its limit: what is typed into a terminal that acts for a
    /// person has all rights of that person.
    pub(crate) fn check_typing(&self, process: &Process, ctx: &Context) -> Result<(), Failure> {
        let limit = &ctx.out.scope.limit;
        if limit.is_none() || !self.acts_for_person(process.id, ctx) {
            return Ok(());
        }
        let message = format!(
            "denied: {} acts for the person who opened it, and this connection is limited to {limit}",
            process.name
        );
        Err(Failure::new(ErrorCode::Denied, message)
            .hint("start a terminal over this connection, or open that one without the right to act"))
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

    /// Returns true if the caller may do something that has no target.
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

/// The failure of a caller that lacks a right.
pub(crate) fn denied(caller: Caller, what: &str) -> Failure {
    match caller {
        Caller::Nobody => Failure::unidentified(),
        Caller::Person | Caller::Via(_) | Caller::Process(_) => {
            Failure::new(ErrorCode::Denied, format!("denied: {what}")).hint("ask a person: only people may")
        }
    }
}

/// The target is out of the caller's reach.
pub(crate) fn not_related(caller: Caller, what: &str) -> Failure {
    match caller {
        Caller::Nobody => Failure::unidentified(),
        Caller::Person | Caller::Via(_) | Caller::Process(_) => {
            Failure::new(ErrorCode::NotRelated, format!("denied: {what}"))
                .hint("a process may reach itself and what it spawned; a person can grant more")
        }
    }
}

fn no_longer_acts() -> Failure {
    Failure::new(
        ErrorCode::Unauthorized,
        "this terminal no longer acts for you: another process may type in it, or was once allowed to",
    )
    .hint("call again with the terminal's own rights, or from another terminal of your own")
}
