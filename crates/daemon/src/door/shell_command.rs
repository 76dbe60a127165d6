//! Refuses what a program would enter into an agent that takes it as a command of its shell mode.
//!
//! The screen cannot tell in time: the mode begins with the first character, and Enter may be in the same piece.

use engine::RunKey;
use proto::{ErrorCode, Failure};
use term::{Key, KeyCode, Keypad};

use super::connection::Client;

/// What makes a shell command of a prompt in the agent of one run.
pub(super) struct ShellPrefix {
    /// `None` for a person, and where the agent has no shell mode.
    prefix: Option<String>,
}

impl ShellPrefix {
    /// Returns the prefix for a caller that writes into a run.
    pub(super) fn of(client: &Client, run: RunKey) -> Self {
        let agent = client.door.agents.find(run).filter(|_| !client.caller().is_person());
        Self { prefix: agent.and_then(|agent| agent.launched().shell_prefix) }
    }

    /// Refuses a text that is entered. Its control characters may be keys: what follows one may begin a line too.
    pub(super) fn check_text(&self, text: &str, submits: bool) -> Result<(), Failure> {
        let is_entered = submits || text.contains(['\r', '\n']);
        let is_key = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        match &self.prefix {
            Some(prefix) if is_entered && text.split(is_key).any(|part| begins_with(part, prefix)) => {
                Err(refusal(prefix))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a paste that is entered.
    pub(super) fn check_paste(&self, text: &[u8], submits: bool) -> Result<(), Failure> {
        match &self.prefix {
            Some(prefix) if submits && begins_with(&String::from_utf8_lossy(text), prefix) => {
                Err(refusal(prefix))
            }
            _ => Ok(()),
        }
    }

    /// Refuses keys that write a command and enter it. Keys without Enter are allowed: their effect is on the screen
    /// before Enter is pressed.
    pub(super) fn check_keys(&self, keys: &[Key], submits: bool) -> Result<(), Failure> {
        let Some(prefix) = &self.prefix else { return Ok(()) };
        let is_prefix = |key: &Key| typed(key).is_some_and(|c| prefix.starts_with(c));
        let follows_text = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| keys.get(at));
            before.and_then(typed).is_some_and(|c| !c.is_whitespace())
        };
        let mut starts = keys.iter().enumerate().filter(|(at, key)| is_prefix(key) && !follows_text(*at));
        match starts.next() {
            Some((at, _)) if submits || keys.iter().skip(at).any(is_enter) => Err(refusal(prefix)),
            _ => Ok(()),
        }
    }
}

fn begins_with(text: &str, prefix: &str) -> bool {
    text.trim_start().starts_with(prefix)
}

/// Returns the character that a key types.
fn typed(key: &Key) -> Option<char> {
    match key.code {
        KeyCode::Character(c) if !key.modifiers.ctrl && !key.modifiers.alt => Some(key.text.unwrap_or(c)),
        _ => None,
    }
}

fn is_enter(key: &Key) -> bool {
    match key.code {
        KeyCode::Enter | KeyCode::Keypad(Keypad::Enter) => true,
        KeyCode::Character(c) => key.modifiers.ctrl && matches!(c, 'm' | 'j'),
        _ => false,
    }
}

fn refusal(prefix: &str) -> Failure {
    let message = format!(
        "nothing was typed: the text begins with {prefix}, which makes it a shell command in this agent"
    );
    Failure::new(ErrorCode::Denied, message).hint("qd spawn and qd exec run a command")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix() -> ShellPrefix {
        ShellPrefix { prefix: Some("!".to_owned()) }
    }

    #[test]
    fn c17_a_programs_text_with_enter_that_begins_a_shell_command_is_refused() {
        let is_refused = |text: &str, submits| prefix().check_text(text, submits).is_err();
        for text in ["!ls", "  !ls", "\n!ls", "words\u{15}!ls", "x\x7f!ls", "\x1b!ls"] {
            assert!(is_refused(text, true), "{text:?}");
        }
        assert!(is_refused("!ls\r", false), "its own Enter");
        assert!(is_refused("words\r!ls\r", false), "a second line");
        for text in ["wow!", "words\n!important", "", "ls !x"] {
            assert!(!is_refused(text, true), "{text:?}");
        }
        assert!(!is_refused("!", false), "without Enter it shows on the screen first");
        assert!(ShellPrefix { prefix: None }.check_text("!ls", true).is_ok(), "a person, or no such mode");
    }

    #[test]
    fn c17_a_programs_paste_with_enter_that_begins_a_shell_command_is_refused() {
        assert!(prefix().check_paste(b" \n!ls", true).is_err());
        assert!(prefix().check_paste(b"!ls", false).is_ok());
        assert!(prefix().check_paste(b"words\n!ls", true).is_ok());
    }

    #[test]
    fn c17_a_programs_keys_that_write_and_enter_a_shell_command_are_refused() {
        let check = |names: &[&str], submits| {
            let keys: Vec<Key> = names.iter().map(|name| name.parse().unwrap()).collect();
            prefix().check_keys(&keys, submits)
        };
        assert!(check(&["!", "l", "s", "enter"], false).is_err());
        assert!(check(&["ctrl-u", "!", "l", "s", "ctrl-m"], false).is_err());
        assert!(check(&["!", "l", "s"], true).is_err());
        assert!(check(&["w", "o", "w", "!", "enter"], false).is_ok());
        assert!(check(&["!"], false).is_ok());
        assert!(check(&["enter", "!"], false).is_ok());
    }
}
