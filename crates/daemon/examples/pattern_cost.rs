//! Measures the costliest patterns that the limits accept, per byte of rows of a thousand columns.
//!
//! `cargo run --release -p daemon --example pattern_cost` prints them, costliest first. The bounds are in
//! tests.

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::time::Duration;

use regex::Regex;

#[expect(dead_code, reason = "the daemon's own limits, of which this needs a part")]
#[path = "../src/line_pattern.rs"]
mod pattern;

/// Bytes of each text.
const LENGTH: usize = 64 * 1024;
/// Columns of a row.
const ROW: usize = 1_000;
/// Longest time for one pattern and one text.
const MOST: Duration = Duration::from_millis(300);

/// Pieces of patterns; N is how often.
const PIECES: [&str; 18] = [
    "[a-z]{N}x",
    "(?:a|b|c|ab|bc){N}",
    "(?:a|b|c|ab|bc){N}Q",
    "(?:a?){N}",
    "\\w{N}",
    "(?i)\\w{N}",
    "(?:[ab]?){N}$",
    "(?:x*y*){N}",
    "[^x]{N}x",
    "(?s).{N}x",
    "(?:a{0,N}){N}",
    "(?:.{0,9}a){N}",
    "(?:.?){N}z",
    "(?:\\w+\\s*){N}Q",
    "a.{N}b",
    "[ab]*a[ab]{N}Q",
    "\\b(?:\\w{1,N})\\b Q",
    ".*[ab].{N}é",
];

/// Returns a text of these characters in no order.
fn text(letters: &[char]) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        letters[state as usize / 65_536 % letters.len()]
    };
    (0..LENGTH).map(|_| letter()).collect()
}

/// Nanoseconds for a byte, and the longest row.
fn cost(regex: &Regex, text: &str) -> (u64, Duration) {
    let (mut looked, mut spent, mut longest) = (0, Duration::ZERO, Duration::ZERO);
    let rows: Vec<char> = text.chars().collect();
    for row in rows.chunks(ROW).map(|row| row.iter().collect::<String>()) {
        let begun = pattern::thread_time();
        std::hint::black_box(regex.find(&row));
        let took = pattern::thread_time().saturating_sub(begun);
        (looked, spent, longest) = (looked + row.len() as u64, spent + took, longest.max(took));
        if spent > MOST {
            break;
        }
    }
    (u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX) / looked.max(1), longest)
}

fn main() {
    let texts =
        [text(&['a']), text(&['a', 'b']), text(&['a', 'b', 'c', ' ', 'x', 'z', '0']), text(&['ä', 'ö', 'a'])];
    let patterns = PIECES
        .iter()
        .flat_map(|piece| [50, 100, 200, 400, 800, 990].map(|count| piece.replace('N', &count.to_string())));
    let (mut figures, mut refused) = (Vec::new(), 0);
    for pattern in patterns {
        let begun = pattern::thread_time();
        let compiled = pattern::compile(&pattern);
        let compiling = pattern::thread_time().saturating_sub(begun);
        let Ok(regex) = compiled else {
            refused += 1;
            continue;
        };
        let (nanoseconds, row) = texts.iter().map(|text| cost(&regex, text)).max().unwrap_or_default();
        figures.push((nanoseconds, row, compiling, pattern::is_light(&pattern), pattern));
    }
    figures.sort_by(|one, other| other.cmp(one));
    println!("{} patterns taken, {refused} refused", figures.len());
    println!("ns/byte  longest row  compiled in  light  pattern");
    for (nanoseconds, row, compiling, is_light, pattern) in figures.iter().take(24) {
        println!("{nanoseconds:7}  {row:>11.1?}  {compiling:>11.1?}  {is_light:5}  {pattern}");
    }
}
