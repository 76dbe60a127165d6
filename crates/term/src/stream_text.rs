//! Turns bytes into plain text as they come, without a grid: for logs, followers and pattern waits. It uses
//! the same scanner as the screen, so no sequence leaks into the text, however the bytes are cut.
//!
//! Text is printable characters, tab and newline. A line is returned when it ends. Within a line the usual
//! tricks of progress bars work: CR and backspace go back, what follows overwrites, and erasing and moving
//! within the line (`CSI K`, `X`, `P`, `C`, `D`, `G`) work, counted in characters. A move to another row, a
//! clear of the screen or a switch of screens ends the line, so that words in different rows never join.
//! Hidden text (SGR 8) becomes blanks. To see what a full-screen program shows, read the screen instead.

mod page;

use crate::scan::{Dropping, Scanner, Sink, StringKind};

pub use page::StreamPage;

/// The longest line. A longer one is broken, so that a stream without newlines stays bounded.
const LINE_MAX: usize = 64 * 1024;
/// The widest move within a line. No terminal here has more columns, and a few bytes that move far would
/// create much text.
const MOVE_MAX: usize = 1000;

/// Turns a stream into text.
#[derive(Clone, Debug, Default)]
pub struct TextStream {
    scanner: Scanner,
    line: LineBuffer,
}

impl TextStream {
    /// Creates a stream at its start.
    pub fn new() -> TextStream {
        TextStream::default()
    }

    /// Feeds bytes, cut anywhere, and returns the lines that ended, each with its newline.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        self.scanner.feed(bytes, &mut self.line);
        std::mem::take(&mut self.line.ended)
    }

    /// Returns the line that has not ended yet, such as a prompt.
    pub fn partial(&self) -> String {
        self.line.text()
    }

    /// Returns the unfinished line with every blank in it, for a caller that continues with the next bytes.
    pub fn open_line(&self) -> String {
        self.line.characters.iter().collect()
    }

    /// Returns the number of bytes fed last that belong to an unfinished sequence or character; they produced
    /// no text yet.
    pub fn unfinished_bytes(&self) -> usize {
        self.scanner.unfinished().0.len()
    }

    /// Returns true in the middle of a sequence that is too long and is being dropped.
    fn is_dropping(&self) -> bool {
        !matches!(self.scanner.unfinished().1, Dropping::Nothing)
    }

    /// Returns true if a new stream that began here would produce the same text from here on.
    fn is_fresh(&self) -> bool {
        let line = &self.line;
        let is_blank = line.characters.is_empty() && line.position == 0 && !line.hidden;
        is_blank && self.unfinished_bytes() == 0 && !self.is_dropping()
    }

    /// Returns the unfinished line at the end of the stream.
    pub fn finish(self) -> String {
        self.line.text()
    }
}

/// The line being written, with a position in it.
#[derive(Clone, Debug, Default)]
struct LineBuffer {
    characters: Vec<char>,
    position: usize,
    hidden: bool,
    last: Option<char>,
    ended: String,
}

impl LineBuffer {
    fn text(&self) -> String {
        let text: String = self.characters.iter().collect();
        text.trim_end_matches(' ').to_owned()
    }

    fn byte_length(&self) -> usize {
        self.characters.iter().map(|character| character.len_utf8()).sum()
    }

    fn put(&mut self, character: char) {
        self.last = Some(character);
        let shown = if self.hidden { ' ' } else { character };
        if self.position >= LINE_MAX {
            self.end();
        }
        if self.characters.len() <= self.position {
            self.characters.resize(self.position + 1, ' ');
        }
        self.characters[self.position] = shown;
        self.position += 1;
    }

    fn end(&mut self) {
        let text = self.text();
        self.ended.push_str(&text);
        self.ended.push('\n');
        self.characters.clear();
        self.position = 0;
    }

    /// Ends the line if it has any text.
    fn leave(&mut self) {
        match self.text().is_empty() {
            true => {
                self.characters.clear();
                self.position = 0;
            }
            false => self.end(),
        }
    }

