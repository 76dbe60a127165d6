//! Tools for talking to agents: messages, receipts and results.
//!
//! Idempotency keys make sending safe to repeat. The result of sending is the daemon's receipt.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use client::reconnect_policy::fresh_key;
use client::{CallError, CallOptions};
use proto::agent::{MailId, Receipt, Turn};
use proto::request::{AskReceipt, AskResult, CancelMessage, Interrupt, Target, Tell};
use proto::verb;
use serde_json::{Map, Value, json};

use super::lifecycle::find;
use super::{TARGET, Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, PROCESS, Shape, may, must};
use crate::failure::ToolFailure;
use crate::pages;
use crate::views::put;

/// Longest message.
const MAX_MESSAGE: usize = 16 << 10; // 16 KiB
/// The default wait for a receipt: an idle agent accepts a message within a second or two.
const DEFAULT_WAIT_MS: u64 = 5_000;
/// Longest wait for a receipt, in seconds.
const MAX_WAIT: f64 = 40.0;
/// The most sent messages that are remembered.
const MAX_SENT: usize = 64;
const TELL_FIELDS: &[(&str, &str)] = &[("target", "target"), ("text", "message"), ("key", "key")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "send_message",
        title: "Send a message",
        says: "Give agents a message. It is delivered when the agent can take it, never into a dialog. The receipt \
               says queued, submitted (with the turn it began), delivered, refused, expired or unknown; get_result(turn) \
               has the answer.",
        fields: &[
            may("target", Shape::Text(64), "An agent's id or name."),
            may("targets", Shape::Texts(64), "Or several: receipts has one each."),
            must("message", Shape::Text(MAX_MESSAGE), "At most 16 KiB."),
            may("key", Shape::Text(128), "The same key again sends nothing twice."),
            may("wait", Shape::Seconds(MAX_WAIT), "How long to wait for delivery; default 5."),
        ],
        gives: "message_id?: integer, target?: string, status?: string, turn?: integer, reason?: string, \
                receipts?: [object]",
        effect: ToolEffect::Adds,
        is_core: true,
        run: |context, arguments| Box::pin(send(context, arguments)),
    },
    Tool {
        name: "get_messages",
        title: "Receipts",
        says: "What became of a message, or of all you sent through this connection.",
        fields: &[may("message_id", Shape::Integer(0, i64::MAX), "Only this one.")],
        gives: "messages: [object]",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(receipts(context, arguments)),
    },
    Tool {
        name: "cancel_message",
        title: "Take a message back",
        says: "Take back a message that is still queued.",
        fields: &[must("message_id", Shape::Integer(0, i64::MAX), "")],
        gives: "message_id: integer, target: string, status: string, reason?: string",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(cancel(context, arguments)),
    },
    Tool {
        name: "interrupt_agent",
        title: "Interrupt",
        says: "End an agent's turn; the agent stays. Answers when the turn is over.",
        fields: &[PROCESS],
        gives: "id: string, interrupted: boolean",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(interrupt(context, arguments)),
    },
    Tool {
        name: "get_result",
        title: "Result of a turn",
        says: "What an agent said at the end of a turn; without turn, of the newest that is over. end is running, \
               done, interrupted, failed or exited.",
        fields: &[PROCESS, may("turn", Shape::Integer(1, i64::MAX), ""), pages::SINCE_BYTE],
        gives: "id: string, turn: integer, end: string, text: string, source?: string, offset?: integer, \
                truncated?: boolean, message_id?: integer",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(result(context, arguments)),
    },
];

async fn send(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let key = match arguments.text("key") {
        Some(key) => key.to_owned(),
        None => fresh_key(),
    };
    let wait_ms = wait_ms(arguments);
    match (arguments.text("target"), arguments.texts("targets")) {
        (Some(target), None) => Ok(tell(context, arguments, target, key, wait_ms).await?.into()),
        (None, Some(targets)) => tell_many(context, arguments, &targets, &key).await,
        (None, None) => Err(ToolFailure::invalid("target", "missing: give target or targets")),
        (Some(_), Some(_)) => Err(ToolFailure::invalid("targets", "give target or targets, not both")),
    }
}

/// Sends one message to several agents at once: each has a receipt or an error of its own.
async fn tell_many(
    context: &ToolContext,
    arguments: &Arguments,
    targets: &[String],
    key: &str,
) -> Result<ToolOutcome, ToolFailure> {
    let is_twice = |place: usize, target: &String| targets.iter().take(place).any(|before| before == target);
    if let Some((_, twice)) = targets.iter().enumerate().find(|(place, target)| is_twice(*place, target)) {
        return Err(ToolFailure::invalid("targets", format!("{twice} is there twice")));
    }
    // All messages are queued first. Sending again under the same key sends nothing and waits for the
    // receipt.
    let until = Instant::now() + Duration::from_millis(wait_ms(arguments));
    for target in targets {
        drop(tell(context, arguments, target, key.to_owned(), 0).await);
    }
    let mut receipts = Vec::new();
    for target in targets {
        let left = until.saturating_duration_since(Instant::now());
        let left = u64::try_from(left.as_millis()).unwrap_or_default();
        receipts.push(match tell(context, arguments, target, key.to_owned(), left).await {
            Ok(receipt) => receipt,
            Err(failure) => {
                let mut to_value = failure.to_json();
                to_value["target"] = json!(crate::views::shortened(target, 64));
                to_value
            }
        });
    }
    Ok(json!({ "receipts": receipts }).into())
}

