//! `qd tasks` and `qd forecast`: where every task stands, and which of them would conflict.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use client::Connection;
use proto::request::{Empty, TaskAct};
use proto::task::{TaskOutcome, TaskStatus, TaskView};
use proto::{ShellWord, Size};

use super::{ask, dropped, operate, unexpected};
use crate::commands::attach::shown_size;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms};

/// How often a list that is watched is read anew.
const EVERY: Duration = Duration::from_secs(1);
/// Where the drawing begins, and what erases the rest of a line and of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// List all tasks; those that need you come first
#[derive(Debug, Args)]
pub(crate) struct TasksArgs {
    /// Show the list until you press Ctrl-C, and draw it again when something changes
    #[arg(long)]
    watch: bool,

    /// List dropped tasks that `qd restore` can bring back
    #[arg(long, conflicts_with = "watch")]
    dropped: bool,
}

impl TasksArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        if self.dropped {
            return dropped::print(context, &mut connection);
        }
        if self.watch {
            return watch(context, connection);
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

/// Draws the list whenever it or the size of the terminal has changed, and writes nothing while neither has.
/// When the daemon ends, it goes on with the next one.
fn watch(context: &mut Context, mut connection: Connection) -> Result<ExitCode, CliError> {
    let mut shown: Option<(String, Option<Size>)> = None;
    loop {
        let tasks = match list(&mut connection) {
            Err(CliError::Client(error)) if error.is_leaving() => {
                let listed = operate(context, TaskAct::List(Empty {}))?;
                connection = context.connect()?;
                let TaskOutcome::Listed(tasks) = listed else { return Err(unexpected()) };
                tasks
            }
            other => other?,
        };
        let size = shown_size().filter(|_| context.out.is_terminal());
        let drawn = if context.json { json(&tasks)? } else { picture(&context.out, &tasks, size) };
        let next = (drawn, size);
        if shown.as_ref() != Some(&next) {
            draw(&mut context.out, &next.0, shown.is_none(), context.json)?;
            shown = Some(next);
        }
        // Nothing comes on this connection by itself: it is watched only for its end; the next list then reconnects.
        while let Ok(Some(_)) = connection.receive_before(Instant::now() + EVERY) {}
    }
}

/// The list as it fits on the terminal: one row stays free, because every line ends with a new one.
fn picture(out: &Output, tasks: &[TaskView], size: Option<Size>) -> String {
    if tasks.is_empty() {
        return "no tasks\n".to_owned();
    }
    let Some(size) = size else { return out.drawn_table(&table(tasks, now_ms()), usize::MAX) };
    let drawn = out.drawn_table(&table(tasks, now_ms()), size.cols.into());
    let room = usize::from(size.rows).saturating_sub(1).max(2);
    let count = drawn.lines().count();
    if count <= room {
        return drawn;
    }
    let kept: String = drawn.lines().take(room - 1).map(|line| format!("{line}\n")).collect();
    format!("{kept}and {} more\n", count - room + 1)
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

/// What a person looks for comes first, so that a narrow terminal cuts the rest.
fn table(tasks: &[TaskView], now: u64) -> Table {
    let header = [
        "NAME",
        "STATUS",
        "FOR",
        "NEXT",
        "AGENT",
        "CONTEXT",
        "+/-",
        "CHANGES",
        "ACTIVE",
        "PORTS",
        "BRANCH",
        "DIRECTORY",
    ];
    let dispensable = &["DIRECTORY", "PORTS", "ACTIVE", "CHANGES", "CONTEXT", "BRANCH", "+/-"];
    let mut table = Table::new(&header).dispensable(dispensable);
    for task in tasks {
        let plain = |text: String| (text, Style::Plain);
        let agent = task.processes.iter().find(|process| process.agent.is_some());
        let context = agent.and_then(|agent| agent.context);
        let kind = agent.and_then(|agent| agent.agent.clone()).or_else(|| task.agent.clone());
        table.row(vec![
            (task.name.clone(), Style::Bold),
            (status(task), style(task.status)),
            plain(waited(now.saturating_sub(task.since))),
            plain(next_step(task)),
            plain(dash(kind)),
            plain(context.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"))),
            plain(lines(task)),
            plain(changes(task)),
            plain(format!("{} ago", waited(now.saturating_sub(task.active_at)))),
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

/// The status, or what is being done.
fn status(task: &TaskView) -> String {
    match &task.operation {
        Some(operation) => operation.doing().to_owned(),
        None => task.status.word().to_owned(),
    }
}

/// How long, in minutes: so the ages in a watched list change at most once a minute.
pub(super) fn waited(ms: u64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0 => "<1m".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h{:02}m", minutes / 60, minutes % 60),
        _ => format!("{}d{:02}h", minutes / 1440, minutes / 60 % 24),
    }
}

/// What the person who reads the list does about a task; the last failure, where there is one, is the reason.
fn next_step(task: &TaskView) -> String {
    let name = ShellWord(&task.name);
    let failure = task.failure.as_deref().and_then(|why| why.lines().next());
    match (task.status, failure) {
        _ if task.operation.is_some() => "-".to_owned(),
        (TaskStatus::Blocked | TaskStatus::Waiting, _) => "qd inbox".to_owned(),
        (TaskStatus::Gone | TaskStatus::Orphan, _) => format!("qd drop {name}"),
        (TaskStatus::Merged, _) => format!("qd drop {name}"),
        (_, Some(failure)) => failure.to_owned(),
        (TaskStatus::Conflict, None) => match task.conflicts.first() {
            Some(conflict) => format!("conflict with {}: {}", conflict.with, conflict.files.join(", ")),
            None => "qd forecast".to_owned(),
        },
        (TaskStatus::Done, None) => format!("qd attach {name}"),
        (TaskStatus::Working | TaskStatus::Idle | TaskStatus::Stale, None) => "-".to_owned(),
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
        // What is in the base already is not to be landed again.
        Some(git) if !git.merged && git.added + git.removed > 0 => format!("+{} -{}", git.added, git.removed),
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
    let is_open = |count: u64| if git.merged { 0 } else { count };
    let parts = [
        (git.staged + git.unstaged, "changed"),
        (git.untracked, "untracked"),
        (is_open(git.ahead), "ahead"),
        (is_open(git.behind), "behind"),
    ];
    let words: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

/// Show which tasks would conflict with each other, and in which files
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

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, status: &str, rest: serde_json::Value) -> TaskView {
        let mut task = serde_json::json!({
            "name": name, "workspace": "local", "status": status, "since": 0, "created_at": 0, "active_at": 0,
            "project": {"key": "00", "path": "/p"}, "directory": format!("/a/long/way/to/p--{name}"),
            "processes": [], "runs": [], "worktree": {"branch": name, "base": "main"},
        });
        let own = task.as_object_mut().unwrap();
        own.extend(rest.as_object().unwrap().clone());
        serde_json::from_value(task).unwrap()
    }

    #[test]
    fn k7_a_list_of_80_columns_has_names_statuses_and_the_next_step() {
        let conflict = serde_json::json!({"conflicts": [{"with": "right", "files": ["shared"]}]});
        let failure = serde_json::json!({"failure": "the gate failed with 3; nothing was landed\nno"});
        let tasks = [
            task("rate-limit", "blocked", serde_json::json!({})),
            task("left", "conflict", conflict),
            task("gate", "idle", failure),
            task("lost", "gone", serde_json::json!({})),
        ];
        let drawn = table(&tasks, 90 * 60_000).draw(false, 80);
        for part in [
            "rate-limit  blocked   1h30m  qd inbox",
            "left        conflict  1h30m  conflict with",
            "gate        idle      1h30m  the gate failed",
            "lost        gone      1h30m  qd drop lost",
        ] {
            assert!(drawn.contains(part), "{part}\n{drawn}");
        }
        assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
        assert!(drawn.contains('…'), "what is cut is marked: {drawn}");
    }

    #[test]
    fn k7_a_wait_is_shown_in_minutes() {
        let minute = 60_000;
        let shown = [0, 59_999, minute, 61 * minute, 25 * 60 * minute].map(waited);
        assert_eq!(shown, ["<1m", "<1m", "1m", "1h01m", "1d01h"]);
    }
}
