//! How a vendor's session is chosen, found out, resumed and continued, and what the user's own words say
//! about it. The launch names the session.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::template::Template;

/// How a session is chosen or found out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Words that start a session under an id of our choice; left out: the id is found out later.
    #[serde(default)]
    pub choose: Vec<Template>,
    /// Words that resume the session `{session}`.
    #[serde(default)]
    pub resume: Vec<Template>,
    /// Words that resume the newest session.
    #[serde(default, rename = "continue")]
    pub newest: Vec<Template>,
    /// Where to put the words of `resume` and `continue`.
    #[serde(default)]
    pub resume_at: ResumeAt,
    /// Flags with which a user chooses a session; then nothing is chosen for the user.
    #[serde(default)]
    pub flags: BTreeMap<String, Takes>,
    /// Subcommands with which a user chooses a session, as the first word.
    #[serde(default)]
    pub subcommands: Vec<String>,
}

/// Where to put the words that resume a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeAt {
    /// Right after the program: a subcommand.
    First,
    /// Before the user's words: flags.
    #[default]
    Last,
}

/// How many words follow a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    /// None.
    None,
    /// One.
    One,
    /// One, unless the next is a flag.
    Optional,
}

/// What a user's words choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsersChoice {
    /// They choose one.
    pub(crate) is_made: bool,
    /// Its id, where they name one.
    pub(crate) session: Option<String>,
    /// The words without those that choose a session.
    pub(crate) others: Vec<String>,
}

impl SessionSpec {
    /// Reads a user's words.
    pub(crate) fn users_choice(&self, words: &[String]) -> UsersChoice {
        let mut choice = UsersChoice::default();
        let mut words = words.iter().peekable();
        if words.peek().is_some_and(|first| self.subcommands.contains(first)) {
            let _subcommand = words.next();
            choice.is_made = true;
            choice.session = words.next_if(|word| !word.starts_with('-')).cloned();
        }
        while let Some(word) = words.next() {
            if word == "--" {
                choice.others.push(word.clone());
                choice.others.extend(words.cloned());
                break;
            }
            let (name, value) =
                word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let Some(takes) = self.flags.get(name) else {
                choice.others.push(word.clone());
                continue;
            };
            choice.is_made = true;
            let value = value.map(str::to_owned).or_else(|| match takes {
                Takes::None => None,
                Takes::One => words.next().cloned(),
                Takes::Optional => words.next_if(|next| !next.starts_with('-')).cloned(),
            });
            choice.session = choice.session.or(value);
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionSpec {
        toml::from_str(
            "subcommands = ['resume']\n[flags]\n'--session-id' = 'one'\n'-r' = 'optional'\n'--continue' = 'none'",
        )
        .unwrap()
    }

    fn choice(words: &[&str]) -> (bool, Option<String>, Vec<String>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let UsersChoice { is_made, session, others } = session().users_choice(&words);
        (is_made, session, others)
    }

    #[test]
    fn words_that_choose_nothing_stay_in_order() {
        assert_eq!(
            choice(&["--model", "x", "hi"]),
            (false, None, vec!["--model".into(), "x".into(), "hi".into()])
        );
    }

    #[test]
    fn a_session_is_read_from_a_flag_in_either_form() {
        let id = Some("abc".to_owned());
        assert_eq!(choice(&["--session-id", "abc", "hi"]), (true, id.clone(), vec!["hi".into()]));
        assert_eq!(choice(&["--session-id=abc", "hi"]), (true, id, vec!["hi".into()]));
        assert_eq!(choice(&["--continue", "hi"]), (true, None, vec!["hi".into()]));
    }

    #[test]
    fn an_optional_value_does_not_swallow_a_flag() {
        assert_eq!(choice(&["-r", "--model", "x"]), (true, None, vec!["--model".into(), "x".into()]));
    }

    #[test]
    fn a_subcommand_chooses_only_as_the_first_word() {
        assert_eq!(choice(&["resume", "abc"]), (true, Some("abc".into()), vec![]));
        assert_eq!(choice(&["resume", "--last"]), (true, None, vec!["--last".into()]));
        assert_eq!(choice(&["say", "resume"]), (false, None, vec!["say".into(), "resume".into()]));
    }

    #[test]
    fn nothing_behind_two_dashes_is_a_flag() {
        assert_eq!(choice(&["--", "--continue"]), (false, None, vec!["--".into(), "--continue".into()]));
    }
}
