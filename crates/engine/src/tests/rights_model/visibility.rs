//! Every kind of event, every caller, every limit: who gets it is what a second opinion says, and a subscriber gets events
//! about exactly the processes that the list has for it.

use proto::{Limit, Role};

use super::limits::limits;
use super::*;
use crate::rights::audience::Topic;
use crate::{Audience, Principal, Subscriber};

const CASES: usize = 20_000;

impl World {
    /// One topic of each kind about a process.
    fn topics(&self, n: usize, random: &mut Random) -> Vec<Topic> {
        let id = self.nodes[n].id;
        let from = (!random.chance(3)).then(|| self.nodes[random.below(self.nodes.len())].id);
        vec![
            Topic::Process(id),
            Topic::Timer(id),
            Topic::Mail { from, to: id },
            Topic::Item { of: id, is_persons: true },
            Topic::Item { of: id, is_persons: false },
            // All nodes are in one project, which has no key.
            Topic::Project(String::new()),
            Topic::Project("elsewhere".to_owned()),
            Topic::Process(self.closed),
            Topic::Workspace(format!("w{}", self.nodes[n].workspace)),
            Topic::Unknown,
            Topic::Nothing,
        ]
    }

    /// The second opinion about who gets an event.
    fn expected_to_get(&self, caller: Caller, limit: &Limit, topic: &Topic) -> bool {
        let index = |id: &ProcessId| self.nodes.iter().position(|node| node.id == *id);
        let about = match topic {
            Topic::Workspace(name) => {
                let is_own = |own: usize| format!("w{}", self.nodes[own].workspace) == *name;
                let is_covered = limit.workspace.as_ref().is_none_or(|only| only == name);
                return caller != Caller::Nobody && is_covered && self.own(caller).is_none_or(is_own);
            }
            Topic::Unknown => None,
            Topic::Nothing => return caller != Caller::Nobody,
            Topic::Project(key) => {
                let works = |n: usize| !self.is_foreign(n, limit);
                let is_covered =
                    limit.workspace.is_none() || (key.is_empty() && (0..self.nodes.len()).any(works));
                let is_own = self.own(caller).is_none() || key.is_empty();
                return caller != Caller::Nobody && is_covered && is_own;
            }
            Topic::Process(id)
            | Topic::Timer(id)
            | Topic::Mail { to: id, .. }
            | Topic::Item { of: id, .. } => index(id),
        };
        let is_unlimited = caller == Caller::Person && limit.workspace.is_none();
        let Some(n) = about else { return is_unlimited };
        if caller == Caller::Nobody || self.is_foreign(n, limit) {
            return false;
        }
        let Some(own) = self.own(caller) else { return true };
        let types = limit.role >= Role::Type;
        match topic {
            Topic::Process(_) => self.sees(own, n),
            Topic::Timer(_) => self.reads(own, n),
            Topic::Mail { from, .. } => *from == Some(self.nodes[own].id) || types && self.drives(own, n),
            Topic::Item { is_persons, .. } => !is_persons && types && self.below[own][n],
            Topic::Project(_) | Topic::Workspace(_) | Topic::Unknown | Topic::Nothing => true,
        }
    }

    fn audience(&self, topic: &Topic) -> Audience {
        self.stage.engine.grants.audience(topic, &self.stage.engine.ctx)
    }
}

#[test]
fn n5_b6_every_event_goes_to_those_whom_the_model_names_and_who_could_ask_for_it() {
    let mut random = Random(20_261_118);
    let (mut cases, mut given, mut kept) = (0, 0, 0);
    while cases < CASES {
        let mut world = World::grow_realistic(&mut random);
        let nodes = 0..world.nodes.len();
        let live = nodes.filter(|n| world.nodes[*n].is_live).map(|n| world.caller(n));
        let callers: Vec<Caller> = live.chain([Caller::Person]).collect();
        for caller in callers {
            for limit in limits() {
                let principal = Principal { caller, label: None, limit: limit.clone() };
                let ticket = world.stage.ask_within(principal.clone(), Command::Subscribe);
                let Some(Ok(CommandAnswer::Listed { processes, .. })) = world.stage.answer(ticket) else {
                    panic!("{caller:?} within {limit} gets no list")
                };
                world.stage.effects.clear();
                let subscriber = Subscriber::new(&principal, &processes);
                let n = random.below(world.nodes.len());
                for topic in world.topics(n, &mut random) {
                    let gets = subscriber.gets(&world.audience(&topic));
                    let expected = world.expected_to_get(caller, &limit, &topic);
                    assert_eq!(gets, expected, "{caller:?} within {limit}: {topic:?}");
                    (given, kept) = (given + usize::from(gets), kept + usize::from(!gets));
                    cases += 1;
                }
                let is_listed = processes.iter().any(|view| view.id == world.nodes[n].id);
                let gets = subscriber.gets(&world.audience(&Topic::Process(world.nodes[n].id)));
                assert_eq!(gets, is_listed, "{caller:?} within {limit}: what it gets, it could ask for");
                let nobody = Principal { caller: Caller::Nobody, label: None, limit };
                let audience = world.audience(&Topic::Nothing);
                assert!(!Subscriber::new(&nobody, &processes).gets(&audience), "nobody gets nothing");
            }
        }
    }
    assert!(given > CASES / 10 && kept > CASES / 10, "{given} given, {kept} kept");
}
