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

pub(super) const CHARSETS: [CharsetIndex; 4] =
    [CharsetIndex::G0, CharsetIndex::G1, CharsetIndex::G2, CharsetIndex::G3];

impl Terminal {
    /// Returns what DECSC would save now.
    pub(super) fn shifts(&self) -> Shifts {
        Shifts { charset: self.charset as u8, origin: self.inner.mode().contains(Mode::ORIGIN) }
    }

    pub(super) fn set_shifts(&mut self, shifts: Shifts) {
        self.set_active_charset(CHARSETS[usize::from(shifts.charset & 3)]);
        self.apply_private_mode(NamedPrivateMode::Origin as u16, shifts.origin);
    }

    /// Prints the one character that a single shift applies to.
    pub(super) fn input_shifted(&mut self, character: char) {
        let Some(index) = self.shift.take() else { return };
        self.inner.set_active_charset(index);
        self.input(character);
        self.inner.set_active_charset(self.charset);
    }

    /// Handles escape sequences that the parser does not know: IND, shifts, and character sets that it has no
    /// name for.
    pub(super) fn special_escape(&mut self, sequence: &[u8]) {
        match sequence {
            [_, b'D'] => self.index(),
            [_, b'N'] => self.shift = Some(CharsetIndex::G2),
            [_, b'O'] => self.shift = Some(CharsetIndex::G3),
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
