//! Tools for orientation: who the caller is, and help. Help needs no daemon and is open to every caller.

use client::CallError;
use proto::request::Empty;
use proto::rights::{BudgetUse, GrantView, Identity, PERSON};
use proto::{ErrorCode, ProcessView, verb};
use serde_json::{Map, Value, json};

use super::{Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Shape, may};
use crate::failure::ToolFailure;
use crate::views::{self, put};

/// Every topic of help with its text; the first one leads to the others.
pub(crate) const TOPICS: &[(&str, &str)] = &[
    ("topics", include_str!("../help/topics.md")),
    ("spawning", include_str!("../help/spawning.md")),
    ("inspection", include_str!("../help/inspection.md")),
    ("io", include_str!("../help/io.md")),
    ("coordination", include_str!("../help/coordination.md")),
    ("scratchpads", include_str!("../help/scratchpads.md")),
    ("timers", include_str!("../help/timers.md")),
    ("tasks", include_str!("../help/tasks.md")),
    ("readiness", include_str!("../help/readiness.md")),
    ("permissions", include_str!("../help/permissions.md")),
    ("lifecycle", include_str!("../help/lifecycle.md")),
    ("conventions", include_str!("../help/conventions.md")),
];
const TOPIC_NAMES: &[&str] = &[
    "topics",
    "spawning",
    "inspection",
    "io",
    "coordination",
    "scratchpads",
    "timers",
    "tasks",
    "readiness",
    "permissions",
    "lifecycle",
    "conventions",
];
/// Most children that are named.
const MAX_CHILDREN: usize = 50;

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "whoami",
        title: "Who am I",
        says: "Who you are to Quarterdeck, your parent and children, what you may do and use up, and how to tell a \
               true message head from a forged one. Call it first.",
        fields: &[],
        gives: "caller: human|process|nobody, version: string, may: string, working_dir: string, project?: string, \
                you?: object, parent?: object, children?: [object], nonce?: string, heads?: [string], \
                budget?: object, grants?: [string]",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, _| Box::pin(whoami(context)),
    },
    Tool {
        name: "help",
        title: "Help",
        says: "How to work with Quarterdeck, by topic. Without a topic: what there is.",
        fields: &[may("topic", Shape::OneOf(TOPIC_NAMES), "")],
        gives: "topic: string, text: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |_, arguments| Box::pin(std::future::ready(Ok(help(arguments)))),
    },
];

async fn whoami(context: &ToolContext) -> Result<ToolOutcome, ToolFailure> {
    let welcome = context.daemon.welcome().await.map_err(|error| ToolFailure::of_call(&error, &[]))?;
    let mut answer = Map::new();
    put(&mut answer, "version", json!(welcome.version));
    put(&mut answer, "working_dir", json!(views::shortened(&context.here.to_string_lossy(), 400)));
    let known = match welcome.caller.as_str() {
        "nobody" => None,
        _ => identity(context).await?,
    };
    let (caller, may) = match &known {
        None => ("nobody", "help"),
        Some((known, _)) if known.process.is_none() => (PERSON, "everything"),
        Some(_) => (
            "process",
            "read and drive yourself and your descendants; message them, your parent and your siblings; list your \
             project; use its scratchpads",
        ),
    };
    put(&mut answer, "caller", json!(caller));
    put(&mut answer, "may", json!(may));
    if let Some((known, all)) = &known {
        put(&mut answer, "project", json!(views::shortened(&known.project.path, 400)));
        relatives(&mut answer, known, all);
        privileges(&mut answer, known);
    }
    Ok(Value::Object(answer).into())
}

/// Returns the caller's identity and the processes that it sees; `None` when the daemon no longer knows it.
async fn identity(context: &ToolContext) -> Result<Option<(Identity, Vec<ProcessView>)>, ToolFailure> {
    match context.daemon.request::<verb::WhoAmI>(Empty {}).await {
        Ok(known) => Ok(Some((*known, context.request::<verb::List>(&[], Empty {}).await?))),
        Err(CallError::Refused(failure)) if failure.code == ErrorCode::Unauthorized => Ok(None),
        Err(error) => Err(ToolFailure::of_call(&error, &[])),
    }
}

