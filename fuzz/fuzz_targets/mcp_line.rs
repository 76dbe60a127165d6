//! Any bytes on the MCP server's standard input, in any pieces, get the same result; a refused line gets one
//! answer that a client can read, and the next valid line always works. The checks are compiled in from their
//! file, because their crate brings a whole web server.

#![no_main]

#[expect(dead_code, reason = "the server asks more of a fault than this does")]
#[path = "../../crates/mcp/src/framing.rs"]
mod framing;

use framing::{Fault, Lines, MAX_LINE, Message, examine};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Past the longest line.
const LONGEST: usize = MAX_LINE + (64 << 10);
/// Reads of a long stretch are at least this long: byte by byte the short ones are enough.
const LONG_READ: usize = 1024;
const PING: &[u8] = b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n";

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let sent = [fuzz::stretched(rest, fuzz::reach(data, LONGEST)).as_slice(), PING].concat();
    let cut = usize::from(*first).max(1) * if sent.len() > 16 * LONG_READ { LONG_READ } else { 1 };
    let whole = lines(&sent, sent.len());
    assert!(lines(&sent, cut) == whole, "the pieces in which bytes arrive must not matter");
    for fault in whole.iter().filter_map(|judged| judged.as_ref().err()) {
        is_readable(fault);
    }
    let last = whole.last().and_then(|judged| judged.as_ref().ok());
    let is_heard = matches!(last, Some(Some(Message::Request { id, .. })) if id == "last");
    assert!(is_heard, "the line after garbage was not heard");
}

fn lines(sent: &[u8], cut: usize) -> Vec<Result<Option<Message>, Fault>> {
    let mut lines = Lines::default();
    let mut judged = Vec::new();
    for piece in sent.chunks(cut) {
        lines.push(piece, &mut |line| {
            assert!(line.as_ref().is_ok_and(|line| line.len() <= MAX_LINE) || line.is_err());
            judged.push(line.and_then(|line| examine(&line)));
        });
    }
    judged
}

/// JSON-RPC, short, with an id of a request's kind, on one line.
fn is_readable(fault: &Fault) {
    let answer = fault.answer();
    let id = &answer["id"];
    assert!(id.is_null() || id.is_i64() || id.as_str().is_some_and(|text| text.len() <= 128), "{answer}");
    assert!(answer["error"]["code"].is_i64() && answer["jsonrpc"] == "2.0", "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message is text");
    assert!(!message.is_empty() && message.len() < 1024 && !message.contains(char::is_control), "{answer}");
    assert_eq!(serde_json::from_str::<Value>(&answer.to_string()).ok().as_ref(), Some(&answer));
}
