//! The form of an agent that is to be started.

use super::{cut, dialogs, framed, text, wrap};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::agent_form::{AgentField, AgentForm, SettingsFields};
use crate::theme::Role;

/// Rows of the form without those of the message and of what is said below.
const ROWS: u16 = 6;
/// Most rows of the message.
const MESSAGE_ROWS: u16 = 6;
const COLUMNS: u16 = 72;

pub(crate) fn draw(model: &Model, form: &AgentForm, grid: &mut Grid) {
    let body = model.areas().body;
    let columns = COLUMNS.min(body.cols).saturating_sub(4);
    let (words, role) = note(form);
    let notes = wrap(&words, columns);
    let more = u16::try_from(notes.len()).unwrap_or(u16::MAX);
    let lines = wrap(&form.message.text(), columns.saturating_sub(3)).len();
    let lines = u16::try_from(lines).unwrap_or(MESSAGE_ROWS).max(2);
    let room = body.rows.saturating_sub(ROWS + more);
    let message_rows = lines.min(MESSAGE_ROWS).min(room).max(1);
    let area = body.middle(COLUMNS, ROWS + message_rows + more);
    let hints = "Enter start  Tab next  Space change  Ctrl-X editor  Esc back";
    let hints = if area.cols < 70 { "Enter start  Tab next  Ctrl-X editor  Esc back" } else { hints };
    let inside = framed(model, grid, area, &form.title(), hints);
    label(model, form, grid, Point { col: inside.col + 1, row: inside.row }, AgentField::Message);
    let message = Rect {
        col: inside.col + 3,
        row: inside.row + 1,
        cols: inside.cols.saturating_sub(5),
        rows: message_rows,
    };
    dialogs::text_area(model, grid, &form.message, message);
    let mut cursor = grid.cursor.filter(|_| form.field == AgentField::Message);
    let fields = [AgentField::Mode, AgentField::Model];
    for (row, field) in (message.bottom()..).zip(fields) {
        label(model, form, grid, Point { col: inside.col + 1, row }, field);
        let place = Rect { col: inside.col + 12, row, cols: inside.cols.saturating_sub(14), rows: 1 };
        value(model, form, grid, place, field);
        cursor = if form.field == field { grid.cursor } else { cursor };
    }
    grid.cursor = cursor;
    for (row, line) in (message.bottom() + 3..inside.bottom()).zip(&notes) {
        grid.text(Point { col: inside.col + 1, row }, line, text(model, role), columns);
    }
}

fn label(model: &Model, form: &AgentForm, grid: &mut Grid, at: Point, field: AgentField) {
    let role = if field == form.field { Role::Focus } else { Role::Text };
    grid.text(at, field.label(), text(model, role), COLUMNS);
}

/// Draws what a field holds, or what stands for it while it is empty, and puts the cursor there.
fn value(model: &Model, form: &AgentForm, grid: &mut Grid, place: Rect, field: AgentField) {
    let settings = &form.settings;
    if field == AgentField::Model && !settings.model.text().is_empty() {
        return dialogs::line(model, grid, &settings.model, place);
    }
    let is_mode = field == AgentField::Mode;
    let words = if is_mode { settings.mode_words() } else { SettingsFields::MODEL_HINT.to_owned() };
    let role = if is_mode && form.field == field { Role::Active } else { Role::Dim };
    let at = Point { col: place.col, row: place.row };
    grid.text(at, &cut(&words, place.cols, model.looks.is_ascii), text(model, role), place.cols);
    grid.cursor = Some(ShownCursor { at, form: None });
}

/// What is said below: why it could not be started, or that it is being.
fn note(form: &AgentForm) -> (String, Role) {
    match &form.fault {
        Some(fault) => (fault.clone(), Role::Alert),
        None if form.is_sent => (format!("{} is being started", form.agent), Role::Active),
        None => (String::new(), Role::Dim),
    }
}
