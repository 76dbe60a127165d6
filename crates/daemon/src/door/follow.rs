//! `follow`: streams the log by offset, every byte once, every gap reported. It never slows the child: bytes
//! that were overwritten before they were read are a gap.

use std::sync::Arc;
use std::time::Duration;

use engine::Verb;
use holder::ReadOutcome;
use proto::event::Notice;
use proto::frame::{DataKind, encode_data};
use proto::process::LogSpan;
use proto::reply::{Following, ServerLine};
use proto::request::Follow;
use proto::{Exit, ExitReason, Failure, Reply, Size};
use term::PaintView;

use super::connection::Client;
use super::{dispatch::locate, read::chosen};
use crate::screens::{Log, ReadableRun};

/// Bytes sent in one frame.
const PIECE: usize = 64 * 1024;
/// How often a screen is checked again that is ahead of its worker's reported position.
const MAX_LOOKS: u32 = 100;
/// How long the worker may take to report its position.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Serves a follower until its stream ends or it goes.
pub(super) async fn serve(client: Client, id: u64, request: Follow) {
    match begin(&client, id, &request).await {
        Ok((place, reply, drawing)) => {
            if client.answer(id, Ok(Reply::Following(reply))).await
                && place.send_screen(&client, drawing).await
            {
                place.stream_log(&client).await;
            }
        }
        Err(failure) => drop(client.answer(id, Err(failure)).await),
    }
}

async fn begin(
    client: &Client,
    id: u64,
    request: &Follow,
) -> Result<(FollowPosition, Following, Option<Vec<u8>>), Failure> {
    let located = locate(client, request.target.clone(), Verb::Read).await?;
    let run = chosen(client, &located, request.run).await?;
    let log = LogSpan { start: run.log().start(), end: run.log().end() };
    let (at, drawing) = match request.screen {
        true => {
            check_screen(request)?;
            let (at, drawing) = draw(&*run).await;
            (at, Some(drawing))
        }
        false => (beginning(&*run, log, request)?, None),
    };
    // The terminal's actual size, which may not yet be the requested one.
    let size = run.progress().borrow().size.unwrap_or(located.size);
    let stream = u32::try_from(id & u64::from(u32::MAX)).unwrap_or(0);
    let until = if request.live { None } else { Some(log.end) };
    let times = request.times.then_some(Times::Untold);
    let key = run.key();
    let exit = located.exit.filter(|_| key == located.run);
    let place = FollowPosition { run, stream, at, until, size, exit, times };
    Ok((place, Following { id: key.process, run: key.run, stream, log, size, from: at }, drawing))
}

/// Refuses other starting points together with a repaint, which has its own position in the log.
fn check_screen(request: &Follow) -> Result<(), Failure> {
    match request.from.is_some() || request.since_ms.is_some() || request.tail.is_some() {
        true => Err(Failure::invalid("screen", "not together with from, since_ms or tail")),
        false => Ok(()),
    }
}

/// Returns the screen as bytes, and its offset in the log. The worker reports its position only after it has
/// drawn, so a screen that is ahead of that is read again.
async fn draw(run: &dyn ReadableRun) -> (u64, Vec<u8>) {
    let mut progress = run.progress().subscribe();
    let mut tries = 0;
    loop {
        let now = *progress.borrow_and_update();
        {
            let screen = run.screen();
            if screen.version() == now.version || tries >= MAX_LOOKS || now.is_over {
                let at = now.seen.saturating_sub(screen.unfinished_bytes() as u64);
                return (at, screen.repaint(PaintView::Whole));
            }
        }
        tries += 1;
        // The run, which this call keeps, has the sender.
        drop(tokio::time::timeout(LOOK_AGAIN, progress.changed()).await);
    }
}

/// Returns where a follower starts. Without a starting point it gets everything, and what is gone is reported
/// as a gap.
fn beginning(run: &dyn ReadableRun, log: LogSpan, request: &Follow) -> Result<u64, Failure> {
    let is_relative = request.since_ms.is_some() || request.tail.is_some();
    match request.from {
        Some(_) if is_relative => Err(Failure::invalid("from", "not together with since_ms or tail")),
        Some(from) if from > log.end => Err(Failure::invalid("from", format!("the log ends at {}", log.end))),
        Some(from) => Ok(from),
        None => {
            let since = request.since_ms.map_or(0, |since| run.times().since(since).unwrap_or(log.end));
            let tail = request.tail.map_or(0, |lines| last_lines(run.log(), log, lines));
            Ok(since.max(tail))
        }
    }
}

/// Returns where the last lines begin. A line feed at the very end does not begin a line.
fn last_lines(bytes: &dyn Log, log: LogSpan, lines: u32) -> u64 {
    let mut buffer = vec![0; PIECE];
    let (mut end, mut left) = (log.end, u64::from(lines));
    while end > log.start {
        let from = end.saturating_sub(PIECE as u64).max(log.start);
        let length = usize::try_from(end - from).unwrap_or(0);
        let Some(piece) = buffer.get_mut(..length) else { break };
        if bytes.read(from, piece) != ReadOutcome::Bytes(length) {
            break; // The rest is gone already.
        }
        for (index, byte) in piece.iter().enumerate().rev() {
            let at = from + index as u64;
            if *byte == b'\n' && at + 1 < log.end {
                left = left.saturating_sub(1);
            }
            if left == 0 {
                return at + 1;
            }
        }
        end = from;
    }
    if lines == 0 { log.end } else { end }
}

