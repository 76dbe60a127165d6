//! Events across the ends of daemons, with a `resync` for what was missed.

use proto::Event;
use proto::event::Announcement;
use proto::reply::Subscribed;

use super::Next;
use crate::reconnect::{Reconnected, begin_again};
use crate::{ClientError, Connection, DaemonAddress, EventStream, Stops};

/// An ongoing `subscribe` that survives the end of a daemon.
#[derive(Debug)]
pub struct ReconnectingEvents {
    stream: EventStream,
    stops: Stops,
}

impl ReconnectingEvents {
    /// Begins to listen.
    pub fn begin(connection: Connection, stops: Stops) -> Result<Self, ClientError> {
        Ok(Self { stream: EventStream::begin(connection)?, stops })
    }

    /// Returns the processes when it began, or began again.
    #[must_use]
    pub fn began(&self) -> &Subscribed {
        &self.stream.began
    }

    /// Returns the next event. After a daemon's end that is `resync`, and `began` has the new state.
    pub fn next(&mut self, address: &mut DaemonAddress) -> Result<Next<Announcement>, ClientError> {
        match self.stream.next_unless(&mut self.stops) {
            Err(error) if error.is_leaving() => {}
            other => return other,
        }
        match begin_again(address, &mut self.stops, ClientError::gone(), EventStream::begin)? {
            Reconnected::Stopped(stop) => Ok(Next::Stopped(stop)),
            Reconnected::There(stream) => {
                self.stream = stream;
                let revision = self.stream.began.revision;
                Ok(Next::Came(Announcement { revision, what: Event::Resync {} }))
            }
        }
    }
}
