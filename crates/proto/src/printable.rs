//! Decides which characters are invisible, and makes text safe to draw or log: control and invisible characters
//! become escapes. Titles, argv, paths and error causes pass through here before they reach a terminal, so that a
//! child cannot control our own screen through its strings.

use std::borrow::Cow;
use std::fmt;

/// A text made safe to draw: control characters and invisible characters are shown as escapes.
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

/// A word of a command line that a person may copy: in quotes where a shell would read it as something else.
pub struct ShellWord<'a>(pub &'a str);

impl fmt::Display for ShellWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/@%+=:,-".contains(&byte);
        if !self.0.is_empty() && self.0.bytes().all(is_plain) {
            return f.write_str(self.0);
        }
        write!(f, "'{}'", Printable(&self.0.replace('\'', "'\\''")))
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
            // A character beyond U+FFFF is two escapes in JSON.
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// Characters that move a cursor, change a mode, show nothing or reorder what a person reads.
fn must_be_shown(c: char) -> bool {
    c.is_control() || is_hidden(c)
}

/// Returns the text, or its first `most` characters and an ellipsis.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns true for a character that shows nothing, or that changes how its neighbours are read: fillers,
/// joiners, marks of direction, separators of lines, tags. Control characters are not among them. Variation
/// selectors are not either, because ordinary text has them after emoji.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
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
            .chain("a\u{202e}b\u{feff}\u{2066}\u{61c}\u{3164}\u{e0041}é😀".chars())
            .collect();
        let json = serde_json::json!({ hostile.clone(): [hostile.clone()] });
        let text = visible_json(&json.to_string()).into_owned();
        assert!(!text.chars().any(must_be_shown), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), json);
        assert!(matches!(visible_json("{\"a\":\"größe\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn m15_a_word_of_a_hint_is_one_word_of_a_shell() {
        for (word, shown) in [
            ("fix-2", "fix-2"),
            ("feature/a", "feature/a"),
            ("two words", "'two words'"),
            ("it's $HOME", "'it'\\''s $HOME'"),
            ("", "''"),
        ] {
            assert_eq!(ShellWord(word).to_string(), shown);
        }
    }

    #[test]
    fn ordinary_text_is_borrowed_unchanged() {
        assert!(matches!(Printable("größe ✓ 日本").to_text(), Cow::Borrowed("größe ✓ 日本")));
    }
}
