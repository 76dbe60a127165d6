//! The history of a task's runs, read off its processes whenever one of them changed.

use proto::task::{TaskEventKind, TaskRun};
use proto::{RunNumber, Status};

use super::{TaskRecord, Tasks};
use crate::process::Process;

/// Runs that are kept of a task.
pub(super) const MAX_RUNS: usize = 200;

impl Tasks {
    /// Brings the history of a process's task up to date. A process belongs to the task that had its name when the process
    /// was spawned; a later task of the same name is another one.
    pub(crate) fn observe(&mut self, process: &Process, now_ms: u64) {
        let Some(name) = &process.spec.task else { return };
        let is_new = process.run.number == RunNumber(1) && process.run.status == Status::Starting;
        let knows = |task: &&TaskRecord| task.runs.iter().any(|run| run.process == process.id);
        let known = self.all.values().find(knows).or_else(|| self.find(name).filter(|_| is_new));
        let Some(id) = known.map(|task| task.id) else { return };
        let run = run_of(process, now_ms);
        let is_same = |task: &&TaskRecord| {
            let last = task.runs.iter().find(|last| last.process == run.process && last.run == run.run);
            last.is_some_and(|last| *last == keep_end(run.clone(), last))
        };
        if self.all.get(&id).as_ref().is_some_and(is_same) {
            return;
        }
        if let Some(task) = self.all.get_mut(&id) {
            task.update_run(run, now_ms);
            self.changed.insert(id);
        }
    }
}

impl TaskRecord {
    fn update_run(&mut self, run: TaskRun, now_ms: u64) {
        let (process, number) = (run.process, run.run);
        let known = self.runs.iter_mut().find(|last| last.process == process && last.run == number);
        let Some(last) = known else {
            if self.runs.len() >= MAX_RUNS {
                self.runs.remove(0);
            }
            self.add_event(now_ms, TaskEventKind::RunStarted { process, run: number }, None);
            self.runs.push(run);
            return;
        };
        let has_ended = last.ended_at.is_none() && run.ended_at.is_some();
        *last = keep_end(run, last);
        if has_ended {
            self.add_event(now_ms, TaskEventKind::RunEnded { process, run: number }, None);
        }
    }
}

/// What is seen of a process's run now.
fn run_of(process: &Process, now_ms: u64) -> TaskRun {
    let agent = process.agent.as_deref();
    let is_over = matches!(process.run.status, Status::Exited | Status::Failed | Status::Parked);
    TaskRun {
        process: process.id,
        name: process.name.clone(),
        kind: process.spec.kind,
        run: process.run.number,
        session: agent.and_then(|agent| agent.record.session.clone()),
        started_at: process.run.times.started_at,
        ended_at: is_over.then_some(now_ms),
        exit: process.run.exit.filter(|_| is_over),
        prompt: agent.and_then(|agent| agent.record.prompt.clone()),
        turns: agent.map_or(0, |agent| agent.record.turn),
    }
}

/// A run ends once; a session that was known stays known.
fn keep_end(mut run: TaskRun, last: &TaskRun) -> TaskRun {
    run.ended_at = last.ended_at.or(run.ended_at);
    run.exit = last.exit.or(run.exit);
    run.session = run.session.or_else(|| last.session.clone());
    run
}
