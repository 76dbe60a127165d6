//! Limits lines per file and lines per function, with a list of files over the limit that may only shrink. It
//! counts production code; tests may be as long as their subject needs.

use super::scan::{Source, has_word};
use super::{Finding, Tree};

/// Normal is below this.
pub(crate) const FILE_WARN: usize = 400;
/// Nothing passes this.
pub(crate) const FILE_WALL: usize = 600;
/// Lines of code in one function body, tests included.
pub(crate) const FUNCTION_WALL: usize = 80;

/// Files over the wall with their recorded length. Entries leave this list; none joins it.
pub(crate) const EXCEPTIONS: &[(&str, usize)] = &[];

/// Checks both walls for one file.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = long_functions(source);
    findings.extend(long_file(source, EXCEPTIONS));
    findings
}

/// Returns the number of lines that ship: everything outside tests except blank lines at the end.
pub(crate) fn production_lines(source: &Source) -> usize {
    let is_blank =
        |index: usize| source.literal[index].trim().is_empty() && source.comment[index].trim().is_empty();
    let last = (0..source.code.len()).rev().find(|index| !is_blank(*index)).map_or(0, |index| index + 1);
    source.is_test[..last].iter().filter(|is_test| !**is_test).count()
}

pub(crate) fn long_file(source: &Source, exceptions: &[(&str, usize)]) -> Option<Finding> {
    let lines = production_lines(source);
    let path = source.path.as_str();
    let allowed =
        exceptions.iter().find(|(name, _)| *name == path).map_or(FILE_WALL, |(_, recorded)| *recorded);
    if lines > allowed {
        return Some(Finding::error(
            path,
            1,
            "file-length",
            format!("{lines} lines, the wall is {allowed}: split it"),
        ));
    }
    let advice = format!("{lines} lines, normal is up to {FILE_WARN}: look for a second noun");
    (lines > FILE_WARN).then(|| Finding::warning(path, 1, "file-length", advice))
}

/// An exception that is no longer true must leave or be lowered, so that the list only shrinks.
pub(crate) fn check_exceptions(tree: &Tree) -> Vec<Finding> {
    EXCEPTIONS.iter().filter_map(|(path, recorded)| stale_exception(tree, path, *recorded)).collect()
}

pub(crate) fn stale_exception(tree: &Tree, path: &str, recorded: usize) -> Option<Finding> {
    let lines = tree.find(path).and_then(|file| file.source.as_ref()).map_or(0, production_lines);
    let rule = "file-length";
    if lines <= FILE_WALL {
        return Some(Finding::error(path, 1, rule, "below the wall again: remove it from the exceptions"));
    }
    let advice = format!("shrank to {lines}: lower the recorded {recorded}");
    (lines < recorded).then(|| Finding::error(path, 1, rule, advice))
}

fn long_functions(source: &Source) -> Vec<Finding> {
    let starts = source.numbered().filter(|(_, line)| has_word(line, "fn"));
    let finding = |(number, _): (usize, &str)| {
        let lines = function_lines(&source.code, number - 1)?;
        let advice = format!("{lines} lines of code, the wall is {FUNCTION_WALL}: give parts of it names");
        (lines > FUNCTION_WALL).then(|| Finding::error(&source.path, number, "function-length", advice))
    };
    starts.filter_map(finding).collect()
}

/// Lines of code between the braces of the function whose `fn` is on line `start`; none for a declaration or a
/// function type.
fn function_lines(code: &[String], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut opened = None;
    for (index, line) in code.iter().enumerate().skip(start) {
        let from = if index == start { line.find("fn").unwrap_or(0) } else { 0 };
        for character in line[from..].chars() {
            match character {
                '{' => {
                    opened.get_or_insert(index);
                    depth += 1;
                }
                '}' if depth == 0 => return None,
                '}' => depth -= 1,
                ';' if opened.is_none() && depth == 0 => return None,
                _ => {}
            }
            if let (Some(first), 0) = (opened, depth) {
                let body = code[first..=index].iter().filter(|line| !line.trim().is_empty()).count();
                return Some(body.saturating_sub(2));
            }
        }
    }
    None
}
