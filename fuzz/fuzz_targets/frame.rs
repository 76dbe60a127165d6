//! Frames from strangers: any bytes, in any pieces, give frames or one error per bad stretch; the decoder neither
//! panics nor keeps more than it must, a good frame survives a round trip, and the next line is always found.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proto::frame::{DataKind, Decoder, Frame, MAX_DATA, MAX_LINE, encode_data};
use proto::request::parse_call;

/// Past the longest line and the longest payload.
const LONGEST: usize = MAX_LINE + SLACK;
const SLACK: usize = 64 << 10;
/// Reads of a long stretch are at least this long: byte by byte the short ones are enough.
const LONG_READ: usize = 1024;

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let wire = fuzz::stretched(rest, fuzz::reach(data, LONGEST));
    let cut = usize::from(*first).max(1) * if wire.len() > 16 * LONG_READ { LONG_READ } else { 1 };
    let whole = decode(&wire, wire.len().max(1));
    assert!(decode(&wire, cut) == whole, "the pieces in which bytes arrive must not matter");
    for line in whole.into_iter().flatten() {
        if let Frame::Line(line) = line {
            // Every line is a call or an error; neither may panic.
            let _call_or_error = parse_call(&line);
        }
    }
    survives_a_round_trip(&wire, u32::from(*first));
}

fn decode(wire: &[u8], cut: usize) -> Vec<Result<Frame, proto::FrameError>> {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    for piece in wire.chunks(cut) {
        decoder.push(piece);
        frames.extend(std::iter::from_fn(|| decoder.next_frame()));
        assert!(decoder.pending().len() <= MAX_LINE.max(MAX_DATA) + piece.len() + 64, "memory without bound");
    }
    // Whatever came before, two line feeds end it unless a binary frame still lacks bytes.
    decoder.push(b"\n\n");
    frames.extend(std::iter::from_fn(|| decoder.next_frame()));
    frames
}

fn survives_a_round_trip(bytes: &[u8], stream: u32) {
    let mut wire = Vec::new();
    encode_data(&mut wire, DataKind::Output, stream, 7, bytes);
    let mut decoder = Decoder::default();
    decoder.push(&wire);
    let mut back = Vec::new();
    while let Some(frame) = decoder.next_frame() {
        let Ok(Frame::Data(data)) = frame else { panic!("what we encode must decode") };
        assert_eq!((data.stream, data.offset), (stream, 7 + back.len() as u64));
        back.extend_from_slice(&data.bytes);
    }
    assert!(back == bytes, "a frame changed on its way");
}
