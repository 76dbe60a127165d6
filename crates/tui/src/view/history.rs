//! The lines of a process in its pane: scrolled, searched, selected.

use term::Attributes;

use super::{text, text_to};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::deck::Deck;
use crate::model::history::{History, HistoryPosition, Sought};
use crate::theme::Role;

pub(crate) fn draw(model: &Model, history: &History, grid: &mut Grid) {
    let place = model.deck.places(model.areas().deck).into_iter().find(|(pane, _)| *pane == history.pane);
    let Some((_, place)) = place else { return };
    let screen = Deck::screen_of(place);
    for row in 0..screen.rows {
        let line = history.top + usize::from(row);
        let cells = history.lines.get(line).map_or(&[][..], |line| &line.cells);
        grid.copy_row(screen, row, cells);
        for col in 0..screen.cols {
            if history.is_selected(HistoryPosition { line, col: usize::from(col) }) {
                let part = Rect { col: screen.col + col, row: screen.row + row, cols: 1, rows: 1 };
                grid.restyle(part, invert);
            }
        }
    }
    let below = history.lines.len().saturating_sub(history.top + usize::from(screen.rows));
    let here = history.cursor.line + 1;
    let count = history.count().max(here);
    let words = match (history.is_loading, below) {
        (true, _) if history.sought == Some(Sought::Top) => " going to the top ".to_owned(),
        (true, _) if history.sought.is_some() => " searching above ".to_owned(),
        (true, _) => " loading ".to_owned(),
        (false, 0) if history.anchor.is_none() => " bottom ".to_owned(),
        (false, _) if history.is_complete => format!(" {here} of {count} "),
        // How many there are is not known before the first one is here.
        (false, _) => format!(" {} lines below ", count - here),
    };
    text_to(grid, place.right().saturating_sub(1), place.row, &words, text(model, Role::Warn));
    let row = u16::try_from(history.cursor.line.saturating_sub(history.top)).unwrap_or(0);
    let col = u16::try_from(history.cursor.col).unwrap_or(0).min(screen.cols.saturating_sub(1));
    let at = Point { col: screen.col + col, row: screen.row + row.min(screen.rows.saturating_sub(1)) };
    grid.cursor = (!history.is_casual).then_some(ShownCursor { at, form: None });
}

fn invert(style: &mut term::Style) {
    if style.attributes.contains(Attributes::INVERSE) {
        *style = term::Style { fg: style.fg, bg: style.bg, ..term::Style::default() };
    } else {
        style.attributes.insert(Attributes::INVERSE);
    }
}
