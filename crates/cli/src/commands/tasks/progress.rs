//! A line on the terminal while a worktree is prepared or a gate runs: the command, for how long, and where to see it.

use std::time::SystemTime;

use client::DaemonAddress;
use proto::request::{Task, TaskAct, TaskTarget};
use proto::task::{TaskOutcome, process_name};
use proto::{Kind, Printable, ProcessView};

use crate::commands::ending::Progress;
use crate::context::Context;
use crate::errors::CliError;

/// Most characters of a command that are shown.
const SHOWN: usize = 50;

/// Shows what goes on until it is dropped; nothing without a terminal, and nothing with `--quiet`. `doing` is shown until a
/// command runs.
pub(super) fn begin(
    context: &mut Context,
    task: TaskTarget,
    doing: &'static str,
) -> Result<Option<Progress>, CliError> {
    if context.quiet {
        return Ok(None);
    }
    let address = context.address()?.for_another_thread();
    let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let began = u64::try_from(began.as_millis()).unwrap_or(u64::MAX);
    let mut name = match &task {
        TaskTarget::Name(name) => Some(name.clone()),
        TaskTarget::Directory(_) => None,
    };
    // The command that is shown, and the second in which it was first seen.
    let mut seen: Option<(ProcessView, u32)> = None;
    let words = move |waited: u32| {
        // Without a daemon the line stays as it is: the operation itself waits for the next one.
        if name.is_none() {
            name = find_name(&address, &task);
        }
        let running = name.as_deref().and_then(|name| running(&address, name, began));
        let same = |(known, _): &(ProcessView, u32)| running.as_ref().is_some_and(|now| now.id == known.id);
        if !seen.as_ref().is_some_and(same) {
            seen = running.map(|process| (process, waited));
        }
        match &seen {
            Some((process, since)) => line(process, waited - since),
            None => format!("{doing} ({waited} s)"),
        }
    };
    Ok(Some(Progress::showing(words)))
}

fn find_name(address: &DaemonAddress, task: &TaskTarget) -> Option<String> {
    let mut connection = address.connect_if_running().ok()?;
    connection.hello().ok()?;
    match *connection.task(Task::from(TaskAct::Show(task.clone()))).ok()? {
        TaskOutcome::Task(view) => Some(view.name),
        _ => None,
    }
}

/// The newest command of the task that began since then. A gate works aside and is the task's by its name.
fn running(address: &DaemonAddress, task: &str, began: u64) -> Option<ProcessView> {
    let mut connection = address.connect_if_running().ok()?;
    connection.hello().ok()?;
    let gate = process_name(&format!("gate-{task}"));
    let is_ours = |process: &ProcessView| {
        (process.task.as_deref() == Some(task) || gate.as_ref() == Some(&process.name))
            && process.kind == Kind::Command
            && process.status.is_live()
            && process.times.started_at >= began
    };
    connection.list().ok()?.into_iter().filter(is_ours).max_by_key(|process| process.times.started_at)
}

fn line(process: &ProcessView, seconds: u32) -> String {
    let words = match &process.program.argv[..] {
        [shell, flag, line] if shell == "/bin/sh" && flag == "-c" => line.clone(),
        words => words.join(" "),
    };
    let first = words.lines().next().unwrap_or_default();
    let mut shown: String = Printable(first).to_string().chars().take(SHOWN).collect();
    if shown.len() < words.len() {
        shown.push('…');
    }
    format!("`{shown}` ({seconds} s); qd attach {} shows it", process.name)
}
