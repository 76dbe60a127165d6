//! The loop of an attached client.
//!
//! Owns what is in flight in both directions. Refuses waiting for one of them: a terminal that takes nothing is still
//! heard, a daemon that takes nothing is still shown.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use proto::frame::DataKind;
use proto::reply::Attached;
use proto::request::{Attach, Nothing, SizeWish, Target, View};
use proto::terminal::{BELL, CANCEL, KeyWatch, Wish};
use proto::{Exit, Notice, Reply, Request};
use rustix::event::{PollFd, PollFlags};

use super::passing::Keeper;
use super::signals::Signals;
use super::{Filter, Left, Options, Outcome, Terminal};
use crate::connection::{broken, data_frame};
use crate::patience::Patience;
use crate::verbs::unexpected;
use crate::{ClientError, Connection, Door, Incoming, ready};

/// How long a daemon that died may take to come back.
pub(super) const RETURN_DEADLINE: Duration = Duration::from_secs(5);
/// How long the rest of a key's sequence may take to arrive.
const KEY_PAUSE: Duration = Duration::from_millis(20);
/// Most typed bytes on their way to a daemon that does not take them; then the terminal is not read.
const MAX_TYPED: usize = 1 << 20; // 1 MiB
pub(super) const TYPED_AT_ONCE: usize = 64 << 10; // 64 KiB

pub(super) fn run(
    door: &mut Door,
    options: &Options,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> Result<Outcome, ClientError> {
    // Connecting may start a daemon and take its time: until then every signal ends this program as usual.
    let mut connection = door.connect()?;
    let mut signals = Signals::register().map_err(ClientError::Broken)?;
    // Raw before the answer: a detach key typed at the first glimpse of the screen must not be a signal.
    let terminal = Terminal::enter(input, output).map_err(ClientError::Broken)?;
    let size = terminal.size().map_or_else(SizeWish::default, SizeWish::from);
    let request = Request::Attach(attach_request(options, options.target.clone(), size));
    let (attached, is_resized) = match begin(&mut connection, &mut signals, &terminal, request)? {
        Begun::Attached(attached, is_resized) => (*attached, is_resized),
        Begun::Signalled(signal) => {
            return Ok(Outcome { name: options.target.0.clone(), left: Left::Signalled(signal) });
        }
    };
    let name = attached.name.to_string();
    let drawing = terminal.room();
    let mut session = Session {
        door,
        options,
        filter: Filter::new(options.clipboard),
        keys: KeyWatch::new(options.keys.clone()),
        stream: attached.stream,
        attached,
        connection,
        terminal,
        signals,
        drawing,
        typed: Vec::new(),
        exit: None,
        last_kind: None,
        keeper: Keeper::Us,
    };
    if is_resized {
        session.tell_size()?;
    }
    let left = session.run_until_left();
    session.take_terminal_back();
    Ok(Outcome { name, left: left? })
}

/// What came of asking to attach.
enum Begun {
    /// The answer, and whether the terminal has changed its size since it was asked.
    Attached(Box<Attached>, bool),
    /// This signal ends the client.
    Signalled(i32),
}

/// Asks to attach and waits for the answer while signals are heard: the terminal is raw, and a daemon may be stopped.
fn begin(
    connection: &mut Connection,
    signals: &mut Signals,
    terminal: &Terminal,
    request: Request,
) -> Result<Begun, ClientError> {
    let patience = Patience::with(&request);
    let id = connection.send(request)?;
    let mut is_resized = false;
    loop {
        match connection.answer_with(id, patience.listening(signals.as_fd()))? {
            Some(Reply::Attached(attached)) => return Ok(Begun::Attached(Box::new(attached), is_resized)),
            Some(other) => return Err(unexpected("attach", &other)),
            None => {}
        }
        let asked = signals.take();
        if let Some(signal) = asked.end {
            return Ok(Begun::Signalled(signal));
        }
        if asked.continued {
            terminal.make_raw().map_err(ClientError::Broken)?;
        }
        is_resized |= asked.resized;
    }
}

pub(super) fn attach_request(options: &Options, target: Target, size: SizeWish) -> Attach {
    let Options { read_only, take_over, policy, .. } = *options;
    Attach { target, size, read_only, policy, take_over }
}

pub(super) struct Session<'s> {
    pub(super) door: &'s mut Door,
    pub(super) options: &'s Options,
    pub(super) connection: Connection,
    pub(super) attached: Attached,
    pub(super) stream: u32,
    pub(super) terminal: Terminal,
    pub(super) signals: Signals,
    pub(super) filter: Filter,
    pub(super) keys: KeyWatch,
    /// On its way to the terminal.
    pub(super) drawing: Vec<u8>,
    /// On its way to the daemon.
    pub(super) typed: Vec<u8>,
    pub(super) exit: Option<Exit>,
    pub(super) last_kind: Option<DataKind>,
    pub(super) keeper: Keeper,
}

