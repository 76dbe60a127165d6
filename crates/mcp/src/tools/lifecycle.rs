//! Tools that start, stop and remove processes, with their arguments and directory. The daemon checks rights
//! and trust.

use std::path::Path;

use proto::reply::{Ended, Spawned};
use proto::request::{
    AgentRequest, Close, Empty, Kill, Rename, Restart, Resume, Select, SizeRequest, Spawn, Target, Until,
    Wait,
};
use proto::{Kind, Name, ProcessView, Size, verb};
use serde_json::{Map, Value, json};

use super::{TARGET, Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Field, PROCESS, Shape, may, must};
use crate::failure::ToolFailure;
use crate::views::{self, put};
use crate::waiting::{AfterWait, Waiting};

const NAME: Field = may("name", Shape::Text(40), "1-40 of A-Z a-z 0-9 . _ -");
const WORKING_DIR: Field = may("working_dir", Shape::Text(4096), "Default: yours.");
const SIZE: Field = may("size", Shape::Text(16), "COLSxROWS; default 80x24.");
const MODES: &[&str] = &["plan", "ask", "edit", "auto"];
const TASK: Field = may("task", Shape::Text(200), "A task to work for, in its directory.");
/// Longest word of an argv.
const WORD: usize = 128 << 10; // 128 KiB
/// The result of a spawn.
const SPAWNED: &str = "id: string, name: string, kind: string, status: string, run: integer, pid?: integer, shortfalls?: [string]";
const SPAWN_FIELDS: &[(&str, &str)] =
    &[("argv", "argv"), ("name", "name"), ("cwd", "working_dir"), ("env", "env"), ("preset", "preset")];
const PRESET_FIELDS: &[(&str, &str)] =
    &[("preset", "preset"), ("name", "name"), ("cwd", "working_dir"), ("env", "env"), ("kind", "kind")];
const AGENT_FIELDS: &[(&str, &str)] = &[
    ("argv", "agent"),
    ("name", "name"),
    ("cwd", "working_dir"),
    ("prompt", "instructions"),
    ("task", "task"),
    ("model", "model"),
    ("mode", "mode"),
];
/// The signals that may be sent to a process, with their numbers on Linux.
const SIGNALS: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("WINCH", 28),
];
const SIGNAL_NAMES: &[&str] =
    &["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "WINCH"];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "spawn_agent",
        title: "Spawn an agent",
        says: "Start a coding agent as your child and give it its first instructions. Answers at once with its id; \
               with MCP tasks and instructions, the task completes with its first answer.",
        fields: &[
            must("agent", Shape::Text(64), "Which, e.g. from get_project_status."),
            NAME,
            may("instructions", Shape::Text(64 << 10), "Its first message."),
            may("model", Shape::Text(200), "In the vendor's words."),
            may("mode", Shape::OneOf(MODES), "What it does unasked: plan nothing, edit edits, auto all."),
            SIZE,
            TASK,
            WORKING_DIR,
        ],
        gives: "id: string, name: string, kind: string, status: string, run: integer, pid?: integer, \
                shortfalls?: [string], turn?: integer, end?: string, text?: string, truncated?: boolean",
        effect: ToolEffect::Adds,
        is_core: true,
        run: |context, arguments| Box::pin(spawn_agent(context, arguments)),
    },
    Tool {
        name: "spawn_process",
        title: "Spawn a command or terminal",
        says: "Start a command (its entry stays after it exits) or a terminal (its entry goes): a preset of the \
               project, argv, or a line of shell. needs_trust: a person was asked; call again when told of \
               the answer.",
        fields: &[
            must("kind", Shape::OneOf(&["command", "terminal"]), ""),
            may("preset", Shape::Text(64), "From get_project_status."),
            may("argv", Shape::Texts(WORD), "Program and arguments; no shell."),
            may("shell", Shape::Text(WORD), "A line for sh -c."),
            NAME,
            WORKING_DIR,
            SIZE,
            may("env", Shape::Pairs(WORD), "Extra variables."),
        ],
        gives: SPAWNED,
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(spawn_process(context, arguments)),
    },
    Tool {
        name: "start_process",
        title: "Start again",
        says: "Start a process whose run is over. An agent continues its session where it has one.",
        fields: &[PROCESS],
        gives: SPAWNED,
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(start(context, arguments)),
    },
    Tool {
        name: "restart_process",
        title: "Restart",
        says: "End the run, if there is one, and start a fresh one.",
        fields: &[PROCESS],
        gives: SPAWNED,
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(restart(context, arguments)),
    },
    Tool {
        name: "stop_process",
        title: "Stop",
        says: "End the run and everything it started, or send only one signal. The entry, its screen and log \
               stay. Repeat to kill.",
        fields: &[PROCESS, may("signal", Shape::OneOf(SIGNAL_NAMES), "Send only this.")],
        gives: "id: string, exit?: string, signalled?: boolean",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(stop(context, arguments)),
    },
    Tool {
        name: "close_process",
        title: "Close",
        says: "End the run and remove the entry with its screen, log and descendants. Read the result first.",
        fields: &[PROCESS],
        gives: "id: string, closed: boolean, exit?: string",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(close(context, arguments)),
    },
    Tool {
        name: "rename_process",
        title: "Rename",
        says: "Give a process another name.",
        fields: &[PROCESS, must("name", Shape::Text(40), "")],
        gives: "id: string, name: string",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(rename(context, arguments)),
    },
    Tool {
        name: "select_process",
        title: "Show to the person",
        says: "Ask the person to look at a process.",
        fields: &[PROCESS],
        gives: "id: string, selected: boolean",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(select(context, arguments)),
    },
];

