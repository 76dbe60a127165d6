//! The sessions that agents had in a task, of whatever vendor, and the question which of them goes on.

use std::io::{BufRead, IsTerminal, Write};

use proto::Printable;
use proto::task::TaskView;

use crate::errors::CliError;
use crate::output::{now_ms, span};

/// One session of a vendor's, as its runs in the task show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: String,
    /// When something last happened in it, in milliseconds since the epoch.
    at: u64,
    turns: u64,
    /// What was asked first.
    prompt: Option<String>,
}

/// What a person chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This session goes on.
    Continue(String),
    /// A new one begins.
    New,
}

/// The sessions of a task, newest first. Several runs may have worked in one session.
pub(super) fn sessions(task: &TaskView) -> Vec<Session> {
    let mut all: Vec<Session> = Vec::new();
    for run in task.runs.iter().rev() {
        let Some(id) = &run.session else { continue };
        match all.iter_mut().find(|session| session.id == *id) {
            Some(known) => {
                known.turns = known.turns.max(run.turns);
                known.prompt = run.prompt.clone().or(known.prompt.take());
            }
            None => all.push(Session {
                id: id.clone(),
                at: run.ended_at.unwrap_or(run.started_at),
                turns: run.turns,
                prompt: run.prompt.clone(),
            }),
        }
    }
    all
}

/// The session with this id, or with an id that begins like this; an id that the task does not know is the vendor's own.
pub(super) fn named(all: &[Session], wanted: &str) -> Result<String, CliError> {
    let mut fitting = all.iter().filter(|session| session.id.starts_with(wanted));
    match (all.iter().find(|session| session.id == wanted), fitting.next(), fitting.next()) {
        (Some(exact), _, _) => Ok(exact.id.clone()),
        (None, Some(_), Some(_)) => {
            Err(CliError::usage(format!("several sessions begin with {}", Printable(wanted))))
        }
        (None, Some(only), None) => Ok(only.id.clone()),
        (None, None, _) => Ok(wanted.to_owned()),
    }
}

/// Returns true if a person can be asked.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a person which session goes on.
pub(super) fn ask(all: &[Session]) -> Result<Choice, CliError> {
    let mut to = std::io::stderr().lock();
    let written = list(all, now_ms()).iter().try_for_each(|line| writeln!(to, "{line}"));
    let written = written.and_then(|()| write!(to, "Which one goes on? [1] ")).and_then(|()| to.flush());
    written.map_err(CliError::io("the question"))?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(CliError::io("the answer"))?;
    if line.is_empty() {
        return Err(CliError::usage("no session was chosen"));
    }
    choice(all, line.trim())
}

fn list(all: &[Session], now: u64) -> Vec<String> {
    let row = |(index, session): (usize, &Session)| {
        let age = span(now.saturating_sub(session.at) / 1000);
        let prompt = session.prompt.as_deref().unwrap_or(&session.id);
        format!("{:>3}  {age:>7} ago  {:>4} turns  {}", index + 1, session.turns, Printable(prompt))
    };
    let mut rows: Vec<String> = all.iter().enumerate().map(row).collect();
    rows.push("  n  a new session".to_owned());
    rows
}

fn choice(all: &[Session], word: &str) -> Result<Choice, CliError> {
    let number = if word.is_empty() { Some(1) } else { word.parse::<usize>().ok() };
    let chosen = number.and_then(|number| all.get(number.checked_sub(1)?));
    match chosen {
        Some(session) => Ok(Choice::Continue(session.id.clone())),
        None if word == "n" => Ok(Choice::New),
        None => Err(CliError::usage(format!("the answer is a number from 1 to {}, or n", all.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, turns: u64, prompt: Option<&str>) -> Session {
        Session { id: id.to_owned(), at: 60_000, turns, prompt: prompt.map(str::to_owned) }
    }

    #[test]
    fn k7_sessions_are_listed_by_age_turns_and_first_prompt_and_chosen_by_number() {
        let all = [session("s-1", 3, Some("fix\u{1b}[31m it")), session("s-2", 1, None)];
        let rows = list(&all, 120_000);
        assert!(rows[0].contains("1m00s ago") && rows[0].contains("3 turns"), "{rows:?}");
        assert!(rows[0].contains("fix") && !rows[0].contains('\u{1b}'), "{rows:?}");
        assert!(rows[1].contains("s-2") && rows[2].contains("a new session"), "{rows:?}");
        let chosen = |word| choice(&all, word).ok();
        assert_eq!(chosen(""), Some(Choice::Continue("s-1".to_owned())));
        assert_eq!(chosen("2"), Some(Choice::Continue("s-2".to_owned())));
        assert_eq!(chosen("n"), Some(Choice::New));
        for bad in ["0", "3", "x", "-1"] {
            assert_eq!(chosen(bad), None, "{bad}");
        }
    }

    #[test]
    fn k7_a_session_is_named_by_its_beginning() {
        let all = [session("ab-1", 0, None), session("ab-2", 0, None), session("c", 0, None)];
        assert_eq!(named(&all, "c").unwrap(), "c");
        assert_eq!(named(&all, "ab-2").unwrap(), "ab-2");
        assert!(named(&all, "ab").is_err());
        assert_eq!(named(&all, "elsewhere").unwrap(), "elsewhere");
    }
}
