//! Patterns callers supply: compiled within limits, or refused in words.
//!
//! Owns the limits. Refuses back-tracking engines: matching is linear in the text.

use proto::{Failure, Printable};
use regex::{Regex, RegexBuilder};

/// Longest pattern.
const MAX_PATTERN: usize = 1024;
/// Most memory a compiled pattern, and its cache, may take.
const MAX_COMPILED: usize = 1 << 20; // 1 MiB
/// Deepest nesting of groups.
const MAX_NESTING: u32 = 50;

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Failure> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN {
        return Err(Failure::invalid("pattern", format!("between 1 and {MAX_PATTERN} bytes")));
    }
    bounded(pattern).build().map_err(|why| Failure::invalid("pattern", reason(&why)))
}

fn bounded(pattern: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).nest_limit(MAX_NESTING);
    builder
}

/// A pattern that is looked for in lines, often in many at once: asking line by line costs more for the asking than for the
/// lines.
#[derive(Clone)]
pub(crate) struct LinePattern {
    line: Regex,
    /// Finds something in a block of lines wherever `line` matches one of them, and perhaps elsewhere too. None: the
    /// pattern names the ends of a text in words that know no lines.
    block: Option<Regex>,
}

impl LinePattern {
    /// Compiles a pattern.
    pub(crate) fn compile(pattern: &str) -> Result<Self, Failure> {
        let line = compile(pattern)?;
        let block = match () {
            () if names_ends_of_text(pattern) => None,
            () if pattern.contains(['^', '$']) => bounded(pattern).multi_line(true).build().ok(),
            () => Some(line.clone()),
        };
        Ok(Self { line, block })
    }

    /// Whether this line matches.
    pub(crate) fn is_in(&self, line: &str) -> bool {
        self.line.is_match(line)
    }

    /// Before this offset no line of a block, joined by line feeds, begins to match. None: no line of it matches.
    pub(crate) fn earliest_in(&self, block: &str) -> Option<usize> {
        match &self.block {
            Some(pattern) => pattern.find(block).map(|found| found.start()),
            None => Some(0),
        }
    }
}

/// Whether a pattern may say where a text begins or ends other than by `^` and `$`, or may change what those mean. Says so
/// too often rather than too seldom.
fn names_ends_of_text(pattern: &str) -> bool {
    let changes_flags = || {
        let groups = pattern.match_indices("(?");
        groups
            .map(|(at, _)| &pattern[at..])
            .any(|group| group.split([')', ':']).next().is_some_and(|flags| flags.contains('-')))
    };
    pattern.contains("\\A") || pattern.contains("\\z") || changes_flags()
}

/// The last line of the reason: the ones before it draw the pattern, which may hold anything.
fn reason(why: &regex::Error) -> String {
    let text = why.to_string();
    let last = text.lines().last().unwrap_or("not a regular expression");
    Printable(last.trim_start_matches("error: ")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn e7_evil_patterns_are_refused_or_linear() {
        let mut evil: Vec<String> = (1..100).map(|n| format!("(a{{0,{}}}){{{}}}", n * 10, n * 10)).collect();
        evil.extend((1..100).map(|n| "x*".repeat(n * 5)));
        evil.push("(".repeat(500));
        evil.push("\\p{L}{500}".to_owned());
        let text = "a".repeat(10_000);
        for pattern in evil {
            let start = Instant::now();
            if let Ok(regex) = compile(&pattern) {
                let _found = regex.is_match(&text);
            }
            assert!(start.elapsed().as_millis() < 1_000, "{pattern}");
        }
    }

    /// Every pattern against every block: what is found in the lines one by one is found in the block.
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
