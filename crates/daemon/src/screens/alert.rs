//! Alerts people who are attached to a process: a bell and a notification on their own terminal. The engine
//! sends no alert for what a viewer already sees. An alert never waits and never breaks into a sequence: it
//! comes before a repaint of the whole screen, and a viewer with pending output is skipped.

use std::time::Instant;

use engine::ViewerId;
use proto::{Owner, Printable};

use super::worker::Worker;

/// The longest text: terminals show it in one line above everything else.
const LONGEST: usize = 200;

/// Returns the bytes for a terminal: BEL, and OSC 9 with a text that cannot end it early.
pub(crate) fn sound(title: &str, body: &str) -> Vec<u8> {
    let words: String = if body.is_empty() { title.to_owned() } else { format!("{title}: {body}") };
    let text: String = Printable(&words).to_string().chars().take(LONGEST).collect();
    format!("\x07\x1b]9;{text}\x1b\\").into_bytes()
}

impl Worker {
    /// Alerts every attached person.
    pub(super) fn alert(&mut self, sound: &[u8], now: Instant) {
        let is_meant = |viewer: &&super::viewer::Viewer| {
            let takes_sounds = viewer.by == Owner::User && !viewer.needs_every_byte();
            takes_sounds && viewer.is_clear() && !viewer.is_closing()
        };
        let meant: Vec<ViewerId> = self.viewers.values().filter(is_meant).map(|viewer| viewer.id).collect();
        for id in meant {
            let Some(viewer) = self.viewers.get_mut(&id) else { continue };
            let slot = self.by_run.get(&viewer.run).and_then(|number| self.slots.get(number));
            if let Some(slot) = slot {
                slot.run.output().repaint_after(viewer, sound, now);
            }
            self.catch_up(id, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_a_text_cannot_end_its_own_sequence() {
        let bytes = sound("a\x1b\\\x07b\u{9c}", "c\x1b]52;c;eA==\x07");
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches('\x1b').count(), 2, "{text:?}");
        assert!(text.starts_with("\x07\x1b]9;") && text.ends_with("\x1b\\"), "{text:?}");
        assert_eq!(text.matches('\x07').count(), 1, "{text:?}");
        assert!(sound("x", &"y".repeat(10_000)).len() < 1_000);
    }
}
