//! One viewer: an attached connection, the screen that it feeds, and how long an unfinished update is held back.
//!
//! The daemon draws for the pane's size, whatever size the process has, so the screen here is always the pane's. It keeps
//! no history and its answers to queries are dropped: the daemon's emulator answers the child.

mod drawn;
pub(crate) mod typing;
mod unconfirmed;

use std::time::{Duration, Instant};

use client::{ClientError, DaemonAddress, Incoming};
use proto::request::{Attach, Empty, SizeRequest, Target, View};
use proto::terminal::TerminalReport;
use proto::{Notice, Outcome, ProcessId, Reply, Request, RunNumber, Size};
use term::{ClipboardTarget, Damage, Fact, GridSize, Key, Limits, Modes, PasteEncoder, PastePiece, Screen};

use crate::host::{InputEvent, What};
use crate::model::history::HistoryLine;
use crate::pace::{ReadAhead, SizePace, Waiting};
use crate::wire::Wire;
pub(crate) use drawn::DrawnScreen;
use typing::HostKeyboard;
use unconfirmed::Unconfirmed;

/// Most bytes that one pane may bring before keys are looked at again.
const TURN_BYTES: usize = 256 << 10; // 256 KiB
/// A synchronized update that the child does not end is shown after this long.
const SYNC_MAX: Duration = Duration::from_millis(150);
/// How long the daemon may take to greet a new viewer.
const GREETING: Duration = Duration::from_millis(500);
/// The most typed bytes that are kept for the next daemon; more stay in the terminal.
const KEPT_MAX: usize = 16 << 10; // 16 KiB

/// The reason of an attachment's end when the daemon is shut down.
const SHUTDOWN: &str = "shutdown";

/// Something happened in a pane that the model should know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PaneEvent {
    /// The daemon has answered: it may be told about the terminal.
    Attached,
    /// The process's size, where it is not the pane's.
    Size(Option<Size>),
    /// What was typed while no daemon lived was for a run that is over.
    Untyped,
    /// The program asks to write the clipboard.
    Copies(Vec<u8>),
    /// Nothing more comes, for this reason.
    Ended(String),
}

/// How a pane is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looking {
    pub(crate) process: ProcessId,
    pub(crate) size: Size,
    /// One of many that are only looked at: milliseconds between two drawings, and no keys.
    pub(crate) tile_pace_ms: Option<u32>,
}

impl Looking {
    pub(crate) fn is_tile(&self) -> bool {
        self.tile_pace_ms.is_some()
    }
}

/// A pane that is attached, or was.
#[derive(Debug)]
pub(crate) struct Pane {
    pub(crate) looking: Looking,
    pub(crate) wire: Wire,
    pub(crate) screen: Screen,
    pub(crate) drawn: DrawnScreen,
    stream: Option<u32>,
    /// The daemon knows what a report of the terminal is.
    takes_report: bool,
    is_ended: bool,
    /// The daemon is gone, and the next one has not been asked for this pane.
    is_lost: bool,
    /// The run that is shown, once the daemon has said it.
    run: Option<RunNumber>,
    /// The run that was shown to its end.
    pub(crate) ended_run: Option<RunNumber>,
    /// Keys that were typed before the daemon answered.
    early: Vec<u8>,
    /// The modes for these keys, where an earlier daemon had shown the program.
    early_modes: Option<Modes>,
    unconfirmed: Unconfirmed,
    sync_since: Option<Instant>,
    size_pace: SizePace,
    read_ahead: ReadAhead,
    paste: Option<(PasteEncoder, bool)>,
    /// What was read is not all drawn: the next turn goes on with it.
    has_more: bool,
}

impl Pane {
    /// Attaches to a process. Frames come when the daemon has answered; nothing waits for it.
    pub(crate) fn attach(
        address: &mut DaemonAddress,
        looking: Looking,
        now: Instant,
    ) -> Result<Self, ClientError> {
        let mut wire = Wire::new(address.reconnect_before(now + GREETING)?);
        wire.call(Request::Attach(Attach {
            target: Target(looking.process.to_string()),
            size: SizeRequest::from(looking.size),
            read_only: looking.is_tile(),
            pace_ms: looking.tile_pace_ms,
            receipts: !looking.is_tile(),
            ..Attach::default()
        }));
        wire.flush()?;
        let screen = Screen::new(grid_size(looking.size), Limits { history_lines: 0 });
        Ok(Self {
            looking,
            wire,
            screen,
            drawn: DrawnScreen::default(),
            stream: None,
            takes_report: false,
            is_ended: false,
            is_lost: false,
            run: None,
            ended_run: None,
            early: Vec::new(),
            early_modes: None,
            unconfirmed: Unconfirmed::default(),
            sync_since: None,
            size_pace: SizePace::default(),
            read_ahead: ReadAhead::default(),
            paste: None,
            has_more: false,
        })
    }

