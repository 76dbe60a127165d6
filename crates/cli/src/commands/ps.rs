//! `qd ps`: lists all processes.

use std::process::ExitCode;

use clap::Args;
use proto::{AgentState, Printable, ProcessView, Status};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// List all processes
#[derive(Debug, Args)]
#[command(visible_alias = "list")]
pub(crate) struct PsArgs {}

impl PsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut processes = context.connect()?.list()?;
        // The newest is next to the prompt.
        processes.sort_by_key(|process| (process.times.started_at, process.id));
        let now = now_ms();
        context.print(&processes, |processes, out| {
            out.clipped_table(&table(processes, now))?;
            for process in processes {
                for shortfall in process.agent.iter().flat_map(|agent| &agent.shortfalls) {
                    out.line(&format!("{}: {}", process.name, Printable(shortfall)))?;
                }
                if let Some(unread) = process.live.unread_answers {
                    out.line(&format!("{}: {unread} (qd logs {})", process.name, process.name))?;
                }
            }
            Ok(())
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn table(processes: &[ProcessView], now: u64) -> Table {
    let mut table = Table::new(&[
        "NAME",
        "STATUS",
        "STATE/EXIT",
        "AGE",
        "KIND",
        "RESTARTS",
        "VIEWERS",
        "PID",
        "ID",
        "PRESET",
        "COMMAND",
    ])
    .dispensable(&["ID", "PID", "VIEWERS", "RESTARTS", "PRESET", "KIND"]);
    for process in processes {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (process.name.to_string(), Style::Bold),
            (process.status.to_string(), status_style(process.status)),
            plain(state_or_exit(process, now)),
            plain(span(now.saturating_sub(process.times.started_at) / 1000)),
            plain(process.kind.to_string()),
            plain(process.run.0.saturating_sub(1).to_string()),
            plain(process.terminal.viewers.to_string()),
            plain(process.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string())),
            (process.id.to_string(), Style::Dim),
            plain(process.program.preset.clone().unwrap_or_else(|| "-".to_owned())),
            plain(process.program.argv.join(" ")),
        ]);
    }
    table
}

fn status_style(status: Status) -> Style {
    match status {
        Status::Running => Style::Green,
        Status::Starting | Status::Stopping => Style::Yellow,
        Status::Exited => Style::Dim,
        Status::Failed | Status::Parked => Style::Red,
    }
}

fn state_or_exit(process: &ProcessView, now: u64) -> String {
    if let Some(failure) = &process.failure {
        return failure.clone();
    }
    let is_over = matches!(process.status, Status::Exited | Status::Failed | Status::Parked);
    match (process.exit.filter(|_| is_over), process.state) {
        (Some(exit), _) => super::wait::exit_words(&exit),
        (None, Some(state)) => agent_words(process, state, now),
        (None, None) => ready(process),
    }
}

/// Returns true if a process is ready; empty for those without a readiness check.
fn ready(process: &ProcessView) -> String {
    match process.ready {
        Some(true) => "ready",
        Some(false) => "not ready",
        None => "-",
    }
    .to_owned()
}

/// Returns an agent's state, its evidence, and how full its context is.
fn agent_words(process: &ProcessView, state: AgentState, now: u64) -> String {
    let Some(agent) = &process.agent else { return state.to_string() };
    let mut words = state.to_string();
    if let Some(opinion) = &agent.evidence {
        if !opinion.evidence.message.is_empty() {
            words.push_str(&format!(" \"{}\"", opinion.evidence.message));
        }
        let age = span(now.saturating_sub(agent.since) / 1000);
        words.push_str(&format!(" ({}, {age})", opinion.evidence.source));
    }
    if agent.background > 0 {
        words.push_str(&format!(" + {} in the background", agent.background));
    }
    if let Some(quota) = &agent.quota {
        let until = quota.reset_at.map(|at| format!(" for {}", span(at.saturating_sub(now) / 1000)));
        words.push_str(&format!(" quota{}", until.unwrap_or_default()));
    }
    if let Some(percent) = agent.context.as_ref().and_then(proto::agent::Context::percent) {
        words.push_str(&format!(" context {percent} %"));
    }
    if agent.mail > 0 {
        words.push_str(&format!(" {} queued", agent.mail));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn m15_a_row_says_who_runs_since_when_how_often_it_was_restarted_and_how_it_ended() {
        let process: ProcessView = serde_json::from_value(serde_json::json!({
            "id": "p_00000000", "name": "build", "kind": "command", "status": "exited", "pid": null, "run": 2,
            "state": null, "parent": null, "task": null, "workspace": "local", "owner": "user",
            "size": {"cols": 80, "rows": 24}, "viewers": 1, "exit": {"code": 3, "reason": "exited"},
            "log": {"start": 0, "end": 9}, "argv": ["sh", "-c", "exit 3"], "cwd": "/", "started_at": 1_000_000,
            "active_at": 0, "preset": "dev"
        }))
        .unwrap();
        assert_eq!(state_or_exit(&process, 0), "exit 3");
        let table = table(&[process], 1_065_000);
        let memory = Memory::default();
        memory.output().table(&table).unwrap();
        let expected = "NAME   STATUS  STATE/EXIT  AGE    KIND     RESTARTS  VIEWERS  PID  ID          PRESET  COMMAND\n\
                        build  exited  exit 3      1m05s  command  1         1        -    p_00000000  dev     sh -c exit 3\n";
        assert_eq!(memory.text(), expected);
    }

    #[test]
    fn a_process_that_tells_so_is_ready_or_not() {
        let state = |more: serde_json::Value| {
            let mut all = serde_json::json!({
                "id": "p_00000000", "name": "web", "kind": "command", "status": "running", "pid": 7, "run": 1,
                "state": null, "parent": null, "task": null, "workspace": "local", "owner": "user",
                "size": {"cols": 80, "rows": 24}, "viewers": 0, "log": {"start": 0, "end": 9},
                "argv": ["npm", "run", "dev"], "cwd": "/", "started_at": 0, "active_at": 0});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            state_or_exit(&serde_json::from_value(all).unwrap(), 0)
        };
        assert_eq!(state(serde_json::json!({"ready": false})), "not ready");
        assert_eq!(state(serde_json::json!({"ready": true})), "ready");
        assert_eq!(state(serde_json::json!({})), "-");
        let over =
            serde_json::json!({"status": "exited", "ready": true, "exit": {"code": 1, "reason": "exited"}});
        assert_eq!(state(over), "exit 1");
    }

    #[test]
    fn an_agent_row_says_why_its_state_is_believed() {
        let process: ProcessView = serde_json::from_value(serde_json::json!({
            "id": "p_00000000", "name": "fix", "kind": "agent", "status": "running", "pid": 7, "run": 1,
            "state": "blocked", "parent": null, "task": null, "workspace": "local", "owner": "user",
            "size": {"cols": 80, "rows": 24}, "viewers": 0, "log": {"start": 0, "end": 9}, "argv": ["x"], "cwd": "/",
            "started_at": 0, "active_at": 0,
            "agent": {"manifest": "x", "state": "blocked", "since": 1000, "turn": 1, "mail": 2,
                "evidence": {"source": "program_status", "rule": "blocked", "state": "blocked", "at": 1000,
                    "counts": true, "message": "approve Bash: rm -rf build"},
                "context": {"used": 34_000, "window": 100_000}}
        }))
        .unwrap();
        let words = "blocked \"approve Bash: rm -rf build\" (OSC 7501, 2s) context 34 % 2 queued";
        assert_eq!(state_or_exit(&process, 3000), words);
    }
}
