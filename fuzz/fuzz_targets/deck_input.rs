//! What a person types, or a hostile terminal sends, to the deck: the parser never panics, and every byte that came is in
//! exactly one event, however the bytes are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;

/// Far past the longest key; a paste is as long as this.
const LONGEST: usize = 64 << 10;

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let [cut, rest @ ..] = data else { return };
    let typed = fuzz::stretched(rest, fuzz::reach(data, LONGEST));
    let cut = usize::from(*cut).max(1) * if typed.len() > 4096 { 256 } else { 1 };
    let pieces: Vec<&[u8]> = typed.chunks(cut).collect();
    assert_eq!(tui::fuzzing::typed(&pieces), typed.len(), "every byte is in one event");
}
