//! The menu of a row of the rail, beside the place that was clicked.

use super::{framed, text};
use crate::frame::{Grid, Point, Rect};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::row_menu::RowMenu;
use crate::theme::Role;

/// Columns of the menu, its frame included.
const COLUMNS: u16 = 32;
/// Columns of a key.
const KEY: u16 = 7;

fn place(model: &Model, menu: &RowMenu) -> Rect {
    let body = model.areas().body;
    let rows = u16::try_from(menu.acts(model).len()).unwrap_or(u16::MAX).saturating_add(2).min(body.rows);
    let cols = COLUMNS.min(body.cols);
    let col = menu.at.col.saturating_add(1).min(body.right() - cols);
    let row = menu.at.row.clamp(body.row, body.bottom() - rows);
    Rect { col, row, cols, rows }
}

pub(crate) fn draw(model: &Model, menu: &RowMenu, grid: &mut Grid) {
    let title = menu.item.name(model);
    let inside = framed(model, grid, place(model, menu), &title, "Enter do  Esc back");
    let first = first_act(menu, inside);
    for (row, (at, act)) in (inside.row..inside.bottom()).zip(menu.acts(model).iter().enumerate().skip(first))
    {
        let key = act.key.as_deref().unwrap_or_default();
        grid.text(Point { col: inside.col + 1, row }, key, text(model, Role::Active), KEY);
        let words = Point { col: inside.col + 1 + KEY, row };
        grid.text(words, act.label, text(model, Role::Text), inside.cols.saturating_sub(KEY + 1));
        if at == menu.selected {
            let select = text(model, Role::Select);
            grid.restyle(Rect { row, rows: 1, ..inside }, |style| *style = select);
        }
    }
}

/// The first act in sight: the selected one always is.
fn first_act(menu: &RowMenu, inside: Rect) -> usize {
    (menu.selected + 1).saturating_sub(usize::from(inside.rows).max(1))
}

/// What a click hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    Act(usize),
    Frame,
    Outside,
}

pub(crate) fn hit(model: &Model, at: Point) -> Hit {
    let Some(Overlay::RowMenu(menu)) = model.overlays.last() else { return Hit::Outside };
    let place = place(model, menu);
    let inside = place.inside();
    match () {
        () if inside.contains(at) => Hit::Act(first_act(menu, inside) + usize::from(at.row - inside.row)),
        () if place.contains(at) => Hit::Frame,
        () => Hit::Outside,
    }
}
