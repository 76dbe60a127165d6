//! Character sets: which of G0 to G3 is in use, for one character or on, and what DECSC keeps of it. Which characters a
//! set holds is the emulator's matter; it knows ASCII and line drawing, and every other set is taken for ASCII.

use rio_vt::ansi::mode::NamedPrivateMode;
use rio_vt::crosswords::Mode;
use rio_vt::crosswords::pos::{CharsetIndex, StandardCharset};
use rio_vt::performer::handler::Handler;

use super::terminal::Terminal;

/// What DECSC saves besides pen and place. Zero is a fresh terminal's.
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
    /// What DECSC would save now.
    pub(super) fn shifts(&self) -> Shifts {
        Shifts { charset: self.charset as u8, origin: self.inner.mode().contains(Mode::ORIGIN) }
    }

    pub(super) fn set_shifts(&mut self, shifts: Shifts) {
        self.set_active_charset(CHARSETS[usize::from(shifts.charset & 3)]);
        self.apply_private_mode(NamedPrivateMode::Origin as u16, shifts.origin);
    }

    /// Prints the one character a single shift was for.
    pub(super) fn input_shifted(&mut self, character: char) {
        let Some(index) = self.shift.take() else { return };
        self.inner.set_active_charset(index);
        self.input(character);
        self.inner.set_active_charset(self.charset);
    }

    /// Escape sequences the parser does not know: IND apart from line feeds, shifts, and sets it has no name for.
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
