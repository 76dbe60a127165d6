//! The word that was probably meant: one rule for settings, presets, manifests and keys.

/// Returns the known word that is nearest to a word that nobody knows; none where no known one is near. Near is a word that half
/// of its letters or fewer would have to be added, removed or changed in.
///
/// ```
/// assert_eq!(proto::nearest_word("incudle", ["include", "commands"]), Some("include"));
/// assert_eq!(proto::nearest_word("ports", ["include", "commands"]), None);
/// ```
#[must_use]
pub fn nearest_word<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let nearest = known.into_iter().map(|known| (strsim::levenshtein(word, known), known)).min()?;
    Some(nearest).filter(|(distance, known)| *distance <= known.chars().count() / 2).map(|(_, known)| known)
}

/// Returns the fault for a key that is not known: with the nearest known one, otherwise with all of them.
#[must_use]
pub fn unknown_key(key: &str, known: &[&str]) -> String {
    match nearest_word(key, known.iter().copied()) {
        Some(nearest) => format!("unknown key `{key}`: did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown key `{key}`"),
        None => format!("unknown key `{key}`: the keys are `{}`", known.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_the_nearest_known_word_is_meant_and_none_where_all_are_far() {
        assert_eq!(nearest_word("zom", ["resize", "zoom", "next"]), Some("zoom"));
        assert_eq!(nearest_word("rail_width", ["rail-width", "mouse"]), Some("rail-width"));
        assert_eq!(nearest_word("agrv", ["argv", "shell", "env"]), Some("argv"));
        assert_eq!(nearest_word("zzzzzz", ["preset", "policy"]), None);
        assert_eq!(nearest_word("x", []), None);
    }
}
