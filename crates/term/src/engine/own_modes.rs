//! Modes that the emulator does not keep, and the modes that a program has saved (XTSAVE).

/// Modes that can be saved and restored.
const SAVED_MODES: [u16; 19] =
    [1, 5, 6, 7, 9, 12, 25, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1016, 2004, 2027, 2031];

/// The modes of one terminal beside the emulator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnModes {
    /// Mode 2031: the child wants to know about light and dark.
    pub(super) color_scheme_updates: bool,
    /// True once the child has chosen the form of the cursor.
    pub(super) is_cursor_chosen: bool,
    /// Mode 5.
    pub(super) reverse_video: bool,
    /// Mode 1016.
    pub(super) mouse_pixels: bool,
    saved: Vec<(u16, bool)>,
}

impl OwnModes {
    /// Returns the modes that a sequence names and that can be saved.
    pub(super) fn savable(names: impl Fn(u16) -> bool) -> impl Iterator<Item = u16> {
        SAVED_MODES.into_iter().filter(move |mode| names(*mode))
    }

    /// Saves a mode.
    pub(super) fn save(&mut self, mode: u16, on: bool) {
        self.saved.retain(|(saved, _)| *saved != mode);
        self.saved.push((mode, on));
    }

    /// Returns the saved modes that a sequence names, those that were off first, because switching one kind
    /// of mouse report off switches all of them off.
    pub(super) fn to_restore(&self, names: impl Fn(u16) -> bool) -> Vec<(u16, bool)> {
        let wanted = self.saved.iter().copied().filter(|(mode, _)| names(*mode));
        let (on, off): (Vec<_>, Vec<_>) = wanted.partition(|(_, is_on)| *is_on);
        off.into_iter().chain(on).collect()
    }

    /// Returns the saved modes, by number, and whether they were on.
    pub(super) fn saved(&self) -> &[(u16, bool)] {
        &self.saved
    }

    /// Sets the saved modes of a checkpoint, and drops those that cannot be saved.
    pub(super) fn set_saved(&mut self, saved: &[(u16, bool)]) {
        let is_known = |saved: &(u16, bool)| SAVED_MODES.contains(&saved.0);
        self.saved = saved.iter().copied().filter(is_known).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_were_off_are_restored_before_those_that_were_on() {
        let mut modes = OwnModes::default();
        modes.save(1003, true);
        modes.save(1000, true);
        modes.save(1002, false);
        modes.save(1000, false);
        assert_eq!(modes.to_restore(|_| true), [(1002, false), (1000, false), (1003, true)]);
        assert_eq!(modes.to_restore(|mode| mode == 1003), [(1003, true)]);
    }

    #[test]
    fn only_modes_that_can_be_saved_are_kept() {
        let mut modes = OwnModes::default();
        modes.set_saved(&[(7, true), (8, true), (2004, false)]);
        assert_eq!(modes.saved(), [(7, true), (2004, false)]);
        assert_eq!(OwnModes::savable(|mode| mode < 8).collect::<Vec<_>>(), [1, 5, 6, 7]);
    }
}
