//! The version of a screen for readers: a number that grows with what is shown, as long as the run lives.
//!
//! A version contains the offset of the log that its screen shows, so it means the same to every daemon that
//! ever adopts the run.

/// How many low bits count the changes without output, such as a resize: the others are the offset of the
/// log. An offset of two terabytes still makes a number that every reader of JSON can hold.
const BITS: u32 = 12;

/// The version that readers of one screen have got.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The emulator's version of the last returned state.
    shown: Option<u64>,
    given: u64,
}

impl Versions {
    /// Returns the version of this state of the screen, which shows all output before the offset. States come
    /// in order, because the screen is locked.
    pub(crate) fn version_at(&mut self, shown: u64, offset: u64) -> u64 {
        if self.shown != Some(shown) {
            let by_output = offset << BITS;
            let by_itself = if self.shown.is_some() { after(self.given) } else { self.given };
            (self.shown, self.given) = (Some(shown), by_output.max(by_itself));
        }
        self.given
    }

    /// Returns a version that no reader has got: the next daemon continues with it.
    pub(crate) fn next(&self) -> u64 {
        if self.shown.is_some() { after(self.given) } else { self.given }
    }

    /// Continues where an earlier daemon ended.
    pub(crate) fn go_on_from(&mut self, next: u64) {
        *self = Self { shown: None, given: next };
    }
}

/// Returns the next version of a screen without more output. After thousands it stays the same: the offset
/// must stay true.
fn after(version: u64) -> u64 {
    let next = version.saturating_add(1);
    if offset_of(next) == offset_of(version) { next } else { version }
}

/// Returns how much of the log the screen of this version shows at least.
pub(crate) fn offset_of(version: u64) -> u64 {
    version >> BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_grows_with_every_change_and_names_its_offset() {
        let mut versions = Versions::default();
        let given: Vec<u64> = [(1, 0), (2, 10), (3, 10), (4, 9), (5, 11)]
            .map(|(shown, offset)| {
                let given = versions.version_at(shown, offset);
                // The same version again, also when output came that changed nothing.
                assert_eq!(versions.version_at(shown, offset + 5), given);
                given
            })
            .to_vec();
        assert!(given.is_sorted_by(|one, next| one < next), "{given:?}");
        assert_eq!(given.iter().map(|version| offset_of(*version)).collect::<Vec<_>>(), [0, 10, 10, 10, 11]);
    }

    #[test]
    fn what_the_next_daemon_tells_is_above_whatever_was_told() {
        let mut versions = Versions::default();
        let mut last = 0;
        for daemon in 0..10 {
            for resize in 0..5 {
                last = versions.version_at(resize, 1000);
            }
            let next = versions.next();
            versions.go_on_from(next);
            let first = versions.version_at(0, 1000);
            assert!(first > last, "daemon {daemon}: {first} after {last}");
            assert_eq!(offset_of(first), 1000);
        }
    }

    #[test]
    fn thousands_of_changes_without_output_do_not_make_up_output() {
        let mut versions = Versions::default();
        let last = (0..10_000).map(|shown| versions.version_at(shown, 7)).last();
        assert_eq!(last.map(offset_of), Some(7));
    }
}
