//! The loop of an attached client. Neither direction waits for the other: keys of a terminal that accepts no
//! output are still read, and output of a daemon that accepts no input is still shown.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use proto::frame::DataKind;
use proto::reply::Attached;
use proto::request::{Empty, SizeRequest, View};
use proto::terminal::{BELL, CANCEL, DetachIntent, KeyWatch};
use proto::{Exit, Notice, Request};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, getpid, kill_process};

use super::handoff::TerminalOwner;
use super::signals::Signals;
use super::stall::Watch;
use super::{AttachOptions, Filter, Left, Terminal};
use crate::connection::broken;
use crate::{ClientError, Connection, DaemonAddress, Incoming, ready};

/// How long a person waits for the last bytes on a terminal that does not accept them.
const DRAW_DEADLINE: Duration = Duration::from_secs(5);
/// The reason of an attachment's end when the process is restarted.
const RESTARTED: &str = "restarted";
/// The most typed bytes that wait for a daemon that does not read; then the terminal is not read.
const MAX_TYPED: usize = 1 << 20; // 1 MiB
/// Most bytes that are kept while the terminal is offered to the daemon.
const MAX_UNSHOWN: usize = 4 << 20; // 4 MiB
pub(super) const TYPED_AT_ONCE: usize = 64 << 10; // 64 KiB

pub(super) struct Session<'s> {
    pub(super) address: &'s mut DaemonAddress,
    pub(super) options: &'s AttachOptions,
    pub(super) connection: Connection,
    pub(super) attached: Attached,
    pub(super) stream: u32,
    pub(super) terminal: Terminal,
    pub(super) signals: Signals,
    pub(super) filter: Filter,
    pub(super) keys: KeyWatch,
    /// Bytes for the terminal.
    pub(super) drawing: Vec<u8>,
    /// Output that came while the terminal was offered and the daemon had not answered.
    pub(super) unshown: Vec<u8>,
    pub(super) exit: Option<Exit>,
    pub(super) last_kind: Option<DataKind>,
    pub(super) terminal_owner: TerminalOwner,
    /// What is known about a daemon that has the terminal.
    pub(super) watch: Watch,
    /// True if keys were read in place of the daemon since it was last asked for a sign of life.
    pub(super) is_typed_for_daemon: bool,
    /// True while there may be more to read: a file or a pipe ends, a terminal hangs up.
    pub(super) has_input: bool,
    /// When the terminal was asked about itself.
    pub(super) asked_at: Option<Instant>,
}

/// Which descriptors have something to do.
struct Ready {
    signals: bool,
    keys: bool,
    socket: bool,
}

