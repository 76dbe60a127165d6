//! Counts how much of each keyed write was accepted and written, so that a daemon can continue what the one
//! before it began.
//!
//! The table is bounded: the oldest keys are forgotten first. A client that repeats a write does so within a
//! minute.

use std::collections::VecDeque;

use crate::wire::KeyState;

/// The number of keys that the table keeps.
const MOST_KEYS: usize = 256;

/// The newest keys, oldest first.
#[derive(Default)]
pub(crate) struct KeyedInputs(VecDeque<KeyState>);

impl KeyedInputs {
    /// Counts an accepted input of this many bytes.
    pub(crate) fn accepted(&mut self, key: Vec<u8>, note: u64, length: u64) {
        if let Some(state) = self.find(&key) {
            (state.note, state.accepted) = (note, state.accepted + length);
            return;
        }
        if self.0.len() == MOST_KEYS {
            self.0.pop_front();
        }
        self.0.push_back(KeyState { key, note, accepted: length, ..KeyState::default() });
    }

    /// Counts the written bytes of a finished input.
    pub(crate) fn finished(&mut self, key: &[u8], written: u64) {
        if let Some(state) = self.find(key) {
            state.written += written;
        }
    }

    /// Returns the state of a key. An unknown key has no accepted bytes.
    pub(crate) fn state_of(&self, key: Vec<u8>) -> KeyState {
        let known = self.0.iter().rev().find(|state| state.key == key).cloned();
        known.unwrap_or(KeyState { key, ..KeyState::default() })
    }

    fn find(&mut self, key: &[u8]) -> Option<&mut KeyState> {
        self.0.iter_mut().rev().find(|state| state.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7d_the_newest_keys_are_remembered_and_the_oldest_are_forgotten() {
        let mut keys = KeyedInputs::default();
        for number in 0..=MOST_KEYS {
            keys.accepted(number.to_string().into_bytes(), 7, 3);
        }
        keys.accepted(b"5".to_vec(), 8, 2);
        keys.finished(b"5", 4);
        assert_eq!(keys.0.len(), MOST_KEYS);
        assert_eq!(keys.state_of(b"0".to_vec()).accepted, 0);
        let known = keys.state_of(b"5".to_vec());
        assert_eq!((known.note, known.accepted, known.written), (8, 5, 4));
    }
}
