//! The name of a scratchpad and its grammar, which is checked before any file is touched.

use std::fmt;
use std::str::FromStr;

/// Longest name.
const MAX: usize = 64;

/// `[a-z0-9][a-z0-9._-]{0,63}`: one plain file, in no other directory, hidden on no system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PadName(String);

/// Why a text is not a scratchpad's name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a scratchpad's name begins with a-z or 0-9 and goes on with a-z 0-9 . _ -, at most {MAX} in all")]
pub struct BadPadName;

impl PadName {
    /// Returns the name as it is.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PadName {
    type Err = BadPadName;

    fn from_str(text: &str) -> Result<Self, BadPadName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_inner = |byte: u8| is_plain(byte) || matches!(byte, b'.' | b'_' | b'-');
        let begins = text.bytes().next().is_some_and(is_plain);
        let is_name = begins && text.len() <= MAX && text.bytes().all(is_inner) && !text.ends_with('.');
        if is_name { Ok(Self(text.to_owned())) } else { Err(BadPadName) }
    }
}

impl fmt::Display for PadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
