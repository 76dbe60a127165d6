//! Which version of a screen was told when: from a version back to the offset of the log it showed.
//!
//! Owns the newest versions that readers were told. Refuses guessing: a version that nobody was told has no offset.

use std::collections::VecDeque;

/// How many versions of one screen are remembered.
const MOST: usize = 64;

/// Versions that were told, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    told: VecDeque<(u64, u64)>,
}

impl Versions {
    /// A reader is told this version; everything before the offset is on that screen. The first word counts: output
    /// that changes nothing visible may follow under the same version.
    pub(crate) fn note(&mut self, version: u64, offset: u64) {
        if self.offset_of(version).is_some() {
            return;
        }
        if self.told.len() == MOST {
            self.told.pop_front();
        }
        self.told.push_back((version, offset));
    }

    /// Where in the log this version was told.
    pub(crate) fn offset_of(&self, version: u64) -> Option<u64> {
        self.told.iter().find(|(told, _)| *told == version).map(|(_, offset)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_versions_are_known_and_the_first_word_counts() {
        let mut versions = Versions::default();
        for version in 1..=100 {
            versions.note(version, version * 10);
            versions.note(version, version * 10 + 5);
        }
        assert_eq!(versions.offset_of(100), Some(1000));
        assert_eq!(versions.offset_of(37), Some(370));
        assert_eq!((versions.offset_of(36), versions.offset_of(101)), (None, None));
    }
}
