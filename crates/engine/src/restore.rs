//! An engine from what an earlier daemon recorded.
//!
//! Owns putting the records together again. Refuses finishing what was in the middle: a delivery whose outcome nobody
//! saw is looked into once its agent is seen again, and never begun a second time.

use std::collections::BTreeSet;

use proto::ProcessId;
use proto::agent::Turn;

use crate::context::Context;
use crate::inbox::Inbox;
use crate::inbox::{About, Item};
use crate::mail::Mailbox;
use crate::mail::delivery::Phase;
use crate::mail::{MailRecord, MailStage};
use crate::process::Process;
use crate::record::Saved;
use crate::{Config, Engine, TaskLookup};

impl Context {
    pub(crate) fn restore_turn(&mut self, turn: Turn) {
        let Some(agent) = self.processes.agent_mut(turn.id) else { return };
        agent.record.turn = agent.record.turn.max(turn.turn);
        agent.turns.insert(turn.turn, turn);
    }
}

impl Inbox {
    pub(crate) fn restore_failures(&mut self, ctx: &mut Context) {
        let failures: Vec<_> = ctx
            .processes
            .values()
            .filter_map(|process| process.agent.as_deref()?.record.failure.clone())
            .collect();
        for view in failures {
            ctx.out.numbers.counters.next_item =
                ctx.out.numbers.counters.next_item.max(view.item.saturating_add(1));
            self.items.insert(view.item, Item { view, about: About::Failure });
        }
    }
}

impl Mailbox {
    pub(crate) fn restore_mail(&mut self, mut mail: MailRecord, ctx: &mut Context) {
        mail.due = mail.due.filter(|due| due.boot == ctx.config.boot);
        ctx.out.numbers.counters.next_mail =
            ctx.out.numbers.counters.next_mail.max(mail.id.0.saturating_add(1));
        if mail.delivery.is_final() {
            self.closed.insert(mail.id, mail);
            return;
        }
        let (id, to, stage) = (mail.id, mail.to, mail.stage);
        self.open.insert(id, mail);
        if let Some(agent) = ctx.processes.agent_mut(to) {
            agent.mail = agent.mail.saturating_add(1);
            if stage != MailStage::Queued {
                agent.live.progress.phase = Phase::Restored { mail: id, stage, until: None };
            }
        }
    }
}

impl Engine {
    /// An engine that continues from what an earlier daemon recorded. Runs that were alive stay `starting` until
    /// their holder is adopted or found lost.
    #[must_use]
    pub fn restore(config: Config, tasks: Box<dyn TaskLookup>, saved: Saved) -> Self {
        let mut engine = Self::new(config, tasks);
        for record in saved.processes {
            let process = Process::from_record(record);
            engine.ctx.processes.insert(process.id, process);
        }
        // A record that did not read takes its place in the tree with it.
        let known: BTreeSet<ProcessId> = engine.ctx.processes.keys().copied().collect();
        for process in engine.ctx.processes.values_mut() {
            process.spec.parent = process.spec.parent.filter(|parent| known.contains(parent));
        }
        engine.ctx.out.numbers.counters = saved.counters;
        saved.turns.into_iter().for_each(|turn| engine.ctx.restore_turn(turn));
        for mail in saved.mail {
            engine.mail.restore_mail(mail, &mut engine.ctx);
        }
        engine.inbox.restore_failures(&mut engine.ctx);
        engine.inbox.restore_questions(saved.questions, &mut engine.ctx);
        engine.timers.restore_timers(saved.timers, &mut engine.mail, &mut engine.ctx);
        engine.grants.restore_grants(saved.grants, &mut engine.ctx);
        engine.trust.restore_trust(saved.trusts);
        engine
    }
}
