//! `qd complete`: the completion scripts of shells call it for each Tab.
//!
//! It knows verbs and flags from the grammar, and names of processes and presets from the daemon. It never
//! starts a daemon and never fails: a shell would draw the error into the command line.

use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::{Arg, Args, Command, CommandFactory};
use client::DaemonAddress;
use proto::request::Presets;

use crate::args::Cli;
use crate::context::{Context, dirs};
use crate::errors::CliError;

/// Print the possible completions of the last word
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The words after `qd`, the last one unfinished
    #[arg(last = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<String>,
}

/// The kinds of names that the daemon knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Processes,
    Presets,
    Tasks,
    DroppedTasks,
    Workspaces,
}

impl CompleteArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let found =
            candidates(&Cli::command(), &self.words, |named| names_from_daemon(named).unwrap_or_default());
        found.iter().try_for_each(|word| context.out.line(word))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the names from a daemon that is already running.
fn names_from_daemon(named: Named) -> Option<Vec<String>> {
    let mut connection = DaemonAddress::without_start(dirs().ok()?).connect().ok()?;
    Some(match named {
        Named::Processes => {
            connection.list().ok()?.into_iter().map(|process| process.name.to_string()).collect()
        }
        Named::Tasks => {
            super::tasks::list::list(&mut connection).ok()?.into_iter().map(|task| task.name).collect()
        }
        Named::DroppedTasks => {
            super::tasks::dropped::list(&mut connection).ok()?.into_iter().map(|task| task.name).collect()
        }
        Named::Workspaces => connection
            .workspaces()
            .ok()?
            .into_iter()
            .map(|names_from_daemon| names_from_daemon.name)
            .collect(),
        Named::Presets => {
            let here = std::env::current_dir().ok()?.into_os_string().into_string().ok()?;
            let list = connection.presets(Presets { project: Some(here), path: None }).ok()?;
            list.presets.into_iter().map(|preset| preset.name).collect()
        }
    })
}

