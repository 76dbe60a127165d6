//! Turns: when they begin, when they end, what was said.

use proto::agent::{Composer, Source, Turn, TurnEnd};
use proto::request::{AskResult, Quantifier, Spawn, Until, Wait};
use proto::{AgentState, ErrorCode, Event, Evidence, Reply};

use super::scene::{Scene, agent, request};
use crate::input::HookMoment;
use crate::tests::stage::target;
use crate::{Command, Effect, HandOver, Launched, RunFact};

fn collected(scene: &Scene) -> Vec<u64> {
    let turn = |effect: &Effect| match effect {
        Effect::CollectResult { turn, .. } => Some(*turn),
        _ => None,
    };
    scene.stage.effects.iter().filter_map(turn).collect()
}

fn ask(scene: &mut Scene, turn: Option<u64>) -> crate::Ticket {
    scene.stage.ask(Command::Result(AskResult { target: target(scene.run), turn }))
}

fn turn(scene: &mut Scene, number: u64) -> Turn {
    let ticket = ask(scene, Some(number));
    let Reply::Turn(turn) = scene.stage.reply(ticket) else { panic!("no turn") };
    turn
}

fn found(scene: &mut Scene, turn: u64, text: &str) {
    scene.fact(RunFact::Result { turn, text: text.into(), from: "transcript", end: None });
}

#[test]
fn a_turn_runs_from_work_to_rest_and_has_the_text_that_was_found() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    assert_eq!(scene.view().turn, 1);
    let early = ask(&mut scene, Some(1));
    let failure = scene.stage.failure(early);
    assert_eq!(failure.code, ErrorCode::Conflict);
    assert!(failure.hint.unwrap().contains("--turn 1"));
    scene.report(AgentState::Idle);
    assert_eq!(collected(&scene), [1]);
    let waiting = ask(&mut scene, None);
    assert!(scene.stage.answer(waiting).is_none(), "the text is on its way");
    found(&mut scene, 1, "done: 3 files");
    let Reply::Turn(turn) = scene.stage.reply(waiting) else { panic!("no turn") };
    assert_eq!(
        (turn.end, turn.text.as_str(), turn.from.as_str()),
        (TurnEnd::Done, "done: 3 files", "transcript")
    );
    assert!(turn.ended_at >= Some(turn.began_at));
}

#[test]
fn a_short_pause_that_only_the_screen_shows_is_the_same_turn() {
    let mut scene = Scene::idle();
    scene.fact(RunFact::Withdrawn(Source::ProgramStatus));
    scene.evidence(Source::Title, AgentState::Working);
    for _ in 0..5 {
        scene.evidence(Source::Title, AgentState::Idle);
        scene.pass(200);
        scene.evidence(Source::Title, AgentState::Working);
        scene.pass(500);
    }
    assert_eq!((scene.view().turn, collected(&scene)), (1, vec![]));
    scene.evidence(Source::Title, AgentState::Idle);
    scene.pass(300);
    assert_eq!(collected(&scene), [1]);
}

#[test]
fn a_dialog_in_the_middle_is_the_same_turn() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    scene.show_dialog("d1");
    assert_eq!(scene.state(), AgentState::Blocked);
    scene.look(Composer::Empty);
    assert_eq!(scene.state(), AgentState::Working);
    scene.report(AgentState::Idle);
    assert_eq!((scene.view().turn, collected(&scene)), (1, vec![1]));
}

#[test]
fn a_prompt_that_a_hook_tells_begins_one_turn_however_often_it_is_seen() {
    let mut scene = Scene::idle();
    scene.hook(Some(AgentState::Working), HookMoment::PromptSubmitted { prompt: None });
    scene.report(AgentState::Working);
    assert_eq!(scene.view().turn, 1);
    scene.hook(Some(AgentState::Idle), HookMoment::TurnEnded);
    assert!(collected(&scene).is_empty(), "the program's own report still says working");
    scene.report(AgentState::Idle);
    assert_eq!(collected(&scene), [1]);
}

#[test]
fn a_failed_turn_an_interrupted_turn_and_one_that_ended_with_the_program() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    scene.report(AgentState::Error);
    scene.report(AgentState::Working);
    let interrupted = Evidence::new(Source::ProgramStatus, "interrupted", Some(AgentState::Idle));
    scene.fact(RunFact::Evidence(Box::new(interrupted)));
    scene.report(AgentState::Working);
    scene.stage.exit(scene.run, 0);
    for number in 1..=3 {
        found(&mut scene, number, "x");
    }
    let ends: Vec<TurnEnd> = (1..=3).map(|number| turn(&mut scene, number).end).collect();
    assert_eq!(ends, [TurnEnd::Failed, TurnEnd::Interrupted, TurnEnd::Exited]);
}

#[test]
fn c22_a_turn_whose_failure_is_known_after_the_agent_rests_is_a_failed_one() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    scene.report(AgentState::Idle);
    scene.pass(10);
    scene.evidence(Source::Hook, AgentState::Error);
    found(&mut scene, 1, "x");
    assert_eq!((scene.state(), turn(&mut scene, 1).end), (AgentState::Error, TurnEnd::Failed));
}

