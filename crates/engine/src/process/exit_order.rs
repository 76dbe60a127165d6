//! The order of what follows an exit: the exit and the end of the output are announced, then the callers that wait are
//! answered and the children are ended, then the entry is removed or the next run is due. `stopping` announces `done` when
//! the tree is gone.

use proto::event::Event;
use proto::{Exit, ExitReason, Kind, ProcessId, Status};

use crate::Engine;
use crate::effect::{Effect, FormerRun};
use crate::input::{ChildExit, RunKey};
use crate::process::backoff::RestartDecision;
use crate::process::{Process, Then};
use crate::record::Record;
use crate::rights::audience::Topic;

impl Engine {
    /// Takes the end of a run's child. The exit is announced first, with the end of the output; callers, waits and
    /// children follow; the removal comes last.
    pub(crate) fn exited(&mut self, run: RunKey, exit: Option<ChildExit>, final_offset: u64) {
        let now = self.ctx.out.now.wall_ms;
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        if !process.is_live() {
            return;
        }
        let asked = process.run.ending.as_ref().and_then(|ending| ending.reason);
        let grace_ms = process.run.ending.as_ref().and_then(|ending| ending.asked_grace_ms);
        let was_starting = process.run.status == Status::Starting;
        let exit = exit_of(exit, asked);
        process.run.status = Status::Exited;
        process.seen.ended_at = Some(now);
        process.run.exit = Some(exit);
        process.run.log_end = final_offset;
        let is_ending = process.run.ending.is_some();
        // A close that keeps the background waits for the child alone.
        let is_gone =
            process.run.ending.as_ref().is_some_and(|ending| ending.is_gone || ending.keeps_background);
        let restarts = process.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Restart);
        let now = self.ctx.out.now.uptime_ms;
        let process = self.ctx.processes.get(&run.process);
        let restarts_in_ms =
            process.filter(|_| !is_ending).and_then(|process| process.restarts_in(exit, now));
        let replaced = self.session_to_replace(run.process, exit).filter(|_| !is_ending);
        let restarts = restarts || restarts_in_ms.is_some() || replaced.is_some();
        if let Some(agent) = self.ctx.processes.agent_mut(run.process) {
            agent.refused_session.clone_from(&replaced);
        }
        self.ctx.out.push(Effect::ReportExit { run, exit, final_offset, restarts, restarts_in_ms });
        self.ctx.out.announce(Event::Exited { id: run.process, run: run.run, exit, final_offset });
        self.ctx.out.mark_durable(run.process);
        self.ctx.processes.answer_starters(run.process, &mut self.ctx.out);
        self.mail.queue.notice_exit(run, &self.waits, &self.timers, &mut self.ctx);
        self.agent_over(run);
        self.trust.see_end(run, &mut self.inbox, &mut self.ctx);
        self.waits.ready_over(run, &mut self.ctx);
        if replaced.is_none() {
            self.waits.see_exit(run, &self.inbox, &mut self.ctx);
        }
        self.end_children(run.process, grace_ms, asked);
        if is_gone {
            self.tree_gone(run);
        } else if is_ending
            && was_starting
            && self.ctx.processes.get(&run.process).is_some_and(|p| p.run.has_holder)
        {
            // Its end was requested before it was known to run: its tree has not been ended yet.
            self.ctx.processes.kill_tree(run, &self.ctx.config, &mut self.ctx.out);
        } else if let Some(session) = replaced {
            self.replace_session(run.process, &session);
        } else if !is_ending {
            self.after_natural_exit(run, exit);
        }
    }

    /// Does what follows an end that no caller asked for, by the kind of the process.
    fn after_natural_exit(&mut self, run: RunKey, exit: Exit) {
        let (now, linger) = (self.ctx.out.now.uptime_ms, self.ctx.config.linger_ms);
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        match process.spec.kind {
            Kind::Terminal => {
                process.run.departs_at = Some(now + linger);
                self.ctx.out.announce(Event::Removed { id: run.process });
            }
            Kind::Command if process.spec.auto_restart && exit.code != Some(0) => {
                match process.backoff.failed(now) {
                    RestartDecision::StartAt(at) => process.run.restart_at = Some(at),
                    RestartDecision::Park => {
                        process.run.status = Status::Parked;
                        self.mail.queue.notice_parked(run.process, &self.timers, &mut self.ctx);
                    }
                }
            }
            Kind::Command => {}
            Kind::Agent => self.inbox.agent_ended_by_itself(run.process, exit, &mut self.ctx),
        }
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, id: ProcessId) {
        let former = self.ctx.processes.get_mut(&id).and_then(|process| process.launch.former_holder.take());
        if let Some(FormerRun { run, .. }) = former {
            self.ctx.out.push(Effect::Release { run, end_tree: true, reason: "restarted" });
        }
        if let Some(run) = self.ctx.processes.get(&id).map(Process::key) {
            self.waits.see_end(run, &self.inbox, &mut self.ctx);
            self.trust.see_end(run, &mut self.inbox, &mut self.ctx);
        }
        self.trust.see_removal(id);
        self.forget_agent(id);
        // What was announced is for those who may know of it now, while it is there.
        self.grants.address_events(&mut self.ctx);
        let audience = self.grants.audience(&Topic::Process(id), &self.ctx);
        self.grants.drop_grants_of(id, &mut self.ctx);
        let Some(process) = self.ctx.processes.remove(&id) else { return };
        self.tasks.observe(&process, self.ctx.out.now.wall_ms);
        self.ctx.out.unmark(id);
        self.ctx.out.push(Effect::Record(Record::Remove(id)));
        if !process.is_departed() {
            self.ctx.out.announce_to(Event::Removed { id }, audience);
        }
        // What it had spawned moves up to its parent.
        let orphans: Vec<ProcessId> = self
            .ctx
            .processes
            .values()
            .filter(|child| child.spec.parent == Some(id))
            .map(|child| child.id)
            .collect();
        for orphan in orphans {
            if let Some(child) = self.ctx.processes.get_mut(&orphan) {
                child.spec.parent = process.spec.parent;
                self.ctx.out.mark_durable(orphan);
            }
        }
    }
}

/// The exit of a run: the child's own status, with the reason of the caller that ended it.
pub(crate) fn exit_of(exit: Option<ChildExit>, asked: Option<ExitReason>) -> Exit {
    let (code, signal, own) = match exit {
        Some(ChildExit::Code(code)) => (Some(code), None, ExitReason::Exited),
        Some(ChildExit::Signal(signal)) => (None, Some(signal), ExitReason::Signalled),
        None => (None, None, ExitReason::Lost),
    };
    Exit { code, signal, reason: asked.unwrap_or(own) }
}