    fn text_bytes(&mut self, bytes: &[u8]) {
        for character in String::from_utf8_lossy(bytes).chars() {
            match character {
                '\n' | '\x0b' | '\x0c' => self.end(),
                '\r' => self.position = 0,
                '\x08' => self.position = self.position.saturating_sub(1),
                '\t' => self.put('\t'),
                _ if character.is_control() => {}
                _ => self.put(character),
            }
        }
    }

    /// Handles one whole sequence that is not a string.
    fn sequence(&mut self, sequence: &[u8]) {
        let Some((&last, body)) = sequence.split_last() else { return };
        match body {
            [_, b'[', parameters @ ..] => self.control(last, parameters),
            [_] if matches!(last, b'D' | b'E' | b'M' | b'c') => self.leave(),
            _ => {}
        }
    }

    fn control(&mut self, last: u8, parameters: &[u8]) {
        let count = number(parameters, 1).clamp(1, MOVE_MAX);
        match last {
            b'm' if !parameters.starts_with(b">") => self.pen(parameters),
            b'K' => self.erase(number(parameters, 0)),
            b'C' | b'a' => self.position = (self.position + count).min(LINE_MAX),
            b'D' => self.position = self.position.saturating_sub(count),
            b'G' | b'`' => self.position = count - 1,
            b'X' => self.blank(self.position, self.position + count),
            b'P' => {
                let start = self.position.min(self.characters.len());
                let end = (self.position + count).min(self.characters.len());
                self.characters.drain(start..end);
            }
            b'b' => {
                if let Some(character) = self.last {
                    (0..count.min(1000)).for_each(|_| self.put(character));
                }
            }
            b'A' | b'B' | b'E' | b'F' | b'H' | b'f' | b'd' | b'e' | b'J' | b'L' | b'M' | b'S' | b'T'
            | b'r' => self.leave(),
            b'h' | b'l' if matches!(parameters, b"?1049" | b"?1047" | b"?47") => self.leave(),
            _ => {}
        }
    }

    fn erase(&mut self, kind: usize) {
        match kind {
            0 => self.characters.truncate(self.position),
            1 => self.blank(0, self.position + 1),
            2 => self.characters.clear(),
            _ => {}
        }
    }

    fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.characters.len());
        if let Some(range) = self.characters.get_mut(from..to) {
            range.fill(' ');
        }
    }

    /// Applies SGR 8 and its resets; other attributes do not matter. The numbers inside colours must not be
    /// read as attributes.
    fn pen(&mut self, parameters: &[u8]) {
        let mut fields = parameters.split(|&byte| byte == b';');
        while let Some(field) = fields.next() {
            match field {
                b"" | b"0" | b"00" | b"28" => self.hidden = false,
                b"8" => self.hidden = true,
                b"38" | b"48" | b"58" => match fields.next() {
                    Some(b"2") => drop(fields.by_ref().take(3).count()),
                    Some(b"5") => drop(fields.next()),
                    _ => {}
                },
                _ => {}
            }
        }
    }
}

impl Sink for LineBuffer {
    fn run(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(escape) = memchr::memchr(0x1b, rest) {
            self.text_bytes(&rest[..escape]);
            rest = &rest[escape..];
            let length = sequence_length(rest);
            self.sequence(&rest[..length]);
            rest = &rest[length..];
        }
        self.text_bytes(rest);
    }

    fn special(&mut self, sequence: &[u8]) {
        self.sequence(sequence);
    }

    fn string(&mut self, _: StringKind, _: &[u8], _: &'static str) {}
}

/// Returns the length of the whole sequence at the start of a run.
fn sequence_length(bytes: &[u8]) -> usize {
    let (start, is_inside): (usize, fn(&u8) -> bool) = match bytes.get(1) {
        Some(b'[') => (2, |byte| matches!(byte, 0x20..=0x3f)),
        _ => (1, |byte| matches!(byte, 0x20..=0x2f)),
    };
    let inside = bytes.iter().skip(start).take_while(|byte| is_inside(byte)).count();
    (start + inside + 1).min(bytes.len())
}

fn number(parameters: &[u8], default: usize) -> usize {
    let digits = parameters.split(|&byte| byte == b';').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(default)
}

#[cfg(test)]
mod tests;
