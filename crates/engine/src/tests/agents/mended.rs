//! Interrupts, messages to several agents, quota and the options of dialogs, as agents that lead others see them.

use proto::agent::{Composer, Delivery, ItemKind, Quota, Source, TurnEnd};
use proto::request::{
    AgentRequest, AskResult, Interrupt, OnTimeout, PermissionMode, PermissionWait, Spawn, Until, Wait,
};
use proto::{AgentState, ErrorCode, Event, Evidence, Reply};

use super::scene::{Scene, agent, dialog};
use crate::input::{HookDecision, HookMoment, ScreenSeen};
use crate::tests::stage::target;
use crate::{Caller, Command, ComposerIs, Effect, Launched, RunFact, Ticket, TypingOutcome};

fn working() -> Scene {
    let launched =
        Launched { confirms_prompts: true, interrupt: vec!["esc".to_owned()], ..Launched::default() };
    let mut scene = Scene::with(agent("a"), launched);
    scene.look(Composer::Empty);
    scene.report(AgentState::Idle);
    scene.report(AgentState::Working);
    scene
}

fn interrupt(scene: &mut Scene) -> Ticket {
    let target = target(scene.run);
    scene.stage.ask(Command::Interrupt(Interrupt { target }))
}

#[test]
fn m24b_an_interrupt_presses_the_manifests_keys_and_is_answered_when_the_turn_is_over() {
    let mut scene = working();
    let ticket = interrupt(&mut scene);
    assert_eq!(scene.typed(), ["esc"]);
    scene.done(TypingOutcome::Done);
    assert!(scene.stage.answer(ticket).is_none(), "the keys alone prove nothing");
    scene.report(AgentState::Idle);
    scene.pass(1_000);
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
}

#[test]
fn m24b_a_prompt_that_comes_back_after_an_interrupt_is_cleared_if_it_is_ours() {
    let launched = Launched {
        confirms_prompts: true,
        interrupt: vec!["esc".to_owned()],
        clear: vec!["ctrl-c".to_owned()],
        ..Launched::default()
    };
    for comes_back in [true, false] {
        let mut scene = Scene::with(agent("a"), launched.clone());
        scene.look(Composer::Empty);
        scene.report(AgentState::Idle);
        let first = scene.tell("do it");
        scene.type_through();
        scene.take();
        assert!(matches!(scene.delivery(first), Delivery::Submitted { .. }));
        interrupt(&mut scene);
        let second = scene.tell("do that instead");
        scene.done(TypingOutcome::Done);
        scene.report(AgentState::Idle);
        let is_queued = matches!(scene.delivery(second), Delivery::Queued { .. });
        assert!(is_queued, "the prompt may come back at any moment");
        if comes_back {
            scene.look(Composer::Draft);
            let (_, keys, guard) = scene.typing().last().cloned().unwrap();
            assert_eq!(format!("{keys:?}"), "Keys([\"ctrl-c\"])");
            assert_eq!(guard.composer, ComposerIs::Holds("do it".to_owned()), "only our own text is cleared");
            scene.done(TypingOutcome::Done);
            scene.look(Composer::Empty);
        }
        scene.pass(1_000);
        scene.type_through();
        scene.take();
        assert!(matches!(scene.delivery(second), Delivery::Submitted { .. }), "comes back: {comes_back}");
    }
}

#[test]
fn c18_a_turn_whose_interrupt_was_typed_is_interrupted_although_no_source_says_so() {
    for rests_first in [false, true] {
        let mut scene = working();
        let ticket = interrupt(&mut scene);
        if rests_first {
            scene.report(AgentState::Idle);
            scene.done(TypingOutcome::Done);
        } else {
            scene.done(TypingOutcome::Done);
            scene.report(AgentState::Idle);
        }
        scene.fact(RunFact::Result { turn: 1, text: String::new(), from: "screen", end: None });
        scene.pass(1_000);
        assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
        let asked = scene.stage.ask(Command::Result(AskResult { target: target(scene.run), turn: Some(1) }));
        let Reply::Turn(turn) = scene.stage.reply(asked) else { panic!("no turn") };
        assert_eq!(turn.end, TurnEnd::Interrupted, "rests first: {rests_first}");
    }
}

#[test]
fn m24b_an_interrupt_that_does_not_help_is_tried_again_and_then_not_claimed() {
    let mut scene = working();
    let ticket = interrupt(&mut scene);
    for _ in 0..3 {
        scene.done(TypingOutcome::Done);
        scene.pass(2_000);
    }
    assert_eq!(scene.typed(), ["esc", "esc", "esc"]);
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotDelivered);
}

