//! Tools that read what processes show and print, in small parts with cursors. Results contain no escape
//! sequences: text comes from the emulator, and raw bytes are escaped.

use client::{CallError, CallOptions, Incoming};
use proto::frame::DataKind;
use proto::reply::Text;
use proto::request::{Empty, Follow, Read, ReadMode, RunChoice, Search, Target};
use proto::{Notice, verb};
use serde_json::{Map, Value, json};

use super::{TARGET, Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, PROCESS, Shape, may, must};
use crate::failure::ToolFailure;
use crate::pages::MAX_ANSWER;
use crate::views::{put, shortened};

/// The default amount of text.
const DEFAULT_LIMIT: i64 = 12_000;
/// The most text that a caller may ask for.
const MAX_LIMIT: i64 = 16_000;
/// The most raw bytes: one of them may take five characters of JSON.
const MAX_RAW: i64 = 3_600;
/// Most matches.
const MAX_MATCHES: i64 = 200;
/// The least text that a caller may ask for: the longest character.
const MIN_LIMIT: i64 = 4;
/// The most bytes of matching lines: quotes and backslashes take two characters in JSON.
const MATCH_BYTES: u32 = 12_000;

const SINCE: &str = "From an answer's offset on.";

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "get_process_output",
        title: "Read output",
        says: "Read a process: screen (what it shows now), history (rendered lines, scrollback included) or stream \
               (everything it printed, as text). Without since: the newest.",
        fields: &[
            PROCESS,
            may("mode", Shape::OneOf(&["screen", "stream", "history"]), "Default: screen."),
            may("since", Shape::Integer(0, i64::MAX), SINCE),
            may("until", Shape::Integer(0, i64::MAX), "End before this."),
            may("limit", Shape::Integer(MIN_LIMIT, MAX_LIMIT), "Bytes of text; default 12000."),
            may("run", Shape::Integer(0, i64::MAX), "An earlier run; 0: the last one."),
        ],
        gives: "text: string, offset: integer, version: integer, missed?: integer, truncated?: boolean, \
                title?: string, cursor?: object, alternate?: boolean, first_line?: integer, \
                cut?: integer",
        effect: ToolEffect::Reads,
        is_core: true,
        run: |context, arguments| Box::pin(read(context, arguments)),
    },
    Tool {
        name: "get_process_raw_output",
        title: "Read raw bytes",
        says: "The bytes a process printed, escape sequences included, written as \\xNN.",
        fields: &[
            PROCESS,
            may("since", Shape::Integer(0, i64::MAX), SINCE),
            may("limit", Shape::Integer(1, MAX_RAW), "Bytes; default 3600."),
        ],
        gives: "bytes: string, start: integer, offset: integer, end: integer, missed?: integer",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(raw(context, arguments)),
    },
    Tool {
        name: "search_output",
        title: "Search output",
        says: "Find a regular expression in the rendered lines of a process, scrollback included.",
        fields: &[
            PROCESS,
            must("pattern", Shape::Text(1024), ""),
            may("limit", Shape::Integer(1, MAX_MATCHES), "Most matches; default 50."),
        ],
        gives: "matches: [object], truncated?: boolean",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(search(context, arguments)),
    },
];

async fn read(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let mode = match arguments.text("mode") {
        Some("stream") => ReadMode::Stream,
        Some("history") => ReadMode::History,
        _ => ReadMode::Screen,
    };
    for field in ["since", "until"] {
        if mode == ReadMode::Screen && arguments.has(field) {
            return Err(ToolFailure::invalid(
                field,
                "the screen shows only the present; use mode stream or history",
            ));
        }
    }
    let mut limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    loop {
        let request = Read {
            target: arguments.required("process").into(),
            mode,
            since: arguments.count("since"),
            until: arguments.count("until"),
            limit: u32::try_from(limit).ok(),
            join: mode != ReadMode::Screen,
            run: run(arguments),
            ..Read::default()
        };
        let text = context.request::<verb::Read>(TARGET, request).await?;
        let answer = Value::Object(to_value(text));
        // Quotes and backslashes take two characters in JSON: such a text is requested again with a smaller
        // limit. The daemon keeps to the limit, so a small one always fits.
        if answer.to_string().len() <= MAX_ANSWER || limit <= 2 * MIN_LIMIT {
            return Ok(answer.into());
        }
        limit /= 2;
    }
}

/// Returns the run to read.
fn run(arguments: &Arguments) -> RunChoice {
    match arguments.integer("run") {
        None => RunChoice::Present,
        Some(0) => RunChoice::Previous,
        // No run has such a high number: the daemon says so.
        Some(number) => RunChoice::Number(u32::try_from(number).unwrap_or(u32::MAX)),
    }
}

