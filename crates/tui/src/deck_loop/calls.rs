//! Calls of the daemon that have no answer yet: which of them the next daemon is asked again, and which end without one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use client::reconnect_policy::fresh_key;
use proto::repeat::Repeat;
use proto::{ErrorCode, Outcome, Request};

use crate::message::{CallFor, Message};

/// How many daemons are asked for the same: a call that ends each of them must not be sent for ever.
const SENT_MAX: u8 = 5;

/// One call.
#[derive(Debug)]
pub(super) struct PendingCall {
    what: CallFor,
    request: Request,
    repeat: Repeat,
    /// How many daemons may have read it.
    sent: u8,
}

impl PendingCall {
    pub(super) fn new(what: CallFor, mut request: Request) -> Self {
        let repeat = request.make_repeatable(&mut fresh_key);
        Self { what, request, repeat, sent: 0 }
    }

    /// Returns true if it may wait for the next daemon: a message or a start, which is done once for its key, and what is
    /// marked as seen. A person who asked to read or to end something would be surprised later.
    fn may_wait(&self) -> bool {
        self.repeat == Repeat::Keyed || matches!(self.request, Request::See(_))
    }

    /// The message for a call that no daemon will be asked.
    fn ended(self) -> Option<Message> {
        let Self { what, request, sent, .. } = self;
        match sent {
            _ if what.is_refresh() || matches!(request, Request::See(_) | Request::List(_)) => None,
            0 => Some(Message::NotAsked(what)),
            _ => Some(Message::Unanswered(what, Box::new(request))),
        }
    }
}

/// The calls without an answer.
#[derive(Debug, Default)]
pub(super) struct PendingCalls {
    /// Those that were sent, by the number that their answer carries.
    sent: BTreeMap<u64, PendingCall>,
    /// Those that the next daemon is asked, oldest first.
    waiting: Vec<PendingCall>,
}

impl PendingCalls {
    /// Notes that a call was sent.
    pub(super) fn sent(&mut self, id: u64, call: PendingCall) {
        self.sent.insert(id, PendingCall { sent: call.sent + 1, ..call });
    }

    /// Keeps a call that was begun without a daemon, if it may wait; returns what became of it otherwise.
    pub(super) fn begun_without(&mut self, call: PendingCall, is_given_up: bool) -> Option<Message> {
        if is_given_up || !call.may_wait() {
            return call.ended();
        }
        self.waiting.push(call);
        None
    }

    /// Takes an answer; a daemon that ends refuses everything, and the next one is asked again.
    pub(super) fn answered(&mut self, id: u64, outcome: Outcome) -> Option<Message> {
        let call = self.sent.remove(&id)?;
        match outcome {
            Outcome::Ok(reply) => Some(Message::Answered(call.what, Ok(reply))),
            Outcome::Error(failure) if failure.code == ErrorCode::ShuttingDown && call.may_wait() => {
                self.waiting.push(PendingCall { sent: 0, ..call });
                None
            }
            Outcome::Error(failure) => Some(Message::Answered(call.what, Err(failure))),
        }
    }

    /// The daemon is gone: what may be asked again waits for the next one. Returns what became of the rest.
    pub(super) fn lost(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        for mut call in std::mem::take(&mut self.sent).into_values() {
            if call.repeat == Repeat::Harmful || call.what.is_refresh() || call.sent >= SENT_MAX {
                messages.extend(call.ended());
            } else {
                call.request.mark_sent();
                self.waiting.push(call);
            }
        }
        messages
    }

    /// The files with what was written in scratchpads and may not have been saved.
    pub(super) fn drafts(&self) -> impl Iterator<Item = PathBuf> {
        let calls = self.sent.values().chain(&self.waiting);
        calls.filter_map(|call| match &call.what {
            CallFor::PadWritten(pad) => pad.draft.clone(),
            _ => None,
        })
    }

    /// Takes out what the next daemon is asked.
    pub(super) fn take_waiting(&mut self) -> Vec<PendingCall> {
        std::mem::take(&mut self.waiting)
    }

    /// No daemon comes: returns what became of those that waited for one.
    pub(super) fn given_up(&mut self) -> Vec<Message> {
        self.take_waiting().into_iter().filter_map(PendingCall::ended).collect()
    }
}

