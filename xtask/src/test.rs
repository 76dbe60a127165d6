//! `cargo xtask test`: every check in one command, cheapest first. All steps run even after one fails, and
//! the last lines name every step and every test that failed.

pub(crate) mod failures;
mod load;
mod strict;

use std::process::Command;
use std::time::Instant;

use crate::{fuzz, page, sanitize, setup, step, tidy};

type Step = (&'static str, fn() -> Result<(), String>);

/// Formatting first because it costs a second; documentation and fuzzing last because they rarely fail alone.
const STEPS: &[Step] = &[
    ("setup", || setup::command(&[])),
    ("fmt", || step::run(&mut step::cargo(&["fmt", "--all", "--check"]))),
    ("tidy", || tidy::command(&[])),
    ("page", page::check),
    ("clippy", clippy),
    ("build qd", || step::run(&mut step::cargo(&["build", "--package", "cli"]))),
    ("page with qd", page::check_with_server),
    ("tests", tests),
    ("web push", web_push),
    ("sanitize", sanitize::run),
    ("doc", doc),
    ("deny", deny),
    ("fuzz smoke", fuzz::smoke),
];

/// Without these nothing later can run: the programs that tests call, and `qd` itself.
const NEEDED_BY_ALL: &[&str] = &["setup", "build qd"];

/// Runs all steps and names those that failed.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    match arguments.split_first() {
        Some((first, rest)) if first == "--strict" => return strict::StrictRun::parse(rest)?.run(),
        Some((extra, _)) => return Err(format!("takes no arguments or --strict, got `{extra}`")),
        None => {}
    }
    let begin = Instant::now();
    let failed = run_steps(STEPS);
    let seconds = begin.elapsed().as_secs_f64();
    if failed.is_empty() {
        println!("\nxtask test: {} steps passed in {seconds:.0} s", STEPS.len());
        return Ok(());
    }
    println!("\nxtask test: {} of {} steps failed in {seconds:.0} s", failed.len(), STEPS.len());
    Err(failed.join("\n"))
}

/// Runs the steps in order; returns one line or more for each that failed.
fn run_steps(steps: &[Step]) -> Vec<String> {
    let mut failed = Vec::new();
    for (number, (name, action)) in steps.iter().enumerate() {
        println!("\n== {}/{} {name}", number + 1, steps.len());
        let start = Instant::now();
        let Err(error) = action() else {
            println!("== {name}: ok in {:.1} s", start.elapsed().as_secs_f64());
            continue;
        };
        println!("== {name}: FAILED in {:.1} s: {error}", start.elapsed().as_secs_f64());
        failed.push(format!("step `{name}` failed: {error}"));
        if NEEDED_BY_ALL.contains(name) {
            break;
        }
    }
    failed
}

/// Property tests begin with this number, so that the same commit meets the same inputs every time. Set
/// `PROPTEST_RNG_SEED` to another one to search elsewhere; a plain `cargo test` begins at random.
const PROPERTY_SEED: &str = "20261117";

/// Runs every test of the workspace, the ones after a failure too.
fn tests() -> Result<(), String> {
    let alone = |names: &[String]| {
        let mut command = all_tests();
        command.args(["--", "--exact", "--test-threads=1"]).args(names);
        command
    };
    failures::run(&mut all_tests(), alone, &mut std::io::stdout())
}

/// Tests that run at once: most of them wait for programs, not for a processor.
const TEST_THREADS: &str = "4";

fn all_tests() -> Command {
    let mut command = step::cargo(&["test", "--workspace", "--no-fail-fast"]);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", TEST_THREADS);
    }
    with_seed(command)
}

fn with_seed(mut command: Command) -> Command {
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        command.env("PROPTEST_RNG_SEED", PROPERTY_SEED);
    }
    command
}

/// Checks what only a build with this feature has.
fn web_push() -> Result<(), String> {
    let feature = ["--package", "web", "--features", "push"];
    step::run(step::cargo(&["clippy", "--all-targets"]).args(feature).args(["--", "-D", "warnings"]))?;
    step::run(step::cargo(&["test", "--lib"]).args(feature))?;
    // Its routes are in the table, so the tests that are made from the table try them as well.
    let table = ["test", "--package", "cli", "--features", "push", "--test", "web", "--"];
    step::run(step::cargo(&table).args(["security::", "limits::w6_a4", "links::w6"]))
}

fn clippy() -> Result<(), String> {
    step::run(&mut step::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn doc() -> Result<(), String> {
    let mut command = step::cargo(&["doc", "--workspace", "--no-deps"]);
    step::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Advisories are left out: their database lives on a host that CI does not reach (see `deny.toml`).
fn deny() -> Result<(), String> {
    let mut command = step::command(setup::deny_program());
    step::run(command.args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_does_not_hide_the_later_ones() {
        let steps: &[Step] = &[
            ("fmt", || Err("first".to_owned())),
            ("tidy", || Ok(())),
            ("deny", || Err("second".to_owned())),
        ];
        assert_eq!(run_steps(steps), ["step `fmt` failed: first", "step `deny` failed: second"]);
    }

    #[test]
    fn a_step_that_all_later_ones_need_ends_the_run() {
        let steps: &[Step] =
            &[("setup", || Err("no network".to_owned())), ("fmt", || Err("never run".to_owned()))];
        assert_eq!(run_steps(steps), ["step `setup` failed: no network"]);
    }
}
