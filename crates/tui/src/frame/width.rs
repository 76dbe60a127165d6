//! How many columns text takes, and the cells whose width terminals do not agree about.

use term::Cell;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Makes one character of the two around it.
const JOINER: char = '\u{200d}';

/// The columns of a text that is drawn as chrome.
pub(crate) fn columns(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// Splits a text into clusters with their columns: characters without a column of their own join the one before, and so
/// does what follows a joiner.
pub(crate) fn clusters(text: &str) -> Vec<(String, u8)> {
    let mut clusters: Vec<String> = Vec::new();
    for character in text.chars().filter(|character| !character.is_control()) {
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
