//! The process table: look-ups by name, by relation and by tree.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use proto::id::split_host;
use proto::request::Target;
use proto::{ErrorCode, Failure, Kind, Limit, Name, Printable, ProcessId};

use super::Process;
use crate::agent::Agent;
use crate::input::{Caller, RunKey, Survivor};
use crate::outbox::Outbox;
use crate::rights::Relation;
use crate::undo::UndoMap;

/// Every process, by its id.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    map: UndoMap<ProcessId, Process>,
}

impl Deref for Processes {
    type Target = UndoMap<ProcessId, Process>;

    fn deref(&self) -> &UndoMap<ProcessId, Process> {
        &self.map
    }
}

impl DerefMut for Processes {
    fn deref_mut(&mut self) -> &mut UndoMap<ProcessId, Process> {
        &mut self.map
    }
}

impl Processes {
    /// An id that no process has.
    pub(crate) fn fresh_id(&self, out: &mut Outbox) -> ProcessId {
        loop {
            let id = ProcessId::from_entropy(out.random());
            if !self.contains_key(&id) {
                return id;
            }
        }
    }

    /// The entry with this id, or the listed one with this name, or the newest departed one with it. Outside of the
    /// limit's workspace there is none.
    pub(crate) fn resolve(&self, target: &Target, limit: &Limit) -> Result<&Process, Failure> {
        if let Some((_, host)) = split_host(&target.0) {
            return Err(other_host(host));
        }
        let is_covered = |process: &&Process| limit.covers(&process.spec.workspace);
        let by_id = target.0.parse::<ProcessId>().ok().and_then(|id| self.get(&id)).filter(is_covered);
        let named = |process: &&Process| process.name.as_str() == target.0 && is_covered(process);
        let listed = || self.values().filter(named).find(|process| !process.is_departed());
        let departed = || self.values().filter(named).max_by_key(|process| process.run.departs_at);
        by_id.or_else(listed).or_else(departed).ok_or_else(|| no_such(&target.0))
    }

    /// The process with this id; the error says that it is gone.
    pub(crate) fn find_known(&self, id: ProcessId) -> Result<&Process, Failure> {
        self.get(&id).ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("process {id} is gone")))
    }

    /// What an entry is to a caller.
    pub(crate) fn relation(&self, caller: Caller, process: &Process) -> Relation {
        let Caller::Process(run) = caller else { return Relation::Neighbour };
        let Some(own) = self.get(&run.process).filter(|own| own.run.number == run.run) else {
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
        let above = |process: &&Process| process.spec.parent.and_then(|parent| self.get(&parent));
        std::iter::successors(self.get(&id), above).take(self.len() + 1)
    }

    /// Everything below an entry, at any depth.
    pub(crate) fn descendants(&self, root: ProcessId) -> BTreeSet<ProcessId> {
        let mut found = BTreeSet::new();
        let mut frontier = vec![root];
        while let Some(parent) = frontier.pop() {
            let children = self.values().filter(|process| process.spec.parent == Some(parent));
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
        self.values().any(|process| process.name == *name && !process.is_departed())
    }

    /// The first free `<kind>-<n>`.
    pub(crate) fn default_name(&self, kind: Kind) -> Name {
        let candidates = (1..).map(|n: u64| format!("{kind}-{n}").parse::<Name>());
        let free = candidates.flatten().find(|name| !self.is_taken(name));
        free.expect("kind-n is within the grammar of names for every n that memory can hold")
    }

    pub(crate) fn is_run_live(&self, run: RunKey) -> bool {
        self.get(&run.process).is_some_and(|process| process.run.number == run.run && process.is_live())
    }

    /// Somebody asks for another end: what survived the last one is tried again.
    pub(crate) fn forget_survivors_below(&mut self, parent: ProcessId) {
        for child in self.children(parent) {
            if let Some(child) = self.get_mut(&child) {
                child.run.survivors.clear();
            }
        }
    }

    /// What survived the end of the entries below this one.
    pub(crate) fn survivors_below(&self, parent: ProcessId) -> Vec<Survivor> {
        let below = self.values().filter(|child| child.spec.parent == Some(parent));
        below.flat_map(|child| child.run.survivors.iter().cloned()).collect()
    }

    pub(crate) fn children(&self, parent: ProcessId) -> Vec<ProcessId> {
        let below = self.values().filter(|child| child.spec.parent == Some(parent));
        below.map(|child| child.id).collect()
    }

    /// Everything that survived the last end of what is listed.
    pub(crate) fn all_survivors(&self) -> Vec<(String, Vec<Survivor>)> {
        let left = self.values().filter(|process| !process.run.survivors.is_empty());
        left.map(|process| (process.name.to_string(), process.run.survivors.clone())).collect()
    }

    /// The agent's part of an entry.
    pub(crate) fn agent(&self, id: ProcessId) -> Option<&Agent> {
        self.get(&id)?.agent.as_deref()
    }

    /// The agent's part of an entry, to be changed.
    pub(crate) fn agent_mut(&mut self, id: ProcessId) -> Option<&mut Agent> {
        self.get_mut(&id)?.agent.as_deref_mut()
    }
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
