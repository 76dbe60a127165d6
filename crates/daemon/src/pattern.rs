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
    RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|why| Failure::invalid("pattern", reason(&why)))
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

    #[test]
    fn a_bad_pattern_names_the_field() {
        let failure = compile("(").unwrap_err();
        assert!(failure.message.starts_with("pattern: "), "{}", failure.message);
        assert!(compile("").is_err() && compile(&"a".repeat(1025)).is_err());
    }
}
