//! The named parts of a screen that a rule may read, and their grammar (`bottom(12)`). `rows` cuts a screen
//! into them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The rows of `above_prompt` without a number.
const ABOVE_PROMPT_ROWS: u16 = 4;
/// The most rows that a region may have.
const ROWS_MAX: u16 = 500;

/// A part of what a terminal shows or reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Region {
    /// The terminal's title.
    Title,
    /// The lowest rows, counted from the last one that is not blank.
    Bottom(u16),
    /// The lowest rows with text above the composer; nothing when the composer is not on the screen.
    AbovePrompt(u16),
    /// All visible rows.
    Whole,
    /// What the program reported without showing it: `bell`, `notification TITLE: TEXT`, `progress WORD`.
    Osc,
}

/// A word that is not a region.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a region is title, bottom(ROWS), above_prompt, above_prompt(ROWS), whole or osc, not `{0}`")]
pub struct RegionError(String);

impl FromStr for Region {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, RegionError> {
        let wrong = || RegionError(text.chars().take(60).collect());
        let rows =
            |rows: &str| rows.parse().ok().filter(|rows| (1..=ROWS_MAX).contains(rows)).ok_or_else(wrong);
        match text {
            "title" => return Ok(Self::Title),
            "whole" => return Ok(Self::Whole),
            "osc" => return Ok(Self::Osc),
            "above_prompt" => return Ok(Self::AbovePrompt(ABOVE_PROMPT_ROWS)),
            _ => {}
        }
        let (word, number) =
            text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(wrong)?;
        match word {
            "bottom" => rows(number).map(Self::Bottom),
            "above_prompt" => rows(number).map(Self::AbovePrompt),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title => f.write_str("title"),
            Self::Bottom(rows) => write!(f, "bottom({rows})"),
            Self::AbovePrompt(rows) => write!(f, "above_prompt({rows})"),
            Self::Whole => f.write_str("whole"),
            Self::Osc => f.write_str("osc"),
        }
    }
}

impl TryFrom<String> for Region {
    type Error = RegionError;

    fn try_from(text: String) -> Result<Self, RegionError> {
        text.parse()
    }
}

impl From<Region> for String {
    fn from(region: Region) -> Self {
        region.to_string()
    }
}

impl JsonSchema for Region {
    fn schema_name() -> Cow<'static, str> {
        "Region".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(title|whole|osc|above_prompt|(bottom|above_prompt)\([0-9]{1,3}\))$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_region_reads_back_from_its_word() {
        for region in [Region::Title, Region::Bottom(12), Region::AbovePrompt(3), Region::Whole, Region::Osc]
        {
            assert_eq!(region.to_string().parse(), Ok(region));
        }
        assert_eq!("above_prompt".parse(), Ok(Region::AbovePrompt(ABOVE_PROMPT_ROWS)));
    }

    #[test]
    fn a_region_of_no_or_too_many_rows_is_none() {
        for text in ["bottom(0)", "bottom(501)", "bottom", "bottom(x)", "top(3)", "bottom(3", ""] {
            assert!(text.parse::<Region>().is_err(), "{text}");
        }
    }
}
