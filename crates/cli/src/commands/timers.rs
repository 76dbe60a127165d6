//! `qd timers`: lists, sets and changes timers. The daemon keeps the time.

use std::process::ExitCode;

use clap::{ArgGroup, Args, Subcommand};
use proto::request::{ChangeTimer, SetTimer, Target, TimerChange, TimerWatch, TimerWhen};
use proto::timers::{TimerKind, TimerStatus, TimerView};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, span};

/// The hint when there is no timer of that number.
const HINT: &str = "`qd timers` lists them";

/// List, set and change the timers that wake agents
#[derive(Debug, Args)]
pub(crate) struct TimersArgs {
    #[command(subcommand)]
    verb: Option<TimersVerb>,
}

#[derive(Debug, Subcommand)]
enum TimersVerb {
    /// List the timers (the default)
    List,
    Set(SetArgs),
    /// Cancel a timer: it never fires
    Cancel {
        /// Its number
        #[arg(value_parser = crate::text_arg::number)]
        timer: u64,
    },
    /// Pause a timer; it keeps its remaining time
    Pause {
        /// Its number
        #[arg(value_parser = crate::text_arg::number)]
        timer: u64,
    },
    /// Continue a paused timer with its remaining time
    Resume {
        /// Its number
        #[arg(value_parser = crate::text_arg::number)]
        timer: u64,
    },
}

/// Send an agent a message later
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("when").required(true))]
struct SetArgs {
    /// Fire after this many seconds (more than 0)
    #[arg(long, group = "when", value_name = "SECS", value_parser = delay, allow_negative_numbers = true)]
    after: Option<u64>,

    /// Fire when one of these processes next becomes idle; write P,P… or repeat the flag
    #[arg(long, group = "when", value_name = "P,…", value_delimiter = ',')]
    idle_any: Vec<String>,

    /// Fire when all of these processes are idle, at once if they already are; write P,P… or repeat the flag
    #[arg(long, group = "when", value_name = "P,…", value_delimiter = ',')]
    idle_all: Vec<String>,

    /// With --idle-any or --idle-all: fire after this many seconds at the latest; --idle-all needs this flag
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds, allow_negative_numbers = true, conflicts_with = "after")]
    max_wait: Option<u64>,

    /// The agent that it wakes [default: the agent that this command runs in]
    #[arg(long = "for", value_name = "AGENT")]
    owner: Option<String>,

    /// Its name
    #[arg(long)]
    label: Option<String>,

    /// A second call with the same key returns the first timer
    #[arg(long)]
    key: Option<String>,

    /// The message; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    body: String,
}

/// Seconds as milliseconds, at least one: a timer of zero would wake no agent.
fn delay(text: &str) -> Result<u64, String> {
    match crate::time_arg::seconds(text) {
        Ok(0) | Err(_) => Err("seconds above 0, such as 90 or 0.5, or 5m, 2h".to_owned()),
        Ok(ms) => Ok(ms),
    }
}

impl TimersArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        match self.verb.unwrap_or(TimersVerb::List) {
            TimersVerb::List => {
                let timers = context.connect()?.timers()?;
                context.print(&timers, |timers, out| match timers.is_empty() {
                    true => out.line("there is no timer"),
                    false => out.table(&table(timers)),
                })?;
            }
            TimersVerb::Set(set) => {
                let request = set.request()?;
                let timer = context.connect()?.set_timer(request)?;
                context.print(&timer, |timer, out| out.text(&words(timer)))?;
            }
            TimersVerb::Cancel { timer } => change(context, timer, TimerChange::Cancel)?,
            TimersVerb::Pause { timer } => change(context, timer, TimerChange::Pause)?,
            TimersVerb::Resume { timer } => change(context, timer, TimerChange::Resume)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn change(context: &mut Context, timer: u64, change: TimerChange) -> Result<(), CliError> {
    let changed = context.connect()?.change_timer(ChangeTimer { timer, change });
    let timer = changed.map_err(CliError::missing(HINT))?;
    context.print(&timer, |timer, out| out.text(&words(timer)))
}

impl SetArgs {
    fn request(self) -> Result<SetTimer, CliError> {
        let watch = |names: Vec<String>, flag: &str| {
            if names.iter().any(String::is_empty) {
                return Err(CliError::usage(format!("{flag}: a name is empty")));
            }
            let max_wait_ms = self.max_wait.ok_or_else(|| {
                CliError::usage(format!("{flag} needs --max-wait SECS: when it fires at the latest"))
            })?;
            Ok(TimerWatch { processes: names.into_iter().map(Target).collect(), max_wait_ms })
        };
        let when = match self.after {
            Some(after) => TimerWhen::After(after),
            None if self.idle_all.is_empty() => TimerWhen::IdleAny(watch(self.idle_any, "--idle-any")?),
            None => TimerWhen::IdleAll(watch(self.idle_all, "--idle-all")?),
        };
        let body = if self.body == "-" { super::send::from_stdin()? } else { self.body };
        Ok(SetTimer { owner: self.owner.map(Target), when, body, label: self.label, key: self.key })
    }
}

fn table(timers: &[TimerView]) -> Table {
    let mut table = Table::new(&["TIMER", "FOR", "STATUS", "LEFT", "WHEN", "LABEL", "BODY"]);
    for timer in timers {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (timer.timer.to_string(), Style::Bold),
            plain(timer.owner_name.to_string()),
            (status(timer), status_style(timer.status)),
            plain(left(timer)),
            plain(when(timer)),
            plain(timer.label.clone()),
            plain(timer.body.lines().next().unwrap_or_default().to_owned()),
        ]);
    }
    table
}

