//! Checks the table of guarantees: every code at the beginning of a test's name is in `docs/guarantees.md`,
//! every row there has a test, and every test that a row names exists.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Source, is_word};
use super::{Finding, Tree};

/// The document that holds the table.
pub(crate) const TABLE: &str = "docs/guarantees.md";

/// Where the page's own tests are.
const PAGE_TESTS: &str = "web/page/tests/";

/// Codes without a row, rows without a test, and names of tests that do not exist.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(table) = tree.find(TABLE) else { return Vec::new() };
    let rows = rows(&table.text);
    let tests = codes_of_tests(tree);
    let has_row = |code: &str| rows.keys().any(|row| stands_for(code, row));
    let without_row = tests.iter().filter(|(code, _)| !has_row(code)).map(|(code, (path, line))| {
        let advice = format!("the code {code} has no row in {TABLE}");
        Finding::error(path, *line, "guarantee", advice)
    });
    let codes: BTreeSet<&str> = tests.keys().map(String::as_str).collect();
    let without_test =
        rows.iter().filter(|(row, _)| !codes.iter().any(|code| stands_for(code, row))).map(|(row, line)| {
            Finding::error(TABLE, *line, "guarantee", format!("no test carries the code {row}"))
        });
    without_row.chain(without_test).chain(missing_tests(tree, &table.text)).collect()
}

/// Finds names of tests in the table that no function has: the test was renamed or removed, and nothing proves the row.
fn missing_tests(tree: &Tree, table: &str) -> Vec<Finding> {
    let functions: BTreeSet<String> =
        tree.sources().flat_map(|source| source.code.iter().filter_map(|line| function_name(line))).collect();
    let named = table.lines().enumerate().flat_map(|(index, line)| {
        line.split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| is_test_name(word))
            .map(move |name| (name, index + 1))
    });
    let missing = named.filter(|(name, _)| !functions.contains(*name));
    missing
        .map(|(name, line)| Finding::error(TABLE, line, "guarantee", format!("no test has the name {name}")))
        .collect()
}

/// Returns true for a whole name behind its codes; `t1`, `t1_*` and `t1_a_beginning…` stand for several tests.
fn is_test_name(word: &str) -> bool {
    let codes = leading_codes(word, '_').len();
    word.chars().all(is_word) && (1..word.split('_').count()).contains(&codes)
}

/// A test may carry a row's code or, where a number has several rows (`M3a`, `M3b`), the number alone.
fn stands_for(code: &str, row: &str) -> bool {
    code == row || row.trim_end_matches(|character: char| character.is_ascii_lowercase()) == code
}

/// Returns the codes of the table with their line numbers.
fn rows(text: &str) -> BTreeMap<String, usize> {
    let cell = |line: &str| line.strip_prefix("| ")?.split_once(" |").map(|(code, _)| code.to_owned());
    let is_code = |code: &String| {
        let mut characters = code.chars();
        characters.next().is_some_and(|first| first.is_ascii_uppercase()) && is_number(characters.as_str())
    };
    let numbered = text.lines().enumerate();
    numbered.filter_map(|(index, line)| Some((cell(line).filter(is_code)?, index + 1))).collect()
}

/// Returns true for digits, then at most one letter.
fn is_number(text: &str) -> bool {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_lowercase());
    text.len() - digits.len() <= 1
        && !digits.is_empty()
        && digits.chars().all(|character| character.is_ascii_digit())
}

/// Returns every code that the name of a test carries, with the first place where it does.
fn codes_of_tests(tree: &Tree) -> BTreeMap<String, (String, usize)> {
    let mut codes = BTreeMap::new();
    for source in tree.sources().filter(|source| source.path.starts_with("crates/")) {
        for (number, line) in source.numbered() {
            for code in codes_of(source, number, line) {
                codes.entry(code).or_insert_with(|| (source.path.clone(), number));
            }
        }
    }
    for file in tree.files.iter().filter(|file| file.path.starts_with(PAGE_TESTS)) {
        for (index, line) in file.text.lines().enumerate() {
            for code in codes_of_page_test(line) {
                codes.entry(code).or_insert_with(|| (file.path.clone(), index + 1));
            }
        }
    }
    codes
}

/// Returns the codes of a test of the page: `test("w6 w8 …", …)` carries W6 and W8.
fn codes_of_page_test(line: &str) -> Vec<String> {
    let name = line.trim_start().strip_prefix("test(").and_then(|rest| rest.strip_prefix(['"', '`']));
    name.map(|name| leading_codes(name, ' ')).unwrap_or_default()
}

/// Returns the codes at the beginning of a test's name: `t9_t15_nobody_survives` carries T9 and T15.
fn codes_of(source: &Source, number: usize, line: &str) -> Vec<String> {
    let Some(name) = function_name(line) else { return Vec::new() };
    let is_test = source.code[..number - 1]
        .iter()
        .rev()
        .take_while(|above| above.trim().is_empty() || above.trim().starts_with("#["))
        .any(|above| above.contains("test]"));
    if !is_test {
        return Vec::new();
    }
    leading_codes(&name, '_')
}

/// Returns the name of the function that a line declares.
fn function_name(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("fn ")?;
    Some(rest.chars().take_while(|character| is_word(*character)).collect())
}

/// Returns the codes with which a name begins.
fn leading_codes(name: &str, separator: char) -> Vec<String> {
    let is_code = |part: &&str| {
        part.starts_with(|first: char| first.is_ascii_lowercase()) && part.get(1..).is_some_and(is_number)
    };
    let upper = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    name.split(separator).take_while(is_code).map(upper).collect()
}
