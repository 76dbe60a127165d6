//! Taking over runs that an earlier daemon started.
//!
//! A holder that answers is matched with an entry or becomes one. A run whose holder is gone is lost or brought back, and a
//! start that was not carried out fails. Nothing is ended on doubt: only a run that a finished restart left behind is let
//! go.

use proto::error::Cause;
use proto::{ErrorCode, ExitReason, Failure, Kind, Status};

use crate::Engine;
use crate::context::Context;
use crate::effect::{Effect, FormerRun};
use crate::input::{ChildExit, RunKey, Survivor};
use crate::process::Processes;
use crate::process::exit_order::exit_of;
use crate::process::stopping::TERM;
use crate::process::{Ending, Process, StopSignal, Then};
use crate::record::ProcessRecord;

impl Processes {
    /// Takes the environment from what a holder kept, which no database has. It replaces what stands in for
    /// it.
    pub(crate) fn learn_env(&mut self, record: &ProcessRecord) {
        let is_unknown = |process: &&mut Process| process.spec.environment.is_lost();
        let Some(process) = self.get_mut(&record.id).filter(is_unknown) else { return };
        process.spec.environment.env.clone_from(&record.spec.environment.env);
        process.spec.environment.env_hex.clone_from(&record.spec.environment.env_hex);
        process.spec.environment.stand_in = None;
    }
}

impl Context {
    /// The holder that an entry awaited is gone, as after a restart of the machine: whether the entry is one of those
    /// that people want back. What was being ended stays ended.
    pub(crate) fn is_restored(&mut self, run: RunKey) -> bool {
        let (now, ends_all) = (self.out.now.uptime_ms, self.ends_all);
        let Some(process) = self.processes.get_mut(&run.process) else { return false };
        let Some(awaits) = process.run.awaits.take() else { return false };
        let is_wanted = process.spec.kind == Kind::Command
            && process.spec.parent.is_none()
            && process.run.ending.is_none();
        let is_restored = awaits.restores && is_wanted && !ends_all;
        if process.is_live() {
            if is_restored {
                let words = "its holder was gone".to_owned();
                self.out.audit_deed(None, "restart", run.process.to_string(), words);
            }
        } else if process.run.restart_at.is_some() {
            // It waited to be started again, on a clock that may have begun anew.
            process.run.restart_at = is_restored.then_some(now);
            self.out.mark_durable(run.process);
        }
        is_restored
    }

    /// Registers the process that a holder describes, and that the database does not have in this run. It keeps its
    /// name, unless another process that certainly runs has it.
    pub(crate) fn take_in(&mut self, record: ProcessRecord) {
        let mut process = Process::from_record(record);
        process.run.status = Status::Starting;
        process.run.exit = None;
        process.spec.parent = process.spec.parent.filter(|parent| self.processes.contains_key(parent));
        // The holder keeps what was true at the start. Whether an agent was given the right to drive it since then stood
        // in the database, so only the database says that it acts for a person.
        let known = self.processes.get(&process.id);
        process.spec.acts_for_person &= known.is_some_and(|known| known.spec.acts_for_person);
        let has_name =
            |other: &&Process| other.name == process.name && other.id != process.id && !other.is_departed();
        if let Some(other) = self.processes.values().find(has_name) {
            let free = self.processes.default_name(other.spec.kind);
            if other.is_live() && other.run.awaits.is_none() {
                process.name = self.processes.default_name(process.spec.kind);
            } else {
                // Its end was not saved: otherwise nobody could have taken its name.
                let id = other.id;
                if let Some(other) = self.processes.get_mut(&id) {
                    other.name = free;
                }
                self.out.mark_durable(id);
            }
        }
        self.processes.insert(process.id, process);
    }
}

