//! Turns one `follow` into an iterator: bytes by offset, gaps, the exit last. A gap is never hidden.

use proto::frame::DataKind;
use proto::reply::Following;
use proto::request::Follow;
use proto::{Exit, Notice, Size};

use crate::{ClientError, Connection, Incoming, Next, Stops};

/// One piece of a followed log.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// Log bytes from this offset on, exactly as the child wrote them.
    Bytes {
        /// The offset of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Bytes between these offsets are lost.
    Gap {
        /// First byte that is missing.
        from: u64,
        /// First byte after it.
        to: u64,
    },
    /// The bytes that follow came at this time, in milliseconds since the epoch; none when it is not known.
    Time(Option<u64>),
    /// A repaint of the screen when the stream began; the first piece, if it was requested.
    Screen(Vec<u8>),
    /// The terminal has another size from here on.
    Resized(Size),
    /// The run is over; every byte came before this.
    Exit(Exit),
}

/// An ongoing `follow`. Iterating ends when the daemon ends it; a connection that breaks first is an error.
#[derive(Debug)]
pub struct FollowStream {
    connection: Connection,
    /// The daemon's reply.
    pub began: Following,
    is_over: bool,
}

impl FollowStream {
    /// Starts to follow. The connection is used up: it carries only this stream from now on.
    pub fn begin(mut connection: Connection, follow: Follow) -> Result<Self, ClientError> {
        let began = connection.begin_follow(follow)?;
        Ok(Self { connection, began, is_over: false })
    }

    fn advance(&mut self) -> Result<Option<Chunk>, ClientError> {
        loop {
            match step(self.connection.receive()?.ok_or_else(ClientError::gone)?) {
                Step::Came(chunk) => return Ok(Some(chunk)),
                Step::Over => return Ok(None),
                Step::Nothing => {}
            }
        }
    }

    /// Returns the next piece, unless this side stops first.
    pub(crate) fn next_unless(&mut self, stops: &mut Stops) -> Result<Next<Chunk>, ClientError> {
        loop {
            match self.connection.receive_unless(stops)?.map(step) {
                Ok(Step::Came(chunk)) => return Ok(Next::Came(chunk)),
                Ok(Step::Over) => return Ok(Next::Over),
                Ok(Step::Nothing) => {}
                Err(stop) => return Ok(Next::Stopped(stop)),
            }
        }
    }
}

/// What an incoming message means to a follower.
enum Step {
    Came(Chunk),
    Over,
    Nothing,
}

fn step(incoming: Incoming) -> Step {
    match incoming {
        Incoming::Data(data) if data.kind == DataKind::Output => {
            Step::Came(Chunk::Bytes { offset: data.offset, bytes: data.bytes })
        }
        Incoming::Data(data) if data.kind == DataKind::Repaint => Step::Came(Chunk::Screen(data.bytes)),
        Incoming::Notice(Notice::Gap { from, to, .. }) => Step::Came(Chunk::Gap { from, to }),
        Incoming::Notice(Notice::Resized { size, .. }) => Step::Came(Chunk::Resized(size)),
        Incoming::Notice(Notice::Time { at_ms, .. }) => Step::Came(Chunk::Time(at_ms)),
        Incoming::Notice(Notice::Exit { exit, .. }) => Step::Came(Chunk::Exit(exit)),
        Incoming::Notice(Notice::End { .. }) => Step::Over,
        Incoming::Data(_)
        | Incoming::Event(_)
        | Incoming::Answer(_)
        | Incoming::Notice(Notice::Screen { .. } | Notice::Answered { .. } | Notice::Typed { .. }) => {
            Step::Nothing
        }
    }
}

impl Iterator for FollowStream {
    type Item = Result<Chunk, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}
