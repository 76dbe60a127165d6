//! Wake-ups: when they fire, whom they tell, and that they do it exactly once.

mod model;

use proto::request::{ChangeTimer, SetTimer, TimerChange, TimerWhen, Until, Wait};
use proto::timers::TimerStatus;
use proto::{AgentState, ErrorCode, Reply};

use super::agents::scene::agent;
use super::random_tree::{Crew, Dice, all, any, set_timer};
use super::stage::{command, next, restart, target, terminal};
use crate::{Caller, Command, RunFact, RunKey};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const WEEK: u64 = 7 * 24 * HOUR;

fn after(ms: u64) -> TimerWhen {
    TimerWhen::After(ms)
}

fn wait_for(crew: &mut Crew, run: RunKey, until: Until) -> crate::Ticket {
    let wait = Wait::until(vec![target(run)], until);
    crew.ask_as(Caller::Process(run), Command::Wait(wait))
}

#[test]
fn a_delay_fires_at_its_time_and_tells_its_owner_under_its_label() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let request = SetTimer {
        owner: None,
        when: after(MINUTE),
        body: "look at\nthe build".into(),
        label: Some("build check".into()),
        key: None,
    };
    let ticket = crew.ask_as(Caller::Process(boss), Command::SetTimer(request));
    let Reply::Timer(timer) = crew.stage.reply(ticket) else { panic!("no timer") };
    assert_eq!((timer.status, timer.remaining_ms), (TimerStatus::Armed, MINUTE));
    crew.pass(MINUTE - 1);
    assert!(crew.messages_to(boss).is_empty());
    crew.pass(1);
    let messages = crew.messages_to(boss);
    let nonce = &crew.stage.engine.ctx.processes.agent(boss.process).unwrap().record.nonce;
    assert_eq!(messages, [format!("[timer:build check {nonce}]\n│ look at\n│ the build")]);
    assert_eq!(crew.status(timer.timer), Some(TimerStatus::Fired));
    crew.pass(WEEK);
    assert_eq!(crew.messages_to(boss).len(), 1);
}

#[test]
fn f7_wall_steps_suspend_and_summer_time_change_nothing_and_each_timer_fires_once() {
    let steps: [i64; 5] = [-3_600_000, 3_600_000, 0, -7_200_000, 3_600_000];
    for (n, step) in steps.into_iter().enumerate() {
        let mut crew = Crew::new();
        let boss = crew.agent("boss", None);
        let body = format!("body-{n}");
        crew.set(boss, after(2 * HOUR), &body).unwrap();
        crew.pass(HOUR);
        crew.wall_shift += step;
        crew.pass(HOUR - 1);
        assert!(crew.messages_to(boss).is_empty(), "step {step}: too early");
        crew.wall_shift -= step;
        crew.pass(1);
        assert_eq!(crew.messages_to(boss).len(), 1, "step {step}: not at its time");
        crew.wall_shift += step;
        crew.pass(10 * HOUR);
        assert_eq!(crew.messages_to(boss).len(), 1, "step {step}: twice");
    }
}

#[test]
fn f7_what_came_due_while_the_machine_slept_fires_once_when_it_wakes() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    for hours in [1, 2, 9] {
        crew.set(boss, after(hours * HOUR), &format!("after {hours}")).unwrap();
    }
    crew.sleep(8 * HOUR);
    assert_eq!(crew.messages_to(boss).len(), 2);
    crew.sleep(8 * HOUR);
    assert_eq!(crew.messages_to(boss).len(), 3);
    crew.sleep(8 * HOUR);
    assert_eq!(crew.messages_to(boss).len(), 3);
}

