//! `read` and `search`: text of a screen, of its history, of its log.
//!
//! Owns the limits and the truth about what they cut off. Refuses working on the async tasks' time: text is made on
//! the blocking pool, under the screen's short lock.

use std::sync::Arc;
use std::time::Duration;

use engine::{Located, Verb};
use holder::ReadOutcome;
use proto::reply::{CursorView, Match, Matches, Text};
use proto::request::{Read, ReadMode, Search};
use proto::{ErrorCode, Failure, Reply, Size};
use term::{LineId, Screen, TextStream, Wraps};

use super::connection::Client;
use super::dispatch::locate;
use crate::pattern;
use crate::screens::ScreenHandle;

const DEFAULT_LIMIT: usize = 12_000;
const MAX_LIMIT: usize = 65_536;
const DEFAULT_MATCHES: usize = 100;
const MAX_MATCHES: usize = 1_000;
/// Log bytes that are turned into text for one read, however little text they make.
const MAX_RAW: u64 = 4 << 20;
/// How long a read waits for the screen to show what was printed before it.
const CATCH_UP: Duration = Duration::from_secs(5);

pub(super) async fn read(client: &Client, wish: Read) -> Result<Reply, Failure> {
    let limit = match wish.limit {
        Some(0) => return Err(Failure::invalid("limit", "at least 1")),
        Some(limit) => (limit as usize).min(MAX_LIMIT),
        None => DEFAULT_LIMIT,
    };
    let handle = hosted(client, &locate(client, wish.target, Verb::Read).await?)?;
    let caught_up = catch_up(&handle).await;
    let wraps = if wish.join { Wraps::Join } else { Wraps::Keep };
    blocking(move || match wish.mode {
        ReadMode::Screen => read_screen(&handle, caught_up, wraps, limit),
        ReadMode::History => read_history(&handle, wish.since, wraps, limit),
        ReadMode::Stream => read_stream(&handle, wish.since, limit),
    })
    .await
    .map(Reply::Text)
}

pub(super) async fn search(client: &Client, wish: Search) -> Result<Reply, Failure> {
    let limit = match wish.limit {
        Some(0) => return Err(Failure::invalid("limit", "at least 1")),
        Some(limit) => (limit as usize).min(MAX_MATCHES),
        None => DEFAULT_MATCHES,
    };
    let regex = pattern::compile(&wish.pattern)?;
    let handle = hosted(client, &locate(client, wish.target, Verb::Read).await?)?;
    catch_up(&handle).await;
    blocking(move || {
        let screen = handle.screen();
        let range = screen.first_line()..screen.next_line();
        let found = screen.search(&regex, range, limit + 1);
        drop(screen);
        let truncated = found.len() > limit;
        let found = found.into_iter().take(limit);
        let matches =
            found.map(|m| Match { line: m.line.0, start: m.start, end: m.end, text: m.text }).collect();
        Reply::Matches(Matches { matches, truncated })
    })
    .await
}

/// The run's data, unless it is gone with its holder.
pub(super) fn hosted(client: &Client, located: &Located) -> Result<Arc<ScreenHandle>, Failure> {
    client.door.screens.find(located.run).ok_or_else(|| {
        let message = format!("{} has no screen: its run is gone", located.name);
        Failure::new(ErrorCode::NotRunning, message).hint("qd restart starts it again")
    })
}

/// Waits until everything that was printed before this call is on the screen, as after a restart, when a replay is still
/// going on; the offset up to which it is.
async fn catch_up(handle: &ScreenHandle) -> u64 {
    let end = handle.ring.end();
    let mut progress = handle.progress.subscribe();
    let caught_up = progress.wait_for(|progress| progress.seen >= end || progress.is_over);
    // A machine that drowns shows what it has; the offset tells how much that is.
    let is_late = tokio::time::timeout(CATCH_UP, caught_up).await.is_err();
    if is_late { handle.progress.borrow().seen.min(end) } else { end }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("reading failed: {error}")))
}

