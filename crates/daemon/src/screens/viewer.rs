//! One attached viewer: what it has been sent, and when it is so far behind that it gets a fresh repaint instead of
//! every byte. Also its socket, and its terminal if it passed one. Nobody waits for a viewer: a socket or a terminal that
//! accepts nothing more is tried again when it can.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use engine::{Principal, RunKey, ViewerId};
use proto::event::Notice;
use proto::frame::{DataKind, Decoder, Frame, FrameError, HEADER, MAX_DATA, data_header, encode_data};
use proto::reply::{Answer, Done, Outcome, Reply, ServerLine};
use proto::request::PassedTerminal;
use proto::terminal::BELL;
use proto::{ErrorCode, Failure, Owner, Size};
use rustix::event::epoll::EventFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::order::Ended;
use super::out_of_band::OutOfBand;
use super::terminal::{Terminal, TerminalState};
use super::unsent_bytes::UnsentBytes;
use super::view_options::ViewOptions;
use crate::door::ViewerPermit;

/// A viewer further behind than this gets a repaint instead of the bytes between: reading them would take it longer.
const MAX_LAG: u64 = 256 * 1024;
/// Above this many unsent bytes, a viewer's wrong calls are not answered any more.
const MAX_UNREAD: usize = 256 * 1024;

/// The reason when the person pressed the detach keys.
pub(crate) const DETACHED: &str = "detached";
/// The reason when the person's terminal is gone.
pub(crate) const HUNG_UP: &str = "hung_up";
/// The reason when another command detached it.
pub(crate) const LET_GO: &str = "let_go";

/// How a viewer is shown the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Its terminal has the run's size: bytes as they are.
    Live,
    /// It has another size: the screen is composed for it.
    Composed,
}

/// What a viewer is to be shown once it has accepted what is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owed {
    /// Nothing but new output.
    #[default]
    Nothing,
    /// The screen anew.
    Paint,
    /// The terminal's size, and a repaint.
    SizeAndPaint,
}

/// Whether a viewer is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is.
    Here,
    /// It went, or everything due to it has been sent.
    Gone,
}

/// What a viewer has typed.
#[derive(Default)]
pub(super) struct ViewerKeys {
    /// They are not read, because the child does not read those before them.
    pub(super) is_held_back: bool,
    /// Keys from the socket that are held back; nothing after them is read.
    pub(super) pending: Option<Vec<u8>>,
    /// Bytes of input from the socket that were typed.
    pub(super) typed: u64,
    /// As many of them as the viewer knows of.
    receipted: u64,
}

/// One viewer.
pub(crate) struct Viewer {
    pub(crate) id: ViewerId,
    pub(crate) run: RunKey,
    pub(crate) stream: u32,
    pub(crate) size: Size,
    pub(crate) read_only: bool,
    pub(crate) by: Owner,
    /// On whose behalf it watches.
    pub(crate) principal: Principal,
    pub(crate) options: ViewOptions,
    pub(crate) mode: Mode,
    /// It asked to continue at an offset: output up to here is sent as bytes, however much it is.
    pub(crate) replay_to: u64,
    /// How the run ended, for a viewer that first gets the bytes before that.
    pub(crate) exit_due: Option<Ended>,
    /// Output up to here was sent, as bytes or within a repaint.
    pub(crate) sent_to: u64,
    /// Output up to here is visible: an unfinished sequence after a repaint is drawn and yet to be sent.
    pub(crate) drawn_to: u64,
    /// Live: it fell too far behind, and no live bytes were sent since.
    pub(crate) is_outrun: bool,
    /// Composed: the screen has changed since the last frame.
    pub(crate) is_stale: bool,
    /// Composed: what the child has sent beside its screen since the last frame.
    pub(crate) asides: OutOfBand,
    /// Composed: when the last frame was sent.
    pub(crate) painted_at: Option<Instant>,
    /// When its typing was last reported to the engine.
    pub(crate) typed_at: Option<Instant>,
    /// The events its socket is watched for.
    pub(super) watched: EventFlags,
    pub(super) keys: ViewerKeys,
    /// The other side of the socket has gone: only what it sent before can still come.
    pub(super) is_leaving: bool,
    /// Its terminal. Closed before the socket: when the client sees the socket end, the terminal is its own.
    pub(crate) terminal: Option<Terminal>,
    socket: UnixStream,
    decoder: Decoder,
    /// The descriptor that came last and that no call has used.
    passed: Option<OwnedFd>,
    /// Bytes that the socket did not accept: the rest of one frame, one repaint or a few lines.
    out: UnsentBytes,
    is_closing: bool,
    owed: Owed,
    /// Freed when this viewer is gone.
    _seat: ViewerPermit,
}

