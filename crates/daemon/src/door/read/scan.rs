//! Searches lines within a budget of processor time, and reports when it was too small.

use std::time::Duration;

use proto::{ErrorCode, Failure};
use regex::Regex;
use term::{Found, Line};

use crate::line_pattern::thread_time;

/// The processor time of one search: a hundred times what an ordinary pattern needs for a full history.
const BUDGET: Duration = Duration::from_secs(2);
/// The most of a line that is searched, so that one line stays within the budget: for a light pattern, and
/// for a heavy one.
const MAX_LINE: usize = 1 << 20; // 1 MiB
const MAX_LINE_HEAVY: usize = 64 << 10; // 64 KiB
/// Text between two checks of the time.
const PIECE: usize = 4 * 1024;

/// What is searched for.
pub(super) struct Wanted {
    pub(super) regex: Regex,
    /// True if it is cheap on any text.
    pub(super) is_light: bool,
}

/// Matches of a pattern in lines, at most `limit`, with at most `bytes` of text.
pub(super) fn search(
    mut lines: Vec<Line>,
    wanted: &Wanted,
    limit: usize,
    bytes: usize,
) -> Result<Found, Failure> {
    let most = if wanted.is_light { MAX_LINE } else { MAX_LINE_HEAVY };
    let is_shortened = shorten(&mut lines, most);
    let (mut found, mut taken, mut looked) = (Found::default(), 0, 0);
    let begun = thread_time();
    for piece in pieces(&lines) {
        if thread_time().saturating_sub(begun) > BUDGET {
            return Err(too_costly(looked, lines.len()));
        }
        let part = Found::among(piece, &wanted.regex, limit - found.matches.len(), bytes - taken);
        taken += part.matches.iter().map(|one| one.text.len()).sum::<usize>();
        looked += piece.len();
        found.matches.extend(part.matches);
        if part.is_cut {
            found.is_cut = true;
            return Ok(found);
        }
    }
    found.is_cut = is_shortened;
    Ok(found)
}

/// Groups lines in order, so that each group's text is about one piece.
fn pieces(lines: &[Line]) -> impl Iterator<Item = &[Line]> {
    let mut size = 0;
    lines.chunk_by(move |line, _| {
        size += line.text.len() + 1;
        let goes_on = size < PIECE;
        size = if goes_on { size } else { 0 };
        goes_on
    })
}

/// Cuts lines that are too long; returns true if any was.
fn shorten(lines: &mut [Line], most: usize) -> bool {
    let mut is_shortened = false;
    for line in lines.iter_mut().filter(|line| line.text.len() > most) {
        line.text.truncate(line.text.floor_char_boundary(most));
        is_shortened = true;
    }
    is_shortened
}

fn too_costly(looked: usize, of: usize) -> Failure {
    let seconds = BUDGET.as_secs();
    let message = format!("looking for this pattern takes too long: {looked} of {of} lines in {seconds} s");
    Failure::new(ErrorCode::Limit, message)
        .hint("use a simpler pattern: fewer repetitions, fewer alternatives")
}

#[cfg(test)]
mod tests {
    use term::LineId;

    use super::*;
    use crate::line_pattern;

    fn lines(texts: impl IntoIterator<Item = String>) -> Vec<Line> {
        let line = |(id, text)| Line { id: LineId(id as u64), text, wrapped: false };
        texts.into_iter().enumerate().map(line).collect()
    }

    fn wanted(pattern: &str) -> Wanted {
        Wanted { regex: line_pattern::compile(pattern).unwrap(), is_light: line_pattern::is_light(pattern) }
    }

    #[test]
    fn pieces_are_all_the_lines_in_order() {
        let lines =
            lines((0..1_000).map(|n| "x".repeat(n * 7 % 900)).chain(["y".repeat(20_000), String::new()]));
        let all: Vec<Line> = pieces(&lines).flatten().cloned().collect();
        assert_eq!(all, lines);
        let most =
            pieces(&lines).map(|piece| piece.iter().map(|line| line.text.len() + 1).sum::<usize>()).max();
        assert!(most <= Some(20_001), "{most:?}");
        assert!(pieces(&lines).count() > 50);
    }

    #[test]
    fn limits_hold_across_pieces_as_within_one() {
        let lines = lines((0..2_000).map(|n| format!("{n:04} a word and another word")));
        let word = wanted("word");
        for (limit, bytes) in
            [(1, 60_000), (7, 60_000), (1_000, 60_000), (1_000, 1), (1_000, 777), (5_000, 1 << 20)]
        {
            let whole = Found::among(&lines, &word.regex, limit, bytes);
            assert_eq!(search(lines.clone(), &word, limit, bytes).unwrap(), whole, "{limit} {bytes}");
        }
    }

    #[test]
    fn a_line_without_end_is_looked_at_for_a_while_and_that_is_told() {
        let heavy = "(?:needle|(?:a|b|c|ab|bc){700})";
        for (pattern, length, expected) in [
            ("needle", MAX_LINE_HEAVY, (2, false)),
            ("needle", MAX_LINE, (1, true)),
            (heavy, MAX_LINE_HEAVY / 8, (2, false)),
            (heavy, MAX_LINE_HEAVY, (1, true)),
        ] {
            let long = lines([format!("needle{}needle", "ä".repeat(length / 2))]);
            let found = search(long, &wanted(pattern), 10, 2_000).unwrap();
            assert_eq!((found.matches.len(), found.is_cut), expected, "{pattern} {length}");
        }
    }

    #[test]
    fn e7_a_search_ends_within_its_budget_and_says_how_far_it_came() {
        let text: Vec<char> =
            (0..10_900_usize).map(|n| if (n * n / 7).is_multiple_of(3) { 'a' } else { 'b' }).collect();
        let rows = lines(text.windows(900).map(|row| row.iter().collect()));
        let begun = thread_time();
        let outcome = search(rows, &wanted("(?:a|b|c|ab|bc){700}Q"), 10, 1_000);
        let spent = thread_time() - begun;
        let failure = outcome.expect_err("no machine looks through that in two seconds");
        assert!(
            failure.code == ErrorCode::Limit && failure.message.contains(" of 10001 lines"),
            "{failure:?}"
        );
        assert!(spent < BUDGET * 3, "{spent:?}");
    }
}
