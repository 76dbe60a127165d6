//! How text of the deck becomes characters on a screen: the one place in which it is made harmless, how many columns it
//! takes, and the cells whose width terminals do not agree about.

use proto::Printable;
use term::Cell;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Makes one character of the two around it.
const JOINER: char = '\u{200d}';

/// The columns of a text that is drawn as chrome, in which control characters and marks of direction are escapes.
pub(crate) fn columns(text: &str) -> u16 {
    u16::try_from(Printable(text).to_text().width()).unwrap_or(u16::MAX)
}

/// Splits a text into clusters with their columns: characters without a column of their own join the one before, and so
/// does what follows a joiner. Control characters and marks of direction become escapes, whoever chose the text; all text
/// that the deck draws itself comes through here.
pub(crate) fn clusters(text: &str) -> Vec<(String, u8)> {
    let mut clusters: Vec<String> = Vec::new();
    for character in Printable(text).to_text().chars() {
        let has_column = character.width().unwrap_or(0) > 0;
        match clusters.last_mut() {
            Some(last) if !has_column || last.ends_with(JOINER) => last.push(character),
            _ if has_column => clusters.push(character.to_string()),
            _ => {}
        }
    }
    let sized = |cluster: String| {
        let columns = if cluster.width() > 1 { 2 } else { 1 };
        (cluster, columns)
    };
    clusters.into_iter().map(sized).collect()
}

/// Returns true for a mark that changes in which direction its neighbours are read. On a row that several programs share, the
/// mark of one would turn the others and the chrome beside it.
pub(crate) fn turns_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true if terminals disagree about the columns of this cell, so that the cursor is somewhere else after it.
pub(crate) fn is_disputed(cell: &Cell) -> bool {
    let mut characters = cell.text.chars();
    match (characters.next(), characters.next()) {
        (Some(' '..='~'), None) | (None, _) => false,
        (Some(character), None) => {
            let columns = character.width().unwrap_or(0);
            columns != character.width_cjk().unwrap_or(0)
                || columns != usize::from(cell.width)
                || u32::from(character) >= 0x1_f000
        }
        (Some(_), Some(_)) => true,
    }
}
