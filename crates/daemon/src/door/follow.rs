//! `follow`: the log by offset, every byte once, every gap told.
//!
//! Owns one reader's place in the log. Refuses slowing the child: what was overwritten before it was read is a gap.

use engine::Verb;
use holder::ReadOutcome;
use proto::event::Notice;
use proto::frame::{DataKind, encode_data};
use proto::process::LogSpan;
use proto::reply::{Following, ServerLine};
use proto::request::Follow;
use proto::{Failure, Reply, Size};

use super::connection::Client;
use super::{dispatch::locate, read::hosted};
use crate::screens::ScreenHandle;

/// Bytes sent in one frame.
const PIECE: usize = 64 * 1024;

/// Serves a follower until its stream ends or it goes.
pub(super) async fn serve(client: Client, id: u64, wish: Follow) {
    match begin(&client, id, &wish).await {
        Ok((handle, reply)) => {
            let (stream, end) = (reply.stream, reply.log.end);
            let from = wish.from.unwrap_or(reply.log.start);
            if client.answer(id, Ok(Reply::Following(reply))).await {
                let until = if wish.live { None } else { Some(end) };
                stream_log(&client, &handle, stream, from, until).await;
            }
        }
        Err(failure) => drop(client.answer(id, Err(failure)).await),
    }
}

async fn begin(
    client: &Client,
    id: u64,
    wish: &Follow,
) -> Result<(std::sync::Arc<ScreenHandle>, Following), Failure> {
    let located = locate(client, wish.target.clone(), Verb::Read).await?;
    let handle = hosted(client, &located)?;
    let log = LogSpan { start: handle.ring.start(), end: handle.ring.end() };
    if wish.from.is_some_and(|from| from > log.end) {
        return Err(Failure::invalid("from", format!("the log ends at {}", log.end)));
    }
    let Size { cols, rows } = located.size;
    let size = Size { cols, rows };
    let stream = u32::try_from(id & u64::from(u32::MAX)).unwrap_or(0);
    Ok((handle, Following { id: located.run.process, run: located.run.run, stream, log, size }))
}

/// Sends everything from `at` to `until`, or to the end of the run.
async fn stream_log(client: &Client, handle: &ScreenHandle, stream: u32, mut at: u64, until: Option<u64>) {
    let mut progress = handle.progress.subscribe();
    let mut buffer = vec![0; PIECE];
    loop {
        let now = *progress.borrow_and_update();
        let end = until.unwrap_or_else(|| handle.ring.end());
        while at < end {
            let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(PIECE);
            let is_sent = match handle.ring.read(at, &mut buffer[..most]) {
                ReadOutcome::Bytes(0) => break,
                ReadOutcome::Bytes(count) => {
                    let mut frame = Vec::with_capacity(count + proto::frame::HEADER);
                    encode_data(&mut frame, DataKind::Output, stream, at, &buffer[..count]);
                    at += count as u64;
                    client.out.send(frame).await.is_ok()
                }
                ReadOutcome::Missed { resume_at } => {
                    let to = until.map_or(resume_at, |until| until.min(resume_at));
                    let gap = Notice::Gap { stream, from: at, to };
                    at = to;
                    client.say(&ServerLine::Notice(gap)).await
                }
            };
            if !is_sent {
                return;
            }
        }
        let is_complete = until.is_some() || now.is_over || now.exited_at.is_some_and(|end| at >= end);
        if is_complete {
            let reason = if until.is_some() { "complete" } else { "exited" };
            let notice = Notice::End { stream, reason: reason.to_owned() };
            client.say(&ServerLine::Notice(notice)).await;
            return;
        }
        tokio::select! {
            changed = progress.changed() => if changed.is_err() { return },
            () = client.out.closed() => return,
        }
    }
}
