//! `list` and `subscribe`: what there is, as far as the caller may know.

use super::Verdict;
use crate::Engine;
use crate::effect::Answer;
use crate::input::Caller;
use crate::process::Process;
use crate::registry::denied;
use crate::rights::{Relation, Verb, may};

impl Engine {
    pub(super) fn list(&mut self, caller: Caller, subscribe: bool) -> Verdict {
        if !may(caller, Verb::List, Relation::None) {
            return Err(denied(caller, "list"));
        }
        let is_seen = |process: &&Process| {
            !process.is_departed() && may(caller, Verb::List, self.relation(caller, process))
        };
        let processes = self.processes.values().filter(is_seen).map(Process::view).collect();
        Ok(Some(Answer::Listed { revision: self.revision, processes, subscribe }))
    }
}
