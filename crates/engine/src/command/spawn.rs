//! `spawn`: a new entry and its first run.

use std::collections::BTreeMap;

use proto::crew::Project;
use proto::request::{SizePolicy, Spawn};
use proto::{ErrorCode, Failure, Kind, Name, Owner, Printable, ProcessId, RunNumber, Size, Status};

use super::Verdict;
use super::resume::check_session;
use super::tell::check_text;
use crate::Engine;
use crate::agent::AgentRecord;
use crate::environment;
use crate::input::{Caller, SpawnOrder, Ticket};
use crate::process::Process;
use crate::record::ProcessRecord;
use crate::registry::denied;
use crate::rights::{Relation, Verb, may};
use crate::tasks::TaskPlace;

/// The access scope of everything that names none.
const LOCAL: &str = "local";
/// Longest argv in bytes: well below the kernel's limit for argv and environment together.
const MAX_ARGV: usize = 1 << 20;
/// Longest idle timeout: a year.
const MAX_IDLE_MS: u64 = 365 * 24 * 3600 * 1000;

impl Engine {
    pub(super) fn spawn(&mut self, caller: Caller, ticket: Ticket, order: SpawnOrder) -> Verdict {
        let SpawnOrder { spawn, project, warrant: _ } = order;
        let prompt = spawn.agent.prompt.clone();
        let process = self.check_spawn(caller, spawn, project)?;
        let id = process.id;
        self.processes.insert(id, process);
        if let Some(process) = self.processes.get_mut(&id) {
            process.starters.push(ticket);
        }
        self.start_run(id);
        self.touch(id);
        if let Some(prompt) = prompt {
            let from = parent_of(caller);
            self.post(from, id, prompt, None, None)?;
        }
        Ok(None)
    }

    /// The entry that a spawn describes, if it may be made.
    fn check_spawn(&mut self, caller: Caller, spawn: Spawn, project: Project) -> Result<Process, Failure> {
        self.check_room(caller)?;
        let name = self.check_name(spawn.name.as_deref(), spawn.kind)?;
        let task = self.check_task(&spawn)?;
        let argv = self.check_argv(&spawn)?;
        environment::check_declared(&spawn.env)?;
        let agent = check_agent(caller, &spawn)?;
        let cwd = self.check_cwd(spawn.cwd.as_deref(), task.as_ref())?;
        if spawn.auto_restart && spawn.kind != Kind::Command {
            return Err(Failure::invalid("auto_restart", "only commands are restarted by themselves"));
        }
        if spawn.idle_timeout_ms.is_some_and(|timeout| timeout == 0 || timeout > MAX_IDLE_MS) {
            return Err(Failure::invalid("idle_timeout_ms", "between 1 ms and a year"));
        }
        let mut env = environment::base(spawn.kind, caller, spawn.base_env, &self.config.base_env);
        env.extend(spawn.env);
        let workspace = spawn.workspace.or_else(|| task.as_ref().map(|task| task.workspace.clone()));
        let mut process = Process::from_record(ProcessRecord {
            id: self.fresh_id(),
            name,
            kind: spawn.kind,
            parent: parent_of(caller),
            task: spawn.task,
            workspace: workspace.unwrap_or_else(|| LOCAL.to_owned()),
            owner: if caller == Caller::Human { Owner::User } else { Owner::Orchestrator },
            argv,
            cwd,
            env: BTreeMap::new(),
            size: spawn.size.or(Size::DEFAULT),
            policy: SizePolicy::Owner,
            status: Status::Starting,
            run: RunNumber(1),
            run_token: String::new(),
            has_holder: false,
            pid: None,
            exit: None,
            failure: None,
            started_at: 0,
            auto_restart: spawn.auto_restart,
            idle_timeout_ms: spawn.idle_timeout_ms,
            agent,
            project,
            preset: spawn.preset,
            key: spawn.key,
            restore: spawn.restore,
            ready: spawn.ready,
            is_ready: false,
            budget: spawn.budget,
            spawned: 0,
            leave: None,
        });
        if let Some(agent) = process.agent.as_deref_mut() {
            agent.resume_next = spawn.agent.session;
        }
        process.departs_at = None;
        process.env = env;
        process.session = task.and_then(|task| task.session);
        Ok(process)
    }

