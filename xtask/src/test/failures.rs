//! Runs `cargo test`, shows what it prints, and collects the names of the tests that failed from it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Runs to the end with output copied to `shown`. The error names every failed test.
pub(super) fn run(command: &mut Command, shown: &mut impl Write) -> Result<(), String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start the tests: {error}"))?;
    let mut failed = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|error| format!("cannot read what the tests print: {error}"))?;
            let _closed = shown.write_all(&line).and_then(|()| shown.write_all(b"\n"));
            failed.extend(failed_test(&String::from_utf8_lossy(&line)).map(str::to_owned));
        }
    }
    let status = child.wait().map_err(|error| format!("cannot wait for the tests: {error}"))?;
    if status.success() {
        return Ok(());
    }
    if failed.is_empty() {
        return Err(format!("no test failed by name, but the run did: {status}"));
    }
    Err(format!("{} tests failed:\n  {}", failed.len(), failed.join("\n  ")))
}

/// Returns the name in a line `test NAME ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failed_tests_are_named() {
        assert_eq!(failed_test("test crew::h1_every_byte ... FAILED"), Some("crew::h1_every_byte"));
        assert_eq!(failed_test("test crew::h1_every_byte ... ok"), None);
        assert_eq!(failed_test("test result: FAILED. 1 passed; 1 failed"), None);
    }

    #[test]
    fn a_run_that_fails_names_its_tests() {
        let script = "echo 'test a ... ok'; echo 'test b ... FAILED'; echo 'test c::d ... FAILED'; exit 101";
        // Not to standard output: a reader of this run's own output would take the names for failed tests.
        let mut shown = Vec::new();
        let mut run = |script| run(Command::new("sh").args(["-c", script]), &mut shown);
        assert_eq!(run(script).unwrap_err(), "2 tests failed:\n  b\n  c::d");
        assert!(run("exit 101").unwrap_err().contains("the run did"));
        assert_eq!(run("echo 'test a ... ok'"), Ok(()));
        assert!(shown.starts_with(b"test a ... ok\ntest b ... FAILED\n"), "everything is shown");
    }
}
