//! Styled rows of a screen or its history, for a client that draws them itself.
//!
//! A value that is the default is left out of the JSON, so a plain row costs little more than its text.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyledRow {
    /// Its line id (history), or its number on the screen counted from 0 at the top (screen).
    pub line: u64,
    /// True if its text continues in the next row.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wrapped: bool,
    /// True if a shell's prompt begins in it, where the shell says so (OSC 133).
    #[serde(default, skip_serializing_if = "is_false")]
    pub prompt: bool,
    /// Its text from the left; blanks of the default style at its end are left out.
    pub runs: Vec<StyledRun>,
}

/// Characters of a row with the same style.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyledRun {
    /// The characters. Text that the child hides is blank.
    pub text: String,
    /// How many columns each character takes: 1, or 2 for wide ones.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub width: u8,
    /// True if the whole text is one character, of several code points.
    #[serde(default, skip_serializing_if = "is_false")]
    pub joined: bool,
    /// Its colour; left out: the terminal's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fg: Option<CellColor>,
    /// The colour behind it; left out: the terminal's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bg: Option<CellColor>,
    /// Bold.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bold: bool,
    /// Faint.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dim: bool,
    /// Italic.
    #[serde(default, skip_serializing_if = "is_false")]
    pub italic: bool,
    /// Blinking, slowly or fast.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blink: bool,
    /// Foreground and background change places.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reverse: bool,
    /// Struck through.
    #[serde(default, skip_serializing_if = "is_false")]
    pub strike: bool,
    /// A line above it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub overline: bool,
    /// The line under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underline: Option<UnderlineKind>,
    /// The colour of that line; left out: the character's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underline_color: Option<CellColor>,
    /// The http or https target of its hyperlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The form of a line under text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnderlineKind {
    /// One line.
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// A colour other than the terminal's own: in JSON an index of the palette (0 to 255), or `"#rrggbb"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellColor {
    /// An index of the palette; the first sixteen are the classic colours.
    Index(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

impl Serialize for CellColor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Index(index) => serializer.serialize_u8(*index),
            Self::Rgb(red, green, blue) => {
                serializer.collect_str(&format_args!("#{red:02x}{green:02x}{blue:02x}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for CellColor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Index(u8),
            Hex(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Index(index) => Ok(Self::Index(index)),
            Form::Hex(text) => {
                let digits = text.strip_prefix('#').filter(|digits| is_hex(digits));
                let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let [_, red, green, blue] =
                    value.ok_or_else(|| D::Error::custom("a colour is an index or #rrggbb"))?.to_be_bytes();
                Ok(Self::Rgb(red, green, blue))
            }
        }
    }
}

fn is_hex(digits: &str) -> bool {
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn one() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(width: &u8) -> bool {
    *width == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n2_a_plain_run_is_only_its_text_and_every_look_survives_the_wire() {
        let plain = StyledRun { text: "plain".to_owned(), width: 1, ..StyledRun::default() };
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"text":"plain"}"#);
        let all = StyledRun {
            text: "漢".to_owned(),
            width: 2,
            joined: true,
            fg: Some(CellColor::Index(9)),
            bg: Some(CellColor::Rgb(0, 128, 255)),
            bold: true,
            dim: true,
            italic: true,
            blink: true,
            reverse: true,
            strike: true,
            overline: true,
            underline: Some(UnderlineKind::Curly),
            underline_color: Some(CellColor::Index(0)),
            link: Some("https://example.org".to_owned()),
        };
        let row = StyledRow { line: 7, wrapped: true, prompt: true, runs: vec![plain, all] };
        let wire = serde_json::to_string(&row).unwrap();
        assert!(wire.contains(r##""fg":9,"bg":"#0080ff""##), "{wire}");
        assert_eq!(serde_json::from_str::<StyledRow>(&wire).unwrap(), row);
    }

    #[test]
    fn n2_what_is_no_colour_is_refused() {
        for text in ["256", "-1", "\"red\"", "\"#12345\"", "\"#12345g\"", "\"#+12345\"", "\"#é1234\"", "null"]
        {
            let parsed = serde_json::from_str::<CellColor>(text);
            assert!(parsed.is_err(), "{text}: {parsed:?}");
        }
    }
}
