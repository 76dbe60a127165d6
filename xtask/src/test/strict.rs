//! `cargo xtask test --strict`: the tests alone, as often as asked, beside a load, and no test gets a second chance.
//!
//! It answers whether the suite depends on how busy the machine is. A run counts only when every test passed at once.

use std::time::Instant;

use super::failures;
use super::load::Load;
use crate::{setup, step};

/// How the tests run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StrictRun {
    /// How often.
    times: u32,
    /// What runs beside them.
    load: Option<Load>,
    /// What `cargo test` gets in place of `--workspace`.
    only: Vec<String>,
}

impl StrictRun {
    /// Reads what comes after `--strict`: `[--load cpu|floods] [--times N] [-- WHAT CARGO TEST GETS]`.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut run = Self { times: 1, ..Self::default() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--" => {
                    run.only = words.cloned().collect();
                    break;
                }
                "--load" => run.load = Some(Load::parse(words.next().map(String::as_str))?),
                "--times" => {
                    let count = words.next().and_then(|count| count.parse().ok()).filter(|count| *count > 0);
                    run.times = count.ok_or("--times takes a number")?;
                }
                other => {
                    return Err(format!(
                        "unknown argument `{other}`: --strict takes --load, --times and -- ARGUMENTS"
                    ));
                }
            }
        }
        Ok(run)
    }

    /// Runs them and names what failed in each round.
    pub(super) fn run(&self) -> Result<(), String> {
        setup::command(&[])?;
        step::run(&mut step::cargo(&["build", "--package", "cli"]))?;
        step::run(self.tests().arg("--no-run"))?;
        let failed: Vec<String> = (1..=self.times).filter_map(|round| self.round(round).err()).collect();
        println!(
            "\nxtask test --strict: {} of {} rounds passed",
            self.times as usize - failed.len(),
            self.times
        );
        if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
    }

    fn round(&self, round: u32) -> Result<(), String> {
        println!("\n== round {round} of {}{}", self.times, self.load.map(Load::words).unwrap_or_default());
        let begin = Instant::now();
        let load = self.load.map(Load::begin).transpose()?;
        let result = failures::run_once(&mut self.tests(), &mut std::io::stdout());
        drop(load);
        println!("== round {round}: {:.0} s", begin.elapsed().as_secs_f64());
        result.map_err(|error| format!("round {round}: {error}"))
    }

    fn tests(&self) -> std::process::Command {
        if self.only.is_empty() {
            return super::all_tests();
        }
        let mut command = super::with_seed(step::cargo(&["test", "--no-fail-fast"]));
        command.args(&self.only);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<StrictRun, String> {
        StrictRun::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn load_times_and_what_to_test_are_read() {
        assert_eq!(parse(""), Ok(StrictRun { times: 1, load: None, only: Vec::new() }));
        let only = vec!["--package".to_owned(), "cli".to_owned()];
        let all = parse("--load floods --times 5 -- --package cli");
        assert_eq!(all, Ok(StrictRun { times: 5, load: Some(Load::Floods), only }));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in ["--load", "--load rain", "--times", "--times 0", "--times x", "cli"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
