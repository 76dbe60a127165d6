//! The second, slower opinion: after each input, debug builds recompute what must hold.
//!
//! Release builds do not run them: they walk over everything.

use std::collections::BTreeSet;

use crate::Engine;
use crate::agent::Agent;
use crate::context::Context;
use crate::inbox::Inbox;
use crate::inbox::ItemSubject;
use crate::input::Caller;
use crate::mail::MailStage;
use crate::mail::Mailbox;
use crate::process::Process;
use crate::process::Processes;
use crate::rights::grants::Grants;
use crate::trust::TrustStore;
use crate::waits::Waits;

impl Grants {
    pub(crate) fn grants_are_between_entries(&self, ctx: &Context) {
        for grant in self.all() {
            let is_there = |id| ctx.processes.contains_key(&id);
            assert!(
                is_there(grant.to) && is_there(grant.over),
                "grant {} is about a process that is gone",
                grant.grant
            );
        }
    }
}

impl Processes {
    pub(crate) fn names_are_unique(&self) {
        let listed = || self.values().filter(|process| !process.is_departed());
        let names: BTreeSet<_> = listed().map(|process| &process.name).collect();
        assert_eq!(names.len(), listed().count(), "two listed entries share a name");
    }

    pub(crate) fn parents_form_a_forest(&self) {
        for process in self.values() {
            assert!(self.depth(process.id) <= self.len(), "{} is its own ancestor", process.id);
            if let Some(parent) = process.spec.parent {
                assert!(self.contains_key(&parent), "{} has a parent that is gone", process.id);
            }
        }
    }

    pub(crate) fn endings_take_families_along(&self) {
        let is_spared = |process: &&Process| process.run.ending.is_none() && process.run.survivors.is_empty();
        for process in self.values().filter(is_spared) {
            let parent = process.spec.parent.and_then(|parent| self.get(&parent));
            let ending = parent.and_then(|parent| parent.run.ending.as_ref());
            assert!(ending.is_none_or(|ending| ending.keeps_background), "{} escapes", process.id);
        }
    }

    pub(crate) fn records_restore_the_entries(&self) {
        for process in self.values().filter(|process| process.run.ending.is_none()) {
            let again = Process::from_record(process.record());
            assert_eq!(
                (again.id, &again.name, again.run.number),
                (process.id, &process.name, process.run.number)
            );
            assert_eq!(
                (&again.spec.argv, again.size, again.run.exit),
                (&process.spec.argv, process.size, process.run.exit)
            );
            assert_eq!(
                (&again.spec.key, &again.launch.approval),
                (&process.spec.key, &process.launch.approval)
            );
            assert_eq!(
                (again.usage.spawns, again.run.restart_at),
                (process.usage.spawns, process.run.restart_at)
            );
            assert_eq!(again.backoff, process.backoff);
            let record = |process: &Process| process.agent.as_deref().map(|agent| agent.record.clone());
            assert_eq!(record(&again), record(process));
        }
    }
}

impl Context {
    /// A deadline that passed without anything being done about it would ring for ever.
    pub(crate) fn agents_wait_for_what_is_to_come(&self) {
        for process in self.processes.values() {
            let due = process.agent.as_deref().and_then(Agent::next_deadline);
            assert!(due.is_none_or(|due| due > self.out.now.uptime_ms), "{} waits for the past", process.id);
        }
    }
}

impl Mailbox {
    pub(crate) fn deliveries_are_of_open_mail(&self, ctx: &Context) {
        for process in ctx.processes.values() {
            let Some(agent) = process.agent.as_deref() else { continue };
            let waiting = self.queue.waiting_for(process.id);
            assert_eq!(usize::try_from(agent.mail), Ok(waiting), "{} counts its mail wrong", process.id);
            let Some(mail) = agent.live.progress.mail() else { continue };
            let record = self.queue.open.get(&mail).expect("what is being delivered is open");
            assert_ne!(record.stage, MailStage::Queued, "a delivery under way that no record tells");
        }
    }
}

impl Waits {
    pub(crate) fn waits_are_open(&self) {
        for wait in self.open.values() {
            let open = wait.targets.iter().filter(|run| !wait.satisfied.contains_key(&run.process)).count();
            assert!(open > 0, "a fulfilled wait was not answered");
        }
    }
}

impl TrustStore {
    pub(crate) fn questions_of_trust_have_an_asker(&self, grants: &Grants, inbox: &Inbox, ctx: &Context) {
        for item in inbox.items.values() {
            let ItemSubject::Trust { asker, .. } = &item.about else { continue };
            assert!(self.is_asked(item.view.item), "item {} asks about nothing", item.view.item);
            assert!(
                grants.admit(Caller::Process(*asker), ctx).is_ok(),
                "item {} outlived its run",
                item.view.item
            );
        }
        assert!(self.open_questions() <= inbox.items.len(), "a question was closed and not forgotten");
    }
}

/// Checks every invariant across the machines, in debug builds.
pub(crate) fn check(engine: &Engine) {
    if cfg!(debug_assertions) {
        engine.ctx.processes.names_are_unique();
        engine.ctx.processes.parents_form_a_forest();
        engine.ctx.processes.endings_take_families_along();
        engine.waits.waits_are_open();
        engine.ctx.processes.records_restore_the_entries();
        engine.mail.deliveries_are_of_open_mail(&engine.ctx);
        engine.ctx.agents_wait_for_what_is_to_come();
        engine.grants.grants_are_between_entries(&engine.ctx);
        engine.trust.questions_of_trust_have_an_asker(&engine.grants, &engine.inbox, &engine.ctx);
    }
}
