//! Who gets an event: decided when it is announced, by the rights that count at that moment. A subscriber gets what it
//! could also ask for.

use std::collections::{BTreeMap, BTreeSet};

use proto::event::Event;
use proto::{Limit, ProcessId, ProcessView, Role};

use crate::context::Context;
use crate::input::{Caller, Principal, RunKey};
use crate::process::Process;
use crate::rights::grants::Grants;
use crate::rights::{Granted, Relation, Verb, may};

/// What an event is about, as far as rights go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// A process: every caller that may list it.
    Process(ProcessId),
    /// A message: its sender, and every caller that may drive its recipient.
    Mail { from: Option<ProcessId>, to: ProcessId },
    /// An item of this process: people who may read it, and processes that may answer it, unless only people may.
    Item { of: ProcessId, is_persons: bool },
    /// A timer: every caller that may read its owner.
    Timer(ProcessId),
    /// What belongs to a project: the processes in it, and people whose workspace has one there.
    Project(String),
    /// What happens in a workspace: its processes, and its people.
    Workspace(String),
    /// It is not known: people without a limit.
    Unknown,
    /// Nothing that anybody could not know.
    Nothing,
}

impl Topic {
    /// The topic of an event that says itself what it is about.
    pub(crate) fn of(event: &Event) -> Self {
        match event {
            Event::Changed(view) => Self::Process(view.id),
            Event::Exited { id, .. }
            | Event::Removed { id }
            | Event::Done { id }
            | Event::TurnEnded { id, .. }
            | Event::Selected { id, .. } => Self::Process(*id),
            Event::Mail(receipt) => Self::Mail { from: receipt.from, to: receipt.to },
            // The inbox says more about an item that it announces; without that, it is for people.
            Event::ItemOpened(view) => Self::Item { of: view.id, is_persons: true },
            Event::Timer(view) => Self::Timer(view.owner),
            Event::PadChanged { project, .. } => Self::Project(project.clone()),
            Event::ItemClosed { .. } | Event::TaskChanged { .. } => Self::Unknown,
            Event::Resync {} => Self::Nothing,
        }
    }
}

/// Who gets an event, besides people without a limit, who get every event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// Everybody.
    is_everybody: bool,
    /// The workspaces that it is of: people who are limited to one of them get it.
    workspaces: BTreeSet<String>,
    /// Every process of those workspaces gets it.
    has_neighbours: bool,
    /// The processes that get it by the tree or by a grant, with the role that their connection needs.
    processes: BTreeMap<ProcessId, Role>,
}

/// A caller that gets events.
#[derive(Clone, Debug)]
pub struct Subscriber {
    caller: Caller,
    limit: Limit,
    /// The workspace of the process that subscribed.
    workspace: Option<String>,
}

impl Subscriber {
    /// Returns the subscriber for a caller that was given these processes.
    #[must_use]
    pub fn new(principal: &Principal, processes: &[ProcessView]) -> Self {
        let id = principal.caller.process();
        let own = id.and_then(|id| processes.iter().find(|process| process.id == id));
        let workspace = own.map(|own| own.workspace.clone());
        Self { caller: principal.caller, limit: principal.limit.clone(), workspace }
    }

    /// Returns true if it may get an event with this audience.
    #[must_use]
    pub fn gets(&self, audience: &Audience) -> bool {
        if audience.is_everybody {
            return self.caller != Caller::Nobody;
        }
        let is_covered = match &self.limit.workspace {
            Some(only) => audience.workspaces.contains(only),
            None => true,
        };
        is_covered
            && match self.caller {
                Caller::Person | Caller::Via(_) => true,
                Caller::Process(run) => self.reaches(run.process, audience),
                Caller::Nobody => false,
            }
    }

    fn reaches(&self, own: ProcessId, audience: &Audience) -> bool {
        let is_neighbour = audience.has_neighbours
            && self.workspace.as_ref().is_some_and(|own| audience.workspaces.contains(own));
        is_neighbour || audience.processes.get(&own).is_some_and(|role| self.limit.role >= *role)
    }

