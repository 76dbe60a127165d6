//! `qd run` and `qd stop`: the agent of a task.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Args;
use proto::reply::Spawned;
use proto::request::{Close, Spawn, Target, TaskAct};
use proto::task::{TaskOutcome, TaskView, process_name};
use proto::{Kind, Printable, ShellWord, Stop};
use serde_json::json;

use super::sessions::{self, Choice, can_ask, named, sessions};
use super::{operate, show, target, unexpected};
use crate::commands::attach;
use crate::commands::send::from_stdin;
use crate::commands::spawn::{SpawnArgs, print_spawned};
use crate::context::{Context, settings};
use crate::errors::CliError;

/// Start a task's agent in its last session; if it runs already, attach to it
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The task [default: the task of this directory]
    name: Option<String>,

    /// The agent [default: the task's own, or else the one in config.toml]
    #[arg(long)]
    agent: Option<String>,

    /// Begin a new session
    #[arg(long, conflicts_with = "resume")]
    new_session: bool,

    /// Continue this session; the beginning of its id is enough. Without an ID you choose from a list
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,

    /// The first message to the agent; - reads it from stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Do not attach to it
    #[arg(long)]
    detach: bool,

    /// Run this command in the task instead of an agent
    #[arg(last = true, value_name = "ARGV")]
    argv: Vec<String>,
}

/// How a task's agent is started.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) new_session: bool,
    pub(super) prompt: Option<String>,
    pub(super) argv: Vec<String>,
}

impl RunArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let shown = operate(context, TaskAct::Show(target(self.name)?))?;
        let TaskOutcome::Task(task) = shown else { return Err(unexpected()) };
        let attaches = !self.detach && !context.json && std::io::stdout().is_terminal();
        let running =
            task.processes.iter().find(|process| process.kind == Kind::Agent && process.status.is_live());
        if let Some(running) = running.filter(|_| self.argv.is_empty()) {
            let target = Target(running.id.to_string());
            if attaches {
                return attach::attach_to(context, target);
            }
            let words = format!("{} works on {} already", running.name, task.name);
            return Err(CliError::usage(words).hinted(format!("qd attach {}", running.name)));
        }
        let prompt = match self.prompt.as_deref() {
            Some("-") => Some(from_stdin()?),
            other => other.map(str::to_owned),
        };
        let (session, new_session) = match self.new_session || !self.argv.is_empty() {
            true => (None, self.new_session),
            false => choose_session(&task, self.resume, attaches)?,
        };
        let start = Start { agent: self.agent, session, new_session, prompt, argv: self.argv };
        let spawned = start_in(context, &task, start)?;
        if attaches {
            return attach::attach_to(context, Target(spawned.id.to_string()));
        }
        context.confirm(&spawned, print_spawned)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Which session goes on, and whether a new one begins instead. A person at a terminal is asked if there are
/// several; otherwise the newest goes on.
fn choose_session(
    task: &TaskView,
    resume: Option<String>,
    is_interactive: bool,
) -> Result<(Option<String>, bool), CliError> {
    let all = sessions(task);
    let asks = match &resume {
        Some(id) if !id.is_empty() => return Ok((Some(named(&all, id)?), false)),
        Some(_) if all.is_empty() || !can_ask() => {
            return Err(CliError::usage("name the session: --resume ID").hinted("qd tasks --json lists them"));
        }
        Some(_) => true,
        None => is_interactive && all.len() > 1 && can_ask(),
    };
    if !asks {
        return Ok((None, false));
    }
    Ok(match sessions::ask(&all)? {
        Choice::Continue(session) => (Some(session), false),
        Choice::New => (None, true),
    })
}

/// Starts a new task's agent with the task's own prompt.
pub(super) fn start(context: &mut Context, task: &TaskView, start: Start) -> Result<Spawned, CliError> {
    start_in(context, task, Start { prompt: task.prompt.clone(), ..start })
}

fn start_in(context: &mut Context, task: &TaskView, start: Start) -> Result<Spawned, CliError> {
    let is_command = !start.argv.is_empty();
    let kind = if is_command { Kind::Command } else { Kind::Agent };
    let agent = match start.agent.or_else(|| task.agent.clone()) {
        Some(agent) => Some(agent),
        None => settings()?.tasks.agent,
    };
    let argv = match (is_command, agent) {
        (true, _) => start.argv,
        (false, Some(agent)) => vec![agent],
        (false, None) => {
            let (shown, word) = (Printable(&task.name), ShellWord(&task.name));
            let words = format!("task {shown} has no agent: qd run {word} --agent NAME");
            return Err(CliError::usage(words).hinted("qd agents lists them"));
        }
    };
    let kept = task.runs.iter().rev().find_map(|run| run.session.clone());
    let session = start.session.or(kept.filter(|_| !start.new_session && !is_command));
    let mut request: Spawn = SpawnArgs::of_kind(kind).request(std::env::vars_os().collect())?;
    request.name = free_name(context, &task.name)?;
    request.argv = argv;
    request.cwd = Some(task.directory.clone());
    request.task = Some(task.name.clone());
    request.agent.session = session;
    request.agent.prompt = start.prompt;
    Ok(client::reconnecting::spawn(context.address()?, request)?)
}

/// The task's name as that of a process, if it is one and nothing has it.
fn free_name(context: &mut Context, task: &str) -> Result<Option<String>, CliError> {
    let Some(name) = process_name(task) else { return Ok(None) };
    let is_taken = client::reconnecting::list(context.address()?)?.iter().any(|process| process.name == name);
    Ok((!is_taken).then(|| name.to_string()))
}

/// End everything that works on a task; the task stays
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The task [default: the task of this directory]
    name: Option<String>,
}

impl StopArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let task = show(&mut connection, self.name)?;
        let mut stopped = Vec::new();
        for process in &task.processes {
            let target = Target(process.id.to_string());
            connection.close(Close { target, keep_background: false, stop: Stop::default() })?;
            stopped.push(process.name.to_string());
        }
        let told = json!({ "name": task.name, "stopped": stopped });
        context.confirm(&told, |_, out| match stopped.is_empty() {
            true => out.line(&format!("nothing works on {}", task.name)),
            false => out.line(&format!("stopped {}", stopped.join(", "))),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
