//! The forms of tasks: a new one, and one that lands.

use super::{cut, dialogs, framed, text};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::tasks::{Field, LandField, LandForm, TaskForm};
use crate::theme::Role;

/// The form of a task that lands.
pub(crate) fn land(model: &Model, form: &LandForm, grid: &mut Grid) {
    let area = model.areas().body.middle(72, 10);
    let title = format!("Land {} on {}", proto::Printable(&form.task), proto::Printable(&form.base));
    let inside = framed(model, grid, area, &title, "Enter land  Tab next  Space change  Esc back");
    let mut cursor = None;
    for (row, field) in (inside.row + 1..inside.bottom()).zip(LandField::ALL) {
        let is_here = field == form.field;
        let role = if is_here { Role::Focus } else { Role::Text };
        grid.text(Point { col: inside.col + 1, row }, field.label(), text(model, role), inside.cols);
        let place = Rect { col: inside.col + 10, row, cols: inside.cols.saturating_sub(12), rows: 1 };
        let (line, words) = match field {
            LandField::Gate => (Some(&form.gate), "none; a command that must succeed first"),
            LandField::Into => (Some(&form.into), "its base"),
            LandField::Merge if form.is_merge => (None, "[x] a merge commit instead of a rebase"),
            LandField::Merge => (None, "[ ] a merge commit instead of a rebase"),
        };
        match line.filter(|line| is_here || !line.text().is_empty()) {
            Some(line) => dialogs::line(model, grid, line, place),
            None => {
                let role = if is_here { Role::Active } else { Role::Dim };
                grid.text(Point { col: place.col, row }, words, text(model, role), place.cols);
                grid.cursor = Some(ShownCursor { at: Point { col: place.col, row }, form: None });
            }
        }
        cursor = if is_here { grid.cursor } else { cursor };
    }
    grid.cursor = cursor;
    let words = "The check runs in a worktree with the combined result; its agent gets the end of what a failing one prints.";
    let notes = super::wrap(words, inside.cols.saturating_sub(2));
    for (row, note) in (inside.row + 5..inside.bottom()).zip(&notes) {
        grid.text(Point { col: inside.col + 1, row }, note, text(model, Role::Dim), inside.cols);
    }
}

/// The form of a new task.
pub(crate) fn new_task(model: &Model, form: &TaskForm, grid: &mut Grid) {
    let more = u16::try_from(preparation(model, form).len()).unwrap_or_default();
    let area = model.areas().body.middle(72, 15 + more);
    let inside = framed(
        model,
        grid,
        area,
        "New task",
        "Ctrl-S create  Tab next  Space change  Ctrl-X editor  Esc back",
    );
    let agents = &model.crew.agents;
    let agent =
        agents.get(form.agent).map_or_else(|| "none found".to_owned(), |agent| format!("< {agent} >"));
    let name = form.chosen_name();
    let check = |is_on: bool| if is_on { "[x]" } else { "[ ]" };
    let made = if form.name.text().is_empty() { "  (from the text)" } else { "" };
    let base = if form.start.text().is_empty() { "the default branch" } else { "" };
    let rows: [(Field, String); 5] = [
        (Field::Name, format!("{name}{made}")),
        (Field::Agent, agent),
        (Field::Worktree, format!("{} a worktree and a branch of its own", check(form.has_worktree))),
        (Field::Start, base.to_owned()),
        (Field::Run, format!("{} start the agent now", check(form.runs))),
    ];
    let label = |grid: &mut Grid, row: u16, field: Field| {
        let role = if field == form.field { Role::Focus } else { Role::Text };
        grid.text(Point { col: inside.col + 1, row }, field.label(), text(model, role), inside.cols);
    };
    let mut row = inside.row + 1;
    label(grid, row, Field::Prompt);
    let line = |row| Rect { col: inside.col + 3, row, cols: inside.cols.saturating_sub(5), rows: 1 };
    let prompt_row = row + 1;
    let mut cursor = None;
    dialogs::line(model, grid, &form.prompt, line(prompt_row));
    if form.field == Field::Prompt {
        cursor = grid.cursor;
    }
    row += 3;
    for (field, value) in rows {
        label(grid, row, field);
        let place = Rect { col: inside.col + 12, row, cols: inside.cols.saturating_sub(14), rows: 1 };
        let edited = match field {
            Field::Name if form.field == field || !form.name.text().is_empty() => Some(&form.name),
            Field::Start if form.field == field || !form.start.text().is_empty() => Some(&form.start),
            _ => None,
        };
        match edited {
            Some(line) => {
                dialogs::line(model, grid, line, place);
                cursor = if form.field == field { grid.cursor } else { cursor };
            }
            None => {
                let role = if field == form.field { Role::Active } else { Role::Dim };
                grid.text(Point { col: place.col, row }, &value, text(model, role), place.cols);
                if form.field == field {
                    cursor = Some(ShownCursor { at: Point { col: place.col, row }, form: None });
                }
            }
        }
        row += 1;
    }
    grid.cursor = cursor;
    row = prepares(model, form, grid, Rect { row, ..inside });
    let below = Rect { row: row + 1, rows: inside.bottom().saturating_sub(row + 1), ..inside };
    if let Some((words, role)) = form_note(model, form) {
        note(model, grid, below, &words, role);
    }
}

/// What the repository does in the new worktree, each with its label.
fn preparation(model: &Model, form: &TaskForm) -> Vec<(&'static str, String)> {
    let preparation = &model.place.preparation;
    let rows = [("Copies", preparation.copies.join(" ")), ("Then", preparation.commands.join("; "))];
    rows.into_iter().filter(|(_, words)| form.has_worktree && !words.is_empty()).collect()
}

/// What the repository does in the new worktree before the agent starts; returns the row behind it.
fn prepares(model: &Model, form: &TaskForm, grid: &mut Grid, area: Rect) -> u16 {
    let mut row = area.row;
    for (label, words) in preparation(model, form) {
        let room = area.cols.saturating_sub(14);
        grid.text(Point { col: area.col + 1, row }, label, text(model, Role::Dim), area.cols);
        let words = cut(&proto::Printable(&words).to_string(), room, model.looks.is_ascii);
        grid.text(Point { col: area.col + 12, row }, &words, text(model, Role::Dim), room);
        row += 1;
    }
    row
}

/// What is said below the form: why it could not be made, or what will be.
fn form_note(model: &Model, form: &TaskForm) -> Option<(String, Role)> {
    let name = form.chosen_name();
    let name = proto::Printable(&name);
    let place = model.place.short(&model.place.project);
    match &form.fault {
        Some(fault) => Some((fault.clone(), Role::Alert)),
        None if form.is_sent => Some((format!("{name} is being made"), Role::Active)),
        None if form.chosen_name().is_empty() => None,
        None => Some((format!("will be made: {name} in {}", proto::Printable(&place)), Role::Dim)),
    }
}

/// Words in the rows that are left; what does not fit is marked.
fn note(model: &Model, grid: &mut Grid, area: Rect, words: &str, role: Role) {
    let columns = area.cols.saturating_sub(2);
    let mut lines = super::wrap(words, columns);
    if lines.len() > usize::from(area.rows) {
        let at = usize::from(area.rows).saturating_sub(1);
        let rest = lines.drain(at..).collect::<Vec<_>>().join(" ");
        lines.push(cut(&rest, columns, model.looks.is_ascii));
    }
    for (row, line) in (area.row..area.bottom()).zip(&lines) {
        grid.text(Point { col: area.col + 1, row }, line, text(model, role), columns);
    }
}
