//! Tools that type into processes and answer their dialogs, and read the screen afterwards. The daemon
//! refuses typing into dialogs; an answer names its dialog.

use std::time::Duration;

use client::{CallError, CallOptions};
use proto::reply::Text;
use proto::request::{GiveAnswer, Read, ReadMode, Target, TypedInput, Until, Wait, Write};
use proto::{ErrorCode, verb};
use serde_json::{Map, Value, json};

use super::{Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, PROCESS, Shape, may, must};
use crate::failure::ToolFailure;
use crate::views::put;

/// Longest text that is typed or pasted.
const MAX_TEXT: usize = 256 << 10; // 256 KiB
/// A screen counts as stable when it has not changed for this long.
const QUIET_MS: u64 = 300;
/// The longest wait for a stable screen after typing, in seconds.
const MAX_WAIT: f64 = 40.0;
/// Most text of a screen in an answer.
const SCREEN: u32 = 6_000;
const WRITE_FIELDS: &[(&str, &str)] =
    &[("target", "process"), ("text", "text"), ("paste", "text"), ("keys", "keys")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "send_input",
        title: "Type",
        says: "Type text, paste text or press keys in a process. To talk to an agent use send_message: it waits for \
               the right moment and gives a receipt. Refused while a dialog is open or a person types.",
        fields: &[
            PROCESS,
            must("kind", Shape::OneOf(&["text", "paste", "key"]), ""),
            may("text", Shape::Text(MAX_TEXT), "For text and paste."),
            may("keys", Shape::Texts(32), "For key: enter, esc, ctrl-c, up, f5, …"),
            may("submit", Shape::Flag, "Press enter afterwards."),
            may(
                "wait",
                Shape::Seconds(MAX_WAIT),
                "Then wait this long for the screen to settle and return it.",
            ),
        ],
        gives: "written: integer, of: integer, submitted?: boolean, screen?: string, offset?: integer",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(send(context, arguments)),
    },
    Tool {
        name: "answer_prompt",
        title: "Answer a dialog",
        says: "Answer the dialog an agent waits on. dialog_id and options are in get_process_status and in waits; \
               an answer to a dialog that is gone is refused.",
        fields: &[
            must("dialog_id", Shape::Integer(0, i64::MAX), ""),
            must("choice", Shape::Text(400), "An option's choice, number or label."),
        ],
        gives: "dialog_id: integer, answered: boolean",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(answer(context, arguments)),
    },
];

async fn send(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let target: Target = arguments.required("process").into();
    let write = Write {
        target: target.clone(),
        input: typed(arguments)?,
        submit: arguments.flag("submit"),
        timeout_ms: None,
        key: None,
    };
    let wrote = context.request::<verb::Write>(WRITE_FIELDS, write).await?;
    let mut answer = Map::new();
    put(&mut answer, "written", json!(wrote.written));
    put(&mut answer, "of", json!(wrote.of));
    put(&mut answer, "submitted", json!(wrote.submitted));
    if let Some(wait) = arguments.millis("wait") {
        let shown = quiet_screen(context, &target, wait).await?;
        answer.insert("screen".to_owned(), json!(shown.text));
        put(&mut answer, "offset", json!(shown.offset));
    }
    Ok(Value::Object(answer).into())
}

fn typed(arguments: &Arguments) -> Result<TypedInput, ToolFailure> {
    let kind = arguments.required("kind");
    let (text, keys) = (arguments.text("text").map(str::to_owned), arguments.texts("keys"));
    match (kind, text, keys) {
        ("key", None, Some(keys)) => Ok(TypedInput::Keys(keys)),
        ("text", Some(text), None) => Ok(TypedInput::Text(text)),
        ("paste", Some(text), None) => Ok(TypedInput::Paste(text)),
        ("key", Some(_), _) => Err(ToolFailure::invalid("text", "kind key takes keys")),
        ("key", None, None) => Err(ToolFailure::invalid("keys", "missing")),
        (_, None, _) => Err(ToolFailure::invalid("text", "missing")),
        (_, Some(_), Some(_)) => Err(ToolFailure::invalid("keys", "only kind key takes keys")),
        _ => Err(ToolFailure::invalid("kind", "must be one of text, paste, key")),
    }
}

/// Waits until the screen is stable, at most this long, and reads it.
async fn quiet_screen(context: &ToolContext, target: &Target, most_ms: u64) -> Result<Text, ToolFailure> {
    let wait = Wait {
        timeout_ms: Some(most_ms),
        ..Wait::until(vec![target.clone()], Until::Silence(QUIET_MS.min(most_ms)))
    };
    let options = CallOptions::default().lasting(Duration::from_millis(most_ms));
    match context.daemon.request_with::<verb::Wait>(options, wait).await {
        Ok(_) => {}
        // The screen of a process that has ended, or that never stops printing, can still be read.
        Err(CallError::Refused(failure))
            if matches!(failure.code, ErrorCode::Timeout | ErrorCode::NotRunning) => {}
        Err(error) => return Err(ToolFailure::of_call(&error, WRITE_FIELDS)),
    }
    let read =
        Read { target: target.clone(), mode: ReadMode::Screen, limit: Some(SCREEN), ..Read::default() };
    context.request::<verb::Read>(WRITE_FIELDS, read).await
}

async fn answer(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let item = arguments.count("dialog_id").unwrap_or_default();
    let request =
        GiveAnswer { item, choice: arguments.required("choice").to_owned(), ..GiveAnswer::default() };
    let fields = &[("item", "dialog_id"), ("choice", "choice")];
    context.request::<verb::Answer>(fields, request).await?;
    Ok(json!({"dialog_id": item, "answered": true}).into())
}