#[test]
fn a_wait_for_a_turn_is_answered_when_its_text_is_there_or_nobody_finds_it() {
    let mut scene = Scene::idle();
    let first = scene.stage.wait_on(&[scene.run], Until::Turn(1), Quantifier::All, None);
    scene.report(AgentState::Working);
    scene.report(AgentState::Idle);
    assert!(scene.stage.answer(first).is_none());
    found(&mut scene, 1, "said");
    assert!(matches!(scene.stage.reply(first), Reply::Waited(_)));
    let again = scene.stage.wait_on(&[scene.run], Until::Turn(1), Quantifier::All, None);
    assert!(matches!(scene.stage.reply(again), Reply::Waited(_)));
    let second = scene.stage.wait_on(&[scene.run], Until::Turn(2), Quantifier::All, None);
    scene.report(AgentState::Working);
    scene.stage.exit(scene.run, 0);
    assert!(scene.stage.answer(second).is_none());
    scene.pass(5_000);
    assert!(matches!(scene.stage.reply(second), Reply::Waited(_)));
    assert_eq!(turn(&mut scene, 2).text, "");
}

#[test]
fn a_turn_that_never_began_is_not_waited_for_after_the_end() {
    let mut scene = Scene::idle();
    let ticket = scene.stage.wait_on(&[scene.run], Until::Turn(1), Quantifier::All, None);
    scene.stage.exit(scene.run, 0);
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotRunning);
}

#[test]
fn the_end_of_a_turn_is_announced_once_with_its_text_found() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    scene.report(AgentState::Idle);
    found(&mut scene, 1, "said");
    scene.pass(20_000);
    let is_end = |effect: &&Effect| matches!(effect, Effect::Announce(news) if matches!(news.announcement.what, Event::TurnEnded { turn: 1, .. }));
    assert_eq!(scene.stage.effects.iter().filter(is_end).count(), 1);
}

#[test]
fn the_oldest_turns_are_forgotten_and_are_still_over() {
    let mut scene = Scene::idle();
    for number in 1..=210 {
        scene.report(AgentState::Working);
        scene.report(AgentState::Idle);
        found(&mut scene, number, "x");
    }
    let ticket = ask(&mut scene, Some(1));
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotFound);
    assert_eq!(turn(&mut scene, 11).turn, 11);
    let wait = scene.stage.wait_on(&[scene.run], Until::Turn(1), Quantifier::All, None);
    assert!(matches!(scene.stage.reply(wait), Reply::Waited(_)));
}

/// An agent with instructions that are not delivered yet.
fn instructed(launched: Launched) -> Scene {
    let spawn = Spawn { agent: request(Some("fix it"), None), ..agent("a") };
    let mut scene = Scene::with(spawn, launched);
    scene.look(Composer::Empty);
    scene
}

fn confirming() -> Launched {
    Launched { confirms_prompts: true, ..Launched::default() }
}

#[test]
fn an_agent_whose_instructions_are_on_their_way_is_not_at_rest() {
    let mut scene = instructed(confirming());
    let wait = Wait::until(vec![target(scene.run)], Until::State(vec![AgentState::Idle]));
    let idle = scene.stage.ask(Command::Wait(wait));
    scene.report(AgentState::Idle);
    assert!(scene.stage.answer(idle).is_none(), "it is being typed");
    scene.type_through();
    scene.take();
    scene.report(AgentState::Idle);
    assert!(scene.stage.answer(idle).is_some());
}

#[test]
fn work_that_is_shown_before_the_first_prompt_is_no_turn() {
    let mut scene = instructed(confirming());
    for state in [AgentState::Idle, AgentState::Working, AgentState::Idle] {
        scene.report(state);
    }
    assert_eq!((scene.view().turn, collected(&scene)), (0, vec![]));
    scene.type_through();
    scene.take();
    assert_eq!(scene.view().turn, 1);
}

#[test]
fn a_turn_that_a_vendors_channel_began_may_show_late() {
    let mut scene = instructed(Launched { has_channel: true, ..confirming() });
    scene.report(AgentState::Idle);
    let mail = scene.stage.effects.iter().find_map(|effect| match effect {
        Effect::HandOver { mail, .. } => Some(*mail),
        _ => None,
    });
    scene.fact(RunFact::HandedOver { mail: mail.unwrap(), outcome: HandOver::Submitted });
    scene.pass(30_000);
    assert_eq!((scene.view().turn, collected(&scene)), (1, vec![]));
    scene.report(AgentState::Working);
    scene.report(AgentState::Idle);
    assert_eq!(collected(&scene), [1]);
}

#[test]
fn c18_a_turn_is_interrupted_when_a_source_or_its_transcript_says_so() {
    for late in [false, true] {
        let mut scene = Scene::idle();
        scene.report(AgentState::Working);
        if !late {
            let evidence = Evidence::new(Source::Hook, "transcript.interrupted", Some(AgentState::Idle));
            scene.fact(RunFact::Evidence(Box::new(evidence)));
        }
        scene.report(AgentState::Idle);
        let end = late.then_some(TurnEnd::Interrupted);
        scene.fact(RunFact::Result { turn: 1, text: String::new(), from: "transcript", end });
        let ticket = scene.stage.ask(Command::Result(AskResult { target: target(scene.run), turn: Some(1) }));
        let Reply::Turn(turn) = scene.stage.reply(ticket) else { panic!("no turn") };
        assert_eq!(turn.end, TurnEnd::Interrupted, "late: {late}");
    }
}

#[test]
fn c18_a_turns_text_is_looked_for_between_the_end_of_the_turn_before_and_its_own() {
    let mut scene = Scene::idle();
    for _ in 0..2 {
        scene.report(AgentState::Working);
        scene.pass(1_000);
        scene.report(AgentState::Idle);
        scene.pass(1_000);
    }
    let spans: Vec<(u64, u64)> = scene
        .stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::CollectResult { since, until, .. } => Some((*since, *until)),
            _ => None,
        })
        .collect();
    let [(first, first_end), (second, second_end)] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!((*first, *second), (0, *first_end));
    assert!(second_end > first_end);
}
