//! What programs write to the clipboard (OSC 52): as shipped nothing of it goes on.

use crate::message::Command;
use crate::model::Model;
use crate::model::overlay::POPUP;
use crate::model::splits::PaneId;

/// The most bytes that a program may copy.
const MAX: usize = 64 << 10; // 64 KiB

/// A program asks to write the clipboard. Only the one that has the keyboard may, and only if the person allows it.
pub(super) fn take(model: &mut Model, pane: PaneId, text: &[u8]) -> Vec<Command> {
    let is_allowed = model.looks.clipboard.has_children && model.has_focus;
    if !is_allowed || text.is_empty() || super::typed_pane(model) != Some(pane) {
        return Vec::new();
    }
    let process = if pane == POPUP { model.popup() } else { model.process_of(pane) };
    let name = process.map(|process| model.name(process)).unwrap_or_default();
    if text.len() > MAX {
        model.toast(format!("{name} wanted to copy {} bytes: more than {MAX}", text.len()));
        return Vec::new();
    }
    vec![Command::CopyFor(name, String::from_utf8_lossy(text).into_owned())]
}
