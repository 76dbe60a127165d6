//! A daemon that died in the middle: nothing is lost, nothing is delivered twice.

use proto::agent::{Composer, Delivery, ItemKind, MailId, TurnEnd};
use proto::request::{AskResult, GiveAnswer, Offer, Restart};
use proto::{AgentState, Owner, Reply};

use super::scene::{Scene, agent, saved};
use crate::input::HookMoment;
use crate::tests::stage::{Stage, target};
use crate::{
    Caller, Command, CommandAnswer, Config, Effect, Engine, Input, Launched, RunFact, Ticket, TypingOutcome,
};

/// The same agent under a daemon that starts from what the dead one recorded.
fn restarted(scene: &Scene) -> Scene {
    let saved = saved(&scene.stage.effects);
    let record = saved.processes.iter().find(|record| record.id == scene.id()).expect("recorded").clone();
    let engine = Engine::restore(Config { seed: 9, ..Config::default() }, saved);
    let mut stage = Stage::with(engine);
    stage.now = scene.stage.now + 1_000;
    stage.input(Input::Adopted { record: Box::new(record), pid: 100, exit: None });
    let mut scene = Scene { stage, run: scene.run };
    scene.fact(RunFact::Launched(Launched { confirms_prompts: true, ..Launched::default() }));
    scene
}

fn refusal(scene: &mut Scene, mail: MailId) -> String {
    match scene.delivery(mail) {
        Delivery::Unknown { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn s1_mail_that_waited_is_delivered_after_a_restart_and_numbers_go_on() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    let mail = scene.tell("fix it");
    let mut scene = restarted(&scene);
    assert_eq!(scene.state(), AgentState::Starting);
    assert_eq!(scene.view().mail, 1);
    scene.look(Composer::Empty);
    scene.report(AgentState::Idle);
    assert_eq!(scene.typed(), ["fix it"]);
    scene.type_through();
    scene.take();
    assert_eq!(scene.delivery(mail), Delivery::Submitted { turn: 2 });
    assert_eq!(scene.tell("more"), MailId(mail.0 + 1));
}

#[test]
fn s1_a_text_that_stands_in_the_composer_gets_its_enter_and_is_not_pasted_again() {
    let mut scene = Scene::idle();
    let mail = scene.tell("fix it");
    let mut scene = restarted(&scene);
    scene.report(AgentState::Idle);
    scene.look(Composer::Draft);
    assert_eq!(scene.typed(), ["enter"]);
    scene.done(TypingOutcome::Done);
    scene.take();
    assert!(matches!(scene.delivery(mail), Delivery::Submitted { .. }));
}

#[test]
fn s1_a_delivery_whose_outcome_nobody_saw_is_said_to_be_unknown() {
    for (steps, has_look) in [(0, true), (1, true), (2, true), (2, false)] {
        let mut scene = Scene::idle();
        let mail = scene.tell("fix it");
        (0..steps).for_each(|_| scene.done(TypingOutcome::Done));
        let mut scene = restarted(&scene);
        scene.report(AgentState::Idle);
        if has_look {
            scene.look(Composer::Empty);
        }
        scene.pass(5_000);
        assert!(refusal(&mut scene, mail).contains("the daemon ended in the middle"), "{steps}");
        scene.pass(60_000);
        assert!(scene.typed().is_empty(), "{steps}");
    }
}

#[test]
fn c3_a_persons_draft_after_a_restart_is_not_sent_for_ours() {
    let mut scene = Scene::idle();
    let mail = scene.tell("fix it");
    let mut scene = restarted(&scene);
    scene.report(AgentState::Idle);
    scene.fact(RunFact::Typed { by: Owner::User, viewer: None });
    scene.look(Composer::Draft);
    scene.pass(60_000);
    assert!(scene.typed().is_empty());
    assert!(refusal(&mut scene, mail).contains("the daemon ended in the middle"));
}

#[test]
fn s1_a_run_that_was_lost_with_a_delivery_in_the_middle_does_not_get_it_again() {
    let mut scene = Scene::idle();
    let mail = scene.tell("fix it");
    let saved = saved(&scene.stage.effects);
    let engine = Engine::restore(Config { seed: 9, ..Config::default() }, saved);
    let mut scene = Scene { stage: Stage::with(engine), run: scene.run };
    scene.fact(RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert!(refusal(&mut scene, mail).contains("the daemon ended in the middle"));
}

#[test]
fn s1_turns_go_on_over_a_restart() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Working);
    scene.report(AgentState::Idle);
    scene.fact(RunFact::Result { turn: 1, text: "one".into(), from: "transcript", end: None });
    scene.report(AgentState::Working);
    let mut scene = restarted(&scene);
    scene.report(AgentState::Working);
    assert_eq!(scene.view().turn, 2, "the same turn");
    scene.report(AgentState::Idle);
    scene.fact(RunFact::Result { turn: 2, text: "two".into(), from: "transcript", end: None });
    for (turn, text) in [(1, "one"), (2, "two")] {
        let ask = AskResult { target: target(scene.run), turn: Some(turn) };
        let ticket = scene.stage.ask(Command::Result(ask));
        let Reply::Turn(found) = scene.stage.reply(ticket) else { panic!("no turn") };
        assert_eq!((found.text.as_str(), found.end), (text, TurnEnd::Done));
    }
}

#[test]
fn s1_a_failure_and_a_session_survive_and_item_numbers_go_on() {
    let mut scene = Scene::idle();
    scene.fact(RunFact::Session("s7".into()));
    scene.report(AgentState::Error);
    let item = scene.item().unwrap();
    let mut scene = restarted(&scene);
    scene.look(Composer::Empty);
    assert_eq!(scene.item(), Some(item.clone()));
    assert_eq!(scene.view().session.as_deref(), Some("s7"));
    scene.report(AgentState::Working);
    scene.show_dialog("d1");
    assert!(scene.item().unwrap().item > item.item);
}

/// Asks for the inbox. None: the list is not complete yet.
fn titles(scene: &Scene, ticket: Ticket) -> Option<Vec<String>> {
    match scene.stage.answer(ticket)?.expect("the list is not refused") {
        CommandAnswer::Reply(Reply::Inbox(items)) => Some(items.into_iter().map(|item| item.title).collect()),
        other => panic!("not the inbox: {other:?}"),
    }
}

#[test]
fn s1_the_inbox_is_listed_when_a_blocked_agent_is_known_again_and_not_before() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let title = scene.item().expect("a dialog is open").title;
    let mut scene = restarted(&scene);
    let ticket = scene.stage.ask(Command::Inbox);
    assert_eq!(titles(&scene, ticket), None, "its dialog is not read yet");
    scene.look(Composer::Unknown);
    assert_eq!(titles(&scene, ticket), None, "it was blocked, and this look does not say that it is not");
    scene.show_dialog("d1");
    assert_eq!(titles(&scene, ticket), Some(vec![title]));
    // A caller that is gone is not answered, and nothing waits for it.
    let mut scene = restarted(&scene);
    let gone = scene.stage.ask(Command::Inbox);
    scene.stage.input(Input::CallerGone { ticket: gone });
    scene.show_dialog("d1");
    assert_eq!(titles(&scene, gone), None);
}

