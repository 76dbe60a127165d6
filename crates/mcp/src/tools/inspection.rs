//! Tools that show processes and their state: the list, one process, the whole project, and the evidence for
//! a state. Screens and logs are in `output`.

use std::collections::BTreeMap;

use proto::agent::{AgentOffer, InboxItem, ItemKind};
use proto::ports::PortView;
use proto::presets::PresetView;
use proto::request::{AskAgents, Empty, Explain, Ports, Presets, Target, Until, Wait};
use proto::{AgentState, Kind, ProcessId, ProcessView, verb};
use serde_json::{Map, Value, json};

use super::lifecycle::find;
use super::{TARGET, Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, PROCESS, Shape, may};
use crate::failure::ToolFailure;
use crate::pages;
use crate::views::{self, put};

/// The most entries of anything else in a result.
const MAX_TOLD: usize = 40;
/// How long a status waits for the options of a dialog.
const OPTIONS_MS: u64 = 2_000;
/// Most ports in an answer.
const MAX_PORTS: usize = 60;
/// The most web addresses in a result.
const MAX_URLS: usize = 20;
/// A longer web address is left out: a cut one would lead elsewhere.
const LONGEST_URL: usize = 200;

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "list_processes",
        title: "List processes",
        says: "The processes of your project: agents, commands and terminals with status and state.",
        fields: &[
            may("kind", Shape::OneOf(&["agent", "command", "terminal"]), ""),
            may("tree", Shape::Flag, "Order by who spawned whom, with a depth."),
            pages::CURSOR,
        ],
        gives: "processes: [object], next_cursor?: string",
        effect: ToolEffect::Reads,
        is_core: true,
        run: |context, arguments| Box::pin(list(context, arguments)),
    },
    Tool {
        name: "get_process_status",
        title: "Process status",
        says: "One process in full: status, exit, and for an agent its state with the evidence for it, its newest \
               turn, and the dialog it waits on with its options for answer_prompt.",
        fields: &[PROCESS],
        gives: "id: string, name: string, kind: string, status: string, state?: string, exit?: string, \
                ready?: boolean, agent?: object, dialog?: object",
        effect: ToolEffect::Reads,
        is_core: true,
        run: |context, arguments| Box::pin(status(context, arguments)),
    },
    Tool {
        name: "get_project_status",
        title: "Project status",
        says: "The crew at a glance: counts, who needs an answer, which agents and presets there are.",
        fields: &[],
        gives: "project?: string, processes: integer, statuses: object, states: object, needs_answer: [object], \
                agents: [object], presets: [object], working_dir: string, warnings?: [string]",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, _| Box::pin(project(context)),
    },
    Tool {
        name: "get_process_ports",
        title: "Ports",
        says: "The ports that a process and what it started listen on, and the web addresses it has shown.",
        fields: &[PROCESS],
        gives: "ports: [object], urls: [string], truncated?: boolean",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(ports(context, arguments)),
    },
    Tool {
        name: "explain_state",
        title: "Explain a state",
        says: "Why an agent is in its state: each source's opinion, and which won.",
        fields: &[PROCESS],
        gives: "id: string, name: string, state: string, why: string, opinions: [object], composer: string, \
                drifts: integer, version?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(explain(context, arguments)),
    },
];

async fn list(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let all = context.request::<verb::List>(&[], Empty {}).await?;
    let kind: Option<Kind> = arguments.text("kind").and_then(|word| word.parse().ok());
    let ordered = if arguments.flag("tree") {
        by_family(all)
    } else {
        all.into_iter().map(|view| (view, None)).collect()
    };
    let rows = ordered.into_iter().filter(|(view, _)| kind.is_none_or(|kind| view.kind == kind));
    let rows = rows.map(|(view, depth)| {
        let mut row = views::row(&view);
        put(&mut row, "depth", json!(depth));
        (view.id.to_string(), row)
    });
    Ok(Value::Object(pages::list("processes", rows, arguments.text("cursor"))?).into())
}

/// Orders processes depth first, from those whose parent is not in the list; a parent's children keep their
/// order.
fn by_family(all: Vec<ProcessView>) -> Vec<(ProcessView, Option<usize>)> {
    let ids: Vec<ProcessId> = all.iter().map(|view| view.id).collect();
    let mut children: BTreeMap<Option<ProcessId>, Vec<ProcessView>> = BTreeMap::new();
    for view in all {
        let parent = view.parent.filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(view);
    }
    let mut open: Vec<(ProcessView, usize)> =
        children.remove(&None).unwrap_or_default().into_iter().rev().map(|view| (view, 0)).collect();
    let mut ordered = Vec::new();
    while let Some((view, depth)) = open.pop() {
        let below = children.remove(&Some(view.id)).unwrap_or_default();
        open.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
        ordered.push((view, Some(depth)));
    }
    ordered
}

async fn status(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let wanted = arguments.required("process").to_owned();
    let mut view = find(context, &wanted).await?;
    if view.state == Some(AgentState::Blocked) {
        // This wait returns once the dialog's options are read, which the screen may show a moment later.
        let until = Until::State(vec![AgentState::Blocked]);
        let wait = Wait { timeout_ms: Some(OPTIONS_MS), ..Wait::until(vec![Target(wanted.clone())], until) };
        let _options = context.request_allowed::<verb::Wait>(wait).await?;
        view = find(context, &wanted).await?;
    }
    let inbox = context.request_allowed::<verb::Inbox>(Empty {}).await?;
    let mut items = inbox.iter().flatten().filter(|item| item.id == view.id);
    // Items that can be answered come before those that can only be noted.
    let first = items.next();
    let item = first
        .filter(|item| item.kind != ItemKind::Failure)
        .or_else(|| items.find(|item| item.kind != ItemKind::Failure).or(first));
    Ok(Value::Object(views::details(&view, item)).into())
}

