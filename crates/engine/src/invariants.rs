//! The second, slower opinion: after each input, debug builds recompute what must hold.
//!
//! Owns the checks. Refuses running in release builds, where they would cost a walk over everything.

use std::collections::BTreeSet;

use crate::Engine;
use crate::agent::Agent;
use crate::inbox::About;
use crate::input::Caller;
use crate::mail::MailStage;
use crate::process::Process;

impl Engine {
    pub(crate) fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            self.names_are_unique();
            self.parents_form_a_forest();
            self.endings_take_families_along();
            self.waits_are_open();
            self.records_restore_the_entries();
            self.deliveries_are_of_open_mail();
            self.agents_wait_for_what_is_to_come();
            self.grants_are_between_entries();
            self.questions_of_trust_have_an_asker();
        }
    }

    fn names_are_unique(&self) {
        let listed = || self.processes.values().filter(|process| !process.is_departed());
        let names: BTreeSet<_> = listed().map(|process| &process.name).collect();
        assert_eq!(names.len(), listed().count(), "two listed entries share a name");
    }

    fn parents_form_a_forest(&self) {
        for process in self.processes.values() {
            assert!(self.depth(process.id) <= self.processes.len(), "{} is its own ancestor", process.id);
            if let Some(parent) = process.spec.parent {
                assert!(self.processes.contains_key(&parent), "{} has a parent that is gone", process.id);
            }
        }
    }

    fn endings_take_families_along(&self) {
        let is_spared = |process: &&Process| process.run.ending.is_none() && process.run.survivors.is_empty();
        for process in self.processes.values().filter(is_spared) {
            let parent = process.spec.parent.and_then(|parent| self.processes.get(&parent));
            let ending = parent.and_then(|parent| parent.run.ending.as_ref());
            assert!(ending.is_none_or(|ending| ending.keeps_background), "{} escapes", process.id);
        }
    }

    fn waits_are_open(&self) {
        for wait in self.waits.values() {
            let open = wait.targets.iter().filter(|run| !wait.satisfied.contains_key(&run.process)).count();
            assert!(open > 0, "a fulfilled wait was not answered");
        }
    }

    fn records_restore_the_entries(&self) {
        for process in self.processes.values().filter(|process| process.run.ending.is_none()) {
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

    fn deliveries_are_of_open_mail(&self) {
        for process in self.processes.values() {
            let Some(agent) = process.agent.as_deref() else { continue };
            let waiting = self.mail.waiting_for(process.id);
            assert_eq!(usize::try_from(agent.mail), Ok(waiting), "{} counts its mail wrong", process.id);
            let Some(mail) = agent.live.progress.mail() else { continue };
            let record = self.mail.open.get(&mail).expect("what is being delivered is open");
            assert_ne!(record.stage, MailStage::Queued, "a delivery under way that no record tells");
        }
    }

    fn grants_are_between_entries(&self) {
        for grant in self.grants.all() {
            let is_there = |id| self.processes.contains_key(&id);
            assert!(is_there(grant.to) && is_there(grant.over), "grant {} is about nobody", grant.grant);
        }
    }

    fn questions_of_trust_have_an_asker(&self) {
        for item in self.items.values() {
            let About::Trust { asker, .. } = &item.about else { continue };
            assert!(self.trust.is_asked(item.view.item), "item {} asks about nothing", item.view.item);
            assert!(self.admit(Caller::Process(*asker)).is_ok(), "item {} outlived its run", item.view.item);
        }
        assert!(self.trust.open() <= self.items.len(), "a question was closed and not forgotten");
    }

    /// A deadline that passed without anything being done about it would ring for ever.
    fn agents_wait_for_what_is_to_come(&self) {
        for process in self.processes.values() {
            let due = process.agent.as_deref().and_then(Agent::next_deadline);
            assert!(due.is_none_or(|due| due > self.now.uptime_ms), "{} waits for the past", process.id);
        }
    }
}
