//! Finds what a child sends beside its screen (the bell, notifications, the clipboard), for viewers that get
//! repaints instead of bytes. The terminal's filter judges it, as for live output. What is too long is left
//! out, and several bells between two repaints become one.

use proto::terminal::BELL;

/// The longest sequence that is kept: a clipboard of this size is a large one.
const LONGEST: usize = 64 * 1024;
/// The most that waits for the next repaint.
const MOST: usize = 128 * 1024;

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// The state of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between sequences.
    #[default]
    Ground,
    /// Behind an escape.
    Escape,
    /// Inside an operating system command.
    Command,
    /// Inside one, behind an escape.
    CommandEscape,
    /// Inside another string, in which a bell does not count.
    Text,
    /// Inside one, behind an escape.
    TextEscape,
}

/// What was found since the last call of `take`.
#[derive(Debug, Default)]
pub(crate) struct OutOfBand {
    state: State,
    /// The command that has not ended yet.
    command: Vec<u8>,
    found: Vec<u8>,
    has_rung: bool,
}

impl OutOfBand {
    /// Looks through output.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.state = self.step(byte);
        }
    }

    /// Returns what was found, to send before the next repaint.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.has_rung = false;
        std::mem::take(&mut self.found)
    }

    fn step(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (_, CAN | SUB) => State::Ground,
            (State::Ground, ESC) | (State::Escape, ESC) => State::Escape,
            (State::Ground | State::Escape, BELL) => {
                self.ring();
                self.state
            }
            (State::Ground, _) => State::Ground,
            (State::Escape, b']') => {
                self.command.clear();
                State::Command
            }
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::Text,
            (State::Escape, _) => State::Ground,
            (State::Command, BELL) | (State::CommandEscape, b'\\') => {
                self.keep();
                State::Ground
            }
            (State::Command, ESC) => State::CommandEscape,
            (State::Command, _) => {
                if self.command.len() <= LONGEST {
                    self.command.push(byte);
                }
                State::Command
            }
            (State::Text, ESC) => State::TextEscape,
            (State::Text, _) => State::Text,
            (State::TextEscape, b'\\') => State::Ground,
            // Any other escape ends the string and begins a sequence of its own.
            (State::CommandEscape | State::TextEscape, _) => {
                self.state = State::Escape;
                self.step(byte)
            }
        }
    }

    fn ring(&mut self) {
        if !std::mem::replace(&mut self.has_rung, true) {
            self.found.push(BELL);
        }
    }

    /// Keeps a command that is not about the screen: notifications (9, 99, 777) and the clipboard (52).
    fn keep(&mut self) {
        let is_kept = [&b"9;"[..], b"99;", b"777;", b"52;"].iter().any(|head| self.command.starts_with(head));
        if is_kept && self.command.len() <= LONGEST && self.found.len() + self.command.len() <= MOST {
            self.found.extend_from_slice(b"\x1b]");
            self.found.extend_from_slice(&self.command);
            self.found.extend_from_slice(b"\x1b\\");
        }
        self.command.clear();
        self.command.shrink_to(1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pieces: &[&[u8]]) -> String {
        let mut out_of_band = OutOfBand::default();
        for piece in pieces {
            out_of_band.feed(piece);
        }
        out_of_band.take().escape_ascii().to_string()
    }

    #[test]
    fn bells_notifications_and_clipboards_are_found_wherever_the_output_is_cut() {
        let output: &[u8] =
            b"a\x07b\x1b]9;done\x07c\x1b]0;title\x07\x1b]52;c;eA==\x1b\\\x1b[31m\x1b]777;notify;t;b\x07d";
        let all = "\\x07\\x1b]9;done\\x1b\\\\\\x1b]52;c;eA==\\x1b\\\\\\x1b]777;notify;t;b\\x1b\\\\";
        assert_eq!(found(&[output]), all);
        for cut in 0..output.len() {
            assert_eq!(found(&[&output[..cut], &output[cut..]]), all, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_bell_rings_none_and_many_ring_one() {
        assert_eq!(found(&[b"\x1bPq\x07\x1b\\\x1b_x\x07y\x1b\\"]), "");
        assert_eq!(found(&[b"\x07\x07", b"\x07"]), "\\x07");
        // A string that is cut off ends there: what follows is output again.
        assert_eq!(found(&[b"\x1b]9;half\x18\x07"]), "\\x07");
        assert_eq!(found(&[b"\x1b]9;half\x1b[31m\x07"]), "\\x07");
    }

    #[test]
    fn d10_nothing_grows_without_end() {
        let mut out_of_band = OutOfBand::default();
        let long = [b"\x1b]52;c;".to_vec(), vec![b'a'; 10 * LONGEST]].concat();
        out_of_band.feed(&long);
        assert!(out_of_band.command.len() <= LONGEST + 1);
        out_of_band.feed(b"\x07");
        assert!(out_of_band.take().is_empty());
        for _ in 0..10_000 {
            out_of_band.feed(b"\x1b]9;a notification of some length\x07");
        }
        assert!(out_of_band.take().len() <= MOST + 64 * 1024);
    }
}
