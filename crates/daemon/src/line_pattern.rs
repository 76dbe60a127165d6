//! Compiles callers' patterns within limits, or refuses them with a reason.
//!
//! Matching is linear in the text, without back-tracking. Linear is not cheap: the costliest accepted pattern
//! needs some fifteen microseconds per byte, so matching never runs where other work would wait for it.

use std::time::Duration;

use proto::{Failure, Printable};
use regex::{Regex, RegexBuilder};
use rustix::time::{ClockId, clock_gettime};

/// Longest pattern.
const MAX_PATTERN: usize = 1024;
/// The most memory of a compiled pattern. Ten Unicode words fit; a larger one may cost fifty microseconds a
/// byte.
const MAX_COMPILED: usize = 512 << 10; // 512 KiB
/// A pattern that takes no more than this is light: one to two microseconds per byte at worst.
const MAX_LIGHT: usize = 64 << 10; // 64 KiB
/// The most memory for the cache of the fast engine. With less than a few times the pattern itself that
/// engine fails, and the slow one replaces it: a smaller cache costs time.
const MAX_CACHE: usize = 1 << 20; // 1 MiB
/// Deepest nesting of groups.
const MAX_NESTING: u32 = 50;

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Failure> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN {
        return Err(Failure::invalid("pattern", format!("between 1 and {MAX_PATTERN} bytes")));
    }
    bounded(pattern, MAX_COMPILED).build().map_err(|why| refusal(&why))
}

/// Returns true if a pattern is small enough to be cheap on any text.
pub(crate) fn is_light(pattern: &str) -> bool {
    bounded(pattern, MAX_LIGHT).build().is_ok()
}

fn bounded(pattern: &str, most: usize) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(most).dfa_size_limit(MAX_CACHE).nest_limit(MAX_NESTING);
    builder
}

fn refusal(why: &regex::Error) -> Failure {
    if matches!(why, regex::Error::CompiledTooBig(_)) {
        let message = format!("too large: it would take more than {} KiB once compiled", MAX_COMPILED >> 10);
        let hint =
            "use fewer repetitions, and [0-9A-Za-z_] for \\w, which stands for the letters of all languages";
        return Failure::invalid("pattern", message).hint(hint);
    }
    Failure::invalid("pattern", reason(why))
}

/// A pattern that is searched in lines, often in many at once: matching line by line would cost more per call
/// than per line.
#[derive(Clone)]
pub(crate) struct LinePattern {
    line: Regex,
    /// Matches in a block of lines wherever `line` matches one of them, and perhaps elsewhere too. `None`
    /// when the pattern refers to the ends of a text in a way that ignores lines.
    block: Option<Regex>,
    /// True if it is small enough to be cheap on any text.
    is_light: bool,
}

impl LinePattern {
    /// Compiles a pattern.
    pub(crate) fn compile(pattern: &str) -> Result<Self, Failure> {
        let line = compile(pattern)?;
        let block = match () {
            () if names_ends_of_text(pattern) => None,
            () if pattern.contains(['^', '$']) => {
                bounded(pattern, MAX_COMPILED).multi_line(true).build().ok()
            }
            () => Some(line.clone()),
        };
        Ok(Self { line, block, is_light: is_light(pattern) })
    }

    /// Returns true if it is cheap on any text.
    pub(crate) fn is_light(&self) -> bool {
        self.is_light
    }

    /// Returns true if this line matches.
    pub(crate) fn is_in(&self, line: &str) -> bool {
        self.line.is_match(line)
    }

    /// Returns the offset before which no line of a block, joined by line feeds, begins to match; `None` when
    /// no line matches.
    pub(crate) fn earliest_in(&self, block: &str) -> Option<usize> {
        match &self.block {
            Some(pattern) => pattern.find(block).map(|found| found.start()),
            None => Some(0),
        }
    }
}

/// Returns true if a pattern may refer to the beginning or end of a text other than by `^` and `$`, or may
/// change what those mean. It errs towards true.
fn names_ends_of_text(pattern: &str) -> bool {
    let changes_flags = || {
        let groups = pattern.match_indices("(?");
        groups
            .map(|(at, _)| &pattern[at..])
            .any(|group| group.split([')', ':']).next().is_some_and(|flags| flags.contains('-')))
    };
    pattern.contains("\\A") || pattern.contains("\\z") || changes_flags()
}

