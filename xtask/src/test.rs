//! `cargo xtask test`: every check in one command, in the order in which a failure is cheapest to find. Owns the
//! list of steps and their timing; the first failure stops the run.

use std::time::Instant;

use crate::{fuzz, sanitize, setup, step, tidy};

type Step = (&'static str, fn() -> Result<(), String>);

/// Formatting first because it costs a second; documentation and fuzzing last because they rarely fail alone.
const STEPS: &[Step] = &[
    ("setup", || setup::command(&[])),
    ("fmt", || step::run(&mut step::cargo(&["fmt", "--all", "--check"]))),
    ("tidy", || tidy::command(&[])),
    ("clippy", clippy),
    ("build qd", || step::run(&mut step::cargo(&["build", "--package", "cli"]))),
    ("tests", || step::run(&mut step::cargo(&["test", "--workspace"]))),
    ("sanitize", sanitize::run),
    ("doc", doc),
    ("deny", deny),
    ("fuzz smoke", fuzz::smoke),
];

/// Runs all steps.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    if let Some(extra) = arguments.first() {
        return Err(format!("takes no arguments, got `{extra}`"));
    }
    let begin = Instant::now();
    for (number, (name, action)) in STEPS.iter().enumerate() {
        println!("\n== {}/{} {name}", number + 1, STEPS.len());
        let start = Instant::now();
        action().map_err(|error| format!("step `{name}` failed: {error}"))?;
        println!("== {name}: ok in {:.1} s", start.elapsed().as_secs_f64());
    }
    println!("\nxtask test: {} steps passed in {:.0} s", STEPS.len(), begin.elapsed().as_secs_f64());
    Ok(())
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