#[test]
fn s1_the_inbox_waits_for_one_look_at_an_agent_that_was_not_blocked_and_for_no_look_for_ever() {
    let mut scene = restarted(&Scene::idle());
    let ticket = scene.stage.ask(Command::Inbox);
    assert_eq!(titles(&scene, ticket), None, "a dialog may have come while no daemon was there");
    scene.look(Composer::Empty);
    assert_eq!(titles(&scene, ticket), Some(vec![]));
    let mut unread = restarted(&Scene::idle());
    let ticket = unread.stage.ask(Command::Inbox);
    unread.pass(2_999);
    assert_eq!(titles(&unread, ticket), None);
    unread.pass(1);
    assert_eq!(titles(&unread, ticket), Some(vec![]), "its screen cannot be read");
    let ticket = unread.stage.ask(Command::Inbox);
    assert_eq!(titles(&unread, ticket), Some(vec![]), "the next caller does not wait");
}

#[test]
fn c21_a_message_that_the_transcript_has_is_submitted_although_the_daemon_died() {
    let mut scene = Scene::idle();
    let mail = scene.tell("fix it");
    scene.done(TypingOutcome::Done);
    let mut scene = restarted(&scene);
    scene.report(AgentState::Idle);
    scene.look(Composer::Empty);
    let sought = |scene: &Scene| {
        let asks = |effect: &&Effect| matches!(effect, Effect::FindPrompt { mail: wanted, text, .. } if *wanted == mail && text == "fix it");
        scene.stage.effects.iter().filter(asks).count()
    };
    assert_eq!(sought(&scene), 1, "the transcript is asked");
    scene.fact(RunFact::PromptSought { mail, found: false });
    assert_eq!(scene.delivery(mail), Delivery::Delivering, "it may be written late");
    scene.fact(RunFact::PromptWritten);
    assert_eq!(sought(&scene), 2, "and is asked again when it has a new prompt");
    scene.fact(RunFact::PromptSought { mail, found: true });
    assert!(matches!(scene.delivery(mail), Delivery::Submitted { .. }));
}

