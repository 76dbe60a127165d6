//! `qd wait`: waits until something has happened. The daemon, or the next one, answers; nothing is polled.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use proto::reply::Satisfied;
use proto::request::{Empty, Quantifier, Target, Until, Wait};
use proto::{AgentState, Exit};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::Output;

/// Wait until processes print something, reach a state, are ready, end or become silent
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("until").required(true))]
pub(crate) struct WaitArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// Until this regular expression appears
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
    #[arg(long, group = "until", value_name = "SECS", value_parser = super::send::seconds)]
    silence: Option<u64>,

    /// With --exit: exit with the code of the first of them that failed, 128 + signal when a signal ended it
    #[arg(long, requires = "exit")]
    exit_code: bool,

    /// Until it is ready, as its spawn or preset defines it
    #[arg(long, group = "until")]
    ready: bool,

    /// Until this timer of the agent has fired; prints its message
    #[arg(long, group = "until", value_name = "N")]
    timer: Option<u64>,

    /// Until this question of the process was answered; prints the answer
    #[arg(long, group = "until", value_name = "N")]
    item: Option<u64>,

    /// One of them is enough
    #[arg(long, conflicts_with = "all")]
    any: bool,

    /// All of them, which is the default
    #[arg(long)]
    all: bool,

    /// For patterns: `now` searches only what comes from now on, an offset the log from there on; otherwise
    /// all that is kept counts
    #[arg(long, value_name = "now|OFFSET", value_parser = since)]
    since: Option<Since>,

    /// For a pattern in one process: look at what came after the screen had this version, as `qd read --json` gives it
    #[arg(long, value_name = "VERSION", conflicts_with = "since", requires = "pattern")]
    since_version: Option<u64>,

    /// Give up after this many seconds, with exit code 5
    #[arg(long, value_name = "SECS", value_parser = super::send::seconds)]
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
        let waited = client::reconnecting::wait(context.address()?, request)?;
        context.print(&waited, |waited, out| {
            waited.satisfied.iter().try_for_each(|one| print_satisfied(one, out))
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

fn print_satisfied(satisfied: &Satisfied, out: &mut Output) -> Result<(), CliError> {
    match (&satisfied.text, &satisfied.exit) {
        (Some(text), _) => out.text(text),
        (None, Some(exit)) => out.line(&format!("{}: {}", satisfied.name, exit_words(exit))),
        (None, None) => match satisfied.state {
            Some(state) => out.line(&format!("{}: {state}", satisfied.name)),
            None => out.line(satisfied.name.as_str()),
        },
    }
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
