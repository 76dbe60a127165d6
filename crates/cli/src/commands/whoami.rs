//! `qd whoami`: prints how the daemon identifies this command, and what it may do.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::rights::{BudgetUse, Identity};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::span;

/// Show how the daemon identifies you, and what you may do
#[derive(Debug, Args)]
pub(crate) struct WhoamiArgs {}

impl WhoamiArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let identity = context.connect()?.who_am_i()?;
        context
            .print(&identity, |identity, out| words(identity).iter().try_for_each(|line| out.text(line)))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn words(identity: &Identity) -> Vec<String> {
    let mut lines = vec![match &identity.process {
        Some(process) => {
            let parent = process.parent.as_ref().map(|parent| format!(", child of {parent}"));
            format!(
                "{} ({}), {}, run {}{}",
                process.name,
                process.id,
                process.kind,
                process.run,
                parent.unwrap_or_default()
            )
        }
        None => match &identity.via {
            Some(via) => format!("{}, via {via}: this terminal acts for you", identity.caller),
            None => identity.caller.clone(),
        },
    }];
    lines.extend(identity.label.iter().map(|label| format!("remote: {}", Printable(label))));
    if !identity.limit.is_none() {
        lines.push(format!("limit: {}", identity.limit));
    }
    if !identity.project.path.is_empty() {
        lines.push(format!("project {} ({})", identity.project.path, identity.project.key));
    }
    lines.extend(
        identity.nonce.iter().map(|nonce| format!("nonce {nonce}: messages from Quarterdeck carry it")),
    );
    lines.extend(identity.budget.iter().map(|used| format!("budget: {}", budget(used))));
    lines.extend(identity.grants.iter().map(|view| format!("grant {}: {view}", view.grant.grant)));
    lines
}

fn budget(used: &BudgetUse) -> String {
    let of = |what: &str, used: u32, limit: Option<u32>| match limit {
        Some(limit) => format!("{what} {used} of {limit}"),
        None => format!("{what} {used}"),
    };
    let time = span(used.wall_ms / 1000);
    let limits = used.limits;
    let mut parts = vec![
        of("spawns", used.spawns, limits.spawns),
        of("live", used.live, limits.live),
        of("depth", used.depth, limits.depth),
    ];
    parts.extend(limits.wall_ms.map(|limit| format!("time {time} of {}", span(limit / 1000))));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_a_person() {
        let identity: Identity = serde_json::from_value(serde_json::json!({"caller": "human"})).unwrap();
        assert_eq!(words(&identity), ["human"]);
    }

    #[test]
    fn n5_a_remote_person_reads_the_label_and_the_limit() {
        let limit = serde_json::json!({"workspace": "local", "role": "view"});
        let identity = serde_json::json!({"caller": "human", "label": "Ana's phone", "limit": limit});
        let identity: Identity = serde_json::from_value(identity).unwrap();
        assert_eq!(words(&identity), ["human", "remote: Ana's phone", "limit: view in local"]);
    }

    #[test]
    fn a_process_hears_its_project_its_nonce_its_budget_and_its_grants() {
        let identity: Identity = serde_json::from_value(serde_json::json!({
            "caller": "p_00000000", "nonce": "n1", "project": {"key": "ab", "path": "/p"},
            "process": {"id": "p_00000000", "name": "lead", "kind": "agent", "status": "running", "pid": 7, "run": 2,
                "state": "idle", "parent": "p_11111111", "task": null, "workspace": "local", "owner": "user",
                "size": {"cols": 80, "rows": 24}, "viewers": 0, "log": {"start": 0, "end": 0}, "argv": ["x"],
                "cwd": "/p", "started_at": 0, "active_at": 0},
            "budget": {"limits": {"spawns": 200, "live": 32, "depth": 4, "wall_ms": 3_600_000}, "spawns": 3, "live": 1,
                "depth": 2, "wall_ms": 65_000},
            "grants": [{"grant": 2, "to": "p_00000000", "to_name": "lead", "right": "read", "over": "p_22222222",
                "over_name": "web", "at": 0}]
        }))
        .unwrap();
        assert_eq!(
            words(&identity),
            [
                "lead (p_00000000), agent, run 2, child of p_11111111",
                "project /p (ab)",
                "nonce n1: messages from Quarterdeck carry it",
                "budget: spawns 3 of 200, live 1 of 32, depth 2 of 4, time 1m05s of 1h00m",
                "grant 2: lead may read web",
            ]
        );
    }
}
