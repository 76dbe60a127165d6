//! The keys that the deck has taken: no program hears of their release.

use term::KeyCode;

/// Most keys that are remembered as held down.
const HELD_MAX: usize = 8;

/// The keys that the deck has taken for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnKeys {
    /// The person has pressed the prefix since the start.
    pub(crate) prefix_tried: bool,
    /// Pressed, and not released as far as the terminal tells: no program hears of their release.
    held: Vec<KeyCode>,
}

impl OwnKeys {
    /// Notes a key that was pressed: for the deck, or for a program.
    pub(crate) fn pressed(&mut self, code: KeyCode, is_own: bool) {
        self.held.retain(|held| *held != code);
        if is_own {
            self.held.push(code);
            // Most terminals tell of no release.
            let excess = self.held.len().saturating_sub(HELD_MAX);
            self.held.drain(..excess);
        }
    }

    /// Notes a release; returns true if the deck had taken the key.
    pub(crate) fn released(&mut self, code: KeyCode) -> bool {
        let before = self.held.len();
        self.held.retain(|held| *held != code);
        self.held.len() < before
    }
}
