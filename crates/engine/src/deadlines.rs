//! What happens because time has passed: departures, restarts, idle timeouts, sweeps, whatever is due about an agent.
//!
//! The order is fixed here; the moment came with the input.

use proto::{ErrorCode, ExitReason, Failure, ProcessId};

use crate::Engine;
use crate::effect::Effect;
use crate::input::RunKey;
use crate::process::Then;
use crate::process::stopping::{EndRequest, sweep_due};

const KILL: i32 = 9;

impl Engine {
    /// Does what is due.
    pub(crate) fn pass_deadlines(&mut self) {
        let now = self.ctx.out.now.uptime_ms;
        let due: Vec<ProcessId> = self
            .ctx
            .processes
            .values()
            .filter(|process| process.next_deadline().is_some_and(|deadline| deadline <= now))
            .map(|process| process.id)
            .collect();
        for id in due {
            self.pass_deadline(id, now);
            self.pass_agent_deadline(id, now);
        }
        self.waits.answered.clear();
        self.mail.queue.pass_deadlines(&mut self.ctx);
        self.inbox.pass_inbox_deadlines(&mut self.ctx);
        self.timers.pass_timer_deadlines(&mut self.mail.queue, &self.waits, &mut self.ctx);
        self.route_signals();
        self.waits.pass_wait_deadlines(&self.inbox, &mut self.ctx);
    }

    fn pass_deadline(&mut self, id: ProcessId, now: u64) {
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now);
        let run = process.key();
        if is_due(process.run.departure()) {
            // No caller asked for an end: what its shell left running goes on.
            self.ctx.processes.release(run, false, "exited", &mut self.ctx.out);
            self.remove(id);
        } else if is_due(process.run.restart_due()) {
            self.restart_by_itself(run);
        } else if is_due(process.idle_deadline()) {
            self.ctx.out.audit_deed(None, "kill", id.to_string(), "it was unused for too long".to_owned());
            self.end(id, EndRequest::new(Some(ExitReason::IdleTimeout), Then::Stay));
        } else if let Some(ending) = &mut process.run.ending
            && is_due(sweep_due(ending))
        {
            if ending.keeps_background && ending.grace_ms > 0 {
                // It did not go when it was asked to. Without a grace it is a killed one that the holder says nothing of.
                (ending.sweep_at, ending.grace_ms) = (now + self.ctx.config.sweep_after_ms, 0);
                self.ctx.out.push(Effect::EndChild { run, signal: KILL });
            } else {
                ending.is_swept = true;
                self.ctx.out.push(Effect::Sweep { run });
            }
        }
    }

    /// A failed command has waited long enough. What was trusted then may not be any more, and time may be up.
    fn restart_by_itself(&mut self, run: RunKey) {
        let Some(process) = self.ctx.processes.get(&run.process) else { return };
        let untrusted = (!self.trust.is_trusted_still(process)).then(|| {
            Failure::new(ErrorCode::Denied, "it is not started again: a person no longer trusts it")
        });
        let refusal = untrusted.or_else(|| {
            process.spec.parent.and_then(|parent| {
                self.ctx.processes.check_time(parent, &self.ctx.config, &self.ctx.out).err()
            })
        });
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        process.run.restart_at = None;
        process.launch.starter = None;
        let target = run.process.to_string();
        let Some(failure) = refusal else {
            self.ctx.out.audit_deed(None, "restart", target, "it had failed".to_owned());
            self.ctx.processes.ask_background(run, &self.ctx.config, &mut self.ctx.out);
            self.ctx.processes.keep_until_started(run, &mut self.ctx.out);
            return self.next_run(run.process, Vec::new());
        };
        self.ctx.out.audit_omission(None, "restart", target, &failure);
        self.give_up(run, &failure);
    }
}
