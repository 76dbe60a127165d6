//! The row of tabs, and the project at its end.

use super::{cut, on_bar, put, text, text_to};
use crate::frame::{Grid, Point, width};
use crate::model::Model;
use crate::theme::{Mark, Role};

/// Columns of the longest title of a tab.
const TITLE_MAX: u16 = 20;

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
    let project = std::path::Path::new(&model.place.project).file_name();
    let project =
        project.map_or_else(String::new, |name| proto::Printable(&name.to_string_lossy()).to_string());
    let words =
        if model.place.own.is_some() { format!("{project} (inside qd) ") } else { format!("{project} ") };
    text_to(grid, model.size.cols, row, &words, text(model, Role::Bar));
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

fn labels(model: &Model) -> Vec<Label> {
    let mut col = 0;
    let mut labels = Vec::new();
    for (at, tab) in model.deck.tabs.iter().enumerate() {
        let process = model.deck.panes.get(&tab.focus).and_then(|id| model.crew.get(*id));
        let name = process.map_or_else(|| "gone".to_owned(), |process| process.name.to_string());
        let label = Label {
            hit: Hit::Tab(at),
            col,
            number: (at + 1).to_string(),
            mark: process.map(|process| model.crew.mark(process)),
            name: cut(&name, TITLE_MAX, model.looks.is_ascii),
        };
        col += columns(&label);
        labels.push(label);
    }
    labels.push(Label { hit: Hit::New, col, number: String::new(), mark: None, name: "+".to_owned() });
    labels
}