fn relatives(answer: &mut Map<String, Value>, known: &Identity, all: &[ProcessView]) {
    let Some(own) = known.process.as_deref() else { return };
    let parent = all.iter().find(|view| Some(view.id) == own.parent);
    let children: Vec<Value> =
        all.iter().filter(|view| view.parent == Some(own.id)).take(MAX_CHILDREN).map(named).collect();
    put(answer, "you", Value::Object(views::row(own)));
    put(answer, "parent", parent.map(named).unwrap_or_default());
    put(answer, "children", json!(children));
}

/// Adds what only this run may know, and its rights beyond the tree.
fn privileges(answer: &mut Map<String, Value>, known: &Identity) {
    if let Some(nonce) = &known.nonce {
        put(answer, "nonce", json!(nonce));
        let head = |from: &str| format!("[{from} {nonce}]");
        let heads = ["orchestrator NAME", "sub-agent:NAME", "peer:NAME", "timer:LABEL", "system"].map(head);
        put(answer, "heads", json!(heads));
    }
    if let Some(budget) = &known.budget {
        put(answer, "budget", Value::Object(budgeted(budget)));
    }
    if !known.grants.is_empty() {
        let words = known.grants.iter().take(MAX_CHILDREN).map(GrantView::to_string);
        put(answer, "grants", json!(words.collect::<Vec<_>>()));
    }
}

/// Returns the used part of a budget.
fn budgeted(budget: &BudgetUse) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut row = |name: &str, used: u64, limit: Option<u64>| {
        let share = match limit {
            Some(limit) => format!("{used} of {limit}"),
            None => format!("{used}, no limit"),
        };
        put(&mut fields, name, json!(share));
    };
    row("spawns", budget.spawns.into(), budget.limits.spawns.map(u64::from));
    row("live", budget.live.into(), budget.limits.live.map(u64::from));
    row("depth", budget.depth.into(), budget.limits.depth.map(u64::from));
    row("minutes", budget.wall_ms / 60_000, budget.limits.wall_ms.map(|limit| limit / 60_000));
    fields
}

fn named(view: &ProcessView) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "id", json!(view.id));
    put(&mut fields, "name", json!(view.name));
    put(&mut fields, "kind", json!(view.kind));
    put(&mut fields, "state", json!(view.state));
    Value::Object(fields)
}

fn help(arguments: &Arguments) -> ToolOutcome {
    let wanted = arguments.text("topic").unwrap_or("topics");
    let text = TOPICS.iter().find(|(topic, _)| *topic == wanted).map_or("", |(_, text)| text);
    json!({"topic": wanted, "text": text.trim_end()}).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_text_and_a_name() {
        let names: Vec<&str> = TOPICS.iter().map(|(topic, _)| *topic).collect();
        assert_eq!(names, TOPIC_NAMES);
        for (topic, text) in TOPICS {
            assert!(text.len() > 150 && text.len() < 3_000, "{topic} has {} bytes", text.len());
        }
    }

    #[test]
    fn the_first_topic_leads_to_every_other() {
        let (_, first) = TOPICS[0];
        for topic in &TOPIC_NAMES[1..] {
            assert!(first.contains(&format!("`{topic}`")), "{topic}");
        }
    }

    #[test]
    fn help_names_no_tool_that_does_not_exist() {
        let known: Vec<&str> = crate::tools::all().map(|tool| tool.name).collect();
        for (topic, text) in TOPICS {
            let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
            let tools = words.filter(|word| {
                [
                    "get_",
                    "send_",
                    "spawn_",
                    "wait_",
                    "list_",
                    "stop_",
                    "close_",
                    "start_",
                    "restart_",
                    "explain_",
                    "answer_",
                    "search_",
                    "rename_",
                    "timer_",
                    "scratchpad_",
                    "ask_",
                    "request_",
                    "select_",
                ]
                .iter()
                .any(|verb| word.starts_with(verb))
            });
            for tool in tools {
                assert!(known.contains(&tool), "{topic} names {tool}");
            }
        }
    }
}
