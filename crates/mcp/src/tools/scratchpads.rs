//! Tools for the project's scratchpads, with revisions; long pads come in parts. A write over a revision that
//! the caller has not seen fails and names the current one.

use proto::pads::{PadEntry, PadOutcome};
use proto::request::{Empty, Pad, PadAct};
use proto::verb;
use serde_json::{Map, Value, json};

use super::{Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Field, Shape, may, must};
use crate::failure::{self, ToolFailure};
use crate::pages;
use crate::views::{put, shortened};

/// The most text that one call writes: far more than a model sends at once.
const MAX_TEXT: usize = 256 << 10; // 256 KiB
const PAD: Field = must("pad", Shape::Text(64), "1-64 of a-z 0-9 . _ -");
const EXPECTED: Field = may(
    "expected_revision",
    Shape::Integer(0, i64::MAX),
    "The revision you have seen, 0 for none; any other is a conflict.",
);
const CHANGED: &str = "pad: string, revision: integer";
const FIELDS: &[(&str, &str)] = &[
    ("name", "pad"),
    ("to", "to"),
    ("content", "content"),
    ("text", "content"),
    ("revision", "revision"),
    ("expected_revision", "expected_revision"),
];

/// When the new name exists already, `to` is to blame.
const RENAME_FIELDS: &[(&str, &str)] = &[("name", "pad"), ("to", "to"), (failure::TAKEN, "to")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "scratchpad_list",
        title: "List scratchpads",
        says: "The project's shared notes; with pad, its revisions, newest first.",
        fields: &[may("pad", Shape::Text(64), ""), pages::CURSOR],
        gives: "pads?: [object], pad?: string, revisions?: [object], next_cursor?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(list(context, arguments)),
    },
    Tool {
        name: "scratchpad_read",
        title: "Read a scratchpad",
        says: "Its text and revision; an older revision if you name one.",
        fields: &[PAD, may("revision", Shape::Integer(1, i64::MAX), ""), pages::SINCE_BYTE],
        gives: "pad: string, revision: integer, author: string, content: string, offset?: integer, \
                truncated?: boolean",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(read(context, arguments)),
    },
    Tool {
        name: "scratchpad_write",
        title: "Write a scratchpad",
        says: "Replace its whole text or append to it; a new one is made. Several may append at once.",
        fields: &[
            PAD,
            must("content", Shape::Prose(MAX_TEXT), ""),
            may("append", Shape::Flag, "Add to its end."),
            EXPECTED,
        ],
        gives: CHANGED,
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(write(context, arguments)),
    },
    Tool {
        name: "scratchpad_change",
        title: "Rename or delete a scratchpad",
        says: "Rename it, or delete it; its history stays.",
        fields: &[
            PAD,
            must("action", Shape::OneOf(&["rename", "delete"]), ""),
            may("to", Shape::Text(64), "Its new name."),
            EXPECTED,
        ],
        gives: CHANGED,
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(change(context, arguments)),
    },
];

async fn ask(context: &ToolContext, act: PadAct) -> Result<PadOutcome, ToolFailure> {
    let fields = if matches!(act, PadAct::Rename { .. }) { RENAME_FIELDS } else { FIELDS };
    let request = Pad { project: context.directory().await?, act };
    context.request::<verb::Pad>(fields, request).await
}

/// Returns the error for a reply of another shape than requested.
fn strange(outcome: &PadOutcome) -> ToolFailure {
    let shape = match outcome {
        PadOutcome::Listed(_) => "a list",
        PadOutcome::Text { .. } => "a text",
        PadOutcome::Changed { .. } => "a change",
        PadOutcome::History(_) => "a history",
    };
    ToolFailure::new("internal", format!("the daemon answered with {shape}"))
}

async fn list(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    if arguments.has("pad") {
        return history(context, arguments).await;
    }
    match ask(context, PadAct::List(Empty {})).await? {
        PadOutcome::Listed(entries) => {
            let rows = entries.iter().map(|entry| (entry.name.clone(), row(entry)));
            Ok(Value::Object(pages::list("pads", rows, arguments.text("cursor"))?).into())
        }
        other => Err(strange(&other)),
    }
}

async fn read(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let act = PadAct::Read { name: pad(arguments), revision: arguments.count("revision") };
    match ask(context, act).await? {
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

async fn write(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let (name, text) = (pad(arguments), arguments.required("content").to_owned());
    let expected_revision = arguments.count("expected_revision");
    let act = match (arguments.flag("append"), expected_revision) {
        (true, Some(_)) => {
            return Err(ToolFailure::invalid("expected_revision", "to append needs none"));
        }
        (true, None) if text.is_empty() => return Err(ToolFailure::invalid("content", "may not be empty")),
        (true, None) => PadAct::Append { name, text },
        (false, expected_revision) => PadAct::Write { name, content: text, expected_revision },
    };
    changed(ask(context, act).await?)
}

async fn change(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let (name, to) = (pad(arguments), arguments.text("to").map(str::to_owned));
    let expected_revision = arguments.count("expected_revision");
    let act = match (arguments.required("action"), to, expected_revision) {
        ("rename", None, _) => return Err(ToolFailure::invalid("to", "missing")),
        ("rename", Some(_), Some(_)) => {
            return Err(ToolFailure::invalid("expected_revision", "only delete takes it"));
        }
        ("rename", Some(to), None) => PadAct::Rename { name, to },
        (_, Some(_), _) => return Err(ToolFailure::invalid("to", "only rename takes it")),
        (_, None, expected_revision) => PadAct::Delete { name, expected_revision },
    };
    changed(ask(context, act).await?)
}

async fn history(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    match ask(context, PadAct::History { name: pad(arguments) }).await? {
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

fn changed(outcome: PadOutcome) -> Result<ToolOutcome, ToolFailure> {
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