    fn check_room(&self, caller: Caller) -> Result<(), Failure> {
        if !may(caller, Verb::Spawn, Relation::None) {
            return Err(denied(caller, "spawn"));
        }
        if self.shutdown.is_some() {
            return Err(Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down"));
        }
        let max = self.config.max_processes;
        if self.processes.len() >= max {
            let message = format!("there are {max} processes already, the most there may be");
            return Err(Failure::new(ErrorCode::Limit, message).hint("close some: qd close NAME"));
        }
        let Caller::Process(run) = caller else { return Ok(()) };
        let parent = self.processes.get(&run.process).filter(|process| process.run == run.run);
        let Some(parent) = parent.filter(|parent| parent.is_live() && parent.ending.is_none()) else {
            return Err(denied(caller, "the process that asks is over"));
        };
        if self.depth(parent.id) >= self.config.max_depth {
            let message = format!("processes may be nested {} deep at most", self.config.max_depth);
            return Err(Failure::new(ErrorCode::Limit, message));
        }
        Ok(())
    }

    fn check_name(&self, name: Option<&str>, kind: Kind) -> Result<Name, Failure> {
        let Some(name) = name else { return Ok(self.default_name(kind)) };
        let name = name.parse::<Name>().map_err(|why| Failure::invalid("name", why))?;
        if self.is_taken(&name) {
            let message = format!("there is a process named {name} already");
            return Err(
                Failure::new(ErrorCode::Conflict, message).hint("choose another --name, or close that one")
            );
        }
        Ok(name)
    }

    /// The task a spawn is for: it must exist, in the workspace that was named.
    fn check_task(&self, spawn: &Spawn) -> Result<Option<TaskPlace>, Failure> {
        let Some(task) = &spawn.task else { return Ok(None) };
        let missing = || Failure::new(ErrorCode::TaskNotFound, format!("no task \"{}\"", Printable(task)));
        let place = self.tasks.find(task).ok_or_else(missing)?;
        match &spawn.workspace {
            Some(workspace) if *workspace != place.workspace => {
                let message =
                    format!("task \"{}\" is not in workspace \"{}\"", Printable(task), Printable(workspace));
                Err(Failure::new(ErrorCode::WorkspaceMismatch, message))
            }
            _ => Ok(Some(place)),
        }
    }

    fn check_argv(&self, spawn: &Spawn) -> Result<Vec<String>, Failure> {
        let program = spawn.argv.first().map(String::as_str);
        match (program, spawn.kind) {
            (None, Kind::Terminal) => return Ok(vec![self.config.shell.clone()]),
            (None | Some(""), _) => {
                return Err(Failure::invalid("argv", "it names no program").hint("qd spawn -- PROGRAM ARGS"));
            }
            _ => {}
        }
        if spawn.argv.iter().any(|word| word.contains('\0')) {
            return Err(Failure::invalid("argv", "a word may not contain a NUL"));
        }
        if spawn.argv.iter().map(|word| word.len() + 1).sum::<usize>() > MAX_ARGV {
            return Err(Failure::invalid("argv", format!("it has more than {MAX_ARGV} bytes")));
        }
        Ok(spawn.argv.clone())
    }

    fn check_cwd(&self, cwd: Option<&str>, task: Option<&TaskPlace>) -> Result<String, Failure> {
        let cwd = cwd.or(task.map(|task| task.directory.as_str())).unwrap_or(&self.config.home);
        if !cwd.starts_with('/') || cwd.contains('\0') {
            return Err(Failure::invalid("cwd", "a directory is an absolute path"));
        }
        Ok(cwd.to_owned())
    }

    fn fresh_id(&mut self) -> ProcessId {
        loop {
            let id = ProcessId::from_entropy(self.random());
            if !self.processes.contains_key(&id) {
                return id;
            }
        }
    }
}

/// What an agent is started with; nobody else may ask for it.
fn check_agent(caller: Caller, spawn: &Spawn) -> Result<Option<AgentRecord>, Failure> {
    let wish = &spawn.agent;
    if spawn.kind != Kind::Agent {
        let is_plain = wish.prompt.is_none() && wish.session.is_none() && wish.permissions.is_none();
        return if is_plain { Ok(None) } else { Err(Failure::invalid("agent", "only agents take these")) };
    }
    let manifest = spawn.argv.first().map_or("", String::as_str);
    if let Err(why) = manifest.parse::<Name>() {
        return Err(Failure::invalid("argv", format!("its first word names an agent: {why}"))
            .hint("qd agents lists them"));
    }
    if let Some(prompt) = &wish.prompt {
        check_text("prompt", caller, prompt)?;
    }
    if let Some(session) = &wish.session {
        check_session(session)?;
    }
    if wish.permissions.is_some_and(|desk| desk.timeout_ms == 0 || desk.timeout_ms > MAX_IDLE_MS) {
        return Err(Failure::invalid("permissions.timeout_ms", "between 1 ms and a year"));
    }
    Ok(Some(AgentRecord { permissions: wish.permissions, ..AgentRecord::default() }))
}

fn parent_of(caller: Caller) -> Option<ProcessId> {
    match caller {
        Caller::Process(run) => Some(run.process),
        Caller::Human | Caller::Nobody => None,
    }
}
