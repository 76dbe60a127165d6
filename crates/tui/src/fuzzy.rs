//! How well a text fits what was typed: every character in order, better at the start of words and in one piece.

/// The score of a text, higher is better; nothing when it does not fit. Case counts only where capitals were typed.
pub(crate) fn score(typed: &str, text: &str) -> Option<i32> {
    let is_exact = typed.chars().any(char::is_uppercase);
    let fold = |text: &str| -> Vec<char> {
        if is_exact { text.chars().collect() } else { text.chars().flat_map(char::to_lowercase).collect() }
    };
    let (wanted, there) = (fold(typed), fold(text));
    let wanted: Vec<char> = wanted.into_iter().filter(|character| *character != ' ').collect();
    let mut best: Option<i32> = None;
    // The best beginning is not always the first one: try each.
    for start in (0..there.len()).filter(|at| wanted.first().is_none_or(|first| there[*at] == *first)) {
        if let Some(score) = score_from(&wanted, &there, start) {
            best = Some(best.map_or(score, |best: i32| best.max(score)));
        }
    }
    if wanted.is_empty() { Some(0) } else { best }
}

fn score_from(wanted: &[char], there: &[char], start: usize) -> Option<i32> {
    let mut score = 0;
    let mut at = start;
    let mut last: Option<usize> = None;
    for character in wanted {
        let found = (at..there.len()).find(|place| there[*place] == *character)?;
        score += 1 + is_word_start(there, found) * 8;
        score += match last {
            Some(last) if last + 1 == found => 5,
            Some(last) => -i32::try_from((found - last).min(10)).unwrap_or(0) / 2,
            None => -i32::try_from(found.min(10)).unwrap_or(0) / 3,
        };
        last = Some(found);
        at = found + 1;
    }
    Some(score)
}

fn is_word_start(there: &[char], at: usize) -> i32 {
    i32::from(at == 0 || !there[at - 1].is_alphanumeric())
}

/// The items that fit what was typed, the best first; ties stay in their order.
pub(crate) fn matches<T>(
    typed: &str,
    items: impl IntoIterator<Item = T>,
    text: impl Fn(&T) -> &str,
) -> Vec<T> {
    let mut found: Vec<(i32, T)> =
        items.into_iter().filter_map(|item| Some((score(typed, text(&item))?, item))).collect();
    found.sort_by_key(|(score, _)| -score);
    found.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beat_letters_in_between() {
        let items = ["catalogue", "log of worker", "close the view"];
        assert_eq!(matches("log", items, |item| item)[0], "log of worker");
        assert_eq!(matches("cv", items, |item| item), ["close the view"]);
    }

    #[test]
    fn nothing_typed_keeps_the_order_and_nonsense_finds_nothing() {
        assert_eq!(matches("", ["b", "a"], |item| item), ["b", "a"]);
        assert_eq!(score("xyz", "abc"), None);
        assert_eq!(score("A", "abc"), None);
    }
}