/// Returns every completion of the last word.
fn candidates(
    root: &Command,
    words: &[String],
    names_from_daemon: impl Fn(Named) -> Vec<String>,
) -> Vec<String> {
    let Some((current, before)) = words.split_last() else { return Vec::new() };
    if before.iter().any(|word| word == "--") {
        // It belongs to the process: the shell completes files.
        return Vec::new();
    }
    let (mut command, mut depth, mut positions, mut flag) = (root, 0, 0, None);
    for word in before {
        let is_value = flag.take().is_some();
        if is_value {
            continue;
        }
        if word.starts_with('-') {
            flag = flag_of(root, command, word).filter(|flag| flag.get_action().takes_values());
        } else if let Some(verb) = command.find_subcommand(word) {
            (command, depth) = (verb, depth + 1);
        } else {
            positions += 1;
        }
    }
    let mut all = match flag {
        Some(flag) if flag.get_id() == "preset" => names_from_daemon(Named::Presets),
        Some(flag) if flag.get_id() == "task" => names_from_daemon(Named::Tasks),
        Some(flag) if flag.get_id() == "workspace" => names_from_daemon(Named::Workspaces),
        Some(flag) => flag.get_possible_values().iter().map(named).collect(),
        None if current.starts_with('-') => flags(root).chain(flags(command)).collect(),
        None => positional(command, depth, positions, &names_from_daemon),
    };
    all.retain(|word| word.starts_with(current.as_str()));
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns true if the name that a verb takes is that of a task.
fn is_about_tasks(command: &Command) -> bool {
    matches!(command.get_name(), "run" | "stop" | "diff" | "review" | "land" | "drop")
}

fn named(value: &PossibleValue) -> String {
    value.get_name().to_owned()
}

fn flags(command: &Command) -> impl Iterator<Item = String> {
    let shown = command.get_arguments().filter(|flag| !flag.is_hide_set());
    shown.filter_map(|flag| flag.get_long()).map(|flag| format!("--{flag}"))
}

fn flag_of<'a>(root: &'a Command, command: &'a Command, word: &str) -> Option<&'a Arg> {
    let is_it = |flag: &&Arg| match word.strip_prefix("--") {
        Some(long) => flag.get_long() == Some(long),
        None => flag.get_short().is_some_and(|short| word.strip_prefix('-') == Some(&short.to_string())),
    };
    command.get_arguments().chain(root.get_arguments()).find(is_it)
}

/// Returns the completions of a positional word: a verb, or the name of a process or preset.
fn positional(
    command: &Command,
    depth: usize,
    positions: usize,
    names_from_daemon: &impl Fn(Named) -> Vec<String>,
) -> Vec<String> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let mut all: Vec<String> = verbs.map(|verb| verb.get_name().to_owned()).collect();
    let argument = command.get_positionals().filter(|argument| !argument.is_last_set()).enumerate();
    let is_here = |(place, argument): &(usize, &Arg)| {
        let is_list = matches!(argument.get_action(), clap::ArgAction::Append);
        *place == positions || (*place < positions && is_list)
    };
    let Some((_, argument)) = argument.into_iter().find(is_here) else { return all };
    match argument.get_id().as_str() {
        "name" if depth >= 1 && is_about_tasks(command) => all.extend(names_from_daemon(Named::Tasks)),
        // A task that there is not yet.
        "name" if depth == 1 && command.get_name() == "new" => {}
        "name" if depth == 1 && command.get_name() == "restore" => {
            all.extend(names_from_daemon(Named::DroppedTasks))
        }
        "name" if depth == 1 && command.get_name() == "attach" => {
            all.extend(
                names_from_daemon(Named::Processes).into_iter().chain(names_from_daemon(Named::Tasks)),
            );
        }
        // In a verb with verbs of its own, a name is that of a scratchpad or the like.
        "name" | "names" | "target" if depth == 1 => all.extend(names_from_daemon(Named::Processes)),
        "presets" => all.extend(names_from_daemon(Named::Presets)),
        // `workspace new` takes a name that there is not yet.
        "workspace" if depth > 2 || command.get_name() != "new" => {
            all.extend(names_from_daemon(Named::Workspaces))
        }
        _ => all.extend(argument.get_possible_values().iter().map(named)),
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        candidates(&Cli::command(), &words, |named| {
            let names: &[&str] = match named {
                Named::Presets => &["dev"],
                Named::Tasks => &["fix", "feat/x"],
                Named::DroppedTasks => &["old-idea"],
                Named::Workspaces => &["local", "phone"],
                Named::Processes => &["build", "bash", "web"],
            };
            names.iter().map(|name| (*name).to_owned()).collect()
        })
    }

    #[test]
    fn m15_completions_know_verbs_flags_and_names() {
        assert_eq!(found("att"), ["attach", "attention"]);
        assert_eq!(found("attach b"), ["bash", "build"]);
        assert_eq!(found("attach build "), [""; 0], "it takes one name");
        assert_eq!(found("attach f"), ["feat/x", "fix"], "a task's name leads to its agent");
        assert_eq!(found("spawn --task f"), ["feat/x", "fix"]);
        assert_eq!(found("close build w"), ["web"]);
        assert_eq!(found("detach w"), ["web"]);
        assert_eq!(found("--json logs "), ["bash", "build", "web"]);
        assert_eq!(found("attach --read"), ["--read-only"]);
        assert_eq!(found("wait web --timeout "), [""; 0], "a time");
        assert_eq!(found("attach --size s"), ["smallest"]);
        assert_eq!(found("up "), ["dev"]);
        assert_eq!(found("spawn --preset d"), ["dev"]);
        assert_eq!(found("pads sh"), ["show"]);
        assert_eq!(found("pads show "), [""; 0], "a scratchpad is no process");
        assert_eq!(found("land f"), ["feat/x", "fix"]);
        assert_eq!(found("drop fi"), ["fix"]);
        assert_eq!(found("restore "), ["old-idea"], "only what was dropped");
        assert_eq!(found("new "), [""; 0], "a task that there is not yet");
        assert_eq!(found("run "), ["feat/x", "fix"]);
        assert_eq!(found("stop "), ["feat/x", "fix"]);
        assert_eq!(found("diff f"), ["feat/x", "fix"]);
        assert_eq!(found("review f"), ["feat/x", "fix"]);
        assert_eq!(found("new fix --workspace "), ["local", "phone"]);
        assert_eq!(found("workspace token new p"), ["phone"]);
        assert_eq!(found("workspace remove "), ["local", "phone"]);
        assert_eq!(found("workspace new "), [""; 0], "a name that there is not yet");
        assert_eq!(found("spawn -- b"), [""; 0], "what follows belongs to the process");
    }
}
