//! A person's terminal that a viewer has passed: keys are read from it and output is drawn on it without a
//! process between.
//!
//! It has the terminal's descriptor, the filter and the detach keys of one viewer. What was passed must be a
//! terminal, and is opened again, so that no other process can make our reads and writes block. A terminal
//! that its client does not hold raw is left alone: a stopped client's terminal is its shell's.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use proto::request::{PassedTerminal, Questions};
use proto::terminal::answers::QUESTIONS;
use proto::terminal::{CANCEL, Clipboard, DetachIntent, Filter, KeyWatch, TerminalReport};
use rustix::event::epoll::EventFlags;
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::pty::ptsname;
use rustix::termios::{LocalModes, isatty, tcgetattr};

use super::unsent_bytes::UnsentBytes;

/// Why a descriptor is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// Nothing came with the call.
    #[error("no descriptor came with the call")]
    Missing,
    /// Something else came.
    #[error("the passed descriptor is not a terminal")]
    NoTerminal,
    /// It cannot be opened.
    #[error("the terminal cannot be opened: {0}")]
    Closed(#[from] Errno),
}

/// The result of reading the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// So many bytes.
    Keys(usize),
    /// Nothing for us.
    Nothing,
    /// It is gone.
    HungUp,
}

/// What must be undone on a terminal besides the usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalState {
    /// Its alternate screen.
    pub(crate) alternate: bool,
    /// Other colours than its own.
    pub(crate) colored: bool,
}

/// A terminal.
pub(crate) struct Terminal {
    fd: OwnedFd,
    filter: Filter,
    keys: KeyWatch,
    /// When a key whose rest has not arrived is passed on as it is.
    held_until: Option<Instant>,
    /// What it has not accepted.
    undrawn: UnsentBytes,
    /// True if live output was drawn last, which may end inside a sequence.
    is_live: bool,
    /// Its client does not hold it raw: left alone until the client sends something.
    is_aside: bool,
    shown: TerminalState,
    /// The events it is watched for, once it is.
    pub(super) watched: Option<EventFlags>,
}

impl Terminal {
    /// Takes a terminal.
    pub(crate) fn open(passed: Option<OwnedFd>, intent: PassedTerminal) -> Result<Self, NotTaken> {
        let passed = passed.ok_or(NotTaken::Missing)?;
        let before = fstat(&passed)?;
        let is_device = FileType::from_raw_mode(before.st_mode) == FileType::CharacterDevice;
        // A master side has no person, and opening it again would make another terminal.
        let is_master = ptsname(&passed, Vec::new()).is_ok();
        if !is_device || is_master || !isatty(&passed) {
            return Err(NotTaken::NoTerminal);
        }
        let path = format!("/proc/self/fd/{}", passed.as_raw_fd());
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        if fstat(&fd)?.st_rdev != before.st_rdev || !isatty(&fd) {
            return Err(NotTaken::NoTerminal);
        }
        let clipboard = if intent.clipboard { Clipboard::Writable } else { Clipboard::Refused };
        let mut keys = KeyWatch::new(intent.detach_keys);
        match intent.questions {
            Questions::NotAsked => {}
            Questions::Asked => keys.expect_answers(),
            Questions::Answered => keys.know_answers(TerminalReport::default()),
        }
        Ok(Self {
            fd,
            filter: Filter::new(clipboard),
            keys,
            held_until: None,
            undrawn: UnsentBytes::default(),
            is_live: false,
            is_aside: false,
            shown: TerminalState::default(),
            watched: None,
        })
    }

