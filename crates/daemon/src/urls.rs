//! Finds web addresses in the rendered text of a process. They are unverified: no part of the daemon connects
//! to them, and only plain ASCII is accepted, so that none looks like another.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use term::{Screen, Wraps};

/// The most addresses that are returned.
const MOST: usize = 50;
/// The longest address that is returned; a longer one is left out, because a cut address leads elsewhere.
const LONGEST: usize = 2048;

/// `http` or `https`, a host, and what may follow in one word.
static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i-u)\bhttps?://[a-z0-9\[][!#-;=?-\[\]_a-z~]*"#).ok());

/// Returns the lines that may hold one, newest first: of the screen, then of its history.
pub(crate) fn candidate_lines(screen: &Screen) -> Vec<String> {
    let visible = if screen.is_alternate() { screen.text(Wraps::Join) } else { String::new() };
    let history = screen.lines(screen.written(), Wraps::Join);
    let visible = visible.lines().rev().map(str::to_owned);
    let all = visible.chain(history.into_iter().rev().map(|line| line.text));
    all.filter(|line| line.contains("://")).collect()
}

/// Returns the addresses in these lines, each once, in the order of the lines.
pub(crate) fn addresses(lines: &[String]) -> Vec<String> {
    let Some(regex) = ADDRESS.as_ref() else { return Vec::new() };
    let mut seen = HashSet::new();
    let all = lines.iter().flat_map(|line| regex.find_iter(line)).map(|found| trimmed(found.as_str()));
    all.filter(|address| address.len() <= LONGEST && seen.insert(*address))
        .take(MOST)
        .map(str::to_owned)
        .collect()
}

/// Removes the punctuation of the sentence around it, and a closing bracket that it did not open.
fn trimmed(address: &str) -> &str {
    let mut address = address;
    loop {
        let is_open =
            |open: char, close: char| address.matches(open).count() >= address.matches(close).count();
        let cut = match address.chars().next_back() {
            Some('.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*') => true,
            Some(')') => !is_open('(', ')'),
            Some(']') => !is_open('[', ']'),
            _ => false,
        };
        match address.char_indices().next_back() {
            Some((last, _)) if cut => address = &address[..last],
            _ => return address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use term::{GridSize, Limits};

    fn found(text: &str) -> Vec<String> {
        addresses(&[text.to_owned()])
    }

    #[test]
    fn an_address_ends_where_a_person_would_end_it() {
        let cases = [
            ("Local: http://localhost:5173/", vec!["http://localhost:5173/"]),
            ("see (https://a.b/c_(d)), or https://a.b/e.", vec!["https://a.b/c_(d)", "https://a.b/e"]),
            (
                "http://[::1]:8080/x?y=1&z#f \"https://q.r\"",
                vec!["http://[::1]:8080/x?y=1&z#f", "https://q.r"],
            ),
            ("<http://a.b/%20~x>, [https://c.d]", vec!["http://a.b/%20~x", "https://c.d"]),
            ("http://a.b\u{202e}/c", vec!["http://a.b"]),
            ("ftp://a.b file:///x javascript://y http:// https://", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn addresses_are_told_once_newest_first_and_not_without_end() {
        let mut screen = Screen::new(GridSize::clamped(20, 4), Limits { history_lines: 1000 });
        for number in (0..80).chain([0]) {
            screen.feed(format!("at http://localhost:{}/a/long/path\r\n", 1000 + number).as_bytes());
        }
        let listed = addresses(&candidate_lines(&screen));
        assert_eq!(listed.len(), MOST);
        assert_eq!(listed[0], "http://localhost:1000/a/long/path", "wraps are joined");
        assert_eq!(listed[1], "http://localhost:1079/a/long/path");
        screen.feed(b"\x1b[?1049h\x1b[Hhttp://full.screen/");
        assert_eq!(addresses(&candidate_lines(&screen))[0], "http://full.screen/");
        assert!(found(&format!("http://a.b/{}", "x".repeat(LONGEST))).is_empty());
    }
}
