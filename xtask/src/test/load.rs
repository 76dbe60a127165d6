//! What runs beside the tests to make the machine busy. It ends when it is dropped, and with this program.

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::step;

/// Programs that only compute, as `stress-ng --cpu 2` starts them.
const SPINNERS: usize = 2;
/// Terminals that print without pause.
const FLOODS: usize = 8;
/// Ends when this program does, because its standard input is a pipe from here.
const SPIN: &str = "(while :; do :; done) & spin=$!; cat > /dev/null; kill $spin";

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// Two programs that only compute.
    Cpu,
    /// Eight terminals of another daemon that print without pause.
    Floods,
}

/// A load that is running.
#[derive(Debug)]
pub(super) struct Running {
    programs: Vec<Child>,
    /// The directory of the daemon whose terminals flood.
    root: Option<PathBuf>,
}

impl Load {
    pub(super) fn parse(word: Option<&str>) -> Result<Self, String> {
        match word {
            Some("cpu") => Ok(Self::Cpu),
            Some("floods") => Ok(Self::Floods),
            _ => Err("--load takes cpu or floods".to_owned()),
        }
    }

    /// Returns words for a headline.
    pub(super) fn words(self) -> String {
        match self {
            Self::Cpu => format!(", beside {SPINNERS} programs that only compute"),
            Self::Floods => format!(", beside {FLOODS} terminals that print without pause"),
        }
    }

    /// Starts it.
    pub(super) fn begin(self) -> Result<Running, String> {
        match self {
            Self::Cpu => spin(),
            Self::Floods => flood(),
        }
    }
}

fn spin() -> Result<Running, String> {
    let mut running = Running { programs: Vec::new(), root: None };
    for _ in 0..SPINNERS {
        let mut command = step::command("sh");
        running.programs.push(started(command.args(["-c", SPIN]))?);
    }
    Ok(running)
}

/// Starts an ephemeral daemon: it ends everything when its standard input ends.
fn flood() -> Result<Running, String> {
    let root = std::env::temp_dir().join(format!("qd-load-{}", std::process::id()));
    let mut builder = DirBuilder::new();
    builder.mode(0o700).create(&root).map_err(|error| format!("cannot make {}: {error}", root.display()))?;
    let mut running = Running { programs: Vec::new(), root: Some(root.clone()) };
    let mut daemon = started(
        qd(&root)
            .args(["daemon", "--foreground", "--ephemeral"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    )?;
    let output = daemon.stdout.take();
    running.programs.push(daemon);
    let mut line = String::new();
    if let Some(output) = output {
        // A daemon that says nothing has ended: the line stays empty.
        let _ended = BufReader::new(output).read_line(&mut line);
    }
    if !line.starts_with("ready") {
        return Err(format!("the daemon of the load did not start: {line}"));
    }
    for number in 0..FLOODS {
        let name = format!("flood-{number}");
        step::output(qd(&root).args(["spawn", "--kind", "terminal", "--name", &name, "--", "yes"]))?;
    }
    Ok(running)
}

fn started(command: &mut Command) -> Result<Child, String> {
    let child = command.stdin(Stdio::piped()).spawn();
    child.map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))
}

fn qd(root: &Path) -> Command {
    let mut command = step::command(step::target_dir().join("debug/qd"));
    for (name, directory) in [("QD_RUNTIME_DIR", "run"), ("QD_DATA_DIR", "data"), ("QD_CONFIG_DIR", "config")]
    {
        command.env(name, root.join(directory));
    }
    command.env("HOME", root).current_dir(root);
    command
}

impl Drop for Running {
    fn drop(&mut self) {
        for program in &mut self.programs {
            drop(program.stdin.take());
        }
        for program in &mut self.programs {
            drop(program.wait());
        }
        if let Some(root) = &self.root {
            drop(std::fs::remove_dir_all(root));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_compute_end_with_the_load() {
        let running = Load::Cpu.begin().unwrap();
        let pids: Vec<u32> = running.programs.iter().map(Child::id).collect();
        assert_eq!(pids.len(), SPINNERS);
        drop(running);
        assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    }
}
