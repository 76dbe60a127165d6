//! Character sets: which of G0 to G3 is in use, for one character or permanently, and what DECSC saves of it.
//! The emulator knows the characters of ASCII and line drawing; every other set is treated as ASCII.

use rio_vt::ansi::mode::NamedPrivateMode;
use rio_vt::crosswords::Mode;
use rio_vt::crosswords::pos::{CharsetIndex, StandardCharset};
use rio_vt::performer::handler::Handler;

use super::terminal::Terminal;

/// What DECSC saves besides pen and position. All zero in a fresh terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shifts {
    /// Which of G0 to G3 is in use.
    pub(crate) charset: u8,
    /// Origin mode.
    pub(crate) origin: bool,
}

/// The character sets in use, and what DECSC saved besides pen and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Charsets {
    pub(super) active: CharsetIndex,
    /// The set for the next character only (SS2, SS3).
    pub(super) single: Option<CharsetIndex>,
    /// Saved on the visible grid.
    pub(super) saved: Shifts,
    /// Saved on the other grid.
    pub(super) other_saved: Shifts,
}

impl Default for Charsets {
    fn default() -> Charsets {
        let (saved, other_saved) = (Shifts::default(), Shifts::default());
        Charsets { active: CharsetIndex::G0, single: None, saved, other_saved }
    }
}

impl Charsets {
    /// Shows the alternate grid, on which `current` counts as saved: an older save there must not leak into
    /// this visit.
    pub(super) fn enter_alternate(&mut self, current: Shifts) {
        self.other_saved = self.saved;
        self.saved = current;
    }

    /// Shows the main grid again, with what was saved there.
    pub(super) fn leave_alternate(&mut self) {
        self.saved = self.other_saved;
    }
}

pub(super) const CHARSETS: [CharsetIndex; 4] =
    [CharsetIndex::G0, CharsetIndex::G1, CharsetIndex::G2, CharsetIndex::G3];

impl Terminal {
    /// Returns what DECSC would save now.
    pub(super) fn shifts(&self) -> Shifts {
        Shifts { charset: self.charsets.active as u8, origin: self.inner.mode().contains(Mode::ORIGIN) }
    }

    pub(super) fn set_shifts(&mut self, shifts: Shifts) {
        self.set_active_charset(CHARSETS[usize::from(shifts.charset & 3)]);
        self.apply_private_mode(NamedPrivateMode::Origin as u16, shifts.origin);
    }

    /// Prints the one character that a single shift applies to.
    pub(super) fn input_shifted(&mut self, character: char) {
        let Some(index) = self.charsets.single.take() else { return };
        self.inner.set_active_charset(index);
        self.input(character);
        self.inner.set_active_charset(self.charsets.active);
    }

    /// Handles escape sequences that the parser does not know: IND, shifts, and character sets that it has no
    /// name for.
    pub(super) fn special_escape(&mut self, sequence: &[u8]) {
        match sequence {
            [_, b'D'] => self.index(),
            [_, b'N'] => self.charsets.single = Some(CharsetIndex::G2),
            [_, b'O'] => self.charsets.single = Some(CharsetIndex::G3),
            [_, b'n'] => self.set_active_charset(CharsetIndex::G2),
            [_, b'o'] => self.set_active_charset(CharsetIndex::G3),
            [_, b'(', ..] => self.inner.configure_charset(CharsetIndex::G0, StandardCharset::Ascii),
            [_, b')' | b'-', ..] => self.inner.configure_charset(CharsetIndex::G1, StandardCharset::Ascii),
            [_, b'*' | b'.', ..] => self.inner.configure_charset(CharsetIndex::G2, StandardCharset::Ascii),
            [_, b'+' | b'/', ..] => self.inner.configure_charset(CharsetIndex::G3, StandardCharset::Ascii),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_visit_of_the_alternate_grid_begins_with_what_is_current_and_the_main_grid_keeps_its_own() {
        let main = Shifts { charset: 1, origin: true };
        let mut charsets = Charsets { saved: main, ..Charsets::default() };
        charsets.enter_alternate(Shifts { charset: 2, origin: false });
        assert_eq!(charsets.saved, Shifts { charset: 2, origin: false });
        charsets.saved = Shifts { charset: 3, origin: true };
        charsets.leave_alternate();
        assert_eq!(charsets.saved, main);
    }
}
