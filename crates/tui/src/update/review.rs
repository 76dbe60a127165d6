//! Keys in the review of a task: going through its changes, commenting, sending.

use std::path::{Component, Path};

use proto::request::{DiffTask, Empty, ReviewAct, ReviewTask, TaskAct};
use proto::task::{TaskDiff, TaskReview};
use term::Key;

use super::actions::{self, prompt};
use super::tasks::{self, named};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command, EditFor};
use crate::model::Model;
use crate::model::diff::LineKind;
use crate::model::overlay::{Overlay, Purpose};
use crate::model::review::Review;

/// Columns of one step to the side.
const SIDE: usize = 8;
/// Rows of half a page.
const HALF_PAGE: isize = 12;
/// Characters of a commit that are enough for people.
const SHORT_COMMIT: usize = 10;

/// Opens the review of a task.
pub(super) fn open(model: &Model, task: &str) -> Vec<Command> {
    vec![ask(model, task, true)]
}

/// Reads the changes of an open review again.
pub(super) fn refresh(model: &Model, task: &str) -> Vec<Command> {
    vec![ask(model, task, false)]
}

/// Reads the changes of the open review again, if there is one.
pub(super) fn reread(model: &Model) -> Vec<Command> {
    open_review(model).map(|review| refresh(model, &review.task)).unwrap_or_default()
}

fn open_review(model: &Model) -> Option<&Review> {
    model.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Review(review) => Some(&**review),
        _ => None,
    })
}

/// Compares the changes of an open review with a branch or a commit; without one with the place where the task began.
pub(super) fn compare_with(model: &mut Model, task: &str, base: &str) -> Vec<Command> {
    if let Some(review) = find_review(model, task) {
        review.wanted_base = Some(base.trim().to_owned()).filter(|base| !base.is_empty());
    }
    refresh(model, task)
}

/// The changes could not be read: what they were to be compared with may not be there.
pub(super) fn not_read(model: &mut Model) {
    for overlay in &mut model.overlays {
        if let Overlay::Review(review) = overlay {
            review.wanted_base = None;
        }
    }
}

fn find_review<'m>(model: &'m mut Model, task: &str) -> Option<&'m mut Review> {
    model.overlays.iter_mut().rev().find_map(|overlay| match overlay {
        Overlay::Review(review) if review.task == task => Some(&mut **review),
        _ => None,
    })
}

/// Asks for a task's changes. Its comments are asked for when they have come and there is a review to show them in.
fn ask(model: &Model, task: &str, opens: bool) -> Command {
    let context = Some(model.looks.review_context);
    let base = open_review(model).filter(|review| review.task == task);
    let base = base.and_then(|review| review.wanted_base.clone());
    let diff = DiffTask { target: named(task), stat: false, base, context };
    tasks::ask(CallFor::Changes { opens }, TaskAct::Diff(diff))
}

fn act(task: &str, act: ReviewAct) -> Command {
    tasks::ask(CallFor::TaskDone, TaskAct::Review(ReviewTask { target: named(task), act }))
}

/// Shows changes that have come. A review that the person has left meanwhile is not opened again.
pub(super) fn show(model: &mut Model, diff: &TaskDiff, opens: bool) -> Vec<Command> {
    let opens = opens && matches!(model.overlays.last(), None | Some(Overlay::Tasks(_)));
    let base = base_name(model, diff);
    let review = Review { base, ..Review::new(diff.name.clone(), &diff.text, diff.is_truncated) };
    match find_review(model, &diff.name) {
        Some(old) => {
            let (comments, search) = (std::mem::take(&mut old.comments), std::mem::take(&mut old.search));
            let wanted_base = old.wanted_base.take();
            let base = wanted_base.clone().unwrap_or(review.base);
            *old = Review { base, wanted_base, comments, search, row: old.row, left: old.left, ..review };
            old.step(0);
        }
        _ if opens => model.overlays.push(Overlay::Review(Box::new(review))),
        _ => return Vec::new(),
    }
    vec![act(&diff.name, ReviewAct::List(Empty {}))]
}

/// What changes are compared with, as people call it: the branch that the task began from, else a short commit.
fn base_name(model: &Model, diff: &TaskDiff) -> String {
    let task = model.crew.tasks.iter().find(|task| task.name == diff.name);
    let branch = task.and_then(|task| task.worktree.as_ref()).map(|tree| tree.base.clone());
    branch.unwrap_or_else(|| diff.base.chars().take(SHORT_COMMIT).collect())
}

/// Marks the file of the selected row as seen and goes on to the next one, or takes the mark away.
fn mark_seen(model: &mut Model) {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return };
    let Some(file) = review.file_here().and_then(|at| review.files.get(at)) else { return };
    let key = (review.task.clone(), file.path.clone());
    if model.is_seen_file(review, file) {
        model.crew.seen_files.remove(&key);
        return;
    }
    model.crew.seen_files.insert(key, file.fingerprint);
    if let Some(Overlay::Review(review)) = model.overlays.last_mut() {
        review.jump(&[LineKind::File], false);
    }
}

/// Notes the comments of a review.
pub(super) fn note(model: &mut Model, task: TaskReview) {
    if let Some(mail) = task.mail {
        model.toast(format!("sent to the agent as message {mail}"));
    }
    for overlay in &mut model.overlays {
        if let Overlay::Review(review) = overlay
            && review.task == task.name
        {
            review.comments.clone_from(&task.comments);
            review.step(0);
        }
    }
}

