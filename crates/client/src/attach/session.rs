//! The loop of an attached client.
//!
//! Owns what is in flight in both directions and coming back after the daemon died. Refuses replaying: what was typed
//! while nobody listened is dropped with a bell, because half a command is worse than none.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use proto::frame::DataKind;
use proto::reply::Attached;
use proto::request::{Attach, Nothing, SizeWish, Target, View};
use proto::{ErrorCode, Exit, Notice, Request};
use rustix::event::{PollFd, PollFlags};

use super::keys::{KeyWatch, Wish};
use super::signals::Signals;
use super::{Filter, Left, Options, Outcome, Terminal};
use crate::connection::{broken, data_frame};
use crate::{ClientError, Connection, Door, Incoming, ready};

/// How long a daemon that died may take to come back.
const RETURN_DEADLINE: Duration = Duration::from_secs(5);
/// Between two attempts to reach it; keys and signals are heard meanwhile.
const RETURN_PAUSE: Duration = Duration::from_millis(50);
/// How long the rest of a key's sequence may take to arrive.
const KEY_PAUSE: Duration = Duration::from_millis(20);
/// Most typed bytes on their way to a daemon that does not take them; then the terminal is not read.
const MAX_TYPED: usize = 1 << 20; // 1 MiB
const TYPED_AT_ONCE: usize = 64 << 10; // 64 KiB
const BELL: u8 = 0x07;
const CANCEL: u8 = 0x18;

pub(super) fn run(
    door: &mut Door,
    options: &Options,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> Result<Outcome, ClientError> {
    let signals = Signals::register().map_err(ClientError::Broken)?;
    // Connecting may start a daemon and take its time: until then the terminal's own keys end this program.
    let mut connection = door.connect()?;
    // Raw before the answer: a detach key typed at the first glimpse of the screen must not be a signal.
    let terminal = Terminal::enter(input, output).map_err(ClientError::Broken)?;
    let size = terminal.size().map_or_else(SizeWish::default, SizeWish::from);
    let attached = connection.attach(attach_request(options, options.target.clone(), size))?;
    let name = attached.name.clone();
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
    };
    let left = session.run_until_left()?;
    Ok(Outcome { name, left })
}

fn attach_request(options: &Options, target: Target, size: SizeWish) -> Attach {
    let Options { read_only, take_over, policy, .. } = *options;
    Attach { target, size, read_only, policy, take_over }
}

struct Session<'s> {
    door: &'s mut Door,
    options: &'s Options,
    connection: Connection,
    attached: Attached,
    stream: u32,
    terminal: Terminal,
    signals: Signals,
    filter: Filter,
    keys: KeyWatch,
    /// On its way to the terminal.
    drawing: Vec<u8>,
    /// On its way to the daemon.
    typed: Vec<u8>,
    exit: Option<Exit>,
    last_kind: Option<DataKind>,
}

/// Which descriptors have something to do.
struct Ready {
    signals: bool,
    keys: bool,
    socket: bool,
}

impl Session<'_> {
    fn run_until_left(&mut self) -> Result<Left, ClientError> {
        self.connection.stream().set_nonblocking(true).map_err(ClientError::Broken)?;
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
        let can_type = self.typed.len() < MAX_TYPED;
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

    fn heed_signals(&mut self) -> Result<Option<Left>, ClientError> {
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

    fn ask(&mut self, view: View) -> Result<(), ClientError> {
        let line = self.connection.line(Request::View(view))?;
        self.typed.extend_from_slice(&line);
        Ok(())
    }

    fn read_keys(&mut self) -> Result<Option<Left>, ClientError> {
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
    fn draw(&mut self) -> Result<(), ClientError> {
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

    fn take_arrived(&mut self) -> Result<Option<Left>, ClientError> {
        while let Some(incoming) = self.connection.take()? {
            match incoming {
                Incoming::Data(data) => self.show(data.kind, &data.bytes),
                Incoming::Notice(Notice::Exit { exit, .. }) => self.exit = Some(exit),
                Incoming::Notice(Notice::End { reason, .. }) => {
                    self.draw_all();
                    return Ok(Some(self.exit.map_or(Left::Ended(reason), Left::Exited)));
                }
                // A gap is followed by a repaint, another size by what is drawn for it.
                Incoming::Notice(Notice::Gap { .. } | Notice::Resized { .. }) => {}
                Incoming::Answer(_) | Incoming::Event(_) => {}
            }
        }
        Ok(None)
    }

    fn show(&mut self, kind: DataKind, bytes: &[u8]) {
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
    fn draw_all(&mut self) {
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

    /// The connection broke without a word: the run is over, or the daemon died and comes back.
    fn lost(&mut self) -> Result<Option<Left>, ClientError> {
        if let Some(exit) = self.exit {
            self.draw_all();
            return Ok(Some(Left::Exited(exit)));
        }
        if !self.typed.is_empty() {
            self.typed.clear();
            self.drawing.push(BELL);
            self.draw()?;
        }
        let deadline = Instant::now() + RETURN_DEADLINE;
        loop {
            match self.attach_again(deadline) {
                Ok(Some(left)) => return Ok(Some(left)),
                Ok(None) => return self.drop_typed(),
                Err(error) if is_final(&error) || Instant::now() >= deadline => return Err(error),
                Err(_) => {}
            }
            if let Some(left) = self.pause()? {
                return Ok(Some(left));
            }
        }
    }

    fn attach_again(&mut self, deadline: Instant) -> Result<Option<Left>, ClientError> {
        let mut connection = self.door.connect_before(deadline)?;
        let size = self.terminal.size().map_or_else(SizeWish::default, SizeWish::from);
        let target = Target(self.attached.id.to_string());
        let request = Attach { take_over: false, ..attach_request(self.options, target, size) };
        self.attached = connection.attach(request)?;
        self.stream = self.attached.stream;
        connection.stream().set_nonblocking(true).map_err(ClientError::Broken)?;
        self.connection = connection;
        self.last_kind = Some(DataKind::Output);
        self.take_arrived()
    }

    /// Waits a little for the daemon while keys and signals are heard.
    fn pause(&mut self) -> Result<Option<Left>, ClientError> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.terminal.input(), PollFlags::IN),
        ];
        ready::wait(&mut fds, Some(RETURN_PAUSE)).map_err(broken)?;
        match self.heed_signals()? {
            Some(left) => Ok(Some(left)),
            None => self.drop_typed(),
        }
    }

    /// Drops what was typed while nobody listened, except the wish to leave.
    fn drop_typed(&mut self) -> Result<Option<Left>, ClientError> {
        let mut buffer = [0; TYPED_AT_ONCE];
        let mut dropped = Vec::new();
        loop {
            let mut fds = [PollFd::from_borrowed_fd(self.terminal.input(), PollFlags::IN)];
            if ready::wait(&mut fds, Some(Duration::ZERO)).map_err(broken)? == 0 {
                break;
            }
            match self.terminal.read(&mut buffer) {
                Ok(0) => return Ok(Some(Left::HungUp)),
                Ok(count) if self.keys.watch(&buffer[..count], &mut dropped) == Wish::Detach => {
                    return Ok(Some(Left::Detached));
                }
                Ok(_) => {}
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(ClientError::Broken(error)),
            }
        }
        if !dropped.is_empty() {
            self.drawing.push(BELL);
            self.draw()?;
        }
        Ok(None)
    }
}

/// Interrupted or not ready: try again later.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Asking again would be answered the same.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Version { .. } => true,
        ClientError::Failed(failure) => failure.code != ErrorCode::ShuttingDown,
        ClientError::Unreachable(_) | ClientError::Broken(_) => false,
    }
}
