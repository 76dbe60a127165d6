//! Keys in the review of a task: going through its changes, commenting, sending.

use proto::request::{DiffTask, Empty, ReviewAct, ReviewTask, TaskAct};
use proto::task::{TaskDiff, TaskReview};
use term::Key;

use super::actions::prompt;
use super::tasks::{self, named};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::Model;
use crate::model::overlay::{Overlay, Purpose};
use crate::model::review::{LineKind, Review};

/// Rows of half a page.
const HALF_PAGE: isize = 12;

/// Asks for a task's changes and its comments.
pub(super) fn ask(task: &str) -> Vec<Command> {
    let diff = DiffTask { target: named(task), stat: false, base: None };
    vec![tasks::ask(CallFor::TaskDone, TaskAct::Diff(diff)), act(task, ReviewAct::List(Empty {}))]
}

fn act(task: &str, act: ReviewAct) -> Command {
    tasks::ask(CallFor::TaskDone, TaskAct::Review(ReviewTask { target: named(task), act }))
}

/// Shows changes that have come.
pub(super) fn show(model: &mut Model, diff: &TaskDiff) -> Vec<Command> {
    let review = Review::new(diff.name.clone(), &diff.text, diff.is_truncated);
    match model
        .overlays
        .iter_mut()
        .rev()
        .find(|overlay| matches!(overlay, Overlay::Review(old) if old.task == diff.name))
    {
        Some(Overlay::Review(old)) => {
            let (comments, row) = (std::mem::take(&mut old.comments), old.row);
            **old = Review { comments, row, ..review };
            old.step(0);
        }
        _ => model.overlays.push(Overlay::Review(Box::new(review))),
    }
    Vec::new()
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
        Some(Action::Comment) => return comment(model),
        Some(Action::Send) => {
            if review.drafts() > 0 {
                return vec![act(&task, ReviewAct::Send(Empty {}))];
            }
            model.toast("no comment is unsent");
        }
        Some(Action::Resolve | Action::Delete) => {
            return close_comment(model, action == Some(Action::Delete));
        }
        Some(Action::Land) => {
            let task = model.crew.tasks.iter().find(|other| other.name == task).cloned();
            return task.map(|task| tasks::on_task(model, Action::Land, &task)).unwrap_or_default();
        }
        Some(Action::Refresh) => return ask(&task),
        Some(Action::Help) => model.overlays.push(Overlay::Help(0)),
        Some(Action::Cancel) => drop(model.overlays.pop()),
        _ => model.toast("that key does nothing here; ? lists the keys"),
    }
    Vec::new()
}

fn comment(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return Vec::new() };
    match review.place() {
        Some(place) => {
            let title =
                format!("Comment on {}:{}-{}", proto::Printable(&place.file), place.first, place.last);
            prompt(model, title, "", Purpose::Comment(place))
        }
        None => {
            model.toast("choose a line that was added, removed or kept");
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
