//! The one encoder of pasted text. Nothing else in the program may write a paste bracket, because text that
//! could end its own bracket could type commands.
//!
//! Neutralised one for one: control characters become their visible pictures (ESC becomes `␛`, DEL `␡`);
//! C1 controls, bidirectional and zero-width controls become `�`. Tab stays. A line's end, however
//! it is spelled, becomes CR: what the Enter key sends, and what terminals send within brackets too.

use crate::fact::is_invisible;

const BEGIN: &str = "\x1b[200~";
const END: &str = "\x1b[201~";

/// Encodes a whole text. `bracketed` is the child's mode 2004.
pub fn encode_paste(text: &str, bracketed: bool) -> Vec<u8> {
    let (mut encoder, mut bytes) = PasteEncoder::begin(bracketed);
    bytes.reserve(text.len() + END.len());
    bytes.extend(encoder.chunk(text.as_bytes()));
    bytes.extend(encoder.end());
    bytes
}

/// Encodes a text that arrives in pieces, cut anywhere, in constant memory.
#[derive(Debug)]
pub struct PasteEncoder {
    bracketed: bool,
    /// The start of a character whose rest is in the next piece.
    partial: Vec<u8>,
    /// The last character was CR, so that a newline now belongs to it.
    after_return: bool,
}

impl PasteEncoder {
    /// Starts a paste; the bytes go to the child first.
    pub fn begin(bracketed: bool) -> (PasteEncoder, Vec<u8>) {
        let opening = if bracketed { BEGIN } else { "" };
        (PasteEncoder { bracketed, partial: Vec::new(), after_return: false }, opening.into())
    }

    /// Encodes the next piece. Bytes that are no UTF-8 become `�`.
    pub fn chunk(&mut self, bytes: &[u8]) -> Vec<u8> {
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

    /// Ends the paste; the bytes go to the child last.
    pub fn end(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !std::mem::take(&mut self.partial).is_empty() {
            bytes.extend_from_slice("\u{fffd}".as_bytes());
        }
        if self.bracketed {
            bytes.extend_from_slice(END.as_bytes());
        }
        bytes
    }

    fn text(&mut self, text: &str, encoded: &mut String) {
        for character in text.chars() {
            let after_return = std::mem::replace(&mut self.after_return, character == '\r');
            match character {
                '\n' if after_return => {}
                // What terminals send for a line's end, inside brackets too: some programs drop a line feed there.
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
        _ if is_invisible(character) => '\u{fffd}',
        _ => character,
    }
}

#[cfg(test)]
mod tests;