async fn project(context: &ToolContext) -> Result<ToolOutcome, ToolFailure> {
    let directory = context.directory().await?;
    let inbox = context.request_allowed::<verb::Inbox>(Empty {}).await?.unwrap_or_default();
    let offers = context.request_allowed::<verb::Agents>(AskAgents::default()).await?.unwrap_or_default();
    let presets = Presets { project: directory, path: None };
    let presets = context.request_allowed::<verb::Presets>(presets).await?.unwrap_or_default();
    let daemon = context.request::<verb::Status>(&[], Empty {}).await?;
    let all = context.request::<verb::List>(&[], Empty {}).await?;
    let (mut statuses, mut states) = (BTreeMap::new(), BTreeMap::new());
    for view in &all {
        *statuses.entry(view.status.to_string()).or_insert(0) += 1;
        if let Some(state) = view.state {
            *states.entry(state.word()).or_insert(0) += 1;
        }
    }
    let mut answer = Map::new();
    put(&mut answer, "project", json!(views::shortened(&presets.project.path, 400)));
    put(&mut answer, "processes", json!(all.len()));
    put(&mut answer, "statuses", json!(statuses));
    put(&mut answer, "states", json!(states));
    put(&mut answer, "needs_answer", json!(inbox.iter().take(MAX_TOLD).map(needed).collect::<Vec<_>>()));
    put(&mut answer, "agents", json!(offers.iter().take(MAX_TOLD).map(offered).collect::<Vec<_>>()));
    put(&mut answer, "presets", json!(presets.presets.iter().take(MAX_TOLD).map(preset).collect::<Vec<_>>()));
    put(&mut answer, "working_dir", json!(views::shortened(&context.here.to_string_lossy(), 400)));
    let warnings: Vec<String> = daemon
        .warnings
        .iter()
        .chain(&presets.faults)
        .take(MAX_TOLD)
        .map(|text| views::shortened(text, 200))
        .collect();
    if !warnings.is_empty() {
        put(&mut answer, "warnings", json!(warnings));
    }
    Ok(Value::Object(answer).into())
}

/// Returns a stored command: what it runs, and whether a person must approve it.
fn preset(view: &PresetView) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "preset", json!(views::shortened(&view.name, 64)));
    put(&mut fields, "command", json!(views::shortened(&view.command.argv.join(" "), 80)));
    put(&mut fields, "is_trusted", json!(view.trusted));
    put(&mut fields, "has_ready", json!(view.command.ready.as_ref().map(|_| true)));
    Value::Object(fields)
}

fn needed(item: &InboxItem) -> Value {
    json!({"process": item.id, "name": item.name, "dialog_id": item.item, "title": views::shortened(&item.title, 120)})
}

fn offered(offer: &AgentOffer) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "agent", json!(offer.name));
    put(&mut fields, "can_start", json!(offer.program.is_some()));
    let why = match (&offer.program, offer.problems.as_slice()) {
        (None, []) => Some("its program is not installed".to_owned()),
        (Some(_), []) => None,
        (_, problems) => Some(views::shortened(&problems.join("; "), 200)),
    };
    put(&mut fields, "why", json!(why));
    put(&mut fields, "version", json!(offer.version.as_deref().map(|version| views::shortened(version, 40))));
    Value::Object(fields)
}

async fn ports(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = Ports { target: arguments.required("process").into() };
    let found = context.request::<verb::Ports>(TARGET, request).await?;
    let fields = |port: &PortView| {
        json!({
            "port": port.port,
            "address": views::shortened(&port.address, 64),
            "pid": port.pid,
            "program": views::shortened(&port.program, 64),
        })
    };
    let ports: Vec<Value> = found.ports.iter().take(MAX_PORTS).map(fields).collect();
    let mut answer = Map::from_iter([("ports".to_owned(), json!(ports))]);
    let urls: Vec<&String> =
        found.urls.iter().filter(|url| url.len() <= LONGEST_URL).take(MAX_URLS).collect();
    answer.insert("urls".to_owned(), json!(urls));
    if found.ports.len() > MAX_PORTS || found.urls.len() > urls.len() {
        put(&mut answer, "truncated", json!(true));
    }
    Ok(Value::Object(answer).into())
}

async fn explain(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = Explain { target: arguments.required("process").into() };
    let report = context.request::<verb::Explain>(TARGET, request).await?;
    let opinions: Vec<Value> = report.opinions.iter().map(views::opinion).collect();
    let mut answer = Map::new();
    put(&mut answer, "id", json!(report.id));
    put(&mut answer, "name", json!(report.name));
    put(&mut answer, "state", json!(report.agent.state));
    answer.insert("why".to_owned(), json!(views::shortened(&report.why, 600)));
    put(&mut answer, "opinions", json!(opinions));
    put(&mut answer, "composer", json!(report.composer));
    put(&mut answer, "drifts", json!(report.drifts));
    put(
        &mut answer,
        "version",
        json!(report.version.as_deref().map(|version| views::shortened(version, 80))),
    );
    Ok(Value::Object(answer).into())
}
