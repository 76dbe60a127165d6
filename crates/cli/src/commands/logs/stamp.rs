//! Times before the lines of a log, for `qd logs --timestamps`.

use crate::time_arg;

/// Stands for an unknown time, in the same width.
const UNKNOWN: &str = "-                     ";

/// Puts the present time before each line.
#[derive(Debug)]
pub(super) struct Stamp {
    shown: String,
    is_at_line_start: bool,
}

impl Default for Stamp {
    fn default() -> Self {
        Self { shown: UNKNOWN.to_owned(), is_at_line_start: true }
    }
}

impl Stamp {
    /// Sets the time of the lines that begin from now on.
    pub(super) fn set(&mut self, at_ms: Option<u64>) {
        self.shown = at_ms.map_or_else(|| UNKNOWN.to_owned(), time_arg::shown_with_tenths);
    }

    /// Adds the time before each line that begins in these bytes.
    pub(super) fn lines(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut stamped = Vec::with_capacity(bytes.len() + self.shown.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_at_line_start {
                stamped.extend_from_slice(self.shown.as_bytes());
                stamped.push(b' ');
            }
            stamped.extend_from_slice(line);
            self.is_at_line_start = line.ends_with(b"\n");
        }
        stamped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m14_every_line_has_its_time_and_a_line_in_two_pieces_has_one() {
        let mut stamp = Stamp::default();
        stamp.set(Some(1_794_802_422_345));
        assert_eq!(stamp.lines(b"one\r\ntw"), b"2026-11-16T04:13:42.3Z one\r\n2026-11-16T04:13:42.3Z tw");
        stamp.set(None);
        assert_eq!(stamp.lines(b"o\r\nthree"), format!("o\r\n{UNKNOWN} three").into_bytes());
        assert_eq!(UNKNOWN.len(), time_arg::shown_with_tenths(0).len());
    }
}
