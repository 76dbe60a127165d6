//! A person's terminal: raw while attached, restored afterwards.
//!
//! `Drop` restores it, so it happens on detach, on exit, on errors, on signals (which end the loop) and on a
//! panic (which unwinds). Keys that were typed to something else are not left for a shell to run.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use proto::Size;
use proto::terminal::TerminalReport;
use proto::terminal::restore::{LEAVE_ALTERNATE, RESET, RESET_COLORS, RESTORE, SAVE};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, isatty, tcflush, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};

use crate::ready;

/// How long restoring may wait for a terminal that accepts nothing.
const RESTORE_DEADLINE: Duration = Duration::from_secs(1);

/// No key, in place of a key that means a signal.
const NO_KEY: u8 = 0;
/// Ends the string that the terminal is inside of.
const CLOSE: &[u8] = b"\x18\x1b\\";
/// Moves below everything that is drawn.
const BELOW: &[u8] = b"\x1b[999;1H\r\n";
/// Moves to the top, where nothing is drawn.
const TOP: &[u8] = b"\x1b[1;1H";

/// The terminal while attached.
#[derive(Debug)]
pub struct Terminal {
    input: OwnedFd,
    output: OwnedFd,
    /// The settings before; `None` when the input is not a terminal.
    saved: Option<Termios>,
    is_screen: bool,
    /// True if input and output are one terminal.
    is_one: bool,
    /// True if the output is a description of our own, which can be read and does not block.
    is_own: bool,
    is_alternate: bool,
    /// True if it got other colours than its own.
    is_colored: bool,
    /// Its answers about itself before anything was changed.
    report: Option<TerminalReport>,
    /// True if anything was drawn: otherwise nothing needs undoing.
    is_drawn: bool,
    /// True if this process uses it although it was passed to the daemon.
    is_seized: bool,
    /// True if unread keys are for the next program.
    keeps_unread: bool,
    /// The last row with content, if it is known: the next output goes below it.
    last_row: Option<u16>,
}

impl Terminal {
    /// Takes the terminal over. Nothing is changed when this fails.
    pub fn enter(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Self> {
        let is_screen = isatty(output);
        let is_one = is_screen && isatty(input) && is_same(input, output);
        let own = if is_one { own_description(output, OFlags::RDWR) } else { None };
        let is_own = own.is_some();
        let own = own.or_else(|| is_screen.then(|| own_description(output, OFlags::WRONLY)).flatten());
        let output = own.map_or_else(|| output.try_clone_to_owned(), Ok)?;
        let input = input.try_clone_to_owned()?;
        let saved = if isatty(&input) { Some(tcgetattr(&input)?) } else { None };
        let terminal = Self {
            input,
            output,
            saved,
            is_screen,
            is_one,
            is_own,
            is_alternate: false,
            is_colored: false,
            report: None,
            is_drawn: false,
            is_seized: false,
            keeps_unread: false,
            last_row: None,
        };
        terminal.make_raw()?;
        Ok(terminal)
    }

    /// Sets raw mode, also after the client was stopped and a shell had the terminal meanwhile.
    pub fn make_raw(&self) -> io::Result<()> {
        let Some(saved) = &self.saved else { return Ok(()) };
        let mut raw = saved.clone();
        raw.make_raw();
        if self.is_seized {
            // Raw for us: no key means a signal. Not raw for the daemon that was passed it, which then leaves
            // it alone.
            raw.local_modes |= LocalModes::ISIG;
            for signal in [SpecialCodeIndex::VINTR, SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP] {
                raw.special_codes[signal] = NO_KEY;
            }
        }
        Ok(tcsetattr(&self.input, OptionalActions::Now, &raw)?)
    }

    /// Takes it from a daemon that does nothing with it, or returns it.
    pub fn seize(&mut self, is_seized: bool) -> io::Result<()> {
        self.is_seized = is_seized;
        self.make_raw()
    }

    /// Leaves unread keys for the next program.
    pub fn keep_unread(&mut self) {
        self.keeps_unread = true;
    }

    /// Returns true if there are unread keys.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.input(), PollFlags::IN)];
        matches!(ready::wait(&mut fds, Some(Duration::ZERO)), Ok(count) if count > 0)
    }

    /// Returns true if the input is a terminal.
    #[must_use]
    pub fn is_typed_on(&self) -> bool {
        self.saved.is_some()
    }

    /// Returns the size; `None` when there is no terminal or it does not report one.
    #[must_use]
    pub fn size(&self) -> Option<Size> {
        size_of(self.output.as_fd()).or_else(|| size_of(self.input.as_fd()))
    }

    /// Returns the size of the terminal behind a descriptor; `None` when there is none or it does not report
    /// one.
    #[must_use]
    pub fn size_of(fd: BorrowedFd<'_>) -> Option<Size> {
        size_of(fd)
    }

    /// Returns true if the output is a terminal.
    #[must_use]
    pub fn is_screen(&self) -> bool {
        self.is_screen
    }

