//! Titles of the panes and the lines between them.

use super::{cut, lines, put, text, text_to};
use crate::frame::{Grid, Point, Rect, width};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::splits::PaneId;
use crate::theme::{Mark, Role};

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let area = model.areas().deck;
    for (at, (pane, place)) in model.places().into_iter().enumerate() {
        title(model, grid, pane, place, at);
        // A pane that has another at its right has a line there.
        if place.right() < area.right() {
            for row in place.row..place.bottom() {
                put(grid, place.right(), row, lines(model)[5], text(model, Role::Border));
            }
        }
    }
}

/// The pane that has the keyboard, or is selected on the wall.
fn is_focused(model: &Model, pane: PaneId, at: usize) -> bool {
    match model.base_view() {
        Some(Overlay::Wall(wall)) => match wall.selected {
            Some(selected) => model.process_of(pane) == Some(selected),
            None => at == 0,
        },
        _ => model.deck.focused().is_some_and(|(focused, _)| focused == pane) && !model.rail.has_keys,
    }
}

fn title(model: &Model, grid: &mut Grid, pane: PaneId, place: Rect, at: usize) {
    let is_focused = is_focused(model, pane, at);
    let border = text(model, if is_focused { Role::Focus } else { Role::Border });
    for col in place.col..place.right() {
        put(grid, col, place.row, lines(model)[4], border);
    }
    let Some(process) = model.process_of(pane).and_then(|id| model.crew.get(id)) else { return };
    let mark = model.crew.mark(process);
    let number = matches!(model.base_view(), Some(Overlay::Wall(_))).then(|| format!("{} ", at + 1));
    let is_title =
        model.looks.has_titles && !process.title.is_empty() && process.title != process.name.as_str();
    let own_title = if is_title { format!("  {}", process.title) } else { String::new() };
    let mut state = model.state_words(process);
    let wanted = width::columns(process.name.as_str()) + number.as_deref().map_or(0, width::columns);
    // In a narrow pane how long somebody waits is left out before the name is cut, and of all others the mark says enough.
    let is_tight = |state: &str| place.cols.saturating_sub(width::columns(state) + 8) < wanted;
    if is_tight(&state) {
        state = if mark == Mark::Blocked { mark.word().to_owned() } else { String::new() };
    }
    let room = place.cols.saturating_sub(width::columns(&state) + 8);
    let name = cut(
        &format!("{}{}{own_title}", number.unwrap_or_default(), process.name),
        room,
        model.looks.is_ascii,
    );
    let name_role = if is_focused { Role::Focus } else { Role::Text };
    grid.text(
        Point { col: place.col + 1, row: place.row },
        &format!(" {name} "),
        text(model, name_role),
        room + 2,
    );
    let blank = if state.is_empty() { "" } else { " " };
    let state = format!(" {}{blank}{state} ", mark.glyph(model.looks.is_ascii));
    text_to(grid, place.right().saturating_sub(1), place.row, &state, text(model, mark.role()));
}
