//! Compares the log with what the child printed. Lost is every byte from the oldest one that the log shows
//! (and at least of the last mebibyte) to the end that is missing or different. The end's offset alone would
//! count a gap as kept.

use std::path::Path;

use super::contender::Contender;
use super::quarterdeck::{self, Stretch};
use super::subprocess::PRINTED_END;

/// A log that shows less than this of a longer output has lost the rest. The ring behind it holds four times as much.
const SHOWN: usize = 1 << 20; // 1 MiB

/// Bytes that the child of this process printed from `file` and the log does not have.
pub(crate) fn lost(contender: &Contender, session: &str, file: &Path) -> Result<f64, String> {
    let text = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let log = quarterdeck::log(&contender.place, session)?;
    Ok(missing(&as_printed(&text), &log) as f64)
}

/// Returns the text as it leaves the terminal driver, which writes each line feed as two bytes, with what the
/// child prints last.
fn as_printed(text: &[u8]) -> Vec<u8> {
    let mut printed = Vec::with_capacity(text.len() + text.len() / 16);
    for piece in [text, PRINTED_END].concat().split_inclusive(|byte| *byte == b'\n') {
        match piece.strip_suffix(b"\n") {
            Some(line) => {
                printed.extend_from_slice(line);
                printed.extend_from_slice(b"\r\n");
            }
            None => printed.extend_from_slice(piece),
        }
    }
    printed
}

fn missing(printed: &[u8], log: &[Stretch]) -> usize {
    let oldest = log.first().map_or(printed.len(), |stretch| stretch.offset as usize);
    let from = oldest.min(printed.len().saturating_sub(SHOWN));
    let mut intact = 0;
    let mut surplus = 0;
    for stretch in log {
        let expected = printed.get(stretch.offset as usize..).unwrap_or_default();
        intact += stretch.text.bytes().zip(expected).filter(|(shown, wrote)| shown == *wrote).count();
        surplus += stretch.text.len().saturating_sub(expected.len());
    }
    (printed.len() - from).saturating_sub(intact) + surplus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(offset: u64, text: &str) -> Stretch {
        Stretch { offset, text: text.to_owned() }
    }

    #[test]
    fn a_whole_log_has_lost_nothing() {
        assert_eq!(missing(b"one two three", &[stretch(0, "one "), stretch(4, "two three")]), 0);
        assert_eq!(
            missing(&[b'x'; SHOWN + 9], &[stretch(9, &"x".repeat(SHOWN))]),
            0,
            "its oldest part is over"
        );
    }

    #[test]
    fn a_gap_an_early_end_and_a_wrong_byte_are_lost() {
        assert_eq!(missing(b"one two three", &[stretch(0, "one "), stretch(8, "three")]), 4);
        assert_eq!(missing(b"one two three", &[stretch(0, "one two")]), 6);
        assert_eq!(missing(b"one two three", &[stretch(0, "one twO three")]), 1);
        assert_eq!(missing(b"one", &[stretch(0, "one, and more")]), 10, "bytes that were never printed");
    }

    #[test]
    fn a_log_that_shows_too_little_has_lost_it() {
        assert_eq!(missing(&[b'x'; SHOWN + 9], &[stretch(19, &"x".repeat(SHOWN - 10))]), 10);
        assert_eq!(missing(b"one", &[]), 3);
    }

    #[test]
    fn the_terminal_makes_two_bytes_of_a_line_feed() {
        let printed = as_printed(b"a\nb\n");
        assert!(printed.starts_with(b"a\r\nb\r\n\x1b[0m") && printed.ends_with(b"\r\n~QDEND~"));
    }
}
