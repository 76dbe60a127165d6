//! The binary frames between the server and a viewer: 24 bytes of header, little-endian, then bytes.
//!
//! version (1), kind (1), flags (2), stream (4), offset (8), end (8). `offset` is the log's offset of the first byte, and
//! `end` is where a client that has parsed the frame goes on. The bytes may be fewer or more than the span between them,
//! because queries are removed and repaints are drawn.

/// Bytes before the payload.
pub(super) const HEADER: usize = 24;
const VERSION: u8 = 1;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Output of the child.
    Output,
    /// The whole screen as it was at `offset`.
    Repaint,
    /// Bytes for the child.
    Input,
}

impl FrameKind {
    fn code(self) -> u8 {
        match self {
            Self::Output => 1,
            Self::Repaint => 2,
            Self::Input => 3,
        }
    }
}

/// Returns a frame for the client.
pub(super) fn encode(kind: FrameKind, offset: u64, end: u64, bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER + bytes.len());
    frame.extend_from_slice(&[VERSION, kind.code(), 0, 0, 0, 0, 0, 0]);
    frame.extend_from_slice(&offset.to_le_bytes());
    frame.extend_from_slice(&end.to_le_bytes());
    frame.extend_from_slice(bytes);
    frame
}

/// Returns the bytes of an input frame; none if it is anything else.
pub(super) fn decode_input(frame: &[u8]) -> Option<&[u8]> {
    let (header, bytes) = frame.split_at_checked(HEADER)?;
    (header[0] == VERSION && header[1] == FrameKind::Input.code()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn w16_a_frame_has_the_layout_of_the_page_about_it() {
        let frame = encode(FrameKind::Output, 7, 0x0102_0304_0506_0708, b"ab");
        let expected = [1, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, b'a', b'b'];
        assert_eq!(frame, expected);
    }

    proptest! {
        #[test]
        fn w14_any_bytes_are_an_input_frame_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let is_input = bytes.len() >= HEADER && bytes[0] == 1 && bytes[1] == 3;
            prop_assert_eq!(decode_input(&bytes), is_input.then(|| &bytes[HEADER..]));
        }
    }
}
