//! One viewer: an attached connection and the screen that it feeds.
//!
//! The daemon draws for the pane's size, whatever size the process has, so the screen here is always the pane's. It keeps
//! no history and its answers to queries are dropped: the daemon's emulator answers the child.

pub(crate) mod typing;

use std::time::{Duration, Instant};

use client::{ClientError, DaemonAddress, Incoming};
use proto::request::{Attach, SizeRequest, Target, View};
use proto::{Notice, Outcome, ProcessId, Reply, Request, RunNumber, Size};
use term::{Damage, GridSize, Limits, PasteEncoder, Screen};

use crate::host::{InputEvent, What};
use crate::model::history::HistoryLine;
use crate::pace::SizePace;
use crate::wire::Wire;
use typing::HostKeyboard;

/// Most bytes that one pane may bring before keys are looked at again.
const TURN_BYTES: usize = 256 << 10; // 256 KiB
/// A synchronized update that the child does not end is shown after this long.
const SYNC_MAX: Duration = Duration::from_millis(150);
/// How long the daemon may take to greet a new viewer.
const GREETING: Duration = Duration::from_millis(500);
/// Pace of tiles on the wall.
const TILE_PACE_MS: u32 = 100;

/// Something happened in a pane that the model should know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PaneNews {
    /// The process's size, where it is not the pane's.
    Size(Option<Size>),
    /// Nothing more comes, for this reason.
    Ended(String),
}

/// How a pane is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looking {
    pub(crate) process: ProcessId,
    pub(crate) size: Size,
    /// One of many: drawings at a slower pace, and no keys.
    pub(crate) is_tile: bool,
}

/// A pane that is attached, or was.
#[derive(Debug)]
pub(crate) struct Pane {
    pub(crate) looking: Looking,
    pub(crate) wire: Wire,
    pub(crate) screen: Screen,
    /// The version of the screen that was drawn last.
    pub(crate) drawn: u64,
    stream: Option<u32>,
    is_ended: bool,
    /// The run that was shown to its end.
    pub(crate) ended_run: Option<RunNumber>,
    /// Keys that were typed before the daemon answered.
    early: Vec<u8>,
    sync_since: Option<Instant>,
    size_pace: SizePace,
    paste: Option<(PasteEncoder, bool)>,
}

impl Pane {
    /// Attaches to a process. Frames come when the daemon has answered; nothing waits for it.
    pub(crate) fn attach(
        address: &mut DaemonAddress,
        looking: Looking,
        now: Instant,
    ) -> Result<Self, ClientError> {
        let mut wire = Wire::new(address.connect_before(now + GREETING)?);
        wire.call(Request::Attach(Attach {
            target: Target(looking.process.to_string()),
            size: SizeRequest::from(looking.size),
            read_only: looking.is_tile,
            pace_ms: looking.is_tile.then_some(TILE_PACE_MS),
            ..Attach::default()
        }));
        wire.flush()?;
        let screen = Screen::new(grid_size(looking.size), Limits { history_lines: 0 });
        Ok(Self {
            looking,
            wire,
            screen,
            drawn: 0,
            stream: None,
            is_ended: false,
            ended_run: None,
            early: Vec::new(),
            sync_since: None,
            size_pace: SizePace::default(),
            paste: None,
        })
    }

    /// Has another size from now on; so soon after another one, a little later.
    pub(crate) fn resize(&mut self, size: Size, now: Instant) {
        if self.size_pace.admits(self.looking.size != size, now) {
            self.looking.size = size;
            self.screen.resize(grid_size(size));
            self.wire.call(Request::View(View::Size(SizeRequest::from(size))));
        }
    }

