//! Runs `cargo test`, shows what it prints, and collects the names of the tests that failed from it. A few tests that
//! failed run once more, alone: a test that passes then depends on chance. It is named loudly, but the others' work counts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

/// More failures than this are no chance, and none of them runs again.
const MOST_RERUN: usize = 6;

/// What one run of tests came to.
struct Outcome {
    status: ExitStatus,
    passed: Vec<String>,
    failed: Vec<String>,
}

/// Runs all tests, then a few that failed alone by the command that `rerun` makes of their names. The error names every
/// test that failed, and failed again if it was rerun. Output is copied to `shown`.
pub(super) fn run(
    all: &mut Command,
    rerun: impl FnOnce(&[String]) -> Command,
    shown: &mut impl Write,
) -> Result<(), String> {
    let first = outcome(all, shown)?;
    if first.status.success() {
        return Ok(());
    }
    if first.failed.is_empty() {
        return Err(format!("no test failed by name, but the run did: {}", first.status));
    }
    if first.failed.len() > MOST_RERUN {
        return Err(named(&first.failed));
    }
    let second = outcome(&mut rerun(&first.failed), shown)?;
    let is_unsteady = |name: &&String| second.passed.contains(name) && !second.failed.contains(name);
    let (unsteady, failed): (Vec<&String>, Vec<&String>) = first.failed.iter().partition(is_unsteady);
    for name in unsteady {
        let _closed =
            writeln!(shown, "UNSTEADY: {name} failed among the others and passed alone: mend the test");
    }
    if failed.is_empty() { Ok(()) } else { Err(named(&failed)) }
}

fn named(failed: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = failed.iter().map(AsRef::as_ref).collect();
    format!("{} tests failed:\n  {}", names.len(), names.join("\n  "))
}

fn outcome(command: &mut Command, shown: &mut impl Write) -> Result<Outcome, String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start the tests: {error}"))?;
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|error| format!("cannot read what the tests print: {error}"))?;
            let _closed = shown.write_all(&line).and_then(|()| shown.write_all(b"\n"));
            let line = String::from_utf8_lossy(&line);
            passed.extend(test_that(&line, "ok").map(str::to_owned));
            failed.extend(test_that(&line, "FAILED").map(str::to_owned));
        }
    }
    let status = child.wait().map_err(|error| format!("cannot wait for the tests: {error}"))?;
    Ok(Outcome { status, passed, failed })
}

/// Returns the name in a line `test NAME ... RESULT`.
fn test_that<'a>(line: &'a str, result: &str) -> Option<&'a str> {
    line.strip_prefix("test ")?.strip_suffix(result)?.strip_suffix(" ... ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// Runs two scripts in place of all tests and of the rerun. Nothing goes to standard output: a reader of this run's own
    /// output would take the names for failed tests.
    fn run_scripts(all: &str, again: &str) -> (Result<(), String>, String) {
        let mut shown = Vec::new();
        let result = run(&mut shell(all), |_| shell(again), &mut shown);
        (result, String::from_utf8(shown).unwrap())
    }

    const TWO_FAILED: &str =
        "echo 'test a ... ok'; echo 'test b ... FAILED'; echo 'test c::d ... FAILED'; exit 101";

    #[test]
    fn a_result_is_read_with_the_name_of_its_test() {
        assert_eq!(test_that("test crew::h1_every_byte ... FAILED", "FAILED"), Some("crew::h1_every_byte"));
        assert_eq!(test_that("test crew::h1_every_byte ... ok", "FAILED"), None);
        assert_eq!(test_that("test crew::h1_every_byte ... ok", "ok"), Some("crew::h1_every_byte"));
        assert_eq!(test_that("test result: FAILED. 1 passed; 1 failed", "FAILED"), None);
    }

    #[test]
    fn a_run_that_fails_twice_names_its_tests() {
        let (result, shown) = run_scripts(TWO_FAILED, TWO_FAILED);
        assert_eq!(result.unwrap_err(), "2 tests failed:\n  b\n  c::d");
        assert!(shown.starts_with("test a ... ok\ntest b ... FAILED\n"), "everything is shown");
        assert!(run_scripts("exit 101", "true").0.unwrap_err().contains("the run did"));
        assert_eq!(run_scripts("echo 'test a ... ok'", "exit 1").0, Ok(()));
    }

    #[test]
    fn a_test_that_passes_alone_is_named_and_does_not_fail_the_run() {
        let (result, shown) = run_scripts(TWO_FAILED, "echo 'test b ... ok'; echo 'test c::d ... ok'");
        assert_eq!(result, Ok(()));
        assert!(shown.contains("UNSTEADY: b failed") && shown.contains("UNSTEADY: c::d failed"), "{shown}");
        let (result, _) = run_scripts(TWO_FAILED, "echo 'test b ... ok'");
        assert_eq!(
            result.unwrap_err(),
            "1 tests failed:\n  c::d",
            "a test that did not run again has failed"
        );
        // Two tests of one name: one of them is still red.
        let (result, _) = run_scripts(TWO_FAILED, "echo 'test b ... ok'; echo 'test b ... FAILED'");
        assert!(result.unwrap_err().contains("\n  b"));
    }

    #[test]
    fn many_failures_are_no_chance() {
        let seven = "for name in a b c d e f g; do echo \"test $name ... FAILED\"; done; exit 101";
        let (result, shown) = run_scripts(seven, "echo again");
        assert!(result.unwrap_err().starts_with("7 tests failed"));
        assert!(!shown.contains("again"));
    }
}