async fn spawn_agent(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let prompt = arguments.text("instructions").map(str::to_owned);
    let request = Spawn {
        kind: Kind::Agent,
        name: name(arguments)?,
        argv: vec![arguments.required("agent").to_owned()],
        cwd: task_dir(context, arguments),
        task: arguments.text("task").map(str::to_owned),
        size: size(arguments)?,
        agent: AgentRequest {
            prompt: prompt.clone(),
            model: arguments.text("model").map(str::to_owned),
            mode: arguments.text("mode").and_then(|word| word.parse().ok()),
            ..AgentRequest::default()
        },
        ..Spawn::default()
    };
    let spawned = context.request::<verb::Spawn>(AGENT_FIELDS, Box::new(request)).await?;
    let base = to_value(context, &spawned);
    if prompt.is_none() {
        return Ok(Value::Object(base).into());
    }
    // An agent's turns count from one, so its instructions begin the first.
    let wait = Wait::until(vec![Target(spawned.id.to_string())], Until::Turn(1));
    Ok(ToolOutcome::Waiting(Box::new(Waiting {
        wait,
        timeout: None,
        status: format!("{} ({}) works on its instructions", spawned.name, spawned.id),
        fields: AGENT_FIELDS,
        meanwhile: Some(Value::Object(base.clone())),
        is_over_when_blocked: false,
        then: AfterWait::GiveTurn { process: spawned.id, turn: 1, base },
    })))
}

async fn spawn_process(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let kind = if arguments.required("kind") == "terminal" { Kind::Terminal } else { Kind::Command };
    let preset = arguments.text("preset").map(str::to_owned);
    let request = Spawn {
        kind,
        name: name(arguments)?,
        argv: argv(arguments, kind)?,
        cwd: directory(context, arguments).await?,
        size: size(arguments)?,
        env: arguments.pairs("env").unwrap_or_default().into_iter().collect(),
        preset: preset.clone(),
        ..Spawn::default()
    };
    let fields = if preset.is_some() { PRESET_FIELDS } else { SPAWN_FIELDS };
    let spawned = context.request::<verb::Spawn>(fields, Box::new(request)).await?;
    Ok(Value::Object(to_value(context, &spawned)).into())
}

/// Returns the command: exactly one of preset, argv and shell.
fn argv(arguments: &Arguments, kind: Kind) -> Result<Vec<String>, ToolFailure> {
    let (argv, shell) = (arguments.texts("argv"), arguments.text("shell"));
    match (arguments.has("preset"), argv, shell) {
        (true, Some(_), _) => Err(ToolFailure::invalid("argv", "a preset says what it runs")),
        (true, _, Some(_)) => Err(ToolFailure::invalid("shell", "a preset says what it runs")),
        (false, Some(_), Some(_)) => Err(ToolFailure::invalid("shell", "give argv or shell, not both")),
        (false, Some(argv), None) => Ok(argv),
        (false, None, Some(line)) => Ok(["/bin/sh", "-c", line].map(str::to_owned).to_vec()),
        (true, None, None) => Ok(Vec::new()),
        (false, None, None) if kind == Kind::Terminal => Ok(Vec::new()),
        (false, None, None) => {
            Err(ToolFailure::invalid("argv", "missing: a command needs preset, argv or shell"))
        }
    }
}

/// Returns the directory. A preset has its own, and a process may not change it.
async fn directory(context: &ToolContext, arguments: &Arguments) -> Result<Option<String>, ToolFailure> {
    if arguments.has("preset") && !arguments.has("working_dir") {
        return context.directory().await;
    }
    Ok(Some(working_dir(context, arguments)))
}

async fn start(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let view = find(context, arguments.required("process")).await?;
    if view.pid.is_some() {
        return Err(ToolFailure::new("conflict", format!("process: {} runs already", view.name))
            .hint("restart_process ends its run first"));
    }
    let target = Target(view.id.to_string());
    let has_session = view.agent.as_ref().is_some_and(|agent| agent.session.is_some());
    let spawned = match has_session {
        true => context.request::<verb::Resume>(TARGET, Resume { target, ..Resume::default() }).await?,
        false => {
            let request = Restart { target, ..Restart::default() };
            context.request::<verb::Restart>(TARGET, request).await?
        }
    };
    Ok(Value::Object(to_value(context, &spawned)).into())
}

