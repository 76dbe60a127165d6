//! The list of tasks with a peek at the selected one.

use proto::task::TaskView;

use super::{cut, dialogs, put, text, text_to};
use crate::frame::width::columns;
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::overlay::Overlay;
use crate::model::tasks::{HEAD, TasksView, diff_words, main_process, mark};
use crate::model::{Model, age};
use crate::theme::Role;

pub(crate) fn draw(model: &Model, view: &TasksView, grid: &mut Grid) {
    let area = model.areas().deck;
    let rows = view.rows(&model.crew);
    let point = |row| Point { col: area.col + 1, row };
    let title = format!("TASKS {}", rows.len());
    let end = grid.text(point(area.row), &title, text(model, Role::Heading), area.cols);
    let order = format!("by {}", view.order.word());
    grid.text(Point { col: end + 2, row: area.row }, &order, text(model, Role::Dim), area.cols);
    let filter = view.filter.text();
    if view.is_filtering || !filter.is_empty() {
        let start =
            text_to(grid, area.right().saturating_sub(22), area.row, "filter: ", text(model, Role::Dim));
        let line = Rect { col: start + 8, row: area.row, cols: 20, rows: 1 };
        dialogs::line(model, grid, &view.filter, line);
        if !view.is_filtering {
            grid.cursor = None;
        }
    }
    let head = row_text(
        widths(model, area.cols),
        ["STATUS", "TASK", "AGENT", "OWN", "CTX", "DIFF", "ACTIVE", "NOTE"],
    );
    grid.text(Point { col: area.col + 3, row: area.row + 1 }, &head, text(model, Role::Dim), area.cols);
    for col in area.col..area.right() {
        put(grid, col, area.row + 2, super::lines(model)[4], text(model, Role::Border));
    }
    if rows.is_empty() {
        let words = if filter.is_empty() {
            "No task yet. Press n to begin one: a branch, a worktree, an agent."
        } else {
            "No task fits."
        };
        grid.text(point(area.row + HEAD), words, text(model, Role::Dim), area.cols);
    }
    let selected = view.task(&model.crew).map(|task| task.name.clone());
    for (row, task) in shown(model, view) {
        let line = Rect { row, rows: 1, ..area };
        draw_task(model, grid, line, task);
        if Some(&task.name) == selected.as_ref() {
            let select = text(model, Role::Select);
            grid.restyle(line, |style| *style = select);
            if !view.is_filtering {
                grid.cursor = Some(ShownCursor { at: Point { col: area.col, row }, form: None });
            }
        }
    }
    peek_note(model, view, grid);
}

/// The tasks that are in sight, with their rows; the selected one always is.
fn shown<'m>(model: &'m Model, view: &TasksView) -> Vec<(u16, &'m TaskView)> {
    let area = model.areas().deck;
    let rows = view.rows(&model.crew);
    let end = view.peek_place(&model.crew, area).map_or(area.bottom(), |place| place.row);
    let selected = view.task(&model.crew).map(|task| &task.name);
    let at = rows.iter().position(|task| Some(&task.name) == selected).unwrap_or(0);
    let height = usize::from(end.saturating_sub(area.row + HEAD));
    let first = (at + 1).saturating_sub(height.max(1));
    (area.row + HEAD..end).zip(rows.into_iter().skip(first)).collect()
}

/// The name of the task at a place.
pub(crate) fn hit(model: &Model, at: Point) -> Option<String> {
    let Some(Overlay::Tasks(view)) = model.overlays.last() else { return None };
    let is_here = |(row, _): &(u16, &TaskView)| *row == at.row && model.areas().deck.contains(at);
    shown(model, view).into_iter().find(is_here).map(|(_, task)| task.name.clone())
}

/// What is said in place of a screen when the task has none.
fn peek_note(model: &Model, view: &TasksView, grid: &mut Grid) {
    let (Some(place), Some(task)) =
        (view.peek_place(&model.crew, model.areas().deck), view.task(&model.crew))
    else {
        return;
    };
    if main_process(task).is_none() {
        let words = format!("Nothing works on {}; r runs its agent.", proto::Printable(&task.name));
        grid.text(
            Point { col: place.col + 1, row: place.row + 1 },
            &words,
            text(model, Role::Dim),
            place.cols,
        );
    }
}

/// Why the last landing failed.
fn not_landed(task: &TaskView) -> Option<String> {
    task.failure.as_ref().map(|failure| format!("not landed (e): {failure}"))
}