    /// Takes what has arrived, up to a bound.
    pub(crate) fn receive(&mut self, now: Instant, news: &mut Vec<PaneNews>) -> Result<(), ClientError> {
        let mut left = TURN_BYTES;
        while left > 0 && !self.is_ended {
            match self.wire.receive()? {
                None => break,
                Some(Incoming::Data(data)) => {
                    left = left.saturating_sub(data.bytes.len());
                    self.screen.feed(&data.bytes);
                    drop(self.screen.take_replies());
                    drop(self.screen.take_facts());
                }
                Some(Incoming::Answer(answer)) => self.answered(answer.outcome, news),
                Some(Incoming::Notice(notice)) => self.noticed(notice, news),
                Some(Incoming::Event(_)) => {}
            }
        }
        self.sync_since = self.screen.is_synchronizing().then(|| self.sync_since.unwrap_or(now));
        Ok(())
    }

    fn answered(&mut self, outcome: Outcome, news: &mut Vec<PaneNews>) {
        match outcome {
            Outcome::Ok(Reply::Attached(attached)) => {
                self.stream = Some(attached.stream);
                let early = std::mem::take(&mut self.early);
                self.wire.input(attached.stream, &early);
                news.push(PaneNews::Size(Some(attached.size).filter(|size| *size != self.looking.size)));
            }
            Outcome::Error(failure) if self.stream.is_none() => {
                self.is_ended = true;
                news.push(PaneNews::Ended(failure.message));
            }
            Outcome::Ok(_) | Outcome::Error(_) => {}
        }
    }

    fn noticed(&mut self, notice: Notice, news: &mut Vec<PaneNews>) {
        match notice {
            Notice::Resized { size, fits, .. } => news.push(PaneNews::Size((!fits).then_some(size))),
            Notice::End { reason, .. } => {
                self.is_ended = true;
                news.push(PaneNews::Ended(reason));
            }
            _ => {}
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// When something is due by itself.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.sync_due().into_iter().chain(self.size_pace.due()).min()
    }

    /// When a synchronized update is shown although it has not ended.
    fn sync_due(&self) -> Option<Instant> {
        self.sync_since.map(|since| since + SYNC_MAX)
    }

    pub(crate) fn release_sync(&mut self, now: Instant) {
        if self.sync_due().is_some_and(|due| due <= now) {
            self.screen.release_sync();
            self.sync_since = None;
        }
    }

    /// What has to be drawn.
    pub(crate) fn damage(&self) -> Damage {
        if self.drawn == 0 { Damage::Everything } else { self.screen.damage(self.drawn) }
    }

    /// Types an event as the child expects it.
    pub(crate) fn type_event(&mut self, event: &InputEvent, host: HostKeyboard, is_agent: bool) {
        let bytes = match event.what {
            What::PasteBegins => {
                self.paste = Some((PasteEncoder::default(), self.screen.modes().bracketed_paste));
                Vec::new()
            }
            What::PasteText => match &mut self.paste {
                Some((encoder, bracketed)) => encoder.piece(&event.raw).encode(*bracketed),
                None => Vec::new(),
            },
            What::PasteEnds => match self.paste.take() {
                Some((encoder, bracketed)) => encoder.last(b"").encode(bracketed),
                None => Vec::new(),
            },
            _ => typing::bytes(event, &self.screen.modes(), host, is_agent),
        };
        self.type_bytes(&bytes);
    }

    /// Types bytes as they are.
    pub(crate) fn type_bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.looking.is_tile || self.is_ended {
            return;
        }
        match self.stream {
            Some(stream) => self.wire.input(stream, bytes),
            None => self.early.extend_from_slice(bytes),
        }
    }

    /// Tells a child about the focus that asked for it.
    pub(crate) fn focus(&mut self, has_focus: bool) {
        if self.screen.modes().focus_events {
            self.type_bytes(if has_focus { b"\x1b[I" } else { b"\x1b[O" });
        }
    }

    /// The rows as lines to scroll and copy.
    pub(crate) fn lines(&self) -> Vec<HistoryLine> {
        let rows = (0..self.looking.size.rows).filter_map(|row| self.screen.visible_row(row));
        rows.map(|row| HistoryLine { cells: row.cells, is_wrapped: row.is_wrapped }).collect()
    }
}

fn grid_size(size: Size) -> GridSize {
    GridSize::clamped(size.cols.into(), size.rows.into())
}
