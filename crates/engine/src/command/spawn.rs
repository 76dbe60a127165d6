//! `spawn`: a new entry and its first run.
//!
//! A spawn must pass, in this order: the key, room, its own words, the budgets above it, trust. Trust comes last, so that a
//! person is not asked about what could not be started anyway.

use proto::verb;
use std::collections::BTreeMap;

use proto::request::{AgentRequest, PermissionMode, SizePolicy, Spawn};
use proto::{
    ErrorCode, Failure, Kind, Limit, Name, Owner, Printable, ProcessId, Reply, Role, RunNumber, Size, Status,
};

use super::process_name::check_name;
use super::resume::check_session;
use super::tell::check_text;
use super::{Asker, CommandResult, Decide, Needs};
use crate::Config;
use crate::Engine;
use crate::agent::{Agent, AgentRecord};
use crate::audit::spawn_words;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::{Caller, SpawnOrder, Ticket};
use crate::mail::NewMessage;
use crate::process::Processes;
use crate::process::environment;
use crate::process::{Environment, Process, Spec, Then};
use crate::rights::Verb;
use crate::rights::registry::denied;
use crate::tasks::{TaskDecision, TaskPlace};
use crate::waits::readiness::check_ready;
use crate::workspaces::LOCAL_WORKSPACE;

/// Longest argv in bytes: well below the kernel's limit for argv and environment together.
const MAX_ARGV: usize = 1 << 20;
/// Longest key, in bytes.
const MAX_KEY: usize = 200;
/// Longest name of a model, in bytes.
const MAX_MODEL: usize = 200;
/// Longest idle timeout: a year.
const MAX_IDLE_MS: u64 = 365 * 24 * 3600 * 1000;

impl Decide for verb::Spawn {
    type Order = SpawnOrder;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::AtAll(Verb::Spawn);

    fn detail(_: &Engine, order: &SpawnOrder) -> String {
        spawn_words(order)
    }

    fn decide(engine: &mut Engine, asker: Asker, order: SpawnOrder) -> CommandResult {
        let Asker { caller, ticket, .. } = asker;
        check_scope(engine, &order.spawn)?;
        if let Some(known) = check_key(&engine.ctx, caller, order.spawn.key.as_deref())? {
            return Ok(answer_known(&mut engine.ctx, known, ticket));
        }
        check_room(&engine.ctx, caller)?;
        let mut process = check_spawn(engine, caller, &order)?;
        if let Caller::Process(run) = caller {
            engine.ctx.processes.check_budget(run.process, &engine.ctx.config, &engine.ctx.out)?;
        }
        process.launch.approval =
            engine.trust.check_trust(caller, &order, &mut engine.inbox, &mut engine.ctx)?;
        process.launch.starter = Some(caller);
        process.launch.tickets.push(ticket);
        let id = process.id;
        engine.ctx.processes.insert(id, process);
        if let Caller::Process(run) = caller {
            engine.ctx.processes.spend_spawn(run.process, &mut engine.ctx.out);
        }
        engine.ctx.out.audit_deed(Some(caller), "spawn", id.to_string(), spawn_words(&order));
        engine.start_run(id, RunNumber(1));
        engine.ctx.out.mark_durable(id);
        if let Some(prompt) = order.spawn.agent.prompt {
            let from = parent_of(caller);
            let message = NewMessage { from, to: id, text: prompt, key: None, expires_ms: None };
            engine.mail.queue.post(message, &mut engine.ctx)?;
            engine.route_signals();
        }
        Ok(None)
    }
}

/// What a new process starts from, and what of it is not text. A person brings an environment along; a process
/// passes on the allow-listed part of its own.
fn base_env(
    processes: &Processes,
    caller: Caller,
    spawn: &Spawn,
    config: &Config,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    match (parent_of(caller), &spawn.base_env) {
        (None, Some(offered)) => (environment::persons(offered), spawn.base_env_hex.clone()),
        (parent, _) => {
            let parent = parent.and_then(|parent| processes.get(&parent));
            let own = parent.map(|parent| &parent.spec.environment.env).filter(|env| !env.is_empty());
            (environment::allowed(own.unwrap_or(&config.base_env)), BTreeMap::new())
        }
    }
}

/// The shell of the caller.
fn shell_of(processes: &Processes, caller: Caller, spawn: &Spawn, config: &Config) -> String {
    let (base, _) = base_env(processes, caller, spawn, config);
    base.get("SHELL").filter(|shell| shell.starts_with('/')).unwrap_or(&config.shell).clone()
}