/// The name of the repository; that of a worktree has the task's name behind it.
fn repository(task: &TaskView) -> Option<String> {
    let name = std::path::Path::new(&task.project.path).file_name()?.to_string_lossy().into_owned();
    let is_tree = task.project.path == task.directory;
    let own = name.strip_suffix(&task.name).and_then(|rest| rest.strip_suffix("--")).filter(|_| is_tree);
    Some(own.map_or_else(|| name.clone(), str::to_owned))
}

/// What else is to be said of a task.
fn notes(model: &Model, task: &TaskView) -> String {
    let with = task.conflicts.first().map(|conflict| format!("with {}", conflict.with));
    let note = task.operation.map(|operation| operation.doing().to_owned()).or(with).or(not_landed(task));
    let comments = (task.comments > 0).then(|| format!("comments {}", task.comments));
    let differs = |is_other: fn(&TaskView, &TaskView) -> bool| {
        model.crew.tasks.iter().any(|other| is_other(other, task))
    };
    let is_elsewhere = differs(|one, other| one.project.key != other.project.key);
    let repository = repository(task).filter(|_| is_elsewhere).map(|name| format!("in {name}"));
    let workspace = differs(|one, other| one.workspace != other.workspace);
    let workspace = workspace.then(|| format!("workspace {}", task.workspace));
    let notes: Vec<String> = note.into_iter().chain(comments).chain(repository).chain(workspace).collect();
    proto::Printable(&notes.join(", ")).to_string()
}

fn draw_task(model: &Model, grid: &mut Grid, area: Rect, task: &TaskView) {
    let mark = mark(task.status);
    grid.text(
        Point { col: area.col + 1, row: area.row },
        mark.glyph(model.looks.is_ascii),
        text(model, mark.role()),
        1,
    );
    let context = task.processes.iter().find_map(|process| process.context);
    let words = row_text(
        widths(model, area.cols),
        [
            task.status.word(),
            &proto::Printable(&task.name).to_string(),
            task.agent.as_deref().unwrap_or("-"),
            // A worktree that Quarterdeck made and may remove, or a directory of the person's.
            if task.worktree.is_some() { "own" } else { "-" },
            &context.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%")),
            &diff_words(task),
            &age(model.now.epoch_ms.saturating_sub(task.active_at)),
            &notes(model, task),
        ],
    );
    let words = cut(&words, area.cols.saturating_sub(4), model.looks.is_ascii);
    grid.text(
        Point { col: area.col + 3, row: area.row },
        &words,
        text(model, Role::Text),
        area.cols.saturating_sub(3),
    );
}

/// Columns of the list, of its names and of its agents. A narrow list leaves the agent, the owner and the context out.
struct Widths {
    is_narrow: bool,
    name: u16,
    agent: usize,
    is_ascii: bool,
}

/// Columns of a narrow list beside its names, when no task has a note.
const NARROW_REST: u16 = 38;

fn widths(model: &Model, cols: u16) -> Widths {
    let longest = |width: fn(&TaskView) -> u16| model.crew.tasks.iter().map(width).max().unwrap_or(0);
    let name = longest(|task| columns(&proto::Printable(&task.name).to_string())).max(12);
    let agent = longest(|task| task.agent.as_deref().map_or(0, columns)).clamp(6, 12);
    let is_narrow = cols < 70;
    let has_notes = model.crew.tasks.iter().any(|task| !notes(model, task).is_empty());
    let most = (cols / 4).clamp(12, 32);
    // Where nothing else is to be said, its place is the name's.
    let most = if is_narrow && !has_notes { most.max(cols.saturating_sub(NARROW_REST)) } else { most };
    let is_ascii = model.looks.is_ascii;
    Widths { is_narrow, name: name.min(most), agent: usize::from(agent), is_ascii }
}

fn row_text(widths: Widths, [status, task, agent, own, context, diff, active, note]: [&str; 8]) -> String {
    let Widths { is_narrow, name, agent: wide, is_ascii } = widths;
    let task = cut(task, name, is_ascii);
    let name = usize::from(name);
    match is_narrow {
        true => format!("{status:<9} {task:<name$} {diff:<11} {active:<6} {note}"),
        false => {
            format!(
                "{status:<9} {task:<name$}  {agent:<wide$}  {own:<3}  {context:<4} {diff:<11} {active:<6}  {note}"
            )
        }
    }
}