#[test]
fn c21_a_hook_that_tells_the_prompt_confirms_a_message_although_the_daemon_died() {
    let mut scene = Scene::idle();
    let mail = scene.tell("fix it\nnow");
    scene.done(TypingOutcome::Done);
    let mut scene = restarted(&scene);
    scene.hook(None, HookMoment::PromptSubmitted { prompt: Some("a person's own words".into()) });
    assert_eq!(scene.delivery(mail), Delivery::Delivering, "another prompt says nothing about it");
    scene.hook(None, HookMoment::PromptSubmitted { prompt: Some("fix it\nnow\n".into()) });
    assert!(matches!(scene.delivery(mail), Delivery::Submitted { .. }));
}

#[test]
fn m22a_an_agent_that_was_lost_is_an_item_that_resumes_it() {
    let mut scene = Scene::idle();
    scene.fact(RunFact::Session("s7".into()));
    let saved = saved(&scene.stage.effects);
    let engine = Engine::restore(Config { seed: 9, ..Config::default() }, saved);
    let mut scene = Scene { stage: Stage::with(engine), run: scene.run };
    scene.fact(RunFact::Lost { final_offset: 0, survivors: vec![] });
    let item = scene.item().expect("a person is notified");
    assert_eq!((item.kind, item.title.as_str()), (ItemKind::Failure, "it was lost"));
    assert!(item.body.contains("qd resume a"), "{}", item.body);
    let answer = GiveAnswer { item: item.item, choice: "resume".into(), ..GiveAnswer::default() };
    scene.stage.ask(Command::Answer(answer));
    let resumes = |effect: &Effect| matches!(effect, Effect::Start(start) if start.agent.as_ref().is_some_and(|agent| agent.resume.as_deref() == Some("s7")));
    assert!(scene.stage.effects.iter().any(resumes), "it is started in its session");
    assert_eq!(scene.item(), None);
}

#[test]
fn m11_a_lost_agent_is_resumed_with_the_environment_of_the_person_who_resumes_it() {
    let mut scene = Scene::idle();
    scene.fact(RunFact::Session("s7".into()));
    let saved = saved(&scene.stage.effects);
    let engine = Engine::restore(Config { seed: 9, ..Config::default() }, saved);
    let mut scene = Scene { stage: Stage::with(engine), run: scene.run };
    scene.fact(RunFact::Lost { final_offset: 0, survivors: vec![] });
    let item = scene.item().unwrap().item;
    let own = [("API_KEY".to_owned(), "s3cr3t".to_owned())].into();
    let offer = Offer { base_env: Some(own), ..Offer::default() };
    scene.stage.ask(Command::Answer(GiveAnswer { item, choice: "resume".into(), offer }));
    let started = scene.stage.effects.iter().find_map(|effect| match effect {
        Effect::Start(start) => Some(start.env.clone()),
        _ => None,
    });
    assert!(started.unwrap().contains(&("API_KEY".to_owned(), "s3cr3t".to_owned())));
}

#[test]
fn m11_what_a_process_spawned_takes_only_the_allow_list_of_what_a_person_offers() {
    let mut stage = Stage::new();
    let parent = stage.spawn(agent("parent"));
    let child = stage.spawn_as(Caller::Process(parent), agent("child"));
    for run in [parent, child] {
        let process = stage.engine.ctx.processes.get_mut(&run.process).unwrap();
        process.spec.environment.env.clear();
    }
    stage.exit(child, 0);
    stage.effects.clear();
    let own = [("API_KEY".to_owned(), "s3cr3t".to_owned()), ("PATH".to_owned(), "/mine".to_owned())].into();
    let offer = Offer { base_env: Some(own), ..Offer::default() };
    stage.ask(Command::Restart(Restart { target: target(child), offer, ..Restart::default() }));
    stage.fact(child, RunFact::TreeGone);
    let started = stage.effects.iter().find_map(|effect| match effect {
        Effect::Start(start) => Some((start.env.clone(), start.person_env.clone())),
        _ => None,
    });
    let (env, person_env) = started.unwrap();
    assert!(env.contains(&("PATH".to_owned(), "/mine".to_owned())));
    assert!(env.iter().all(|(name, _)| name != "API_KEY"), "{env:?}");
    assert_eq!(person_env["API_KEY"], "s3cr3t", "its manifest may name it");
}