impl Session<'_> {
    pub(super) fn run_until_left(&mut self) -> Result<Left, ClientError> {
        self.offer_terminal()?;
        self.connection.stream().set_nonblocking(true).map_err(ClientError::Broken)?;
        // Frames may have come together with the answer to `attach`.
        if let Some(left) = self.take_arrived()? {
            return Ok(left);
        }
        loop {
            self.draw()?;
            let sent = self.connection.send_ready();
            let ready = self.wait()?;
            if ready.signals
                && let Some(left) = self.heed_signals()?
            {
                return Ok(left);
            }
            if ready.keys
                && let Some(left) = self.read_keys()?
            {
                return Ok(left);
            }
            // A connection that accepts nothing may still hold what the daemon sent before it closed it.
            if (ready.socket || sent.is_err())
                && let Some(left) = self.read_socket()?
            {
                return Ok(left);
            }
        }
    }

    fn wait(&mut self) -> Result<Ready, ClientError> {
        let nothing = PollFlags::empty();
        let is_drawn = self.drawing.is_empty();
        let socket = if is_drawn { PollFlags::IN } else { nothing };
        let socket = socket | if self.connection.unsent() == 0 { nothing } else { PollFlags::OUT };
        let (input, keys) = self.watched_input();
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(input, keys),
        ];
        // A descriptor without requested events still reports hang-ups, and the loop could not act on them.
        if socket != nothing {
            fds.push(PollFd::from_borrowed_fd(self.connection.as_fd(), socket));
        }
        if !is_drawn {
            fds.push(PollFd::from_borrowed_fd(self.terminal.output(), PollFlags::OUT));
        }
        let due = self.watch_due().map(|due| due.saturating_duration_since(Instant::now()));
        let timeout = self.keys.pause().into_iter().chain(due).min();
        let count = ready::wait(&mut fds, timeout).map_err(broken)?;
        let ended = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        let socket = socket != nothing && is_drawn && fds[2].revents().intersects(ended);
        let is_typed = fds[1].revents() == PollFlags::IN && !self.reads_keys();
        let keys = !is_typed && !fds[1].revents().is_empty();
        let ready = Ready { signals: !fds[0].revents().is_empty(), keys, socket };
        if is_typed {
            self.note_typed();
        }
        if count == 0 {
            self.release_keys()?;
        }
        self.look_after_daemon()?;
        Ok(ready)
    }

    /// Returns the descriptor and the events to wait for input. A terminal that is not ours is watched for
    /// its end, and for the first key that the daemon may not read.
    fn watched_input(&self) -> (BorrowedFd<'_>, PollFlags) {
        let is_watched = if self.reads_keys() {
            self.connection.unsent() < MAX_TYPED
        } else {
            self.watch == Watch::Resting
        };
        match self.has_input {
            true if is_watched => (self.terminal.input(), PollFlags::IN),
            true => (self.terminal.input(), PollFlags::empty()),
            // A descriptor without requested events and without an end of its own.
            false => (self.signals.as_fd(), PollFlags::empty()),
        }
    }

    pub(super) fn heed_signals(&mut self) -> Result<Option<Left>, ClientError> {
        let asked = self.signals.take();
        if let Some(signal) = asked.end {
            return Ok(Some(Left::Signalled(signal)));
        }
        if asked.stop {
            self.stop()?;
        }
        if asked.continued {
            self.terminal.make_raw().map_err(ClientError::Broken)?;
            self.ask(View::Repaint(Empty {}))?;
        }
        if asked.resized || asked.continued {
            self.tell_size()?;
        }
        Ok(None)
    }

    /// Leaves the terminal to the shell while this process is stopped, and pushes the shell's lines away when
    /// it continues. Handling the signal to continue makes the terminal raw again and repaints it.
    fn stop(&mut self) -> Result<(), ClientError> {
        sleep(&self.terminal)?;
        self.drawing.extend_from_slice(&self.terminal.room());
        self.draw()
    }

    /// Sends the terminal's size; returns the call's id. A daemon that has the terminal answers it.
    pub(super) fn tell_size(&mut self) -> Result<u64, ClientError> {
        let size = self.terminal.size().map_or_else(SizeRequest::default, SizeRequest::from);
        self.ask(View::Size(size))
    }

    pub(super) fn ask(&mut self, view: View) -> Result<u64, ClientError> {
        self.connection.queue(Request::View(view))
    }

    fn read_keys(&mut self) -> Result<Option<Left>, ClientError> {
        if !self.reads_keys() {
            return Ok(Some(Left::HungUp));
        }
        let mut buffer = [0; TYPED_AT_ONCE];
        let count = match self.terminal.read(&mut buffer) {
            Ok(0) => return Ok(self.input_ended()),
            Ok(count) => count,
            Err(error) if is_passing(&error) => return Ok(None),
            Err(error) => return Err(ClientError::Broken(error)),
        };
        let mut keys = Vec::with_capacity(count);
        let request = self.keys.watch(&buffer[..count], &mut keys);
        self.note_answers()?;
        self.type_keys(&keys)?;
        if request == DetachIntent::Stay {
            return Ok(None);
        }
        // What was typed before the detach keys is still sent, if the daemon accepts it at once.
        drop(self.connection.send_ready());
        Ok(Some(Left::Detached))
    }

    /// Handles the end of the input. A read-only viewer continues if its input was no terminal: nothing was
    /// to be typed anyway.
    pub(super) fn input_ended(&mut self) -> Option<Left> {
        self.has_input = !self.options.read_only || self.terminal.is_typed_on();
        self.has_input.then_some(Left::HungUp)
    }

    pub(super) fn release_keys(&mut self) -> Result<(), ClientError> {
        let mut keys = Vec::new();
        self.keys.release(&mut keys);
        self.type_keys(&keys)
    }

    pub(super) fn type_keys(&mut self, keys: &[u8]) -> Result<(), ClientError> {
        if keys.is_empty() {
            return Ok(());
        }
        self.is_typed_for_daemon = true;
        if self.options.read_only {
            self.drawing.push(BELL);
            return Ok(());
        }
        self.connection.queue_input(self.stream, keys)
    }

    /// Draws as much as the terminal accepts now.
    pub(super) fn draw(&mut self) -> Result<(), ClientError> {
        while !self.drawing.is_empty() {
            match self.terminal.write(&self.drawing) {
                Ok(count) => drop(self.drawing.drain(..count)),
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(ClientError::Broken(error)),
            }
        }
        Ok(())
    }

    fn read_socket(&mut self) -> Result<Option<Left>, ClientError> {
        match self.connection.fill() {
            Ok(0) => self.lost(),
            Ok(_) => self.take_arrived(),
            Err(error) if is_passing(&error) => Ok(None),
            Err(_) => self.lost(),
        }
    }

    pub(super) fn take_arrived(&mut self) -> Result<Option<Left>, ClientError> {
        while let Some(incoming) = self.connection.next_arrived()? {
            match incoming {
                Incoming::Data(data) => self.show(data.kind, &data.bytes),
                Incoming::Notice(Notice::Exit { exit, .. }) => self.exit = Some(exit),
                Incoming::Notice(Notice::End { reason, last_row, .. }) => {
                    return self.ended(reason, last_row);
                }
                Incoming::Notice(Notice::Screen { alternate, colored, .. }) => {
                    self.terminal.shows(alternate, colored)
                }
                Incoming::Notice(Notice::Answered { report, .. }) => self.know_report(report),
                // A repaint follows a gap; a new drawing follows another size.
                Incoming::Notice(
                    Notice::Gap { .. } | Notice::Resized { .. } | Notice::Time { .. } | Notice::Typed { .. },
                ) => {}
                Incoming::Answer(answer) => self.heed_answer(&answer)?,
                Incoming::Event(_) => {}
            }
        }
        Ok(None)
    }

    /// Handles the daemon's end of the stream; the daemon has released the terminal before it.
    fn ended(&mut self, reason: String, last_row: Option<u16>) -> Result<Option<Left>, ClientError> {
        let was_offered = matches!(self.terminal_owner, TerminalOwner::Offered(_));
        self.terminal_owner = TerminalOwner::Us;
        if was_offered {
            // The daemon has never drawn on the terminal: what it sent meanwhile is all there is to see.
            let unshown = std::mem::take(&mut self.unshown);
            self.show(DataKind::Repaint, &unshown);
        }
        self.terminal.ends_at(last_row);
        self.watch = Watch::Resting;
        self.draw_all();
        match (self.exit, reason.as_str()) {
            (Some(exit), _) => Ok(Some(Left::Exited(exit))),
            (None, "detached") => Ok(Some(Left::Detached)),
            (None, "hung_up") => Ok(Some(Left::HungUp)),
            (None, RESTARTED) => self.await_next_run(reason),
            (None, _) => Ok(Some(Left::Ended(reason))),
        }
    }

    fn show(&mut self, kind: DataKind, bytes: &[u8]) {
        match self.terminal_owner {
            TerminalOwner::Us => {}
            // The daemon will draw it, or a repaint is requested; it is kept in case the daemon ends before
            // that.
            TerminalOwner::Offered(_) => return self.keep_unshown(kind, bytes),
            // At the end: the rest that the terminal did not accept from the daemon.
            TerminalOwner::Daemon => return self.drawing.extend_from_slice(bytes),
        }
        let is_raw = self.options.raw && !self.terminal.is_screen();
        if kind == DataKind::Repaint && self.last_kind == Some(DataKind::Output) {
            // Bytes were skipped: the sequence that the terminal is inside of will never be finished.
            if !self.filter.is_at_rest() {
                self.drawing.push(CANCEL);
            }
            self.filter.abandon();
        }
        self.last_kind = Some(kind);
        if is_raw {
            self.drawing.extend_from_slice(bytes);
            return;
        }
        self.drawing.extend_from_slice(&self.filter.pass(bytes));
        self.terminal.shows(self.filter.is_alternate(), self.filter.is_colored());
    }

    /// Keeps the newest repaint and what follows it, up to a bound.
    fn keep_unshown(&mut self, kind: DataKind, bytes: &[u8]) {
        if kind == DataKind::Repaint || self.unshown.len() + bytes.len() > MAX_UNSHOWN {
            self.unshown.clear();
        }
        self.unshown.extend_from_slice(bytes);
    }

    /// Draws the last bytes before leaving, as long as a person would wait for them.
    pub(super) fn draw_all(&mut self) {
        let deadline = Instant::now() + DRAW_DEADLINE;
        while matches!(self.draw(), Ok(())) && !self.drawing.is_empty() {
            let mut fds = [
                PollFd::from_borrowed_fd(self.terminal.output(), PollFlags::OUT),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            ];
            let left = deadline.saturating_duration_since(Instant::now());
            let count = ready::wait(&mut fds, Some(left)).unwrap_or(0);
            if count == 0 || !fds[1].revents().is_empty() {
                return;
            }
        }
    }
}

/// Leaves the terminal to the shell and stops this process.
pub(super) fn sleep(terminal: &Terminal) -> Result<(), ClientError> {
    terminal.step_aside();
    kill_process(getpid(), Signal::STOP).map_err(broken)
}

/// Returns true for "interrupted" and "not ready": try again later.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
