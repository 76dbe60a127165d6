//! The forms of tasks: a new one, and one that lands.

use super::{cut, dialogs, framed, text};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::agent_form::SettingsFields;
use crate::model::tasks::{Field, LandField, LandForm, TaskForm};
use crate::theme::Role;

/// Rows of the form of a new task without those of the prompt, and most of those.
const FORM_ROWS: u16 = 14;
const PROMPT_ROWS: u16 = 4;

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
            LandField::Merge if form.is_merge => (None, "< merge >   rebase"),
            LandField::Merge => (None, "< rebase >   merge"),
        };
        match line.filter(|line| !line.text().is_empty()) {
            Some(line) => dialogs::line(model, grid, line, place),
            None => {
                // The placeholder of an empty field stays until something is typed over it.
                let role = if is_here && line.is_none() { Role::Active } else { Role::Dim };
                grid.text(Point { col: place.col, row }, words, text(model, role), place.cols);
                grid.cursor = Some(ShownCursor { at: Point { col: place.col, row }, form: None });
            }
        }
        cursor = if is_here { grid.cursor } else { cursor };
    }
    grid.cursor = cursor;
    let words =
        "The check runs on the combined result. If it fails, the task's agent gets the end of its output.";
    let notes = super::wrap(words, inside.cols.saturating_sub(2));
    for (row, note) in (inside.row + 5..inside.bottom()).zip(&notes) {
        grid.text(Point { col: inside.col + 1, row }, note, text(model, Role::Dim), inside.cols);
    }
}

/// The form of a new task.
pub(crate) fn new_task(model: &Model, form: &TaskForm, grid: &mut Grid) {
    let more = u16::try_from(preparation(model, form).len()).unwrap_or_default();
    let body = model.areas().body;
    let prompt_rows = body.rows.saturating_sub(FORM_ROWS + more).clamp(1, PROMPT_ROWS);
    let area = body.middle(72, FORM_ROWS + more + prompt_rows);
    let hints = "Ctrl-S create  Tab next  Space change  Ctrl-X editor  Esc back";
    let hints = if area.cols < 70 { "Ctrl-S create  Tab next  Ctrl-X editor  Esc back" } else { hints };
    let inside = framed(model, grid, area, "New task", hints);
    let label = |grid: &mut Grid, row: u16, field: Field| {
        let role = if field == form.field { Role::Focus } else { Role::Text };
        grid.text(Point { col: inside.col + 1, row }, field.label(), text(model, role), inside.cols);
    };
    label(grid, inside.row, Field::Prompt);
    let prompt = Rect {
        col: inside.col + 3,
        row: inside.row + 1,
        cols: inside.cols.saturating_sub(5),
        rows: prompt_rows,
    };
    dialogs::text_area(model, grid, &form.prompt, prompt);
    let mut cursor = grid.cursor.filter(|_| form.field == Field::Prompt);
    let mut row = prompt.bottom() + 1;
    for (field, value) in form_rows(model, form) {
        label(grid, row, field);
        let place = Rect { col: inside.col + 12, row, cols: inside.cols.saturating_sub(14), rows: 1 };
        field_value(model, form, grid, place, &FieldText { field, value });
        cursor = if form.field == field { grid.cursor } else { cursor };
        row += 1;
    }
    grid.cursor = cursor;
    row = prepares(model, form, grid, Rect { row, ..inside });
    let below = Rect { row, rows: inside.bottom().saturating_sub(row), ..inside };
    if let Some((words, role)) = form_note(model, form) {
        note(model, grid, below, &words, role);
    }
}