/// Returns how long to wait for receipts.
fn wait_ms(arguments: &Arguments) -> u64 {
    arguments.millis("wait").unwrap_or(DEFAULT_WAIT_MS)
}

async fn tell(
    context: &ToolContext,
    arguments: &Arguments,
    target: &str,
    key: String,
    wait_ms: u64,
) -> Result<Value, ToolFailure> {
    let tell = Tell {
        target: target.into(),
        text: arguments.required("message").to_owned(),
        key: Some(key),
        wait_ms: Some(wait_ms),
        expires_ms: None,
    };
    let options = CallOptions::default().lasting(Duration::from_millis(wait_ms));
    let sent = context.daemon.request_with::<verb::Tell>(options, tell).await;
    let receipt = sent.map_err(|error| ToolFailure::of_call(&error, TELL_FIELDS))?;
    remember(context, receipt.mail);
    to_value(&receipt)
}

async fn cancel(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = CancelMessage { mail: MailId(arguments.count("message_id").unwrap_or_default()) };
    let receipt = context.request::<verb::CancelMessage>(&[("mail", "message_id")], request).await?;
    Ok(to_value(&receipt)?.into())
}

async fn interrupt(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let id = find(context, arguments.required("process")).await?.id;
    let request = Interrupt { target: Target(id.to_string()) };
    context.request::<verb::Interrupt>(TARGET, request).await?;
    Ok(json!({"id": id, "interrupted": true}).into())
}

fn remember(context: &ToolContext, mail: MailId) {
    let mut sent = context.sent.lock().unwrap_or_else(PoisonError::into_inner);
    if sent.contains(&mail) {
        return;
    }
    if sent.len() >= MAX_SENT {
        sent.pop_front();
    }
    sent.push_back(mail);
}

fn to_value(receipt: &Receipt) -> Result<Value, ToolFailure> {
    let wire =
        serde_json::to_value(receipt).map_err(|error| ToolFailure::new("internal", error.to_string()))?;
    let mut answer = Map::new();
    put(&mut answer, "message_id", json!(receipt.mail));
    put(&mut answer, "target", json!(receipt.to));
    for name in ["status", "turn", "reason"] {
        put(&mut answer, name, wire.get(name).cloned().unwrap_or_default());
    }
    Ok(Value::Object(answer))
}

async fn receipts(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let wanted: Vec<MailId> = match arguments.count("message_id") {
        Some(mail) => vec![MailId(mail)],
        None => context.sent.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect(),
    };
    let is_one = arguments.has("message_id");
    let mut found = Vec::new();
    for mail in wanted {
        match context.daemon.request::<verb::Receipt>(AskReceipt { mail }).await {
            Ok(receipt) => found.push(receipt),
            // One of many that is no longer known is left out; for the one that the caller named it is an
            // error.
            Err(CallError::Refused(_)) if !is_one => {}
            Err(error) => return Err(ToolFailure::of_call(&error, &[("mail", "message_id")])),
        }
    }
    let messages: Vec<Value> = found.iter().map(to_value).collect::<Result<_, _>>()?;
    Ok(json!({ "messages": messages }).into())
}

async fn result(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let view = find(context, arguments.required("process")).await?;
    if view.agent.as_ref().is_some_and(|agent| agent.turn == 0) {
        let message = format!("{} has had no turn yet", view.name);
        return Err(ToolFailure::new("not_found", message).hint("send_message gives it one"));
    }
    let request = AskResult { target: Target(view.id.to_string()), turn: arguments.count("turn") };
    // The process exists: what is not found or not over is the turn.
    let fields: &[(&str, &str)] = &[("turn", "turn"), ("target", "process")];
    let turn = context.request::<verb::Result>(fields, request).await?;
    let since = pages::start(arguments.count("since"), &turn.text)?;
    Ok(Value::Object(turn_told(&turn, since)).into())
}

/// Returns a turn with as much of its text, from this byte on, as fits a result.
pub(crate) fn turn_told(turn: &Turn, since: usize) -> Map<String, Value> {
    let mut base = Map::new();
    put(&mut base, "id", json!(turn.id));
    put(&mut base, "turn", json!(turn.turn));
    put(&mut base, "end", json!(turn.end));
    put(&mut base, "source", json!(turn.from));
    put(&mut base, "message_id", json!(turn.mail));
    pages::piece(&base, "text", &turn.text, since)
}
