//! The project's notes, with revisions.
//!
//! Owns the arguments and giving long notes in parts. Refuses merging: who writes over a revision it has not seen is told
//! which one there is now.

use client::Connection;
use proto::crew::{PadEntry, PadOutcome};
use proto::request::{Nothing, Pad, PadAct};
use serde_json::{Map, Value, json};

use super::{Bench, Effect, Outcome, Tool};
use crate::failure::ToolFailure;
use crate::fields::{Arguments, Field, Shape, may, must};
use crate::link::Manner;
use crate::pages;
use crate::views::{put, shortened};

/// Most text that one call writes: far more than a model says at once.
const MAX_TEXT: usize = 256 << 10; // 256 KiB
const PAD: Field = must("pad", Shape::Text(64), "1-64 of a-z 0-9 . _ -");
const EXPECTED: Field = may(
    "expected_revision",
    Shape::Integer(0, i64::MAX),
    "The revision you have seen, 0 for none; another one there is a conflict.",
);
const CHANGED: &str = "pad: string, revision: integer";
const FIELDS: &[(&str, &str)] = &[
    ("name", "pad"),
    ("to", "to"),
    ("content", "content"),
    ("text", "text"),
    ("revision", "revision"),
    ("expected_revision", "expected_revision"),
];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "scratchpad_list",
        title: "List scratchpads",
        says: "The project's shared notes with their revisions.",
        fields: &[pages::CURSOR],
        gives: "pads: [object], next_cursor?: string",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(list(bench, arguments)),
    },
    Tool {
        name: "scratchpad_read",
        title: "Read a scratchpad",
        says: "Its text and revision; an older revision if you name one.",
        fields: &[PAD, may("revision", Shape::Integer(1, i64::MAX), ""), pages::SINCE_BYTE],
        gives: "pad: string, revision: integer, author: string, content: string, offset?: integer, \
                truncated?: boolean",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(read(bench, arguments)),
    },
    Tool {
        name: "scratchpad_write",
        title: "Write a scratchpad",
        says: "Replace its whole text, or make it.",
        fields: &[PAD, must("content", Shape::Prose(MAX_TEXT), ""), EXPECTED],
        gives: CHANGED,
        effect: Effect::Destroys,
        is_core: false,
        run: |bench, arguments| Box::pin(write(bench, arguments)),
    },
    Tool {
        name: "scratchpad_append",
        title: "Append to a scratchpad",
        says: "Add text to its end, or make it. Several may do so at once.",
        fields: &[PAD, must("text", Shape::Text(MAX_TEXT), "")],
        gives: CHANGED,
        effect: Effect::Adds,
        is_core: false,
        run: |bench, arguments| Box::pin(append(bench, arguments)),
    },
    Tool {
        name: "scratchpad_delete",
        title: "Delete a scratchpad",
        says: "Take it away; its history stays.",
        fields: &[PAD, EXPECTED],
        gives: CHANGED,
        effect: Effect::Destroys,
        is_core: false,
        run: |bench, arguments| Box::pin(delete(bench, arguments)),
    },
    Tool {
        name: "scratchpad_rename",
        title: "Rename a scratchpad",
        says: "Give it another name.",
        fields: &[PAD, must("to", Shape::Text(64), "")],
        gives: CHANGED,
        effect: Effect::Adds,
        is_core: false,
        run: |bench, arguments| Box::pin(rename(bench, arguments)),
    },
    Tool {
        name: "scratchpad_history",
        title: "History of a scratchpad",
        says: "Its revisions, newest first, with author and time.",
        fields: &[PAD, pages::CURSOR],
        gives: "pad: string, revisions: [object], next_cursor?: string",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(history(bench, arguments)),
    },
];

async fn ask(bench: &Bench, manner: Manner, act: PadAct) -> Result<PadOutcome, ToolFailure> {
    let wish = Pad { project: bench.directory().await?, act };
    bench.ask(manner, FIELDS, move |connection: &mut Connection| connection.pad(wish.clone())).await
}

/// An answer of another shape than the one asked for.
fn strange(outcome: &PadOutcome) -> ToolFailure {
    let shape = match outcome {
        PadOutcome::Listed(_) => "a list",
        PadOutcome::Text { .. } => "a text",
        PadOutcome::Changed { .. } => "a change",
        PadOutcome::History(_) => "a history",
    };
    ToolFailure::new("internal", format!("the daemon answered with {shape}"))
}

async fn list(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    match ask(bench, Manner::QUESTION, PadAct::List(Nothing {})).await? {
        PadOutcome::Listed(entries) => {
            let rows = entries.iter().map(|entry| (entry.name.clone(), row(entry)));
            Ok(Value::Object(pages::list("pads", rows, arguments.text("cursor"))?).into())
        }
        other => Err(strange(&other)),
    }
}

async fn read(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let act = PadAct::Read { name: pad(arguments), revision: arguments.count("revision") };
    match ask(bench, Manner::QUESTION, act).await? {
        PadOutcome::Text { name, content, revision, author } => {
            let mut base = Map::new();
            put(&mut base, "pad", json!(name));
            put(&mut base, "revision", json!(revision));
            put(&mut base, "author", json!(shortened(&author, 80)));
            let since = pages::start(arguments.count("since"), &content)?;
            Ok(Value::Object(pages::piece(&base, "content", &content, since)).into())
        }
        other => Err(strange(&other)),
    }
}

async fn write(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let act = PadAct::Write {
        name: pad(arguments),
        content: arguments.required("content").to_owned(),
        expected_revision: arguments.count("expected_revision"),
    };
    changed(ask(bench, Manner::DEED, act).await?)
}

async fn append(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let act = PadAct::Append { name: pad(arguments), text: arguments.required("text").to_owned() };
    changed(ask(bench, Manner::DEED, act).await?)
}

async fn delete(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let expected_revision = arguments.count("expected_revision");
    let act = PadAct::Delete { name: pad(arguments), expected_revision };
    changed(ask(bench, Manner::DEED, act).await?)
}

async fn rename(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let act = PadAct::Rename { name: pad(arguments), to: arguments.required("to").to_owned() };
    changed(ask(bench, Manner::DEED, act).await?)
}

async fn history(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    match ask(bench, Manner::QUESTION, PadAct::History { name: pad(arguments) }).await? {
        PadOutcome::History(entries) => {
            let rows = entries.iter().rev().map(|entry| (entry.revision.to_string(), revision(entry)));
            let mut answer = pages::list("revisions", rows, arguments.text("cursor"))?;
            put(&mut answer, "pad", json!(pad(arguments)));
            Ok(Value::Object(answer).into())
        }
        other => Err(strange(&other)),
    }
}

fn pad(arguments: &Arguments) -> String {
    arguments.required("pad").to_owned()
}

fn changed(outcome: PadOutcome) -> Result<Outcome, ToolFailure> {
    match outcome {
        PadOutcome::Changed { name, revision } => Ok(json!({"pad": name, "revision": revision}).into()),
        other => Err(strange(&other)),
    }
}

fn row(entry: &PadEntry) -> Map<String, Value> {
    let mut row = Map::new();
    put(&mut row, "pad", json!(entry.name));
    row.extend(revision(entry));
    row
}

fn revision(entry: &PadEntry) -> Map<String, Value> {
    let mut row = Map::new();
    put(&mut row, "revision", json!(entry.revision));
    put(&mut row, "author", json!(shortened(&entry.author, 80)));
    put(&mut row, "at_ms", json!(entry.at));
    put(&mut row, "bytes", json!(entry.bytes));
    row
}
