//! Finding entries: by what a caller typed, by relation, by tree.
//!
//! Owns look-ups and the checks that precede every verb. Refuses changing anything.

use std::collections::BTreeSet;

use proto::crew::Right;
use proto::id::split_host;
use proto::request::Target;
use proto::{ErrorCode, Failure, Kind, Name, Printable, ProcessId};

use crate::Engine;
use crate::input::Caller;
use crate::process::Process;
use crate::rights::{Granted, Relation, Verb, may};

impl Engine {
    /// Whether the caller is somebody at all: a person, or something inside a run that goes on at this moment. What
    /// comes from an older run, from one that is over or from a process that is gone comes from nobody.
    pub(crate) fn admit(&self, caller: Caller) -> Result<(), Failure> {
        let run = match caller {
            Caller::Human => return Ok(()),
            Caller::Nobody => return Err(unauthorized()),
            Caller::Process(run) | Caller::Via(run) => run,
        };
        let own = self.processes.get(&run.process).filter(|own| own.run.number == run.run);
        if own.is_some_and(Process::is_live) {
            return match caller {
                Caller::Via(_) if !self.acts_for_person(run.process) => Err(no_longer_acts()),
                _ => Ok(()),
            };
        }
        Err(Failure::new(ErrorCode::Unauthorized, "the run that asks is over")
            .hint("only a run that goes on may ask for anything"))
    }

    /// Whether whoever calls from a process has the rights of the person who opened it. Agents never do, nor what is below
    /// one. Nor does what somebody else may drive: who types in a person's name has that person's rights.
    pub(crate) fn acts_for_person(&self, id: ProcessId) -> bool {
        let is_driven = |process: &Process| {
            self.grants.all().any(|grant| grant.over == process.id && grant.right == Right::Drive)
        };
        self.processes.contains_key(&id)
            && self.line(id).all(|process| {
                process.spec.acts_for_person && process.spec.kind != Kind::Agent && !is_driven(process)
            })
    }

    /// Whether the caller may do something that has no target.
    pub(crate) fn may_at_all(&self, caller: Caller, verb: Verb) -> bool {
        may(caller, verb, Relation::None, Granted::default())
    }

    /// Whether the caller may do that to this entry.
    pub(crate) fn may_do(&self, caller: Caller, verb: Verb, process: &Process) -> bool {
        may(caller, verb, self.relation(caller, process), self.granted(caller, process.id))
    }

    /// Only people do this.
    pub(crate) fn people_only(&self, caller: Caller, what: &str) -> Result<(), Failure> {
        if self.may_at_all(caller, Verb::Administer) { Ok(()) } else { Err(denied(caller, what)) }
    }

    /// The entry a caller means, if the caller may do that to it.
    pub(crate) fn find(&self, caller: Caller, target: &Target, verb: Verb) -> Result<&Process, Failure> {
        let process = self.resolve(target)?;
        if self.may_do(caller, verb, process) {
            return Ok(process);
        }
        Err(not_related(caller, &format!("{} is not yours", process.name)))
    }

    /// The id of [`Engine::find`], for verbs that go on to change the entry.
    pub(crate) fn find_id(&self, caller: Caller, target: &Target, verb: Verb) -> Result<ProcessId, Failure> {
        self.find(caller, target, verb).map(|process| process.id)
    }

    /// The entry with this id, or the listed one with this name, or the newest departed one with it.
    pub(crate) fn resolve(&self, target: &Target) -> Result<&Process, Failure> {
        if let Some((_, host)) = split_host(&target.0) {
            return Err(other_host(host));
        }
        let by_id = target.0.parse::<ProcessId>().ok().and_then(|id| self.processes.get(&id));
        let named = |process: &&Process| process.name.as_str() == target.0;
        let listed = || self.processes.values().filter(named).find(|process| !process.is_departed());
        let departed = || self.processes.values().filter(named).max_by_key(|process| process.run.departs_at);
        by_id.or_else(listed).or_else(departed).ok_or_else(|| no_such(&target.0))
    }

    /// What an entry is to a caller.
    pub(crate) fn relation(&self, caller: Caller, process: &Process) -> Relation {
        let Caller::Process(run) = caller else { return Relation::Neighbour };
        let Some(own) = self.processes.get(&run.process).filter(|own| own.run.number == run.run) else {
            return Relation::Foreign;
        };
        match process {
            _ if process.id == own.id => Relation::Own,
            _ if self.line(process.id).skip(1).any(|above| above.id == own.id) => Relation::Descendant,
            _ if own.spec.parent == Some(process.id) => Relation::Parent,
            _ if own.spec.workspace != process.spec.workspace => Relation::Foreign,
            _ if own.spec.parent.is_some() && own.spec.parent == process.spec.parent => Relation::Sibling,
            _ => Relation::Neighbour,
        }
    }

    /// An entry and everything above it, from itself upwards.
    pub(crate) fn line(&self, id: ProcessId) -> impl Iterator<Item = &Process> {
        let above = |process: &&Process| process.spec.parent.and_then(|parent| self.processes.get(&parent));
        std::iter::successors(self.processes.get(&id), above).take(self.processes.len() + 1)
    }

    /// Everything below an entry, at any depth.
    pub(crate) fn descendants(&self, root: ProcessId) -> BTreeSet<ProcessId> {
        let mut found = BTreeSet::new();
        let mut frontier = vec![root];
        while let Some(parent) = frontier.pop() {
            let children = self.processes.values().filter(|process| process.spec.parent == Some(parent));
            frontier.extend(children.map(|child| child.id).filter(|id| found.insert(*id)));
        }
        found
    }

    /// How many entries are above this one, itself included.
    pub(crate) fn depth(&self, id: ProcessId) -> usize {
        self.line(id).count()
    }

    /// A listed entry has this name already.
    pub(crate) fn is_taken(&self, name: &Name) -> bool {
        self.processes.values().any(|process| process.name == *name && !process.is_departed())
    }

    /// The first free `<kind>-<n>`.
    pub(crate) fn default_name(&self, kind: Kind) -> Name {
        let candidates = (1..).map(|n: u64| format!("{kind}-{n}").parse::<Name>());
        let free = candidates.flatten().find(|name| !self.is_taken(name));
        free.expect("kind-n is within the grammar of names for every n that memory can hold")
    }
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

fn other_host(host: &str) -> Failure {
    let shown: String = host.chars().take(64).collect();
    let message = format!("processes of other hosts are not supported yet: @{}", Printable(&shown));
    Failure::invalid("target", message).hint("leave out the part from @ on")
}

fn no_such(text: &str) -> Failure {
    let shown: String = text.chars().take(64).collect();
    Failure::new(ErrorCode::NotFound, format!("no process \"{}\"", Printable(&shown)))
        .hint("qd ps lists them")
}
