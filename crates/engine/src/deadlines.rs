//! What happens because time has passed: departures, restarts, idle timeouts, sweeps, whatever is due about an agent.
//!
//! Owns the order they are looked at in. Refuses a clock: the moment came with the input.

use proto::{ExitReason, ProcessId};

use crate::Engine;
use crate::effect::Effect;
use crate::process::Then;

impl Engine {
    /// Does what is due.
    pub(crate) fn pass_deadlines(&mut self) {
        let now = self.now.uptime_ms;
        let due: Vec<ProcessId> = self
            .processes
            .values()
            .filter(|process| process.next_deadline().is_some_and(|deadline| deadline <= now))
            .map(|process| process.id)
            .collect();
        for id in due {
            self.pass_deadline(id, now);
            self.pass_agent_deadline(id, now);
        }
        self.pass_mail_deadlines();
        self.pass_inbox_deadlines();
        self.pass_timer_deadlines();
        self.pass_wait_deadlines();
    }

    fn pass_deadline(&mut self, id: ProcessId, now: u64) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now);
        let run = process.key();
        if is_due(process.departure()) {
            self.release(run, true, "exited");
            self.remove(id);
        } else if is_due(process.restart_at) {
            process.restart_at = None;
            self.release(run, true, "restarted");
            self.next_run(id, Vec::new());
        } else if is_due(process.idle_deadline()) {
            self.end(id, Some(ExitReason::IdleTimeout), Then::Stay, None);
        } else if let Some(ending) = &mut process.ending
            && !ending.is_swept
            && ending.sweep_at <= now
        {
            ending.is_swept = true;
            let token = process.run_token.clone();
            self.effects.push(Effect::Sweep { run, token });
        }
    }
}
