//! The name of a git object.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{GitError, Result};

/// A full object name in hexadecimal: 40 digits, or 64 in a repository with SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

impl Oid {
    /// Reads a full object name.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let is_full = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_full {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(GitError::UnknownRevision { name: text.to_owned() })
        }
    }

    /// Returns the hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for the name that git writes for "nothing".
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'0')
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl AsRef<std::ffi::OsStr> for Oid {
    fn as_ref(&self) -> &std::ffi::OsStr {
        self.0.as_ref()
    }
}

impl TryFrom<String> for Oid {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        Self::parse(&text).map_err(|error| error.to_string())
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}
