//! From facts to what is shown: views, events, waits, drifts, explanations.

use proto::agent::{Composer, Quota, Source};
use proto::request::{Explain, Quantifier, Until};
use proto::{AgentState, ErrorCode, Event, Evidence, Reply};

use super::scene::{Scene, agent, dialog};
use crate::input::HookMoment;
use crate::tests::stage::{command, next, restart, target};
use crate::{Command, Effect, Launched, RunFact, ScreenSeen};

fn changes(effects: &[Effect]) -> usize {
    effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Announce(news) if matches!(news.announcement.what, Event::Changed(_))))
        .count()
}

#[test]
fn an_agent_is_starting_until_something_is_seen_of_it_and_exited_when_it_is_over() {
    let mut scene = Scene::with(agent("a"), Launched::default());
    assert_eq!(scene.state(), AgentState::Starting);
    scene.report(AgentState::Idle);
    assert_eq!(scene.state(), AgentState::Idle);
    scene.stage.exit(scene.run, 0);
    assert_eq!(scene.state(), AgentState::Exited);
}

#[test]
fn a_command_has_no_state() {
    let mut scene = Scene::idle();
    let run = scene.stage.spawn(command("c"));
    scene
        .stage
        .fact(run, RunFact::Evidence(Box::new(Evidence::new(Source::Title, "r", Some(AgentState::Idle)))));
    let view = scene.stage.view(run.process).unwrap();
    assert_eq!((view.state, view.agent), (None, None));
}

#[test]
fn the_view_says_who_won_and_who_came_second() {
    let mut scene = Scene::idle();
    scene.evidence(Source::Title, AgentState::Working);
    let view = scene.view();
    assert_eq!(view.evidence.map(|opinion| opinion.evidence.source), Some(Source::ProgramStatus));
    assert_eq!(view.runner_up.map(|opinion| opinion.evidence.source), Some(Source::Title));
    assert_eq!(view.manifest, "fake");
}

#[test]
fn saying_the_same_again_is_no_event() {
    let mut scene = Scene::idle();
    let idle = Evidence::new(Source::ProgramStatus, "rule", Some(AgentState::Idle));
    let effects = scene.fact(RunFact::Evidence(Box::new(idle.clone())));
    assert_eq!(changes(&effects), 0);
    let effects =
        scene.fact(RunFact::Evidence(Box::new(Evidence { state: Some(AgentState::Working), ..idle })));
    assert_eq!(changes(&effects), 1);
}

#[test]
fn evidence_of_an_older_run_and_of_the_run_before_a_restart_does_not_count() {
    let mut scene = Scene::idle();
    let old = scene.run;
    scene.stage.ask(restart(old));
    scene.stage.die(old);
    scene.stage.fact(next(old), RunFact::Started { pid: 7 });
    assert_eq!(scene.state(), AgentState::Starting);
    scene.evidence(Source::ProgramStatus, AgentState::Working);
    assert_eq!(scene.state(), AgentState::Starting, "the fact named the old run");
}

#[test]
fn a_wait_for_a_state_is_answered_at_once_when_it_is_so_and_later_when_it_becomes_so() {
    let mut scene = Scene::idle();
    let until = |state| Until::State(vec![state]);
    let at_once = scene.stage.wait_on(&[scene.run], until(AgentState::Idle), Quantifier::All, None);
    let Reply::Waited(waited) = scene.stage.reply(at_once) else { panic!("not a wait") };
    assert_eq!(waited.satisfied[0].state, Some(AgentState::Idle));
    let later = scene.stage.wait_on(&[scene.run], until(AgentState::Blocked), Quantifier::All, None);
    assert!(scene.stage.answer(later).is_none());
    scene.show_dialog("d1");
    assert!(matches!(scene.stage.reply(later), Reply::Waited(_)));
}

#[test]
fn a_wait_for_a_state_ends_with_the_run_and_an_exit_is_a_state() {
    let mut scene = Scene::idle();
    let blocked = Until::State(vec![AgentState::Blocked]);
    let never = scene.stage.wait_on(&[scene.run], blocked, Quantifier::All, None);
    let either = Until::State(vec![AgentState::Blocked, AgentState::Exited]);
    let over = scene.stage.wait_on(&[scene.run], either.clone(), Quantifier::All, None);
    scene.stage.exit(scene.run, 0);
    assert_eq!(scene.stage.failure(never).code, ErrorCode::NotRunning);
    assert!(matches!(scene.stage.reply(over), Reply::Waited(_)));
    let late = scene.stage.wait_on(&[scene.run], either, Quantifier::All, None);
    assert!(matches!(scene.stage.reply(late), Reply::Waited(_)));
}

