//! The event loop of one holder. It is single-threaded, non-blocking and without periodic wake-ups: an idle
//! holder sleeps in `poll`. Reading output comes first in every turn and never waits for input, links or
//! children.

mod signal_target;
mod sources;

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, getpid, wait};

use self::sources::{Ready, Sources, timeout};
use crate::config::{RunConfig, clamp_size};
use crate::exit::ExitWatch;
use crate::input::InputQueue;
use crate::kill_steps::{DEFAULT_GRACE, Ending, Progress};
use crate::listener::{FirstFrame, Listener};
use crate::peer::Peer;
use crate::pty::{self, Leader, Pty};
use crate::ring::{Flow, RingWriter};
use crate::signals::Signals;
use crate::socket_check::SocketCheck;
use crate::wire::{ExitStatus, FromHolder, HelloFields, ToHolder, WIRE_VERSION};

/// The most reads of the PTY per turn before anything else is served.
const READS_PER_TURN: usize = 16;

/// How long the last messages may take to be sent before the holder exits.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Everything one holder owns.
pub(crate) struct Holder {
    signals: Signals,
    ring: RingWriter,
    flow: Flow,
    pty: Output,
    leader: Leader,
    listener: Listener,
    link: Option<Peer>,
    /// Wakes the daemon of the current link.
    wake: Option<OwnedFd>,
    input: InputQueue,
    exit: ExitWatch,
    ending: Option<Ending>,
    socket_check: SocketCheck,
    checkpoint: Option<(u64, Rc<[u8]>)>,
    size: (u16, u16),
    meta: Vec<u8>,
    /// Set by Release, Hangup and TERM.
    leaving: Leaving,
}

/// The PTY as the loop sees it.
struct Output {
    master: OwnedFd,
    /// Kept open until the leader has ended, see [`Pty`].
    slave: Option<OwnedFd>,
    at_end: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// Leave when the ending is over.
    AfterEnding,
    Now,
}

impl Holder {
    pub(crate) fn new(
        config: RunConfig,
        signals: Signals,
        ring: RingWriter,
        pty: Pty,
        listener: Listener,
        leader: Leader,
    ) -> Holder {
        Holder {
            signals,
            ring,
            flow: Flow::new(config.stall_limit),
            pty: Output { master: pty.master, slave: Some(pty.slave), at_end: false },
            leader,
            listener,
            link: None,
            wake: None,
            input: InputQueue::default(),
            exit: ExitWatch::default(),
            ending: None,
            socket_check: SocketCheck::default(),
            checkpoint: None,
            size: clamp_size(config.cols, config.rows),
            meta: config.meta,
            leaving: Leaving::No,
        }
    }