impl Viewer {
    pub(crate) fn new(new: super::order::NewViewer, mode: Mode) -> Self {
        let mut decoder = Decoder::default();
        decoder.push(&new.unread);
        Self {
            id: new.viewer,
            run: new.run,
            stream: new.stream,
            size: new.size,
            read_only: new.read_only,
            by: if new.principal.caller.is_person() { Owner::User } else { Owner::Orchestrator },
            principal: new.principal,
            options: new.options,
            mode,
            replay_to: 0,
            exit_due: None,
            sent_to: 0,
            drawn_to: 0,
            is_outrun: false,
            is_stale: false,
            asides: OutOfBand::default(),
            painted_at: None,
            typed_at: None,
            watched: EventFlags::IN,
            keys: ViewerKeys::default(),
            is_leaving: false,
            terminal: None,
            socket: new.socket,
            decoder,
            passed: None,
            out: UnsentBytes::of(new.greeting),
            is_closing: false,
            owed: Owed::Nothing,
            _seat: new.seat,
        }
    }

    /// Continues with the byte at `from` in place of a first repaint; up to `end` nothing is left out on
    /// purpose.
    pub(crate) fn continue_from(&mut self, from: u64, end: u64, now: Instant) {
        (self.sent_to, self.drawn_to, self.replay_to) = (from, from, end);
        self.painted_at = Some(now);
    }

    /// Returns true if the next byte must be sent as it is.
    pub(crate) fn needs_every_byte(&self) -> bool {
        self.options.exact || self.sent_to < self.replay_to
    }

    /// Returns true if it is so far behind the end of the log that it gets a repaint instead of bytes.
    pub(crate) fn is_far_behind(&self, end: u64) -> bool {
        end - self.sent_to > MAX_LAG && !self.needs_every_byte()
    }

