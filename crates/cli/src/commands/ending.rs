//! What `kill`, `close`, `restart` and `shutdown --kill` share: the options of an end, and the progress line
//! during the wait.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::Args;
use proto::{Printable, Stop};

/// How often the line is updated.
const SECOND: Duration = Duration::from_secs(1);

/// How long a program may take to end
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct GraceArgs {
    /// How many seconds it has to end by itself before it is killed, 600 at most [default: its preset's, or else 5; terminals: 1]
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    grace: Option<u64>,

    /// Kill it at once; it gets no time to end by itself
    #[arg(long, conflicts_with = "grace")]
    now: bool,
}

impl GraceArgs {
    /// Returns the grace in milliseconds, if one was given.
    pub(crate) fn grace_ms(self) -> Option<u32> {
        let given = self.grace.map(|grace| u32::try_from(grace).unwrap_or(u32::MAX));
        if self.now { Some(0) } else { given }
    }

    /// Returns this grace with a signal that asks.
    pub(crate) fn stop(self, signal: Option<i32>) -> Stop {
        Stop { signal, grace_ms: self.grace_ms() }
    }
}

/// Returns a signal by name or number.
pub(crate) fn signal(text: &str) -> Result<i32, String> {
    let wrong = || "a signal is a name such as INT or a number from 1 to 64".to_owned();
    proto::stop::signal_number(text).ok_or_else(wrong)
}

/// A progress line on standard error during a wait; only on a terminal.
pub(crate) struct Progress(Option<(SyncSender<()>, JoinHandle<()>)>);

impl Progress {
    /// Waits for an end; `instead` is the command that kills.
    pub(crate) fn begin(what: &str, instead: &str) -> Self {
        Self::with(format!("waiting for {} to end; {instead} kills it", Printable(what)))
    }

    /// Shows the same words and how long it has been.
    pub(crate) fn with(words: String) -> Self {
        Self::showing(move |waited| format!("{words} ({waited} s)"))
    }

    /// Shows what `words` returns for the seconds that have passed. Starts after a second: most waits are over before.
    pub(crate) fn showing(mut words: impl FnMut(u32) -> String + Send + 'static) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (stop, stopped) = mpsc::sync_channel::<()>(0);
        let draw = move || {
            let mut waited = 0u32;
            while stopped.recv_timeout(SECOND) == Err(RecvTimeoutError::Timeout) {
                waited += 1;
                write_line(&words(waited));
            }
            if waited > 0 {
                write_line("");
            }
        };
        // Without a thread nothing is shown, and the wait continues.
        let drawing = std::thread::Builder::new().name("progress".to_owned()).spawn(draw);
        Self(drawing.ok().map(|drawing| (stop, drawing)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, drawing)) = self.0.take() {
            drop(stop);
            let _panicked = drawing.join();
        }
    }
}

/// Updates the line; a terminal that is gone shows nothing.
fn write_line(text: &str) {
    let mut out = std::io::stderr();
    let _gone = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
}
