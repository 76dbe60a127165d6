//! `qd wait`: waits until something has happened. The daemon, or the next one, answers; nothing is polled.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use client::ClientError;
use proto::reply::Satisfied;
use proto::request::{Empty, Quantifier, Target, Until, Wait};
use proto::{AgentState, ErrorCode, Exit};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, span_ms};

/// Wait until processes print something, reach a state, are ready, end or become silent
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("until").required(true))]
pub(crate) struct WaitArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// Until it prints something that matches this regular expression
    #[arg(long, group = "until", value_name = "RE")]
    pattern: Option<String>,

    /// Until an agent is in one of these states
    #[arg(long, group = "until", value_delimiter = ',')]
    state: Vec<AgentState>,

    /// Until this turn of an agent is over
    #[arg(long, group = "until", value_name = "N")]
    turn: Option<u64>,

    /// Until the run is over
    #[arg(long, group = "until")]
    exit: bool,

    /// Until nothing was printed for this many seconds, such as 2 or 0.5
    #[arg(long, group = "until", value_name = "SECS", value_parser = crate::time_arg::seconds)]
    silence: Option<u64>,

    /// With --exit: exit with the code of the first process that failed; it is 128 + signal if a signal ended it
    #[arg(long, requires = "exit")]
    exit_code: bool,

    /// Until it is ready, as its spawn or preset defines it
    #[arg(long, group = "until")]
    ready: bool,

    /// Until this timer of the agent has fired; prints its message
    #[arg(long, group = "until", value_name = "N")]
    timer: Option<u64>,

    /// Until a person has answered this question of the process; prints the answer
    #[arg(long, group = "until", value_name = "N")]
    item: Option<u64>,

    /// Return when one of the processes has done it
    #[arg(long, conflicts_with = "all")]
    any: bool,

    /// Return when all of them have done it (the default)
    #[arg(long)]
    all: bool,

    /// For patterns: search only what is printed from now on (`now`), or the log from this offset on [default: all that
    /// is kept]
    #[arg(long, value_name = "now|OFFSET", value_parser = since)]
    since: Option<Since>,

    /// For a pattern in one process: search only what came after this version of its screen; `qd read --json` prints it
    #[arg(long, value_name = "VERSION", conflicts_with = "since", requires = "pattern")]
    since_version: Option<u64>,

    /// Give up after this many seconds, with exit code 5
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    timeout: Option<u64>,
}

/// Where a wait for a pattern starts to search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Since {
    /// At what comes from now on.
    Now,
    /// At this offset of the log.
    Offset(u64),
}

fn since(text: &str) -> Result<Since, String> {
    if text == "now" {
        return Ok(Since::Now);
    }
    text.parse().map(Since::Offset).map_err(|_| "`now` or an offset of the log".to_owned())
}

impl WaitArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let returns_code = self.exit_code;
        let request = self.request()?;
        let asked = request.clone();
        let waited = client::reconnecting::wait(context.address()?, request)
            .map_err(|error| named_timeout(&asked, error))?;
        context.print(&waited, |waited, out| {
            waited.satisfied.iter().try_for_each(|one| print_satisfied(one, &asked.until, out))
        })?;
        let codes = waited.satisfied.iter().filter_map(|one| one.exit).map(|exit| exit.shell_code());
        let failed = codes.into_iter().find(|code| *code != 0);
        Ok(ExitCode::from(failed.filter(|_| returns_code).unwrap_or(0)))
    }

    fn request(self) -> Result<Wait, CliError> {
        let number = self.turn.map(Until::Turn).or(self.silence.map(Until::Silence));
        let number = number.or(self.timer.map(Until::Timer)).or(self.item.map(Until::Item));
        let is_pattern = self.pattern.is_some();
        let until = match self.pattern.map(Until::Pattern).or(number) {
            Some(until) => until,
            None if !self.state.is_empty() => Until::State(self.state),
            None if self.exit => Until::Exit(Empty {}),
            None if self.ready => Until::Ready(Empty {}),
            None => {
                return Err(CliError::usage(
                    "say what to wait for: --pattern, --state, --turn, --exit, --silence, --ready, --timer or --item",
                ));
            }
        };
        Ok(Wait {
            targets: self.names.into_iter().map(Target).collect(),
            until,
            quantifier: if self.any { Quantifier::Any } else { Quantifier::All },
            since: match self.since {
                None if is_pattern && self.since_version.is_none() => Some(0),
                None | Some(Since::Now) => None,
                Some(Since::Offset(offset)) => Some(offset),
            },
            since_version: self.since_version,
            timeout_ms: self.timeout,
        })
    }
}

