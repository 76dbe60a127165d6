//! A world with few pids, in which they are soon used again and soon used up: a test that runs itself once more inside a
//! namespace of its own. It refuses to change anything outside of it, and to leave a machine without such worlds unsaid.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Set inside, to the world's name.
const INSIDE: &str = "QD_TEST_FEW_PIDS";

/// Worlds that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Pids there are. The kernel gives out the first three hundred only once.
const FEW: &str = "400";

/// How a line begins that is to be shown outside too.
pub const FIGURE: &str = "few pids: ";

/// What the script says when the world could not be made.
const REFUSED: i32 = 97;

/// The shell stays as the first process, which must reap what is left to it.
const SCRIPT: &str = r#"echo "$2" > /proc/sys/kernel/pid_max && test "$(cat /proc/sys/kernel/pid_max)" = "$2" || exit 97
"$0" --exact "$1" --nocapture
exit $?"#;

/// Runs `inside` in a world with few pids, by running the test of this name there; where there is no such world, says so
/// and runs `instead`, which proves less.
pub fn with_few_pids(test: &str, inside: impl FnOnce(), instead: impl FnOnce()) {
    if name().is_some() {
        let limit = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
        assert_eq!(limit.trim(), FEW, "this is another world");
        return inside();
    }
    if let Err(why) = run_inside(test) {
        say(&format!("{test}: a lower proof, because {why}"));
        instead();
    }
}

/// The name of the world this is, which no other has: in it, a process may have a pid that another has outside.
#[must_use]
pub fn name() -> Option<String> {
    std::env::var(INSIDE).ok()
}

fn run_inside(test: &str) -> Result<(), String> {
    // Older kernels have one limit for all, which the first process of a namespace may change.
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
        say(line);
    }
    Ok(())
}

/// Says it past the harness, which hides what a test prints that passes.
fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.trim().parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
