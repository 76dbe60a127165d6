//! Runs a test again inside a pid namespace with few pids, where they are soon used again and soon used up.
//! It changes nothing outside, and prints a line where such a namespace cannot be made.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Set inside, to the namespace's name.
const INSIDE: &str = "QD_TEST_FEW_PIDS";

/// Namespaces that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// The number of pids. The kernel uses the first three hundred only once.
const FEW: &str = "400";

/// The prefix of a line that is also shown outside.
pub const FIGURE: &str = "few pids: ";

/// The script's exit code when the namespace could not be made.
const REFUSED: i32 = 97;

/// The shell stays as the first process, which must reap orphans.
const SCRIPT: &str = r#"echo "$2" > /proc/sys/kernel/pid_max && test "$(cat /proc/sys/kernel/pid_max)" = "$2" || exit 97
"$0" --exact "$1" --nocapture
exit $?"#;

/// Runs `inside` in a namespace with few pids, by running the test of this name there. Where that is not
/// possible, prints a line and runs `instead`, which proves less.
pub fn with_few_pids(test: &str, inside: impl FnOnce(), instead: impl FnOnce()) {
    if name().is_some() {
        let limit = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
        assert_eq!(limit.trim(), FEW, "this is another world");
        return inside();
    }
    if let Err(why) = run_inside(test) {
        print_line(&format!("{test}: a lower proof, because {why}"));
        instead();
    }
}

/// Returns the unique name of this namespace: a process in it may have a pid that another has outside.
#[must_use]
pub fn name() -> Option<String> {
    std::env::var(INSIDE).ok()
}

fn run_inside(test: &str) -> Result<(), String> {
    // Older kernels have one global limit, which the first process of a namespace could change.
    if kernel() < (6, 14) {
        return Err("the kernel has no limit of pids per namespace (linux 6.14 has)".to_owned());
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["-rpf", "--mount-proc", "--kill-child", "sh", "-c", SCRIPT]);
    let world = format!("{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let own = std::env::current_exe().map_err(|error| format!("this test is nowhere: {error}"))?;
    unshare.arg(own).args([test, FEW]).env(INSIDE, world);
    let output = unshare.stdin(Stdio::null()).output().map_err(|error| format!("no unshare: {error}"))?;
    let told = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(REFUSED) || !told.contains("running 1 test") {
        return Err(format!("there is no namespace: {}", complaint.trim()));
    }
    assert!(output.status.success() && told.contains("1 passed"), "{told}{complaint}");
    for line in told.lines().filter(|line| line.starts_with(FIGURE)) {
        print_line(line);
    }
    Ok(())
}

/// Prints a line that the harness does not hide when the test passes.
fn print_line(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.trim().parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
