//! `qd` itself: the verbs that the bench uses, and the few JSON fields that it reads.

use std::process::Command;

use serde_json::Value;

use super::contender::{Dialect, Place};
use super::pty::Size;

pub(crate) struct Quarterdeck;

/// One process as `qd ps --json` shows it.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) pid: u64,
}

/// One piece of a log as `qd logs --json` shows it.
pub(crate) struct Stretch {
    pub(crate) offset: u64,
    pub(crate) text: String,
}

impl Dialect for Quarterdeck {
    fn name(&self) -> &'static str {
        "qd"
    }

    fn create(&self, place: &Place, session: &str, size: Size, argv: &[String]) -> Result<(), String> {
        let mut command =
            verb(place, &["spawn", "--name", session, "--size", &format!("{}x{}", size.0, size.1)]);
        command.arg("--cwd").arg(place.root.join("home")).args(["--json", "--"]).args(argv);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        verb(place, &["attach", session])
    }

    fn deck(&self, place: &Place) -> Option<Command> {
        Some(verb(place, &[]))
    }

    fn forget(&self, place: &Place, session: &str) {
        // An entry that is gone already is what we want.
        let _gone = place.run(verb(place, &["close", session]));
    }

    fn stop(&self, place: &Place) {
        if !place.servers().is_empty() {
            // A sweep kills what this leaves.
            let _swept = place.run(verb(place, &["shutdown", "--kill"]));
        }
    }

    fn list(&self, place: &Place) -> Option<Command> {
        Some(verb(place, &["ps"]))
    }

    fn read(&self, place: &Place, session: &str) -> Option<Command> {
        Some(verb(place, &["read", session]))
    }
}

fn verb(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command();
    command.args(arguments);
    command
}

/// Returns the daemon's pid.
pub(crate) fn daemon_pid(place: &Place) -> Result<u32, String> {
    let output = place.run(verb(place, &["status", "--json"]))?;
    let status: Value =
        serde_json::from_str(&output).map_err(|error| format!("qd status: {error}: {output}"))?;
    let pid = status.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok());
    pid.ok_or_else(|| format!("qd status names no pid: {output}"))
}

/// Returns all processes.
pub(crate) fn ps(place: &Place) -> Result<Vec<Listed>, String> {
    let output = place.run(verb(place, &["ps", "--json"]))?;
    let rows: Vec<Value> =
        serde_json::from_str(&output).map_err(|error| format!("qd ps: {error}: {output}"))?;
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let listed = |row: &Value| Listed {
        name: text(row, "name"),
        status: text(row, "status"),
        pid: row.get("pid").and_then(Value::as_u64).unwrap_or(0),
    };
    Ok(rows.iter().map(listed).collect())
}

/// Returns what the log of a process shows, oldest first; gaps and sizes are left out.
pub(crate) fn log(place: &Place, session: &str) -> Result<Vec<Stretch>, String> {
    let output = place.run(verb(place, &["logs", session, "--json"]))?;
    let mut stretches = Vec::new();
    for line in output.lines() {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("qd logs: {error}: {line}"))?;
        if let (Some(offset), Some(text)) =
            (value.get("offset").and_then(Value::as_u64), value.get("text").and_then(Value::as_str))
        {
            stretches.push(Stretch { offset, text: text.to_owned() });
        }
    }
    Ok(stretches)
}
