//! The arguments of `cargo xtask fuzz`: a fixed small amount for every change, or a time or a number of
//! inputs for a longer run.

use std::fmt;

/// Long enough to catch a fresh panic, short enough to wait for.
const SECONDS: u32 = 15;

/// How much each target runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    Seconds(u32),
    Runs(u32),
    /// What every change meets: each target's own number of inputs, the same ones each time.
    Smoke,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds} s"),
            Self::Runs(runs) => write!(f, "{runs} inputs"),
            Self::Smoke => f.write_str("its smoke run"),
        }
    }
}

/// Which targets, and how much of each.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) budget: Budget,
    pub(crate) only: Option<String>,
}

pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { budget: Budget::Seconds(SECONDS), only: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || {
            let value = rest.next().ok_or_else(|| format!("{argument} needs a number"))?;
            let number = value.parse::<u32>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{argument}: `{value}` is not a number above 0"))
        };
        match argument.as_str() {
            "--seconds" => options.budget = Budget::Seconds(number()?),
            "--runs" => options.budget = Budget::Runs(number()?),
            flag if flag.starts_with('-') => return Err(format!("unknown argument `{flag}`")),
            name => options.only = Some(name.to_owned()),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, String> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn time_or_a_number_of_inputs_and_perhaps_one_target() {
        let only = |name: &str| Some(name.to_owned());
        assert_eq!(parsed(&[]), Ok(Options { budget: Budget::Seconds(15), only: None }));
        assert_eq!(
            parsed(&["--runs", "1000000", "screen"]),
            Ok(Options { budget: Budget::Runs(1_000_000), only: only("screen") })
        );
        assert_eq!(parsed(&["--seconds", "3"]), Ok(Options { budget: Budget::Seconds(3), only: None }));
    }

    #[test]
    fn what_is_no_number_and_what_is_unknown_is_refused() {
        for bad in [&["--runs"][..], &["--runs", "many"], &["--seconds", "0"], &["--run", "3"]] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }
}
