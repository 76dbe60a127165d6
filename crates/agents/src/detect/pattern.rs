//! A regular expression of a manifest: checked when it is read, compiled at its first use, shared by every
//! detector. The catalogue has hundreds of them for programs that never run here; compiled they would take
//! megabytes.
//!
//! A pattern that does not compile, or is too large, makes its manifest faulty, with the line.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::{Captures, Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Most memory one compiled pattern may take, in bytes; far above any pattern a person would write by hand.
const COMPILED_MAX: usize = 512 * 1024;
/// Most memory the matching of one pattern may keep, in bytes.
const CACHE_MAX: usize = 256 * 1024;

/// A regular expression in which `^` and `$` stand for the ends of rows.
#[derive(Clone, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    source: Arc<str>,
    compiled: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// Checks that a pattern compiles.
    ///
    /// # Errors
    /// It is not a regular expression, or it is too large.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        compile(source)
            .map(|_checked| Self { source: source.into(), compiled: Arc::default() })
            .map_err(|error| PatternError { pattern: source.to_owned(), reason: reason_of(&error) })
    }

    /// Returns the compiled pattern. Compiling cannot fail here: [`Pattern::new`] has done it once.
    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.source).ok()).as_ref()
    }

    /// Returns the pattern as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if it occurs in a text.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns its first occurrence.
    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex()?.captures(text)
    }

    /// Returns its last occurrence of those that do not overlap.
    pub(crate) fn last_captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        let regex = self.regex()?;
        let last = regex.find_iter(text).last()?;
        regex.captures_at(text, last.start())
    }

    /// Returns all occurrences that do not overlap.
    pub(crate) fn captures_iter<'p, 't>(
        &'p self,
        text: &'t str,
    ) -> impl Iterator<Item = Captures<'t>> + use<'p, 't> {
        self.regex().into_iter().flat_map(move |regex| regex.captures_iter(text))
    }

    /// Returns a row without what the pattern finds in it.
    pub(crate) fn cut_from<'t>(&self, row: &'t str) -> Cow<'t, str> {
        self.regex().map_or(Cow::Borrowed(row), |regex| regex.replace_all(row, ""))
    }

    /// Returns a text without every occurrence.
    pub(crate) fn erased<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match self.regex().map(|regex| regex.replace_all(&text, "")) {
            None | Some(Cow::Borrowed(_)) => text,
            Some(Cow::Owned(rest)) => Cow::Owned(rest),
        }
    }

    /// Returns true if it has a capture of this name.
    pub(crate) fn has_capture(&self, name: &str) -> bool {
        self.regex().is_some_and(|regex| regex.capture_names().flatten().any(|known| known == name))
    }
}

fn compile(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).multi_line(true).size_limit(COMPILED_MAX).dfa_size_limit(CACHE_MAX).build()
}

/// A text that is not a valid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is no pattern: {reason}")]
pub struct PatternError {
    pattern: String,
    reason: String,
}

/// Returns the last line of the compiler's error; the lines before it repeat the pattern.
fn reason_of(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(source: String) -> Result<Self, PatternError> {
        Self::new(&source)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.source().to_owned()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source().fmt(f)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A regular expression; ^ and $ stand for the ends of rows." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_does_not_compile_says_why_in_one_line() {
        let error = Pattern::new("a(b").unwrap_err().to_string();
        assert_eq!(error, "`a(b` is no pattern: unclosed group");
    }

    #[test]
    fn a_pattern_that_would_cost_too_much_is_refused() {
        assert!(Pattern::new(r"(\w{200}){200}").is_err());
    }

    #[test]
    fn ends_of_rows_are_ends_for_a_pattern() {
        assert!(Pattern::new("^b$").unwrap().is_in("a\nb\nc"));
    }

    #[test]
    fn the_last_occurrence_is_found_with_its_captures() {
        let pattern = Pattern::new("n=(?<n>[0-9])").unwrap();
        let text = "n=1 n=2 n=3";
        assert_eq!(&pattern.last_captures(text).unwrap()["n"], "3");
    }
}
