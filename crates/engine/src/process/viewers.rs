//! Who watches, and whose size the terminal has.
//!
//! The policy is the viewer that typed last, a fixed size, or the smallest viewer. The first viewer counts as the one that
//! typed last. A viewer that only watches never changes the size.

use proto::Size;
use proto::request::SizePolicy;

use crate::effect::Effect;
use crate::input::{RunKey, ViewerId};
use crate::outbox::Outbox;
use crate::process::Processes;
use crate::process::{Process, Viewer};

impl Processes {
    /// A viewer that is alone and may type gets its size; one that joins others changes nothing.
    pub(crate) fn viewer_joined(&mut self, run: RunKey, viewer: ViewerId, joined: Viewer, out: &mut Outbox) {
        let now = out.now.uptime_ms;
        self.change_viewers(
            run,
            |process| {
                process.run.times.last_activity = now;
                if process.run.viewers.attached.is_empty() && joined.counts_for_size() {
                    process.run.viewers.size_owner = Some(viewer);
                }
                process.run.viewers.attached.insert(viewer, joined);
            },
            out,
        );
    }

    pub(crate) fn viewer_resized(
        &mut self,
        run: RunKey,
        viewer: ViewerId,
        size: Size,
        owns: bool,
        out: &mut Outbox,
    ) {
        self.change_viewers(
            run,
            |process| {
                if let Some(known) = process.run.viewers.attached.get_mut(&viewer) {
                    known.size = size.clamped();
                    if owns && known.counts_for_size() {
                        process.run.viewers.size_owner = Some(viewer);
                    }
                }
            },
            out,
        );
    }

    pub(crate) fn viewer_left(&mut self, run: RunKey, viewer: ViewerId, out: &mut Outbox) {
        let now = out.now.uptime_ms;
        self.change_viewers(
            run,
            |process| {
                process.run.times.last_activity = now;
                process.run.viewers.attached.remove(&viewer);
                process.run.viewers.size_owner =
                    process.run.viewers.size_owner.filter(|owner| *owner != viewer);
            },
            out,
        );
    }

    /// A viewer that types owns the size.
    pub(crate) fn viewer_typed(&mut self, run: RunKey, viewer: ViewerId, out: &mut Outbox) {
        let is_new = |process: &Process| {
            process.run.viewers.size_owner != Some(viewer)
                && process.run.viewers.attached.get(&viewer).is_some_and(|v| v.counts_for_size())
        };
        if self.get(&run.process).is_some_and(is_new) {
            self.change_viewers(run, |process| process.run.viewers.size_owner = Some(viewer), out);
        }
    }

    pub(crate) fn change_viewers(
        &mut self,
        run: RunKey,
        change: impl FnOnce(&mut Process),
        out: &mut Outbox,
    ) {
        let Some(process) = self.get_mut(&run.process).filter(|process| process.run.number == run.run) else {
            return;
        };
        change(process);
        self.apply_policy(run, out);
        out.mark_durable(run.process);
    }

    /// Gives the terminal the size its policy asks for.
    pub(crate) fn apply_policy(&mut self, run: RunKey, out: &mut Outbox) {
        let wanted = self.get(&run.process).and_then(wanted_size);
        if let Some(size) = wanted {
            self.set_size(run, size, out);
        }
    }

    /// Gives the terminal a size; an equal one is no effect.
    pub(crate) fn set_size(&mut self, run: RunKey, size: Size, out: &mut Outbox) {
        let Some(process) = self.get_mut(&run.process) else { return };
        if process.size == size {
            return;
        }
        process.size = size;
        if process.run.has_holder {
            out.push(Effect::Resize { run, size });
        }
        out.mark_durable(run.process);
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