/// What the fields below the prompt hold, in words.
fn form_rows(model: &Model, form: &TaskForm) -> [(Field, String); 8] {
    let agents = &model.crew.agents;
    let others =
        agents.iter().enumerate().filter(|(at, _)| *at != form.agent).map(|(_, agent)| agent.as_str());
    let others: Vec<&str> = others.collect();
    let agent = agents
        .get(form.agent)
        .map_or_else(|| "none found".to_owned(), |agent| format!("< {agent} >   {}", others.join(" ")));
    let check = |is_on: bool| if is_on { "[x]" } else { "[ ]" };
    let name = form.chosen_name();
    let made = if form.name.text().is_empty() { "  (from the text)" } else { "" };
    let stay = "stay here; the rail shows it";
    [
        (Field::Name, format!("{name}{made}")),
        (Field::Agent, agent),
        (Field::Mode, form.settings.mode_words()),
        (Field::Model, SettingsFields::MODEL_HINT.to_owned()),
        (Field::Worktree, format!("{} a new worktree and branch", check(form.has_worktree))),
        (Field::Start, "the default branch; or a branch, tag or commit".to_owned()),
        (Field::Stay, format!("{} {stay}", check(form.stays))),
        (Field::Run, format!("{} start the agent now", check(form.runs))),
    ]
}

/// A field and what it holds, in words.
struct FieldText {
    field: Field,
    value: String,
}

/// Draws what a field holds, or its placeholder, and puts the cursor there.
fn field_value(model: &Model, form: &TaskForm, grid: &mut Grid, place: Rect, shown: &FieldText) {
    let FieldText { field, value } = shown;
    let edited = match field {
        Field::Name if !form.name.text().is_empty() => Some(&form.name),
        Field::Model if !form.settings.model.text().is_empty() => Some(&form.settings.model),
        Field::Start if !form.start.text().is_empty() => Some(&form.start),
        _ => None,
    };
    match edited {
        Some(line) => dialogs::line(model, grid, line, place),
        None => {
            let is_line = matches!(field, Field::Name | Field::Model | Field::Start);
            let role = if *field == form.field && !is_line { Role::Active } else { Role::Dim };
            let words = cut(value, place.cols, model.looks.is_ascii);
            grid.text(Point { col: place.col, row: place.row }, &words, text(model, role), place.cols);
            let at = Point { col: place.col, row: place.row };
            grid.cursor = Some(ShownCursor { at, form: None });
        }
    }
}

/// What the repository does in the new worktree, each with its label.
fn preparation(model: &Model, form: &TaskForm) -> Vec<(&'static str, String)> {
    let preparation = &model.place.preparation;
    // What a person starts needs nobody's approval; what a process starts, even by a deck, does.
    let trust = if model.place.own.is_none() { "trusted, because you start it" } else { "needs approval" };
    let mut commands = preparation.commands.join("; ");
    if !commands.is_empty() {
        commands = format!("{commands}   ({trust})");
    }
    let rows = [("Copies", preparation.copies.join(" ")), ("Then", commands)];
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
    match &form.fault {
        Some(fault) => Some((fault.clone(), Role::Alert)),
        None if form.is_sent => Some((format!("{name} is being made"), Role::Active)),
        None if form.chosen_name().is_empty() => None,
        None => {
            let program = program(model, form).map(|path| format!("; runs {path}")).unwrap_or_default();
            Some((format!("will be made: {name} {}{program}", work_place(model, form)), Role::Dim))
        }
    }
}

/// The program of the agent that begins, where it was found.
fn program(model: &Model, form: &TaskForm) -> Option<String> {
    let agent = model.crew.agents.get(form.agent).filter(|_| form.runs)?;
    let path = model.crew.programs.get(agent)?;
    Some(proto::Printable(&model.place.short(path)).to_string())
}

/// Where the work of a new task goes.
fn work_place(model: &Model, form: &TaskForm) -> String {
    let project =
        std::path::Path::new(&model.place.project).file_name().unwrap_or_default().to_string_lossy();
    match form.has_worktree {
        true if project.is_empty() => "in a new worktree".to_owned(),
        true => format!("in a new worktree of {}", proto::Printable(&project)),
        false => format!("in {}", proto::Printable(&model.place.short(&model.place.directory))),
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
