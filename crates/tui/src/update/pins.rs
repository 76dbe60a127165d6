//! Keeps what is selected in a list by identity: after every message the open lists name what they show as selected. When that
//! goes away by itself, a key that was on its way to it must not hit what took its place.

use crate::message::Message;
use crate::model::Model;
use crate::model::overlay::Overlay;

/// How long after the selection has changed by itself a key that acts on it is refused, in milliseconds.
const STRAY_MS: u64 = 500;

/// Returns true if a message is something that the person did: what is selected then changes because they wanted it to.
pub(super) fn is_persons(message: &Message) -> bool {
    matches!(message, Message::Input(_) | Message::Edited(..))
}

/// Pins the selection of every open list.
pub(super) fn keep(model: &mut Model, is_persons: bool) {
    if model.overlays.is_empty() {
        return;
    }
    let now = (!is_persons).then_some(model.now.ms);
    let area = model.areas().deck;
    let mut overlays = std::mem::take(&mut model.overlays);
    for overlay in &mut overlays {
        match overlay {
            Overlay::Inbox(view) => view.pin(&model.crew, now),
            Overlay::Tasks(view) => view.pin(&model.crew, now),
            Overlay::Wall(wall) => wall.pin(&model.crew, area, now),
            Overlay::Palette(palette) => {
                let entries = palette.entries(model);
                palette.pin(&entries);
            }
            _ => {}
        }
    }
    model.overlays = overlays;
}

/// Returns true if a key was meant for what was selected a moment ago. The person is told so once; the next key counts.
pub(super) fn is_stray(model: &mut Model) -> bool {
    let now = model.now.ms;
    let changed = match model.overlays.last_mut() {
        Some(Overlay::Inbox(view)) => view.changed.take(),
        Some(Overlay::Tasks(view)) => view.changed.take(),
        Some(Overlay::Wall(wall)) => wall.changed.take(),
        _ => None,
    };
    let is_stray = changed.is_some_and(|changed| now < changed + STRAY_MS);
    if is_stray {
        model.alert("not done: what was selected has just gone; look, and press it again", None);
    }
    is_stray
}
