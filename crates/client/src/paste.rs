//! Streams a paste that is too long for one line in data frames, and notices when the daemon answers early.
//! The daemon encodes it for the child's modes.

use std::io::{self, Read};
use std::os::fd::AsFd;

use proto::request::{Empty, Target, TypedInput, Write, WriteKey};
use proto::{ErrorCode, Failure, Reply, Request};
use rustix::event::{PollFd, PollFlags};

use crate::connection::broken;
use crate::{ClientError, Connection, ready};

/// Bytes per frame: small enough that progress moves and other viewers' frames get through.
pub const PIECE: usize = 256 << 10; // 256 KiB

/// How a streamed paste is made.
#[derive(Debug)]
pub struct Paste {
    /// Into which process.
    pub target: Target,
    /// Press Enter at the end.
    pub submit: bool,
    /// The time limit.
    pub timeout_ms: Option<u64>,
    /// The key under which the next daemon can continue the paste.
    pub key: Option<WriteKey>,
}

/// The source or the daemon failed while pasting.
#[derive(Debug, thiserror::Error)]
pub enum PasteError {
    /// The source could not be read.
    #[error("the text to paste cannot be read: {0}")]
    Source(#[source] io::Error),
    /// The daemon refused or vanished.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Connection {
    /// Pastes everything that `source` returns. Calls `progress` with the bytes sent so far after each piece.
    pub fn paste_stream(
        &mut self,
        paste: Paste,
        source: &mut dyn Read,
        progress: &mut dyn FnMut(u64),
    ) -> Result<proto::reply::Wrote, PasteError> {
        let Paste { target, submit, timeout_ms, key } = paste;
        let input = TypedInput::PasteStream(Empty {});
        let id = self.send(Request::Write(Write { target, input, submit, timeout_ms, key }))?;
        let stream =
            u32::try_from(id).map_err(|_| ClientError::nonsense("too many calls on one connection"))?;
        let mut sent = 0;
        let mut piece = vec![0; PIECE];
        loop {
            let count = fill_piece(source, &mut piece).map_err(PasteError::Source)?;
            self.queue_piece(stream, sent, &piece[..count])?;
            let early = self.flush_unless_answered(id);
            sent += count as u64;
            if let Some(early) = early.map_err(|error| of_the_whole(error, sent, count == 0))? {
                return wrote(early);
            }
            progress(sent);
            if count == 0 {
                return wrote(self.answer(id).map_err(|error| of_the_whole(error, sent, true))?);
            }
        }
    }

    /// Sends what is queued while it checks for an early answer: a daemon that has refused stops reading, and
    /// a plain write would wait for ever.
    fn flush_unless_answered(&mut self, id: u64) -> Result<Option<Reply>, ClientError> {
        while self.unsent() > 0 {
            let mut fds = [PollFd::from_borrowed_fd(self.stream().as_fd(), PollFlags::IN | PollFlags::OUT)];
            ready::wait(&mut fds, None).map_err(broken)?;
            if fds[0].revents().contains(PollFlags::OUT) {
                if let Err(error) = self.send_ready() {
                    // The daemon may have answered before it closed the connection.
                    return self.last_answer(id)?.map_or(Err(error), |last| Ok(Some(last)));
                }
            } else if self.fill().map_err(ClientError::Broken)? == 0 {
                return Err(ClientError::gone());
            } else if let Some(early) = self.arrived_answer(id)? {
                return Ok(Some(early));
            }
        }
        Ok(None)
    }

    /// Returns the answer to `id` that the daemon sent before it closed the connection.
    fn last_answer(&mut self, id: u64) -> Result<Option<Reply>, ClientError> {
        while matches!(self.fill(), Ok(count) if count > 0) {
            if let Some(last) = self.arrived_answer(id)? {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }
}

/// Rewrites the error of a partial paste in terms of the whole source: the daemon counts only the pieces that
/// it received.
fn of_the_whole(error: ClientError, sent: u64, is_over: bool) -> ClientError {
    match error {
        ClientError::Failed(failure) if failure.code == ErrorCode::Partial && sent > PIECE as u64 => {
            let least = if is_over { "" } else { "at least " };
            let message = format!("{}; the whole paste has {least}{sent} bytes", failure.message);
            Failure { message, ..failure }.into()
        }
        error => error,
    }
}

/// Reads until the piece is full or the source has ended, so that frames are few even from a pipe.
pub(crate) fn fill_piece(source: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < piece.len() {
        match source.read(&mut piece[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn wrote(reply: Reply) -> Result<proto::reply::Wrote, PasteError> {
    match reply {
        Reply::Wrote(wrote) => Ok(wrote),
        other => Err(ClientError::nonsense(format!("a paste was answered with {other:?}")).into()),
    }
}
