//! What needs a person: opened, answered, closed; and nothing stale hits anything new.

use proto::agent::{Composer, ItemKind, Source};
use proto::request::{Ask, GiveAnswer, OnTimeout, PermissionWait};
use proto::{AgentState, ErrorCode, Event, Evidence, Reply};

use super::scene::{Scene, agent, dialog};
use crate::input::{HookDecision, HookMoment, Input, ViewerId};
use crate::tests::stage::{close, next, restart};
use crate::{Caller, Command, Effect, Launched, RunFact, Ticket, TypingOutcome};

fn answer(scene: &mut Scene, item: u64, choice: &str) -> Ticket {
    scene.stage.ask(Command::Answer(GiveAnswer { item, choice: choice.to_owned(), ..GiveAnswer::default() }))
}

fn notices(scene: &Scene) -> usize {
    scene.stage.effects.iter().filter(|effect| matches!(effect, Effect::Notify { .. })).count()
}

#[test]
fn a_dialog_opens_an_item_that_is_answered_by_keys_and_closes_with_it() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let item = scene.item().expect("opened");
    assert_eq!((item.kind, item.title.as_str(), item.body.as_str()), (ItemKind::Dialog, "May I?", "rm x"));
    let ticket = answer(&mut scene, item.item, "ALLOW");
    assert_eq!(scene.typed(), ["1"]);
    let (_, _, guard) = scene.typing().remove(0);
    assert_eq!((guard.dialog.as_deref(), guard.person_quiet_ms), (Some("d1"), 0));
    scene.done(TypingOutcome::Done);
    assert!(scene.stage.answer(ticket).is_none(), "the keys alone prove nothing");
    scene.look(Composer::Empty);
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
    assert_eq!(scene.item(), None);
}

#[test]
fn a_choice_is_a_number_a_name_or_the_text_and_nothing_else() {
    for choice in ["2", "deny", "No", " no "] {
        let mut scene = Scene::idle();
        scene.show_dialog("d1");
        let item = scene.item().unwrap().item;
        answer(&mut scene, item, choice);
        assert_eq!(scene.typed(), ["2"], "{choice}");
    }
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let item = scene.item().unwrap().item;
    let ticket = answer(&mut scene, item, "maybe");
    let failure = scene.stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::InvalidArgs);
    assert!(failure.message.contains("allow") && failure.message.contains("No"), "{}", failure.message);
}

#[test]
fn a_stale_answer_hits_nothing() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let old = scene.item().unwrap().item;
    scene.show_dialog("d2");
    let new = scene.item().unwrap().item;
    assert_ne!(old, new);
    let ticket = answer(&mut scene, old, "1");
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Conflict);
    let ticket = answer(&mut scene, 9_999, "1");
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotFound);
    assert!(scene.typed().is_empty());
    // The screen changed between the question and the keys.
    let ticket = answer(&mut scene, new, "1");
    scene.done(TypingOutcome::Stale);
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Conflict);
}

#[test]
fn an_answer_that_does_not_close_its_dialog_is_not_claimed() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let item = scene.item().unwrap().item;
    let ticket = answer(&mut scene, item, "1");
    let second = answer(&mut scene, item, "2");
    assert_eq!(scene.stage.failure(second).code, ErrorCode::Conflict);
    for _ in 0..3 {
        scene.done(TypingOutcome::Done);
        scene.pass(1_500);
    }
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotDelivered);
    assert!(scene.item().is_some());
}

#[test]
fn keys_that_a_fresh_dialog_did_not_hear_are_typed_again_while_it_is_the_same() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let item = scene.item().unwrap().item;
    let ticket = answer(&mut scene, item, "1");
    scene.done(TypingOutcome::Done);
    scene.pass(1_500);
    scene.done(TypingOutcome::Done);
    scene.look(Composer::Empty);
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
    assert!(scene.item().is_none());
}

