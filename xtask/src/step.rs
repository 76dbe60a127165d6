//! Starts other programs for every subcommand: from the repository root, without cargo's own variables, and
//! with an error that names the command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the repository root: the parent of this crate's directory.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Returns a command that starts in the repository root.
///
/// `cargo run` exports variables that describe *this* package; a nested cargo would hand them to build scripts
/// and rebuild what has not changed.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|p| name.starts_with(p))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the cargo that started us, with these arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs to the end with output shown; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = show(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed: {status}")),
        Err(error) => Err(format!("cannot start `{shown}`: {error}")),
    }
}

/// Runs to the end and returns the output; anything but success is an error with its last lines.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = show(command);
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let last_words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("`{shown}` failed: {}: {last_words}", output.status))
}

/// Returns where `name` is on PATH, if it is.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}

/// Returns the directory cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    let configured = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    configured.map_or_else(|| root().join("target"), |dir| root().join(dir))
}

fn show(command: &Command) -> String {
    let mut shown = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        shown.push(' ');
        shown.push_str(&argument.to_string_lossy());
    }
    shown
}