impl Engine {
    /// A holder of an earlier daemon: it belongs to a known run, or it becomes an entry as it describes itself.
    pub(crate) fn adopt(&mut self, record: Box<ProcessRecord>, pid: i32, exit: Option<(ChildExit, u64)>) {
        let run = RunKey::new(record.id, record.run.number);
        match self.ctx.processes.get(&run.process).map(|known| known.run.number) {
            Some(known) if known > run.run => {
                // A finished restart left it behind; its process has a newer run, whose environment it may have.
                self.ctx.processes.learn_env(&record);
                let exit = exit.map(|(exit, _)| exit_of(Some(exit), None));
                let started_at = record.run.started_at;
                self.ctx.out.push(Effect::Retire(FormerRun { run, started_at, exit }));
                return;
            }
            Some(known) if known == run.run => self.ctx.processes.learn_env(&record),
            _ => {
                self.workspaces.note_used(&record.spec.workspace);
                self.ctx.take_in(*record);
            }
        }
        let (now, linger) = (self.ctx.out.now, self.ctx.config.linger_ms);
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        process.run.has_holder = true;
        process.run.awaits = None;
        process.run.pid = Some(pid);
        process.run.times.last_activity = now.uptime_ms;
        process.run.times.last_output = now.uptime_ms;
        process.run.times.active_at = now.wall_ms;
        if exit.is_none() || process.run.exit.is_none() {
            process.run.status = Status::Running;
            // A terminal whose start was not seen to its end runs after all.
            process.run.departs_at = None;
            if let Some(agent) = process.agent.as_deref_mut() {
                agent.live.note_adopted(now.uptime_ms);
            }
        } else if process.run.departs_at.is_some() {
            // A terminal that was over when the last daemon died: its last words stay readable for a while, and until
            // then a shutdown that kills ends what it has left in the background.
            process.run.departs_at = Some(now.uptime_ms + linger);
        }
        if let Some(ending) = &mut process.run.ending {
            // Its end was requested while it could not be reached.
            ending.is_swept = false;
            if process.run.status == Status::Running {
                process.run.status = Status::Stopping;
            }
        }
        let is_ending = process.run.ending.is_some();
        if let (Some((_, final_offset)), Some(exit)) = (exit, process.run.exit) {
            // The last daemon reported it to its own viewers; the next viewers get it from this one.
            let restarts_in_ms = process.run.restart_at.map(|at| at.saturating_sub(now.uptime_ms));
            let restarts = restarts_in_ms.is_some();
            self.ctx.out.push(Effect::ReportExit { run, exit, final_offset, restarts, restarts_in_ms });
        }
        // The last daemon may have died between promising a size and setting it; an equal size changes nothing.
        let size = process.size;
        self.ctx.out.push(Effect::Resize { run, size });
        let is_running = process.run.status == Status::Running;
        if is_ending {
            self.go_on_ending(run);
        }
        self.ctx.processes.answer_starters(run.process, &mut self.ctx.out);
        self.ctx.out.mark_durable(run.process);
        self.reevaluate(run.process);
        if is_running {
            self.waits.await_ready(run, &mut self.ctx);
        }
        self.follow_parent(run.process);
    }

    /// The holder vanished; the daemon swept what it left, and could not end the survivors.
    pub(crate) fn lost(&mut self, run: RunKey, final_offset: u64, survivors: Vec<Survivor>) {
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        process.run.has_holder = false;
        let is_ended_here = process.run.ending.as_ref().is_some_and(|ending| !ending.is_restored);
        if process.was_launching() && !is_ended_here {
            return self.never_started(run);
        }
        let is_restored = self.ctx.is_restored(run);
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        if process.is_live() {
            let then = match process.spec.kind {
                Kind::Terminal => Then::Remove,
                Kind::Command | Kind::Agent if is_restored => Then::Restart,
                Kind::Command | Kind::Agent => Then::Stay,
            };
            let ending = process.run.ending.get_or_insert(Ending::new(
                None,
                then,
                StopSignal { signal: TERM, grace_ms: 0 },
            ));
            ending.is_swept = true;
            ending.is_gone &= survivors.is_empty();
            ending.reason = Some(ExitReason::Lost);
            let is_nobodys = !is_ended_here && then == Then::Stay;
            self.exited(run, None, final_offset);
            if is_nobodys {
                self.inbox.agent_lost(run.process, &mut self.ctx);
            }
        }
        self.waits.see_end(run, &self.inbox, &mut self.ctx);
        if survivors.is_empty() { self.tree_gone(run) } else { self.end_failed(run, survivors) }
    }

    /// The daemon that was to start the run ended before it did. No caller was told that it runs, so it is no lost
    /// run: what starts by itself, or was to be started again after its end, is started now. A first start has failed
    /// and leaves nothing behind, so that the same order under the same key is carried out when it comes again.
    fn never_started(&mut self, run: RunKey) {
        let (now, is_restored) = (self.ctx.out.now.uptime_ms, self.ctx.is_restored(run));
        let is_ending = self.ctx.shutdown.is_some();
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        let starters = std::mem::take(&mut process.launch.tickets);
        let is_first = process.run.number.0 == 1;
        let is_asked_for =
            !is_first && !process.spec.auto_restart && !is_ending && process.run.ending.is_none();
        if is_restored || is_asked_for {
            return self.next_run(run.process, starters);
        }
        let has_failed_before = process.spec.auto_restart && !is_first;
        process.launch.tickets = starters;
        if has_failed_before && !is_ending && process.run.ending.is_none() {
            // It was being started again by itself: whether it still may be is looked at as it was then.
            (process.run.status, process.run.restart_at) = (Status::Failed, Some(now));
            return self.ctx.out.mark_durable(run.process);
        }
        let message = "it was not started: the daemon ended before it could start it";
        let failure = Failure::new(ErrorCode::SpawnFailed, message).cause(Cause::Other);
        self.start_failed(run, failure.hint("ask for it again"));
    }
}
