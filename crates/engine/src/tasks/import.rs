//! The history that another program kept of a task. Its runs have no process here: each gets an id that no process has.

use proto::request::ImportedRun;
use proto::task::{TaskEvent, TaskEventKind, TaskRun, process_name};
use proto::{Exit, ExitReason, Kind, Name, ProcessId, RunNumber};

use super::Tasks;
use super::record::{ImportedTask, TaskRecord};
use super::runs::MAX_RUNS;

impl Tasks {
    /// Gives a task that was just made the history that another program kept. `fresh` returns ids that no process has.
    pub(super) fn take_over(&mut self, id: u64, imported: ImportedTask, fresh: impl FnMut() -> ProcessId) {
        if let Some(task) = self.all.get_mut(&id) {
            task.take_over(imported, fresh);
        }
    }
}

impl TaskRecord {
    fn take_over(&mut self, imported: ImportedTask, mut fresh: impl FnMut() -> ProcessId) {
        self.is_owned = imported.is_owned;
        self.created_at = imported.created_at.min(self.created_at);
        self.events = vec![TaskEvent { at: self.created_at, what: TaskEventKind::Created, key: None }];
        let skipped = imported.runs.len().saturating_sub(MAX_RUNS);
        for run in imported.runs.into_iter().skip(skipped) {
            let process = fresh();
            self.add_past_run(process, run);
        }
    }

    fn add_past_run(&mut self, process: ProcessId, past: ImportedRun) {
        let Some(name) = process_name(&self.name).or_else(|| "imported".parse::<Name>().ok()) else { return };
        let run = RunNumber(1);
        // A run whose end the other program did not see is over all the same.
        let ended_at = past.ended_at.unwrap_or(past.started_at).max(past.started_at);
        let exit = past.code.map(|code| Exit { code: Some(code), signal: None, reason: ExitReason::Exited });
        self.add_event(past.started_at, TaskEventKind::RunStarted { process, run }, None);
        self.add_event(ended_at, TaskEventKind::RunEnded { process, run }, None);
        self.runs.push(TaskRun {
            process,
            name,
            kind: Kind::Agent,
            run,
            session: past.session,
            started_at: past.started_at,
            ended_at: Some(ended_at),
            exit,
            prompt: None,
            turns: 0,
        });
    }
}
