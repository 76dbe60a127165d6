//! The person's terminal while the deck has it: taken over, lent, given back; and the bytes on their way to it.

use std::io;
use std::time::{Duration, Instant};

use client::attach::Terminal;
use proto::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::input::Answer;
use super::link::Link;
use super::modes::{self, HostModes};
use super::{InputParser, What};
use crate::TuiError;
use crate::frame::{ColorDepth, Encoder};
use crate::pane::typing::HostKeyboard;

/// How long the program that has the terminal next waits for an answer that is on its way to the deck.
const LAST_ANSWER: Duration = Duration::from_millis(500);

/// The terminal. Dropping it gives it back as it was.
#[derive(Debug)]
pub(crate) struct Host {
    /// None while somebody else has it.
    pub(crate) terminal: Option<Terminal>,
    pub(crate) encoder: Encoder,
    /// Bytes that the terminal has not taken yet.
    pub(crate) output: Vec<u8>,
    pub(crate) link: Link,
    pub(crate) modes: HostModes,
    pub(crate) keyboard: HostKeyboard,
    pub(crate) is_tmux: bool,
}

impl Host {
    /// Takes the terminal over and asks it about itself.
    pub(crate) fn enter(variable: impl Fn(&str) -> Option<String>) -> Result<Self, TuiError> {
        let is_tmux = variable("TMUX").is_some();
        let mut link = Link::default();
        let output = modes::enter(is_tmux, &mut link);
        Ok(Self {
            terminal: Some(take_over()?),
            encoder: Encoder::new(ColorDepth::of_environment(variable)),
            output,
            link,
            modes: HostModes::default(),
            keyboard: HostKeyboard::default(),
            is_tmux,
        })
    }

    pub(crate) fn size(&self) -> Size {
        self.terminal.as_ref().and_then(Terminal::size).unwrap_or(Size::DEFAULT)
    }

    /// Gives the terminal back for as long as this program sleeps.
    pub(crate) fn stop(&mut self) -> Result<(), TuiError> {
        self.await_answers();
        if let Some(terminal) = &self.terminal {
            terminal.step_aside();
        }
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::STOP)
            .map_err(|error| TuiError::Terminal(error.into()))
    }

    /// Has the terminal again after this program slept.
    pub(crate) fn come_back(&mut self) -> Result<(), TuiError> {
        if let Some(terminal) = &self.terminal {
            terminal.make_raw().map_err(TuiError::Terminal)?;
        }
        self.begin_again();
        Ok(())
    }

    /// Gives the terminal to somebody else; it is as it was before the deck.
    pub(crate) fn lend(&mut self) {
        self.await_answers();
        drop(self.terminal.take());
    }

    /// Takes the terminal over again.
    pub(crate) fn take_back(&mut self) -> Result<(), TuiError> {
        self.terminal = Some(take_over()?);
        self.begin_again();
        Ok(())
    }

    fn begin_again(&mut self) {
        self.modes = HostModes::default();
        self.link.forget_questions();
        self.output = modes::enter_again(self.is_tmux);
        self.encoder.forget();
    }

    /// Writes what the terminal takes now.
    pub(crate) fn write(&mut self, now: Instant) -> Result<(), TuiError> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        let mut written = 0;
        while written < self.output.len() {
            match terminal.write(&self.output[written..]) {
                Ok(count) => written += count,
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(TuiError::Terminal(error)),
            }
        }
        self.output.drain(..written);
        self.link.wrote(written, now);
        Ok(())
    }

    /// Reads until the terminal has answered what it was asked, and drops it: the next program would take an answer for
    /// keys.
    fn await_answers(&mut self) {
        let Some(terminal) = &self.terminal else { return };
        let deadline = Instant::now() + LAST_ANSWER;
        let (mut parser, mut events) = (InputParser::default(), Vec::new());
        let mut typed = vec![0; 4 << 10]; // 4 KiB
        while self.link.is_asking(Instant::now()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::from_borrowed_fd(terminal.input(), PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Err(Errno::INTR) if !left.is_zero() => continue,
                Ok(1..) => {}
                Ok(_) | Err(_) => return,
            }
            match terminal.read(&mut typed) {
                Ok(count @ 1..) => parser.feed(&typed[..count], &mut events),
                Err(error) if is_passing(&error) && !left.is_zero() => {}
                Ok(_) | Err(_) => return,
            }
            let answers = events.drain(..).filter(|event| event.what == What::Answer(Answer::Status));
            answers.for_each(|_| self.link.answered(Instant::now()));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.await_answers();
    }
}

/// Interrupted or not ready: try again later.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Takes the terminal over, in its alternate screen.
fn take_over() -> Result<Terminal, TuiError> {
    let entered = Terminal::enter(rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut terminal = entered.map_err(TuiError::Terminal)?;
    terminal.shows(true, false);
    Ok(terminal)
}