#[test]
fn f8_no_time_too_long_a_time_and_bad_words_are_refused_at_the_door() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let child = crew.agent("child", Some(boss));
    for ms in [0, WEEK + 1, u64::MAX] {
        for when in [after(ms), any(&[child], ms), all(&[child], ms)] {
            let failure = crew.set(boss, when, "b").unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidArgs, "{ms}");
        }
    }
    crew.set(boss, after(WEEK), "b").unwrap();
    crew.set(boss, after(1), "b").unwrap();
    for body in ["", " \n", &"x".repeat((16 << 10) + 1)] {
        assert_eq!(crew.set(boss, after(5), body).unwrap_err().code, ErrorCode::InvalidArgs);
    }
    assert_eq!(crew.set(boss, any(&[], 5), "b").unwrap_err().code, ErrorCode::InvalidArgs);
    let labels = [
        "",
        " ",
        "a]b",
        "[x",
        "a\nb",
        "a\u{202e}b",
        "a\u{200b}b",
        "a\u{2028}b",
        "\u{1b}[2J",
        &"x".repeat(65),
    ];
    for label in labels {
        let request =
            SetTimer { owner: None, when: after(5), body: "b".into(), label: Some(label.into()), key: None };
        let ticket = crew.ask_as(Caller::Process(boss), Command::SetTimer(request));
        let failure = crew.stage.failure(ticket);
        assert_eq!(failure.code, ErrorCode::InvalidArgs, "{label:?}");
        assert!(!failure.message.chars().any(char::is_control), "{failure}");
    }
}

#[test]
fn only_agents_own_timers_and_only_their_own() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let child = crew.agent("child", Some(boss));
    let stranger = crew.agent("stranger", None);
    let shell = crew.stage.spawn(terminal("shell"));
    let order = |owner: Option<RunKey>| {
        Command::SetTimer(SetTimer {
            owner: owner.map(target),
            when: after(5),
            body: "b".into(),
            label: None,
            key: None,
        })
    };
    let by = Caller::Process;
    let cases = [
        (by(boss), None, None),
        (by(boss), Some(boss), None),
        (by(boss), Some(child), Some(ErrorCode::Denied)),
        (by(child), Some(boss), Some(ErrorCode::NotRelated)),
        (by(boss), Some(stranger), Some(ErrorCode::NotRelated)),
        (by(shell), None, Some(ErrorCode::WrongKind)),
        (Caller::Person, Some(child), None),
        (Caller::Person, Some(shell), Some(ErrorCode::WrongKind)),
        (Caller::Person, None, Some(ErrorCode::InvalidArgs)),
        (Caller::Nobody, None, Some(ErrorCode::Unauthorized)),
    ];
    for (caller, owner, expected) in cases {
        let ticket = crew.ask_as(caller, order(owner));
        let code = crew.stage.answer(ticket).unwrap().err().map(|failure| failure.code);
        assert_eq!(code, expected, "{caller:?} for {owner:?}");
    }
    let watch = crew.set(boss, any(&[stranger], 5), "b").unwrap_err();
    assert_eq!(watch.code, ErrorCode::NotRelated);
    let ticket = crew.ask_as(by(child), Command::Timers);
    let Reply::Timers(seen) = crew.stage.reply(ticket) else { panic!("no timers") };
    assert!(seen.iter().all(|view| view.owner == child.process) && seen.len() == 1);
    let ticket = crew
        .ask_as(by(stranger), Command::ChangeTimer(ChangeTimer { timer: 1, change: TimerChange::Cancel }));
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::NotRelated);
}

#[test]
fn the_same_key_is_the_same_timer_and_a_hundred_are_enough() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let keyed = || {
        Command::SetTimer(SetTimer {
            owner: None,
            when: after(5),
            body: "b".into(),
            label: None,
            key: Some("k".into()),
        })
    };
    let numbers: Vec<u64> = (0..3)
        .map(|n| {
            let ticket = crew.ask_as(Caller::Process(boss), keyed());
            crew.pass(n * 10);
            let Reply::Timer(view) = crew.stage.reply(ticket) else { panic!("no timer") };
            view.timer
        })
        .collect();
    assert_eq!(numbers, [1, 1, 1]);
    assert_eq!(crew.messages_to(boss).len(), 1);
    for _ in 0..100 {
        crew.set(boss, after(HOUR), "b").unwrap();
    }
    assert_eq!(crew.set(boss, after(HOUR), "b").unwrap_err().code, ErrorCode::Limit);
}

