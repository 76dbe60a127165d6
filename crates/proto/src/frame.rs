//! The framing of the socket: JSON lines for control, binary frames for the data plane.
//!
//! The decoder survives garbage: a bad line or a bad header is one error, then it skips to the next line
//! feed.
//!
//! A frame that begins with byte 0x01 is binary: marker (2), kind (1), check (1), stream (4), offset (8),
//! length (4), bytes; little-endian. Everything else is a line of JSON that ends in a line feed.

/// Longest control line, its line feed not counted.
pub const MAX_LINE: usize = 4 << 20; // 4 MiB
/// Longest payload of one binary frame.
pub const MAX_DATA: usize = 1 << 20; // 1 MiB
/// Bytes before the payload of a binary frame.
pub const HEADER: usize = 20;

const MARKER: [u8; 2] = [0x01, b'Q'];

/// What a binary frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Log bytes that begin at the frame's offset, exactly as the child wrote them.
    Output = 1,
    /// A repaint of the screen as it was at the frame's offset; it replaces everything drawn before.
    Repaint = 2,
    /// Bytes for the child's terminal.
    Input = 3,
}

impl DataKind {
    fn code(self) -> u8 {
        self as u8
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Output),
            2 => Some(Self::Repaint),
            3 => Some(Self::Input),
            _ => None,
        }
    }
}

/// One decoded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A control line without its line feed.
    Line(Vec<u8>),
    /// A binary frame.
    Data(Data),
}

/// A binary frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// What it carries.
    pub kind: DataKind,
    /// Which of the connection's streams it belongs to.
    pub stream: u32,
    /// The absolute offset of its first byte, for output and repaints.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The bytes are not a frame; the decoder skips to the next line feed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A line without end.
    #[error("a line may have at most {MAX_LINE} bytes")]
    LineTooLong,
    /// A binary header that no client of this protocol writes.
    #[error("not a frame of this protocol: bad binary header")]
    BadHeader,
}

/// Returns the header of a binary frame; the payload of `length` bytes follows it on the wire.
#[must_use]
#[inline]
pub fn data_header(kind: DataKind, stream: u32, offset: u64, length: u32) -> [u8; HEADER] {
    let numbers = [u64::from(stream) | offset << 32, offset >> 32 | u64::from(length) << 32];
    let [mark, name] = MARKER;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&[mark, name, kind.code(), check([mark, name, kind.code()], numbers)]);
    header[4..12].copy_from_slice(&numbers[0].to_le_bytes());
    header[12..].copy_from_slice(&numbers[1].to_le_bytes());
    header
}

/// Appends binary frames for `bytes`, as many as [`MAX_DATA`] requires; none for no bytes.
#[inline]
pub fn encode_data(out: &mut Vec<u8>, kind: DataKind, stream: u32, offset: u64, bytes: &[u8]) {
    let mut at = offset;
    for piece in bytes.chunks(MAX_DATA) {
        let length = u32::try_from(piece.len()).expect("a piece is at most MAX_DATA");
        out.extend_from_slice(&data_header(kind, stream, at, length));
        out.extend_from_slice(piece);
        at += u64::from(length);
    }
}

/// Returns a checksum of one byte over the rest of the header, so that garbage is recognised before its
/// "length" swallows what follows.
///
/// Every byte turns the sum left by one bit and is added (XOR), beginning with 0xa5. Eight turns are none, so the
/// bytes that are turned equally far are added first, and the eight sums that are left are joined in three steps.
#[inline]
fn check(beginning: [u8; 3], numbers: [u64; 2]) -> u8 {
    let [first, second, third] = beginning;
    let eight = numbers[0] ^ numbers[1] ^ u64::from_le_bytes([0, 0, 0, 0, 0xa5, first, second, third]);
    let four = (eight >> 32) as u32 ^ turn(eight as u32, 4, 0x0f0f_0f0f);
    let two = (four >> 16) ^ turn(four, 2, 0x3f3f_3f3f);
    ((two >> 8) ^ turn(two, 1, 0x7f7f_7f7f)) as u8
}

/// Turns each byte of a word left by some bits; `stay` masks the bits of a byte that do not leave it at its left end.
#[inline]
fn turn(word: u32, bits: u32, stay: u32) -> u32 {
    ((word & stay) << bits) | ((word >> (8 - bits)) & !(stay << bits))
}

