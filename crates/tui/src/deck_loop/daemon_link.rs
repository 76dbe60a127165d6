//! The connection on which the deck asks and is told, and the way back to a daemon that is gone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use client::reconnect_policy::{Attempts, Patience};
use client::{ClientError, DaemonAddress, Incoming};
use proto::request::Empty;
use proto::{Outcome, Reply, Request};

use crate::message::{CallFor, Message};
use crate::wire::Wire;

/// How long one attempt to reach the daemon again may take: the deck does not move meanwhile.
const RECONNECT: Duration = Duration::from_millis(500);

/// The connection, while there is one.
#[derive(Debug)]
pub(super) struct DaemonLink {
    pub(super) wire: Option<Wire>,
    /// While the daemon is away: when it is tried again.
    away: Option<(Instant, Attempts)>,
    pending: HashMap<u64, CallFor>,
}

impl DaemonLink {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire: Some(wire), away: None, pending: HashMap::new() }
    }

    /// Asks for everything that happens from now on.
    pub(super) fn subscribe(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.call(Request::Subscribe(Empty {}));
        }
    }

    /// Asks; without a daemon nothing is asked.
    pub(super) fn call(&mut self, what: CallFor, request: Request) {
        if let Some(wire) = &mut self.wire {
            let id = wire.call(request);
            self.pending.insert(id, what);
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.wire.is_none()
    }

    /// When the daemon is tried again.
    pub(super) fn next_attempt(&self) -> Option<Instant> {
        self.away.map(|(next, _)| next)
    }

    /// Sends what waits and returns what has come.
    pub(super) fn serve(&mut self) -> Result<Vec<Message>, ClientError> {
        let mut messages = Vec::new();
        if let Some(wire) = &mut self.wire {
            wire.flush()?;
            while let Some(incoming) = wire.receive()? {
                messages.extend(message(&mut self.pending, incoming));
            }
        }
        Ok(messages)
    }

    /// The daemon is gone: nothing that was asked will be answered.
    pub(super) fn lose(&mut self, now: Instant) {
        self.wire = None;
        self.pending.clear();
        self.away = Some((now, Attempts::new(Patience::Endless, now)));
    }

    pub(super) fn reconnect_when_due(&mut self, address: &mut DaemonAddress, now: Instant) {
        let Some((next, attempts)) = self.away.as_mut().filter(|(next, _)| *next <= now) else { return };
        *next = now + attempts.next_pause(now).unwrap_or(RECONNECT);
        if let Ok(connection) = address.reconnect_before(now + RECONNECT) {
            (self.wire, self.away) = (Some(Wire::new(connection)), None);
            self.subscribe();
        }
    }
}

fn message(pending: &mut HashMap<u64, CallFor>, incoming: Incoming) -> Option<Message> {
    match incoming {
        Incoming::Event(announcement) => Some(Message::Happened(announcement.what)),
        Incoming::Answer(answer) => match (pending.remove(&answer.id), answer.outcome) {
            (None, Outcome::Ok(Reply::Subscribed(subscribed))) => {
                Some(Message::Connected(subscribed.processes))
            }
            (Some(what), Outcome::Ok(reply)) => Some(Message::Answered(what, Ok(reply))),
            (Some(what), Outcome::Error(failure)) => Some(Message::Answered(what, Err(failure))),
            (None, _) => None,
        },
        Incoming::Notice(_) | Incoming::Data(_) => None,
    }
}
