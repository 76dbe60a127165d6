//! `qd new`, `qd drop` and `qd restore`: a task from its beginning to its end, and back.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Args;
use proto::inherited_variables::{Variables, is_inheritable};
use proto::request::{AskAgents, CreateTask, DropTask, TaskAct, TaskTarget};
use proto::task::{TaskCreated, TaskOutcome, TaskView, name_from_prompt};
use proto::{ErrorCode, Failure, Printable, ShellWord};

use super::{dropped, operate, progress, run, target, unexpected};
use crate::commands::project::absolute;
use crate::commands::send::from_stdin;
use crate::context::{Context, own_path, settings};
use crate::errors::CliError;
use crate::output::Output;

/// Create a task
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Its name; with -w also the name of its branch [default: made from the prompt]
    #[arg(required_unless_present = "prompt")]
    name: Option<String>,

    /// Make a worktree and a branch for it
    #[arg(long, short)]
    worktree: bool,

    /// Where the branch starts: a commit, a local branch or a remote branch [default: the default branch]
    #[arg(long, short, value_name = "REF", requires = "worktree")]
    start: Option<String>,

    /// Fetch the start of the branch from the remote first; gives up after two minutes
    #[arg(long, requires = "worktree")]
    fetch: bool,

    /// With -w: a directory of the repository. Without -w: the directory of the task [default: this one]
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,

    /// The agent that works on it; `qd agents` lists them
    #[arg(long)]
    agent: Option<String>,

    /// The first message to the agent; - reads it from stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// The workspace it belongs to
    #[arg(long)]
    workspace: Option<String>,

    /// How many ports its processes get, as QD_PORT, QD_PORT_1 and so on
    #[arg(long, value_name = "N", default_value_t = 0)]
    ports: u16,

    /// Start its agent at once: the one of --agent, or else the one in config.toml
    #[arg(long)]
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
        let directory = absolute(self.directory, "--directory")?;
        if self.run && self.agent.is_none() && settings()?.tasks.agent.is_none() {
            return Err(CliError::usage("--run needs --agent NAME").hinted("qd agents lists them"));
        }
        if self.run {
            check_installed(context, self.agent.as_deref())?;
        }
        if self.fetch {
            fetch(context, &directory, self.start.as_deref())?;
        }
        let request = CreateTask {
            name,
            directory,
            worktree: self.worktree,
            start: self.start,
            agent: self.agent,
            prompt,
            workspace: self.workspace,
            ports: self.ports,
            base_env: Some(Variables::of(std::env::vars_os(), is_inheritable).text),
        };
        let shown = progress::begin(context, TaskTarget::Name(request.name.clone()), "making the task")?;
        let outcome = operate(context, TaskAct::Create(Box::new(request)));
        drop(shown);
        let outcome = outcome?;
        let TaskOutcome::Created(created) = outcome else { return Err(unexpected()) };
        if let Some(failure) = &created.failure {
            context.print(&*created, print_created)?;
            let words = format!("the worktree is there, but not prepared: {failure}");
            return Err(CliError::Own(
                Failure::new(ErrorCode::Partial, words).hint("correct it there, or qd drop it"),
            ));
        }
        if self.run {
            let spawned = run::start(context, &created.task, run::Start::default())
                .map_err(|error| not_started(&created.task, error))?;
            context.confirm(&spawned, crate::commands::spawn::print_spawned)?;
            return Ok(ExitCode::SUCCESS);
        }
        context.confirm(&*created, print_created)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Refuses an agent whose program is not there, before anything is made for it.
fn check_installed(context: &mut Context, agent: Option<&str>) -> Result<(), CliError> {
    let Some(agent) = agent.map(str::to_owned).or(settings()?.tasks.agent) else { return Ok(()) };
    let offers = context.connect()?.agents(AskAgents { path: own_path() })?;
    // An agent that is not listed may be known in the directory of the task alone.
    if offers.iter().all(|offer| offer.name != agent || offer.program.is_some()) {
        return Ok(());
    }
    let message = format!("agent {} is not installed, so no task was made", Printable(&agent));
    let hint = "qd agents lists those that are; without --run the task is made and no agent started";
    Err(CliError::Own(Failure::new(ErrorCode::SpawnFailed, message).hint(hint)))
}

/// Says what was made although its agent did not start, and how to go on or back.
fn not_started(task: &TaskView, error: CliError) -> CliError {
    let name = Printable(&task.name).to_string();
    let (made, branch) = (made(task), if task.worktree.is_some() { " --branch" } else { "" });
    let hint =
        format!("`qd run {name} --agent NAME` starts one; `qd drop {name}{branch}` removes what was made");
    error.about(&format!("{made} is there, but its agent did not start")).hinted(hint)
}

/// Fetches with this shell's keys, and shows git's progress on one line of the terminal.
fn fetch(context: &Context, directory: &str, start: Option<&str>) -> Result<(), CliError> {
    let mut to = std::io::stderr().lock();
    let is_shown = !context.quiet && std::io::stderr().is_terminal();
    let mut show = |line: &str| {
        if is_shown {
            // A terminal that is gone misses only the progress.
            drop(write!(to, "\r\x1b[K{}", Printable(line)).and_then(|()| to.flush()));
        }
    };
    let fetched = daemon::fetch(std::path::Path::new(directory), start, &mut show);
    if is_shown {
        drop(write!(to, "\r\x1b[K").and_then(|()| to.flush()));
    }
    fetched.map_err(CliError::Own)
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

/// A name of the first words of a prompt.
fn name_from(prompt: &str) -> Result<String, CliError> {
    name_from_prompt(prompt)
        .ok_or_else(|| CliError::usage("no name can be made from that prompt: qd new NAME"))
}

/// Remove a task. Its worktree is saved first; `qd restore` brings it back
#[derive(Debug, Args)]
pub(crate) struct DropArgs {
    /// Its name
    name: String,

    /// Remove its branch too
    #[arg(long, short)]
    branch: bool,

    /// Remove it even if work would be lost, and end the processes that work on it; its files are still saved
    #[arg(long)]
    force: bool,
}

impl DropArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let request = DropTask { target: target(Some(self.name))?, branch: self.branch, force: self.force };
        let outcome = operate(context, TaskAct::Drop(request))?;
        let TaskOutcome::Dropped(dropped) = outcome else { return Err(unexpected()) };
        context.confirm(&dropped, |dropped, out| {
            match &dropped.trash {
                Some(_) => {
                    out.line(&format!(
                        "dropped {}; qd restore {} brings it back for 14 days",
                        dropped.name,
                        ShellWord(&dropped.name)
                    ))?;
                }
                None => out.line(&format!("dropped {}; its directory was left alone", dropped.name))?,
            }
            let left = dropped.left.iter();
            left.map(|what| format!("warning: not deleted: {what}")).try_for_each(|line| out.line(&line))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Bring back a dropped task, with all its files
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Its name; `qd tasks --dropped` lists what can be brought back
    name: Option<String>,
}

impl RestoreArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Some(name) = self.name else {
            return Err(dropped::without_name(&dropped::list(&mut context.connect()?)?));
        };
        let outcome = operate(context, TaskAct::Restore(target(Some(name))?))?;
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
