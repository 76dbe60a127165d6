//! Masks secrets and names of people in a text that will be kept: keys, tokens, addresses and home
//! directories. A secret becomes as many `x` as it had characters, so that the layout of a screen stays. It
//! masks too much rather than too little.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What is masked: the capture `secret` of a match, or all of it. Longer alternatives stand before shorter
/// ones.
const SHAPES: [&str; 12] = [
    // JSON web tokens.
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    // Keys with a vendor's prefix.
    r"(?:sk|pk|rk)-[A-Za-z0-9][A-Za-z0-9_-]{5,}",
    r"(?:ghp|gho|ghu|ghs|ghr|glpat|xox[abprs]|npm|hf|pypi|whsec|sk_live|sk_test|rk_live)[_-][A-Za-z0-9_-]{8,}",
    r"github_pat_[A-Za-z0-9_]{8,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}",
    r"AIza[A-Za-z0-9_-]{20,}",
    r"ya29\.[A-Za-z0-9_-]{8,}",
    // The value after a word that announces a secret.
    r"(?i:bearer|basic)[ \t]+(?<secret>[A-Za-z0-9+/_.=~-]{8,})",
    r"(?i:password|passwd|secret|token|api[_-]?key|access[_-]?key)[\x22']?[ \t]*[=:][ \t]*[\x22']?(?<secret>[^\s\x22'│┃]{4,})",
    r"[a-zA-Z][a-zA-Z0-9+.-]*://(?<secret>[^\s/@:]+:[^\s/@]+)@",
    // People: mail addresses, and names of home directories.
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    r"(?:/home/|/Users/|\\Users\\)(?<secret>[^/\\\s:\x22'│┃]+)",
];
/// Long runs of hexadecimal digits or base 64, where no word of a language is that long.
const RUNS: &str = r"[A-Za-z0-9+/_-]{32,}={0,2}";

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().filter_map(|shape| Regex::new(shape).ok()).collect());
static LONG_RUN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(RUNS).ok());

/// Returns the text without secrets and their number.
#[must_use]
pub fn mask(text: &str) -> (String, u32) {
    let mut found = 0;
    let mut masked = text.to_owned();
    for pattern in PATTERNS.iter() {
        masked = replaced(pattern, &masked, |_| true, &mut found);
    }
    if let Some(pattern) = LONG_RUN.as_ref() {
        masked = replaced(pattern, &masked, is_random, &mut found);
    }
    (masked, found)
}

fn replaced(pattern: &Regex, text: &str, is_secret: fn(&str) -> bool, found: &mut u32) -> String {
    pattern
        .replace_all(text, |captures: &Captures<'_>| {
            let whole = captures.get(0).map_or("", |part| part.as_str());
            let secret = captures.name("secret").map_or(whole, |part| part.as_str());
            if !is_secret(secret) || secret.chars().all(|character| character == 'x') {
                return whole.to_owned();
            }
            *found += 1;
            whole.replacen(secret, &"x".repeat(secret.chars().count()), 1)
        })
        .into_owned()
}

/// Returns true for a random string: digits and letters throughout. A path has slashes and words; a drawn
/// rule has one character.
fn is_random(run: &str) -> bool {
    let longest_word = run.split(['/', '-', '_']).map(str::len).max().unwrap_or(0);
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let letters = run.bytes().filter(u8::is_ascii_alphabetic).count();
    longest_word >= 20 && digits >= 4 && letters >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One secret of each kind.
    const SECRETS: [&str; 17] = [
        "sk-ant-api03-abcDEF_123-456",
        "sk-proj-9x8y7z6w5v",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "gho_abcdefghij0123456789",
        "github_pat_11ABCDEFG0abcdefgh",
        "glpat-AbCdEfGhIjKlMnOp",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA1234567890abcdefghijklmnopqrst",
        "xoxb-123456789012-abcdefghij",
        "npm_abcdefghijklmnopqrstuvwxyz012345",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "4a7d1ed414474e4033ac29ccb8653d9b4a7d1ed414474e40",
        "dGhpcyBpcyBhIGxvbmcgYmFzZTY0IHNlY3JldCAxMjM0NTY3ODkw",
        "ada.lovelace@example.org",
        "whsec_abcdefgh12345678",
        "hf_abcdefgh12345678",
        "ya29.a0AfH6SMBxyz",
    ];

    #[test]
    fn known_shapes_of_secrets_are_gone_and_their_room_stays() {
        for secret in SECRETS {
            let text = format!("before {secret} after");
            let (masked, found) = mask(&text);
            assert_eq!(masked, format!("before {} after", "x".repeat(secret.len())), "{secret}");
            assert_eq!(found, 1, "{secret}");
        }
    }

    #[test]
    fn what_follows_a_word_that_announces_a_secret_is_gone() {
        for (text, masked) in [
            ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer xxxxxxxxxxx"),
            ("API_KEY=hunter22", "API_KEY=xxxxxxxx"),
            ("\"password\": \"hunter2\",", "\"password\": \"xxxxxxx\","),
            ("postgres://ada:secret@db/shop", "postgres://xxxxxxxxxx@db/shop"),
            ("/home/ada/shop and /Users/ada/shop", "/home/xxx/shop and /Users/xxx/shop"),
        ] {
            assert_eq!(mask(text).0, masked);
        }
    }

    #[test]
    fn what_a_program_says_stays() {
        for text in [
            "❯ 1. Yes, and always allow access to /srv/projects/quarterdeck/crates/agents/recordings",
            "────────────────────────────────────────────────────────────",
            "• Working (3s • esc to interrupt)",
            "token usage: 60.0K (30%)",
            "a_function_with_a_name_of_quite_some_length(argument)",
        ] {
            assert_eq!(mask(text), (text.to_owned(), 0));
        }
    }

    #[test]
    fn masking_twice_changes_nothing_more() {
        for secret in SECRETS {
            let once = mask(&format!("key={secret} {secret}")).0;
            assert_eq!(mask(&once), (once.clone(), 0));
        }
    }
}
