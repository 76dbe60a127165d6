//! An engine from what an earlier daemon recorded.
//!
//! A delivery that was under way continues when its agent is seen again; it is never begun a second time.

use std::collections::BTreeSet;

use proto::ProcessId;

use crate::context::Context;
use crate::inbox::Inbox;
use crate::inbox::{ItemSubject, OpenItem};
use crate::process::Process;
use crate::record::Saved;
use crate::tasks::Tasks;
use crate::workspaces::Workspaces;
use crate::{Config, Engine};

impl Inbox {
    pub(crate) fn restore_failures(&mut self, ctx: &mut Context) {
        let failures: Vec<_> = ctx
            .processes
            .values()
            .filter_map(|process| Some(process.agent.as_deref()?.record.failure.as_ref()?.view.clone()))
            .collect();
        for view in failures {
            ctx.out.numbers.counters.next_item =
                ctx.out.numbers.counters.next_item.max(view.item.saturating_add(1));
            self.items.insert(view.item, OpenItem { view, about: ItemSubject::Failure });
        }
    }
}

impl Engine {
    /// An engine that continues from what an earlier daemon recorded. Runs that were alive stay `starting` until
    /// their holder is adopted or found lost.
    #[must_use]
    pub fn restore(config: Config, saved: Saved) -> Self {
        let mut engine = Self::new(config);
        engine.tasks = Tasks::restore(saved.tasks);
        for record in saved.processes {
            let process = Process::from_record(record);
            engine.ctx.processes.insert(process.id, process);
        }
        let tasks = engine.tasks.all.values().map(|task| task.workspace.clone());
        let used = engine.ctx.processes.values().map(|process| process.spec.workspace.clone());
        engine.workspaces = Workspaces::restore(saved.workspaces, tasks.chain(used));
        // A record that did not read takes its place in the tree with it.
        let known: BTreeSet<ProcessId> = engine.ctx.processes.keys().copied().collect();
        for process in engine.ctx.processes.values_mut() {
            process.spec.parent = process.spec.parent.filter(|parent| known.contains(parent));
        }
        engine.ctx.out.numbers.counters = saved.counters;
        for turn in saved.turns {
            if let Some(agent) = engine.ctx.processes.agent_mut(turn.id) {
                agent.restore_turn(turn);
            }
        }
        for mail in saved.mail {
            engine.mail.queue.restore(mail, &mut engine.ctx);
        }
        engine.inbox.restore_failures(&mut engine.ctx);
        engine.inbox.restore_questions(saved.questions, &mut engine.ctx);
        engine.timers.restore_timers(saved.timers, &mut engine.mail.queue, &mut engine.ctx);
        engine.grants.restore_grants(saved.grants, &mut engine.ctx);
        engine.trust.restore_trust(saved.trusts);
        engine
    }
}
