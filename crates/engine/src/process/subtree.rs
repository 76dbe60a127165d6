//! Entries that end together: a process and everything it spawned, at any depth.
//!
//! All of them are asked at once: one after the other, each level would add its own grace. An end is over when the ends of
//! all descendants are.

use proto::{ExitReason, ProcessId, Stop};

use crate::Engine;
use crate::input::RunKey;
use crate::process::Then;
use crate::process::stopping::{EndRequest, is_left_over};

impl Engine {
    /// Ends everything below a process.
    pub(crate) fn end_children(
        &mut self,
        parent: ProcessId,
        grace_ms: Option<u32>,
        reason: Option<ExitReason>,
    ) {
        let reason = reason.unwrap_or(ExitReason::Closed);
        for child in self.ctx.processes.children(parent) {
            if self.ctx.processes.get(&child).is_some_and(is_left_over) {
                continue;
            }
            let stop = Stop { signal: None, grace_ms };
            self.end(child, EndRequest::new(Some(reason), Then::Remove).stop(stop));
        }
    }

    /// Returns true if an end must wait for children although the run's own tree is gone. The last child that goes
    /// continues it: [`Engine::child_gone`].
    pub(crate) fn awaits_family(&mut self, run: RunKey) -> bool {
        let Some(ending) =
            self.ctx.processes.get(&run.process).and_then(|process| process.run.ending.as_ref())
        else {
            return false;
        };
        let (grace_ms, reason) = (ending.asked_grace_ms, ending.reason);
        // A child that was spawned at the last moment is asked now.
        self.end_children(run.process, grace_ms, reason);
        let is_left = |child: &ProcessId| self.ctx.processes.get(child).is_none_or(is_left_over);
        if self.ctx.processes.children(run.process).iter().all(is_left) {
            return false;
        }
        let process = self.ctx.processes.get_mut(&run.process);
        if let Some(ending) = process.and_then(|process| process.run.ending.as_mut()) {
            // Nothing of its own is left to sweep.
            (ending.is_gone, ending.is_swept) = (true, true);
        }
        true
    }

    /// Continues the end of a parent that waited for a child that is gone now.
    pub(crate) fn child_gone(&mut self, parent: Option<ProcessId>) {
        let Some(process) = parent.and_then(|parent| self.ctx.processes.get(&parent)) else { return };
        let run = process.key();
        if !process.is_live() && process.run.ending.as_ref().is_some_and(|ending| ending.is_gone) {
            self.tree_gone(run);
        }
    }

    /// Ends a run that was found again although its parent is over or ending: an earlier daemon died before it could.
    pub(crate) fn follow_parent(&mut self, id: ProcessId) {
        let Some(process) = self.ctx.processes.get(&id) else { return };
        let Some(parent) = process.spec.parent.and_then(|parent| self.ctx.processes.get(&parent)) else {
            return;
        };
        let is_taken_along =
            !parent.is_live() || parent.run.ending.as_ref().is_some_and(|end| !end.keeps_background);
        if is_taken_along {
            self.end(id, EndRequest::new(Some(ExitReason::Closed), Then::Remove));
        }
    }
}
