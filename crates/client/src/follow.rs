//! The log as it grows: bytes by offset, gaps told, the exit last.
//!
//! Owns turning frames and notices of one `follow` into an iterator. Refuses hiding a gap.

use proto::frame::DataKind;
use proto::reply::Following;
use proto::request::Follow;
use proto::{Exit, Notice, Size};

use crate::{ClientError, Connection, Incoming};

/// One piece of what is followed.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// Log bytes from this offset on, exactly as the child wrote them.
    Bytes {
        /// The offset of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Bytes between these offsets are gone.
    Gap {
        /// First byte that does not come.
        from: u64,
        /// First byte after it.
        to: u64,
    },
    /// The terminal has another size from here on.
    Resized(Size),
    /// The run is over; every byte came before this.
    Exit(Exit),
}

/// An ongoing `follow`. Iterating ends when the daemon says so; a connection that breaks first is an error.
#[derive(Debug)]
pub struct FollowStream {
    connection: Connection,
    /// What the daemon said when it began.
    pub began: Following,
    is_over: bool,
}

impl FollowStream {
    /// Begins to follow. The connection is used up: it carries this stream from here on.
    pub fn begin(mut connection: Connection, follow: Follow) -> Result<Self, ClientError> {
        let began = connection.begin_follow(follow)?;
        Ok(Self { connection, began, is_over: false })
    }

    fn advance(&mut self) -> Result<Option<Chunk>, ClientError> {
        loop {
            let chunk = match self.connection.receive()?.ok_or_else(ClientError::gone)? {
                Incoming::Data(data) if data.kind == DataKind::Output => {
                    Chunk::Bytes { offset: data.offset, bytes: data.bytes }
                }
                Incoming::Notice(Notice::Gap { from, to, .. }) => Chunk::Gap { from, to },
                Incoming::Notice(Notice::Resized { size, .. }) => Chunk::Resized(size),
                Incoming::Notice(Notice::Exit { exit, .. }) => Chunk::Exit(exit),
                Incoming::Notice(Notice::End { .. }) => return Ok(None),
                Incoming::Data(_)
                | Incoming::Event(_)
                | Incoming::Answer(_)
                | Incoming::Notice(Notice::Screen { .. }) => continue,
            };
            return Ok(Some(chunk));
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
