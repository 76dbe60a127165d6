//! Where lines of the chrome meet, they are joined.

use super::{put, text};
use crate::frame::{Grid, Rect};
use crate::model::Model;
use crate::theme::Role;

const ACROSS: &str = "─";
const DOWN: &str = "│";

/// Joins the lines between rail, panes and titles. Called before screens are copied in, so that only lines of the chrome
/// are met.
pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    if model.looks.is_ascii {
        return;
    }
    let body = Rect { row: 1, rows: model.size.rows.saturating_sub(2), ..Rect::of(model.size) };
    let mut joints = Vec::new();
    for row in body.row..body.bottom() {
        for col in body.col..body.right() {
            if let Some(glyph) = joint(grid, body, col, row) {
                joints.push((col, row, glyph));
            }
        }
    }
    let style = text(model, Role::Border);
    joints.into_iter().for_each(|(col, row, glyph)| put(grid, col, row, glyph, style));
}

fn joint(grid: &Grid, body: Rect, col: u16, row: u16) -> Option<&'static str> {
    let at = |col: Option<u16>, row: Option<u16>| -> &str {
        let (Some(col), Some(row)) = (col, row) else { return "" };
        let is_inside = body.contains(crate::frame::Point { col, row });
        grid.row(row).get(usize::from(col)).filter(|_| is_inside).map_or("", |cell| cell.text.as_str())
    };
    let here = at(Some(col), Some(row));
    if here != ACROSS && here != DOWN {
        return None;
    }
    let left = at(col.checked_sub(1), Some(row)) == ACROSS;
    let right = at(Some(col + 1), Some(row)) == ACROSS;
    let up = at(Some(col), row.checked_sub(1)) == DOWN;
    let down = at(Some(col), Some(row + 1)) == DOWN;
    match here {
        DOWN => match (left, right, up) {
            (true, true, false) => Some("┬"),
            (true, true, true) => Some(if down { "┼" } else { "┴" }),
            (false, true, _) => Some("├"),
            (true, false, _) => Some("┤"),
            (false, false, _) => None,
        },
        ACROSS if up && !down => Some("┴"),
        _ => None,
    }
}