#[test]
fn m20j_an_answer_is_not_typed_into_a_dialog_that_follows_and_reads_the_same() {
    // What is seen between the two dialogs: the screen without one before the keys count as typed, only a report, or
    // neither of them; then only the words above the second one are others.
    for between in ["a gap", "a report", "other words"] {
        let mut scene = Scene::idle();
        scene.show_dialog("d1");
        let first = scene.item().unwrap().item;
        let ticket = answer(&mut scene, first, "1");
        match between {
            "a gap" => {
                scene.look(Composer::Empty);
                scene.show_dialog("d1");
                scene.done(TypingOutcome::Done);
            }
            "a report" => {
                scene.done(TypingOutcome::Done);
                scene.pass(10);
                scene.hook(Some(AgentState::Working), HookMoment::Other);
                scene.show_dialog("d1");
            }
            _ => {
                scene.show_dialog_below("d1", 2);
                scene.done(TypingOutcome::Done);
            }
        }
        scene.stage.effects.clear();
        scene.pass(1_500);
        assert!(scene.typed().is_empty(), "{between}");
        let failure = scene.stage.failure(ticket);
        assert!(failure.message.contains("it may be a new one"), "{failure}");
        let second = scene.item().expect("the second one is an item");
        assert_ne!(second.item, first);
        let late = answer(&mut scene, first, "1");
        assert_eq!(scene.stage.failure(late).code, ErrorCode::Conflict);
        answer(&mut scene, second.item, "2");
        assert_eq!(scene.typed(), ["2"]);
    }
}

#[test]
fn m20j_a_late_first_report_of_the_answered_dialog_does_not_keep_its_keys_from_being_typed_again() {
    let blocked = || Evidence::new(Source::ProgramStatus, "status", Some(AgentState::Blocked));
    for was_reported in [false, true] {
        let mut scene = Scene::idle();
        scene.show_dialog("d1");
        if was_reported {
            scene.fact(RunFact::Evidence(Box::new(blocked())));
        }
        let item = scene.item().unwrap().item;
        let ticket = answer(&mut scene, item, "1");
        scene.done(TypingOutcome::Done);
        scene.pass(10);
        if was_reported {
            let working = Evidence::new(Source::ProgramStatus, "status", Some(AgentState::Working));
            scene.fact(RunFact::Evidence(Box::new(working)));
        }
        scene.fact(RunFact::Evidence(Box::new(blocked())));
        scene.stage.effects.clear();
        scene.pass(1_500);
        if was_reported {
            assert!(scene.typed().is_empty(), "it worked in between: this may be the next dialog");
            assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotDelivered);
        } else {
            assert_eq!(scene.typed(), ["1"], "the report was about this dialog");
        }
    }
}

#[test]
fn m20j_another_dialog_is_an_item_at_once_while_the_keys_for_the_first_are_under_way() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let first = scene.item().unwrap().item;
    let ticket = answer(&mut scene, first, "1");
    scene.show_dialog("d2");
    let second = scene.item().expect("at once");
    assert_ne!(second.item, first);
    scene.done(TypingOutcome::Done);
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
    assert_eq!(scene.item().map(|item| item.item), Some(second.item));
    scene.pass(20_000);
    assert_eq!(scene.typed(), ["1"], "nothing is typed into the second one");
}

#[test]
fn a_report_and_the_dialog_it_speaks_of_are_one_item() {
    let mut scene = Scene::idle();
    let report = Evidence {
        message: "approve: rm x".into(),
        ..Evidence::new(Source::ProgramStatus, "status", Some(AgentState::Blocked))
    };
    scene.fact(RunFact::Evidence(Box::new(report)));
    let first = scene.item().expect("opened by the report alone");
    assert_eq!((first.title.as_str(), first.options.len()), ("approve: rm x", 0));
    let ticket = answer(&mut scene, first.item, "1");
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Conflict);
    scene.show_dialog("d1");
    let second = scene.item().expect("renewed");
    assert_eq!((second.item, second.options.len()), (first.item, 2));
    assert_eq!(notices(&scene), 1);
    // Answered; the dialog goes first and the report a moment later.
    let ticket = answer(&mut scene, second.item, "1");
    scene.done(TypingOutcome::Done);
    scene.look(Composer::Empty);
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
    assert_eq!(scene.item(), None);
    scene.report(AgentState::Working);
    scene.pass(5_000);
    assert_eq!(scene.item(), None);
}

#[test]
fn an_option_without_keys_goes_to_the_vendors_server() {
    let mut scene = Scene::idle();
    let mut asked = dialog("d1");
    asked.source = Source::Server;
    for option in &mut asked.dialog.as_mut().unwrap().options {
        option.keys.clear();
    }
    scene.fact(RunFact::Evidence(Box::new(asked)));
    scene.fact(RunFact::Withdrawn(Source::ProgramStatus));
    let item = scene.item().unwrap().item;
    let ticket = answer(&mut scene, item, "deny");
    let sent = scene.stage.effects.iter().find_map(|effect| match effect {
        Effect::AnswerServer { job, dialog, choice, .. } => Some((*job, dialog.clone(), choice.clone())),
        _ => None,
    });
    let (job, digest, choice) = sent.expect("sent to the server");
    assert_eq!((digest.as_str(), choice), ("d1", vec!["2".to_owned(), "deny".to_owned()]));
    scene.fact(RunFact::TypingDone { job, outcome: TypingOutcome::Done });
    scene.evidence(Source::Server, AgentState::Working);
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
}

