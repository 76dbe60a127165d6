//! What a person types, or a hostile terminal sends, on its way to the child: the watch for detach keys never
//! panics, never invents a byte, changes no order but the mouse's, returns what it held, and changes nothing
//! where neither a detach key nor an answer can be meant.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proto::terminal::{DetachKeys, KeyWatch, DetachIntent};

/// Far past the longest key; a paste is as long as this.
const LONGEST: usize = 256 << 10;
const CONTROL_BACKSLASH: u8 = 0x1c;

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let [kind, cut, rest @ ..] = data else { return };
    let typed = fuzz::stretched(rest, fuzz::reach(data, LONGEST));
    let cut = usize::from(*cut).max(1) * if typed.len() > 4096 { 256 } else { 1 };
    let keys = match kind % 4 {
        0 => DetachKeys::default(),
        1 => DetachKeys::default().with_tilde(),
        2 => "ctrl-a x".parse().expect("two keys"),
        _ => "ctrl-q".parse().expect("one key"),
    };
    // Half of them come from a terminal that was asked about itself: its answers are removed.
    let is_asked = kind & 0x80 != 0;
    let (out, intent) = watch(keys, is_asked, &typed, cut);
    assert!(is_taken_from(&out, &typed), "what the child gets was typed");
    // A mouse report may overtake a prefix that waits for its second key.
    let has_pointer = typed.windows(3).any(|head| head.starts_with(b"\x1b[") && b"M<IO".contains(&head[2]));
    assert!(has_pointer || is_part_of(&out, &typed), "what the child gets came in this order");
    // Every encoding but the plain one has the character's number.
    let names_backslash = typed.contains(&CONTROL_BACKSLASH) || typed.windows(2).any(|pair| pair == b"92");
    if kind % 4 == 0 && !is_asked && !names_backslash {
        assert!(out == typed && intent == DetachIntent::Stay, "nothing but detach keys is taken");
    }
    // Keys as a person writes them: parsed or refused, and the same after being printed.
    if let Ok(text) = std::str::from_utf8(rest) {
        if let Ok(named) = text.parse::<DetachKeys>() {
            assert_eq!(named.to_string().parse(), Ok(named));
        }
    }
}

fn watch(keys: DetachKeys, is_asked: bool, typed: &[u8], cut: usize) -> (Vec<u8>, DetachIntent) {
    let mut watch = KeyWatch::new(keys);
    if is_asked {
        watch.expect_answers();
    }
    let mut out = Vec::new();
    for piece in typed.chunks(cut) {
        if watch.watch(piece, &mut out) == DetachIntent::Detach {
            return (out, DetachIntent::Detach);
        }
    }
    watch.release(&mut out);
    assert!(watch.pause().is_none());
    (out, DetachIntent::Stay)
}

/// No byte comes out more often than it went in.
fn is_taken_from(part: &[u8], whole: &[u8]) -> bool {
    let mut counts = [0i64; 256];
    whole.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    part.iter().for_each(|byte| counts[usize::from(*byte)] -= 1);
    counts.iter().all(|count| *count >= 0)
}

fn is_part_of(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|byte| whole.any(|other| other == byte))
}