#[test]
fn sources_that_disagree_for_more_than_a_second_are_sampled_once_a_minute() {
    let mut scene = Scene::idle();
    scene.evidence(Source::Title, AgentState::Working);
    let drifts = |scene: &Scene| {
        scene.stage.effects.iter().filter(|effect| matches!(effect, Effect::KeepDrift { .. })).count()
    };
    scene.pass(999);
    assert_eq!(drifts(&scene), 0);
    scene.pass(1);
    assert_eq!(drifts(&scene), 1);
    scene.pass(50_000);
    scene.evidence(Source::Title, AgentState::Idle);
    scene.evidence(Source::Title, AgentState::Working);
    scene.pass(9_999);
    assert_eq!(drifts(&scene), 1);
    scene.pass(1);
    assert_eq!(drifts(&scene), 2);
    scene.pass(200_000);
    assert_eq!(drifts(&scene), 2, "the same disagreement is one sample");
}

#[test]
fn a_hook_that_was_overtaken_is_no_drift() {
    let mut scene = Scene::idle();
    scene.hook(Some(AgentState::Working), HookMoment::Other);
    scene.pass(100);
    scene.report(AgentState::Working);
    scene.pass(100);
    scene.report(AgentState::Idle);
    scene.pass(10_000);
    assert!(!scene.stage.effects.iter().any(|effect| matches!(effect, Effect::KeepDrift { .. })));
}

#[test]
fn quota_lasts_until_it_is_reset_or_until_the_next_turn() {
    let mut scene = Scene::idle();
    let limited = |reset_at| Evidence {
        quota: Some(Quota { reset_at }),
        ..Evidence::new(Source::Screen, "limit", Some(AgentState::Idle))
    };
    let reset_at = scene.stage.moment().wall_ms + 60_000;
    scene.fact(RunFact::Evidence(Box::new(limited(Some(reset_at)))));
    assert!(scene.view().quota.is_some());
    assert!(scene.item().is_some());
    scene.pass(60_000);
    assert_eq!((scene.view().quota, scene.item()), (None, None));
    scene.fact(RunFact::Evidence(Box::new(limited(None))));
    scene.report(AgentState::Working);
    assert_eq!((scene.view().quota, scene.item()), (None, None));
    // The words still stand on the screen: they are not news.
    scene.fact(RunFact::Evidence(Box::new(limited(None))));
    assert_eq!(scene.view().quota, None);
}

#[test]
fn background_work_and_held_screens_are_shown() {
    let mut scene = Scene::idle();
    let unknown = Evidence::new(Source::Screen, "picker", None);
    let look = ScreenSeen {
        screen: Some(unknown),
        background: 2,
        composer: Composer::Unknown,
        ..ScreenSeen::default()
    };
    scene.fact(RunFact::ScreenSeen(Box::new(look)));
    let view = scene.view();
    assert_eq!((view.state, view.background, view.held), (AgentState::Idle, 2, true));
}

#[test]
fn the_vendor_session_is_pinned_and_recorded() {
    let mut scene = Scene::with(agent("a"), Launched { session: Some("s1".into()), ..Launched::default() });
    assert_eq!(scene.view().session.as_deref(), Some("s1"));
    let effects = scene.fact(RunFact::Session("s2".into()));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Record(_))));
    assert_eq!(scene.view().session.as_deref(), Some("s2"));
}

#[test]
fn an_explanation_names_every_opinion_and_the_rule() {
    let mut scene = Scene::idle();
    let look = ScreenSeen { dialog: Some(dialog("d1")), ..ScreenSeen::default() };
    scene.fact(RunFact::ScreenSeen(Box::new(look)));
    let ticket = scene.stage.ask(Command::Explain(Explain { target: target(scene.run) }));
    let Reply::Explanation(explanation) = scene.stage.reply(ticket) else { panic!("no explanation") };
    let sources: Vec<Source> = explanation.opinions.iter().map(|opinion| opinion.evidence.source).collect();
    assert_eq!(sources, [Source::ProgramStatus, Source::Dialog]);
    assert!(explanation.why.contains("blocked") && explanation.why.contains("dialog"), "{}", explanation.why);
    let run = scene.stage.spawn(command("c"));
    let ticket = scene.stage.ask(Command::Explain(Explain { target: target(run) }));
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::WrongKind);
}

#[test]
fn f8_an_agent_is_named_by_a_manifest_and_only_agents_take_prompts() {
    let mut scene = Scene::idle();
    let mut bad = agent("b");
    bad.argv = vec!["/bin/sh".into()];
    let mut prompt = command("c");
    prompt.agent.prompt = Some("hello".into());
    for spawn in [bad, prompt] {
        let ticket = scene.stage.ask(Command::Spawn(Box::new(spawn.into())));
        assert_eq!(scene.stage.failure(ticket).code, ErrorCode::InvalidArgs);
    }
}