    /// Returns true for the end of the run in which the subscriber is: it gets nothing after it.
    #[must_use]
    pub fn ends_with(&self, event: &Event) -> bool {
        let (Caller::Process(own) | Caller::Via(own)) = self.caller else { return false };
        matches!(event, Event::Exited { id, run, .. } if RunKey::new(*id, *run) == own)
    }
}

impl Grants {
    /// Decides who gets the events that were announced, as long as what they are about is there.
    pub(crate) fn address_events(&self, ctx: &mut Context) {
        for (index, topic) in ctx.out.take_unaddressed() {
            let audience = self.audience(&topic, ctx);
            ctx.out.address(index, audience);
        }
    }

    /// Decides who gets an event about this. A topic that is gone leaves people without a limit.
    pub(crate) fn audience(&self, topic: &Topic, ctx: &Context) -> Audience {
        let find = |id: &ProcessId| ctx.processes.get(id);
        match topic {
            Topic::Process(id) => find(id).map(|process| self.listing(process)),
            Topic::Timer(owner) => find(owner).map(|process| self.holding(process, Verb::Read, ctx)),
            Topic::Mail { from, to } => find(to).map(|process| {
                let mut audience = self.holding(process, Verb::Drive, ctx);
                audience.processes.extend(from.map(|from| (from, Role::View)));
                audience
            }),
            Topic::Item { of, is_persons: true } => find(of).map(only_people),
            Topic::Item { of, is_persons: false } => {
                find(of).map(|process| self.holding(process, Verb::Answer, ctx))
            }
            Topic::Project(key) => Some(in_project(key, ctx)),
            Topic::Workspace(name) => Some(Audience {
                workspaces: BTreeSet::from([name.clone()]),
                has_neighbours: true,
                ..Audience::default()
            }),
            Topic::Unknown => None,
            Topic::Nothing => Some(Audience { is_everybody: true, ..Audience::default() }),
        }
        .unwrap_or_default()
    }

    /// Every caller that may list a process: its workspace, and the processes with a grant over it.
    fn listing(&self, process: &Process) -> Audience {
        let over = self.all().filter(|grant| grant.over == process.id);
        let processes = over.map(|grant| (grant.to, Verb::List.role())).collect();
        Audience { has_neighbours: true, processes, ..only_people(process) }
    }

    /// Every caller that may do this to a process: itself and its ancestors, as far as the tree gives them the right, and the
    /// processes with a grant over it.
    fn holding(&self, process: &Process, verb: Verb, ctx: &Context) -> Audience {
        let by_tree = ctx.processes.line(process.id).map(|above| {
            let relation = if above.id == process.id { Relation::Own } else { Relation::Descendant };
            (above, relation)
        });
        let by_grant = self.all().filter(|grant| grant.over == process.id);
        let by_grant =
            by_grant.filter_map(|grant| ctx.processes.get(&grant.to)).map(|to| (to, Relation::Foreign));
        let has_right = |(other, relation): &(&Process, Relation)| {
            let caller = Caller::Process(other.key());
            let granted: Granted = self.granted(caller, process.id);
            may(caller, verb, *relation, granted)
        };
        let processes = by_tree.chain(by_grant).filter(has_right).map(|(other, _)| (other.id, verb.role()));
        Audience { processes: processes.collect(), ..only_people(process) }
    }
}

/// People whose limit covers a process.
fn only_people(process: &Process) -> Audience {
    Audience { workspaces: BTreeSet::from([process.spec.workspace.clone()]), ..Audience::default() }
}

/// The processes in a project, and people whose workspace has one there.
fn in_project(key: &str, ctx: &Context) -> Audience {
    let inside = || ctx.processes.values().filter(|process| process.spec.project.key == key);
    let works = |process: &&Process| !process.is_departed();
    Audience {
        workspaces: inside().filter(works).map(|process| process.spec.workspace.clone()).collect(),
        processes: inside().map(|process| (process.id, Role::View)).collect(),
        ..Audience::default()
    }
}