    /// Greets a daemon and makes it the current one.
    pub(crate) fn adopt(&mut self, mut peer: Peer) {
        // Every daemon gets its own eventfd: one that hangs cannot consume another's wake-ups.
        let Ok(wake) = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK) else { return };
        let head = self.hello().encode_head();
        let blob = self.checkpoint.as_ref().map(|(_, blob)| Rc::clone(blob));
        let fds = [self.ring.file(), wake.as_fd(), self.pty.master.as_fd()];
        let is_greeted = peer.greet(&head, blob, &fds).is_ok();
        // A daemon that is already gone does not replace the current one; without a current one, its last
        // messages still count.
        if is_greeted || self.link.is_none() {
            let newcomer = peer.pid();
            if let Some(mut former) = self.link.replace(peer) {
                former.dismiss(newcomer);
            }
            self.wake = Some(wake);
            // Messages that came with the greeting are already read, and no event would announce them.
            self.obey_messages();
        }
    }

    /// Runs until released or hung up.
    pub(crate) fn run(&mut self) {
        self.reap();
        while self.leaving != Leaving::Now {
            let ready = self.wait_for_events();
            if ready.master_in {
                self.read_output();
            }
            if ready.signals {
                self.take_signals();
            }
            if ready.master_out {
                let answers = self.input.write_to(self.pty.master.as_fd());
                self.tell_all(&answers);
            }
            if ready.link_in || ready.link_out {
                self.serve_link(ready.link_in);
            }
            if ready.newcomer {
                self.answer_peers();
            }
            self.announce();
        }
        self.say_farewell();
    }

    fn hello(&self) -> HelloFields {
        HelloFields {
            wire_version: WIRE_VERSION,
            holder_pid: getpid().as_raw_pid(),
            child_pid: self.leader.pid.as_raw_pid(),
            child_start_time: self.leader.start_time,
            cols: self.size.0,
            rows: self.size.1,
            last_input_id: self.input.last_id(),
            exited: self.exit.announced(),
            ring_bytes: u32::try_from(self.ring.capacity()).unwrap_or(u32::MAX),
            meta: self.meta.clone(),
            checkpoint: self
                .checkpoint
                .as_ref()
                .map(|(offset, blob)| (*offset, u32::try_from(blob.len()).unwrap_or(u32::MAX))),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let exit = self.exit.deadline(Instant::now(), self.flow.is_stalled());
        let ending = self.ending.as_ref().and_then(Ending::deadline);
        [self.flow.deadline(), exit, ending, self.listener.deadline(), self.socket_check.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn wait_for_events(&mut self) -> Ready {
        let mut interests = PollFlags::empty();
        let may_read = self.flow.may_read(&self.ring, Instant::now());
        interests.set(PollFlags::IN, may_read && !self.pty.at_end);
        interests.set(PollFlags::OUT, self.input.has_work());
        let sources = Sources {
            signals: &self.signals,
            listener: &self.listener,
            link: self.link.as_ref(),
            master: self.pty.master.as_fd(),
            master_interests: interests,
        };
        sources.wait(self.next_deadline())
    }

    /// The hot path: PTY to ring, and one wake-up when the daemon waits.
    fn read_output(&mut self) {
        for _ in 0..READS_PER_TURN {
            self.flow.make_room(&mut self.ring);
            match self.ring.fill(self.pty.master.as_fd()) {
                Ok(count) if count > 0 => {
                    self.wake_daemon();
                    self.exit.saw_bytes(Instant::now());
                }
                Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) => {
                    self.exit.saw_empty();
                    return;
                }
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INTR) => {}
                // EIO: the last slave is closed and everything has been read.
                Ok(_) | Err(_) => {
                    self.pty.at_end = true;
                    return;
                }
            }
            if !self.flow.may_read(&self.ring, Instant::now()) {
                return;
            }
        }
    }

    fn wake_daemon(&self) {
        if let Some(wake) = self.wake.as_ref().filter(|_| self.ring.take_armed()) {
            // The counter cannot overflow with one wake-up per wait, and a daemon that is gone needs none.
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }

    fn take_signals(&mut self) {
        let arrived = self.signals.drain();
        if arrived.child {
            self.reap();
        }
        if arrived.terminate {
            self.end_tree(DEFAULT_GRACE, Leaving::AfterEnding);
        }
    }

    /// Reaps every child that has ended. Only this function of a single thread reaps, so a wait for an orphan
    /// cannot take the leader's status. Returns true if no child is left, which for a subreaper means no
    /// descendant.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.leader.pid => self.leader_ended(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    fn leader_ended(&mut self, status: rustix::process::WaitStatus) {
        let status = match (status.exit_status(), status.terminating_signal()) {
            (_, Some(signal)) => ExitStatus::Signal(signal),
            (code, None) => ExitStatus::Code(code.unwrap_or(0)),
        };
        self.exit.reaped(status, Instant::now(), self.ring.end());
        self.pty.slave = None;
        let answers = self.input.close();
        self.tell_all(&answers);
    }

    fn serve_link(&mut self, readable: bool) {
        let Some(peer) = self.link.as_mut() else { return };
        peer.flush();
        let alive = !readable || peer.fill().is_ok();
        // The last messages of a dying daemon still count.
        self.obey_messages();
        if !alive {
            self.drop_link();
        }
    }

    fn obey_messages(&mut self) {
        while let Some(peer) = self.link.as_mut() {
            match peer.next_message() {
                Ok(Some(message)) => self.obey(message),
                Ok(None) => return,
                Err(_) => self.drop_link(),
            }
        }
    }

    fn obey(&mut self, message: ToHolder) {
        match message {
            ToHolder::Input { id, bytes } => {
                let refused = self.input.accept(id, bytes);
                self.tell_all(refused.as_slice());
                let answers = self.input.write_to(self.pty.master.as_fd());
                self.tell_all(&answers);
            }
            ToHolder::KeyedInput { id, key, note, bytes } => {
                let refused = self.input.accept_keyed(id, key, note, bytes);
                self.tell_all(refused.as_slice());
                let answers = self.input.write_to(self.pty.master.as_fd());
                self.tell_all(&answers);
            }
            ToHolder::AskKey { key } => {
                let state = self.input.state_of(key);
                self.tell_all(&[FromHolder::KeyState(state)]);
            }
            ToHolder::CancelInput { id } => {
                let answer = self.input.cancel(id);
                self.tell_all(answer.as_slice());
            }
            ToHolder::Resize { cols, rows } => self.resize(cols, rows),
            ToHolder::Signal { signal, to } => {
                signal_target::send(signal, to, &self.leader, self.pty.master.as_fd())
            }
            ToHolder::End { signal, grace_ms } => {
                self.ask_tree(signal, Duration::from_millis(grace_ms.into()));
            }
            ToHolder::Kill { grace_ms } => {
                self.end_tree(Duration::from_millis(grace_ms.into()), Leaving::No);
            }
            ToHolder::Checkpoint { offset, blob } => self.checkpoint = Some((offset, Rc::from(blob))),
            // An ending that is under way keeps its grace.
            ToHolder::Release { .. } if self.ending.is_some() => self.leaving = Leaving::AfterEnding,
            ToHolder::Release { end_tree } if end_tree || self.exit.is_running() => {
                self.end_tree(DEFAULT_GRACE, Leaving::AfterEnding);
            }
            ToHolder::Release { .. } => self.leaving = Leaving::Now,
            ToHolder::Hangup => self.end_tree(DEFAULT_GRACE, Leaving::AfterEnding),
            // Resume had its effect by waking us; a second HELLO changes nothing.
            ToHolder::Resume | ToHolder::Hello { .. } => {}
        }
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        let size = clamp_size(cols, rows);
        // An equal size would be a useless system call; a failing one means that the PTY is gone, which the
        // exit reports.
        if size != self.size && pty::resize(self.pty.master.as_fd(), size.0, size.1).is_ok() {
            self.size = size;
        }
    }

    fn end_tree(&mut self, grace: Duration, then: Leaving) {
        let now = Instant::now();
        match self.ending.as_mut() {
            Some(ending) => ending.hurry(grace, now),
            None => self.ending = Some(Ending::hang_up(getpid().as_raw_pid(), grace, now)),
        }
        if then != Leaving::No {
            self.leaving = then;
        }
    }

    /// Asks the tree to end with this signal; TERM replaces one that cannot be sent.
    fn ask_tree(&mut self, signal: i32, grace: Duration) {
        let now = Instant::now();
        match self.ending.as_mut() {
            Some(ending) => ending.hurry(grace, now),
            None => {
                let signal = signal_target::by_number(signal).unwrap_or(Signal::TERM);
                self.ending = Some(Ending::ask(getpid().as_raw_pid(), signal, grace, now));
            }
        }
    }

    fn answer_peers(&mut self) {
        self.listener.accept();
        for frame in self.listener.first_frames() {
            match frame {
                FirstFrame::Daemon(peer) => self.adopt(peer),
                FirstFrame::Hangup => self.end_tree(DEFAULT_GRACE, Leaving::AfterEnding),
            }
        }
    }

    /// Announces exits and ended trees.
    fn announce(&mut self) {
        let now = Instant::now();
        if self.exit.is_draining() && !self.pty.at_end && self.flow.may_read(&self.ring, now) {
            // Only a read distinguishes an empty PTY from one whose bytes are still to come; `poll` does not.
            self.read_output();
        }
        if let Some(exit) = self.exit.announce(now, self.ring.end(), self.pty.at_end, self.flow.is_stalled())
        {
            self.tell_all(&[FromHolder::Exited(exit)]);
        }
        self.check_socket(now);
        let Some(mut ending) = self.ending.take() else { return };
        let childless = self.reap();
        match ending.advance(now, childless) {
            Progress::Over(survivors) if self.may_end(survivors) => {
                self.tell_all(&[FromHolder::TreeGone { survivors }]);
                if self.leaving == Leaving::AfterEnding {
                    self.leaving = Leaving::Now;
                }
            }
            Progress::Over(_) | Progress::Going => self.ending = Some(ending),
        }
    }

    /// Makes the socket again if it is gone. An ended run whose socket cannot be made again exits, because no daemon
    /// will ever find it; background processes are not ended with it.
    fn check_socket(&mut self, now: Instant) {
        if !self.socket_check.is_due(self.link.is_some(), now) || self.listener.restore() {
            return;
        }
        if self.exit.announced().is_some() && self.ending.is_none() {
            self.leaving = Leaving::Now;
        }
    }

    /// Returns true if the tree's end may be announced: after the exit, unless something keeps the PTY from
    /// being read to its end.
    fn may_end(&self, survivors: u32) -> bool {
        survivors > 0 || self.exit.announced().is_some() || self.flow.is_stalled()
    }

    fn tell_all(&mut self, messages: &[FromHolder]) {
        for message in messages {
            if let Some(peer) = self.link.as_mut() {
                peer.send(message);
            }
        }
    }

    fn drop_link(&mut self) {
        self.link = None;
        self.wake = None;
    }

    /// Gives the last messages a moment to be sent.
    fn say_farewell(&mut self) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while let Some(peer) = self.link.as_mut().filter(|peer| peer.wants_write()) {
            let mut fds = [PollFd::new(&*peer, PollFlags::OUT)];
            let waited = poll(&mut fds, timeout(Some(deadline)).as_ref());
            if !matches!(waited, Ok(1..)) {
                return;
            }
            peer.flush();
        }
    }
}
