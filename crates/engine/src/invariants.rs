//! The second, slower opinion: after each input, debug builds recompute what must hold.
//!
//! Owns the checks. Refuses running in release builds, where they would cost a walk over everything.

use std::collections::BTreeSet;

use crate::Engine;
use crate::process::Process;

impl Engine {
    pub(crate) fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            self.names_are_unique();
            self.parents_form_a_forest();
            self.waits_are_open();
            self.records_restore_the_entries();
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
            if let Some(parent) = process.parent {
                assert!(self.processes.contains_key(&parent), "{} has a parent that is gone", process.id);
            }
        }
    }

    fn waits_are_open(&self) {
        for wait in self.waits.values() {
            let open = wait.targets.iter().filter(|run| !wait.satisfied.contains_key(&run.process)).count();
            assert!(open > 0, "a fulfilled wait was not answered");
        }
    }

    fn records_restore_the_entries(&self) {
        for process in self.processes.values().filter(|process| process.ending.is_none()) {
            let again = Process::from_record(process.record());
            assert_eq!((again.id, &again.name, again.run), (process.id, &process.name, process.run));
            assert_eq!((&again.argv, again.size, again.exit), (&process.argv, process.size, process.exit));
        }
    }
}
