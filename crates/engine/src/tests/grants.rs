//! Rights beyond the tree, and the edges of the tree itself.

use proto::request::{Grant, Kill, Revoke, Spawn};
use proto::rights::Right;
use proto::{ErrorCode, Reply};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, close, command, order};
use crate::{Caller, Command, Effect, Input, Principal, Ticket, Verb};

#[test]
fn grants_come_from_people_survive_the_daemon_and_die_with_either_process() {
    for dies_first in [true, false] {
        let mut stage = Stage::new();
        let (one, two) = (stage.spawn(command("one")), stage.spawn(command("two")));
        let request = Grant { to: "one".into(), right: Right::Drive, over: "two".into() };
        let by_process = stage.ask_as(Caller::Process(one), Command::Grant(request.clone()));
        assert_eq!(stage.failure(by_process).code, ErrorCode::Denied);
        let (first, again) = (stage.ask(Command::Grant(request.clone())), stage.ask(Command::Grant(request)));
        let numbers = [first, again].map(|ticket| match stage.reply(ticket) {
            Reply::Granted(view) => view.grant.grant,
            other => panic!("{other:?}"),
        });
        assert_eq!(numbers[0], numbers[1], "the same grant twice is one grant");
        let kill = Command::Kill(Kill { target: "two".into(), signal: Some(1), grace_ms: None });
        let mut later = stage.reborn();
        let known = saved(&stage.effects).processes.into_iter();
        for record in known {
            later.input(Input::Adopted { record: Box::new(record), pid: 5, exit: None });
        }
        let ticket = later.ask_as(Caller::Process(one), kill.clone());
        assert!(matches!(later.reply(ticket), Reply::Done(_)));
        let back = later.ask_as(
            Caller::Process(two),
            Command::Kill(Kill { target: "one".into(), signal: Some(1), grace_ms: None }),
        );
        assert_eq!(later.failure(back).code, ErrorCode::NotRelated, "a grant has one direction");
        let gone = if dies_first { one } else { two };
        stage.ask(close(gone));
        stage.die(gone);
        assert!(saved(&stage.effects).grants.is_empty());
        let ticket = stage.ask(Command::Grants);
        assert!(matches!(stage.reply(ticket), Reply::Grants(left) if left.is_empty()));
    }
}

#[test]
fn a_grant_that_is_taken_back_is_over_at_once() {
    let mut stage = Stage::new();
    let one = stage.spawn(command("one"));
    stage.spawn(command("two"));
    let ticket =
        stage.ask(Command::Grant(Grant { to: "one".into(), right: Right::Read, over: "two".into() }));
    let Reply::Granted(view) = stage.reply(ticket) else { panic!("not granted") };
    let look = Command::Locate { target: "two".into(), verb: Verb::Read };
    let ticket = stage.ask_as(Caller::Process(one), look.clone());
    assert!(stage.answer(ticket).is_some_and(|answer| answer.is_ok()));
    let revoke = Command::Revoke(Revoke { grant: view.grant.grant });
    let ticket = stage.ask_as(Caller::Process(one), revoke.clone());
    assert_eq!(stage.failure(ticket).code, ErrorCode::Denied);
    stage.ask(revoke.clone());
    let ticket = stage.ask_as(Caller::Process(one), look);
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotRelated);
    let ticket = stage.ask(revoke);
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotFound);
}

#[test]
fn what_a_process_starts_stays_in_its_workspace() {
    let mut stage = Stage::new();
    let lead = stage.spawn(Spawn { workspace: Some("w1".to_owned()), ..agent("lead") });
    let child = stage.spawn_as(Caller::Process(lead), agent("child"));
    assert_eq!(stage.view(child.process).map(|view| view.workspace), Some("w1".to_owned()));
    let other = Spawn { workspace: Some("w2".to_owned()), ..agent("spy") };
    let ticket = stage.ask_as(Caller::Process(lead), order(Caller::Process(lead), other));
    assert_eq!(stage.failure(ticket).code, ErrorCode::WorkspaceMismatch);
}

#[test]
fn a_ticket_of_a_refusal_is_answered_once() {
    let mut stage = Stage::new();
    let one = stage.spawn(command("one"));
    stage.exit(one, 0);
    let effects = stage.engine.handle(
        stage.moment(),
        Input::Command {
            principal: Principal::unlimited(Caller::Process(one)),
            ticket: Ticket(77),
            command: Command::List,
        },
    );
    let replies = effects.iter().filter(|effect| matches!(effect, Effect::Reply { .. })).count();
    assert_eq!((replies, effects.len()), (1, 2));
}