#[test]
fn pausing_keeps_the_time_that_is_left() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let timer = crew.set(boss, after(10 * MINUTE), "b").unwrap().timer;
    crew.pass(4 * MINUTE);
    let paused = crew.change(timer, TimerChange::Pause).unwrap();
    assert_eq!((paused.status, paused.remaining_ms), (TimerStatus::Paused, 6 * MINUTE));
    crew.pass(20 * HOUR);
    crew.crash();
    crew.report(boss, AgentState::Idle);
    assert!(crew.messages_to(boss).is_empty());
    let resumed = crew.change(timer, TimerChange::Resume).unwrap();
    assert_eq!((resumed.status, resumed.remaining_ms), (TimerStatus::Armed, 6 * MINUTE));
    crew.pass(6 * MINUTE - 1);
    assert!(crew.messages_to(boss).is_empty());
    crew.pass(1);
    assert_eq!(crew.messages_to(boss).len(), 1);
    for change in [TimerChange::Cancel, TimerChange::Pause, TimerChange::Resume] {
        assert_eq!(crew.change(timer, change).unwrap_err().code, ErrorCode::Conflict);
    }
}

#[test]
fn a_cancelled_timer_never_fires_and_the_same_request_twice_is_no_mistake() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let timer = crew.set(boss, after(MINUTE), "b").unwrap().timer;
    for change in [TimerChange::Pause, TimerChange::Pause, TimerChange::Resume, TimerChange::Resume] {
        crew.change(timer, change).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(crew.change(timer, TimerChange::Cancel).unwrap().status, TimerStatus::Cancelled);
    }
    assert_eq!(crew.change(timer, TimerChange::Resume).unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(crew.change(99, TimerChange::Cancel).unwrap_err().code, ErrorCode::NotFound);
    crew.pass(HOUR);
    assert!(crew.messages.is_empty());
}

#[test]
fn idle_any_needs_a_coming_to_rest_after_it_was_set() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let children = [crew.agent("one", Some(boss)), crew.agent("two", Some(boss))];
    crew.set(boss, any(&children, HOUR), "b").unwrap();
    crew.pass(MINUTE);
    assert!(crew.messages_to(boss).is_empty());
    crew.report(children[1], AgentState::Working);
    assert!(crew.messages_to(boss).is_empty());
    crew.report(children[1], AgentState::Idle);
    crew.pass(MINUTE);
    let messages = crew.messages_to(boss);
    assert_eq!(messages.len(), 1);
    assert!(messages[0].ends_with("│ b\n│ one: idle\n│ two: idle"), "{}", messages[0]);
}

#[test]
fn idle_any_is_told_of_one_that_stops_before_a_dialog_or_ends() {
    for (state, code, line) in [
        (Some(AgentState::Blocked), None, "one: blocked"),
        (Some(AgentState::Error), None, "one: error"),
        (None, Some(3), "one: exited with code 3"),
    ] {
        let mut crew = Crew::new();
        let boss = crew.agent("boss", None);
        let one = crew.agent("one", Some(boss));
        crew.set(boss, any(&[one], HOUR), "b").unwrap();
        if let Some(state) = state {
            crew.report(one, state);
        }
        if let Some(code) = code {
            crew.exit(one, code);
        }
        crew.pass(MINUTE);
        let messages = crew.messages_to(boss);
        assert_eq!(messages.len(), 1, "{state:?}");
        assert!(messages[0].contains(line), "{}", messages[0]);
    }
}

#[test]
fn idle_any_hears_of_a_second_dialog_in_the_turn_in_which_it_was_set() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    crew.report(one, AgentState::Working);
    crew.report(one, AgentState::Blocked);
    crew.pass(MINUTE);
    let before = crew.messages_to(boss).len();
    crew.set(boss, any(&[one], HOUR), "b").unwrap();
    crew.pass(MINUTE);
    assert_eq!(crew.messages_to(boss).len(), before);
    crew.report(one, AgentState::Working);
    crew.pass(MINUTE);
    crew.report(one, AgentState::Blocked);
    crew.pass(MINUTE);
    assert_eq!(crew.system_messages("timer:").len(), 1);
}

#[test]
fn idle_all_fires_in_the_same_decision_when_all_rest_already() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let children = [crew.agent("one", Some(boss)), crew.agent("two", Some(boss))];
    let timer = crew.set(boss, all(&children, HOUR), "b").unwrap();
    assert_eq!((timer.status, timer.outcome.as_deref()), (TimerStatus::Fired, Some("all are at rest")));
    assert_eq!(crew.messages_to(boss).len(), 1);
    crew.report(children[0], AgentState::Working);
    let timer = crew.set(boss, all(&children, HOUR), "c").unwrap();
    assert_eq!(timer.status, TimerStatus::Armed);
    crew.pass(MINUTE);
    crew.report(children[0], AgentState::Idle);
    crew.pass(MINUTE);
    assert_eq!(crew.messages_to(boss).len(), 2);
}

