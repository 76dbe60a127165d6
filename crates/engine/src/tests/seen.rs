//! What a person has seen: one mark for all faces.

use proto::process::{Unseen, UnseenEnd};
use proto::request::See;
use proto::{AgentState, ErrorCode, Event, Owner, ProcessId};

use super::agents::scene::Scene;
use super::stage::{Stage, command, kill, next, restart, target};
use crate::{Caller, Command, Effect, RunFact, RunKey};

fn see(run: RunKey) -> Command {
    Command::See { see: See { target: target(run), ..See::default() }, offset: None }
}

fn unseen(stage: &Stage, id: ProcessId) -> Option<Unseen> {
    stage.view(id).and_then(|view| view.unseen)
}

/// An agent that has ended a turn.
fn after_a_turn(scene: &mut Scene) {
    scene.report(AgentState::Working);
    assert_eq!(unseen(&scene.stage, scene.id()), None, "nothing has ended yet");
    scene.report(AgentState::Idle);
}

#[test]
fn n3_a_turn_is_unseen_until_a_person_has_seen_it_and_every_face_is_told() {
    let mut scene = Scene::idle();
    after_a_turn(&mut scene);
    let news = unseen(&scene.stage, scene.id()).expect("a turn has ended");
    assert_eq!((news.what, news.turn), (UnseenEnd::Turn, Some(1)));
    let announced = |effects: &[Effect]| {
        effects.iter().rev().find_map(|effect| match effect {
            Effect::Announce(event) => match &event.announcement.what {
                Event::Changed(view) => Some(view.unseen),
                _ => None,
            },
            _ => None,
        })
    };
    assert_eq!(announced(&scene.stage.effects), Some(Some(news)));
    scene.stage.ask(see(scene.run));
    assert_eq!(unseen(&scene.stage, scene.id()), None);
    assert_eq!(announced(&scene.stage.effects), Some(None));
    after_a_turn(&mut scene);
    assert_eq!(unseen(&scene.stage, scene.id()).and_then(|unseen| unseen.turn), Some(2));
}

#[test]
fn n3_a_face_marks_only_the_turn_that_it_has_shown() {
    let mut scene = Scene::idle();
    after_a_turn(&mut scene);
    scene.report(AgentState::Working);
    scene.report(AgentState::Idle);
    let upto =
        |run, turn| Command::See { see: See { target: target(run), turn, version: None }, offset: None };
    scene.stage.ask(upto(scene.run, Some(1)));
    assert_eq!(unseen(&scene.stage, scene.id()).and_then(|unseen| unseen.turn), Some(2));
    let ticket = scene.stage.ask(upto(scene.run, Some(3)));
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotFound);
    scene.stage.ask(upto(scene.run, Some(2)));
    assert_eq!(unseen(&scene.stage, scene.id()), None);
}

#[test]
fn n3_an_exit_is_unseen_whatever_was_seen_before_it() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.ask(see(run));
    stage.fact(run, RunFact::Output { end: 100 });
    stage.exit(run, 3);
    assert_eq!(unseen(&stage, run.process).map(|unseen| unseen.what), Some(UnseenEnd::Exit));
    let end = stage.view(run.process).expect("it is listed").live.log.end;
    let shown = |offset| {
        let see = See { target: target(run), turn: None, version: Some(1) };
        Command::See { see, offset: Some(offset) }
    };
    stage.ask(shown(end.saturating_sub(1)));
    assert_eq!(unseen(&stage, run.process).is_some(), end > 0, "the screen was of before the end");
    stage.ask(shown(end));
    assert_eq!(unseen(&stage, run.process), None);
    stage.ask(restart(run));
    assert_eq!(unseen(&stage, run.process), None);
}

#[test]
fn n3_the_end_that_a_person_asked_for_is_no_news_and_the_next_one_is() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.ask(kill(run));
    stage.die(run);
    assert_eq!(unseen(&stage, run.process), None);
    stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    stage.fact(next(run), RunFact::Started { pid: 200 });
    stage.exit(next(run), 1);
    assert_eq!(unseen(&stage, run.process).map(|unseen| unseen.what), Some(UnseenEnd::Exit));
}

#[test]
fn n3_who_types_has_seen_it_and_a_program_has_not() {
    let mut scene = Scene::idle();
    after_a_turn(&mut scene);
    scene.fact(RunFact::Typed { by: Owner::Orchestrator, viewer: None });
    assert!(unseen(&scene.stage, scene.id()).is_some());
    scene.fact(RunFact::Typed { by: Owner::User, viewer: None });
    assert_eq!(unseen(&scene.stage, scene.id()), None);
}

#[test]
fn n3_no_process_marks_anything_and_the_next_daemon_knows_the_marks() {
    let mut scene = Scene::idle();
    after_a_turn(&mut scene);
    let ticket = scene.stage.ask_as(Caller::Process(scene.run), see(scene.run));
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Denied);
    let before = unseen(&scene.stage, scene.id());
    assert!(before.is_some());
    assert_eq!(unseen(&scene.stage.reborn(), scene.id()), before);
    scene.stage.ask(see(scene.run));
    assert_eq!(unseen(&scene.stage.reborn(), scene.id()), None);
}
