//! Text to the clipboard of the person's terminal (OSC 52), wrapped where tmux is between.

/// Most bytes that are sent: terminals drop longer ones without a word.
const MAX: usize = 100_000;

/// What was done with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Sent to the terminal, which may take it or not.
    Sent(usize),
    /// Too long for a terminal: only the deck's own register has it.
    OwnOnly(usize),
}

/// Appends the sequence that hands a text to the terminal's clipboard.
pub(crate) fn copy(text: &str, is_tmux: bool, out: &mut Vec<u8>) -> Copied {
    if text.len() > MAX {
        return Copied::OwnOnly(text.len());
    }
    let sequence = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    if is_tmux {
        // tmux passes on what is inside, where every Escape stands twice.
        out.extend_from_slice(b"\x1bPtmux;");
        out.extend_from_slice(sequence.replace('\x1b', "\x1b\x1b").as_bytes());
        out.extend_from_slice(b"\x1b\\");
    }
    out.extend_from_slice(sequence.as_bytes());
    Copied::Sent(text.len())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(3) {
        let byte = |at: usize| u32::from(piece.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= piece.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u20_a_copy_is_one_sequence_and_inside_tmux_a_wrapped_one_too() {
        let mut out = Vec::new();
        assert_eq!(copy("héllo", false, &mut out), Copied::Sent(6));
        assert_eq!(out, b"\x1b]52;c;aMOpbGxv\x07");
        out.clear();
        copy("hi", true, &mut out);
        assert_eq!(out, b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\\x1b]52;c;aGk=\x07");
    }

    #[test]
    fn u20_a_text_that_no_terminal_takes_is_not_sent() {
        let mut out = Vec::new();
        let long = "x".repeat(MAX + 1);
        assert_eq!(copy(&long, false, &mut out), Copied::OwnOnly(MAX + 1));
        assert!(out.is_empty());
    }
}
