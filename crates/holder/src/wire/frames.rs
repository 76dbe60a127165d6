//! Cuts a stream of bytes into frames and builds frames. It knows types only by number and by their longest
//! length.

use super::{MAX_CHECKPOINT, WireError};

/// Longest frame of the largest kind (a HELLO reply with a checkpoint and a configuration's worth of meta).
pub(crate) const MAX_FRAME: usize = MAX_CHECKPOINT + crate::config::MAX_CONFIG_BYTES + 4096;

/// Longest frame of the other kinds, with room for the header.
const MAX_ORDINARY_FRAME: usize = (1 << 20) + 256;

/// Bytes before the type: the length.
pub(super) const LENGTH_BYTES: usize = 4;

/// Frame types. Numbers are never reused.
pub(crate) mod kind {
    pub(crate) const CONFIG: u8 = 0x01;
    pub(crate) const HELLO: u8 = 0x02;
    pub(crate) const INPUT: u8 = 0x03;
    pub(crate) const CANCEL_INPUT: u8 = 0x04;
    pub(crate) const RESIZE: u8 = 0x05;
    pub(crate) const SIGNAL: u8 = 0x06;
    pub(crate) const KILL: u8 = 0x07;
    pub(crate) const CHECKPOINT: u8 = 0x08;
    pub(crate) const RESUME: u8 = 0x09;
    pub(crate) const RELEASE: u8 = 0x0a;
    pub(crate) const END: u8 = 0x0b;
    pub(crate) const KEYED_INPUT: u8 = 0x0c;
    pub(crate) const ASK_KEY: u8 = 0x0d;
    pub(crate) const HELLO_REPLY: u8 = 0x81;
    pub(crate) const LAUNCH_FAILED: u8 = 0x82;
    pub(crate) const INPUT_DONE: u8 = 0x83;
    pub(crate) const EXITED: u8 = 0x84;
    pub(crate) const TREE_GONE: u8 = 0x85;
    pub(crate) const DISPLACED: u8 = 0x86;
    pub(crate) const KEY_STATE: u8 = 0x87;
    pub(crate) const HANGUP: u8 = 0xff;
}

/// The most bytes that an empty buffer keeps: enough for keys and commands.
const KEPT: usize = 256;

/// Bytes on their way to becoming frames.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    taken: usize,
}

impl FrameBuffer {
    /// Adds bytes that were read.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next whole frame's type and body; `None` when more bytes are needed. After an error the
    /// stream is lost.
    pub fn next_frame(&mut self) -> Result<Option<(u8, &[u8])>, WireError> {
        let rest = &self.bytes[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            self.shrink_when_empty();
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(WireError::Truncated);
        }
        let Some(kind) = rest.first().copied() else { return Ok(None) };
        if length > longest(kind) {
            return Err(WireError::TooLong { length });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let body = self.taken + LENGTH_BYTES + 1;
        self.taken += LENGTH_BYTES + length;
        Ok(Some((kind, &self.bytes[body..self.taken])))
    }

    /// Frees the memory of what was long, so that neither a holder nor its daemon keeps it for a run that rests.
    fn shrink_when_empty(&mut self) {
        if self.taken == self.bytes.len() {
            self.taken = 0;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
        }
    }
}

/// Returns one frame from its parts.
pub(crate) fn frame(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut out = Vec::with_capacity(LENGTH_BYTES + length);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    out.push(kind);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

fn longest(kind: u8) -> usize {
    match kind {
        kind::CHECKPOINT => MAX_CHECKPOINT + 64,
        kind::CONFIG => crate::config::MAX_CONFIG_BYTES + 64,
        kind::HELLO_REPLY => MAX_FRAME,
        _ => MAX_ORDINARY_FRAME,
    }
}
