//! The verbs in groups, for `qd --help`: eighty in one list are more than a person reads.

use crate::args::FOR_ALL;

/// The groups in the order of the help, each with its verbs.
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Processes",
        &[
            "spawn", "exec", "up", "down", "ps", "prune", "attach", "viewers", "detach", "restart", "kill",
            "close", "rename", "resize", "select", "ports", "presets",
        ],
    ),
    (
        "What they print and get",
        &["send", "key", "paste", "read", "search", "wait", "logs", "events", "record", "see"],
    ),
    (
        "Agents",
        &[
            "tell",
            "messages",
            "cancel",
            "interrupt",
            "result",
            "inbox",
            "answer",
            "ask",
            "attention",
            "explain",
            "agents",
            "resume",
            "skills",
        ],
    ),
    (
        "Tasks",
        &[
            "new", "tasks", "run", "stop", "diff", "review", "forecast", "land", "drop", "restore", "gc",
            "projects", "pick", "import",
        ],
    ),
    ("Notes and timers", &["pads", "timers"]),
    ("Rights", &["trust", "grant", "grants", "revoke", "audit", "whoami", "access", "pair", "workspace"]),
    ("The daemon", &["status", "shutdown", "doctor", "reset", "config"]),
    ("Other faces", &["web", "mcp", "schema", "completions", "man", "help"]),
];

/// Gives the command line a help in which the verbs stand in groups.
pub(crate) fn with_groups(command: clap::Command) -> clap::Command {
    let width = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter()).map(|verb| verb.len()).max().unwrap_or(0);
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, verbs) in GROUPS {
        template.push_str(&format!("\n{title}:\n"));
        for verb in verbs {
            let about = match command.find_subcommand(verb).and_then(clap::Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this, or the help of a verb".to_owned(),
            };
            template.push_str(&format!("  {verb:width$}  {about}\n"));
        }
    }
    template.push_str(&format!("\n{FOR_ALL}:\n{{options}}"));
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn m15_every_verb_stands_in_one_group_of_the_help() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs: BTreeSet<&str> = shown.map(clap::Command::get_name).chain(["help"]).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), verbs);
        assert_eq!(grouped.len(), verbs.len(), "each once");
    }

    #[test]
    fn m15_the_help_has_the_verbs_in_groups_and_the_options_behind_them() {
        let mut command = with_groups(Cli::command());
        let help = command.render_help().to_string();
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text}: {help}"));
        assert!(at("Usage: qd") < at("\nProcesses:\n") && at("\n  spawn ") < at("\nAgents:\n"));
        assert!(at("\nAgents:\n") < at("\n  tell ") && at("\n  tell ") < at("\nTasks:\n"));
        assert!(at("\n  man ") < at("Options of every verb"));
        assert!(!help.contains("Commands:"), "{help}");
    }
}
