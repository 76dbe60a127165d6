//! The list of tasks with a peek at the selected one, and the form of a new task.

use super::{cut, dialogs, framed, put, text, text_to};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::tasks::{Field, HEAD, TaskForm, TasksView, diff_words, main_process, mark};
use crate::model::{Model, age};
use crate::theme::Role;

pub(crate) fn draw(model: &Model, view: &TasksView, grid: &mut Grid) {
    let area = model.areas().deck;
    let rows = view.rows(&model.crew);
    let point = |row| Point { col: area.col + 1, row };
    grid.text(point(area.row), &format!("TASKS {}", rows.len()), text(model, Role::Heading), area.cols);
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
    let head = row_text(area.cols, ["STATUS", "TASK", "AGENT", "CTX", "DIFF", "ACTIVE", ""]);
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
    let end = view.peek_place(&model.crew, model.areas().deck).map_or(area.bottom(), |place| place.row);
    let selected = view.task(&model.crew).map(|task| task.name.clone());
    let at = rows.iter().position(|task| Some(&task.name) == selected.as_ref()).unwrap_or(0);
    let height = usize::from(end.saturating_sub(area.row + HEAD));
    let first = (at + 1).saturating_sub(height.max(1));
    for (row, task) in (area.row + HEAD..end).zip(rows.iter().skip(first)) {
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

fn draw_task(model: &Model, grid: &mut Grid, area: Rect, task: &proto::task::TaskView) {
    let mark = mark(task.status);
    grid.text(
        Point { col: area.col + 1, row: area.row },
        mark.glyph(model.looks.is_ascii),
        text(model, mark.role()),
        1,
    );
    let context = task.processes.iter().find_map(|process| process.context);
    let with = task.conflicts.first().map(|conflict| format!("with {}", conflict.with));
    let note = task.operation.map(|operation| operation.doing().to_owned()).or(with).or(task.failure.clone());
    let comments = (task.comments > 0).then(|| format!("{} comments", task.comments));
    let words = row_text(
        area.cols,
        [
            task.status.word(),
            &proto::Printable(&task.name).to_string(),
            task.agent.as_deref().unwrap_or("-"),
            &context.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%")),
            &diff_words(task),
            &age(model.now.epoch_ms.saturating_sub(task.active_at)),
            &note.or(comments).map_or_else(String::new, |note| proto::Printable(&note).to_string()),
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

/// The columns of a row. A narrow list leaves the agent and the context out.
fn row_text(cols: u16, [status, task, agent, context, diff, active, note]: [&str; 7]) -> String {
    let name = usize::from(cols / 4).clamp(12, 32);
    let task = cut(task, u16::try_from(name).unwrap_or(32), true);
    match cols < 70 {
        true => format!("{status:<9} {task:<name$} {diff:<11} {active:<6} {note}"),
        false => format!("{status:<9} {task:<name$} {agent:<10} {context:<5} {diff:<12} {active:<7} {note}"),
    }
}

/// The form of a new task.
pub(crate) fn form(model: &Model, form: &TaskForm, grid: &mut Grid) {
    let area = model.areas().deck.middle(72, 15);
    let inside = framed(model, grid, area, "New task", "Ctrl-S create  Tab next  Space change  Esc back");
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
    let words =
        format!("will be made: {} in {}", proto::Printable(&name), proto::Printable(&model.place.project));
    grid.text(
        Point { col: inside.col + 1, row: row + 1 },
        &cut(&words, inside.cols.saturating_sub(2), model.looks.is_ascii),
        text(model, Role::Dim),
        inside.cols,
    );
}
