//! Programs with one known behaviour, as argv for a shell that every system has.

/// Runs a shell script.
#[must_use]
pub fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

/// Prints a text and ends with a code.
#[must_use]
pub fn print_and_exit(text: &str, code: u8) -> Vec<String> {
    shell(&format!("printf '%s' '{}'; exit {code}", text.replace('\'', r"'\''")))
}

/// Prints `line 1` to `line <count>` and ends.
#[must_use]
pub fn count_lines(count: u32) -> Vec<String> {
    shell(&format!("i=1; while [ $i -le {count} ]; do echo line $i; i=$((i+1)); done"))
}

/// Prints `ready`, then repeats every line that it reads as `got:<line>`, until its input ends.
#[must_use]
pub fn repeat_lines() -> Vec<String> {
    shell("stty -echo; echo ready; while IFS= read -r line; do echo \"got:$line\"; done")
}

/// Prints `ready`, then prints every byte that it reads, unbuffered, with the terminal raw.
#[must_use]
pub fn repeat_bytes() -> Vec<String> {
    shell("stty raw -echo; echo ready; exec cat")
}

/// Prints `ready` and runs until it is ended.
#[must_use]
pub fn run_for_ever() -> Vec<String> {
    shell("echo ready; exec sleep 1000000")
}

/// Prints `ready` and ignores every signal that it can.
#[must_use]
pub fn ignore_signals() -> Vec<String> {
    shell("trap '' HUP INT TERM QUIT; echo ready; while :; do sleep 1000; done")
}

/// Returns a command that never reads its terminal.
#[must_use]
pub fn never_read() -> Vec<String> {
    shell("stty raw -echo; echo ready; exec sleep 1000000")
}

/// Leaves a background job behind and ends.
#[must_use]
pub fn leave_background() -> Vec<String> {
    shell("setsid sleep 1000000 & echo $!; exit 0")
}

/// Copies a program to a path at which it is executed. Another process writes the copy: a test beside this one that forks
/// at that moment would otherwise inherit the open file, and the kernel refuses to execute a file that is open for writing.
pub fn copy_program(from: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let copied = std::process::Command::new("cp").arg(from).arg(to).status().expect("cp runs");
    assert!(copied.success(), "{} is not copied to {}", from.display(), to.display());
}