#[test]
fn only_people_and_what_is_above_it_answer_for_an_agent() {
    let mut scene = Scene::idle();
    let parent = scene.run;
    let child = scene.stage.spawn_as(Caller::Process(parent), agent("child"));
    let stranger = scene.stage.spawn(agent("stranger"));
    let look = crate::ScreenSeen { dialog: Some(dialog("d1")), ..crate::ScreenSeen::default() };
    scene.stage.fact(child, RunFact::ScreenSeen(Box::new(look)));
    let item = scene.item().unwrap().item;
    let give = || Command::Answer(GiveAnswer { item, choice: "1".to_owned(), ..GiveAnswer::default() });
    for caller in [Caller::Process(child), Caller::Process(stranger)] {
        let ticket = scene.stage.ask_as(caller, give());
        assert_eq!(scene.stage.failure(ticket).code, ErrorCode::NotRelated, "{caller:?}");
        let ticket = scene.stage.ask_as(caller, Command::Inbox);
        assert_eq!(scene.stage.reply(ticket), Reply::Inbox(vec![]));
    }
    let ticket = scene.stage.ask_as(Caller::Nobody, give());
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::Unauthorized);
    scene.stage.ask_as(Caller::Process(parent), give());
    let guard = scene.stage.effects.iter().find_map(|effect| match effect {
        Effect::Type { guard, .. } => Some(guard.clone()),
        _ => None,
    });
    assert_eq!(guard.expect("typed").person_quiet_ms, 3_000, "a program waits for people");
}

fn parking(on_timeout: OnTimeout) -> Scene {
    let mut spawn = agent("a");
    spawn.agent.permissions = Some(PermissionWait { timeout_ms: 60_000, on_timeout });
    let mut scene = Scene::with(spawn, Launched::default());
    assert!(scene.stage.starts()[0].agent.as_ref().is_some_and(|agent| agent.permissions_wait));
    scene.report(AgentState::Working);
    scene
}

fn asked() -> HookMoment {
    HookMoment::PermissionAsked { title: "run a command".into(), body: "rm x".into() }
}

#[test]
fn a_permission_request_waits_in_the_inbox_and_blocks_the_agent() {
    for (choice, expected) in [("allow", true), ("deny", false)] {
        let mut scene = parking(OnTimeout::Deny);
        let hook = scene.hook(Some(AgentState::Blocked), asked());
        assert_eq!((scene.decision(hook), scene.state()), (None, AgentState::Blocked));
        let item = scene.item().unwrap();
        assert_eq!((item.kind, item.expires.is_some()), (ItemKind::Permission, true));
        answer(&mut scene, item.item, choice);
        let decision = scene.decision(hook).expect("decided");
        assert_eq!(decision == HookDecision::Allow, expected, "{decision:?}");
        assert_eq!((scene.item(), scene.state()), (None, AgentState::Working));
    }
}

#[test]
fn a_waiting_request_that_nobody_answers_gets_what_was_said_beforehand() {
    let denied = HookDecision::Deny("no person answered in time".into());
    for (on_timeout, expected) in [
        (OnTimeout::Deny, denied),
        (OnTimeout::Allow, HookDecision::Allow),
        (OnTimeout::Ask, HookDecision::Nothing),
    ] {
        let mut scene = parking(on_timeout);
        let hook = scene.hook(None, asked());
        scene.pass(59_999);
        assert_eq!(scene.decision(hook), None);
        scene.pass(1);
        assert_eq!(scene.decision(hook), Some(expected));
        assert_eq!(scene.item(), None);
    }
}

#[test]
fn a_waiting_request_goes_with_its_hook_and_with_its_run() {
    let mut scene = parking(OnTimeout::Deny);
    let hook = scene.hook(None, asked());
    scene.stage.input(Input::CallerGone { ticket: hook });
    assert_eq!((scene.item(), scene.state()), (None, AgentState::Working));
    let hook = scene.hook(None, asked());
    scene.stage.exit(scene.run, 0);
    assert_eq!((scene.decision(hook), scene.item()), (Some(HookDecision::Nothing), None));
}

#[test]
fn without_a_desk_the_agent_asks_on_its_own_screen() {
    let mut scene = Scene::idle();
    let hook = scene.hook(Some(AgentState::Blocked), asked());
    assert_eq!(scene.decision(hook), Some(HookDecision::Nothing));
}

