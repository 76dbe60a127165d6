//! Callers that go are not waited for, in whatever order the engine task learns of it, and callers that come
//! after its end get an answer.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use engine::{Caller, RunKey};
use proto::request::{Quantifier, Shutdown, Target, Until, Wait};

use super::*;

fn wait() -> Command {
    let (until, quantifier) = (Until::Silence(1), Quantifier::All);
    let targets = vec![Target("nobody".to_owned())];
    Command::Wait(Wait { quantifier, ..Wait::until(targets, until) })
}

/// Polls a future once and returns its result, if it is ready.
fn poll<T>(future: &mut std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Sends a command and goes before there is an answer.
fn ask_and_go(handle: &EngineHandle) {
    let mut asking = pin!(handle.ask(Principal::unlimited(Caller::Person), wait()));
    assert!(poll(&mut asking).is_none());
}

/// Returns everything that waits to be decided: `ask` and `gone` with their tickets.
fn decided(inputs: &mut Inputs) -> Vec<(&'static str, Ticket)> {
    let mut all = Vec::new();
    while let Some(inputs) = poll(&mut pin!(inputs.next())) {
        all.extend(inputs.into_iter().filter_map(|input| match input {
            Input::Command { ticket, .. } => Some(("ask", ticket)),
            Input::CallerGone { ticket } => Some(("gone", ticket)),
            _ => None,
        }));
    }
    all
}

#[test]
fn whoever_goes_before_the_desk_has_heard_them_is_seen_off_behind_their_question() {
    let Channels { handle, mut inputs } = Channels::new();
    ask_and_go(&handle);
    let decided = decided(&mut inputs);
    assert_eq!(decided.last(), Some(&("gone", Ticket(1))), "{decided:?}");
    assert!(decided.contains(&("ask", Ticket(1))), "{decided:?}");
}

#[test]
fn whoever_goes_while_the_desk_works_for_them_is_seen_off() {
    let Channels { handle, mut inputs } = Channels::new();
    {
        let mut asking = pin!(handle.ask(Principal::unlimited(Caller::Person), wait()));
        assert!(poll(&mut asking).is_none());
        assert_eq!(decided(&mut inputs), [("ask", Ticket(1))]);
    }
    assert_eq!(decided(&mut inputs), [("gone", Ticket(1))]);
    assert_eq!(decided(&mut inputs), []);
}

#[test]
fn nobody_is_forgotten_because_the_queue_is_full() {
    let Channels { handle, mut inputs } = Channels::new();
    let run = RunKey { process: proto::ProcessId::from_entropy(1), run: proto::RunNumber(1) };
    while handle.facts.try_send(Input::Fact { run, fact: RunFact::TreeGone }).is_ok() {}
    (0..100).for_each(|_| ask_and_go(&handle));
    let gone: Vec<Ticket> = decided(&mut inputs)
        .into_iter()
        .filter(|(what, _)| *what == "gone")
        .map(|(_, ticket)| ticket)
        .collect();
    assert!((1..=100).all(|number| gone.contains(&Ticket(number))), "{gone:?}");
}

#[test]
fn whoever_was_answered_is_not_seen_off() {
    let Channels { handle, mut inputs } = Channels::new();
    let mut asking = pin!(handle.ask(Principal::unlimited(Caller::Person), wait()));
    assert!(poll(&mut asking).is_none());
    assert_eq!(decided(&mut inputs), [("ask", Ticket(1))]);
    let failure = Failure::new(proto::ErrorCode::Timeout, "the wait timed out");
    assert!(inputs.tickets.remove(&Ticket(1)).unwrap().send(Err(failure)).is_ok());
    assert!(poll(&mut asking).unwrap().is_err());
    assert_eq!(decided(&mut inputs), []);
}

#[test]
fn t9_who_wants_the_end_when_the_desk_has_closed_has_it_and_nobody_else_is_served() {
    let asked = |caller, command| {
        let Channels { handle, inputs } = Channels::new();
        let mut asking = pin!(handle.ask(Principal::unlimited(caller), command));
        assert!(poll(&mut asking).is_none());
        // The command waits, and the engine task that would take it is gone.
        drop(inputs);
        poll(&mut asking).expect("answered at once")
    };
    let shutdown = |kill| Command::Shutdown(Shutdown { kill, stop: proto::Stop::default() });
    assert!(matches!(asked(Caller::Person, shutdown(false)), Ok(CommandAnswer::Reply(Reply::Done(_)))));
    for (caller, command) in
        [(Caller::Person, shutdown(true)), (Caller::Person, wait()), (Caller::Nobody, shutdown(false))]
    {
        assert_eq!(asked(caller, command).unwrap_err().code, ErrorCode::ShuttingDown);
    }
}
