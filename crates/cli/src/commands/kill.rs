//! `qd kill`: ends a run or sends one signal; the entry stays. Owns the names of signals; refuses sending them itself.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::request::{Kill, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Linux numbers; the daemon speaks numbers only.
const SIGNALS: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// End a process and everything it started; its entry stays
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Its name or id
    name: String,

    /// Send only this signal, by name or number
    #[arg(long, value_parser = signal)]
    signal: Option<i32>,

    /// How many seconds it may take to end by itself, 2 at most; otherwise 0.5
    #[arg(long, value_name = "SECS", value_parser = super::send::seconds, conflicts_with = "signal")]
    grace: Option<u64>,
}

impl KillArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let grace_ms = self.grace.map(|grace| u32::try_from(grace).unwrap_or(u32::MAX));
        let request = Kill { target: Target(self.name.clone()), signal: self.signal, grace_ms };
        let ended = context.connect()?.kill(request)?;
        if let Some(ended) = ended {
            context.print(&ended, |ended, out| {
                let how = ended
                    .exit
                    .map_or_else(|| "was not running".to_owned(), |exit| super::wait::exit_words(&exit));
                out.line(&format!("{}: {how}", Printable(&self.name)))
            })?;
        } else if context.json {
            context.out.json(&json!({}))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn signal(text: &str) -> Result<i32, String> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let number = || text.parse().ok().filter(|number| (1..=64).contains(number));
    known.or_else(number).ok_or_else(|| "a signal is a name such as INT or a number from 1 to 64".to_owned())
}

/// `SIGTERM` for 15.
pub(crate) fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(_, known)| *known == number);
    known.map_or_else(|| format!("signal {number}"), |(name, _)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_or_numbered() {
        for (text, number) in [("INT", 2), ("sigterm", 15), ("9", 9), ("64", 64)] {
            assert_eq!(signal(text), Ok(number));
        }
        for bad in ["", "0", "65", "-1", "NOPE"] {
            assert!(signal(bad).is_err(), "{bad}");
        }
        assert_eq!((signal_name(15), signal_name(40)), ("SIGTERM".to_owned(), "signal 40".to_owned()));
    }
}
