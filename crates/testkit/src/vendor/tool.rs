//! The public tools that check our MCP server: where they are and how they are started. A missing tool fails
//! the test; it is never skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::vendors_dir;

/// The list `cargo xtask setup` installs from.
const TOOLS: &str = include_str!("tools.json");

/// A tool of the protocol's own makers, in one exact version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The suite that checks a server's conformance to the protocol.
    Conformance,
    /// The client with which people inspect a server.
    Inspector,
}

impl Tool {
    /// Returns a command that runs it with nothing of the caller's environment but the search path, in this
    /// directory, which is also its home, with empty input.
    #[must_use]
    pub fn command(self, home: &Path) -> Command {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let runtime = program("node");
        let runtime = runtime.parent().expect("a program lies in a directory");
        let mut command = Command::new(program(self.name()));
        command.env_clear().env("PATH", format!("{}:{path}", runtime.display()));
        command.env("HOME", home).current_dir(home).stdin(Stdio::null());
        command
    }

    fn name(self) -> &'static str {
        match self {
            Self::Conformance => "conformance",
            Self::Inspector => "mcp-inspector",
        }
    }
}

/// Returns an installed program; fails when there is none.
fn program(name: &str) -> PathBuf {
    let tools: Vec<Value> = serde_json::from_str(TOOLS).expect("the list of tools is JSON");
    let own = tools.iter().find(|tool| tool["name"] == name).expect("every tool is pinned");
    let field = |field: &str| own[field].as_str();
    let package = field("package").expect("every pin is whole");
    let version = field("version").expect("every pin is whole");
    let modules = vendors_dir().join(format!("{package}@{version}")).join("node_modules");
    let program = match field("program") {
        Some(program) => modules.join(package).join(program),
        None => modules.join(".bin").join(name),
    };
    assert!(program.exists(), "{} is not there: run cargo xtask setup", program.display());
    program
}
