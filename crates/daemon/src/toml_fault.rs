//! What a TOML reader finds wrong with a text, in words: an unknown key is named with the nearest known one.

/// Returns the words for a message of the reader.
pub(crate) fn in_words(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let Some((key, rest)) = unknown else { return message.to_owned() };
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    proto::nearest::unknown_key(key, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_an_unknown_key_is_named_with_the_nearest_one() {
        let message = "unknown field `agrv`, expected one of `argv`, `shell`, `env`";
        assert_eq!(in_words(message), "unknown key `agrv`: did you mean `argv`?");
        let message = "unknown field `zzzzzz`, expected `preset` or `policy`";
        assert_eq!(in_words(message), "unknown key `zzzzzz`: the keys are `preset`, `policy`");
        assert_eq!(in_words("unknown field `x`, there are no fields"), "unknown key `x`");
        assert_eq!(in_words("invalid type: integer"), "invalid type: integer");
    }
}
