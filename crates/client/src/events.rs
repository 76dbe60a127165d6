//! Turns one `subscribe` into an iterator of events. Skipped events are one of them: `resync`.

use proto::event::Announcement;
use proto::reply::Subscribed;

use crate::{ClientError, Connection, Incoming, Next, Stops};

/// An ongoing `subscribe`. It has no end of its own: a connection that closes is an error.
#[derive(Debug)]
pub struct EventStream {
    connection: Connection,
    /// The processes when it began; events after that revision follow.
    pub began: Subscribed,
    is_over: bool,
}

impl EventStream {
    /// Subscribes. The connection is used up: it carries only this stream from now on.
    pub fn begin(mut connection: Connection) -> Result<Self, ClientError> {
        let began = connection.subscribe()?;
        Ok(Self { connection, began, is_over: false })
    }

    fn advance(&mut self) -> Result<Announcement, ClientError> {
        loop {
            if let Incoming::Event(event) = self.connection.receive()?.ok_or_else(ClientError::gone)? {
                return Ok(event);
            }
        }
    }
}

impl EventStream {
    /// Returns the next event, unless this side stops first.
    pub(crate) fn next_unless(&mut self, stops: &mut Stops) -> Result<Next<Announcement>, ClientError> {
        loop {
            match self.connection.receive_unless(stops)? {
                Ok(Incoming::Event(event)) => return Ok(Next::Came(event)),
                Ok(Incoming::Answer(_) | Incoming::Notice(_) | Incoming::Data(_)) => {}
                Err(stop) => return Ok(Next::Stopped(stop)),
            }
        }
    }
}

impl Iterator for EventStream {
    type Item = Result<Announcement, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance();
        self.is_over = next.is_err();
        Some(next)
    }
}