fn status(timer: &TimerView) -> String {
    let word = match timer.status {
        TimerStatus::Armed => "armed",
        TimerStatus::Paused => "paused",
        TimerStatus::Fired => "fired",
        TimerStatus::Cancelled => "cancelled",
    };
    timer.outcome.as_ref().map_or_else(|| word.to_owned(), |outcome| format!("{word}: {outcome}"))
}

fn status_style(status: TimerStatus) -> Style {
    match status {
        TimerStatus::Armed => Style::Green,
        TimerStatus::Paused => Style::Yellow,
        TimerStatus::Fired | TimerStatus::Cancelled => Style::Dim,
    }
}

fn left(timer: &TimerView) -> String {
    match timer.status {
        TimerStatus::Armed | TimerStatus::Paused => span(timer.remaining_ms.div_ceil(1000)),
        TimerStatus::Fired | TimerStatus::Cancelled => "-".to_owned(),
    }
}

fn when(timer: &TimerView) -> String {
    let ids = || timer.watches.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    match timer.kind {
        TimerKind::Delay => "time".to_owned(),
        TimerKind::IdleAny => format!("any rests: {}", ids()),
        TimerKind::IdleAll => format!("all rest: {}", ids()),
    }
}

/// Returns one timer in words.
fn words(timer: &TimerView) -> String {
    let left = match timer.status {
        TimerStatus::Armed => format!(", {} left", left(timer)),
        TimerStatus::Paused => format!(" with {} left", left(timer)),
        TimerStatus::Fired | TimerStatus::Cancelled => String::new(),
    };
    format!("timer {} for {} is {}{left}", timer.timer, timer.owner_name, status(timer))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;
    use crate::commands::Verb;
    use crate::output::memory::Memory;

    fn set(words: &[&str]) -> Result<SetTimer, String> {
        let words = ["qd", "timers", "set"].iter().chain(words);
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        let Some(Verb::Timers(TimersArgs { verb: Some(TimersVerb::Set(set)) })) = cli.verb else {
            panic!("not set")
        };
        set.request().map_err(|error| error.to_string())
    }

    #[test]
    fn a_timer_says_when_whom_and_what() {
        let after =
            set(&["--after", "1.5", "--for", "lead", "--label", "tea", "--key", "k", "look"]).unwrap();
        assert_eq!(after.when, TimerWhen::After(1500));
        assert_eq!((after.owner, after.label.as_deref()), (Some("lead".into()), Some("tea")));
        assert_eq!((after.body.as_str(), after.key.as_deref()), ("look", Some("k")));
        let any = set(&["--idle-any", "a,b", "--idle-any", "c", "--max-wait", "60", "x"]).unwrap();
        let watch = TimerWatch { processes: ["a", "b", "c"].map(Target::from).into(), max_wait_ms: 60_000 };
        assert_eq!(any.when, TimerWhen::IdleAny(watch.clone()));
        let all = set(&["--idle-all", "a,b,c", "--max-wait", "60", "x"]).unwrap();
        assert_eq!(all.when, TimerWhen::IdleAll(watch));
    }

    #[test]
    fn f8_a_timer_that_makes_no_sense_is_refused_by_its_flag() {
        for (words, flag) in [
            (&["x"][..], "--after"),
            (&["--after", "nan", "x"], "--after"),
            (&["--after", "-1", "x"], "--after"),
            (&["--after", "inf", "x"], "--after"),
            (&["--after", "1e300", "x"], "--after"),
            (&["--after", "1", "--idle-any", "a", "x"], "--idle-any"),
            (&["--after", "1", "--max-wait", "1", "x"], "--max-wait"),
            (&["--idle-any", "a", "x"], "--max-wait"),
            (&["--idle-all", "a,,b", "--max-wait", "1", "x"], "--idle-all"),
            (&["--idle-all", "a", "--max-wait", "soon", "x"], "--max-wait"),
            (&["--after", "1"], "BODY"),
        ] {
            let error = set(words).unwrap_err();
            assert!(error.contains(flag), "{words:?}: {error}");
        }
    }

    #[test]
    fn a_row_says_what_is_left_and_why_it_ended() {
        let timer = |more: serde_json::Value| -> TimerView {
            let mut all = serde_json::json!({"timer": 1, "owner": "p_00000000", "owner_name": "lead", "kind": "delay",
                "status": "armed", "body": "look\nat it", "remaining_ms": 61_200, "label": "tea\u{7}"});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(all).unwrap()
        };
        let fired = timer(serde_json::json!({"timer": 2, "kind": "idle_any", "status": "fired", "label": "",
            "watches": ["p_11111111"], "outcome": "max_wait passed", "remaining_ms": 0}));
        let armed = timer(serde_json::json!({}));
        assert_eq!(words(&armed), "timer 1 for lead is armed, 1m02s left");
        assert_eq!(words(&fired), "timer 2 for lead is fired: max_wait passed");
        let memory = Memory::default();
        memory.output().table(&table(&[armed, fired])).unwrap();
        let expected = "\
TIMER  FOR   STATUS                  LEFT   WHEN                   LABEL     BODY
1      lead  armed                   1m02s  time                   tea\\u{7}  look
2      lead  fired: max_wait passed  -      any rests: p_11111111            look
";
        assert_eq!(memory.text(), expected);
    }
}
