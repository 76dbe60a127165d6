//! The connection on which the deck asks and is told. When the daemon is gone: how long one attempt may hold the deck up,
//! and that a daemon that was shut down is started only when the person wants it.

use std::time::{Duration, Instant};

use client::reconnect_policy::{Attempts, RetryLimit};
use client::{ClientError, DaemonAddress, Incoming};
use proto::reply::Answer;
use proto::request::Empty;
use proto::{Outcome, Reply, Request};

use super::calls::{PendingCall, PendingCalls};
use crate::message::{CallFor, Message};
use crate::wire::Wire;

/// How long one attempt to reach the daemon again may take: the deck does not move meanwhile.
const RECONNECT: Duration = Duration::from_millis(500);

/// How long a daemon that is asked for may take to start: the person waits for it.
const START: Duration = Duration::from_secs(5);

/// While there is no daemon.
#[derive(Debug)]
struct Away {
    since: Instant,
    next: Instant,
    attempts: Attempts,
    /// It was shut down: no other comes by itself.
    is_shut_down: bool,
    /// The person wants another one.
    is_wanted: bool,
}

/// The connection, while there is one.
#[derive(Debug)]
pub(super) struct DaemonLink {
    pub(super) wire: Option<Wire>,
    /// While the daemon is away: when it is tried again.
    away: Option<Away>,
    pub(super) calls: PendingCalls,
}

impl DaemonLink {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire: Some(wire), away: None, calls: PendingCalls::default() }
    }

    /// Asks for everything that happens from now on.
    pub(super) fn subscribe(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.call(Request::Subscribe(Empty {}));
        }
    }

    /// Asks. Without a daemon, messages and starts wait for the next one; returns what became of other calls.
    pub(super) fn call(&mut self, what: CallFor, request: Request, now: Instant) -> Option<Message> {
        let call = PendingCall::new(what, request);
        if self.is_away() {
            let is_given_up = self.is_given_up(now);
            return self.calls.begun_without(call, is_given_up);
        }
        self.send(call);
        None
    }

    fn send(&mut self, call: PendingCall) {
        if let Some(wire) = &mut self.wire {
            let id = wire.call(call.request());
            self.calls.sent(id, call);
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.wire.is_none()
    }

    /// When the daemon is tried again.
    pub(super) fn next_attempt(&self) -> Option<Instant> {
        self.away.as_ref().map(|away| away.next)
    }

    /// Sends what waits and adds what has come; the socket is read when it is ready. A daemon that is gone may have answered
    /// before, so its last words are read although nothing can be sent.
    pub(super) fn serve(&mut self, is_ready: bool, messages: &mut Vec<Message>) -> Result<(), ClientError> {
        let Some(wire) = &mut self.wire else { return Ok(()) };
        let flushed = wire.flush();
        let filled = if is_ready || flushed.is_err() { wire.fill() } else { Ok(()) };
        while let Some(incoming) = wire.arrived()? {
            messages.extend(message(&mut self.calls, incoming));
        }
        flushed.and(filled)
    }

    /// The daemon is gone; returns what became of calls that the next one is not asked.
    pub(super) fn lose(&mut self, now: Instant) -> Vec<Message> {
        self.wire = None;
        let attempts = Attempts::new(RetryLimit::Endless, now);
        self.away = Some(Away { since: now, next: now, attempts, is_shut_down: false, is_wanted: false });
        self.calls.lost()
    }

    /// No daemon has come in time; returns what became of calls that waited for one.
    pub(super) fn give_up_calls(&mut self) -> Vec<Message> {
        self.calls.given_up()
    }

    /// Returns true if text typed while the daemon was away is dropped now.
    pub(super) fn is_given_up(&self, now: Instant) -> bool {
        let retry_limit = RetryLimit::Typing.length().unwrap_or_default();
        self.away.as_ref().is_some_and(|away| away.is_shut_down || now >= away.since + retry_limit)
    }

    /// The person wants a daemon, although the last one was shut down.
    pub(super) fn start_again(&mut self, now: Instant) {
        if let Some(away) = &mut self.away {
            (away.next, away.is_wanted) = (now, true);
        }
    }

    /// Tries to reach the next daemon when it is time for it; returns what that showed.
    pub(super) fn reconnect_when_due(
        &mut self,
        address: &mut DaemonAddress,
        now: Instant,
    ) -> Option<Message> {
        let away = self.away.as_mut().filter(|away| away.next <= now)?;
        away.next = now + away.attempts.next_pause(now).unwrap_or(RECONNECT);
        let is_wanted = std::mem::take(&mut away.is_wanted);
        let connected = match is_wanted {
            true => address.connect_before(now + START),
            false => address.reconnect_before(now + RECONNECT),
        };
        match connected {
            Ok(connection) => {
                (self.wire, self.away) = (Some(Wire::new(connection)), None);
                self.subscribe();
                self.calls.take_waiting().into_iter().for_each(|call| self.send(call));
                None
            }
            Err(error) if is_wanted => Some(Message::NotStarted(error.to_string())),
            Err(ClientError::ShutDown) if !away.is_shut_down => {
                away.is_shut_down = true;
                Some(Message::ShutDown)
            }
            Err(_) => None,
        }
    }
}

fn message(calls: &mut PendingCalls, incoming: Incoming) -> Option<Message> {
    match incoming {
        Incoming::Event(announcement) => Some(Message::Happened(announcement.what)),
        // No call asks for it: `subscribe` says what there is at the beginning of a connection.
        Incoming::Answer(Answer { outcome: Outcome::Ok(Reply::Subscribed(subscribed)), .. }) => {
            Some(Message::Connected(subscribed.processes))
        }
        Incoming::Answer(answer) => calls.answered(answer.id, answer.outcome),
        Incoming::Notice(_) | Incoming::Data(_) => None,
    }
}