#[test]
fn m24b_only_a_turn_is_interrupted_and_never_a_dialog() {
    let mut scene = working();
    scene.show_dialog("d1");
    let ticket = interrupt(&mut scene);
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::DialogOpen);
    let mut scene = Scene::idle();
    let ticket = interrupt(&mut scene);
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Conflict);
    scene.report(AgentState::Working);
    let ticket = interrupt(&mut scene);
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::WrongKind, "its manifest names no keys");
    assert!(scene.typed().is_empty());
}

#[test]
fn m24c_a_queued_message_is_taken_back_and_never_delivered() {
    let mut scene = working();
    let (first, second) = (scene.tell("one"), scene.tell("two"));
    let ticket = scene.stage.ask(Command::CancelMessage(proto::request::CancelMessage { mail: first }));
    let Reply::Receipt(receipt) = scene.stage.reply(ticket) else { panic!("no receipt") };
    assert!(matches!(receipt.delivery, Delivery::Refused { .. }), "{receipt:?}");
    scene.report(AgentState::Idle);
    scene.pass(2_000);
    assert_eq!(scene.typed(), ["two"]);
    let ticket = scene.stage.ask(Command::CancelMessage(proto::request::CancelMessage { mail: second }));
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Conflict, "it has left the queue");
    let stranger = scene.stage.spawn(agent("b"));
    let third = scene.tell("three");
    let ticket = scene.stage.ask_as(
        Caller::Process(stranger),
        Command::CancelMessage(proto::request::CancelMessage { mail: third }),
    );
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotRelated);
}

#[test]
fn m24c_a_process_gives_its_children_no_more_freedom_than_it_has() {
    let with = |name: &str, mode| Spawn {
        agent: AgentRequest { mode: Some(mode), ..AgentRequest::default() },
        ..agent(name)
    };
    let mut scene = Scene::idle();
    let lead = Caller::Process(scene.run);
    for (mode, is_allowed) in [
        (PermissionMode::Plan, true),
        (PermissionMode::Ask, true),
        (PermissionMode::Edit, false),
        (PermissionMode::Auto, false),
    ] {
        let ticket = scene.stage.ask_as(lead, Command::Spawn(Box::new(with(mode.word(), mode).into())));
        match scene.stage.answer(ticket) {
            Some(answer) => {
                assert!(!is_allowed, "{mode:?}");
                assert_eq!(answer.expect_err("refused").code, ErrorCode::Denied);
            }
            None => assert!(is_allowed, "{mode:?}"),
        }
    }
    let free = scene.stage.spawn(with("free", PermissionMode::Edit));
    let order = Box::new(with("child", PermissionMode::Edit).into());
    let ticket = scene.stage.ask_as(Caller::Process(free), Command::Spawn(order));
    assert!(scene.stage.answer(ticket).is_none(), "what it has it may pass on");
}

fn wait_blocked(scene: &mut Scene) -> Ticket {
    let until = Until::State(vec![AgentState::Blocked]);
    let wait = Wait::until(vec![target(scene.run)], until);
    scene.stage.ask(Command::Wait(wait))
}

#[test]
fn m20e_whoever_waits_for_blocked_gets_the_options_in_the_same_answer() {
    let mut scene = working();
    let ticket = wait_blocked(&mut scene);
    scene.report(AgentState::Blocked);
    assert!(scene.stage.answer(ticket).is_none(), "the dialog is not drawn yet");
    scene.show_dialog("d1");
    let Reply::Waited(waited) = scene.stage.reply(ticket) else { panic!("not waited") };
    let item = waited.satisfied[0].dialog.as_deref().expect("a dialog");
    assert_eq!((item.title.as_str(), item.options.len()), ("May I?", 2));
    // A dialog that nobody can read is told as well, a little later.
    let mut scene = working();
    let ticket = wait_blocked(&mut scene);
    scene.report(AgentState::Blocked);
    scene.pass(1_500);
    let Reply::Waited(waited) = scene.stage.reply(ticket) else { panic!("not waited") };
    assert!(waited.satisfied[0].dialog.as_deref().is_some_and(|item| item.options.is_empty()));
}

fn asked(body: &str) -> HookMoment {
    HookMoment::PermissionAsked { title: "Bash".into(), body: body.into() }
}

/// A dialog on the screen that shows this much of what it is about.
fn shows(scene: &mut Scene, digest: &str, body: &str) {
    let mut evidence = dialog(digest);
    evidence.kind = Some(proto::agent::BlockedKind::Permission);
    if let Some(dialog) = &mut evidence.dialog {
        body.clone_into(&mut dialog.body);
    }
    scene.fact(RunFact::ScreenSeen(Box::new(ScreenSeen { dialog: Some(evidence), ..ScreenSeen::default() })));
}