impl PendingCall {
    pub(super) fn request(&self) -> Request {
        self.request.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::request::{Interrupt, See, Target, Tell};
    use proto::{Failure, Reply};

    fn target() -> Target {
        Target("lead".to_owned())
    }

    fn tell() -> PendingCall {
        let tell =
            Tell { target: target(), text: "t".to_owned(), key: None, wait_ms: None, expires_ms: None };
        PendingCall::new(CallFor::Nothing, Request::Tell(tell))
    }

    fn interrupt() -> PendingCall {
        PendingCall::new(CallFor::Nothing, Request::Interrupt(Interrupt { target: target() }))
    }

    fn list(what: CallFor) -> PendingCall {
        PendingCall::new(what, Request::Timers(proto::request::Empty {}))
    }

    fn requests(calls: &mut PendingCalls) -> Vec<Request> {
        calls.take_waiting().iter().map(PendingCall::request).collect()
    }

    #[test]
    fn u37_a_call_with_a_key_is_asked_again_with_the_same_key() {
        let mut calls = PendingCalls::default();
        let call = tell();
        let first = call.request();
        calls.sent(1, call);
        assert!(calls.lost().is_empty());
        assert_eq!(requests(&mut calls), [first]);
    }

    #[test]
    fn u37_what_may_be_done_twice_is_not_asked_again_and_its_end_is_not_known() {
        let mut calls = PendingCalls::default();
        calls.sent(1, interrupt());
        assert!(matches!(calls.lost().as_slice(), [Message::Unanswered(..)]));
        assert!(requests(&mut calls).is_empty());
    }

    #[test]
    fn u37_without_a_daemon_messages_wait_in_their_order_and_other_acts_are_refused() {
        let mut calls = PendingCalls::default();
        let (first, second) = (tell(), tell());
        let order = [first.request(), second.request()];
        assert!(calls.begun_without(first, false).is_none());
        assert!(matches!(calls.begun_without(interrupt(), false), Some(Message::NotAsked(_))));
        assert!(calls.begun_without(second, false).is_none());
        assert!(matches!(calls.begun_without(tell(), true), Some(Message::NotAsked(_))), "no daemon comes");
        assert_eq!(requests(&mut calls), order);
    }

    #[test]
    fn u37_when_no_daemon_comes_what_was_sent_is_not_known_and_what_was_not_is_not_done() {
        let mut calls = PendingCalls::default();
        calls.sent(1, tell());
        assert!(calls.lost().is_empty());
        assert!(calls.begun_without(tell(), false).is_none());
        let ended = calls.given_up();
        assert!(matches!(ended.as_slice(), [Message::Unanswered(..), Message::NotAsked(_)]), "{ended:?}");
        assert!(calls.given_up().is_empty());
    }

    #[test]
    fn u37_a_daemon_that_ends_and_refuses_is_followed_by_one_that_is_asked_again() {
        let mut calls = PendingCalls::default();
        let refusal = || Outcome::Error(Failure::new(ErrorCode::ShuttingDown, "it ends".to_owned()));
        calls.sent(1, tell());
        calls.sent(2, interrupt());
        assert!(calls.answered(1, refusal()).is_none());
        assert!(matches!(calls.answered(2, refusal()), Some(Message::Answered(_, Err(_)))));
        assert_eq!(requests(&mut calls).len(), 1);
        assert!(calls.answered(1, Outcome::Ok(Reply::Done(proto::reply::Done {}))).is_none());
    }

    #[test]
    fn what_only_brings_the_deck_up_to_date_is_neither_asked_again_nor_told() {
        let mut calls = PendingCalls::default();
        calls.sent(1, list(CallFor::Timers));
        assert!(calls.lost().is_empty() && requests(&mut calls).is_empty());
        assert!(calls.begun_without(list(CallFor::Timers), false).is_none());
        assert!(requests(&mut calls).is_empty());
        // What was looked at is marked by the next daemon.
        let see = See { target: target(), ..See::default() };
        assert!(calls.begun_without(PendingCall::new(CallFor::Nothing, Request::See(see)), false).is_none());
        assert_eq!(requests(&mut calls).len(), 1);
    }

    #[test]
    fn a_call_that_every_daemon_dies_of_is_given_up() {
        let mut calls = PendingCalls::default();
        let mut call = tell();
        for round in 1..SENT_MAX {
            calls.sent(u64::from(round), call);
            assert!(calls.lost().is_empty());
            call = calls.take_waiting().remove(0);
        }
        calls.sent(9, call);
        assert!(matches!(calls.lost().as_slice(), [Message::Unanswered(..)]));
    }
}
