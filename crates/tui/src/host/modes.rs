//! What is switched on in the person's terminal while the deck is shown, and the questions it is asked once.

use proto::terminal::restore::SAVE;

use super::colors;
use super::link::{self, Link};

/// Bold statements first, questions last: keyboard flags, modes 2026, 2027 and 2031; its status (`link`), its colours and
/// what kind of terminal it is, which every terminal answers, follow (`colors::questions`).
const QUESTIONS: &[u8] = b"\x1b[?u\x1b[?2026$p\x1b[?2027$p\x1b[?2031$p";
/// The alternate screen, bracketed paste, focus reports, grapheme clusters, colour scheme reports.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?2027h\x1b[?2031h\x1b[?7l";
/// Clicks, drags and the wheel, in the encoding without limits.
const MOUSE_ON: &[u8] = b"\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1003l\x1b[?1002l\x1b[?1006l";

/// What the terminal shall report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostModes {
    pub(crate) mouse: bool,
    /// Every motion of the mouse: the focused child asked for it.
    pub(crate) motion: bool,
    /// Flags of the kitty keyboard protocol.
    pub(crate) keyboard: u8,
}

/// What is written once, before the first picture.
pub(crate) fn enter(is_tmux: bool, link: &mut Link) -> Vec<u8> {
    // tmux has no kitty protocol, but tells modified keys apart when it is asked the way of xterm.
    let keys: &[u8] = if is_tmux { b"\x1b[>4;2m" } else { b"" };
    let mut output = [SAVE, ENTER, keys, QUESTIONS, link::QUESTION].concat();
    link.asked_first(output.len());
    output.extend(colors::questions());
    output
}

/// What is written when the terminal comes back from somebody else.
pub(crate) fn enter_again(is_tmux: bool) -> Vec<u8> {
    let keys: &[u8] = if is_tmux { b"\x1b[>4;2m" } else { b"" };
    [SAVE, ENTER, keys].concat()
}

impl HostModes {
    /// Appends what turns the modes `self` into `wanted`.
    pub(crate) fn change(&mut self, wanted: Self, out: &mut Vec<u8>) {
        if self.mouse != wanted.mouse {
            out.extend_from_slice(if wanted.mouse { MOUSE_ON } else { MOUSE_OFF });
        }
        if self.motion != wanted.motion && wanted.mouse {
            // A terminal without mode 1003 may leave 1002 with it.
            out.extend_from_slice(if wanted.motion { b"\x1b[?1003h" } else { b"\x1b[?1003l\x1b[?1002h" });
        }
        if self.keyboard != wanted.keyboard {
            out.extend_from_slice(format!("\x1b[={}u", wanted.keyboard).as_bytes());
        }
        *self = wanted;
    }
}
