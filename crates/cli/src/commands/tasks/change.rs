//! `qd new`, `qd drop` and `qd restore`: a task from its beginning to its end, and back.

use std::process::ExitCode;

use clap::Args;
use proto::environment::{Variables, is_inheritable};
use proto::request::{CreateTask, DropTask, TaskAct};
use proto::task::{TaskCreated, TaskOutcome, TaskView};
use proto::{ErrorCode, Failure};

use super::{ask, run, target, unexpected};
use crate::commands::project::absolute;
use crate::commands::send::from_stdin;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::Output;

/// Create a task
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Its name, and with -w that of its branch; otherwise one is made from the prompt
    #[arg(required_unless_present = "prompt")]
    name: Option<String>,

    /// Make a worktree and a branch for it
    #[arg(long, short)]
    worktree: bool,

    /// What the branch begins from: any commit, a local branch or a remote's; otherwise the default branch
    #[arg(long, short, value_name = "REF", requires = "worktree")]
    start: Option<String>,

    /// A directory of the repository, or without -w the directory of the task; otherwise this one
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,

    /// The agent that works on it; `qd agents` lists them
    #[arg(long)]
    agent: Option<String>,

    /// What the agent is asked first; - reads it from stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// The access scope it belongs to
    #[arg(long)]
    workspace: Option<String>,

    /// How many ports it is given, as QD_PORT, QD_PORT_1 and so on in its processes
    #[arg(long, value_name = "N", default_value_t = 0)]
    ports: u16,

    /// Start the agent at once
    #[arg(long, requires = "agent")]
    run: bool,
}

impl NewArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let prompt = match self.prompt.as_deref() {
            Some("-") => Some(from_stdin()?),
            other => other.map(str::to_owned),
        };
        let name = match self.name {
            Some(name) => name,
            None => name_from(prompt.as_deref().unwrap_or_default())?,
        };
        let request = CreateTask {
            name,
            directory: absolute(self.directory, "--directory")?,
            worktree: self.worktree,
            start: self.start,
            agent: self.agent,
            prompt,
            workspace: self.workspace,
            ports: self.ports,
            base_env: Some(Variables::of(std::env::vars_os(), is_inheritable).text),
        };
        let mut connection = context.connect()?;
        let outcome = ask(&mut connection, TaskAct::Create(Box::new(request)))?;
        let TaskOutcome::Created(created) = outcome else { return Err(unexpected()) };
        if let Some(failure) = &created.failure {
            context.print(&*created, print_created)?;
            let words = format!("the worktree is there, but not prepared: {failure}");
            return Err(CliError::Own(
                Failure::new(ErrorCode::Partial, words).hint("mend it there, or qd drop it"),
            ));
        }
        if self.run {
            let spawned = run::start(&mut connection, &created.task, run::Start::default())?;
            context.confirm(&spawned, crate::commands::spawn::print_spawned)?;
            return Ok(ExitCode::SUCCESS);
        }
        context.confirm(&*created, print_created)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print_created(created: &TaskCreated, out: &mut Output) -> Result<(), CliError> {
    out.line(&made(&created.task))?;
    created.skipped.iter().try_for_each(|skipped| out.line(&format!("not copied: {skipped}")))
}

fn made(task: &TaskView) -> String {
    match &task.worktree {
        Some(tree) => format!("task {} on branch {} in {}", task.name, tree.branch, task.directory),
        None => format!("task {} in {}", task.name, task.directory),
    }
}

/// A name of the first words of a prompt: letters and digits, joined by dashes.
fn name_from(prompt: &str) -> Result<String, CliError> {
    let words = prompt.split(|character: char| !character.is_ascii_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    let mut name = String::new();
    for word in words.iter().take(5) {
        if name.len() + word.len() > 32 && !name.is_empty() {
            break;
        }
        name.push_str(if name.is_empty() { "" } else { "-" });
        name.extend(word.chars().take(32));
    }
    if name.is_empty() {
        return Err(CliError::usage("no name can be made from that prompt: qd new NAME"));
    }
    Ok(name)
}

/// Remove a task; a worktree is saved first, and `qd restore` brings it back
#[derive(Debug, Args)]
pub(crate) struct DropArgs {
    /// Its name
    name: String,

    /// Remove its branch too
    #[arg(long, short)]
    branch: bool,

    /// Go on although work would be lost, and end what works on it; the files are saved all the same
    #[arg(long)]
    force: bool,
}

impl DropArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let request = DropTask { target: target(Some(self.name))?, branch: self.branch, force: self.force };
        let outcome = ask(&mut context.connect()?, TaskAct::Drop(request))?;
        let TaskOutcome::Dropped(dropped) = outcome else { return Err(unexpected()) };
        context.confirm(&dropped, |dropped, out| match &dropped.trash {
            Some(_) => {
                out.line(&format!("dropped {0}; qd restore {0} brings it back for 14 days", dropped.name))
            }
            None => out.line(&format!("dropped {}; its directory was left alone", dropped.name)),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Bring a dropped task back with every byte
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Its name
    name: String,
}

impl RestoreArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let outcome = ask(&mut context.connect()?, TaskAct::Restore(target(Some(self.name))?))?;
        let TaskOutcome::Task(task) = outcome else { return Err(unexpected()) };
        context.confirm(&*task, |task, out| out.line(&made(task)))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k7_a_name_is_made_from_the_first_words_of_a_prompt() {
        assert_eq!(name_from("5 tries per minute on /login, please").unwrap(), "5-tries-per-minute-on");
        assert_eq!(name_from("--Fix: `rm -rf $HOME`!").unwrap(), "fix-rm-rf-home");
        assert_eq!(name_from(&"a".repeat(99)).unwrap().len(), 32);
        assert!(name_from("…?").is_err());
    }
}
