//! The person's terminal while the deck has it: taken over, lent, given back; and the bytes on their way to it.

use client::attach::Terminal;
use proto::Size;

use super::modes::{self, HostModes};
use crate::TuiError;
use crate::frame::{ColorDepth, Encoder};
use crate::pane::typing::HostKeyboard;

/// The terminal. Dropping it gives it back as it was.
#[derive(Debug)]
pub(crate) struct Host {
    /// None while somebody else has it.
    pub(crate) terminal: Option<Terminal>,
    pub(crate) encoder: Encoder,
    /// Bytes that the terminal has not taken yet.
    pub(crate) output: Vec<u8>,
    pub(crate) modes: HostModes,
    pub(crate) keyboard: HostKeyboard,
    pub(crate) is_tmux: bool,
}

impl Host {
    /// Takes the terminal over and asks it about itself.
    pub(crate) fn enter(variable: impl Fn(&str) -> Option<String>) -> Result<Self, TuiError> {
        let is_tmux = variable("TMUX").is_some();
        Ok(Self {
            terminal: Some(take_over()?),
            encoder: Encoder::new(ColorDepth::of_environment(variable)),
            output: modes::enter(is_tmux),
            modes: HostModes::default(),
            keyboard: HostKeyboard::default(),
            is_tmux,
        })
    }

    pub(crate) fn size(&self) -> Size {
        self.terminal.as_ref().and_then(Terminal::size).unwrap_or(Size::DEFAULT)
    }

    /// Gives the terminal back for as long as this program sleeps.
    pub(crate) fn stop(&self) -> Result<(), TuiError> {
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
        self.output = modes::enter_again(self.is_tmux);
        self.encoder.forget();
    }
}

/// Takes the terminal over, in its alternate screen.
fn take_over() -> Result<Terminal, TuiError> {
    let entered = Terminal::enter(rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut terminal = entered.map_err(TuiError::Terminal)?;
    terminal.shows(true, false);
    Ok(terminal)
}
