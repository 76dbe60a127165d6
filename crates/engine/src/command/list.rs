//! `list` and `subscribe`: what there is, as far as the caller may know.

use super::Verdict;
use crate::Engine;
use crate::effect::Answer;
use crate::input::Caller;
use crate::process::Process;
use crate::registry::denied;
use crate::rights::Verb;

impl Engine {
    pub(super) fn list(&mut self, caller: Caller) -> Verdict {
        if !self.may_at_all(caller, Verb::List) {
            return Err(denied(caller, "list"));
        }
        let is_seen = |process: &&Process| !process.is_departed() && self.may_do(caller, Verb::List, process);
        let processes = self.processes.values().filter(is_seen).map(Process::view).collect();
        Ok(Some(Answer::Listed { revision: self.revision, processes }))
    }
}
