//! Makes text safe to draw or log: control and direction characters become visible. Titles, argv, paths and
//! error causes pass through here before they reach a terminal, so that a child cannot control our own screen
//! through its strings.

use std::borrow::Cow;
use std::fmt;

/// A text made safe to draw: C0, C1 and bidirectional or zero-width controls are shown as escapes.
pub struct Printable<'a>(pub &'a str);

impl<'a> Printable<'a> {
    /// Returns the safe text; borrowed when nothing had to change.
    #[must_use]
    pub fn to_text(&self) -> Cow<'a, str> {
        if self.0.chars().any(must_be_shown) { Cow::Owned(self.to_string()) } else { Cow::Borrowed(self.0) }
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if must_be_shown(c) {
                write!(f, "{}", c.escape_unicode())?;
            } else {
                fmt::Write::write_char(f, c)?;
            }
        }
        Ok(())
    }
}

/// Returns equal JSON that is safe to draw: characters that JSON allows and a terminal acts on are written as
/// escapes. They occur only inside strings, where an escape means the character.
#[must_use]
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(must_be_shown) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match must_be_shown(c) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// Characters that move a cursor, change a mode or reorder what a person reads.
fn must_be_shown(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_no_control_character_survives() {
        let hostile = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{202e}abc\r\n\u{7f}";
        let shown = Printable(hostile).to_string();
        assert!(!shown.chars().any(must_be_shown), "{shown:?}");
        assert!(shown.contains("abc"));
    }

    #[test]
    fn c7_json_with_hostile_strings_is_drawn_harmlessly_and_means_the_same() {
        let hostile: String = (0..=0x9f)
            .filter_map(char::from_u32)
            .chain("a\u{202e}b\u{feff}\u{2066}\u{61c}é😀".chars())
            .collect();
        let json = serde_json::json!({ hostile.clone(): [hostile.clone()] });
        let text = visible_json(&json.to_string()).into_owned();
        assert!(!text.chars().any(must_be_shown), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), json);
        assert!(matches!(visible_json("{\"a\":\"größe\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn ordinary_text_is_borrowed_unchanged() {
        assert!(matches!(Printable("größe ✓ 日本").to_text(), Cow::Borrowed("größe ✓ 日本")));
    }
}