/// Returns what a header has behind its first four bytes: stream and the lower half of the offset, its upper half and
/// the length.
#[inline]
fn numbers_of(header: &[u8; HEADER]) -> [u64; 2] {
    [4, 12].map(|at| u64::from_le_bytes(std::array::from_fn(|index| header[at + index])))
}

/// Memory that a decoder keeps between frames.
const MOST_KEPT: usize = 128 << 10; // 128 KiB

/// Turns a stream of bytes into frames. It needs at most the memory of one frame of the largest size plus one
/// read.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were returned already.
    taken: usize,
    /// Bytes of the current line that were searched for its end, so that a slow line is not searched twice.
    searched: usize,
    /// True while it skips to the next line feed after an error.
    is_lost: bool,
}

impl Decoder {
    /// Adds bytes from the socket.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        } else if self.taken >= MAX_DATA {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns how much memory it uses for what is not a whole frame yet.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    /// Bytes that were pushed and not returned yet, for the next owner of the connection.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    /// Returns the next whole frame, one error per bad stretch, or `None` when more bytes are needed.
    pub fn next_frame(&mut self) -> Option<Result<Frame, FrameError>> {
        if self.is_lost && !self.skip_line() {
            return None;
        }
        match *self.pending().first()? {
            byte if byte == MARKER[0] => self.next_data(),
            _ => self.next_line(),
        }
    }

    /// Drops bytes up to and including the next line feed; returns false when there is none yet.
    fn skip_line(&mut self) -> bool {
        let end = self.pending().iter().position(|byte| *byte == b'\n');
        self.take(end.map_or(self.pending().len(), |end| end + 1));
        self.is_lost = end.is_none();
        !self.is_lost
    }

    fn next_line(&mut self) -> Option<Result<Frame, FrameError>> {
        let fresh = self.searched.min(self.pending().len());
        let end = self.pending()[fresh..].iter().position(|byte| *byte == b'\n').map(|end| end + fresh);
        match end {
            Some(end) if end <= MAX_LINE => {
                let line = self.pending()[..end].to_vec();
                self.take(end + 1);
                Some(Ok(Frame::Line(line)))
            }
            None if self.pending().len() <= MAX_LINE => {
                self.searched = self.pending().len();
                None
            }
            _ => Some(Err(self.lose(FrameError::LineTooLong))),
        }
    }

    #[inline]
    fn next_data(&mut self) -> Option<Result<Frame, FrameError>> {
        let pending = self.pending();
        if pending.len() > 1 && pending[1] != MARKER[1] {
            return Some(Err(self.lose(FrameError::BadHeader)));
        }
        let (header, rest) = pending.split_first_chunk::<HEADER>()?;
        let numbers = numbers_of(header);
        let length = (numbers[1] >> 32) as usize;
        let kind = DataKind::from_code(header[2])
            .filter(|_| header[3] == check([header[0], header[1], header[2]], numbers) && length <= MAX_DATA);
        let Some(kind) = kind else { return Some(Err(self.lose(FrameError::BadHeader))) };
        let bytes = rest.get(..length)?.to_vec();
        self.take(HEADER + length);
        let offset = numbers[0] >> 32 | numbers[1] << 32;
        Some(Ok(Frame::Data(Data { kind, stream: numbers[0] as u32, offset, bytes })))
    }