/// A key in the review.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    let action = model.looks.keymap.action(Context::Review, &key);
    let Some(Overlay::Review(review)) = model.overlays.last_mut() else { return Vec::new() };
    let task = review.task.clone();
    match action {
        Some(Action::Down) => review.step(1),
        Some(Action::Up) => review.step(-1),
        Some(Action::PageDown) => review.step(HALF_PAGE),
        Some(Action::PageUp) => review.step(-HALF_PAGE),
        Some(Action::Top) => review.row = 0,
        Some(Action::Bottom) => review.step(isize::MAX),
        Some(Action::NextHunk) => review.jump(&[LineKind::Hunk], false),
        Some(Action::PreviousHunk) => review.jump(&[LineKind::Hunk], true),
        Some(Action::NextFile) => review.jump(&[LineKind::File], false),
        Some(Action::PreviousFile) => review.jump(&[LineKind::File], true),
        Some(Action::SelectText) => {
            review.anchor = if review.anchor.is_some() { None } else { Some(review.row) };
        }
        Some(Action::ScrollLeft) => review.left = review.left.saturating_sub(SIDE),
        Some(Action::ScrollRight) => review.left = (review.left + SIDE).min(review.longest()),
        Some(Action::SearchForward) => {
            return prompt(model, "Search in the changes".to_owned(), "", Purpose::FindChange);
        }
        Some(Action::ReviewBase) => {
            let base = review.wanted_base.clone().unwrap_or_default();
            let title = "Compare with a branch or a commit; empty: where it began".to_owned();
            return prompt(model, title, &base, Purpose::ReviewBase(task));
        }
        Some(Action::SearchAgain) => {
            let search = review.search.clone();
            return find(model, search);
        }
        Some(Action::Edit) => return edit(model),
        Some(Action::Comment) => return comment(model),
        Some(Action::Send) => {
            if review.drafts() > 0 {
                return vec![act(&task, ReviewAct::Send(Empty {}))];
            }
            model.toast("no comment is unsent");
        }
        Some(Action::SeenFile) => mark_seen(model),
        Some(Action::Resolve | Action::Delete) => {
            return close_comment(model, action == Some(Action::Delete));
        }
        Some(Action::Land) => {
            let task = model.crew.tasks.iter().find(|other| other.name == task).cloned();
            return task.map(|task| tasks::on_task(model, Action::Land, &task)).unwrap_or_default();
        }
        Some(Action::Refresh) => return refresh(model, &task),
        Some(Action::Help) => actions::help(model, Context::Review),
        Some(Action::Cancel) => drop(model.overlays.pop()),
        _ => model.toast("that key does nothing here; ? lists the keys"),
    }
    Vec::new()
}

/// Looks for a text in the changes and the comments.
pub(super) fn find(model: &mut Model, text: String) -> Vec<Command> {
    let Some(Overlay::Review(review)) = model.overlays.last_mut() else { return Vec::new() };
    review.search = text;
    if !review.find() {
        model.toast("not found in the changes");
    }
    Vec::new()
}

/// Opens the selected file in the person's editor, at the selected line.
fn edit(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return Vec::new() };
    let directory = model.crew.tasks.iter().find(|task| task.name == review.task).map(|task| &task.directory);
    let place = review.place_in_file().map(|(file, line)| (Path::new(file), line));
    // The name is what git printed: only one that stays below the task's directory is opened.
    let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    match (directory, place.filter(|(file, _)| is_below(file))) {
        (Some(directory), Some((file, line))) => {
            let path = Path::new(directory).join(file);
            vec![Command::EditFile { what: EditFor::Changes(review.task.clone()), path, line }]
        }
        _ => {
            model.toast("choose a line of a file first");
            Vec::new()
        }
    }
}

fn comment(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return Vec::new() };
    match review.place() {
        Some(place) => {
            let is_one = place.first == place.last;
            let lines =
                if is_one { place.first.to_string() } else { format!("{}-{}", place.first, place.last) };
            let title = format!("Comment on {}:{lines}", proto::Printable(&place.file));
            prompt(model, title, "", Purpose::Comment(place))
        }
        None => {
            model.toast("no changed line is selected; j and k choose one");
            Vec::new()
        }
    }
}

/// Keeps a comment as a draft.
pub(super) fn add(
    model: &mut Model,
    place: crate::model::review::CommentPlace,
    text: String,
) -> Vec<Command> {
    let Some(Overlay::Review(review)) = model.overlays.last_mut() else { return Vec::new() };
    review.anchor = None;
    let crate::model::review::CommentPlace { file, side, first, last } = place;
    vec![act(&review.task, ReviewAct::Add { file, side, first, last, text })]
}

/// Resolves or removes the comment on the selected row.
fn close_comment(model: &mut Model, is_removed: bool) -> Vec<Command> {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return Vec::new() };
    match review.comment().map(|comment| comment.number) {
        Some(number) if is_removed => vec![act(&review.task, ReviewAct::Remove { number })],
        Some(number) => vec![act(&review.task, ReviewAct::Resolve { number })],
        None => {
            model.toast("choose a comment first");
            Vec::new()
        }
    }
}
