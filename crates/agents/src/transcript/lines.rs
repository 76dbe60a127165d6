//! Splits a stream that comes in pieces into whole lines. It keeps one partial line and skips a line that is
//! longer than its limit without buffering it.

/// The longest line that is read, in bytes; vendors write whole files and pictures into their transcripts.
pub(crate) const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// Where in the stream reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// At its first byte.
    Beginning,
    /// Somewhere later: the bytes before the first line break are the end of a line whose beginning is
    /// unknown.
    Middle,
}

/// Cuts a stream into lines.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    is_skipping: bool,
}

impl Lines {
    pub(crate) fn new(start: ReadFrom) -> Self {
        Self { partial: Vec::new(), is_skipping: start == ReadFrom::Middle }
    }

    /// Passes every whole line to `take`, without its line break.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(at);
            self.finish(line, &mut take);
            rest = after.get(1..).unwrap_or_default();
        }
        self.keep_partial(rest);
    }

    fn finish(&mut self, line: &[u8], take: &mut impl FnMut(&[u8])) {
        if std::mem::take(&mut self.is_skipping) || self.partial.len() + line.len() > LONGEST_LINE {
            self.partial = Vec::new();
            return;
        }
        if self.partial.is_empty() {
            take(line);
            return;
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(line);
        take(&whole);
    }

    fn keep_partial(&mut self, rest: &[u8]) {
        if self.is_skipping || rest.is_empty() {
            return;
        }
        if self.partial.len() + rest.len() > LONGEST_LINE {
            self.is_skipping = true;
            self.partial = Vec::new();
            return;
        }
        self.partial.extend_from_slice(rest);
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        self.partial.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(start: ReadFrom, pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(start);
        let mut seen = Vec::new();
        for piece in pieces {
            lines.feed(piece, |line| seen.push(String::from_utf8_lossy(line).into_owned()));
        }
        seen
    }

    #[test]
    fn a_line_is_given_when_it_is_whole() {
        assert_eq!(lines(ReadFrom::Beginning, &[b"a", b"b\nc\n", b"", b"d"]), ["ab", "c"]);
    }

    #[test]
    fn the_end_of_a_line_nobody_saw_begin_is_left_out() {
        assert_eq!(lines(ReadFrom::Middle, &[b"tail", b" of it\nwhole\n"]), ["whole"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_without_being_held() {
        let mut lines = Lines::new(ReadFrom::Beginning);
        let mut seen = 0;
        let piece = vec![b'x'; 1024 * 1024];
        for _ in 0..20 {
            lines.feed(&piece, |_| seen += 1);
            assert!(lines.held() <= 2 * LONGEST_LINE);
        }
        lines.feed(b"\nshort\n", |line| {
            assert_eq!(line, b"short");
            seen += 1;
        });
        assert_eq!(seen, 1);
    }

    #[test]
    fn a_long_line_that_comes_in_one_piece_is_skipped_too() {
        let mut bytes = vec![b'x'; LONGEST_LINE + 1];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(ReadFrom::Beginning, &[&bytes]), ["next"]);
    }
}
