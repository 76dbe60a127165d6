//! Cuts a text that is too long to be sent whole, and says so in a line of its own: nobody may allow a command of which
//! they do not know that there is more.

/// Longest text of an inbox item, in bytes.
pub const MAX_ITEM_BODY: usize = 64 << 10;

/// Returns a text of at most about `most` bytes: all of it, or its beginning and a line that says how many characters
/// follow it.
#[must_use]
pub fn within(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (shown, rest) = text.split_at(text.floor_char_boundary(most));
    format!("{shown}\n… ({} more characters are not shown: attach to read them)", rest.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m20a_a_text_that_is_cut_says_in_a_line_of_its_own_how_much_is_missing() {
        assert_eq!(within("ls …", 6), "ls …", "the whole of it");
        assert_eq!(within("rm -rf x", 2), "rm\n… (6 more characters are not shown: attach to read them)");
        assert_eq!(within("aéb", 2), "a\n… (2 more characters are not shown: attach to read them)");
    }
}
