//! Who watches, and whose size the terminal has.
//!
//! Owns the size policy: the last typer, nobody, or the smallest. A viewer that attaches to what nobody else watches counts
//! as the last typer. Refuses resizing for those who only watch.

use proto::Size;
use proto::request::SizePolicy;

use crate::Engine;
use crate::effect::Effect;
use crate::input::{RunKey, ViewerId};
use crate::process::{Process, Viewer};

impl Engine {
    /// A viewer that is alone and may type gets its size; one that joins others changes nothing.
    pub(crate) fn viewer_joined(&mut self, run: RunKey, viewer: ViewerId, joined: Viewer) {
        let now = self.now.uptime_ms;
        self.change_viewers(run, |process| {
            process.run.times.last_activity = now;
            if process.run.viewers.attached.is_empty() && joined.counts_for_size() {
                process.run.viewers.size_owner = Some(viewer);
            }
            process.run.viewers.attached.insert(viewer, joined);
        });
    }

    pub(crate) fn viewer_resized(&mut self, run: RunKey, viewer: ViewerId, size: Size, owns: bool) {
        self.change_viewers(run, |process| {
            if let Some(known) = process.run.viewers.attached.get_mut(&viewer) {
                known.size = size.clamped();
                if owns && known.counts_for_size() {
                    process.run.viewers.size_owner = Some(viewer);
                }
            }
        });
    }

    pub(crate) fn viewer_left(&mut self, run: RunKey, viewer: ViewerId) {
        let now = self.now.uptime_ms;
        self.change_viewers(run, |process| {
            process.run.times.last_activity = now;
            process.run.viewers.attached.remove(&viewer);
            process.run.viewers.size_owner = process.run.viewers.size_owner.filter(|owner| *owner != viewer);
        });
    }

    /// A viewer that types owns the size.
    pub(crate) fn viewer_typed(&mut self, run: RunKey, viewer: ViewerId) {
        let is_new = |process: &Process| {
            process.run.viewers.size_owner != Some(viewer)
                && process.run.viewers.attached.get(&viewer).is_some_and(|v| v.counts_for_size())
        };
        if self.processes.get(&run.process).is_some_and(is_new) {
            self.change_viewers(run, |process| process.run.viewers.size_owner = Some(viewer));
        }
    }

    fn change_viewers(&mut self, run: RunKey, change: impl FnOnce(&mut Process)) {
        let Some(process) =
            self.processes.get_mut(&run.process).filter(|process| process.run.number == run.run)
        else {
            return;
        };
        change(process);
        self.apply_policy(run);
        self.mark_durable(run.process);
    }

    /// Gives the terminal the size its policy asks for.
    pub(crate) fn apply_policy(&mut self, run: RunKey) {
        let wanted = self.processes.get(&run.process).and_then(wanted_size);
        if let Some(size) = wanted {
            self.set_size(run, size);
        }
    }

    /// Gives the terminal a size; an equal one is no effect.
    pub(crate) fn set_size(&mut self, run: RunKey, size: Size) {
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        if process.size == size {
            return;
        }
        process.size = size;
        if process.run.has_holder {
            self.effects.push(Effect::Resize { run, size });
        }
        self.mark_durable(run.process);
    }
}

fn wanted_size(process: &Process) -> Option<Size> {
    let sizes = || {
        process
            .run
            .viewers
            .attached
            .values()
            .filter(|viewer| viewer.counts_for_size())
            .map(|viewer| viewer.size)
    };
    match process.spec.policy {
        SizePolicy::Fixed => None,
        SizePolicy::Owner => process
            .run
            .viewers
            .size_owner
            .and_then(|owner| process.run.viewers.attached.get(&owner))
            .map(|viewer| viewer.size),
        SizePolicy::Smallest => {
            let cols = sizes().map(|size| size.cols).min()?;
            Some(Size { cols, rows: sizes().map(|size| size.rows).min()? })
        }
    }
}
