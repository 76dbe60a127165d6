//! Arbitrary bytes through every decoder of the holder's wire: none may panic, and what decodes must survive encoding.
#![no_main]

use holder::wire::{FrameBuffer, FromHolder, HelloFields, ToHolder};
use libfuzzer_sys::fuzz_target;

/// Past the longest frame of all kinds but the greeting, which is a checkpoint of 16 MiB.
const LONGEST: usize = (16 << 20) + 4096;
/// Reads of a long stretch are at least this long: byte by byte the short ones are enough.
const LONG_READ: usize = 4096;

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let wire = fuzz::stretched(rest, fuzz::reach(data, LONGEST));
    let mut buffer = FrameBuffer::default();
    // The first byte determines how the stream is cut into reads.
    let step = (usize::from(*first) + 1) * if wire.len() > 16 * LONG_READ { LONG_READ } else { 1 };
    for piece in wire.chunks(step) {
        buffer.extend(piece);
        loop {
            match buffer.next_frame() {
                Ok(Some((kind, body))) => check(kind, body),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn check(kind: u8, body: &[u8]) {
    if let Ok(Some(message)) = ToHolder::decode(kind, body) {
        assert_eq!(again(&message.encode(), ToHolder::decode), Some(message));
    }
    if let Ok(Some(message)) = FromHolder::decode(kind, body) {
        assert_eq!(again(&message.encode(), FromHolder::decode), Some(message));
    }
    if let Ok((fields, blob)) = HelloFields::decode(body) {
        assert!(fields.checkpoint.is_none_or(|(_, length)| length as usize == blob.len()));
    }
    if let Ok(config) = holder::RunConfig::decode(body) {
        assert_eq!(holder::RunConfig::decode(&config.encode()).as_ref(), Ok(&config));
    }
}

fn again<T, E>(frame: &[u8], decode: impl Fn(u8, &[u8]) -> Result<Option<T>, E>) -> Option<T> {
    let mut buffer = FrameBuffer::default();
    buffer.extend(frame);
    let (kind, body) = buffer.next_frame().ok()??;
    decode(kind, body).ok()?
}