/// The time that a follower was last sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    Untold,
    Told(Option<u64>),
}

/// One follower's position in the log.
struct FollowPosition {
    run: Arc<dyn ReadableRun>,
    stream: u32,
    at: u64,
    /// Where it ends; `None` means with the run.
    until: Option<u64>,
    /// The size that it was last sent.
    size: Size,
    /// How the run had ended when it began.
    exit: Option<Exit>,
    /// The time that it was last sent; `None` when it did not ask for times.
    times: Option<Times>,
}

impl FollowPosition {
    /// Sends a repaint of the screen, if there is one; returns false when the client is gone.
    async fn send_screen(&self, client: &Client, drawing: Option<Vec<u8>>) -> bool {
        let Some(drawing) = drawing else { return true };
        let mut frames = Vec::with_capacity(drawing.len() + proto::frame::HEADER);
        encode_data(&mut frames, DataKind::Repaint, self.stream, self.at, &drawing);
        client.out.send(frames).await.is_ok()
    }

    /// Sends everything up to its end, then how the run ended if that is the end.
    async fn stream_log(mut self, client: &Client) {
        let mut progress = self.run.progress().subscribe();
        let mut buffer = vec![0; PIECE];
        loop {
            let now = *progress.borrow_and_update();
            // The size first: what a child prints because of it comes after it.
            if !self.send_size(client, now.size).await || !self.send_log(client, &mut buffer, now.seen).await
            {
                return;
            }
            if self.until.is_some_and(|until| self.at >= until || now.is_over) {
                return self.end(client, "complete").await;
            }
            // The exit of a run that an earlier daemon saw is known from the start; its log's end comes
            // later.
            let ended = self.exit.zip(now.exited_at).or(now.reported_exit);
            match ended {
                Some((exit, offset)) if self.at >= offset => {
                    return self.end_with(client, exit, offset, "exited").await;
                }
                // A run that ends normally has its exit reported before it is released: this one lost its
                // holder.
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

    /// Sends a new size, where one matters; returns false when the client is gone.
    async fn send_size(&mut self, client: &Client, size: Option<Size>) -> bool {
        let Some(size) = size.filter(|size| self.until.is_none() && *size != self.size) else { return true };
        self.size = size;
        let resized = Notice::Resized { stream: self.stream, size, fits: true };
        client.send_line(&ServerLine::Notice(resized)).await
    }

    /// Sends what there is now, up to the worker's position (`seen`) if times are sent with it. Returns false
    /// when the client is gone.
    async fn send_log(&mut self, client: &Client, buffer: &mut [u8], seen: u64) -> bool {
        let end = self.until.unwrap_or_else(|| self.run.log().end());
        let end = if self.times.is_some() { end.min(seen) } else { end };
        while self.at < end {
            let Some(piece_end) = self.send_time(client, end).await else { return false };
            let most = usize::try_from(piece_end - self.at).unwrap_or(usize::MAX).min(buffer.len());
            let is_sent = match self.run.log().read(self.at, &mut buffer[..most]) {
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
                    client.send_line(&ServerLine::Notice(gap)).await
                }
            };
            if !is_sent {
                return false;
            }
        }
        true
    }

    /// Sends the time of the next bytes, if the client asked for it and it differs from the last. Returns up
    /// to where this time holds; `None` when the client is gone.
    async fn send_time(&mut self, client: &Client, end: u64) -> Option<u64> {
        let Some(told) = self.times else { return Some(end) };
        let (at_ms, piece_end) = {
            let times = self.run.times();
            let piece_end = times.after(self.at).map_or(end, |mark| mark.offset.min(end));
            (times.at(self.at).map(|mark| mark.first_ms), piece_end)
        };
        if told != Times::Told(at_ms) {
            self.times = Some(Times::Told(at_ms));
            let notice = Notice::Time { stream: self.stream, offset: self.at, at_ms };
            if !client.send_line(&ServerLine::Notice(notice)).await {
                return None;
            }
        }
        Some(piece_end)
    }

    /// Sends how the run ended, and the end of the stream.
    async fn end_with(&self, client: &Client, exit: Exit, offset: u64, reason: &str) {
        let notice = Notice::Exit { stream: self.stream, exit, offset };
        if client.send_line(&ServerLine::Notice(notice)).await {
            self.end(client, reason).await;
        }
    }

    async fn end(&self, client: &Client, reason: &str) {
        let notice = Notice::End { stream: self.stream, reason: reason.to_owned(), last_row: None };
        client.send_line(&ServerLine::Notice(notice)).await;
    }
}