#[test]
fn an_agent_that_was_just_told_something_does_not_rest() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    let tell = super::agents::scene::tell(one, "go");
    crew.ask_as(Caller::Process(boss), Command::Tell(tell));
    assert_eq!(crew.state(one), Some(AgentState::Idle), "its state does not show it yet");
    let timer = crew.set(boss, all(&[one], HOUR), "b").unwrap();
    assert_eq!(timer.status, TimerStatus::Armed);
    crew.report(one, AgentState::Working);
    crew.pass(MINUTE);
    crew.report(one, AgentState::Idle);
    crew.pass(MINUTE);
    assert_eq!(crew.status(timer.timer), Some(TimerStatus::Fired));
}

#[test]
fn max_wait_fires_too_and_says_so() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    crew.report(one, AgentState::Working);
    crew.set(boss, any(&[one], MINUTE), "b").unwrap();
    crew.pass(MINUTE - 1);
    assert!(crew.messages_to(boss).is_empty());
    crew.pass(1);
    assert!(crew.messages_to(boss)[0].ends_with("│ b\n│ max_wait passed\n│ one: working"));
}

#[test]
fn a_command_rests_when_it_has_been_quiet_for_three_seconds_or_is_over() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let build = crew.stage.spawn_as(Caller::Process(boss), command("build"));
    crew.fact(build, RunFact::Output { end: 5 });
    crew.pass(MINUTE);
    let any_one = crew.set(boss, any(&[build], HOUR), "b").unwrap().timer;
    crew.pass(MINUTE);
    assert_eq!(crew.status(any_one), Some(TimerStatus::Armed), "it was quiet when it was set");
    crew.fact(build, RunFact::Output { end: 6 });
    let all_of = crew.set(boss, all(&[build], HOUR), "c").unwrap().timer;
    crew.pass(2_999);
    assert!(crew.messages_to(boss).is_empty());
    crew.pass(1);
    assert_eq!(crew.status(any_one), Some(TimerStatus::Fired));
    assert_eq!(crew.status(all_of), Some(TimerStatus::Fired));
    assert!(crew.messages_to(boss)[0].ends_with("build: quiet"));
    let last = crew.set(boss, any(&[build], HOUR), "d").unwrap().timer;
    crew.exit(build, 2);
    assert_eq!(crew.status(last), Some(TimerStatus::Fired));
    assert!(crew.messages_to(boss)[2].ends_with("build: exited with code 2"));
}

#[test]
fn a_natural_exit_stays_a_rest_when_the_entry_goes() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let shell = crew.stage.spawn_as(Caller::Process(boss), terminal("shell"));
    let one = crew.agent("one", Some(boss));
    crew.report(one, AgentState::Working);
    let timer = crew.set(boss, all(&[shell, one], HOUR), "b").unwrap().timer;
    crew.exit(shell, 0);
    crew.pass(MINUTE);
    assert!(crew.stage.view(shell.process).is_none());
    crew.crash();
    crew.report(boss, AgentState::Idle);
    crew.report(one, AgentState::Working);
    crew.pass(MINUTE);
    crew.report(one, AgentState::Idle);
    crew.pass(MINUTE);
    assert_eq!(crew.status(timer), Some(TimerStatus::Fired));
    assert!(crew.messages_to(boss).last().unwrap().contains("shell: exited with code 0"));
}

#[test]
fn who_is_closed_leaves_the_list_and_an_emptied_list_cancels_with_a_notice() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let children = [crew.agent("one", Some(boss)), crew.agent("two", Some(boss))];
    children.iter().for_each(|child| crew.report(*child, AgentState::Working));
    let timer = crew.set(boss, all(&children, HOUR), "b").unwrap().timer;
    crew.close(children[0]);
    assert_eq!(crew.timers()[0].watches, [children[1].process]);
    assert!(crew.messages_to(boss).is_empty());
    crew.close(children[1]);
    assert_eq!(crew.status(timer), Some(TimerStatus::Cancelled));
    let messages = crew.messages_to(boss);
    assert_eq!(messages.len(), 1);
    assert!(messages[0].starts_with("[system ") && messages[0].contains("was cancelled"), "{}", messages[0]);
    crew.pass(WEEK);
    assert_eq!(crew.messages_to(boss).len(), 1);
}

