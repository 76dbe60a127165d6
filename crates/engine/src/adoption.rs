//! Taking over runs that an earlier daemon started.
//!
//! Owns matching a holder with an entry. Refuses ending one on doubt: only a run that a finished restart left behind is
//! let go.

use proto::Status;

use crate::Engine;
use crate::effect::Effect;
use crate::input::{ChildExit, RunKey};
use crate::process::Process;
use crate::record::ProcessRecord;

impl Engine {
    /// A holder of an earlier daemon: it belongs to a known run, or it is taken in as what it says it is.
    pub(crate) fn adopt(&mut self, record: Box<ProcessRecord>, pid: i32, exit: Option<(ChildExit, u64)>) {
        let run = RunKey::new(record.id, record.run);
        match self.processes.get(&run.process).map(|known| known.run) {
            Some(known) if known > run.run => {
                // A finished restart left it behind; its process has a newer run.
                self.effects.push(Effect::Release { run, end_tree: true, reason: "restarted" });
                return;
            }
            Some(known) if known == run.run => {}
            _ => self.take_in(*record),
        }
        let now = self.now;
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        process.has_holder = true;
        process.pid = Some(pid);
        process.last_activity = now.uptime_ms;
        process.last_output = now.uptime_ms;
        process.active_at = now.wall_ms;
        if exit.is_none() || process.exit.is_none() {
            process.status = Status::Running;
        }
        if let (Some((_, final_offset)), Some(exit)) = (exit, process.exit) {
            // Its viewers were told by the last daemon; the next ones are told by this one.
            self.effects.push(Effect::TellExit { run, exit, final_offset });
        }
        // The last daemon may have died between promising a size and setting it; an equal size changes nothing.
        let size = process.size;
        self.effects.push(Effect::Resize { run, size });
        self.touch(run.process);
        self.consider(run.process);
    }

    /// Registers what a holder says it is, under a name that is free.
    fn take_in(&mut self, record: ProcessRecord) {
        let mut process = Process::from_record(record);
        process.status = Status::Starting;
        process.exit = None;
        process.parent = process.parent.filter(|parent| self.processes.contains_key(parent));
        if self.is_taken(&process.name) {
            process.name = self.default_name(process.kind);
        }
        self.processes.insert(process.id, process);
    }
}
