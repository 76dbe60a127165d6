//! A word to people who are attached to something else: a bell and a notification of their own terminal.
//!
//! Owns its bytes and whom it reaches. Refuses waiting and refuses breaking into a sequence: it comes in front of a
//! drawing of the whole screen, and a viewer that has not taken everything before it is spared.

use std::time::Instant;

use engine::{RunKey, ViewerId};
use proto::{Owner, Printable};

use super::worker::Worker;

/// Longest text: it is shown in one line somewhere above everything else.
const LONGEST: usize = 200;

/// What a terminal is sent: BEL, and OSC 9 with a text that cannot end it early.
pub(crate) fn sound(title: &str, body: &str) -> Vec<u8> {
    let words: String = if body.is_empty() { title.to_owned() } else { format!("{title}: {body}") };
    let text: String = Printable(&words).to_string().chars().take(LONGEST).collect();
    format!("\x07\x1b]9;{text}\x1b\\").into_bytes()
}

impl Worker {
    /// Sounds on the terminal of every person who looks at another run than this.
    pub(super) fn alert(&mut self, about: RunKey, sound: &[u8], now: Instant) {
        let is_meant = |viewer: &&super::viewer::Viewer| {
            let takes_sounds = viewer.by == Owner::User && !viewer.needs_every_byte();
            viewer.run != about && takes_sounds && viewer.is_clear() && !viewer.is_closing()
        };
        let meant: Vec<ViewerId> = self.viewers.values().filter(is_meant).map(|viewer| viewer.id).collect();
        for id in meant {
            let Some(viewer) = self.viewers.get_mut(&id) else { continue };
            let slot = self.by_run.get(&viewer.run).and_then(|number| self.slots.get(number));
            if let Some(slot) = slot {
                slot.run.repaint_after(viewer, sound, now);
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