async fn restart(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let target: Target = arguments.required("process").into();
    let request = Restart { target, ..Restart::default() };
    let spawned = context.request::<verb::Restart>(TARGET, request).await?;
    Ok(Value::Object(to_value(context, &spawned)).into())
}

async fn stop(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let word = arguments.text("signal");
    let signal =
        word.and_then(|word| SIGNALS.iter().find(|(name, _)| *name == word)).map(|(_, number)| *number);
    let id = find(context, arguments.required("process")).await?.id;
    let target = Target(id.to_string());
    let request = Kill { target, signal, grace_ms: None };
    Ok(match context.request::<verb::Kill>(TARGET, request).await? {
        Some(ended) => Value::Object(end_told(&ended)).into(),
        None => json!({"id": id, "signalled": true}).into(),
    })
}

async fn close(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let target: Target = arguments.required("process").into();
    let request = Close { target, keep_background: false, stop: proto::Stop::default() };
    let mut closed = end_told(&context.request::<verb::Close>(TARGET, request).await?);
    put(&mut closed, "closed", json!(true));
    Ok(Value::Object(closed).into())
}

async fn rename(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let name = name(arguments)?.unwrap_or_default();
    let id = find(context, arguments.required("process")).await?.id;
    let request = Rename { target: Target(id.to_string()), name: name.clone() };
    let fields = &[("target", "process"), ("name", "name")];
    context.request::<verb::Rename>(fields, request).await?;
    Ok(json!({"id": id, "name": name}).into())
}

async fn select(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let id = find(context, arguments.required("process")).await?.id;
    let request = Select { target: Target(id.to_string()) };
    context.request::<verb::Select>(TARGET, request).await?;
    Ok(json!({"id": id, "selected": true}).into())
}

/// Returns the process with this id or name, if the caller may see it.
pub(super) async fn find(context: &ToolContext, wanted: &str) -> Result<ProcessView, ToolFailure> {
    let all = context.request::<verb::List>(&[], Empty {}).await?;
    named(all, wanted)
}

/// Returns the one of these with this id or name.
pub(super) fn named(all: Vec<ProcessView>, wanted: &str) -> Result<ProcessView, ToolFailure> {
    let is_it = |view: &ProcessView| view.id.to_string() == wanted || view.name.as_str() == wanted;
    all.into_iter().find(is_it).ok_or_else(|| {
        let shown: String = wanted.chars().take(64).collect();
        let failure =
            proto::Failure::new(proto::ErrorCode::NotFound, format!("no process is called {shown}"));
        ToolFailure::refusal(&failure, TARGET)
    })
}

fn name(arguments: &Arguments) -> Result<Option<String>, ToolFailure> {
    let Some(text) = arguments.text("name") else { return Ok(None) };
    let name: Name = text.parse().map_err(|why| ToolFailure::invalid("name", why))?;
    Ok(Some(name.to_string()))
}

fn size(arguments: &Arguments) -> Result<SizeRequest, ToolFailure> {
    let Some(text) = arguments.text("size") else { return Ok(SizeRequest::default()) };
    let size: Size = text.parse().map_err(|why| ToolFailure::invalid("size", why))?;
    Ok(size.into())
}

/// Returns the directory of an agent: as given, or else its task's, which the daemon knows, or else this server's.
fn task_dir(context: &ToolContext, arguments: &Arguments) -> Option<String> {
    let is_tasks = arguments.has("task") && !arguments.has("working_dir");
    (!is_tasks).then(|| working_dir(context, arguments))
}

/// Returns the directory: as given, or else this server's.
fn working_dir(context: &ToolContext, arguments: &Arguments) -> String {
    let given = arguments.text("working_dir").map_or_else(|| Path::new("."), Path::new);
    let joined = if given == Path::new(".") { context.here.clone() } else { context.here.join(given) };
    joined.to_string_lossy().into_owned()
}

/// Returns what was started, and remembers that its output counts from its start.
fn to_value(context: &ToolContext, spawned: &Spawned) -> Map<String, Value> {
    context.started.add((spawned.id, spawned.run));
    let mut all = Map::new();
    put(&mut all, "id", json!(spawned.id));
    put(&mut all, "name", json!(spawned.name));
    put(&mut all, "kind", json!(spawned.kind));
    put(&mut all, "status", json!(spawned.status));
    put(&mut all, "run", json!(spawned.run));
    put(&mut all, "pid", json!(spawned.pid));
    let shortfalls: Vec<&String> = spawned.shortfalls.iter().chain(&spawned.warning).collect();
    if !shortfalls.is_empty() {
        put(&mut all, "shortfalls", json!(shortfalls));
    }
    all
}

fn end_told(ended: &Ended) -> Map<String, Value> {
    let mut all = Map::new();
    put(&mut all, "id", json!(ended.id));
    put(&mut all, "exit", ended.exit.as_ref().map_or(Value::Null, |exit| json!(views::ended(exit))));
    all
}