#[test]
fn m20a_the_whole_command_comes_from_the_hook_and_never_from_another_request() {
    let long = format!("rm -rf build && {} && echo done-at-the-end", "make all ".repeat(400).trim());
    let mut scene = working();
    scene.hook(Some(AgentState::Blocked), asked(&long));
    shows(&mut scene, "d1", "Bash command\n\n  rm -rf build &&\n  make all make all");
    let item = scene.item().expect("opened");
    assert_eq!((item.title.as_str(), item.body.as_str()), ("Bash", long.as_str()));
    // The screen is too small for any of it, and there is one request only.
    let mut scene = working();
    scene.hook(Some(AgentState::Blocked), asked(&long));
    shows(&mut scene, "d1", "");
    assert_eq!(scene.item().expect("opened").body, long);
    // Two requests: the dialog shows which one it is about.
    let mut scene = working();
    scene.hook(Some(AgentState::Blocked), asked(&long));
    scene.hook(Some(AgentState::Blocked), asked("git push --force origin main"));
    shows(&mut scene, "d1", "  rm -rf build && make all make all");
    assert_eq!(scene.item().expect("opened").body, long);
    // Two that begin alike: the screen's own words stay.
    let mut scene = working();
    scene.hook(Some(AgentState::Blocked), asked(&long));
    scene.hook(Some(AgentState::Blocked), asked("rm -rf build && make all make all install"));
    shows(&mut scene, "d1", "  rm -rf build && make all make");
    assert_eq!(scene.item().expect("opened").body, "  rm -rf build && make all make");
    let mut scene = working();
    scene.hook(Some(AgentState::Blocked), asked(&long));
    scene.hook(Some(AgentState::Blocked), asked("git push --force origin main"));
    shows(&mut scene, "d1", "");
    let body = scene.item().expect("opened").body;
    assert!(body.contains("too small"), "what cannot be known is said: {body}");
}

fn parking() -> Scene {
    let permissions = Some(PermissionWait { timeout_ms: 60_000, on_timeout: OnTimeout::Deny });
    let spawn = Spawn { agent: AgentRequest { permissions, ..AgentRequest::default() }, ..agent("a") };
    let mut scene = Scene::with(spawn, Launched { confirms_prompts: true, ..Launched::default() });
    scene.look(Composer::Empty);
    scene.report(AgentState::Working);
    scene
}

#[test]
fn m20a_a_request_that_its_hook_cannot_answer_is_never_parked_and_gives_its_whole_command() {
    let long = format!("touch made && {} && echo done-at-the-end", "make all ".repeat(400).trim());
    let mut scene = parking();
    let shown = HookMoment::PermissionShown { title: "Confirm".into(), body: long.clone() };
    let hook = scene.hook(Some(AgentState::Blocked), shown);
    assert_eq!(scene.decision(hook), Some(HookDecision::Nothing), "the program waits for no answer");
    shows(&mut scene, "d1", "touch made && make all make all");
    let item = scene.item().expect("opened");
    assert_eq!((item.kind, item.body.as_str()), (ItemKind::Dialog, long.as_str()));
}

#[test]
fn m20b_a_waiting_request_and_its_dialog_are_one_item_and_either_answer_ends_both() {
    let mut scene = parking();
    let hook = scene.hook(Some(AgentState::Blocked), asked("rm x"));
    shows(&mut scene, "d1", "rm x");
    let item = scene.item().expect("one item");
    assert_eq!(item.kind, ItemKind::Permission);
    let choice = "allow".to_owned();
    scene.stage.ask(Command::Answer(proto::request::GiveAnswer {
        item: item.item,
        choice,
        ..proto::request::GiveAnswer::default()
    }));
    assert_eq!(scene.decision(hook), Some(HookDecision::Allow));
    scene.look(Composer::Empty);
    assert_eq!(scene.item(), None);
    // Somebody answers on the screen: the request no longer waits.
    let mut scene = parking();
    let hook = scene.hook(Some(AgentState::Blocked), asked("rm x"));
    shows(&mut scene, "d1", "rm x");
    scene.look(Composer::Empty);
    assert_eq!(scene.decision(hook), Some(HookDecision::Nothing));
    assert_eq!(scene.item(), None);
}