/// A process gives its children no more freedom than it was started with: every process may use `ask`.
fn check_mode(processes: &Processes, caller: Caller, mode: Option<PermissionMode>) -> Result<(), Failure> {
    let (Caller::Process(run), Some(mode)) = (caller, mode) else { return Ok(()) };
    let own = processes.agent(run.process).and_then(|agent| agent.record.mode);
    let most = own.unwrap_or(PermissionMode::Ask).max(PermissionMode::Ask);
    if mode <= most {
        return Ok(());
    }
    let message = format!("mode: only people may start agents that ask less often than {}", most.word());
    Err(Failure::new(ErrorCode::Denied, message).hint("leave mode out, or ask a person to start it"))
}

/// The entry that the same caller made with the same key, as long as there is one.
fn check_key(ctx: &Context, caller: Caller, key: Option<&str>) -> Result<Option<ProcessId>, Failure> {
    let Some(key) = key else { return Ok(None) };
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(Failure::invalid("key", format!("between 1 and {MAX_KEY} bytes")));
    }
    let parent = parent_of(caller);
    let is_same = |process: &&Process| {
        process.spec.parent == parent
            && process.spec.key.as_deref() == Some(key)
            && !process.is_departed()
            && ctx.covers(process.id)
    };
    let Some(known) = ctx.processes.values().find(is_same) else { return Ok(None) };
    if known.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Remove) {
        let message = format!("{}, which was made with that key, is being closed", known.name);
        return Err(Failure::new(ErrorCode::Busy, message).hint("try again when it is gone"));
    }
    Ok(Some(known.id))
}

/// Answers with the process that was made with the same key, once it has started.
fn answer_known(ctx: &mut Context, id: ProcessId, ticket: Ticket) -> Option<CommandAnswer> {
    let process = ctx.processes.get_mut(&id)?;
    if process.run.status == Status::Starting {
        process.launch.tickets.push(ticket);
        return None;
    }
    Some(CommandAnswer::Reply(Reply::Spawned(process.spawned())))
}