/// Returns the processor time of this thread: other work on the machine does not count.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the last line of the reason: the ones before it repeat the pattern, which may contain anything.
fn reason(why: &regex::Error) -> String {
    let text = why.to_string();
    let last = text.lines().last().unwrap_or("not a regular expression");
    Printable(last.trim_start_matches("error: ")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns that cost as much as they can.
    fn evil() -> Vec<String> {
        let mut evil: Vec<String> = (1..100).map(|n| format!("(a{{0,{}}}){{{}}}", n * 10, n * 10)).collect();
        evil.extend((1..100).map(|n| "x*".repeat(n * 5)));
        evil.push("(".repeat(500));
        for repeated in [
            "\\p{L}",
            "\\w",
            "(?i)\\w",
            "[^x]",
            "(?:a|b|c|ab|bc)",
            "(?:[ab]?)",
            "(?:.?)",
            "a.",
            "(?:.{0,9}a)",
        ] {
            evil.extend([50, 100, 200, 400, 800, 999].map(|n| format!("{repeated}{{{n}}}Q")));
        }
        evil
    }

    /// Returns true if `work` takes at most this processor time in one of several rounds: other load is in
    /// the others.
    fn takes_at_most(most: Duration, mut work: impl FnMut()) -> bool {
        (0..5).any(|_| {
            let begun = thread_time();
            work();
            thread_time().saturating_sub(begun) <= most
        })
    }

    #[test]
    fn e7_evil_patterns_are_refused_or_look_at_a_long_row_in_fifty_milliseconds() {
        let words: String =
            (0..1_000).map(|n: usize| if (n * n / 7).is_multiple_of(3) { 'a' } else { 'b' }).collect();
        let rows = ["a".repeat(1_000), words];
        let most = Duration::from_millis(50);
        for pattern in evil() {
            let mut compiled = None;
            assert!(takes_at_most(most, || compiled = compile(&pattern).ok()), "compiling {pattern}");
            let Some(regex) = compiled else { continue };
            for row in &rows {
                let find = || {
                    assert!(std::hint::black_box(regex.find(row)).is_none_or(|found| found.end() <= 1_000))
                };
                assert!(takes_at_most(most, find), "looking for {pattern}");
            }
        }
    }

    #[test]
    fn e7_what_people_write_is_taken_and_what_is_small_is_light() {
        for pattern in ["needle", "(?i)error|warning", "https?://\\S+:\\d+/\\S*", "^\\$ $", "\\w+\\s+\\d+"] {
            assert!(compile(pattern).is_ok() && is_light(pattern), "{pattern}");
        }
        for pattern in ["(\\w+)\\s(\\w+)\\s(\\w+)\\s(\\w+)\\s(\\w+)", "\\w{10}", "(?:a|b|c|ab|bc){700}"] {
            assert!(compile(pattern).is_ok() && !is_light(pattern), "{pattern}");
        }
        let failure = compile("\\w{50}").unwrap_err();
        assert!(failure.message.contains("too large") && failure.hint.is_some(), "{failure:?}");
    }

    /// Every pattern against every block: a match in a single line is also found in the block.
    #[test]
    fn a_line_that_matches_is_found_in_its_block() {
        let patterns = [
            "needle",
            "^needle",
            "needle$",
            "^needle$",
            "\\Aneedle",
            "needle\\z",
            "(?-m)^needle$",
            "(?i-m:^NEEDLE)",
            "(?i)NEEDLE$",
            "\\bneedle\\b",
            "\\Bneedle|^n.*e$",
            "(?x) ^ needle  # as it is",
            "need(?:le)?$",
            "[^x]needle",
            "(?s)a.needle",
            "^$|x^needle",
            "\\$ $|needle$",
            "(?m)^needle$",
            "(?R)^needle$",
            "(?<name>^needle)",
        ];
        let words = ["needle", "a needle", "needle b", "haystack", "xneedle", "NEEDLE", "$ ", "kneedled"];
        for pattern in patterns {
            let compiled = LinePattern::compile(pattern).unwrap();
            for choice in 0..words.len().pow(3) {
                let lines = [choice % 8, choice / 8 % 8, choice / 64].map(|word| words[word]);
                let block = lines.join("\n");
                let mut ends = lines.iter().scan(0, |at, line| {
                    *at += line.len() + 1;
                    Some(*at)
                });
                let matching = lines.iter().position(|line| compiled.is_in(line));
                let earliest = compiled.earliest_in(&block);
                let first = earliest.map(|at| ends.position(|end| at < end).unwrap_or(lines.len()));
                let is_passed_over = matching.is_some_and(|line| first.is_none_or(|first| line < first));
                assert!(!is_passed_over, "{pattern} in {lines:?}: {matching:?} before {first:?}");
            }
        }
    }

    #[test]
    fn a_bad_pattern_names_the_field() {
        let failure = compile("(").unwrap_err();
        assert!(failure.message.starts_with("pattern: "), "{}", failure.message);
        assert!(compile("").is_err() && compile(&"a".repeat(1025)).is_err());
    }
}