    /// Skips bytes that are no longer there.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        self.send_gap(offset);
        (self.sent_to, self.drawn_to) = (offset, offset);
    }

    /// Adds something to be shown.
    pub(crate) fn owes(&mut self, owed: Owed) {
        self.owed = self.owed.max(owed);
    }

    /// Returns what is to be shown, and clears it.
    pub(crate) fn take_owed(&mut self) -> Owed {
        std::mem::take(&mut self.owed)
    }

    /// Returns the pid of its client, if the kernel reports it.
    pub(crate) fn pid(&self) -> Option<i32> {
        let peer = rustix::net::sockopt::socket_peercred(&self.socket).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns true if everything drawn so far has been accepted.
    pub(crate) fn is_clear(&self) -> bool {
        self.terminal.as_ref().map_or_else(|| self.out.is_clear(), Terminal::is_clear)
    }

    /// Returns the events to watch the socket for. Its end is always reported.
    pub(crate) fn wants(&self) -> EventFlags {
        let mut wants = EventFlags::empty();
        wants.set(EventFlags::IN, self.keys.pending.is_none());
        wants.set(EventFlags::OUT, !self.out.is_clear());
        wants
    }

    /// Returns true if it is only waiting for its last bytes.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Draws on the terminal that came with the call of this id from now on; otherwise answers with the
    /// reason.
    pub(crate) fn take_terminal(&mut self, id: u64, request: PassedTerminal) {
        match Terminal::open(self.passed.take(), request) {
            Ok(terminal) => {
                self.terminal = Some(terminal);
                self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Ok(Reply::Done(Done {})) }));
            }
            Err(error) => {
                let failure = Failure::new(ErrorCode::InvalidArgs, error.to_string());
                self.send_failure(id, failure.hint("keys and output go on through the connection"));
            }
        }
        self.owes(Owed::Paint);
    }

    /// Sends a piece of live output that begins at `sent_to`, without copying it while the socket accepts it.
    pub(crate) fn send_output(&mut self, bytes: &[u8]) {
        self.is_outrun = false;
        self.drawn_to = self.sent_to + bytes.len() as u64;
        if let Some(terminal) = &mut self.terminal {
            self.sent_to += bytes.len() as u64;
            terminal.draw_output(bytes);
            return self.note_screen();
        }
        for piece in bytes.chunks(MAX_DATA) {
            let length = u32::try_from(piece.len()).expect("a piece is at most MAX_DATA");
            let header = data_header(DataKind::Output, self.stream, self.sent_to, length);
            self.sent_to += u64::from(length);
            let written = if self.out.is_clear() { self.write_pair(&header, piece) } else { 0 };
            if written < header.len() {
                self.out.push(&header[written..]);
                self.out.push(piece);
            } else {
                self.out.push(&piece[written - header.len()..]);
            }
        }
    }

    fn write_pair(&mut self, header: &[u8], bytes: &[u8]) -> usize {
        let slices = [IoSlice::new(header), IoSlice::new(bytes)];
        // The next read returns an error other than "full", and detaches the viewer.
        self.socket.write_vectored(&slices).unwrap_or(0)
    }

    /// Sends a repaint of the screen at `offset`; what follows continues at `live_from`.
    pub(crate) fn send_repaint(&mut self, drawing: &[u8], offset: u64, live_from: u64) {
        match &mut self.terminal {
            Some(terminal) => {
                terminal.draw_screen(drawing);
                self.note_screen();
            }
            None => self.send_frames(DataKind::Repaint, offset, drawing),
        }
        (self.sent_to, self.drawn_to) = (live_from, offset);
        self.is_stale = false;
    }

    fn send_frames(&mut self, kind: DataKind, offset: u64, bytes: &[u8]) {
        let mut frames = Vec::with_capacity(bytes.len() + HEADER);
        encode_data(&mut frames, kind, self.stream, offset, bytes);
        self.out.push(&frames);
    }

    /// Sends the client which screen to leave when it restores the terminal.
    fn note_screen(&mut self) {
        if let Some(shown) = self.terminal.as_mut().and_then(Terminal::take_screen_change) {
            let TerminalState { alternate, colored } = shown;
            self.send_notice(Notice::Screen { stream: self.stream, alternate, colored });
        }
    }

    /// Reports that bytes between what was sent and `to` will not come. A terminal gets a repaint instead.
    pub(crate) fn send_gap(&mut self, to: u64) {
        if self.terminal.is_none() {
            self.send_notice(Notice::Gap { stream: self.stream, from: self.sent_to, to });
        }
    }

    /// Reports that keys were not delivered.
    pub(crate) fn refuse_keys(&mut self) {
        match &mut self.terminal {
            Some(terminal) => terminal.draw_aside(BELL),
            None => {
                self.send_failure(0, Failure::new(ErrorCode::Denied, "denied: this viewer is read-only"));
            }
        }
    }

    /// Tells the viewer how much of its input was typed, if it wants to know and that has grown.
    pub(super) fn send_receipt(&mut self) {
        if self.options.receipts && self.keys.typed > self.keys.receipted {
            self.keys.receipted = self.keys.typed;
            self.send_notice(Notice::Typed { stream: self.stream, bytes: self.keys.typed });
        }
    }

    /// Sends a notice about its stream.
    pub(crate) fn send_notice(&mut self, notice: Notice) {
        self.send_line(&ServerLine::Notice(notice));
    }

    /// Answers a call with an error; the connection stays. When the queue is full, it is dropped: a client
    /// that does not read answers to wrong calls misses nothing.
    pub(crate) fn send_failure(&mut self, id: u64, failure: Failure) {
        if self.out.len() > MAX_UNREAD {
            return;
        }
        self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Error(failure) }));
    }

    /// Answers a call of a viewer that has passed its terminal and checks whether the daemon lives. When the
    /// queue is full, it is dropped: a client that does not read waits for no sign.
    pub(crate) fn give_sign(&mut self, id: u64) {
        if self.terminal.is_some() && self.out.len() <= MAX_UNREAD {
            self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Ok(Reply::Done(Done {})) }));
        }
    }

    /// Sends a line.
    pub(crate) fn send_line(&mut self, line: &ServerLine) {
        if let Ok(mut text) = serde_json::to_vec(line) {
            text.push(b'\n');
            self.out.push(&text);
        }
    }

    /// Sends the end of the stream and closes once that is sent. The terminal is its client's again, with
    /// what it has not accepted; a person who leaves does not wait for that.
    pub(crate) fn end(&mut self, reason: &str) {
        self.end_below(reason, None);
    }

    /// The same, with the last row with content, if it is known.
    pub(crate) fn end_below(&mut self, reason: &str, last_row: Option<u16>) {
        if let Some(mut terminal) = self.terminal.take() {
            // Gone or full: the client draws whatever is left.
            drop(terminal.flush());
            let undrawn = terminal.take_undrawn();
            if reason != DETACHED {
                self.send_frames(DataKind::Output, self.sent_to, &undrawn);
            }
        }
        self.send_notice(Notice::End { stream: self.stream, reason: reason.to_owned(), last_row });
        self.is_closing = true;
    }

    /// Writes what waits to the terminal and the socket.
    pub(crate) fn flush(&mut self) -> Presence {
        if let Some(terminal) = &mut self.terminal
            && terminal.flush().is_err()
        {
            self.end(HUNG_UP);
        }
        if self.out.flush(|bytes| (&self.socket).write(bytes)).is_err() {
            return Presence::Gone;
        }
        if self.is_closing && self.out.is_clear() { Presence::Gone } else { Presence::Here }
    }

    /// Reads what it sent into its decoder, and the descriptor that came with it.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Presence {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [IoSliceMut::new(buffer)];
        let received = recvmsg(&self.socket, &mut bytes, &mut beside, RecvFlags::CMSG_CLOEXEC);
        for part in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = part {
                self.passed = fds.last();
            }
        }
        match received.map(|message| message.bytes).map_err(io::Error::from) {
            Ok(0) => Presence::Gone,
            Ok(count) => {
                self.decoder.push(&buffer[..count]);
                Presence::Here
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Presence::Here
            }
            Err(_) => Presence::Gone,
        }
    }

    /// Returns the next frame it sent.
    pub(crate) fn next_frame(&mut self) -> Option<Result<Frame, FrameError>> {
        self.decoder.next_frame()
    }
}
