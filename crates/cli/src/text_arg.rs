//! Words of the command line that are a text or a number: what they may be, and what an error says.

/// Reads a text that may begin with a dash, such as `- a list item`. A single word that looks like a flag is refused
/// unless it stands after `--`, so that a mistyped flag is never typed into a process.
pub(crate) fn text(word: &str) -> Result<String, String> {
    let mut after_dashes = std::env::args_os().skip_while(|before| before != "--");
    accept(word, after_dashes.any(|after| after == word))
}

fn accept(word: &str, is_after_dashes: bool) -> Result<String, String> {
    if is_after_dashes || !looks_like_a_flag(word) {
        return Ok(word.to_owned());
    }
    Err("there is no such flag here; put flags before the name or after the text; if it is the text, put -- before it"
        .to_owned())
}

fn looks_like_a_flag(word: &str) -> bool {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or_default();
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains(char::is_whitespace)
}

/// Reads the number of an item, message, timer or grant.
pub(crate) fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| "a number, as the list shows it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::commands::Verb;
    use clap::Parser;

    #[test]
    fn m15_a_text_may_begin_with_a_dash_and_a_mistyped_flag_is_not_a_text() {
        for text in ["- one", "---", "-> here", "-5", "-", "--flag with words", "plain"] {
            assert_eq!(accept(text, false).as_deref(), Ok(text));
        }
        for flag in ["--no-entr", "-x", "--timeuot=5"] {
            assert!(accept(flag, false).is_err(), "{flag}");
            assert_eq!(accept(flag, true).as_deref(), Ok(flag));
        }
    }

    #[test]
    fn m15_every_verb_that_takes_a_text_takes_one_that_begins_with_a_dash() {
        for words in [
            &["send", "x", "- one"][..],
            &["send", "x", "- one", "--no-enter"],
            &["send", "--no-enter", "x", "- one"],
            &["paste", "x", "- one", "--submit"],
            &["tell", "x", "- one", "--no-wait"],
            &["pads", "append", "plan", "- one"],
            &["pads", "write", "plan", "- one", "--expect", "1"],
            &["timers", "set", "--after", "5", "- one", "--for", "x"],
            &["ask", "- one", "--wait", "1"],
            &["attention", "- one"],
            &["answer", "3", "- one"],
            &["spawn", "--kind", "agent", "x", "--prompt", "- one"],
        ] {
            let parsed = Cli::try_parse_from(["qd"].iter().chain(words));
            assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
        }
        let parsed = Cli::try_parse_from(["qd", "send", "x", "- one", "--json", "--no-enter"]).unwrap();
        assert!(parsed.flags.json && matches!(parsed.verb, Some(Verb::Send(_))));
        for words in [&["send", "x", "--no-entr"][..], &["answer", "three", "allow"], &["revoke", "x"]] {
            let error = Cli::try_parse_from(["qd"].iter().chain(words)).unwrap_err().to_string();
            assert!(error.contains("flag") || error.contains("a number"), "{error}");
        }
    }
}
