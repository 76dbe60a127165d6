//! Continuing a vendor session, and beginning a new one.

use proto::agent::Composer;
use proto::request::{Quantifier, Resume, Spawn, Until};
use proto::{AgentState, ErrorCode, Reply};

use super::scene::{Scene, agent, request};
use crate::tests::stage::{close, command, exit, next, restart, shutdown, target};
use crate::{Command, Effect, Launched, RunFact, StartRun, Ticket};

fn resume(scene: &mut Scene, session: Option<&str>) -> Ticket {
    let resume =
        Resume { target: target(scene.run), session: session.map(str::to_owned), ..Resume::default() };
    scene.stage.ask(Command::Resume(resume))
}

fn last_start(scene: &Scene) -> StartRun {
    scene.stage.starts().pop().expect("a start")
}

fn resumed(scene: &Scene) -> Option<String> {
    last_start(scene).agent.expect("an agent's start").resume
}

fn end(scene: &mut Scene, code: i32) {
    scene.stage.exit(scene.run, code);
}

fn begin(scene: &mut Scene) {
    scene.stage.fact(scene.run, RunFact::TreeGone);
    scene.run = next(scene.run);
    scene.fact(RunFact::Started { pid: 7 });
}

#[test]
fn an_ended_agent_is_resumed_in_the_session_it_had() {
    let mut scene = Scene::with(agent("a"), Launched { session: Some("s1".into()), ..Launched::default() });
    let early = resume(&mut scene, None);
    assert_eq!(scene.stage.failure(early).code, ErrorCode::Conflict);
    end(&mut scene, 0);
    let ticket = resume(&mut scene, None);
    begin(&mut scene);
    assert!(matches!(scene.stage.reply(ticket), Reply::Spawned(_)));
    assert_eq!(resumed(&scene).as_deref(), Some("s1"));
    assert_eq!(scene.view().session.as_deref(), Some("s1"));
}

#[test]
fn a_restart_begins_a_new_session_and_the_old_one_is_not_forgotten() {
    let mut scene = Scene::with(agent("a"), Launched { session: Some("s1".into()), ..Launched::default() });
    let old = scene.run;
    scene.stage.ask(restart(old));
    scene.stage.die(old);
    scene.run = next(old);
    assert_eq!(resumed(&scene), None);
    scene.fact(RunFact::Started { pid: 2 });
    end(&mut scene, 0);
    resume(&mut scene, None);
    begin(&mut scene);
    assert_eq!(resumed(&scene).as_deref(), Some("s1"), "the new run never had one");
}

#[test]
fn without_a_session_there_is_nothing_to_resume() {
    let mut scene = Scene::with(agent("a"), Launched::default());
    end(&mut scene, 0);
    let ticket = resume(&mut scene, None);
    let failure = scene.stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::Conflict);
    assert!(failure.hint.unwrap().contains("restart"));
    for bad in ["", "--config=x", "a\nb"] {
        let ticket = resume(&mut scene, Some(bad));
        assert_eq!(scene.stage.failure(ticket).code, ErrorCode::InvalidArgs, "{bad:?}");
    }
    resume(&mut scene, Some("s9"));
    begin(&mut scene);
    assert_eq!(resumed(&scene).as_deref(), Some("s9"));
    let run = scene.stage.spawn(command("c"));
    let ticket = scene.stage.ask(Command::Resume(Resume { target: target(run), ..Resume::default() }));
    assert_eq!(scene.stage.failure(ticket).code, ErrorCode::WrongKind);
}

#[test]
fn a_spawn_may_continue_a_session() {
    let spawn = Spawn { agent: request(None, Some("s5")), ..agent("a") };
    let scene = Scene::with(spawn, Launched::default());
    assert_eq!(resumed(&scene).as_deref(), Some("s5"));
}

#[test]
fn a_resume_that_the_vendor_refuses_is_told_as_that() {
    let spawn = || Spawn { agent: request(None, Some("s5")), ..agent("a") };
    let mut refused = Scene::with(spawn(), Launched::default());
    refused.pass(2_000);
    end(&mut refused, 1);
    assert_eq!(refused.item().unwrap().title, "resume refused");
    // Two of the programs need about five seconds to say so on an idle machine.
    let mut slow = Scene::with(spawn(), Launched::default());
    slow.pass(20_000);
    end(&mut slow, 42);
    assert_eq!(slow.item().unwrap().title, "resume refused");
    let mut crashed = Scene::with(spawn(), Launched::default());
    crashed.report(AgentState::Idle);
    end(&mut crashed, 1);
    assert_eq!(crashed.item().unwrap().title, "it ended badly");
}

#[test]
fn a_refused_session_is_not_kept_in_the_place_of_the_one_that_the_agent_had() {
    let mut scene = Scene::with(agent("a"), Launched { session: Some("s1".into()), ..Launched::default() });
    end(&mut scene, 0);
    resume(&mut scene, Some("mistyped"));
    begin(&mut scene);
    end(&mut scene, 1);
    let body = scene.item().unwrap().body;
    assert!(
        body.contains("mistyped could not be continued") && body.contains("qd resume continues s1"),
        "{body}"
    );
    resume(&mut scene, None);
    begin(&mut scene);
    assert_eq!(resumed(&scene).as_deref(), Some("s1"));
}

