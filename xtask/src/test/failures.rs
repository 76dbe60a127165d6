//! Runs tests of `cargo` or of Node, shows what they print, and collects the names of the tests that failed from it. A few tests that
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
    /// Test programs that began and never printed a result: they crashed, and no line names the test.
    crashed: usize,
}

/// Runs all tests, then a few that failed alone by the command that `rerun` makes of their names. The error names every
/// test that failed, and failed again if it was rerun. Output is copied to `shown`.
pub(crate) fn run(
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
    if first.crashed > 0 {
        return Err(format!("{} test programs crashed; {}", first.crashed, named(&first.failed)));
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

/// Runs all tests once; the error names every test that failed.
pub(super) fn run_once(all: &mut Command, shown: &mut impl Write) -> Result<(), String> {
    let only = outcome(all, shown)?;
    if only.status.success() {
        return Ok(());
    }
    Err(format!("{} ({}; {} test programs crashed)", named(&only.failed), only.status, only.crashed))
}

fn named(failed: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = failed.iter().map(AsRef::as_ref).collect();
    format!("{} tests failed:\n  {}", names.len(), names.join("\n  "))
}

fn outcome(command: &mut Command, shown: &mut impl Write) -> Result<Outcome, String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start the tests: {error}"))?;
    let mut passed = Vec::new();
    let mut failed = Vec::new();
    let mut unfinished: usize = 0;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|error| format!("cannot read what the tests print: {error}"))?;
            let _closed = shown.write_all(&line).and_then(|()| shown.write_all(b"\n"));
            let line = String::from_utf8_lossy(&line);
            passed.extend(test_that(&line, "ok").or_else(|| node_test_that(&line, "✔ ")).map(str::to_owned));
            let name = test_that(&line, "FAILED").or_else(|| node_test_that(&line, "✖ "));
            // Node names them again in its summary.
            failed.extend(name.filter(|name| !failed.iter().any(|known| known == name)).map(str::to_owned));
            unfinished += usize::from(is_start(&line));
            unfinished = unfinished.saturating_sub(usize::from(line.starts_with("test result: ")));
        }
    }
    let status = child.wait().map_err(|error| format!("cannot wait for the tests: {error}"))?;
    Ok(Outcome { status, passed, failed, crashed: unfinished })
}

/// Returns true if a test program begins with this line: `running 12 tests`.
fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, _)| count.parse::<u32>().is_ok())
}

/// Returns the name in a line `test NAME ... RESULT`.
fn test_that<'a>(line: &'a str, result: &str) -> Option<&'a str> {
    line.strip_prefix("test ")?.strip_suffix(result)?.strip_suffix(" ... ")
}

/// Returns the name in a line of Node's report, `✔ NAME (12.3ms)`.
fn node_test_that<'a>(line: &'a str, sign: &str) -> Option<&'a str> {
    let (name, time) = line.trim_start().strip_prefix(sign)?.rsplit_once(" (")?;
    let time = time.strip_suffix("ms)")?;
    time.parse::<f64>().is_ok().then_some(name)
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
    fn a_result_of_node_is_read_once_with_the_name_of_its_test() {
        assert_eq!(
            node_test_that("✔ w6 a link (of a task) is read (908.72ms)", "✔ "),
            Some("w6 a link (of a task) is read")
        );
        assert_eq!(node_test_that("✖ failing tests:", "✖ "), None);
        let script =
            "echo '✔ a (1.5ms)'; echo '✖ b c (2ms)'; echo '✖ failing tests:'; echo '✖ b c (2ms)'; exit 1";
        assert_eq!(run_scripts(script, script).0.unwrap_err(), "1 tests failed:\n  b c");
        let (result, shown) = run_scripts(script, "echo '✔ a (1ms)'; echo '✔ b c (2ms)'");
        assert_eq!(result, Ok(()));
        assert!(shown.contains("UNSTEADY: b c failed"), "{shown}");
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
    fn a_strict_run_gives_no_test_a_second_chance() {
        let mut shown = Vec::new();
        let failed = run_once(&mut shell(TWO_FAILED), &mut shown).unwrap_err();
        assert!(failed.starts_with("2 tests failed:\n  b\n  c::d"), "{failed}");
        assert_eq!(run_once(&mut shell("echo 'test a ... ok'"), &mut shown), Ok(()));
        assert!(run_once(&mut shell("echo 'running 1 test'; exit 101"), &mut shown).is_err());
    }

    #[test]
    fn a_program_that_crashed_fails_the_run_although_the_named_tests_pass_alone() {
        let crash = "echo 'running 2 tests'; echo 'test b ... FAILED'; echo 'test result: FAILED. 1 passed'; \
                     echo 'running 1 test'; exit 101";
        let (result, _) = run_scripts(crash, "echo 'test b ... ok'");
        assert_eq!(result.unwrap_err(), "1 test programs crashed; 1 tests failed:\n  b");
        let whole = crash.replace("exit 101", "echo 'test result: ok. 1 passed'; exit 101");
        assert_eq!(run_scripts(&whole, "echo 'test b ... ok'").0, Ok(()));
    }

    #[test]
    fn many_failures_are_no_chance() {
        let seven = "for name in a b c d e f g; do echo \"test $name ... FAILED\"; done; exit 101";
        let (result, shown) = run_scripts(seven, "echo again");
        assert!(result.unwrap_err().starts_with("7 tests failed"));
        assert!(!shown.contains("again"));
    }
}
