//! Names of branches. A task has the name of its branch, so the same rules hold for both.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{GitError, Result};

/// Leaves room for `refs/quarterdeck/trash/…`, a `.lock` suffix and the repository's name within the 255 bytes that a
/// file name may have.
const MAX_LENGTH: usize = 150;

/// A branch name that git accepts (`git check-ref-format --branch`), that no command can mistake for an option, and that
/// means itself (no `@{-1}`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

impl BranchName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`GitError::BadName`] with the rule that the name breaks.
    pub fn parse(name: &str) -> Result<Self> {
        match broken_rule(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => Err(GitError::BadName { name: name.to_owned(), reason }),
        }
    }

    /// Returns the name, without `refs/heads/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `refs/heads/NAME`.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// Returns the name as one part of a path: `/` becomes `-`.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.0.replace('/', "-")
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for BranchName {
    type Error = String;

    fn try_from(name: String) -> std::result::Result<Self, String> {
        Self::parse(&name).map_err(|error| error.to_string())
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.0
    }
}

/// Returns the first rule of git's reference names, or of ours, that `name` breaks.
fn broken_rule(name: &str) -> Option<&'static str> {
    let is_forbidden = |character: char| character.is_ascii_control() || " ~^:?*[\\".contains(character);
    let rules: [(bool, &'static str); 10] = [
        (name.is_empty(), "it is empty"),
        (name.len() > MAX_LENGTH, "it is longer than 150 bytes"),
        (name.starts_with('-'), "it begins with a dash"),
        (name == "@" || name == "HEAD" || name.starts_with("refs/"), "git gives this name another meaning"),
        (name.contains(is_forbidden), "it has a space, a control character or one of ~ ^ : ? * [ \\"),
        (name.contains(".."), "it has two dots in a row"),
        (name.contains("@{"), "it has `@{`"),
        (name.ends_with('.'), "it ends with a dot"),
        (name.split('/').any(str::is_empty), "it begins or ends with a slash, or has two in a row"),
        (name.split('/').any(is_bad_part), "a part of it begins with a dot or ends with `.lock`"),
    ];
    rules.iter().find(|(is_broken, _)| *is_broken).map(|(_, reason)| *reason)
}

fn is_bad_part(part: &str) -> bool {
    part.starts_with('.') || part.ends_with(".lock")
}