#[test]
fn a_restart_of_a_watched_process_is_no_rest() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    crew.report(one, AgentState::Working);
    let timer = crew.set(boss, any(&[one], HOUR), "b").unwrap().timer;
    crew.ask(restart(one));
    crew.die(one);
    crew.fact(next(one), RunFact::Started { pid: 5 });
    crew.launch(next(one));
    assert_eq!(crew.status(timer), Some(TimerStatus::Armed));
    crew.report(next(one), AgentState::Idle);
    crew.pass(MINUTE);
    assert_eq!(crew.status(timer), Some(TimerStatus::Fired));
}

#[test]
fn a_wait_gets_the_body_and_no_message_is_sent() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let timer = crew.set(boss, after(MINUTE), "wake up").unwrap().timer;
    let ticket = wait_for(&mut crew, boss, Until::Timer(timer));
    crew.pass(MINUTE);
    let Reply::Waited(waited) = crew.stage.reply(ticket) else { panic!("no wait") };
    assert_eq!(waited.satisfied[0].text.as_deref(), Some("wake up"));
    crew.pass(HOUR);
    assert!(crew.messages_to(boss).is_empty() && crew.system_messages("timer:").is_empty());
    let late = wait_for(&mut crew, boss, Until::Timer(timer));
    assert!(matches!(crew.stage.reply(late), Reply::Waited(_)));
}

#[test]
fn a_wait_that_comes_late_takes_the_message_back_and_one_for_a_cancelled_timer_fails() {
    let mut crew = Crew::new();
    let boss = crew.stage.spawn(agent("boss"));
    let timer = crew.set(boss, after(MINUTE), "wake up").unwrap().timer;
    crew.pass(MINUTE);
    assert_eq!(crew.system_messages("timer:").len(), 1);
    let ticket = wait_for(&mut crew, boss, Until::Timer(timer));
    let Reply::Waited(waited) = crew.stage.reply(ticket) else { panic!("no wait") };
    assert_eq!(waited.satisfied[0].text.as_deref(), Some("wake up"));
    crew.launch(boss);
    crew.report(boss, AgentState::Idle);
    crew.pass(HOUR);
    assert!(crew.messages_to(boss).is_empty());
    let timer = crew.set(boss, after(MINUTE), "b").unwrap().timer;
    let ticket = wait_for(&mut crew, boss, Until::Timer(timer));
    crew.change(timer, TimerChange::Cancel).unwrap();
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::Conflict);
    let ticket = wait_for(&mut crew, boss, Until::Timer(99));
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::NotFound);
}

#[test]
fn only_the_owner_and_people_wait_for_a_timer() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    let order =
        SetTimer { owner: Some(target(one)), when: after(MINUTE), body: "b".into(), label: None, key: None };
    crew.ask(Command::SetTimer(order));
    let wait = |run| Wait::until(vec![target(run)], Until::Timer(1));
    let by_parent = crew.ask_as(Caller::Process(boss), Command::Wait(wait(one)));
    assert_eq!(crew.stage.failure(by_parent).code, ErrorCode::InvalidArgs);
    let wrong = crew.ask(Command::Wait(wait(boss)));
    assert_eq!(crew.stage.failure(wrong).code, ErrorCode::NotFound);
    let human = crew.ask(Command::Wait(wait(one)));
    crew.pass(MINUTE);
    assert!(matches!(crew.stage.reply(human), Reply::Waited(_)));
}

/// What may happen to an owner between the setting of a timer and its firing.
fn end_owner(crew: &mut Crew, dice: &mut Dice, run: RunKey) -> Option<RunKey> {
    match dice.roll(3) {
        0 => {
            crew.close(run);
            None
        }
        1 => {
            crew.ask(restart(run));
            crew.pass(dice.roll(400));
            crew.die(run);
            Some(next(run))
        }
        _ => {
            crew.exit(run, 1);
            crew.pass(dice.roll(400));
            crew.ask(restart(run));
            crew.fact(run, RunFact::TreeGone);
            Some(next(run))
        }
    }
}