fn print_satisfied(satisfied: &Satisfied, until: &Until, out: &mut Output) -> Result<(), CliError> {
    let name = &satisfied.name;
    match (&satisfied.text, &satisfied.exit, satisfied.state, until) {
        (Some(text), ..) => out.text(text),
        (None, Some(exit), ..) => out.line(&format!("{name}: {}", exit_words(exit))),
        (None, None, Some(state), _) => out.line(&format!("{name}: {state}")),
        (None, None, None, Until::Ready(_)) => out.line(&format!("{name}: ready")),
        (None, None, None, Until::Silence(ms)) => out.line(&format!("{name}: silent for {}", span_ms(*ms))),
        (None, None, None, _) => out.line(name.as_str()),
    }
}

/// Replaces the daemon's words for a wait that took too long by which processes did not do what.
fn named_timeout(asked: &Wait, mut error: ClientError) -> CliError {
    if let (ClientError::Failed(failure), Some(limit)) = (&mut error, asked.timeout_ms)
        && failure.code == ErrorCode::Timeout
    {
        failure.message = format!("{} within {}", unmet(asked), span_ms(limit));
        if matches!(&asked.until, Until::State(states) if states.contains(&AgentState::Idle)) {
            let hint =
                "an agent for which a message is queued does not count as idle; qd messages lists them";
            failure.hint.get_or_insert_with(|| hint.to_owned());
        }
    }
    error.into()
}

/// Returns which processes have not done what.
fn unmet(asked: &Wait) -> String {
    let names: Vec<&str> = asked.targets.iter().map(|target| target.0.as_str()).collect();
    let subject = match (names.as_slice(), asked.quantifier) {
        ([name], _) => (*name).to_owned(),
        (_, Quantifier::Any) => format!("none of {}", names.join(", ")),
        (_, Quantifier::All) => format!("not all of {}", names.join(", ")),
    };
    let verb = |one: &str, many: &str| if names.len() == 1 { one.to_owned() } else { many.to_owned() };
    let what = match &asked.until {
        Until::Pattern(pattern) => format!("{} {pattern}", verb("did not print", "printed")),
        Until::State(states) => {
            let words: Vec<&str> = states.iter().map(|state| state.word()).collect();
            format!("{} {}", verb("was not", "were"), words.join(" or "))
        }
        Until::Turn(turn) => format!("{} turn {turn}", verb("did not end", "ended")),
        Until::Exit(_) => verb("did not end", "ended"),
        Until::Ready(_) => verb("was not ready", "were ready"),
        Until::Silence(ms) => format!("{} for {}", verb("was not silent", "were silent"), span_ms(*ms)),
        Until::Timer(timer) => format!("{} timer {timer}", verb("did not see", "saw")),
        Until::Item(item) => format!("{} an answer to question {item}", verb("did not get", "got")),
    };
    format!("{subject} {what}")
}

/// Returns how a run ended, in words.
pub(crate) fn exit_words(exit: &Exit) -> String {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => proto::stop::signal_name(signal),
        (None, None) => "ended".to_owned(),
    };
    match exit.reason {
        proto::ExitReason::Exited | proto::ExitReason::Signalled => how,
        reason => format!("{how} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use proto::Failure;

    use super::*;

    fn waited(names: &[&str], until: Until, quantifier: Quantifier) -> String {
        let targets = names.iter().map(|name| Target((*name).to_owned())).collect();
        let asked =
            Wait { targets, until, quantifier, since: None, since_version: None, timeout_ms: Some(1500) };
        let error = ClientError::Failed(Failure::new(ErrorCode::Timeout, "the wait timed out"));
        named_timeout(&asked, error).to_string()
    }

    #[test]
    fn a_wait_that_took_too_long_names_the_processes_the_condition_and_the_limit() {
        let (all, any) = (Quantifier::All, Quantifier::Any);
        assert_eq!(waited(&["db"], Until::Exit(Empty {}), all), "db did not end within 1.5s");
        assert_eq!(waited(&["db"], Until::Silence(2000), all), "db was not silent for 2s within 1.5s");
        assert_eq!(
            waited(&["a", "b"], Until::Ready(Empty {}), all),
            "not all of a, b were ready within 1.5s"
        );
        assert_eq!(
            waited(&["a", "b"], Until::Pattern("up".into()), any),
            "none of a, b printed up within 1.5s"
        );
        assert_eq!(waited(&["a"], Until::State(vec![AgentState::Idle]), all), "a was not idle within 1.5s");
    }
}
