//! Finding one's way: who the caller is, and help.
//!
//! Owns the help texts. Refuses needing the daemon for them: help is open to everybody, always.

use client::Connection;
use proto::ProcessView;
use serde_json::{Map, Value, json};

use super::{Bench, Effect, Outcome, Tool};
use crate::failure::ToolFailure;
use crate::fields::{Arguments, Shape, may};
use crate::link::Manner;
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
        says: "Who you are to Quarterdeck, your parent and children, and what you may do. Call it first.",
        fields: &[],
        gives: "caller: human|process|nobody, version: string, may: string, working_dir: string, you?: object, \
                parent?: object, children?: [object]",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, _| Box::pin(whoami(bench)),
    },
    Tool {
        name: "help",
        title: "Help",
        says: "How to work with Quarterdeck, by topic. Without a topic: what there is.",
        fields: &[may("topic", Shape::OneOf(TOPIC_NAMES), "")],
        gives: "topic: string, text: string",
        effect: Effect::Reads,
        is_core: false,
        run: |_, arguments| Box::pin(std::future::ready(Ok(help(arguments)))),
    },
];

async fn whoami(bench: &Bench) -> Result<Outcome, ToolFailure> {
    let welcome = bench.link.welcome().await.map_err(|trouble| trouble.told(&[]))?;
    let all = match welcome.caller.as_str() {
        "nobody" => Vec::new(),
        _ => bench.ask(Manner::QUESTION, &[], Connection::list).await?,
    };
    let own = all.iter().find(|view| view.id.to_string() == welcome.caller);
    let (caller, may) = match (welcome.caller.as_str(), own) {
        ("human", _) => ("human", "everything"),
        ("nobody", _) => ("nobody", "help"),
        _ => (
            "process",
            "read and drive yourself and your descendants; message your parent; list your project",
        ),
    };
    let mut answer = Map::new();
    put(&mut answer, "caller", json!(caller));
    put(&mut answer, "version", json!(welcome.version));
    put(&mut answer, "may", json!(may));
    put(&mut answer, "working_dir", json!(views::shortened(&bench.here.to_string_lossy(), 400)));
    if let Some(own) = own {
        let parent = all.iter().find(|view| Some(view.id) == own.parent);
        let children: Vec<Value> =
            all.iter().filter(|view| view.parent == Some(own.id)).take(MAX_CHILDREN).map(named).collect();
        put(&mut answer, "you", Value::Object(views::row(own)));
        put(&mut answer, "parent", parent.map(named).unwrap_or_default());
        put(&mut answer, "children", json!(children));
    }
    Ok(Value::Object(answer).into())
}

fn named(view: &ProcessView) -> Value {
    let mut told = Map::new();
    put(&mut told, "id", json!(view.id));
    put(&mut told, "name", json!(view.name));
    put(&mut told, "kind", json!(view.kind));
    put(&mut told, "state", json!(view.state));
    Value::Object(told)
}

fn help(arguments: &Arguments) -> Outcome {
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
                    "get_", "send_", "spawn_", "wait_", "list_", "stop_", "close_", "start_", "restart_",
                    "explain_", "answer_", "search_", "rename_",
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
