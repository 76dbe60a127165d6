//! The one encoder of pasted text. Nothing else in the program may write a paste bracket: text that could end
//! its own bracket could type commands.
//!
//! Control characters become visible pictures, one for one (ESC becomes `␛`, DEL `␡`); C1 controls become
//! `�`. Joiners and marks of direction are text and stay, as does Tab. Every form of line end becomes CR,
//! which the Enter key sends and which terminals send within brackets too. Where a child has another key for a
//! new line and accepts no brackets, line ends become that key ([`PastePiece::with_line_end`]).

use std::borrow::Cow;

const BEGIN: &str = "\x1b[200~";
const END: &str = "\x1b[201~";

/// Encodes a whole text. `bracketed` is the child's mode 2004.
pub fn encode_paste(text: &str, bracketed: bool) -> Vec<u8> {
    PastePiece::whole(text).encode(bracketed)
}

/// A piece of neutralised paste text. Its brackets are added in `encode`, because they depend on the child's
/// mode when the piece is typed, which may be long after it was made.
#[derive(Debug)]
pub struct PastePiece {
    body: Vec<u8>,
    is_first: bool,
    is_last: bool,
    /// What a line end becomes without brackets, if that is not CR.
    line_end: Option<Vec<u8>>,
}

impl PastePiece {
    /// Returns a text in one piece.
    pub fn whole(text: &str) -> Self {
        PasteEncoder::default().last(text.as_bytes())
    }

    /// Returns the piece that ends a paste after which nothing more comes.
    pub fn ending() -> Self {
        Self { body: Vec::new(), is_first: false, is_last: true, line_end: None }
    }

    /// Uses these bytes for a line end where the child accepts no brackets: those of the key that makes a new line
    /// in it, because the Enter key would submit every line.
    #[must_use]
    pub fn with_line_end(self, bytes: Vec<u8>) -> Self {
        Self { line_end: Some(bytes), ..self }
    }

    /// Returns true if a paste begins with it.
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// Returns true if a paste ends with it.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Bytes of its text.
    pub fn length(&self) -> usize {
        self.body.len()
    }

    /// Returns the same piece as the start of a new paste, after the paste was closed for other input that
    /// could not wait.
    pub fn beginning_again(&self) -> Self {
        let (body, line_end) = (self.body.clone(), self.line_end.clone());
        Self { body, is_first: true, is_last: self.is_last, line_end }
    }

    /// Returns the most bytes that it can become.
    pub fn most(&self) -> usize {
        self.unbracketed().len().max(self.body.len()) + BEGIN.len() + END.len()
    }

    /// Returns the bytes for the child. `bracketed` is the mode 2004 that the child had when the first piece
    /// of the paste was encoded.
    pub fn encode(&self, bracketed: bool) -> Vec<u8> {
        if !bracketed {
            return self.unbracketed().into_owned();
        }
        let opening = if self.is_first { BEGIN } else { "" };
        let closing = if self.is_last { END } else { "" };
        [opening.as_bytes(), &self.body, closing.as_bytes()].concat()
    }

    /// Returns the text with the line ends for a child that accepts no brackets.
    fn unbracketed(&self) -> Cow<'_, [u8]> {
        match &self.line_end {
            None => Cow::Borrowed(&self.body),
            Some(end) => {
                Cow::Owned(self.body.split(|byte| *byte == b'\r').collect::<Vec<_>>().join(&end[..]))
            }
        }
    }
}

/// Neutralises a text that arrives in pieces, cut anywhere, in constant memory.
#[derive(Debug, Default)]
pub struct PasteEncoder {
    /// At least one piece was made.
    is_begun: bool,
    /// The start of a character whose rest is in the next piece.
    partial: Vec<u8>,
    /// The last character was CR, so a newline that follows belongs to it.
    after_return: bool,
}

impl PasteEncoder {
    /// Returns the next piece. Invalid UTF-8 becomes `�`.
    pub fn piece(&mut self, bytes: &[u8]) -> PastePiece {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        PastePiece { body: self.neutralise(bytes), is_first, is_last: false, line_end: None }
    }

    /// Returns the last piece, with the last of the bytes.
    pub fn last(mut self, bytes: &[u8]) -> PastePiece {
        let mut body = self.neutralise(bytes);
        if !self.partial.is_empty() {
            body.extend_from_slice("\u{fffd}".as_bytes());
        }
        PastePiece { body, is_first: !self.is_begun, is_last: true, line_end: None }
    }

    fn neutralise(&mut self, bytes: &[u8]) -> Vec<u8> {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            joined = [&std::mem::take(&mut self.partial), bytes].concat();
            rest = &joined;
        }
        let mut encoded = String::with_capacity(rest.len());
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.text(text, &mut encoded);
                    break;
                }
                Err(error) => {
                    let (valid, broken) = rest.split_at(error.valid_up_to());
                    self.text(std::str::from_utf8(valid).unwrap_or_default(), &mut encoded);
                    let Some(length) = error.error_len() else {
                        self.partial = broken.to_vec();
                        break;
                    };
                    self.text("\u{fffd}", &mut encoded);
                    rest = &broken[length..];
                }
            }
        }
        encoded.into_bytes()
    }

    fn text(&mut self, text: &str, encoded: &mut String) {
        for character in text.chars() {
            let after_return = std::mem::replace(&mut self.after_return, character == '\r');
            match character {
                '\n' if after_return => {}
                // Terminals send CR for a line end, inside brackets too; some programs drop a line feed
                // there.
                '\n' | '\r' => encoded.push('\r'),
                '\t' => encoded.push('\t'),
                _ => encoded.push(neutralised(character)),
            }
        }
    }
}

fn neutralised(character: char) -> char {
    match character {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        _ => character,
    }
}

#[cfg(test)]
mod tests;