/// The agent of a task that was to continue session `s5`.
fn resumed_in_a_task() -> Scene {
    let spawn = Spawn {
        task: Some("fix".to_owned()),
        workspace: Some("w1".to_owned()),
        cwd: None,
        agent: request(None, Some("s5")),
        ..agent("a")
    };
    Scene::with(spawn, Launched::default())
}

#[test]
fn k7_an_agent_that_a_person_ended_in_a_dialog_or_a_signal_killed_begins_no_new_session() {
    let mut left = resumed_in_a_task();
    left.report(AgentState::Blocked);
    end(&mut left, 1);
    assert_eq!(left.item().unwrap().title, "it ended before it took a prompt");
    let mut killed = resumed_in_a_task();
    killed.stage.die(killed.run);
    assert_eq!(killed.stage.starts().len(), 1, "nothing is started again");
}

#[test]
fn k7_the_agent_of_a_task_begins_a_new_session_when_the_old_one_is_refused_and_a_person_reads_it() {
    let mut scene = resumed_in_a_task();
    assert_eq!(resumed(&scene).as_deref(), Some("s5"));
    scene.pass(2_000);
    end(&mut scene, 1);
    begin(&mut scene);
    assert_eq!(resumed(&scene), None, "a new session");
    let item = scene.item().unwrap();
    assert!(item.title == "resume refused" && item.body.contains("s5"), "{item:?}");
    scene.report(AgentState::Working);
    assert_eq!(scene.item().map(|item| item.title).as_deref(), Some("resume refused"), "it stays to be read");
    scene.pass(2_000);
    end(&mut scene, 1);
    assert_eq!(scene.item().unwrap().title, "it ended before it took a prompt", "once is enough");
}

/// Waits of every kind for the agent of a task, begun before its session is refused.
fn begin_waits(scene: &mut Scene) -> Vec<Ticket> {
    let untils = [
        Until::State(vec![AgentState::Idle]),
        Until::State(vec![AgentState::Exited]),
        Until::Pattern("done".to_owned()),
        Until::Turn(1),
        exit(),
    ];
    untils.map(|until| scene.stage.wait_on(&[scene.run], until, Quantifier::All, None)).into()
}

fn answered(scene: &Scene, waits: &[Ticket]) -> Vec<bool> {
    waits.iter().map(|ticket| scene.stage.answer(*ticket).is_some()).collect()
}

#[test]
fn k7_a_wait_that_began_before_the_session_was_refused_goes_on_with_the_new_one() {
    let mut scene = resumed_in_a_task();
    let waits = begin_waits(&mut scene);
    let old = scene.run;
    end(&mut scene, 1);
    assert_eq!(answered(&scene, &waits), [false; 5], "the program ended, and another one takes its place");
    let between = scene.stage.wait_on(&[old], exit(), Quantifier::All, None);
    begin(&mut scene);
    let watched =
        |effect: &Effect| matches!(effect, Effect::Watch { run, since: Some(0), .. } if *run != old);
    assert!(scene.stage.effects.iter().any(watched), "the pattern is looked for in the new run");
    scene.look(Composer::Empty);
    scene.report(AgentState::Idle);
    assert_eq!(answered(&scene, &waits), [true, false, false, false, false]);
    end(&mut scene, 0);
    scene.stage.fact(scene.run, RunFact::TreeGone);
    assert_eq!(answered(&scene, &waits)[..2], [true, true]);
    assert!(matches!(scene.stage.reply(waits[4]), Reply::Waited(_)), "the end of the new run");
    assert!(matches!(scene.stage.reply(between), Reply::Waited(_)));
}

#[test]
fn k7_a_wait_for_an_agent_whose_new_session_does_not_come_ends() {
    let mut closed = resumed_in_a_task();
    let waits = begin_waits(&mut closed);
    end(&mut closed, 1);
    closed.stage.ask(close(closed.run));
    closed.stage.fact(closed.run, RunFact::TreeGone);
    assert_eq!(answered(&closed, &waits), [true; 5]);

    let mut shut_down = resumed_in_a_task();
    let waits = begin_waits(&mut shut_down);
    end(&mut shut_down, 1);
    shut_down.stage.ask(shutdown(true));
    shut_down.stage.fact(shut_down.run, RunFact::TreeGone);
    assert_eq!(answered(&shut_down, &waits), [true; 5]);

    let mut unstarted = resumed_in_a_task();
    let waits = begin_waits(&mut unstarted);
    end(&mut unstarted, 1);
    unstarted.stage.fact(unstarted.run, RunFact::TreeGone);
    let failure = proto::Failure::new(ErrorCode::SpawnFailed, "no memory");
    unstarted.stage.fact(next(unstarted.run), RunFact::StartFailed(failure));
    assert_eq!(answered(&unstarted, &waits), [true; 5]);
}