#[test]
fn m20d_a_vendor_that_tries_again_by_itself_makes_one_item() {
    let mut scene = working();
    for attempt in 1..=160_u64 {
        let quota = Some(Quota { reset_at: Some(1_000_000 + attempt * 1_000) });
        let message = format!("quota exceeded, attempt {attempt}");
        let retry =
            Evidence { quota, message, ..Evidence::new(Source::Server, "retry", Some(AgentState::Working)) };
        scene.fact(RunFact::Evidence(Box::new(retry)));
        scene.evidence(Source::Server, AgentState::Working);
    }
    let is_opened = |effect: &&Effect| matches!(effect, Effect::Announce(event) if matches!(event.announcement.what, Event::ItemOpened(_)));
    assert_eq!(scene.stage.effects.iter().filter(is_opened).count(), 1);
    assert!(scene.view().quota.is_some());
}

#[test]
fn m20f_a_subagents_request_waits_for_the_person_and_says_nothing_about_the_agents_own_work() {
    let mut scene = parking();
    scene.report(AgentState::Idle);
    let hook = scene.hook(None, asked("rm x"));
    assert_eq!((scene.decision(hook), scene.state()), (None, AgentState::Blocked));
    let item = scene.item().expect("it is in the inbox");
    assert_eq!((item.kind, item.body.as_str()), (ItemKind::Permission, "rm x"));
    let choice = "allow".to_owned();
    scene.stage.ask(Command::Answer(proto::request::GiveAnswer {
        item: item.item,
        choice,
        ..proto::request::GiveAnswer::default()
    }));
    assert_eq!(scene.decision(hook), Some(HookDecision::Allow));
    scene.pass(1_000);
    assert_eq!(scene.state(), AgentState::Idle, "the agent itself rests while its subagent works");
}

#[test]
fn m22b_an_agent_that_takes_long_to_start_is_an_item_until_it_has() {
    let mut scene = Scene::with(agent("a"), Launched { patience_ms: 30_000, ..Launched::default() });
    scene.pass(29_999);
    assert_eq!(scene.item(), None);
    scene.pass(1);
    let item = scene.item().expect("a person is notified");
    assert_eq!((item.kind, item.title.as_str()), (ItemKind::Failure, "it is still starting"));
    let asks = |effect: &Effect| matches!(effect, Effect::ReadLastLines { .. });
    assert!(scene.stage.effects.iter().any(asks), "its screen is read");
    scene.fact(RunFact::LastLines("Loading modules…".into()));
    assert!(scene.item().is_some_and(|item| item.body.contains("Loading modules…")));
    scene.look(Composer::Empty);
    scene.report(AgentState::Idle);
    assert_eq!(scene.item(), None, "it takes prompts now");
}

#[test]
fn m22c_a_bad_end_carries_the_programs_own_words() {
    let mut scene = working();
    scene.stage.exit(scene.run, 2);
    scene.fact(RunFact::LastLines("error: unexpected argument '--flag' found".into()));
    let item = scene.item().expect("a person is notified");
    assert!(item.body.contains("code 2") && item.body.contains("unexpected argument '--flag'"), "{item:?}");
}

#[test]
fn m20h_a_question_that_takes_any_text_is_answered_key_by_key() {
    let mut question = dialog("question");
    if let Some(dialog) = &mut question.dialog {
        dialog.options = vec![proto::agent::DialogOption {
            names: vec!["1".into(), "text".into()],
            label: "any text".into(),
            keys: ["{text}", "enter"].map(str::to_owned).to_vec(),
        }];
    }
    let mut scene = working();
    scene.fact(RunFact::ScreenSeen(Box::new(ScreenSeen { dialog: Some(question), ..ScreenSeen::default() })));
    let item = scene.item().expect("opened").item;
    for (choice, is_taken) in [("text", false), ("two\nlines", false), ("a b", true)] {
        let answer = proto::request::GiveAnswer {
            item,
            choice: choice.into(),
            ..proto::request::GiveAnswer::default()
        };
        let ticket = scene.stage.ask(Command::Answer(answer));
        assert_eq!(scene.stage.answer(ticket).is_none(), is_taken, "{choice:?}");
    }
    assert_eq!(scene.typed(), ["a space b enter"]);
}

#[test]
fn m20g_a_dialog_whose_options_the_screen_cannot_show_has_those_of_the_server() {
    let mut scene = working();
    let mut on_screen = dialog("screen");
    if let Some(dialog) = &mut on_screen.dialog {
        dialog.options.clear();
    }
    let asked = Evidence { source: Source::Server, ..dialog("ask:per_1") };
    scene.fact(RunFact::Evidence(Box::new(asked)));
    scene
        .fact(RunFact::ScreenSeen(Box::new(ScreenSeen { dialog: Some(on_screen), ..ScreenSeen::default() })));
    assert_eq!(scene.item().expect("opened").options.len(), 2);
}
