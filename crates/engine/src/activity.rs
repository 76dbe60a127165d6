//! What a run does that changes no status: it prints, is typed into, names itself.
//!
//! Owns the moments of last activity. Refuses ending anything for the lack of it: `deadlines` does.

use proto::Owner;

use crate::Engine;
use crate::input::{RunKey, ViewerId};

impl Engine {
    pub(crate) fn output(&mut self, run: RunKey, end: u64) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        process.run.log_end = process.run.log_end.max(end);
        process.run.times.last_activity = now.uptime_ms;
        process.run.times.last_output = now.uptime_ms;
        process.run.times.active_at = now.wall_ms;
    }

    pub(crate) fn typed(&mut self, run: RunKey, by: Owner, viewer: Option<ViewerId>) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        process.run.times.last_activity = now.uptime_ms;
        process.run.times.active_at = now.wall_ms;
        if process.owner != by {
            process.owner = by;
            self.mark_durable(run.process);
        }
        if by == Owner::User {
            self.typed_by_person(run.process);
            self.person_typed(run);
        }
        if let Some(viewer) = viewer {
            self.viewer_typed(run, viewer);
        }
    }

    /// A person types into an agent: it is theirs for a while.
    fn person_typed(&mut self, run: RunKey) {
        let now = self.now.uptime_ms;
        let Some(agent) = self.agent_mut(run.process) else { return };
        agent.live.screen.human_at = Some(now);
        if agent.live.progress.is_taken_over(now) {
            self.take_over(run.process);
        }
    }

    pub(crate) fn titled(&mut self, run: RunKey, title: String) {
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        if process.run.title != title {
            process.run.title = title;
            self.mark_visible(run.process);
        }
    }
}
