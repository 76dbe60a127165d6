//! `qd tasks` and `qd forecast`: where every task stands, and which of them would conflict.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use client::Connection;
use proto::request::{Empty, TaskAct};
use proto::task::{TaskOutcome, TaskStatus, TaskView};

use super::{ask, unexpected};
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms, span};

/// How often a list that is watched is read anew.
const EVERY: Duration = Duration::from_secs(1);
/// Where the drawing begins, and what erases the rest of a line and of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// List all tasks, what needs you first
#[derive(Debug, Args)]
pub(crate) struct TasksArgs {
    /// Show the list until you press Ctrl-C; it is drawn anew when something has changed
    #[arg(long)]
    watch: bool,
}

impl TasksArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        if self.watch {
            return watch(context, &mut connection);
        }
        let tasks = list(&mut connection)?;
        let now = now_ms();
        context.print(&tasks, |tasks, out| match tasks.is_empty() {
            true => out.line("no tasks; qd new NAME -w makes one"),
            false => out.clipped_table(&table(tasks, now)),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// All tasks the caller may see.
pub(crate) fn list(connection: &mut Connection) -> Result<Vec<TaskView>, CliError> {
    match ask(connection, TaskAct::List(Empty {}))? {
        TaskOutcome::Listed(tasks) => Ok(tasks),
        _ => Err(unexpected()),
    }
}

/// Draws the list whenever it has changed, and writes nothing while it has not.
fn watch(context: &mut Context, connection: &mut Connection) -> Result<ExitCode, CliError> {
    let mut shown: Option<String> = None;
    loop {
        let tasks = list(connection)?;
        let drawn =
            if context.json { json(&tasks)? } else { context.out.drawn_table(&table(&tasks, now_ms())) };
        if shown.as_ref() != Some(&drawn) {
            draw(&mut context.out, &drawn, shown.is_none(), context.json)?;
            shown = Some(drawn);
        }
        // Nothing comes on this connection by itself: it is waited on for its end.
        while connection.receive_before(Instant::now() + EVERY)?.is_some() {}
    }
}

fn json(tasks: &[TaskView]) -> Result<String, CliError> {
    let text = serde_json::to_string(tasks).map_err(|error| CliError::output(error.into()))?;
    Ok(format!("{}\n", proto::printable::visible_json(&text)))
}

/// One write for the whole drawing: each line over the old one, then what is left is erased.
fn draw(out: &mut Output, drawn: &str, is_first: bool, is_json: bool) -> Result<(), CliError> {
    if is_json || !out.is_terminal() {
        return out.bytes(drawn.as_bytes());
    }
    let start = if is_first { format!("{HOME}{CLEAR_BELOW}") } else { HOME.to_owned() };
    let lines = drawn.replace('\n', &format!("{CLEAR_LINE}\r\n"));
    out.bytes(format!("{start}{lines}{CLEAR_BELOW}").as_bytes())
}

fn table(tasks: &[TaskView], now: u64) -> Table {
    let header =
        ["NAME", "STATUS", "FOR", "AGENT", "CONTEXT", "+/-", "CHANGES", "PORTS", "BRANCH", "DIRECTORY"];
    let mut table = Table::new(&header);
    for task in tasks {
        let plain = |text: String| (text, Style::Plain);
        let agent = task.processes.iter().find(|process| process.state.is_some()).or(task.processes.first());
        let context = agent.and_then(|agent| agent.context);
        table.row(vec![
            (task.name.clone(), Style::Bold),
            (status(task), style(task.status)),
            plain(span(now.saturating_sub(task.since) / 60_000 * 60)),
            plain(agent.map_or_else(|| dash(task.agent.clone()), |agent| agent.name.to_string())),
            plain(context.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"))),
            plain(lines(task)),
            plain(changes(task)),
            plain(ports(task)),
            plain(dash(task.worktree.as_ref().map(|tree| tree.branch.clone()))),
            (task.directory.clone(), Style::Dim),
        ]);
    }
    table
}

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// The status, with what is being done or what is in conflict.
fn status(task: &TaskView) -> String {
    match (&task.operation, task.conflicts.first()) {
        (Some(operation), _) => operation.doing().to_owned(),
        (None, Some(conflict)) if task.status == TaskStatus::Conflict => {
            format!("conflict with {}", conflict.with)
        }
        _ => task.status.word().to_owned(),
    }
}

fn style(status: TaskStatus) -> Style {
    match status {
        TaskStatus::Blocked | TaskStatus::Conflict | TaskStatus::Gone | TaskStatus::Orphan => Style::Red,
        TaskStatus::Waiting | TaskStatus::Done => Style::Yellow,
        TaskStatus::Working => Style::Green,
        TaskStatus::Idle => Style::Plain,
        TaskStatus::Merged | TaskStatus::Stale => Style::Dim,
    }
}

fn lines(task: &TaskView) -> String {
    match &task.git {
        Some(git) if git.added + git.removed > 0 => format!("+{} -{}", git.added, git.removed),
        _ => "-".to_owned(),
    }
}

/// The ports of a task, which come in a row.
fn ports(task: &TaskView) -> String {
    match &task.ports[..] {
        [] => "-".to_owned(),
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
    }
}

/// What is not committed, and what is not in the base.
fn changes(task: &TaskView) -> String {
    let Some(git) = &task.git else { return "-".to_owned() };
    let parts = [
        (git.staged + git.unstaged, "changed"),
        (git.untracked, "untracked"),
        (git.ahead, "ahead"),
        (git.behind, "behind"),
    ];
    let words: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

/// Say which live tasks would conflict, and in which files
#[derive(Debug, Args)]
pub(crate) struct ForecastArgs {}

impl ForecastArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let outcome = ask(&mut context.connect()?, TaskAct::Forecast(Empty {}))?;
        let TaskOutcome::Forecast(conflicts) = outcome else { return Err(unexpected()) };
        context.print(&conflicts, |conflicts, out| {
            if conflicts.is_empty() {
                return out.line("no task would conflict with another or with its base");
            }
            conflicts.iter().try_for_each(|found| {
                let files = found.conflict.files.join(", ");
                out.line(&format!("{} and {}: {files}", found.task, found.conflict.with))
            })
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
