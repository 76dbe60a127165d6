//! Work for an instruction counter: one hot path of the wire, over fixed input, a given number of times.
//!
//! `wire_instructions CASE PASSES` does the work and prints how many units one pass has; the cases are in `main`. The counter
//! takes the difference between two numbers of passes, so that start-up and the making of the input do not count.
//! `cargo xtask bench --only instructions` runs it so.
#![expect(clippy::print_stdout, reason = "the counter reads the number of units")]

use std::hint::black_box;

use proto::frame::{DataKind, Decoder, encode_data};
use proto::request::parse_call;
use proto::terminal::{Clipboard, Filter};

const FRAMES: usize = 2000;
/// The length of a key's echo, and of what a terminal sends at once.
const SHORT: usize = 16;
const LONG: usize = 4096;
const CALLS: usize = 500;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let passes: usize = arguments.next().and_then(|passes| passes.parse().ok()).unwrap_or(1);
    let units = match case.as_str() {
        "encode-short" => encode(passes, SHORT),
        "encode-long" => encode(passes, LONG),
        "decode-short" => decode(passes, SHORT),
        "decode-long" => decode(passes, LONG),
        "call" => call(passes),
        "filter-colour" => {
            filter(passes, "\x1b[32mok\x1b[0m the quick brown fox jumps over the lazy dog\r\n")
        }
        "filter-query" => filter(passes, "\x1b[6n\x1b]11;?\x07text\x1b[c"),
        _ => 0,
    };
    println!("{units}");
}

fn encode(passes: usize, length: usize) -> usize {
    let payload = vec![b'x'; length];
    let mut out = Vec::with_capacity(length + 64);
    for frame in 0..passes * FRAMES {
        out.clear();
        encode_data(&mut out, DataKind::Output, 3, frame as u64, black_box(&payload));
        black_box(&out);
    }
    FRAMES
}

fn decode(passes: usize, length: usize) -> usize {
    let mut wire = Vec::new();
    encode_data(&mut wire, DataKind::Output, 3, 77, &vec![b'x'; length]);
    let mut decoder = Decoder::default();
    for _ in 0..passes * FRAMES {
        decoder.push(black_box(&wire));
        black_box(decoder.next_frame());
    }
    FRAMES
}

fn call(passes: usize) -> usize {
    let line = br#"{"id":7,"request":{"kill":{"target":"shell"}}}"#;
    let taken = (0..passes * CALLS).filter(|_| parse_call(black_box(line)).is_ok()).count();
    taken / passes
}

fn filter(passes: usize, pattern: &str) -> usize {
    let stream: Vec<u8> = pattern.bytes().cycle().take(64 * LONG).collect();
    let mut filter = Filter::new(Clipboard::Refused);
    for _ in 0..passes {
        for piece in stream.chunks(LONG) {
            black_box(filter.pass(black_box(piece)));
        }
    }
    stream.len()
}
