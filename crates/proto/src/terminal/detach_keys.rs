//! The detach keys: their names and their form on the wire.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Printable;

/// One key as a person would name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Its character without modifiers.
    pub(super) code: u32,
    pub(super) has_control: bool,
}

/// Which keys detach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "Named")]
pub struct DetachKeys {
    pub(super) prefix: Key,
    /// The key after the prefix; none when the prefix alone detaches.
    pub(super) last: Option<Key>,
    /// Whether `~.` at the start of a line detaches too.
    pub(super) has_tilde: bool,
}

impl Default for DetachKeys {
    /// Returns Control and backslash, then `d`.
    fn default() -> Self {
        let prefix = Key { code: u32::from(b'\\'), has_control: true };
        Self { prefix, last: Some(Key { code: u32::from(b'd'), has_control: false }), has_tilde: false }
    }
}

impl DetachKeys {
    /// Adds `~.` at the start of a line, as in ssh.
    #[must_use]
    pub fn with_tilde(mut self) -> Self {
        self.has_tilde = true;
        self
    }
}

/// Detach keys on the wire.
#[derive(Serialize, Deserialize)]
struct Named {
    keys: String,
    #[serde(default)]
    tilde: bool,
}

impl TryFrom<Named> for DetachKeys {
    type Error = BadDetachKeys;

    fn try_from(named: Named) -> Result<Self, BadDetachKeys> {
        Ok(Self { has_tilde: named.tilde, ..named.keys.parse()? })
    }
}

impl From<DetachKeys> for Named {
    fn from(keys: DetachKeys) -> Self {
        Self { keys: keys.to_string(), tilde: keys.has_tilde }
    }
}

/// A text that does not name detach keys.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("detach keys are one or two keys such as `ctrl-\\ d` or `ctrl-q`, not {0}")]
pub struct BadDetachKeys(String);

impl FromStr for DetachKeys {
    type Err = BadDetachKeys;

    fn from_str(text: &str) -> Result<Self, BadDetachKeys> {
        let bad = || BadDetachKeys(Printable(text).to_string());
        let mut keys = text.split([' ', ',']).filter(|word| !word.is_empty()).map(key_named);
        let prefix = keys.next().flatten().ok_or_else(bad)?;
        let last = keys.next().map(|key| key.ok_or_else(bad)).transpose()?;
        let is_plain_alone = last.is_none() && !prefix.has_control;
        if keys.next().is_some() || is_plain_alone || last == Some(prefix) {
            return Err(bad());
        }
        Ok(Self { prefix, last, has_tilde: false })
    }
}

fn key_named(word: &str) -> Option<Key> {
    let lower = word.to_ascii_lowercase();
    let control = ["ctrl-", "c-", "^"]
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix).filter(|rest| !rest.is_empty()));
    let name = control.unwrap_or(word);
    let mut characters = name.chars();
    let (Some(character), None) = (characters.next(), characters.next()) else { return None };
    let has_control = control.is_some();
    let fits =
        if has_control { matches!(character, '@'..='_' | 'a'..='z') } else { character.is_ascii_graphic() };
    fits.then(|| Key { code: u32::from(character), has_control })
}

impl fmt::Display for DetachKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |key: Key| {
            let character = char::from_u32(key.code).unwrap_or('?');
            if key.has_control {
                format!("Ctrl-{}", character.to_ascii_uppercase())
            } else {
                character.to_string()
            }
        };
        f.write_str(&name(self.prefix))?;
        self.last.map_or(Ok(()), |last| write!(f, " {}", name(last)))
    }
}
