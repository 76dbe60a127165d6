//! Tests that the shortcuts around the parser (words, fast sequences) change nothing: a screen fed through
//! them equals one whose bytes all go through the parser.

use proptest::prelude::*;

use super::{Body, Screen};
use crate::scan::{Sink, StringKind};

#[path = "../../tests/screen/streams.rs"]
#[expect(dead_code, reason = "shared with the tests of the public face")]
mod streams;

use streams::{Step, config, everything, screen, size, steps};

/// Feeds the pieces of a stream without the shortcuts.
struct Plain<'a>(&'a mut Body);

impl Sink for Plain<'_> {
    fn run(&mut self, bytes: &[u8]) {
        self.0.engine.parse(bytes);
    }

    fn special(&mut self, sequence: &[u8]) {
        self.0.special(sequence);
    }

    fn string(&mut self, kind: StringKind, payload: &[u8], terminator: &'static str) {
        self.0.string(kind, payload, terminator);
    }
}

fn feed_plainly(screen: &mut Screen, bytes: &[u8]) {
    screen.scanner.feed(bytes, &mut Plain(&mut screen.body));
    screen.publish(bytes.len());
}

/// Pieces that the shortcuts handle, mixed with pieces that they do not.
fn repaint() -> impl Strategy<Value = Vec<u8>> {
    let number =
        || prop_oneof![Just(String::new()), (0u32..130).prop_map(|number| number.to_string()), "[0-9]{1,7}"];
    let numbers = (proptest::collection::vec(number(), 0..20), "[mHK]", "[;;;;;;:]")
        .prop_map(|(numbers, last, between)| format!("\x1b[{}{last}", numbers.join(&between)));
    let piece = prop_oneof![
        4 => "[ -~]{1,30}",
        6 => numbers,
        1 => "(\r\n|\t|\x08|\n|\r|\x7f|\x00)",
        1 => "\x1b\\[[?>=<]?[0-9;]{0,6}[ !\"$]?[mHKJABCD]",
        1 => "[日本é한│─]{1,8}",
        1 => "(\x1b\\(0|\x1b\\(B|\x1b\\(A|\x0e|\x0f|\x1bN|\x1b7|\x1b8|\x1b\\[4h|\x1b\\[4l|\x1b\\[\\?7l|\x1b\\[\\?7h)",
    ];
    proptest::collection::vec(piece, 1..30).prop_map(|pieces| pieces.concat().into_bytes())
}

fn same(size: term::GridSize, steps: &[Step], piece: usize) -> Result<(), TestCaseError> {
    let (mut quick, mut plain) = (screen(size), screen(size));
    for step in steps {
        match step {
            Step::Feed(bytes) => {
                quick.feed(bytes);
                bytes.chunks(piece).for_each(|bytes| feed_plainly(&mut plain, bytes));
            }
            Step::Resize(size) => {
                quick.resize(*size);
                plain.resize(*size);
            }
        }
    }
    prop_assert_eq!(everything(&quick), everything(&plain));
    prop_assert_eq!(quick.take_replies(), plain.take_replies());
    prop_assert_eq!(quick.take_facts(), plain.take_facts());
    Ok(())
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn any_stream_is_the_same_through_the_parser(size in size(), steps in steps(), piece in 1usize..60) {
        same(size, &steps, piece)?;
    }

    #[test]
    fn a_repaint_is_the_same_through_the_parser(size in size(), stream in repaint(), piece in 1usize..60) {
        same(size, &[Step::Feed(stream)], piece)?;
    }

    #[test]
    fn a_repaint_is_the_same_byte_by_byte(size in size(), stream in repaint()) {
        let (mut whole, mut cut) = (screen(size), screen(size));
        whole.feed(&stream);
        stream.chunks(1).for_each(|byte| cut.feed(byte));
        prop_assert_eq!(everything(&cut), everything(&whole));
        prop_assert_eq!(cut.take_replies(), whole.take_replies());
    }
}
