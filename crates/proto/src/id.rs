//! Process ids and run numbers, and their grammar. The caller provides the entropy of an id, so that tests
//! can choose it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Crockford's alphabet in lower case: no `i l o u`, so an id read aloud is typed right.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &str = "p_";
const DIGITS: usize = 8;

/// `p_` and eight base-32 digits: identifies one process as long as its entry exists, across restarts of
/// everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProcessId([u8; DIGITS]);

impl ProcessId {
    /// Returns the id from the low 40 bits of `entropy`.
    #[must_use]
    pub fn from_entropy(entropy: u64) -> Self {
        let mut digits = [0; DIGITS];
        for (position, digit) in digits.iter_mut().enumerate() {
            let index = (entropy >> (position * 5)) & 31;
            *digit = ALPHABET[index as usize];
        }
        Self(digits)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|digit| write!(f, "{}", *digit as char))
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is not a process id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a process id is p_ and 8 of 0-9a-z without i, l, o, u")]
pub struct BadProcessId;

impl FromStr for ProcessId {
    type Err = BadProcessId;

    fn from_str(text: &str) -> Result<Self, BadProcessId> {
        let digits: [u8; DIGITS] =
            text.strip_prefix(PREFIX).ok_or(BadProcessId)?.as_bytes().try_into().map_err(|_| BadProcessId)?;
        if digits.iter().all(|digit| ALPHABET.contains(digit)) { Ok(Self(digits)) } else { Err(BadProcessId) }
    }
}

impl TryFrom<String> for ProcessId {
    type Error = BadProcessId;

    fn try_from(text: String) -> Result<Self, BadProcessId> {
        text.parse()
    }
}

impl From<ProcessId> for String {
    fn from(id: ProcessId) -> Self {
        id.to_string()
    }
}

/// Splits `WHAT@HOST`, the form of an id or name on another machine. It is reserved: no daemon serves it yet.
/// Neither ids nor names contain an `@`.
#[must_use]
pub fn split_host(target: &str) -> Option<(&str, &str)> {
    target.split_once('@')
}

/// Counts the executions of a process's argv: 1, 2, 3 …. A fact about an older run is stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunNumber(pub u32);

impl RunNumber {
    /// Returns the run after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_being_written_and_read() {
        for entropy in [0, 1, 31, 32, u64::MAX, 0x1234_5678_9abc_def0] {
            let id = ProcessId::from_entropy(entropy);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), 10);
        }
    }

    #[test]
    fn n8_a_host_part_is_reserved_and_no_part_of_an_id_or_a_name() {
        assert_eq!(split_host("p_00000000@desk"), Some(("p_00000000", "desk")));
        assert_eq!(split_host("build"), None);
        assert!("p_00000000@desk".parse::<ProcessId>().is_err());
        assert!("build@desk".parse::<crate::Name>().is_err());
    }

    #[test]
    fn near_misses_are_not_ids() {
        for text in [
            "",
            "p_",
            "p_0000000",
            "p_000000000",
            "q_00000000",
            "p_0000000i",
            "p_0000000\u{e9}",
            "P_00000000",
        ] {
            assert_eq!(text.parse::<ProcessId>(), Err(BadProcessId), "{text}");
        }
    }
}
