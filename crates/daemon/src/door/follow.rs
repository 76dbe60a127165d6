//! `follow`: the log by offset, every byte once, every gap told.
//!
//! Owns one reader's place in the log. Refuses slowing the child: what was overwritten before it was read is a gap.

use std::sync::Arc;

use engine::Verb;
use holder::ReadOutcome;
use proto::event::Notice;
use proto::frame::{DataKind, encode_data};
use proto::process::LogSpan;
use proto::reply::{Following, ServerLine};
use proto::request::Follow;
use proto::{Exit, ExitReason, Failure, Reply, Size};

use super::connection::Client;
use super::{dispatch::locate, read::hosted};
use crate::screens::ScreenHandle;

/// Bytes sent in one frame.
const PIECE: usize = 64 * 1024;

/// Serves a follower until its stream ends or it goes.
pub(super) async fn serve(client: Client, id: u64, wish: Follow) {
    match begin(&client, id, &wish).await {
        Ok((place, reply)) => {
            if client.answer(id, Ok(Reply::Following(reply))).await {
                place.stream_log(&client).await;
            }
        }
        Err(failure) => drop(client.answer(id, Err(failure)).await),
    }
}

async fn begin(client: &Client, id: u64, wish: &Follow) -> Result<(Place, Following), Failure> {
    let located = locate(client, wish.target.clone(), Verb::Read).await?;
    let handle = hosted(client, &located)?;
    let log = LogSpan { start: handle.ring.start(), end: handle.ring.end() };
    if wish.from.is_some_and(|from| from > log.end) {
        return Err(Failure::invalid("from", format!("the log ends at {}", log.end)));
    }
    // What the terminal has, which may not yet be what it was told to have.
    let size = handle.progress.borrow().size.unwrap_or(located.size);
    let stream = u32::try_from(id & u64::from(u32::MAX)).unwrap_or(0);
    let until = if wish.live { None } else { Some(log.end) };
    // Whoever names no place wants everything: what is gone of it is told as a gap.
    let place = Place { handle, stream, at: wish.from.unwrap_or(0), until, size, exit: located.exit };
    Ok((place, Following { id: located.run.process, run: located.run.run, stream, log, size }))
}

/// One follower's place in the log.
struct Place {
    handle: Arc<ScreenHandle>,
    stream: u32,
    at: u64,
    /// Where it ends; none: with the run.
    until: Option<u64>,
    /// The size that it was told last.
    size: Size,
    /// How the run had ended when it began.
    exit: Option<Exit>,
}

impl Place {
    /// Sends everything up to where it ends, then how the run ended if that is where.
    async fn stream_log(mut self, client: &Client) {
        let mut progress = self.handle.progress.subscribe();
        let mut buffer = vec![0; PIECE];
        loop {
            let now = *progress.borrow_and_update();
            // The size first: what a child prints because of it comes after it.
            if !self.send_size(client, now.size).await || !self.send_log(client, &mut buffer).await {
                return;
            }
            if self.until.is_some() {
                return self.end(client, "complete").await;
            }
            // The exit of a run that an earlier daemon saw end is known from the start; its log's end comes later.
            let ended = self.exit.zip(now.exited_at).or(now.told_exit);
            match ended {
                Some((exit, offset)) if self.at >= offset => {
                    return self.end_with(client, exit, offset, "exited").await;
                }
                // A run that is ended has its exit told before it is let go: this one lost its holder.
                None if now.is_over => {
                    let lost = Exit { code: None, signal: None, reason: ExitReason::Lost };
                    return self.end_with(client, lost, self.at, "lost").await;
                }
                Some(_) if now.is_over => return self.end(client, "closed").await,
                _ => {}
            }
            tokio::select! {
                changed = progress.changed() => if changed.is_err() { return },
                () = client.out.closed() => return,
            }
        }
    }

    /// Tells another size, where one is of interest; whether the client is still there.
    async fn send_size(&mut self, client: &Client, size: Option<Size>) -> bool {
        let Some(size) = size.filter(|size| self.until.is_none() && *size != self.size) else { return true };
        self.size = size;
        let resized = Notice::Resized { stream: self.stream, size, fits: true };
        client.say(&ServerLine::Notice(resized)).await
    }

    /// Sends what is there now; whether the client is still there.
    async fn send_log(&mut self, client: &Client, buffer: &mut [u8]) -> bool {
        let end = self.until.unwrap_or_else(|| self.handle.ring.end());
        while self.at < end {
            let most = usize::try_from(end - self.at).unwrap_or(usize::MAX).min(buffer.len());
            let is_sent = match self.handle.ring.read(self.at, &mut buffer[..most]) {
                ReadOutcome::Bytes(0) => return true,
                ReadOutcome::Bytes(count) => {
                    let mut frame = Vec::with_capacity(count + proto::frame::HEADER);
                    encode_data(&mut frame, DataKind::Output, self.stream, self.at, &buffer[..count]);
                    self.at += count as u64;
                    client.out.send(frame).await.is_ok()
                }
                ReadOutcome::Missed { resume_at } => {
                    let to = self.until.map_or(resume_at, |until| until.min(resume_at));
                    let gap = Notice::Gap { stream: self.stream, from: self.at, to };
                    self.at = to;
                    client.say(&ServerLine::Notice(gap)).await
                }
            };
            if !is_sent {
                return false;
            }
        }
        true
    }

    /// Says how the run ended, and that this was all.
    async fn end_with(&self, client: &Client, exit: Exit, offset: u64, reason: &str) {
        let notice = Notice::Exit { stream: self.stream, exit, offset };
        if client.say(&ServerLine::Notice(notice)).await {
            self.end(client, reason).await;
        }
    }

    async fn end(&self, client: &Client, reason: &str) {
        let notice = Notice::End { stream: self.stream, reason: reason.to_owned() };
        client.say(&ServerLine::Notice(notice)).await;
    }
}
