//! The row of tabs, and the project at its end.

use super::{cut, on_bar, put, text, text_to};
use crate::frame::{Grid, Point, width};
use crate::model::Model;
use crate::theme::{Mark, Role};

/// Columns of the longest title of a tab.
const TITLE_MAX: u16 = 20;

/// Columns of the sign for a new tab, with room beside it.
const NEW_COLUMNS: u16 = 5;

/// What a click hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    Tab(usize),
    New,
}

struct Label {
    hit: Hit,
    col: u16,
    number: String,
    mark: Option<Mark>,
    name: String,
}

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let row = model.areas().tabs.row;
    grid.fill(model.areas().tabs, text(model, Role::Bar));
    for label in labels(model) {
        let is_active = label.hit == Hit::Tab(model.deck.active);
        let role = if is_active { Role::Select } else { Role::Bar };
        let style = text(model, role);
        let all = format!(" {}", label.number);
        let mut col = grid.text(Point { col: label.col, row }, &all, style, u16::MAX);
        if let Some(mark) = label.mark {
            let marked = if is_active { style } else { on_bar(model, mark.role()) };
            put(grid, col, row, mark.glyph(model.looks.is_ascii), marked);
            col += 1;
        }
        grid.text(Point { col, row }, &format!(" {} ", label.name), style, u16::MAX);
    }
    text_to(grid, model.size.cols, row, &project_words(model), text(model, Role::Bar));
}

/// Which tab a place belongs to.
pub(crate) fn hit(model: &Model, at: Point) -> Option<Hit> {
    let labels = labels(model);
    let found = labels.iter().rev().find(|label| label.col <= at.col)?;
    let is_inside = at.col < found.col + columns(found);
    is_inside.then_some(found.hit)
}

fn columns(label: &Label) -> u16 {
    3 + width::columns(&label.number) + width::columns(&label.name) + u16::from(label.mark.is_some())
}

/// The tabs that fit, the shown one always among them, and the sign for a new one.
fn labels(model: &Model) -> Vec<Label> {
    let all: Vec<Label> = (0..model.deck.tabs.len()).map(|at| label(model, at)).collect();
    let project = width::columns(&project_words(model));
    let room = model.size.cols.saturating_sub(project + NEW_COLUMNS);
    let active = model.deck.active.min(all.len().saturating_sub(1));
    let mut left = room;
    let behind = |label: &&Label| {
        let fits = columns(label) <= left;
        left = left.saturating_sub(columns(label));
        fits
    };
    let shown = all.get(..=active).unwrap_or_default().iter().rev().take_while(behind).count();
    let first = (active + 1).saturating_sub(shown.max(1)).min(all.len());
    let mut col = 0;
    let mut labels = Vec::new();
    for label in all.into_iter().skip(first) {
        if col + columns(&label) > room && !labels.is_empty() {
            break;
        }
        let next = col + columns(&label);
        labels.push(Label { col, ..label });
        col = next;
    }
    labels.push(Label { hit: Hit::New, col, number: String::new(), mark: None, name: "+".to_owned() });
    labels
}

fn label(model: &Model, at: usize) -> Label {
    let tab = model.deck.tabs.get(at);
    let process = tab.and_then(|tab| model.crew.get(*model.deck.panes.get(&tab.focus)?));
    let name = process.map_or_else(|| "gone".to_owned(), |process| process.name.to_string());
    // Its most urgent process marks a tab: nobody who waits is hidden behind the pane that was used last.
    let panes = tab.map(|tab| tab.root.panes()).unwrap_or_default();
    let processes = panes.iter().filter_map(|pane| model.crew.get(*model.deck.panes.get(pane)?));
    let mark = processes.map(|process| model.crew.mark(process)).min();
    Label {
        hit: Hit::Tab(at),
        col: 0,
        number: (at + 1).to_string(),
        mark,
        name: cut(&name, TITLE_MAX, model.looks.is_ascii),
    }
}

/// The project, and that this deck runs in another.
fn project_words(model: &Model) -> String {
    let project = std::path::Path::new(&model.place.project).file_name();
    let project =
        project.map_or_else(String::new, |name| proto::Printable(&name.to_string_lossy()).to_string());
    if model.place.own.is_some() { format!("{project} (inside qd) ") } else { format!("{project} ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::model::Place;
    use proto::{ProcessId, Size};

    #[test]
    fn the_shown_tab_is_in_sight_however_many_there_are() {
        let size = Size { cols: 60, rows: 16 };
        let mut model = Model::new(size, Config::default().looks, Place::default());
        (1..=30).for_each(|number| model.deck.open(ProcessId::from_entropy(number)));
        for active in 0..30 {
            model.deck.active = active;
            let labels = labels(&model);
            assert!(labels.iter().any(|label| label.hit == Hit::Tab(active)), "{active}");
            assert!(labels.iter().all(|label| label.col + columns(label) <= size.cols), "{active}");
        }
    }
}
