//! Standard input of `qd exec`. It reaches the process once and whole, although daemons die meanwhile; otherwise the
//! process is ended and the command fails.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use client::{ClientError, DaemonAddress, reconnecting};
use proto::request::{Kill, Target, TypedInput, Write};
use proto::{ErrorCode, ProcessId};

/// The terminal's end-of-input character.
const END: &str = "\x04";
/// The most bytes that are written at once.
const PIECE: usize = 1024;
/// How long the command may take to read a piece: a day.
const TIMEOUT_MS: u64 = 24 * 3600 * 1000;

/// Passes standard input to a process, on a thread that ends with this program.
pub(super) struct Input {
    /// What the thread needs, until it is started.
    typist: Option<Typist>,
    failure: Arc<Mutex<Option<ClientError>>>,
}

impl Input {
    pub(super) fn new(address: DaemonAddress, id: ProcessId) -> Self {
        Self { typist: Some(Typist { address, id }), failure: Arc::default() }
    }

    /// Starts to pass it, unless that was done before.
    pub(super) fn begin(&mut self) {
        let Some(mut typist) = self.typist.take() else { return };
        let failure = Arc::clone(&self.failure);
        drop(std::thread::spawn(move || {
            if let Err(error) = typist.pass(&mut std::io::stdin().lock()) {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                typist.end_process();
            }
        }));
    }

    /// Returns the error that kept a part of the input from the process.
    pub(super) fn failure(&self) -> Option<ClientError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Types into one process.
struct Typist {
    address: DaemonAddress,
    id: ProcessId,
}

impl Typist {
    /// Types everything that `source` returns, and its end.
    fn pass(&mut self, source: &mut impl Read) -> Result<(), ClientError> {
        let (mut piece, mut held, mut is_line_end) = ([0; PIECE], Vec::new(), true);
        while let Ok(count @ 1..) = source.read(&mut piece) {
            held.extend_from_slice(&piece[..count]);
            let whole = match std::str::from_utf8(&held) {
                Ok(_) => held.len(),
                Err(error) => error.valid_up_to(),
            };
            // A character may be cut between two pieces; invalid text is replaced by a mark.
            let whole = if held.len() - whole > 3 { held.len() } else { whole };
            let rest = held.split_off(whole);
            if !self.type_text(&String::from_utf8_lossy(&held))? {
                return Ok(());
            }
            is_line_end = held.ends_with(b"\n");
            held = rest;
        }
        // Within a line the first one only submits the line.
        if is_line_end || self.type_text(END)? {
            self.type_text(END)?;
        }
        Ok(())
    }

    /// Returns false if the process has ended.
    fn type_text(&mut self, text: &str) -> Result<bool, ClientError> {
        let (target, input) = (Target(self.id.to_string()), TypedInput::Text(text.to_owned()));
        let write = Write { target, input, submit: false, timeout_ms: Some(TIMEOUT_MS), key: None };
        match reconnecting::write(&mut self.address, write) {
            Ok(_) => Ok(true),
            Err(ClientError::Failed(failure))
                if matches!(failure.code, ErrorCode::NotRunning | ErrorCode::NotFound) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the process, because it would wait for input that does not come.
    fn end_process(&mut self) {
        let kill = Kill { target: Target(self.id.to_string()), signal: None, grace_ms: None };
        // Without a daemon the output ends with an error as well.
        drop(self.address.connect().and_then(|mut connection| connection.kill(kill)));
    }
}
