//! Talking to agents: messages, receipts and results.
//!
//! Owns the keys that make sending safe to repeat, and the list of what was sent. Refuses hope: what is told of a message
//! is what the daemon's receipt says.

use std::sync::PoisonError;

use client::{ClientError, Connection};
use proto::agent::{MailId, Receipt, Turn};
use proto::request::{AskReceipt, AskResult, Tell};
use serde_json::{Map, Value, json};

use super::{Bench, Effect, Outcome, Tool};
use crate::failure::ToolFailure;
use crate::fields::{Arguments, PROCESS, Shape, may, must};
use crate::link::{Manner, fresh_key};
use crate::pages;
use crate::views::put;

/// Longest message.
const MAX_MESSAGE: usize = 16 << 10; // 16 KiB
/// How long a receipt is waited for when nobody says: an idle agent takes a message within a second or two.
const DEFAULT_WAIT_MS: u64 = 5_000;
/// Longest wait for a receipt, in seconds.
const MAX_WAIT: f64 = 40.0;
/// How many sent messages are remembered.
const MAX_SENT: usize = 64;
const TELL_FIELDS: &[(&str, &str)] = &[("target", "target"), ("text", "message"), ("key", "key")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "send_message",
        title: "Send a message",
        says: "Give an agent a message. It is delivered when the agent can take it, never into a dialog. The receipt \
               says queued, submitted (with the turn it began), delivered, refused, expired or unknown; get_result(turn) has \
               the answer.",
        fields: &[
            must("target", Shape::Text(64), "An agent's id or name."),
            must("message", Shape::Text(MAX_MESSAGE), "At most 16 KiB."),
            may("key", Shape::Text(128), "The same key again sends nothing twice."),
            may("wait", Shape::Seconds(MAX_WAIT), "How long to wait for delivery; default 5."),
        ],
        gives: "message_id: integer, to: string, status: string, turn?: integer, reason?: string",
        effect: Effect::Adds,
        is_core: true,
        run: |bench, arguments| Box::pin(send(bench, arguments)),
    },
    Tool {
        name: "get_messages",
        title: "Receipts",
        says: "What became of a message, or of all you sent through this connection.",
        fields: &[may("message_id", Shape::Integer(0, i64::MAX), "Only this one.")],
        gives: "messages: [object]",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(receipts(bench, arguments)),
    },
    Tool {
        name: "get_result",
        title: "Result of a turn",
        says: "What an agent said at the end of a turn; without turn, of the newest that is over. end is running, \
               done, interrupted, failed or exited.",
        fields: &[PROCESS, may("turn", Shape::Integer(1, i64::MAX), ""), pages::SINCE_BYTE],
        gives: "id: string, turn: integer, end: string, text: string, source?: string, offset?: integer, \
                truncated?: boolean, message_id?: integer",
        effect: Effect::Reads,
        is_core: false,
        run: |bench, arguments| Box::pin(result(bench, arguments)),
    },
];

async fn send(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let key = match arguments.text("key") {
        Some(key) => key.to_owned(),
        None => fresh_key()?,
    };
    let wait_ms = arguments.millis("wait").unwrap_or(DEFAULT_WAIT_MS);
    let tell = Tell {
        target: arguments.required("target").into(),
        text: arguments.required("message").to_owned(),
        key: Some(key),
        wait_ms: Some(wait_ms),
        expires_ms: None,
    };
    // Its key makes a message safe to send again, so a daemon that goes away in the middle is no matter.
    let manner = Manner::KEYED.lasting(std::time::Duration::from_millis(wait_ms));
    let receipt = bench.ask(manner, TELL_FIELDS, move |connection| connection.tell(tell.clone())).await?;
    remember(bench, receipt.mail);
    Ok(told(&receipt)?.into())
}

fn remember(bench: &Bench, mail: MailId) {
    let mut sent = bench.sent.lock().unwrap_or_else(PoisonError::into_inner);
    if sent.contains(&mail) {
        return;
    }
    if sent.len() >= MAX_SENT {
        sent.pop_front();
    }
    sent.push_back(mail);
}

fn told(receipt: &Receipt) -> Result<Value, ToolFailure> {
    let wire =
        serde_json::to_value(receipt).map_err(|error| ToolFailure::new("internal", error.to_string()))?;
    let mut answer = Map::new();
    put(&mut answer, "message_id", json!(receipt.mail));
    for name in ["to", "status", "turn", "reason"] {
        put(&mut answer, name, wire.get(name).cloned().unwrap_or_default());
    }
    Ok(Value::Object(answer))
}

async fn receipts(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let wanted: Vec<MailId> = match arguments.count("message_id") {
        Some(mail) => vec![MailId(mail)],
        None => bench.sent.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect(),
    };
    let is_one = arguments.has("message_id");
    let work = move |connection: &mut Connection| {
        let mut found = Vec::new();
        for mail in &wanted {
            match connection.receipt(AskReceipt { mail: *mail }) {
                Ok(receipt) => found.push(receipt),
                // One of many that is no longer known is left out; the one asked for is an error.
                Err(ClientError::Failed(_)) if !is_one => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    };
    let found = bench.ask(Manner::QUESTION, &[("mail", "message_id")], work).await?;
    let messages: Vec<Value> = found.iter().map(told).collect::<Result<_, _>>()?;
    Ok(json!({ "messages": messages }).into())
}

async fn result(bench: &Bench, arguments: &Arguments) -> Result<Outcome, ToolFailure> {
    let wish = AskResult { target: arguments.required("process").into(), turn: arguments.count("turn") };
    let fields = &[("target", "process"), ("turn", "turn")];
    let turn = bench.ask(Manner::QUESTION, fields, move |connection| connection.result(wish.clone())).await?;
    let since = pages::start(arguments.count("since"), &turn.text)?;
    Ok(Value::Object(turn_told(&turn, since)).into())
}

/// A turn with as much of its text, from this byte on, as fits an answer.
pub(crate) fn turn_told(turn: &Turn, since: usize) -> Map<String, Value> {
    let mut base = Map::new();
    put(&mut base, "id", json!(turn.id));
    put(&mut base, "turn", json!(turn.turn));
    put(&mut base, "end", json!(turn.end));
    put(&mut base, "source", json!(turn.from));
    put(&mut base, "message_id", json!(turn.mail));
    pages::piece(&base, "text", &turn.text, since)
}
