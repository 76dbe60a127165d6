//! Who waits for whom, so that no circle of waiting closes.
//!
//! A wait or a timer that would close a circle is refused before it begins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proto::{ErrorCode, Failure, ProcessId};

use crate::context::Context;
use crate::timers::Timers;
use crate::waits::Waits;

impl Waits {
    /// Refuses a wait of `waiter` for these processes if it would close a circle; the error names the circle.
    pub(crate) fn check_circle(
        &self,
        waiter: ProcessId,
        targets: &[ProcessId],
        timers: &Timers,
        ctx: &Context,
    ) -> Result<(), Failure> {
        let Some(circle) = self.circle(waiter, targets, timers, ctx) else { return Ok(()) };
        let name = |id: &ProcessId| {
            ctx.processes.get(id).map_or_else(|| id.to_string(), |process| process.name.to_string())
        };
        let names: Vec<String> = circle.iter().map(name).collect();
        let message =
            format!("these processes would wait for each other for ever: {}", names.join(" waits for "));
        Err(Failure::new(ErrorCode::Conflict, message).hint("set a timer with a delay, or send it a message"))
    }

    /// The shortest circle that would close, from the waiter back to it.
    pub(crate) fn circle(
        &self,
        waiter: ProcessId,
        targets: &[ProcessId],
        timers: &Timers,
        ctx: &Context,
    ) -> Option<Vec<ProcessId>> {
        let edges = self.waiting(timers, ctx);
        let mut came_from: BTreeMap<ProcessId, ProcessId> = BTreeMap::new();
        let mut frontier: VecDeque<ProcessId> = VecDeque::new();
        let mut found = targets.contains(&waiter);
        for target in targets {
            came_from.insert(*target, waiter);
            frontier.push_back(*target);
        }
        while !found && let Some(at) = frontier.pop_front() {
            for next in edges.get(&at).into_iter().flatten() {
                if let std::collections::btree_map::Entry::Vacant(unseen) = came_from.entry(*next) {
                    unseen.insert(at);
                    frontier.push_back(*next);
                    found |= *next == waiter;
                }
            }
        }
        found.then(|| way_back(waiter, &came_from))
    }

    /// Whom each process waits for: by waits that are open and by idle timers that are armed.
    pub(crate) fn waiting(&self, timers: &Timers, ctx: &Context) -> BTreeMap<ProcessId, BTreeSet<ProcessId>> {
        let mut edges: BTreeMap<ProcessId, BTreeSet<ProcessId>> = BTreeMap::new();
        for wait in self.open.values() {
            let Some(waiter) = wait.waiter.filter(|waiter| ctx.processes.is_run_live(*waiter)) else {
                continue;
            };
            let open = wait.targets.iter().filter(|run| wait.is_open_for(run)).map(|run| run.process);
            // The waiter's own timer, answer or output needs no other process.
            edges.entry(waiter.process).or_default().extend(open.filter(|id| *id != waiter.process));
        }
        for (owner, _, watched) in timers.watches() {
            edges.entry(owner.process).or_default().insert(watched);
        }
        edges
    }
}

/// From the waiter along the edges back to it.
fn way_back(waiter: ProcessId, came_from: &BTreeMap<ProcessId, ProcessId>) -> Vec<ProcessId> {
    let mut way = vec![waiter];
    let mut at = waiter;
    while let Some(before) = came_from.get(&at) {
        way.push(*before);
        at = *before;
        if at == waiter || way.len() > came_from.len() + 1 {
            break;
        }
    }
    way.reverse();
    way
}