    /// Takes over from the pane that an earlier daemon fed: what was typed into that one and did not reach its program.
    pub(crate) fn succeed(&mut self, before: Self) {
        self.early_modes = Some(before.modes());
        (self.early, self.run, self.paste) = (before.early, before.run, before.paste);
    }

    /// The daemon is gone: what it has not typed is kept for the next one, and the last picture stays.
    pub(crate) fn lose(&mut self) {
        // Receipts may have come before the end.
        while let Ok(Some(incoming)) = self.wire.receive() {
            if let Incoming::Notice(Notice::Typed { bytes, .. }) = incoming {
                self.unconfirmed.typed(bytes);
            }
        }
        let untyped = self.unconfirmed.take_untyped(self.wire.sent(), self.wire.is_reset());
        self.early.splice(0..0, untyped);
        self.early_modes = Some(self.modes());
        (self.stream, self.is_lost, self.sync_since) = (None, true, None);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Forgets what was typed for a program that no daemon reaches; returns true if there was something.
    pub(crate) fn forget_typed(&mut self) -> bool {
        let has_typed = self.is_lost && (!self.early.is_empty() || self.paste.is_some());
        if has_typed {
            self.early.clear();
            self.paste = None;
        }
        has_typed
    }

    /// What was typed and waits.
    pub(crate) fn waiting(&self) -> Waiting {
        let is_full = self.wire.is_full() || self.early.len() > KEPT_MAX;
        Waiting { is_full, bytes: self.wire.unsent() + self.early.len(), sent: self.wire.sent() }
    }

    /// From when on keys are read for this pane; none while there is no room for them.
    pub(crate) fn keys_from(&mut self, now: Instant) -> Option<Instant> {
        self.read_ahead.keys_from(self.waiting(), now)
    }

    /// The modes that keys are encoded for.
    fn modes(&self) -> Modes {
        match self.early_modes.filter(|_| self.stream.is_none()) {
            Some(modes) => modes,
            None => self.screen.modes(),
        }
    }

    /// Has another size from now on; so soon after another one, a little later.
    pub(crate) fn resize(&mut self, size: Size, now: Instant) {
        if self.size_pace.admits(self.looking.size != size, now) {
            self.looking.size = size;
            self.screen.resize(grid_size(size));
            self.wire.call(Request::View(View::Size(SizeRequest::from(size))));
        }
    }

    /// Makes the size of this viewer, or another one, that of the process, as typing would.
    pub(crate) fn claim_size(&mut self, other: Option<Size>) {
        if let Some(size) = other {
            self.wire.call(Request::View(View::Size(SizeRequest::from(size))));
        }
        self.wire.call(Request::View(View::OwnSize(Empty {})));
        // A connection that is broken is noticed when it is served.
        let _noticed_later = self.flush();
    }

    /// Takes what has arrived, up to a bound. The socket is read when it is ready, and once: what it has beyond that waits
    /// for the next turn, as keys do not.
    pub(crate) fn receive(
        &mut self,
        is_ready: bool,
        now: Instant,
        news: &mut Vec<PaneEvent>,
    ) -> Result<(), ClientError> {
        if is_ready && !self.has_more {
            self.wire.fill()?;
        }
        let (mut left, mut copied) = (TURN_BYTES, None);
        while left > 0 && !self.is_ended {
            match self.wire.arrived()? {
                None => break,
                Some(Incoming::Data(data)) => {
                    left = left.saturating_sub(data.bytes.len());
                    self.screen.feed(&data.bytes);
                    drop(self.screen.take_replies());
                    copied = clipboard_of(self.screen.take_facts()).or(copied);
                }
                Some(Incoming::Answer(answer)) => self.answered(answer.outcome, news),
                Some(Incoming::Notice(notice)) => self.noticed(notice, news),
                Some(Incoming::Event(_)) => {}
            }
        }
        self.has_more = left == 0 && !self.is_ended;
        news.extend(copied.map(PaneEvent::Copies));
        self.sync_since = self.screen.is_synchronizing().then(|| self.sync_since.unwrap_or(now));
        Ok(())
    }

    fn answered(&mut self, outcome: Outcome, news: &mut Vec<PaneEvent>) {
        match outcome {
            Outcome::Ok(Reply::Attached(attached)) => {
                (self.stream, self.takes_report) = (Some(attached.stream), attached.takes_answers);
                self.unconfirmed.has_receipts = attached.receipts;
                let early = std::mem::take(&mut self.early);
                // What was meant for one run is not typed into another.
                match self.run.replace(attached.run).is_none_or(|run| run == attached.run) {
                    true => self.type_bytes(&early),
                    false if early.is_empty() => {}
                    false => news.push(PaneEvent::Untyped),
                }
                news.push(PaneEvent::Attached);
                news.push(PaneEvent::Size(Some(attached.size).filter(|size| *size != self.looking.size)));
            }
            Outcome::Error(failure) if self.stream.is_none() => {
                self.is_ended = true;
                news.push(PaneEvent::Ended(failure.message));
            }
            Outcome::Ok(_) | Outcome::Error(_) => {}
        }
    }

    fn noticed(&mut self, notice: Notice, news: &mut Vec<PaneEvent>) {
        match notice {
            Notice::Resized { size, fits, .. } => news.push(PaneEvent::Size((!fits).then_some(size))),
            Notice::Typed { bytes, .. } => self.unconfirmed.typed(bytes),
            // Its process goes on without a daemon: the connection ends next.
            Notice::End { reason, .. } if reason == SHUTDOWN => {}
            Notice::End { reason, .. } => {
                self.is_ended = true;
                news.push(PaneEvent::Ended(reason));
            }
            _ => {}
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns true if there is something to draw without another look at the socket.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// When something is due by itself.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.sync_due().into_iter().chain(self.size_pace.due()).min()
    }

    /// Returns true if a size that came too soon can be taken now.
    pub(crate) fn is_size_due(&self, now: Instant) -> bool {
        self.size_pace.due().is_some_and(|due| due <= now)
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
        self.drawn.damage(&self.screen)
    }

    /// Sends what the connection accepts now.
    pub(crate) fn flush(&mut self) -> Result<(), ClientError> {
        let flushed = self.wire.flush();
        self.unconfirmed.sent(self.wire.sent());
        flushed
    }

    /// Types an event as the child expects it; `new_line` is the key that makes a new line in an agent's composer.
    pub(crate) fn type_event(&mut self, event: &InputEvent, host: HostKeyboard, new_line: Option<Key>) {
        let modes = self.modes();
        let bytes = match event.what {
            What::PasteBegins => {
                self.paste = Some((PasteEncoder::default(), modes.bracketed_paste));
                Vec::new()
            }
            What::PasteText => match &mut self.paste {
                Some((encoder, bracketed)) => {
                    typing::with_line_ends(encoder.piece(&event.raw), &modes, new_line).encode(*bracketed)
                }
                None => Vec::new(),
            },
            What::PasteEnds => match self.paste.take() {
                Some((encoder, bracketed)) => encoder.last(b"").encode(bracketed),
                None => Vec::new(),
            },
            _ => typing::bytes(event, &modes, host, new_line),
        };
        self.type_bytes(&bytes);
    }

    /// Pastes a text as the child expects it.
    pub(crate) fn paste_text(&mut self, text: &str, new_line: Option<Key>) {
        let modes = self.modes();
        let piece = typing::with_line_ends(PastePiece::whole(text), &modes, new_line);
        self.type_bytes(&piece.encode(modes.bracketed_paste));
    }

    /// Types bytes as they are.
    pub(crate) fn type_bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.looking.is_tile() || self.is_ended {
            return;
        }
        match self.stream {
            Some(stream) => {
                let ends_at = self.wire.input(stream, bytes);
                self.unconfirmed.queued(bytes, ends_at);
            }
            None => self.early.extend_from_slice(bytes),
        }
    }

    /// Reports the colours of the person's terminal, for the child that asks for them.
    pub(crate) fn report_terminal(&mut self, report: &TerminalReport) {
        if self.takes_report && !self.looking.is_tile() && !self.is_ended {
            self.wire.call(Request::View(View::Report(report.clone())));
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
        rows.map(|row| HistoryLine { cells: row.cells, is_wrapped: row.is_wrapped, is_prompt: row.is_prompt })
            .collect()
    }
}

/// What a program has written to the clipboard last.
fn clipboard_of(facts: Vec<Fact>) -> Option<Vec<u8>> {
    facts.into_iter().rev().find_map(|fact| match fact {
        Fact::Clipboard { target: ClipboardTarget::Clipboard, data } => Some(data),
        _ => None,
    })
}

fn grid_size(size: Size) -> GridSize {
    GridSize::clamped(size.cols.into(), size.rows.into())
}
