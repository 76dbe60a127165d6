//! `shutdown`: the daemon ends; every process with it only when asked.

use proto::reply::Done;
use proto::request::Shutdown;
use proto::{ExitReason, ProcessId, Reply};

use super::Verdict;
use crate::Engine;
use crate::effect::{Answer, Effect};
use crate::input::{Caller, Ticket};
use crate::process::Then;

impl Engine {
    pub(super) fn begin_shutdown(&mut self, caller: Caller, ticket: Ticket, shutdown: Shutdown) -> Verdict {
        self.people_only(caller, "shutdown")?;
        self.shutdown.get_or_insert_default().push(ticket);
        if shutdown.kill {
            self.ends_all = true;
            let ids: Vec<ProcessId> = self.processes.keys().copied().collect();
            for id in ids {
                self.end_for_shutdown(id);
            }
        }
        Ok(None)
    }

    fn end_for_shutdown(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get(&id) else { return };
        let (run, is_live, has_holder) = (process.key(), process.is_live(), process.has_holder);
        if is_live || has_holder {
            self.end(id, is_live.then_some(ExitReason::Shutdown), Then::Stay, None);
        } else {
            self.release(run, true, "shutdown");
        }
    }

    /// Answers every shutdown caller once nothing is ending or starting any more, in-flight opens included.
    pub(crate) fn finish_shutdown(&mut self) {
        let Some(callers) = &self.shutdown else { return };
        let is_busy =
            self.processes.values().any(|process| process.ending.is_some() || !process.starters.is_empty());
        if callers.is_empty() || is_busy {
            return;
        }
        let over: Vec<_> =
            self.processes.values().filter(|p| !p.is_live()).map(crate::process::Process::key).collect();
        let ends_all = self.processes.values().all(|process| !process.is_live());
        for run in over.into_iter().filter(|_| ends_all) {
            // What such a run left in the background ends only with those that are told to end.
            self.release(run, self.ends_all, "shutdown");
            self.touch(run.process);
        }
        self.flush_touched();
        for ticket in self.shutdown.replace(Vec::new()).unwrap_or_default() {
            self.reply(ticket, Ok(Answer::Reply(Reply::Done(Done {}))));
        }
        self.effects.push(Effect::Stop);
    }
}
