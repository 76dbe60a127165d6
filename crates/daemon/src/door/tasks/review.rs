//! A task's review: comments that quote the lines they are about.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use engine::{TaskChange, TaskCommand, TaskWithProcesses, Verb};
use proto::Failure;
use proto::request::{ReviewAct, ReviewTask};
use proto::rights::PERSON;
use proto::task::{ReviewComment, ReviewSide, ReviewStatus, TaskOutcome, TaskReview};
use worktree::{DiffExtent, Repository, raw_diff};

use super::super::connection::Client;
use super::super::trust::own_project;
use super::{DIFF_TEXT, compared, find};
use crate::tasks::{TaskRunner, blocking, failure, lines};

/// Serves one request about a review.
pub(super) async fn review(client: &Client, request: ReviewTask) -> Result<TaskOutcome, Failure> {
    let verb = if matches!(request.act, ReviewAct::List(_)) { Verb::Read } else { Verb::Drive };
    let item = find(client, request.target, verb).await?;
    let change = match request.act {
        ReviewAct::List(_) => None,
        ReviewAct::Add { file, side, first, last, text } => {
            let author = author(client).await?;
            let comment = ReviewComment {
                number: 0,
                file,
                side,
                first,
                last,
                quoted: Vec::new(),
                text,
                author,
                status: ReviewStatus::Draft,
                is_stale: false,
            };
            let (runner, about) = (client.door.tasks.clone(), item.clone());
            let quoted = blocking(move || quote(&runner, &about, comment)).await?;
            Some(TaskChange::Add(Box::new(quoted)))
        }
        ReviewAct::Send(_) => {
            // The message names the lines where they are now.
            let (runner, about) = (client.door.tasks.clone(), item.clone());
            Some(TaskChange::Send(blocking(move || Ok(compare(&runner, &about))).await?))
        }
        ReviewAct::Resolve { number } => Some(TaskChange::Resolve(number)),
        ReviewAct::Remove { number } => Some(TaskChange::Remove(number)),
    };
    let item = match change {
        None => item,
        Some(change) => {
            let command = TaskCommand::Review { id: item.task.id, change };
            client.door.tasks.ask_one(&client.principal, command).await?
        }
    };
    let (runner, about) = (client.door.tasks.clone(), item.clone());
    let comments = blocking(move || Ok(compare(&runner, &about)));
    Ok(TaskOutcome::Review(TaskReview { name: item.task.name, comments: comments.await?, mail: item.mail }))
}

/// The comments with the place of their lines now, stale ones marked. Blocks.
fn compare(runner: &TaskRunner, item: &TaskWithProcesses) -> Vec<ReviewComment> {
    let mut comments = item.task.comments.clone();
    let mut base = None;
    let mut files: HashMap<String, Option<Vec<String>>> = HashMap::new();
    let old = |file: &str| {
        if let Some(lines) = files.get(file) {
            return Ok(lines.clone());
        }
        let (repository, commit) = match &base {
            Some(known) => known,
            None => {
                let (commit, _, place) = compared(runner, item, None)?;
                let opened = Repository::open(&runner.git()?, &place).map_err(|error| failure(&error))?;
                base.insert((opened, commit))
            }
        };
        let content = repository.file_at(commit, file).map_err(|error| failure(&error))?;
        let lines = content.map(|content| lines::split(&content));
        files.insert(file.to_owned(), lines.clone());
        Ok(lines)
    };
    lines::mark_stale(Path::new(&item.task.directory), &mut comments, old);
    comments
}

/// Who writes a comment.
async fn author(client: &Client) -> Result<String, Failure> {
    if client.caller().is_person() {
        return Ok(PERSON.to_owned());
    }
    own_project(client, "task_review").await.map(|own| own.name)
}

/// The comment with the lines that it is about. Blocks.
fn quote(
    runner: &TaskRunner,
    item: &TaskWithProcesses,
    mut comment: ReviewComment,
) -> Result<ReviewComment, Failure> {
    let directory = PathBuf::from(&item.task.directory);
    let (first, last) = (comment.first, comment.last);
    comment.quoted = match comment.side {
        ReviewSide::New => lines::read(&directory, &comment.file, first, last)?,
        ReviewSide::Old => {
            let (base, target, place) = compared(runner, item, None)?;
            let extent = DiffExtent { limit: DIFF_TEXT, ..DiffExtent::default() };
            let raw = raw_diff(&runner.git()?, &place, &base, &target, extent);
            let files = raw.map_err(|error| failure(&error))?.files();
            lines::read_old(&files, &comment.file, first, last)?
        }
    };
    Ok(comment)
}
