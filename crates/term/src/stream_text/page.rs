//! Cuts the text of a stream into pages: as much as fits a limit, and the byte at which the next page begins.
//! A page ends between lines where it can, else between characters, never inside a sequence, and never
//! exceeds its limit.

use super::TextStream;

/// The bytes that are processed in one piece: a few bytes may produce a thousand characters of text.
const PIECE: usize = 4 * 1024;

/// One page of text, being filled.
#[derive(Debug)]
pub struct StreamPage {
    limit: usize,
    stream: TextStream,
    text: String,
    /// Bytes taken.
    taken: u64,
    /// Bytes and text up to the end of the last whole line.
    whole: (u64, usize),
    /// Bytes up to the last place that is not inside a sequence.
    between: u64,
    is_full: bool,
}

impl StreamPage {
    /// Creates an empty page of at most `limit` bytes of text. A limit below 4 cannot hold every character.
    pub fn new(limit: usize) -> StreamPage {
        let stream = TextStream::new();
        StreamPage { limit, stream, text: String::new(), taken: 0, whole: (0, 0), between: 0, is_full: false }
    }

    /// Returns true if no more fits.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes bytes as long as their text fits.
    pub fn feed(&mut self, bytes: &[u8]) {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        for piece in lines.flat_map(|line| line.chunks(PIECE)) {
            if self.is_full {
                return;
            }
            self.take(piece);
        }
    }

    /// Returns the text and the number of bytes that it stands for. The next page begins after them.
    pub fn finish(mut self) -> (String, u64) {
        if !self.is_full {
            self.text.push_str(&self.stream.open_line());
            self.leave_unfinished();
        }
        (self.text, self.taken)
    }

    fn take(&mut self, piece: &[u8]) {
        let before = self.stream.clone();
        let ended = self.stream.feed(piece);
        if self.text.len() + ended.len() + self.open_length() <= self.limit {
            self.text.push_str(&ended);
            self.taken += piece.len() as u64;
            if !self.stream.is_dropping() {
                self.between = self.taken - (self.stream.unfinished_bytes() as u64).min(self.taken);
            }
            if self.stream.is_fresh() {
                self.whole = (self.taken, self.text.len());
            }
            return;
        }
        self.is_full = true;
        self.stream = before;
        match self.whole {
            (_, 0) => self.cut(piece),
            (taken, length) => {
                self.text.truncate(length);
                self.taken = taken;
            }
        }
    }

    /// Takes as much of a piece as fits, for a line that does not fit by itself.
    fn cut(&mut self, piece: &[u8]) {
        let (mut fits, mut over) = (0, piece.len());
        while over - fits > 1 {
            let middle = fits + (over - fits) / 2;
            if self.length_with(&piece[..middle]) <= self.limit { fits = middle } else { over = middle }
        }
        let taken = self.taken;
        if let Some((ended, length)) = self.last_end(&piece[..fits]) {
            self.text.push_str(&ended);
            self.taken += length as u64;
            return;
        }
        self.end_after(&piece[..fits]);
        if self.taken == 0 {
            // Invalid bytes may produce more text at once than the limit. The page must take them anyway: a
            // page that takes nothing would be asked for again without end.
            self.taken = taken + fits as u64;
            self.end_after(&piece[fits..over]);
            self.text.truncate(self.text.floor_char_boundary(self.limit));
        }
    }

    /// Returns the lines that end within these bytes and how many of the bytes they are. A move to another
    /// row ends a line too, and the text in the next row must not join it.
    fn last_end(&self, bytes: &[u8]) -> Option<(String, usize)> {
        let (mut stream, mut ended, mut last) = (self.stream.clone(), String::new(), None);
        for (length, byte) in (1..).zip(bytes) {
            ended.push_str(&stream.feed(&[*byte]));
            if stream.is_fresh() && !ended.is_empty() {
                last = Some((ended.len(), length));
            }
        }
        let (kept, length) = last?;
        ended.truncate(kept);
        Some((ended, length))
    }

    fn end_after(&mut self, bytes: &[u8]) {
        let ended = self.stream.feed(bytes);
        self.text.push_str(&ended);
        self.text.push_str(&self.stream.open_line());
        self.taken += bytes.len() as u64;
        self.leave_unfinished();
    }

    /// Leaves an unfinished sequence or character to the next page.
    fn leave_unfinished(&mut self) {
        let unfinished = self.stream.unfinished_bytes() as u64;
        self.taken = match self.stream.is_dropping() {
            true => self.between,
            false => self.taken.saturating_sub(unfinished),
        };
    }

    fn length_with(&self, bytes: &[u8]) -> usize {
        let mut stream = self.stream.clone();
        let ended = stream.feed(bytes);
        self.text.len() + ended.len() + stream.line.byte_length()
    }

    fn open_length(&self) -> usize {
        self.stream.line.byte_length()
    }
}

#[cfg(test)]
mod tests;
