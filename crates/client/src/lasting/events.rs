//! Events across the ends of daemons.
//!
//! Owns the `resync` that stands for what nobody heard. Refuses guessing what that was.

use proto::Event;
use proto::event::Announcement;
use proto::reply::Subscribed;

use super::Next;
use crate::rejoin::{Rejoined, rejoin};
use crate::{ClientError, Connection, Door, EventStream, Stop, Stops};

/// An ongoing `subscribe` that no daemon's end ends.
#[derive(Debug)]
pub struct LastingEvents {
    stream: EventStream,
    stops: Stops,
}

impl LastingEvents {
    /// Begins to listen.
    pub fn begin(connection: Connection, stops: Stops) -> Result<Self, ClientError> {
        Ok(Self { stream: EventStream::begin(connection)?, stops })
    }

    /// How things were when it began, or began again.
    #[must_use]
    pub fn began(&self) -> &Subscribed {
        &self.stream.began
    }

    /// The next event. After a daemon's end that is `resync`, and `began` tells how things are then.
    pub fn next(&mut self, door: &mut Door) -> Result<Next<Announcement>, ClientError> {
        match self.stream.next_unless(&mut self.stops) {
            Err(error) if error.is_leaving() => {}
            other => return other,
        }
        match self.begin_again(door)? {
            Some(stop) => Ok(Next::Stopped(stop)),
            None => {
                let revision = self.stream.began.revision;
                Ok(Next::Came(Announcement { revision, what: Event::Resync {} }))
            }
        }
    }

    fn begin_again(&mut self, door: &mut Door) -> Result<Option<Stop>, ClientError> {
        let mut parting = ClientError::gone();
        loop {
            let connection = match rejoin(door, &mut self.stops, None, parting)? {
                Rejoined::Connection(connection) => connection,
                Rejoined::Stopped(stop) => return Ok(Some(stop)),
            };
            match EventStream::begin(connection) {
                Ok(stream) => {
                    self.stream = stream;
                    return Ok(None);
                }
                Err(error) if error.is_leaving() => parting = error,
                Err(error) => return Err(error),
            }
        }
    }
}
