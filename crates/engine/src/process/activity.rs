//! What a run does that changes no status: it prints, is pasted into, names itself.
//!
//! The moments of the last activity are kept here; `deadlines` ends a process that had none for too long.

use proto::Owner;

use crate::Engine;
use crate::context::Context;
use crate::input::{RunKey, ViewerId};
use crate::mail::Mailbox;
use crate::outbox::Outbox;
use crate::process::Processes;

impl Processes {
    pub(crate) fn output(&mut self, run: RunKey, end: u64, out: &Outbox) {
        let now = out.now;
        let Some(process) = self.get_mut(&run.process) else { return };
        process.run.log_end = process.run.log_end.max(end);
        process.run.times.last_activity = now.uptime_ms;
        process.run.times.last_output = now.uptime_ms;
        process.run.times.active_at = now.wall_ms;
    }

    pub(crate) fn titled(&mut self, run: RunKey, title: String, out: &mut Outbox) {
        let Some(process) = self.get_mut(&run.process) else { return };
        if process.run.title != title {
            process.run.title = title;
            out.mark_visible(run.process);
        }
    }
}

impl Mailbox {
    /// A person types into an agent: it is theirs for a while.
    pub(crate) fn person_typed(&mut self, run: RunKey, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(run.process) else { return };
        agent.live.screen.person_at = Some(now);
        if agent.live.progress.is_taken_over(now) {
            self.finish_taken_over(run.process, ctx);
        }
    }
}

impl Engine {
    pub(crate) fn typed(&mut self, run: RunKey, by: Owner, viewer: Option<ViewerId>) {
        let now = self.ctx.out.now;
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        process.run.times.last_activity = now.uptime_ms;
        process.run.times.active_at = now.wall_ms;
        if process.owner != by {
            process.owner = by;
            self.ctx.out.mark_durable(run.process);
        }
        if by == Owner::User {
            self.ctx.processes.typed_by_person(run.process, &mut self.ctx.out);
            self.mail.person_typed(run, &mut self.ctx);
        }
        if let Some(viewer) = viewer {
            self.ctx.processes.viewer_typed(run, viewer, &mut self.ctx.out);
        }
    }
}
