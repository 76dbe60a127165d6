//! One attached viewer: who it is, how it is shown the screen, its socket, and its terminal if it passed one.
//! Nothing waits for a viewer: a socket or a terminal that accepts nothing more is tried again when it can.

use std::time::Instant;

use engine::{Principal, RunKey, ViewerId};
use proto::event::Notice;
use proto::frame::DataKind;
use proto::reply::{Answer, Done, Outcome, Reply, ServerLine};
use proto::request::PassedTerminal;
use proto::terminal::BELL;
use proto::{ErrorCode, Failure, Owner, Size};
use rustix::event::epoll::EventFlags;

use super::order::Ended;
use super::out_of_band::OutOfBand;
use super::terminal::{Terminal, TerminalState};
use super::view_options::ViewOptions;
use super::viewer_position::ViewerPosition;
use super::viewer_socket::ViewerSocket;
use crate::door::ViewerPermit;

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

/// What a viewer is shown besides new output, once it has accepted what is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PendingRepaint {
    /// Nothing.
    #[default]
    None,
    /// A repaint.
    Screen,
    /// The terminal's size, and a repaint.
    SizeAndScreen,
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
    /// What it has been sent.
    pub(super) position: ViewerPosition,
    /// How the run ended, for a viewer that first gets the bytes before that.
    pub(crate) exit_due: Option<Ended>,
    /// Composed: what the child has sent beside its screen since the last frame.
    pub(super) out_of_band: OutOfBand,
    pub(super) keys: ViewerKeys,
    pending: PendingRepaint,
    /// Its terminal. Closed before the socket: when the client sees the socket end, the terminal is its own.
    pub(crate) terminal: Option<Terminal>,
    pub(super) socket: ViewerSocket,
    /// Freed when this viewer is gone.
    _permit: ViewerPermit,
}

impl Viewer {
    pub(crate) fn new(new: super::order::NewViewer, mode: Mode) -> Self {
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
            position: ViewerPosition::default(),
            exit_due: None,
            out_of_band: OutOfBand::default(),
            keys: ViewerKeys::default(),
            pending: PendingRepaint::None,
            terminal: None,
            socket: ViewerSocket::new(new.socket, &new.unread, new.greeting),
            _permit: new.permit,
        }
    }

    /// Returns true if the next byte must be sent as it is.
    pub(crate) fn needs_every_byte(&self) -> bool {
        self.options.exact || self.position.is_replaying()
    }

    /// Returns true if it is so far behind the end of the log that it gets a repaint instead of bytes.
    pub(crate) fn is_far_behind(&self, end: u64) -> bool {
        self.position.is_far_behind(end) && !self.needs_every_byte()
    }

    /// Skips bytes that are no longer there.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        self.send_gap(offset);
        self.position.skip_to(offset);
    }

    /// Asks for a repaint; the larger of two requests counts.
    pub(crate) fn request_repaint(&mut self, wanted: PendingRepaint) {
        self.pending = self.pending.max(wanted);
    }

    /// Returns the repaint that is pending, and clears it.
    pub(crate) fn take_pending_repaint(&mut self) -> PendingRepaint {
        std::mem::take(&mut self.pending)
    }

    /// Returns when the next repaint may be sent, if one is needed and the viewer can accept it.
    pub(crate) fn repaint_due(&self) -> Option<Instant> {
        self.position.repaint_due(self.options.interval()).filter(|_| self.is_clear())
    }

    /// Returns when the worker must check this viewer without an event.
    pub(crate) fn due(&self) -> Option<Instant> {
        let keys = self.terminal.as_ref().and_then(Terminal::keys_due);
        keys.into_iter().chain(self.repaint_due()).min()
    }

    /// Returns true if everything drawn so far has been accepted.
    pub(crate) fn is_clear(&self) -> bool {
        self.terminal.as_ref().map_or_else(|| self.socket.is_clear(), Terminal::is_clear)
    }

    /// Returns the events to watch the socket for.
    pub(crate) fn wants(&self) -> EventFlags {
        self.socket.wants(self.keys.pending.is_none())
    }

    /// Returns true if it is only waiting for its last bytes.
    pub(crate) fn is_closing(&self) -> bool {
        self.socket.is_closing()
    }

    /// Draws on the terminal that came with the call of this id from now on; otherwise answers with the
    /// reason.
    pub(crate) fn take_terminal(&mut self, id: u64, request: PassedTerminal) {
        match Terminal::open(self.socket.take_passed_fd(), request) {
            Ok(terminal) => {
                self.terminal = Some(terminal);
                self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Ok(Reply::Done(Done {})) }));
            }
            Err(error) => {
                let failure = Failure::new(ErrorCode::InvalidArgs, error.to_string());
                self.send_failure(id, failure.hint("keys and output go on through the connection"));
            }
        }
    }

    /// Sends the next piece of live output.
    pub(crate) fn send_output(&mut self, bytes: &[u8]) {
        let offset = self.position.sent_to();
        self.position.sent(bytes.len());
        match &mut self.terminal {
            Some(terminal) => {
                terminal.draw_output(bytes);
                self.note_screen();
            }
            None => self.socket.send_output(self.stream, offset, bytes),
        }
    }

    /// Sends a repaint of the screen at `offset`; what follows continues at `live_from`.
    pub(crate) fn send_repaint(&mut self, drawing: &[u8], offset: u64, live_from: u64) {
        match &mut self.terminal {
            Some(terminal) => {
                terminal.draw_screen(drawing);
                self.note_screen();
            }
            None => self.socket.send_frames(DataKind::Repaint, self.stream, offset, drawing),
        }
        self.position.drawn(offset, live_from);
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
            self.send_notice(Notice::Gap { stream: self.stream, from: self.position.sent_to(), to });
        }
    }

    /// Reports that keys were not delivered.
    pub(crate) fn refuse_keys(&mut self) {
        match &mut self.terminal {
            Some(terminal) => terminal.draw_byte(BELL),
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
        if self.socket.has_room_for_answers() {
            self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Error(failure) }));
        }
    }

    /// Answers a call of a viewer that has passed its terminal and checks whether the daemon lives. When the
    /// queue is full, it is dropped: a client that does not read waits for no sign.
    pub(crate) fn give_sign(&mut self, id: u64) {
        if self.terminal.is_some() && self.socket.has_room_for_answers() {
            self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Ok(Reply::Done(Done {})) }));
        }
    }

    /// Sends a line.
    pub(crate) fn send_line(&mut self, line: &ServerLine) {
        self.socket.send_line(line);
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
                let offset = self.position.sent_to();
                self.socket.send_frames(DataKind::Output, self.stream, offset, &undrawn);
            }
        }
        self.send_notice(Notice::End { stream: self.stream, reason: reason.to_owned(), last_row });
        self.socket.close_when_sent();
    }

    /// Writes what waits to the terminal and the socket.
    pub(crate) fn flush(&mut self) -> Presence {
        if let Some(terminal) = &mut self.terminal
            && terminal.flush().is_err()
        {
            self.end(HUNG_UP);
        }
        self.socket.flush()
    }
}
