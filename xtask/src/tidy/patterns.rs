//! The table of forbidden text: calls, attributes and comments that a review would otherwise have to
//! remember, and where each is forbidden.

use super::scan::{Source, has_word, is_test_path};
use super::{File, Finding, Tree};

/// Where a pattern is forbidden.
#[derive(Clone, Copy, PartialEq)]
enum Where {
    Production,
    Everywhere,
}

struct Forbidden {
    rule: &'static str,
    text: &'static str,
    place: Where,
    advice: &'static str,
}

const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        rule: "unwrap",
        text: ".unwrap()",
        place: Where::Production,
        advice: "return the error, or expect(\"why it cannot fail\")",
    },
    Forbidden {
        rule: "unbounded",
        text: "unbounded_channel",
        place: Where::Everywhere,
        advice: "use a bounded channel and say what happens when it is full",
    },
    Forbidden {
        rule: "sleep",
        text: "thread::sleep",
        place: Where::Production,
        advice: "wait for an event or a deadline",
    },
    Forbidden {
        rule: "unfinished",
        text: "todo!",
        place: Where::Everywhere,
        advice: "finish it or return an error",
    },
    Forbidden {
        rule: "unfinished",
        text: "unimplemented!",
        place: Where::Everywhere,
        advice: "finish it or return an error",
    },
    Forbidden {
        rule: "ignored-test",
        text: "#[ignore",
        place: Where::Everywhere,
        advice: "repair the test or delete it",
    },
    Forbidden {
        rule: "allow",
        text: "[allow(",
        place: Where::Everywhere,
        advice: "use #[expect(lint, reason = \"…\")], which fails once it is no longer needed",
    },
];

/// A test may sleep only under a lint expectation with a reason, written at most this many lines above.
const REASON_REACH: usize = 12;

/// The most lines of one assertion that are read.
const STATEMENT_REACH: usize = 8;

/// Checks all per-file rules over Rust text.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(first_line(source));
    for forbidden in FORBIDDEN {
        findings.extend(occurrences(source, forbidden));
    }
    findings.extend(sleeps_in_tests(source));
    findings.extend(limits_of_time_in_tests(source));
    findings.extend(unsafe_outside_the_holder(source));
    findings
}

fn first_line(source: &Source) -> Option<Finding> {
    let says_something = source.first_line.strip_prefix("//!").is_some_and(|words| words.trim().len() > 3);
    let advice = "begin with `//!` and say what this file is for";
    (!says_something).then(|| Finding::error(&source.path, 1, "first-line", advice))
}

fn occurrences<'a>(source: &'a Source, forbidden: &'a Forbidden) -> impl Iterator<Item = Finding> + 'a {
    source
        .numbered()
        .filter(|(number, _)| forbidden.place == Where::Everywhere || !source.is_test[number - 1])
        .filter(|(_, line)| line.contains(forbidden.text))
        .map(|(number, _)| Finding::error(&source.path, number, forbidden.rule, forbidden.advice))
}

fn sleeps_in_tests(source: &Source) -> Vec<Finding> {
    let has_reason = |number: usize| {
        let above = &source.literal[number.saturating_sub(REASON_REACH)..number];
        above.iter().any(|line| line.contains("disallowed_methods"))
            && above.iter().any(|line| line.contains("reason"))
    };
    let advice = "wait for an event; if time itself is under test, expect the lint with a reason";
    source
        .numbered()
        .filter(|(number, line)| source.is_test[number - 1] && line.contains("thread::sleep"))
        .filter(|(number, _)| !has_reason(*number))
        .map(|(number, _)| Finding::error(&source.path, number, "sleep", advice))
        .collect()
}

/// A busy machine makes every upper bound of time fail. A lower bound holds on any machine.
fn limits_of_time_in_tests(source: &Source) -> Vec<Finding> {
    let has_limit = |index: usize| {
        let statement = source.code[index..].iter().take(STATEMENT_REACH);
        let mut text = String::new();
        for line in statement {
            text.push_str(line.trim());
            if line.trim_end().ends_with(';') {
                break;
            }
        }
        text.split("elapsed()").nth(1).is_some_and(|then| !then.trim_start().starts_with('>'))
    };
    let advice = "assert what happened, not how long it took; a wait has a deadline of its own and panics";
    source
        .numbered()
        .filter(|(number, line)| source.is_test[number - 1] && line.trim_start().starts_with("assert"))
        .filter(|(number, _)| has_limit(number - 1))
        .map(|(number, _)| Finding::error(&source.path, number, "wall-time", advice))
        .collect()
}

fn unsafe_outside_the_holder(source: &Source) -> Vec<Finding> {
    if source.path.starts_with("crates/holder/") {
        return Vec::new();
    }
    let advice = "unsafe code lives in crates/holder only: find a safe call or add one there";
    let has_unsafe = source.numbered().filter(|(_, line)| has_word(line, "unsafe"));
    has_unsafe.map(|(number, _)| Finding::error(&source.path, number, "unsafe", advice)).collect()
}

/// A promise in a comment needs an issue number, because without one it is never kept.
pub(crate) fn open_promises(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = match &file.source {
        Some(source) => source.comment.iter().map(String::as_str).collect(),
        None if is_hash_commented(&file.path) => {
            file.text.lines().map(|line| line.split_once('#').map_or("", |(_, comment)| comment)).collect()
        }
        None => return Vec::new(),
    };
    let is_open =
        |line: &str| ["TODO", "FIXME"].iter().any(|word| has_word(line, word)) && !names_an_issue(line);
    let open = lines.iter().enumerate().filter(|(_, line)| is_open(line));
    let advice = "name the issue (`#123`) or do it now";
    open.map(|(index, _)| Finding::error(&file.path, index + 1, "promise", advice)).collect()
}

fn is_hash_commented(path: &str) -> bool {
    [".toml", ".sh", ".yml", ".yaml", ".py", ".ci/run"].iter().any(|end| path.ends_with(end))
}

fn names_an_issue(line: &str) -> bool {
    line.match_indices('#').any(|(at, _)| line[at + 1..].starts_with(|next: char| next.is_ascii_digit()))
}

/// The opening of a bracketed paste. Written in two halves so that this file is not the second place.
const PASTE_BRACKET: &str = concat!("200", "~");

/// Pastes have one encoder: a second one would forget to neutralise what the first one does.
pub(crate) fn paste_bracket_in_one_place(tree: &Tree) -> Vec<Finding> {
    let first_use = |source: &Source| {
        let holds = |(index, line): (usize, &String)| {
            (!source.is_test[index] && line.contains(PASTE_BRACKET)).then_some(index + 1)
        };
        source.literal.iter().enumerate().find_map(holds).map(|line| (source.path.clone(), line))
    };
    let uses: Vec<_> =
        tree.sources().filter(|source| !is_test_path(&source.path)).filter_map(first_use).collect();
    let Some((home, _)) = uses.first() else { return Vec::new() };
    let advice = format!("the paste bracket is written in {home} already: call its encoder");
    uses.iter().skip(1).map(|(path, line)| Finding::error(path, *line, "paste", advice.clone())).collect()
}