    /// Returns true if input and output are one terminal, which can be passed on as a whole.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.is_one
    }

    /// Returns the descriptor for the daemon to draw on.
    pub fn lend(&mut self) -> BorrowedFd<'_> {
        self.is_drawn = true;
        self.input.as_fd()
    }

    /// Records which screen is shown, and whether in other colours, for restoring.
    pub fn shows(&mut self, is_alternate: bool, is_colored: bool) {
        self.is_alternate = is_alternate;
        self.is_colored |= is_colored;
    }

    /// Records the terminal's answers about itself, for restoring. Its colours are those of the first answer,
    /// or of one that came unasked: what it shows later may be the child's.
    pub fn know(&mut self, report: TerminalReport) {
        if !self.is_colored || self.report.is_none() {
            self.report = Some(report);
        }
    }

    /// Records the last row with content: restoring ends below it instead of below the last row of all, which
    /// would push the content out of sight.
    pub fn ends_at(&mut self, last_row: Option<u16>) {
        self.last_row = last_row;
    }

    /// Bytes that push the person's own lines into scrollback, so that the first repaint does not overwrite
    /// them.
    #[must_use]
    pub fn room(&self) -> Vec<u8> {
        let rows = self.size().filter(|_| self.is_screen).map_or(0, |size| usize::from(size.rows));
        if rows == 0 { Vec::new() } else { [SAVE, b"\x1b[999;1H", &vec![b'\n'; rows]].concat() }
    }

    /// Reads typed bytes; 0 when the terminal is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // Uses the non-blocking description, where there is one: the daemon may have read the keys just now.
        let input = if self.is_own { &self.output } else { &self.input };
        match rustix::io::read(input, buffer) {
            // The other side of the terminal is closed: an end like any other.
            Err(Errno::IO) => Ok(0),
            other => Ok(other?),
        }
    }

    /// Writes as much as the terminal accepts now.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_drawn = true;
        Ok(rustix::io::write(&self.output, bytes)?)
    }

    /// Returns the descriptor that typing is read from.
    #[must_use]
    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Returns the descriptor that drawing is written to.
    #[must_use]
    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Writes as much as possible before the deadline.
    fn write_before(&self, mut bytes: &[u8], deadline: Instant) {
        while !bytes.is_empty() {
            match rustix::io::write(&self.output, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let mut fds = [PollFd::from_borrowed_fd(self.output(), PollFlags::OUT)];
                    if !matches!(ready::wait(&mut fds, Some(left)), Ok(count) if count > 0) {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }
}

impl Terminal {
    /// Restores the terminal. The settings come last, so that nothing is echoed before; the daemon must have
    /// released it.
    fn restore(&self) {
        self.undo_drawing();
        self.restore_settings();
    }

    /// Restores it for a pause: the settings come first, because a daemon leaves a terminal alone that is not
    /// raw.
    pub fn step_aside(&self) {
        self.restore_settings();
        self.undo_drawing();
    }

    fn undo_drawing(&self) {
        if self.is_screen && self.is_drawn {
            let report = self.report.clone().unwrap_or_default();
            let below = self.below();
            let end = if self.is_alternate { LEAVE_ALTERNATE } else { &below };
            let colors = match self.is_colored {
                true => [RESET_COLORS, &report.restoring_colors()].concat(),
                false => Vec::new(),
            };
            let all = [CLOSE, &colors, RESET, &report.restoring_cursor(), end, RESTORE].concat();
            self.write_before(&all, Instant::now() + RESTORE_DEADLINE);
        }
    }

    /// Returns the bytes that move below what is drawn.
    fn below(&self) -> Vec<u8> {
        match self.last_row {
            None => BELOW.to_vec(),
            Some(0) => TOP.to_vec(),
            Some(row) => format!("\x1b[{row};1H\r\n").into_bytes(),
        }
    }

    fn restore_settings(&self) {
        if let Some(saved) = &self.saved {
            // A terminal that is gone need not be restored.
            tcsetattr(&self.input, OptionalActions::Now, saved).unwrap_or(());
        }
    }

    /// Returns true if another program uses it: this one is in the background.
    fn is_anothers(&self) -> bool {
        tcgetpgrp(&self.input).is_ok_and(|foreground| foreground != getpgrp())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.is_anothers() {
            return;
        }
        self.restore();
        // Keys typed at the closed screen were meant for what it showed: a shell would run them.
        if self.saved.is_some() && self.is_drawn && !self.keeps_unread {
            tcflush(&self.input, QueueSelector::IFlush).unwrap_or(());
        }
    }
}

/// Opens the same terminal through a file description of our own: it can be non-blocking without affecting
/// the shell, which shares the inherited one.
fn own_description(output: BorrowedFd<'_>, access: OFlags) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{}", output.as_raw_fd());
    let flags = access | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

fn is_same(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> bool {
    match (fstat(input), fstat(output)) {
        (Ok(input), Ok(output)) => input.st_rdev == output.st_rdev && input.st_dev == output.st_dev,
        _ => false,
    }
}

fn size_of(fd: BorrowedFd<'_>) -> Option<Size> {
    let size = tcgetwinsize(fd).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size { cols: size.ws_col, rows: size.ws_row })
}