    /// Reads what was typed.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Typed {
        if self.is_set_aside() {
            return Typed::Nothing;
        }
        match rustix::io::read(&self.fd, buffer) {
            Ok(0) => Typed::HungUp,
            Ok(count) => Typed::Keys(count),
            Err(Errno::AGAIN | Errno::INTR) => Typed::Nothing,
            Err(_) => Typed::HungUp,
        }
    }

    /// The part of the typed bytes that is for the child.
    pub(crate) fn watch_keys(&mut self, typed: &[u8], now: Instant, keys: &mut Vec<u8>) -> DetachIntent {
        let intent = self.keys.watch(typed, keys);
        self.held_until = self.keys.pause().map(|pause| now + pause);
        intent
    }

    /// Returns when a key whose rest did not arrive is passed on as it is.
    pub(crate) fn keys_due(&self) -> Option<Instant> {
        self.held_until
    }

    /// Returns the terminal's new answers about itself, if any. One that changed between light and dark is
    /// asked for its colours first, unless it is in the middle of a string.
    pub(crate) fn take_report(&mut self) -> Option<TerminalReport> {
        if self.keys.is_outdated() && self.filter.is_at_rest() && !self.is_set_aside() {
            self.undrawn.push(QUESTIONS);
            self.keys.expect_answers();
        }
        self.keys.take_report()
    }

    /// Returns a key whose rest did not arrive in time.
    pub(crate) fn release_keys(&mut self, now: Instant, keys: &mut Vec<u8>) {
        if self.keys_due().is_some_and(|due| due <= now) {
            self.keys.release(keys);
            self.held_until = None;
        }
    }

    /// Draws live output through the filter.
    pub(crate) fn draw_output(&mut self, bytes: &[u8]) {
        if self.is_set_aside() {
            return;
        }
        self.is_live = true;
        let shown = self.filter.pass(bytes);
        self.undrawn.push_through(&shown, |bytes| Ok(rustix::io::write(&self.fd, bytes)?));
    }

    /// Repaints the screen, whatever sequence the terminal is inside of.
    pub(crate) fn draw_screen(&mut self, drawing: &[u8]) {
        if self.is_set_aside() {
            return;
        }
        if std::mem::take(&mut self.is_live) {
            if !self.filter.is_at_rest() {
                self.undrawn.push(&[CANCEL]);
            }
            self.filter.abandon();
        }
        let shown = self.filter.pass(drawing);
        self.undrawn.push(&shown);
    }

    /// Draws one byte that is not output.
    pub(crate) fn draw_byte(&mut self, byte: u8) {
        if !self.is_set_aside() {
            self.undrawn.push(&[byte]);
        }
    }

    /// Writes what waits.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.undrawn.is_clear() || self.is_set_aside() {
            return Ok(());
        }
        self.undrawn.flush(|bytes| Ok(rustix::io::write(&self.fd, bytes)?))
    }

    /// Returns true if it has accepted everything and may be drawn on.
    pub(crate) fn is_clear(&self) -> bool {
        self.undrawn.is_clear() && !self.is_aside
    }

    /// Returns what it has not accepted, which its client draws from now on.
    pub(crate) fn take_undrawn(&mut self) -> Vec<u8> {
        self.undrawn.take()
    }

    /// Returns what it shows from now on, if that has changed since the last call.
    pub(crate) fn take_screen_change(&mut self) -> Option<TerminalState> {
        let shown =
            TerminalState { alternate: self.filter.is_alternate(), colored: self.filter.is_colored() };
        (std::mem::replace(&mut self.shown, shown) != shown).then_some(shown)
    }

    /// Records that its client has it again.
    pub(crate) fn is_back(&mut self) {
        self.is_aside = false;
    }

    /// Returns the events to watch it for, depending on whether its keys are held back. Its end is always
    /// reported.
    pub(crate) fn wants(&self, is_held_back: bool) -> EventFlags {
        let mut wants = EventFlags::empty();
        wants.set(EventFlags::IN, !self.is_aside && !is_held_back);
        wants.set(EventFlags::OUT, !self.is_aside && !self.undrawn.is_clear());
        wants
    }

    /// Returns true if the client does not hold it raw, or did not at the last check. What was to be drawn is
    /// dropped: a client that comes back asks for all of it.
    fn is_set_aside(&mut self) -> bool {
        if !self.is_aside && !self.is_raw() {
            self.is_aside = true;
            drop(self.undrawn.take());
        }
        self.is_aside
    }

    /// Returns true if it is raw. A terminal that does not answer is gone, which its watch reports.
    fn is_raw(&self) -> bool {
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcgetattr(&self.fd).is_ok_and(|modes| !modes.local_modes.intersects(cooked))
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
