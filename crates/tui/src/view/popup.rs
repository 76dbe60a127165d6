//! The window over the deck in which a command of the person's own runs until it ends.

use proto::ProcessId;

use super::framed;
use crate::frame::{Grid, Rect};
use crate::keymap::{Action, Context};
use crate::model::Model;

/// How much of the deck it covers, in tenths.
const TENTHS: u16 = 9;

fn place(model: &Model) -> Rect {
    let body = model.areas().body;
    let part = |length: u16| u16::try_from(u32::from(length) * u32::from(TENTHS) / 10).unwrap_or(length);
    body.middle(part(body.cols), part(body.rows))
}

/// Where its program draws.
pub(crate) fn screen(model: &Model) -> Rect {
    place(model).inside()
}

pub(crate) fn draw(model: &Model, process: ProcessId, grid: &mut Grid) {
    let keymap = &model.looks.keymap;
    let close = keymap.key_of(Context::Deck, Action::CloseView);
    let hints =
        close.map(|key| format!("{} {key} closes the window, the command goes on", keymap.prefix_text()));
    framed(model, grid, place(model), &model.name(process), &hints.unwrap_or_default());
}
