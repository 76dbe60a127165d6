//! The bytes of one feed, as text where they are valid text, and the unfinished character at their end.

use std::ops::Range;

use super::Sink;

/// What an interrupted character becomes.
pub(super) const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The bytes of one feed.
pub(super) struct Piece<'a> {
    bytes: &'a [u8],
    /// The bytes as text; empty when a character is invalid. Validated once here, otherwise run by run.
    text: &'a str,
}

impl<'a> Piece<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Piece<'a> {
        let whole = bytes.len() - unfinished_character(bytes);
        Piece { bytes, text: std::str::from_utf8(&bytes[..whole]).unwrap_or_default() }
    }

    #[inline(always)]
    pub(super) fn emit(&self, run: Range<usize>, sink: &mut impl Sink) {
        if run.is_empty() {
            return;
        }
        match self.text.get(run.clone()) {
            Some(text) => sink.valid_run(text),
            None => sink.run(&self.bytes[run]),
        }
    }

    /// Emits a run that an ESC ended. A character that the ESC cut short becomes a replacement character.
    #[inline(always)]
    pub(super) fn emit_before_cut(&self, run: Range<usize>, sink: &mut impl Sink) {
        if self.text.len() >= run.end {
            return self.emit(run, sink);
        }
        let unfinished = unfinished_character(&self.bytes[run.clone()]);
        self.emit(run.start..run.end - unfinished, sink);
        if unfinished > 0 {
            sink.run(REPLACEMENT);
        }
    }
}

/// Returns how many bytes at the end are the valid start of a character.
pub(super) fn unfinished_character(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    for (index, &byte) in tail.iter().enumerate().rev() {
        match byte {
            0x80..=0xbf => continue,
            0xc0.. => {
                let candidate = &tail[index..];
                let unfinished =
                    matches!(std::str::from_utf8(candidate), Err(error) if error.error_len().is_none());
                return if unfinished { candidate.len() } else { 0 };
            }
            _ => return 0,
        }
    }
    0
}
