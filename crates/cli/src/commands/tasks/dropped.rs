//! Dropped tasks that `qd restore` can bring back: `qd tasks --dropped`, and what `qd restore` says without a name.

use std::process::ExitCode;

use client::Connection;
use proto::request::{Empty, TaskAct};
use proto::task::{TaskOutcome, TaskRestorable};
use proto::{Printable, ShellWord};

use super::list::waited;
use super::{ask, unexpected};
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms};

/// Names that are shown before the rest is left to the list.
const SHOWN: usize = 5;

/// Every dropped task that can be brought back, the newest drop first.
pub(crate) fn list(connection: &mut Connection) -> Result<Vec<TaskRestorable>, CliError> {
    match ask(connection, TaskAct::Dropped(Empty {}))? {
        TaskOutcome::Restorable(tasks) => Ok(tasks),
        _ => Err(unexpected()),
    }
}

/// Prints them.
pub(super) fn print(context: &mut Context, connection: &mut Connection) -> Result<ExitCode, CliError> {
    let (tasks, now) = (list(connection)?, now_ms());
    context.print(&tasks, |tasks, out| match tasks.is_empty() {
        true => out.line("no dropped task is kept"),
        false => out.clipped_table(&table(tasks, now)),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Why `qd restore` does nothing without a name, with the names that it could be given.
pub(super) fn without_name(tasks: &[TaskRestorable]) -> CliError {
    let mut names: Vec<String> =
        tasks.iter().take(SHOWN).map(|task| Printable(&task.name).to_string()).collect();
    let more = tasks.len().saturating_sub(SHOWN);
    names.extend((more > 0).then(|| format!("and {more} more")));
    match names.is_empty() {
        true => CliError::usage("there is nothing to restore: no dropped task is kept"),
        false => CliError::usage(format!("name the task: {}", names.join(", ")))
            .hinted("qd tasks --dropped says when they were dropped"),
    }
}

fn table(tasks: &[TaskRestorable], now: u64) -> Table {
    let header = ["NAME", "DROPPED", "KEPT FOR", "NEXT", "BRANCH", "DIRECTORY"];
    let mut table = Table::new(&header).dispensable(&["DIRECTORY", "BRANCH"]);
    for task in tasks {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (task.name.clone(), Style::Bold),
            plain(format!("{} ago", waited(now.saturating_sub(task.dropped_at)))),
            plain(waited(task.kept_until.saturating_sub(now))),
            plain(match task.is_name_taken {
                true => format!("qd drop {} first: another task has the name", ShellWord(&task.name)),
                false => format!("qd restore {}", ShellWord(&task.name)),
            }),
            plain(task.branch.clone().unwrap_or_else(|| "-".to_owned())),
            (task.directory.clone(), Style::Dim),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, is_name_taken: bool) -> TaskRestorable {
        TaskRestorable {
            name: name.to_owned(),
            workspace: "local".to_owned(),
            directory: format!("/a/long/way/to/the/worktrees/of/app--{name}"),
            branch: Some(name.to_owned()),
            dropped_at: 60_000,
            kept_until: 60_000 + 14 * 24 * 3_600_000,
            is_name_taken,
        }
    }

    #[test]
    fn k7_dropped_tasks_fit_80_columns_with_their_age_and_what_brings_them_back() {
        let drawn = table(&[task("fix", false), task("old-idea", true)], 2 * 60_000).draw(false, 80);
        assert!(drawn.contains("fix       1m ago   13d23h    qd restore fix"), "{drawn}");
        assert!(drawn.contains("qd drop old-idea first"), "{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    }

    #[test]
    fn k7_a_restoration_without_a_name_names_what_could_be_restored() {
        let all: Vec<TaskRestorable> = ["a", "b", "c", "d", "e", "f"].map(|name| task(name, false)).to_vec();
        assert!(without_name(&all).to_string().contains("name the task: a, b, c, d, e, and 1 more"));
        assert!(without_name(&[]).to_string().contains("nothing to restore"));
    }
}
