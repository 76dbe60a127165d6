//! Versions of a vendor's program: parsing, order, and the manifest's `[[version]]` entries for ranges of
//! them. `variation` applies the patches.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Table;

/// How many numbers of a version count.
const PARTS: usize = 4;

/// Keys that a patch may not change: they identify the manifest and its versions.
const FIXED: [&str; 5] = ["name", "version", "tried", "version_argv", "disabled"];

/// The version of a vendor's program: up to four numbers, the first one most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Version([u32; PARTS]);

impl Version {
    /// Returns the first word of a program's output that is a version.
    #[must_use]
    pub fn in_output(output: &str) -> Option<Self> {
        output.split_whitespace().find_map(|word| word.parse().ok())
    }
}

impl FromStr for Version {
    type Err = String;

    /// Reads `1.2.3`, also with a `v` before it; what follows a `-` or `+` does not count.
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("{text:?} is no version: write two to {PARTS} numbers, as in 1.2.3");
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let numbers = numbers.split(['-', '+']).next().unwrap_or_default();
        let mut version = [0; PARTS];
        let mut count = 0;
        for part in numbers.split('.') {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let slot = version.get_mut(count).filter(|_| is_number).ok_or_else(refused)?;
            *slot = part.parse().map_err(|_| refused())?;
            count += 1;
        }
        if count < 2 { Err(refused()) } else { Ok(Self(version)) }
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch, rest] = self.0;
        write!(f, "{major}.{minor}.{patch}")?;
        if rest == 0 { Ok(()) } else { write!(f, ".{rest}") }
    }
}

/// The versions of the program that the manifest was tested with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The oldest one. A person who starts an older one gets a warning.
    #[serde(default)]
    pub oldest: Option<Version>,
    /// The newest one.
    #[serde(default)]
    pub newest: Option<Version>,
}

/// What a range of versions does differently.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionSpec {
    /// Its name in this manifest.
    pub id: String,
    /// The first version that it covers; left out: the first of all.
    #[serde(default)]
    pub from: Option<Version>,
    /// The first version that it no longer covers; left out: there is none.
    #[serde(default)]
    pub before: Option<Version>,
    /// Tables of the manifest that do not apply to these versions. They are removed before the patch is
    /// merged.
    #[serde(default)]
    pub without: Vec<String>,
    /// The patch for these versions, merged by the rules for a user's file.
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub patch: Table,
    /// What does not work with these versions, one sentence each: a person who starts one reads them.
    #[serde(default)]
    pub lacks: Vec<String>,
}

impl VersionSpec {
    /// Returns true if this covers a version.
    pub(crate) fn covers(&self, version: Version) -> bool {
        self.from.is_none_or(|from| from <= version) && self.before.is_none_or(|before| version < before)
    }

    /// Returns the fault of the range or of its patch, if there is one.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.from.is_none() && self.before.is_none() {
            return Some("it needs `from` or `before`: without them it is about every version".to_owned());
        }
        if self.from.zip(self.before).is_some_and(|(from, before)| from >= before) {
            return Some("`from` must be older than `before`".to_owned());
        }
        let mut changed = self.patch.keys().chain(&self.without);
        let fixed = changed.find(|key| FIXED.contains(&key.as_str()))?;
        Some(format!("a patch cannot change `{fixed}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn c22_versions_are_ordered_by_their_numbers() {
        assert!(version("0.150.1") > version("0.150") && version("0.150") == version("0.150.0"));
        assert!(version("2.1.99") < version("2.1.197") && version("v1.2") == version("1.2.0"));
        assert_eq!(version("1.18.3-preview.1"), version("1.18.3"));
        assert_eq!(version("1.2").to_string(), "1.2.0");
        assert_eq!(version("1.2.3.4").to_string(), "1.2.3.4");
    }

    #[test]
    fn c22_a_version_is_found_in_what_a_program_prints() {
        for (output, expected) in [
            ("codex-cli 0.150.1", "0.150.1"),
            ("2.1.197 (Claude Code)", "2.1.197"),
            ("\n v0.38.2\n", "0.38.2"),
        ] {
            assert_eq!(Version::in_output(output), Some(version(expected)), "{output}");
        }
        assert_eq!(Version::in_output("no number 7 here"), None);
    }

    #[test]
    fn c22_what_is_no_version_is_refused() {
        for text in ["", "1", "1.x", "1..2", "1.2.3.4.5", "99999999999.1", "one.two"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn c22_a_range_begins_with_its_first_version_and_ends_before_its_last() {
        let spec = |text: &str| toml::from_str::<VersionSpec>(text).unwrap();
        let range = spec("id = 'a'\nfrom = '0.10'\nbefore = '0.20.0'\npatch = {}");
        let covered = ["0.9.9", "0.10.0", "0.19.9", "0.20.0"].map(|text| range.covers(version(text)));
        assert_eq!(covered, [false, true, true, false]);
        assert_eq!(range.fault(), None);
        assert!(spec("id = 'a'\npatch = {}").fault().unwrap().contains("`from` or `before`"));
        assert!(
            spec("id = 'a'\nfrom = '2.0'\nbefore = '1.0'\npatch = {}").fault().unwrap().contains("older")
        );
        assert!(spec("id = 'a'\nbefore = '1.0'\npatch = { name = 'x' }").fault().unwrap().contains("`name`"));
    }
}
