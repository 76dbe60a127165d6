//! A light scan of Rust text for all rules: which characters are code, strings or comments, and which lines
//! are test code, so that a rule about code does not match a comment. It knows tokens and braces, not the
//! grammar.

/// One Rust file, line by line, in three views of equal length.
pub(crate) struct Source {
    pub(crate) path: String,
    /// Code only: strings and comments are blanked out.
    pub(crate) code: Vec<String>,
    /// Code and strings: comments are blanked out.
    pub(crate) literal: Vec<String>,
    /// Comments only, doc comments included.
    pub(crate) comment: Vec<String>,
    /// True for lines that exist only in test builds or test directories.
    pub(crate) is_test: Vec<bool>,
    pub(crate) first_line: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Text,
    Comment,
}

impl Source {
    pub(crate) fn scan(path: &str, text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let kinds = classify(&characters);
        let view = |keep: &[Kind]| render(&characters, &kinds, keep);
        let code = view(&[Kind::Code]);
        let is_test = test_lines(path, &code);
        Self {
            path: path.to_owned(),
            literal: view(&[Kind::Code, Kind::Text]),
            comment: view(&[Kind::Comment]),
            is_test,
            first_line: text.lines().next().unwrap_or_default().to_owned(),
            code,
        }
    }

    /// Returns line numbers (from 1) and code of every line.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }
}

/// Returns true for whole files that never ship: test, example, bench and fuzz directories, and `tests.rs`
/// beside its module.
pub(crate) fn is_test_path(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let in_test_directory =
        parts.iter().any(|part| matches!(*part, "tests" | "examples" | "benches" | "fuzz"));
    in_test_directory || file == "tests.rs" || file.ends_with("_tests.rs")
}

fn render(characters: &[char], kinds: &[Kind], keep: &[Kind]) -> Vec<String> {
    let shown = characters.iter().zip(kinds).map(|(character, kind)| match character {
        '\n' => '\n',
        _ if keep.contains(kind) => *character,
        _ => ' ',
    });
    shown.collect::<String>().split('\n').map(str::to_owned).collect()
}

fn classify(text: &[char]) -> Vec<Kind> {
    let mut kinds = Vec::with_capacity(text.len());
    while kinds.len() < text.len() {
        let rest = &text[kinds.len()..];
        let follows_word = !kinds.is_empty() && is_word(text[kinds.len() - 1]);
        let (kind, length) = next_piece(rest, follows_word);
        kinds.resize(kinds.len() + length.clamp(1, rest.len()), kind);
    }
    kinds
}

/// Returns the kind and length of what begins here. Quotes count as text.
fn next_piece(rest: &[char], follows_word: bool) -> (Kind, usize) {
    match rest {
        ['/', '/', ..] => (Kind::Comment, find(rest, '\n').unwrap_or(rest.len())),
        ['/', '*', ..] => (Kind::Comment, block_comment(rest)),
        ['"', ..] => (Kind::Text, quoted(rest, '"')),
        ['\'', ..] => char_or_lifetime(rest),
        ['r', ..] if !follows_word => {
            raw_string(rest, 1).map_or((Kind::Code, 1), |length| (Kind::Text, length))
        }
        ['b' | 'c', 'r', ..] if !follows_word => {
            raw_string(rest, 2).map_or((Kind::Code, 2), |length| (Kind::Text, length))
        }
        _ => (Kind::Code, 1),
    }
}

fn find(rest: &[char], wanted: char) -> Option<usize> {
    rest.iter().position(|character| *character == wanted)
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            character if character == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `'a'`, `'\n'` and `'('` are characters; `'a` and `'static` are lifetimes.
fn char_or_lifetime(rest: &[char]) -> (Kind, usize) {
    match rest {
        [_, '\\', ..] => (Kind::Text, quoted(rest, '\'')),
        [_, _, '\'', ..] => (Kind::Text, 3),
        _ => (Kind::Code, 1),
    }
}

/// Returns the length of a raw string whose hashes or quote begin at `prefix`, if there is one.
fn raw_string(rest: &[char], prefix: usize) -> Option<usize> {
    let hashes = rest[prefix..].iter().take_while(|character| **character == '#').count();
    let body = prefix + hashes + 1;
    if rest.get(body - 1) != Some(&'"') {
        return None;
    }
    let closes = |at: &usize| {
        rest[*at] == '"' && rest[*at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    Some((body..rest.len()).find(closes).map_or(rest.len(), |at| at + 1 + hashes))
}

pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns true if `word` is in `line` with no letter, digit or underscore beside it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Marks `#[cfg(test)]` items: from the attribute to the closing brace, or to the semicolon of `mod tests;`.
fn test_lines(path: &str, code: &[String]) -> Vec<bool> {
    let mut marks = vec![is_test_path(path); code.len()];
    for start in 0..code.len() {
        if !marks[start] && code[start].contains("#[cfg(test)]") {
            let end = end_of_item(code, start);
            marks[start..=end].fill(true);
        }
    }
    marks
}

/// Returns the line on which the item that begins at `start` ends.
pub(crate) fn end_of_item(code: &[String], start: usize) -> usize {
    let mut depth = 0usize;
    for (index, line) in code.iter().enumerate().skip(start) {
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' if depth <= 1 => return index,
                '}' => depth -= 1,
                ';' if depth == 0 => return index,
                _ => {}
            }
        }
    }
    code.len() - 1
}