fn check_room(ctx: &Context, caller: Caller) -> Result<(), Failure> {
    if ctx.shutdown.is_some() {
        return Err(Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down"));
    }
    let max = ctx.config.max_processes;
    if ctx.processes.len() >= max {
        let message = format!("there are {max} processes already, which is the limit");
        return Err(Failure::new(ErrorCode::Limit, message).hint("close some: qd close NAME"));
    }
    let Caller::Process(run) = caller else { return Ok(()) };
    let parent = ctx.processes.get(&run.process);
    if parent.is_none_or(|parent| parent.run.ending.is_some()) {
        let message = "the calling process is being ended and cannot start others";
        return Err(Failure::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// The access scope of a new entry. What a process starts stays in its own: otherwise it would see another one's
/// list through its child.
fn check_workspace(
    ctx: &Context,
    caller: Caller,
    spawn: &Spawn,
    task: Option<&TaskPlace>,
) -> Result<String, Failure> {
    let asked = spawn.workspace.as_deref().or(task.map(|task| task.workspace.as_str()));
    let parent = parent_of(caller).and_then(|parent| ctx.processes.get(&parent));
    let limit = &ctx.out.scope.limit;
    let own = parent.map(|parent| &parent.spec.workspace).or(limit.workspace.as_ref()).map(String::as_str);
    match (asked, own) {
        (Some(asked), Some(own)) if asked != own => {
            let message =
                format!("the calling process belongs to another workspace than \"{}\"", Printable(asked));
            Err(Failure::new(ErrorCode::WorkspaceMismatch, message))
        }
        (asked, own) => {
            let workspace = asked.or(own).unwrap_or(LOCAL_WORKSPACE);
            if limit.covers(workspace) { Ok(workspace.to_owned()) } else { Err(beyond_limit(limit)) }
        }
    }
}

fn check_argv(ctx: &Context, caller: Caller, spawn: &Spawn) -> Result<Vec<String>, Failure> {
    let program = spawn.argv.first().map(String::as_str);
    match (program, spawn.kind) {
        (None, Kind::Terminal) => {
            return Ok(vec![shell_of(&ctx.processes, caller, spawn, &ctx.config)]);
        }
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

fn check_cwd(ctx: &Context, cwd: Option<&str>, task: Option<&TaskPlace>) -> Result<String, Failure> {
    let cwd = cwd.or(task.map(|task| task.directory.as_str())).unwrap_or(&ctx.config.home);
    if !cwd.starts_with('/') || cwd.contains('\0') {
        return Err(Failure::invalid("cwd", "a directory is an absolute path"));
    }
    Ok(cwd.to_owned())
}

/// The entry that a spawn describes, if its words are in order.
fn check_spawn(engine: &mut Engine, caller: Caller, order: &SpawnOrder) -> Result<Process, Failure> {
    let spawn = order.spawn.clone();
    let name = check_name(&engine.ctx, order)?;
    let task = check_task(engine, caller, &spawn)?;
    let argv = check_argv(&engine.ctx, caller, &spawn)?;
    environment::check_declared(&spawn.env)?;
    environment::check_offered(spawn.base_env.as_ref(), &spawn.base_env_hex)?;
    let agent = check_agent(caller, &spawn)?;
    check_mode(&engine.ctx.processes, caller, spawn.agent.mode)?;
    check_ready(spawn.ready.as_ref())?;
    check_wishes(caller, &spawn, &engine.ctx.out.scope.limit)?;
    let cwd = check_cwd(&engine.ctx, spawn.cwd.as_deref(), task.as_ref())?;
    let workspace = check_workspace(&engine.ctx, caller, &spawn, task.as_ref())?;
    engine.workspaces.check_known(&workspace)?;
    let acts_for_person = acts_for_person(caller, &spawn, &engine.ctx.out.scope.limit);
    let (base, env_hex) = base_env(&engine.ctx.processes, caller, &spawn, &engine.ctx.config);
    let declared = spawn.env.keys().cloned().collect();
    let mut env = environment::with_declared(base, spawn.env);
    environment::set_ports(&mut env, task.as_ref().map_or(&[], |task| &task.ports));
    let environment =
        Environment { env, env_hex, declared, session: task.and_then(|task| task.session), stand_in: None };
    let spec = Spec {
        kind: spawn.kind,
        parent: parent_of(caller),
        task: spawn.task,
        workspace,
        argv,
        cwd,
        environment,
        policy: SizePolicy::Owner,
        auto_restart: spawn.auto_restart,
        idle_timeout_ms: spawn.idle_timeout_ms,
        project: order.project.clone(),
        preset: spawn.preset,
        key: spawn.key,
        // A preset may ask for it; only what a person started is brought back.
        restore: spawn.restore && caller == Caller::Person,
        acts_for_person,
        ready: spawn.ready,
        budget: spawn.budget,
        stop: spawn.stop,
    };
    let owner = if caller == Caller::Person { Owner::User } else { Owner::Orchestrator };
    let mut process = Process::new(engine.ctx.processes.fresh_id(&mut engine.ctx.out), name, owner, spec);
    process.size = spawn.size.or(Size::DEFAULT).clamped();
    process.usage.born_ms = engine.ctx.out.now.uptime_ms;
    let (run, started_at) = (process.key(), engine.ctx.out.now.wall_ms);
    process.agent = agent.map(|record| Box::new(Agent::from_record(record, run, true, started_at)));
    if let Some(agent) = process.agent.as_deref_mut() {
        agent.resume_next = spawn.agent.session;
    }
    Ok(process)
}

/// Refuses what is to be started outside of the workspace that the connection is limited to, before anything else is
/// looked at.
fn check_scope(engine: &Engine, spawn: &Spawn) -> Result<(), Failure> {
    let limit = &engine.ctx.out.scope.limit;
    let task = spawn.task.as_ref().and_then(|task| engine.tasks.find(task));
    let asked = [spawn.workspace.clone(), task.map(|task| task.workspace.clone())];
    match asked.iter().flatten().all(|workspace| limit.covers(workspace)) {
        true => Ok(()),
        false => Err(beyond_limit(limit)),
    }
}

/// The other workspace is not named: the connection may not know of it.
fn beyond_limit(limit: &Limit) -> Failure {
    let message = format!("this connection is limited to {limit}, and that is in another workspace");
    Failure::new(ErrorCode::WorkspaceMismatch, message)
        .hint("leave the workspace out, or use a connection to that one")
}

/// Returns true if callers from a new process have the rights of the person who starts it: terminals by default, and nothing
/// that a limited connection starts.
fn acts_for_person(caller: Caller, spawn: &Spawn, limit: &Limit) -> bool {
    caller == Caller::Person && limit.is_none() && spawn.as_me.unwrap_or(spawn.kind == Kind::Terminal)
}

/// The task a spawn is for: it must exist, in the workspace that was named, and be the caller's to drive, because a
/// process of a task has rights over the task.
fn check_task(engine: &mut Engine, caller: Caller, spawn: &Spawn) -> Result<Option<TaskPlace>, Failure> {
    let Some(task) = &spawn.task else { return Ok(None) };
    let place = engine.tasks.find_place(task)?;
    if let Some(workspace) = &spawn.workspace
        && *workspace != place.workspace
    {
        let message =
            format!("task \"{}\" is not in workspace \"{}\"", Printable(task), Printable(workspace));
        return Err(Failure::new(ErrorCode::WorkspaceMismatch, message));
    }
    TaskDecision::new(engine, caller).check_spawn(task)?;
    Ok(Some(place))
}

/// What else may be asked of an entry, by its kind and by who asks.
fn check_wishes(caller: Caller, spawn: &Spawn, limit: &Limit) -> Result<(), Failure> {
    spawn.stop.check()?;
    if spawn.auto_restart && spawn.kind != Kind::Command {
        return Err(Failure::invalid("auto_restart", "only commands are restarted by themselves"));
    }
    if spawn.restore && spawn.kind != Kind::Command {
        return Err(Failure::invalid("restore", "only commands are brought back"));
    }
    if spawn.idle_timeout_ms.is_some_and(|timeout| timeout == 0 || timeout > MAX_IDLE_MS) {
        return Err(Failure::invalid("idle_timeout_ms", "between 1 ms and a year"));
    }
    if spawn.as_me == Some(true) && caller != Caller::Person {
        return Err(denied(caller, "only a person may let a process act for them"));
    }
    if spawn.as_me == Some(true) && !limit.is_none() {
        let message =
            format!("denied: this connection is limited to {limit}; nothing that it starts has all rights");
        return Err(Failure::new(ErrorCode::Denied, message).hint("leave as_me out"));
    }
    if spawn.as_me == Some(true) && spawn.kind == Kind::Agent {
        return Err(Failure::invalid("as_me", "an agent never acts for a person")
            .hint("qd grant gives an agent more rights, one by one"));
    }
    if spawn.budget.is_some() && caller != Caller::Person {
        return Err(denied(caller, "only people set a budget"));
    }
    Ok(())
}

/// What an agent is started with; only agents may have it.
fn check_agent(caller: Caller, spawn: &Spawn) -> Result<Option<AgentRecord>, Failure> {
    let request = &spawn.agent;
    if spawn.kind != Kind::Agent {
        return if *request == AgentRequest::default() {
            Ok(None)
        } else {
            Err(Failure::invalid("agent", "only agents take these"))
        };
    }
    let manifest = spawn.argv.first().map_or("", String::as_str);
    if let Err(why) = manifest.parse::<Name>() {
        return Err(Failure::invalid("argv", format!("the first word must be the name of an agent: {why}"))
            .hint("qd agents lists them"));
    }
    if let Some(prompt) = &request.prompt {
        check_text("prompt", caller, prompt)?;
    }
    if let Some(session) = &request.session {
        check_session(session)?;
    }
    if request.permissions.is_some_and(|desk| desk.timeout_ms == 0 || desk.timeout_ms > MAX_IDLE_MS) {
        return Err(Failure::invalid("permissions.timeout_ms", "between 1 ms and a year"));
    }
    if let Some(model) = &request.model {
        check_model(model)?;
    }
    Ok(Some(AgentRecord {
        permissions: request.permissions,
        model: request.model.clone(),
        mode: request.mode,
        prompt: request.prompt.as_deref().map(beginning),
        ..AgentRecord::default()
    }))
}

/// The first line of a prompt, as far as a list shows it.
pub(crate) fn beginning(prompt: &str) -> String {
    /// Enough to tell sessions apart.
    const SHOWN: usize = 120;
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(SHOWN).collect()
}

/// Checks whether a model may be called that: it becomes a word of an argv.
fn check_model(model: &str) -> Result<(), Failure> {
    if model.is_empty() || model.len() > MAX_MODEL {
        return Err(Failure::invalid("model", format!("between 1 and {MAX_MODEL} bytes")));
    }
    if model.starts_with('-') || model.chars().any(char::is_control) {
        return Err(Failure::invalid("model", "it may not begin with a dash or contain control characters"));
    }
    Ok(())
}

fn parent_of(caller: Caller) -> Option<ProcessId> {
    match caller {
        Caller::Process(run) => Some(run.process),
        Caller::Person | Caller::Via(_) | Caller::Nobody => None,
    }
}
