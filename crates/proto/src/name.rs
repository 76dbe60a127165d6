//! The names that people give to processes: `[A-Za-z0-9._-]{1,40}`. Everything else is refused at the
//! boundary, so that a name never needs escaping when it is drawn, logged, written into a message header or
//! used in a file name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest name, in bytes: it must fit a sidebar and a message header.
pub const MAX_NAME: usize = 40;

/// The name of a process.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadName {
    /// Nothing was given.
    #[error("a name needs at least one character")]
    Empty,
    /// More than [`MAX_NAME`] bytes.
    #[error("a name has at most {MAX_NAME} characters, this one has {0}")]
    TooLong(usize),
    /// A character outside the grammar, shown escaped.
    #[error("a name is made of A-Z a-z 0-9 . _ - only, not \"{0}\"")]
    Character(String),
    /// It could be mistaken for an id or a path.
    #[error("a name may not be {0}")]
    Reserved(&'static str),
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if let Some(odd) = text.chars().find(|c| !is_allowed(c)) {
            return Err(BadName::Character(odd.escape_debug().to_string()));
        }
        if text.len() > MAX_NAME {
            return Err(BadName::TooLong(text.len()));
        }
        match text {
            "." | ".." => Err(BadName::Reserved("a directory's name")),
            _ if text.starts_with('-') => Err(BadName::Reserved("something that looks like an option")),
            _ if text.parse::<crate::ProcessId>().is_ok() => Err(BadName::Reserved("a process id")),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_names() {
        for text in ["build", "a", "A.b_c-9", &"x".repeat(40)] {
            assert_eq!(text.parse::<Name>().map(String::from), Ok(text.to_owned()));
        }
    }

    #[test]
    fn control_characters_spaces_and_paths_are_not_names() {
        for text in [
            "",
            "a b",
            "a/b",
            "\u{1b}[2J",
            "a\n",
            "\u{202e}x",
            "caf\u{e9}",
            "..",
            "-rf",
            "p_00000000",
            &"x".repeat(41),
        ] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_reason_never_repeats_a_control_character() {
        let reason = "a\u{1b}]0;x\u{7}".parse::<Name>().unwrap_err().to_string();
        assert!(!reason.chars().any(char::is_control), "{reason:?}");
    }
}
