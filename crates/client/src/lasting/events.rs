//! Events across the ends of daemons.
//!
//! Owns the `resync` that stands for what nobody heard. Refuses guessing what that was.

use proto::Event;
use proto::event::Announcement;
use proto::reply::Subscribed;

use super::Next;
use crate::rejoin::{Rejoined, begin_again};
use crate::{ClientError, Connection, Door, EventStream, Stops};

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
        match begin_again(door, &mut self.stops, ClientError::gone(), EventStream::begin)? {
            Rejoined::Stopped(stop) => Ok(Next::Stopped(stop)),
            Rejoined::There(stream) => {
                self.stream = stream;
                let revision = self.stream.began.revision;
                Ok(Next::Came(Announcement { revision, what: Event::Resync {} }))
            }
        }
    }
}