fn to_value(text: Text) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("text".to_owned(), json!(text.text));
    put(&mut answer, "offset", json!(text.offset));
    put(&mut answer, "version", json!(text.version));
    put(&mut answer, "title", json!(shortened(&text.title, 200)));
    if text.missed > 0 {
        put(&mut answer, "missed", json!(text.missed));
    }
    if text.truncated {
        put(&mut answer, "truncated", json!(true));
    }
    if text.cut > 0 {
        put(&mut answer, "cut", json!(text.cut));
    }
    put(&mut answer, "first_line", json!(text.first_line));
    if text.mode == ReadMode::Screen {
        put(&mut answer, "cursor", json!(text.cursor));
        put(&mut answer, "alternate", json!(text.alternate));
    }
    answer
}

/// Bytes of a log between two offsets.
struct LogPiece {
    start: u64,
    end: u64,
    missed: u64,
    bytes: Vec<u8>,
}

async fn raw(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let target: Target = arguments.required("process").into();
    let limit = usize::try_from(arguments.integer("limit").unwrap_or(MAX_RAW)).unwrap_or_default();
    let since = arguments.count("since");
    let piece = piece(context, &target, since, limit).await?;
    let mut answer = Map::new();
    answer.insert("bytes".to_owned(), json!(piece.bytes.escape_ascii().to_string()));
    put(&mut answer, "start", json!(piece.start));
    put(&mut answer, "offset", json!(piece.start + piece.bytes.len() as u64));
    put(&mut answer, "end", json!(piece.end));
    if piece.missed > 0 {
        put(&mut answer, "missed", json!(piece.missed));
    }
    Ok(Value::Object(answer).into())
}

/// Follows the log until it has `limit` bytes; the newest ones when the caller gives no start.
async fn piece(
    context: &ToolContext,
    target: &Target,
    since: Option<u64>,
    limit: usize,
) -> Result<LogPiece, ToolFailure> {
    let from = match since {
        Some(since) => Some(since),
        None => newest(context, target, limit).await?,
    };
    let request = Follow { target: target.clone(), from, ..Follow::default() };
    let opened = context.daemon.open::<verb::Follow>(CallOptions::default(), request).await;
    let (mut connection, began) = opened.map_err(|error| ToolFailure::of_call(&error, TARGET))?;
    let from = from.unwrap_or(began.log.start);
    let start = from.clamp(began.log.start, began.log.end);
    let mut piece =
        LogPiece { start, end: began.log.end, missed: start.saturating_sub(from), bytes: Vec::new() };
    while piece.bytes.len() < limit {
        match connection.receive().await {
            Ok(Some(Incoming::Data(data))) if data.kind == DataKind::Output => {
                if piece.bytes.is_empty() {
                    piece.missed += data.offset.saturating_sub(piece.start);
                    piece.start = data.offset;
                }
                piece.bytes.extend_from_slice(&data.bytes);
            }
            Ok(None | Some(Incoming::Notice(Notice::End { .. }))) => break,
            Ok(Some(_)) => {}
            Err(error) => {
                return Err(ToolFailure::of_call(&CallError::Unreachable(error.to_string()), TARGET));
            }
        }
    }
    piece.bytes.truncate(limit);
    Ok(piece)
}

/// Returns where the newest `limit` bytes begin; `None` when the list does not show it.
async fn newest(context: &ToolContext, target: &Target, limit: usize) -> Result<Option<u64>, ToolFailure> {
    let all = context.request::<verb::List>(&[], Empty {}).await?;
    let view = all.iter().find(|view| view.id.to_string() == target.0 || view.name.as_str() == target.0);
    Ok(view.map(|view| view.live.log.end.saturating_sub(limit as u64).max(view.live.log.start)))
}

async fn search(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = Search {
        target: arguments.required("process").into(),
        pattern: arguments.required("pattern").to_owned(),
        limit: u32::try_from(arguments.integer("limit").unwrap_or(50)).ok(),
        bytes: Some(MATCH_BYTES),
    };
    let fields = &[("target", "process"), ("pattern", "pattern"), ("limit", "limit")];
    let found = context.request::<verb::Search>(fields, request).await?;
    let (mut matches, mut size, mut is_cut) = (Vec::new(), 0, found.truncated);
    for hit in found.matches {
        let row = json!({"line": hit.line, "text": hit.text});
        size += row.to_string().len() + 1;
        if size > MAX_ANSWER - 100 {
            is_cut = true;
            break;
        }
        matches.push(row);
    }
    let mut answer = Map::from_iter([("matches".to_owned(), json!(matches))]);
    if is_cut {
        put(&mut answer, "truncated", json!(true));
    }
    Ok(Value::Object(answer).into())
}
