//! Finds tuples that dodge a limit: parameters that are taken apart, tuples of three and more in parameters, fields and
//! aliases, and a tuple of two among many parameters. Each of these is a struct without names. What a function returns is
//! not meant: it counts against no limit, and the caller names its parts at once.

use super::scan::{Source, is_word};
use super::shape::shipped_crate;
use super::{Finding, Tree};

/// Most members of a tuple in a parameter, a field or an alias.
pub(crate) const MAX_MEMBERS: usize = 2;
/// A function with more parameters, `self` included, has no tuple among them.
pub(crate) const MAX_PARAMETERS: usize = 5;

/// Checks every file that ships.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(check_source).collect()
}

/// Finds the tuples of one file.
pub(crate) fn check_source(source: &Source) -> Vec<Finding> {
    if shipped_crate(&source.path).is_none() {
        return Vec::new();
    }
    let finding = |(line, advice): (usize, String)| Finding::error(&source.path, line, "tuple", advice);
    tuples(source).into_iter().map(finding).collect()
}

/// Returns the lines with tuples that dodge a limit, each with what to do.
fn tuples(source: &Source) -> Vec<(usize, String)> {
    let text = source.code.join("\n");
    let line_of = |at: usize| text[..at].matches('\n').count();
    let mut found = Vec::new();
    for item in items(&text).filter(|item| !source.is_test[line_of(item.at)]) {
        let body = &text[item.begin..item.end];
        let is_function = item.kind == ItemKind::Function;
        let parameters = if is_function { top_level_parts(body).len() } else { 0 };
        for (at, members) in tuple_types(body) {
            let line = line_of(item.begin + at) + 1;
            if members > MAX_MEMBERS {
                found.push((line, format!("a tuple of {members} members: name a struct")));
            } else if parameters > MAX_PARAMETERS {
                let advice = format!("a tuple among {parameters} parameters: name a struct for some of them");
                found.push((line, advice));
            } else if is_function && is_taken_apart(&body[..at]) {
                found.push((line, "a tuple hides a parameter: name a struct, or pass both".to_owned()));
            }
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum ItemKind {
    Function,
    Type,
}

/// A list of parameters, the body of a struct or enum, or the right side of an alias: from `begin` to `end`.
struct Item {
    kind: ItemKind,
    /// Where its keyword is.
    at: usize,
    begin: usize,
    end: usize,
}

/// Returns every declaration with types in it.
fn items(text: &str) -> impl Iterator<Item = Item> {
    let keywords = [("fn ", '('), ("struct ", '{'), ("enum ", '{'), ("type ", '=')];
    keywords.into_iter().flat_map(move |(keyword, opening)| {
        let is_keyword = move |at: &usize| {
            let line = text[..*at].rsplit('\n').next().unwrap_or_default();
            // An associated type is what a function of the trait returns.
            let is_associated = keyword == "type " && line.starts_with(' ');
            !line.chars().next_back().is_some_and(is_word) && !is_associated
        };
        let places = text.match_indices(keyword).map(|(at, _)| at).filter(is_keyword);
        places.filter_map(move |at| item(text, at, keyword, opening))
    })
}

/// Returns the item whose keyword is at this place; none for a pointer to a function, a unit struct or an associated type.
fn item(text: &str, at: usize, keyword: &str, opening: char) -> Option<Item> {
    let name = at + keyword.len();
    let after_name = name + text[name..].find(|character| !is_word(character))?;
    if after_name == name {
        return None;
    }
    let rest = &text[after_name..];
    let after_generics = if rest.starts_with('<') { after_name + matching(rest)? + 1 } else { after_name };
    let stop = text[after_generics..].find([opening, ';', '{'])? + after_generics;
    if !text[stop..].starts_with(opening) {
        return None;
    }
    let kind = if keyword == "fn " { ItemKind::Function } else { ItemKind::Type };
    let length = match opening {
        '=' => text[stop..].find(';')?,
        _ => matching(&text[stop..])?,
    };
    Some(Item { kind, at, begin: stop + 1, end: stop + length })
}

/// Returns where the bracket that begins this text is closed. An arrow closes nothing.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' | '>' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        before = character;
    }
    None
}

/// Returns the parts between the commas that are inside of no bracket; an empty last part is none.
fn top_level_parts(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut before) = (Vec::new(), 0, 0usize, ' ');
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        before = character;
    }
    parts.push(&text[begin..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Returns the types that are tuples of two and more, each with its place and the number of its members. The brackets of
/// `Fn(A, B)`, of attributes, visibilities and macros follow a word; what such a function returns follows an arrow.
fn tuple_types(text: &str) -> Vec<(usize, usize)> {
    let is_type = |at: &usize| {
        let before = &text[..*at];
        !before.chars().next_back().is_some_and(|character| is_word(character) || character == '!')
            && !before.trim_end().ends_with("->")
            && !is_pattern(text, *at)
    };
    let members = |at: usize| {
        let end = matching(&text[at..])?;
        Some((at, top_level_parts(&text[at + 1..at + end]).len()))
    };
    let places = text.match_indices('(').map(|(at, _)| at).filter(is_type);
    places.filter_map(members).filter(|(_, members)| *members > 1).collect()
}

/// Returns true if a bracket is the pattern before a colon, and not a type.
fn is_pattern(text: &str, at: usize) -> bool {
    let after = matching(&text[at..]).map(|end| text[at + end + 1..].trim_start());
    after.is_some_and(|after| after.starts_with(':') && !after.starts_with("::"))
}

/// Returns true if the text before a tuple type is a pattern that takes the tuple apart: `(a, b): `.
fn is_taken_apart(before: &str) -> bool {
    before.trim_end().strip_suffix(':').is_some_and(|pattern| pattern.trim_end().ends_with(')'))
}