#[test]
fn f9_no_timer_outlives_its_run_whatever_ends_it_between_arm_and_fire() {
    let mut fired_before = 0;
    for seed in 0..1_000 {
        let mut dice = Dice(seed);
        let mut crew = Crew::new();
        let boss = crew.agent("boss", None);
        if dice.roll(2) == 0 {
            // Busy, and without a channel that would reach it: what fires waits in its mail.
            let launched = crate::Launched { has_channel: true, ..crate::Launched::default() };
            crew.fact(boss, RunFact::Launched(launched));
            crew.report(boss, AgentState::Working);
        }
        crew.set(boss, after(1 + dice.roll(2_000)), "stale?").unwrap();
        crew.pass(dice.roll(2_000));
        if dice.roll(4) == 0 {
            crew.crash();
        }
        crew.pass(dice.roll(500));
        let later = end_owner(&mut crew, &mut dice, boss);
        fired_before += crew.system_messages("timer:").len();
        if let Some(later) = later {
            crew.fact(later, RunFact::Started { pid: 7 });
            crew.launch(later);
            crew.report(later, AgentState::Idle);
            crew.pass(HOUR);
            assert!(crew.messages_to(later).is_empty(), "seed {seed}: {:?}", crew.messages_to(later));
        }
        crew.pass(HOUR);
        let count = crew.messages.iter().filter(|(_, text)| text.contains("stale?")).count();
        assert!(count <= 1, "seed {seed}");
        assert!(crew.timers().iter().all(|view| view.status != TimerStatus::Armed), "seed {seed}");
    }
    assert!(fired_before > 100, "the hazard did not happen: {fired_before}");
}

#[test]
fn what_is_due_waits_until_its_owner_is_adopted() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let timer = crew.set(boss, after(MINUTE), "b").unwrap().timer;
    let saved = super::agents::scene::saved(&crew.stage.effects);
    let record = saved.processes[0].clone();
    let engine = crate::Engine::restore(crate::Config::default(), saved);
    let now = crew.stage.now + 2 * MINUTE;
    crew.stage = super::stage::Stage::with(engine);
    crew.stage.now = now;
    assert_eq!(crew.stage.engine.timers.timer_deadline(&crew.stage.engine.ctx), None);
    crew.input(crate::Input::DeadlinePassed);
    assert_eq!(crew.status(timer), Some(TimerStatus::Armed));
    crew.input(crate::Input::Adopted { record: Box::new(record), pid: 1, exit: None });
    assert_eq!(crew.status(timer), Some(TimerStatus::Fired));
}

#[test]
fn a_timer_whose_run_is_lost_is_cancelled() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let timer = crew.set(boss, after(MINUTE), "b").unwrap().timer;
    let saved = super::agents::scene::saved(&crew.stage.effects);
    let engine = crate::Engine::restore(crate::Config::default(), saved);
    crew.stage = super::stage::Stage::with(engine);
    crew.fact(boss, RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert_eq!(crew.status(timer), Some(TimerStatus::Cancelled));
    crew.pass(HOUR);
    assert!(crew.system_messages("timer:").is_empty());
}

#[test]
fn closing_the_owner_forgets_its_timers() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    crew.set(boss, after(MINUTE), "b").unwrap();
    crew.close(boss);
    assert!(crew.timers().is_empty());
    let saved = super::agents::scene::saved(&crew.stage.effects);
    assert!(saved.timers.is_empty(), "{:?}", saved.timers);
}

#[test]
fn a_person_sets_a_timer_for_an_agent_that_is_still_starting() {
    let mut crew = Crew::new();
    let ticket = crew.ask(Command::Spawn(Box::new(agent("late").into())));
    let run = crew.stage.starts().last().unwrap().run;
    let Command::SetTimer(mut request) = set_timer(after(1), "b") else { unreachable!() };
    request.owner = Some(target(run));
    let set = crew.ask(Command::SetTimer(request));
    assert!(matches!(crew.stage.reply(set), Reply::Timer(_)));
    crew.pass(MINUTE);
    assert!(crew.system_messages("timer:").is_empty());
    crew.fact(run, RunFact::Started { pid: 1 });
    assert!(crew.stage.answer(ticket).is_some());
    assert_eq!(crew.system_messages("timer:").len(), 1);
}