/// Which descriptors have something to do.
struct Ready {
    signals: bool,
    keys: bool,
    socket: bool,
}

impl Session<'_> {
    fn run_until_left(&mut self) -> Result<Left, ClientError> {
        let offered = self.offer_terminal();
        self.connection.stream().set_nonblocking(true).map_err(ClientError::Broken)?;
        if offered.is_err()
            && let Some(left) = self.lost()?
        {
            return Ok(left);
        }
        // Frames may have come together with the answer to `attach`.
        if let Some(left) = self.take_arrived()? {
            return Ok(left);
        }
        loop {
            self.draw()?;
            let sent = self.send_typed();
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
            let left = match sent {
                Ok(()) if !ready.socket => None,
                Ok(()) => self.read_socket()?,
                Err(_) => self.lost()?,
            };
            if let Some(left) = left {
                return Ok(left);
            }
        }
    }

    fn wait(&mut self) -> Result<Ready, ClientError> {
        let nothing = PollFlags::empty();
        // A terminal that is not ours is only watched for its end.
        let can_type = self.keeper == Keeper::Us && self.typed.len() < MAX_TYPED;
        let is_drawn = self.drawing.is_empty();
        let socket = if is_drawn { PollFlags::IN } else { nothing };
        let socket = socket | if self.typed.is_empty() { nothing } else { PollFlags::OUT };
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.terminal.input(), if can_type { PollFlags::IN } else { nothing }),
        ];
        // A descriptor that is not asked anything still reports hang-ups, in a loop that cannot act on them.
        if socket != nothing {
            fds.push(PollFd::from_borrowed_fd(self.connection.as_fd(), socket));
        }
        if !is_drawn {
            fds.push(PollFd::from_borrowed_fd(self.terminal.output(), PollFlags::OUT));
        }
        let timeout = self.keys.is_holding().then_some(KEY_PAUSE);
        let count = ready::wait(&mut fds, timeout).map_err(broken)?;
        let happened = |place: usize| fds.get(place).is_some_and(|fd| !fd.revents().is_empty());
        let ended = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        let socket = socket != nothing && is_drawn && fds[2].revents().intersects(ended);
        let ready = Ready { signals: happened(0), keys: happened(1), socket };
        if count == 0 {
            self.release_keys()?;
        }
        Ok(ready)
    }

    pub(super) fn heed_signals(&mut self) -> Result<Option<Left>, ClientError> {
        let asked = self.signals.take();
        if let Some(signal) = asked.end {
            return Ok(Some(Left::Signalled(signal)));
        }
        if asked.continued {
            self.terminal.make_raw().map_err(ClientError::Broken)?;
            self.ask(View::Repaint(Nothing {}))?;
        }
        if asked.resized || asked.continued {
            self.tell_size()?;
        }
        Ok(None)
    }

    fn tell_size(&mut self) -> Result<(), ClientError> {
        match self.terminal.size() {
            Some(size) => self.ask(View::Size(size.into())),
            None => Ok(()),
        }
    }

    pub(super) fn ask(&mut self, view: View) -> Result<(), ClientError> {
        let line = self.connection.line(Request::View(view))?;
        self.typed.extend_from_slice(&line);
        Ok(())
    }

    fn read_keys(&mut self) -> Result<Option<Left>, ClientError> {
        if self.keeper != Keeper::Us {
            return Ok(Some(Left::HungUp));
        }
        let mut buffer = [0; TYPED_AT_ONCE];
        let count = match self.terminal.read(&mut buffer) {
            Ok(0) => return Ok(Some(Left::HungUp)),
            Ok(count) => count,
            Err(error) if is_passing(&error) => return Ok(None),
            Err(error) => return Err(ClientError::Broken(error)),
        };
        let mut keys = Vec::with_capacity(count);
        let wish = self.keys.watch(&buffer[..count], &mut keys);
        self.type_keys(&keys)?;
        if wish == Wish::Stay {
            return Ok(None);
        }
        // What was typed before the detach keys still goes out, if the daemon takes it at once.
        drop(self.send_typed());
        Ok(Some(Left::Detached))
    }

    fn release_keys(&mut self) -> Result<(), ClientError> {
        let mut keys = Vec::new();
        self.keys.release(&mut keys);
        self.type_keys(&keys)
    }

    fn type_keys(&mut self, keys: &[u8]) -> Result<(), ClientError> {
        if keys.is_empty() {
            return Ok(());
        }
        if self.options.read_only {
            self.drawing.push(BELL);
            return Ok(());
        }
        let frame = data_frame(self.stream, 0, keys)?;
        self.typed.extend_from_slice(&frame);
        Ok(())
    }

    /// Sends what the socket takes now.
    fn send_typed(&mut self) -> io::Result<()> {
        while !self.typed.is_empty() {
            match io::Write::write(&mut self.connection.stream(), &self.typed) {
                Ok(count) => drop(self.typed.drain(..count)),
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Draws what the terminal takes now.
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
        while let Some(incoming) = self.connection.take()? {
            match incoming {
                Incoming::Data(data) => self.show(data.kind, &data.bytes),
                Incoming::Notice(Notice::Exit { exit, .. }) => self.exit = Some(exit),
                Incoming::Notice(Notice::End { reason, .. }) => return Ok(Some(self.ended(reason))),
                Incoming::Notice(Notice::Screen { alternate, .. }) => {
                    self.terminal.shows_alternate(alternate)
                }
                // A gap is followed by a repaint, another size by what is drawn for it.
                Incoming::Notice(Notice::Gap { .. } | Notice::Resized { .. }) => {}
                Incoming::Answer(answer) => self.heed_answer(&answer)?,
                Incoming::Event(_) => {}
            }
        }
        Ok(None)
    }

    /// The daemon has said its last word, and has let go of the terminal before it.
    fn ended(&mut self, reason: String) -> Left {
        self.keeper = Keeper::Us;
        self.draw_all();
        match (self.exit, reason.as_str()) {
            (Some(exit), _) => Left::Exited(exit),
            (None, "detached") => Left::Detached,
            (None, "hung_up") => Left::HungUp,
            (None, _) => Left::Ended(reason),
        }
    }

    fn show(&mut self, kind: DataKind, bytes: &[u8]) {
        match self.keeper {
            Keeper::Us => {}
            // The daemon will draw it, or it is asked for again.
            Keeper::Offered(_) => return,
            // What the terminal did not take of what the daemon drew, to the end.
            Keeper::Daemon => return self.drawing.extend_from_slice(bytes),
        }
        let is_raw = self.options.raw && !self.terminal.is_screen();
        if kind == DataKind::Repaint && self.last_kind == Some(DataKind::Output) {
            // Bytes were skipped: whatever sequence the terminal is inside of will never be finished.
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
        self.terminal.shows_alternate(self.filter.is_alternate());
    }

    /// Draws the last bytes before leaving, for as long as a person would wait for them.
    pub(super) fn draw_all(&mut self) {
        let deadline = Instant::now() + RETURN_DEADLINE;
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

/// Interrupted or not ready: try again later.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