fn describe(screen: &Screen, mode: ReadMode) -> Text {
    let (cursor, size) = (screen.cursor(), screen.size());
    Text {
        mode,
        text: String::new(),
        version: screen.version(),
        cursor: CursorView { col: cursor.col, row: cursor.row, visible: cursor.visible },
        size: Size { cols: size.cols, rows: size.rows },
        offset: 0,
        missed: 0,
        truncated: false,
        alternate: screen.is_alternate(),
        title: screen.title().to_owned(),
    }
}

fn read_screen(handle: &ScreenHandle, caught_up: u64, wraps: Wraps, limit: usize) -> Text {
    let screen = handle.screen();
    let mut reply = describe(&screen, ReadMode::Screen);
    reply.text = screen.text(wraps);
    drop(screen);
    reply.offset = caught_up;
    reply.truncated = keep_end(&mut reply.text, limit);
    reply
}

/// Lines from `since`, or the newest that fit.
fn read_history(handle: &ScreenHandle, since: Option<u64>, wraps: Wraps, limit: usize) -> Text {
    let screen = handle.screen();
    let mut reply = describe(&screen, ReadMode::History);
    let (first, next) = (screen.first_line(), screen.next_line());
    let from = since.map_or(first, |since| LineId(since.clamp(first.0, next.0)));
    // A line of text has at least its line feed, so more than `limit` lines never fit.
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    let range = match since {
        Some(_) => from..LineId(next.0.min(from.0.saturating_add(most))),
        None => LineId(next.0.saturating_sub(most).max(first.0))..next,
    };
    let lines = screen.lines(range, wraps);
    drop(screen);
    reply.missed = since.map_or(0, |since| first.0.saturating_sub(since));
    reply.offset = next.0;
    if since.is_none() {
        reply.text = lines.iter().map(|line| format!("{}\n", line.text)).collect();
        reply.truncated = keep_end(&mut reply.text, limit);
        return reply;
    }
    for line in lines {
        if reply.text.len() + line.text.len() + 1 > limit && !reply.text.is_empty() {
            reply.truncated = true;
            reply.offset = line.id.0;
            break;
        }
        reply.text.push_str(&line.text);
        reply.text.push('\n');
    }
    reply
}

/// Log text from `since`, or the newest that fits.
fn read_stream(handle: &ScreenHandle, since: Option<u64>, limit: usize) -> Text {
    let mut reply = describe(&handle.screen(), ReadMode::Stream);
    let (start, end) = (handle.ring.start(), handle.ring.end());
    let from = since.unwrap_or_else(|| end.saturating_sub(limit as u64 * 4)).clamp(start, end);
    reply.missed = since.map_or(0, |since| start.saturating_sub(since));
    let (mut at, mut stream) = (from, TextStream::default());
    let mut buffer = vec![0; 32 * 1024];
    while at < end && at - from < MAX_RAW && (since.is_none() || reply.text.len() < limit) {
        let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        match handle.ring.read(at, &mut buffer[..most]) {
            ReadOutcome::Bytes(0) => break,
            ReadOutcome::Bytes(count) => {
                // By lines, so that a read cut off by the limit goes on at a line's beginning.
                for line in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
                    if since.is_some() && reply.text.len() >= limit {
                        break;
                    }
                    reply.text.push_str(&stream.feed(line));
                    at += line.len() as u64;
                }
            }
            ReadOutcome::Missed { resume_at } => {
                reply.missed += resume_at - at;
                at = resume_at;
            }
        }
    }
    reply.text.push_str(&stream.finish());
    reply.offset = at;
    reply.truncated =
        if since.is_none() { keep_end(&mut reply.text, limit) || from > start } else { at < end };
    reply
}

/// Cuts a text to its last `limit` bytes; whether something was cut off.
fn keep_end(text: &mut String, limit: usize) -> bool {
    let Some(mut cut) = text.len().checked_sub(limit).filter(|cut| *cut > 0) else { return false };
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
    true
}

#[cfg(test)]
mod tests {
    use super::keep_end;

    #[test]
    fn a_text_is_cut_at_a_character() {
        let mut text = "aäb".to_owned();
        assert!(keep_end(&mut text, 2));
        assert_eq!(text, "b");
        assert!(!keep_end(&mut text, 1));
    }
}