#[test]
fn hooks_from_outside_an_agents_run_are_refused() {
    let mut scene = Scene::idle();
    let command = scene.stage.spawn(crate::tests::stage::command("c"));
    let old = crate::RunKey::new(scene.id(), proto::RunNumber(0));
    for caller in [Caller::Person, Caller::Nobody, Caller::Process(command), Caller::Process(old)] {
        let notice = crate::HookNotice { evidence: None, moment: HookMoment::TurnEnded };
        let ticket = scene.stage.ask_as(caller, Command::Hook(Box::new(notice)));
        assert!(scene.stage.answer(ticket).unwrap().is_err(), "{caller:?}");
    }
}

#[test]
fn failures_wait_for_a_person_until_they_are_dismissed_or_over() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Error);
    let item = scene.item().unwrap();
    assert_eq!(item.kind, ItemKind::Failure);
    answer(&mut scene, item.item, "dismiss");
    assert_eq!(scene.item(), None);
    scene.report(AgentState::Working);
    scene.report(AgentState::Error);
    assert!(scene.item().is_some());
    scene.report(AgentState::Working);
    assert_eq!(scene.item(), None, "work again");
    scene.stage.exit(scene.run, 3);
    assert!(scene.item().unwrap().body.contains("code 3"));
    let old = scene.run;
    scene.stage.ask(restart(old));
    scene.stage.fact(old, RunFact::TreeGone);
    assert_eq!(scene.item(), None, "a new run");
    scene.run = next(old);
    scene.fact(RunFact::Started { pid: 2 });
    scene.stage.exit(scene.run, 0);
    assert_eq!(scene.item(), None, "a clean end is no failure");
}

#[test]
fn c22_a_failure_gets_the_vendors_words_from_whichever_source_has_them_however_late() {
    let mut scene = Scene::idle();
    scene.report(AgentState::Error);
    assert_eq!(scene.item().unwrap().body, "", "a status report has no words");
    let mut hook = Evidence::new(Source::Hook, "transcript.failed", Some(AgentState::Error));
    hook.message = "the server is overloaded".to_owned();
    scene.fact(RunFact::Evidence(Box::new(hook.clone())));
    let item = scene.item().unwrap();
    assert_eq!((item.kind, item.body.as_str()), (ItemKind::Failure, "the server is overloaded"));
    answer(&mut scene, item.item, "dismiss");
    scene.fact(RunFact::Evidence(Box::new(hook)));
    assert_eq!(scene.item(), None, "what was dismissed stays so");
}

/// A person attaches to the agent.
fn attach(scene: &mut Scene) -> ViewerId {
    let (viewer, size, by) = (ViewerId(1), proto::Size::DEFAULT, Caller::Person);
    scene.fact(RunFact::ViewerJoined {
        viewer,
        size,
        read_only: false,
        mirrors: false,
        by,
        label: None,
        pid: None,
    });
    viewer
}

#[test]
fn m20h_a_person_who_looks_at_the_agent_is_notified_of_a_question_that_its_screen_does_not_show() {
    let mut scene = Scene::idle();
    attach(&mut scene);
    let question = Ask { question: "Which colour?".to_owned(), options: vec!["red".to_owned()], key: None };
    scene.stage.ask_as(Caller::Process(scene.run), Command::Ask(question));
    assert_eq!(notices(&scene), 1);
}

#[test]
fn a_person_who_looks_is_not_notified_and_nobody_is_twice_in_ten_seconds() {
    let mut scene = Scene::idle();
    let viewer = attach(&mut scene);
    scene.show_dialog("d1");
    assert_eq!(notices(&scene), 0);
    scene.fact(RunFact::ViewerLeft { viewer });
    for digest in ["d2", "d3"] {
        scene.show_dialog(digest);
        scene.pass(100);
    }
    assert_eq!(notices(&scene), 1);
    scene.pass(10_000);
    scene.show_dialog("d4");
    assert_eq!(notices(&scene), 2);
}

#[test]
fn items_of_a_closed_agent_are_closed_and_announced() {
    let mut scene = Scene::idle();
    scene.show_dialog("d1");
    let item = scene.item().unwrap().item;
    scene.stage.ask(close(scene.run));
    scene.stage.die(scene.run);
    let closed = |effect: &Effect| matches!(effect, Effect::Announce(news) if news.announcement.what == Event::ItemClosed { item });
    assert!(scene.stage.effects.iter().any(closed));
    let ticket = scene.stage.ask(Command::Inbox);
    assert_eq!(scene.stage.reply(ticket), Reply::Inbox(vec![]));
}