    fn lose(&mut self, error: FrameError) -> FrameError {
        self.is_lost = true;
        error
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
        self.searched = 0;
        if self.taken == self.buffer.len() && self.buffer.capacity() > MOST_KEPT {
            (self.buffer, self.taken) = (Vec::new(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(decoder: &mut Decoder) -> Vec<Result<Frame, FrameError>> {
        std::iter::from_fn(|| decoder.next_frame()).collect()
    }

    fn line(text: &str) -> Result<Frame, FrameError> {
        Ok(Frame::Line(text.as_bytes().to_vec()))
    }

    #[test]
    fn m5_a_long_line_leaves_no_memory_behind_whether_it_is_returned_or_refused() {
        for length in [MAX_LINE, MAX_LINE + 1] {
            let mut decoder = Decoder::default();
            decoder.push(&vec![b'x'; length]);
            assert!(decoder.memory() >= length);
            let early = all(&mut decoder);
            decoder.push(b"\n");
            assert_eq!(early.len() + all(&mut decoder).len(), 1);
            assert!(decoder.memory() <= MOST_KEPT, "{} bytes are kept", decoder.memory());
        }
    }

    #[test]
    fn lines_and_data_interleave() {
        let mut bytes = b"{\"a\":1}\n".to_vec();
        encode_data(&mut bytes, DataKind::Output, 3, 77, b"\n\x01Q\n");
        bytes.extend_from_slice(b"{}\n");
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        let data = Data { kind: DataKind::Output, stream: 3, offset: 77, bytes: b"\n\x01Q\n".to_vec() };
        assert_eq!(all(&mut decoder), [line("{\"a\":1}"), Ok(Frame::Data(data)), line("{}")]);
    }

    #[test]
    fn e8_the_checksum_is_the_one_that_older_programs_write() {
        let mut header: [u8; HEADER] = std::array::from_fn(|index| (index as u8).wrapping_mul(37));
        for round in 0..=u8::MAX {
            header[usize::from(round) % HEADER] ^= round;
            let bytes = header[..3].iter().chain(&header[4..]);
            let expected = bytes.fold(0xa5, |sum: u8, byte| sum.rotate_left(1) ^ byte);
            assert_eq!(check([header[0], header[1], header[2]], numbers_of(&header)), expected);
        }
        assert_eq!(data_header(DataKind::Output, 3, 77, 16)[..4], [1, b'Q', 1, header_check()]);
    }

    fn header_check() -> u8 {
        let bytes: &[u8] = &[1, b'Q', 1, 3, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0];
        bytes.iter().fold(0xa5, |sum: u8, byte| sum.rotate_left(1) ^ byte)
    }

    #[test]
    fn e8_after_a_bad_header_the_next_line_works() {
        let mut decoder = Decoder::default();
        decoder.push(b"\x01garbage that is no header at all\n{}\n");
        assert_eq!(all(&mut decoder), [Err(FrameError::BadHeader), line("{}")]);
    }

    #[test]
    fn e8_an_endless_line_is_one_error_and_bounded_memory() {
        let mut decoder = Decoder::default();
        let mut errors = 0;
        for _ in 0..64 {
            decoder.push(&vec![b'x'; 1 << 20]);
            errors += all(&mut decoder).iter().filter(|frame| frame.is_err()).count();
            assert!(decoder.buffer.capacity() < 4 * MAX_LINE, "{}", decoder.buffer.capacity());
        }
        decoder.push(b"\n{}\n");
        assert_eq!((errors, all(&mut decoder)), (1, vec![line("{}")]));
    }

    #[test]
    fn a_frame_longer_than_allowed_is_split() {
        let bytes = vec![7u8; MAX_DATA + 5];
        let mut wire = Vec::new();
        encode_data(&mut wire, DataKind::Input, 1, 0, &bytes);
        let mut decoder = Decoder::default();
        decoder.push(&wire);
        let lengths: Vec<_> = all(&mut decoder)
            .into_iter()
            .map(|frame| match frame {
                Ok(Frame::Data(data)) => (data.offset, data.bytes.len()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(lengths, [(0, MAX_DATA), (MAX_DATA as u64, 5)]);
    }

    proptest! {
        #[test]
        fn any_split_of_the_wire_gives_the_same_frames(
            payloads in prop::collection::vec((any::<u32>(), any::<u64>(), prop::collection::vec(any::<u8>(), 1..300)), 1..8),
            cut in 1usize..64,
        ) {
            let mut wire = Vec::new();
            for (stream, offset, bytes) in &payloads {
                encode_data(&mut wire, DataKind::Output, *stream, *offset, bytes);
                wire.extend_from_slice(b"{}\n");
            }
            let mut decoder = Decoder::default();
            let mut frames = Vec::new();
            for piece in wire.chunks(cut) {
                decoder.push(piece);
                frames.extend(all(&mut decoder));
            }
            prop_assert_eq!(frames.len(), payloads.len() * 2);
            for (pair, (stream, offset, bytes)) in frames.chunks(2).zip(payloads) {
                let data = Data { kind: DataKind::Output, stream, offset, bytes };
                prop_assert_eq!(&pair[0], &Ok(Frame::Data(data)));
            }
        }

        #[test]
        fn garbage_then_a_line_feed_never_hides_the_next_line(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            decoder.push(&garbage);
            decoder.push(b"\n\n{\"id\":1}\n");
            let frames = all(&mut decoder);
            prop_assert_eq!(frames.last(), Some(&line("{\"id\":1}")));
        }
    }
}
