//! An engine from what an earlier daemon recorded.
//!
//! Owns putting the records together again. Refuses finishing what was in the middle: a delivery whose outcome nobody
//! saw is looked into once its agent is seen again, and never begun a second time.

use std::collections::BTreeSet;

use proto::ProcessId;
use proto::agent::Turn;

use crate::delivery::Phase;
use crate::inbox::{About, Item};
use crate::mail::{MailRecord, MailStage};
use crate::process::Process;
use crate::record::Saved;
use crate::{Config, Engine, TaskLookup};

impl Engine {
    /// An engine that continues from what an earlier daemon recorded. Runs that were alive stay `starting` until
    /// their holder is adopted or found lost.
    #[must_use]
    pub fn restore(config: Config, tasks: Box<dyn TaskLookup>, saved: Saved) -> Self {
        let mut engine = Self::new(config, tasks);
        for record in saved.processes {
            let process = Process::from_record(record);
            engine.processes.insert(process.id, process);
        }
        // A record that did not read takes its place in the tree with it.
        let known: BTreeSet<ProcessId> = engine.processes.keys().copied().collect();
        for process in engine.processes.values_mut() {
            process.spec.parent = process.spec.parent.filter(|parent| known.contains(parent));
        }
        engine.counters = saved.counters;
        saved.turns.into_iter().for_each(|turn| engine.restore_turn(turn));
        saved.mail.into_iter().for_each(|mail| engine.restore_mail(mail));
        engine.restore_failures();
        engine.restore_questions(saved.questions);
        engine.restore_timers(saved.timers);
        engine.restore_grants(saved.grants);
        engine.restore_trust(saved.trusts);
        engine
    }

    fn restore_turn(&mut self, turn: Turn) {
        let Some(agent) = self.agent_mut(turn.id) else { return };
        agent.record.turn = agent.record.turn.max(turn.turn);
        agent.turns.insert(turn.turn, turn);
    }

    fn restore_mail(&mut self, mut mail: MailRecord) {
        mail.due = mail.due.filter(|due| due.boot == self.config.boot);
        self.counters.next_mail = self.counters.next_mail.max(mail.id.0.saturating_add(1));
        if mail.delivery.is_final() {
            self.mail.closed.insert(mail.id, mail);
            return;
        }
        let (id, to, stage) = (mail.id, mail.to, mail.stage);
        self.mail.open.insert(id, mail);
        if let Some(agent) = self.agent_mut(to) {
            agent.mail = agent.mail.saturating_add(1);
            if stage != MailStage::Queued {
                agent.live.progress.phase = Phase::Restored { mail: id, stage, until: None };
            }
        }
    }

    fn restore_failures(&mut self) {
        let failures: Vec<_> = self
            .processes
            .values()
            .filter_map(|process| process.agent.as_deref()?.record.failure.clone())
            .collect();
        for view in failures {
            self.counters.next_item = self.counters.next_item.max(view.item.saturating_add(1));
            self.items.insert(view.item, Item { view, about: About::Failure });
        }
    }
}
