//! A daemon that is killed during a delivery: nothing is delivered twice, and no receipt claims what is not
//! so.

use std::time::{Duration, Instant};

use proto::agent::{Delivery, MailId};
use proto::request::{AskReceipt, Empty, Tell, Until};
use proto::{AgentState, Request};
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::eventually;
use testkit::scaled;

use crate::crew;

#[test]
fn s1_mail_survives_a_killed_daemon_and_is_submitted_at_most_once() {
    let crew = crew();
    crew.enlist("a", &[]);
    for round in 0..scaled(6) {
        let text = format!("round {round}");
        let tell = Tell {
            target: "a".into(),
            text: text.clone(),
            key: Some(text.clone()),
            wait_ms: Some(0),
            expires_ms: None,
        };
        let receipt = crew.tell_as(tell.clone());
        // A moment that differs from round to round: before the paste, between paste and Enter, after it.
        wait_a_moment(Duration::from_millis(37 * round as u64 % 260));
        crew.kill_9();
        assert_eq!(crew.tell_as(tell).mail, receipt.mail, "the same key is the same message");
        let delivery = crew.final_delivery(receipt.mail);
        let count = crew.prompts("a").iter().filter(|prompt| **prompt == text).count();
        match delivery {
            Delivery::Submitted { .. } => assert_eq!(count, 1, "{text} was claimed"),
            Delivery::Unknown { .. } => {
                assert!(count <= 1, "{text} was submitted {count} times");
                // A person sees what was pasted and not submitted; the next message needs it gone.
                crew.type_text("a", "\x15");
            }
            other => panic!("{text} ended as {other:?}"),
        }
        crew.until_state("a", AgentState::Idle);
    }
}

/// Waits without an event: the test chooses the moment of the kill.
fn wait_a_moment(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

#[test]
fn s1_an_agents_state_dialog_and_session_are_known_to_the_next_daemon() {
    let crew = crew();
    crew.enlist("a", &["--status"]);
    let session = crew.agent("a").session;
    crew.submit("a", "ask Still there?");
    crew.until_state("a", AgentState::Blocked);
    crew.kill_9();
    crew.until_state("a", AgentState::Blocked);
    assert_eq!(crew.agent("a").session, session);
    let item = crew.item("a");
    assert_eq!(item.title, "Still there?");
    crew.answer(item.item, "allow").unwrap();
    crew.until_state("a", AgentState::Idle);
    assert_eq!(crew.answers("a"), ["1"]);
}

#[test]
fn s1_the_inbox_has_its_dialogs_at_the_first_question_after_a_kill() {
    let crew = crew();
    crew.enlist("a", &[]);
    crew.submit("a", "ask Still there?");
    crew.until_state("a", AgentState::Blocked);
    for _ in 0..scaled(3) {
        crew.kill_9();
        let titles: Vec<String> = crew.inbox().into_iter().map(|item| item.title).collect();
        assert_eq!(titles, ["Still there?"]);
    }
}

#[test]
fn c21_tell_outlives_the_daemon_and_sends_nothing_twice() {
    let crew = crew();
    crew.enlist("a", &[]);
    let go_on = crew.root().join("go-on");
    crew.submit("a", &format!("until {}", go_on.display()));
    // The agent works: the message waits, and so does its sender.
    let mut tell = crew.command(&["tell", "a", "after the kill", "--timeout", "60"]).spawn().unwrap();
    let second = Request::Receipt(AskReceipt { mail: MailId(2) });
    eventually("the message is queued", || crew.client().call(second.clone()).ok());
    crew.kill_9();
    std::fs::write(go_on, "").unwrap();
    assert!(tell.wait().unwrap().success());
    let times = crew.prompts("a").iter().filter(|prompt| *prompt == "after the kill").count();
    assert_eq!(times, 1);
}

#[test]
fn m22a_all_agents_that_were_lost_are_resumed_at_once() {
    let crew = crew();
    let names = ["a", "b"];
    let mut sessions = Vec::new();
    for name in names {
        let spawned = crew.enlist(name, &[]);
        sessions.push(crew.agent(name).session);
        let holder = testkit::process_scan::parent(spawned.pid.unwrap());
        kill_process(Pid::from_raw(holder).unwrap(), Signal::KILL).unwrap();
        crew.wait_until(name, Until::Exit(Empty {}));
    }
    let items = eventually("both are in the inbox", || Some(crew.inbox()).filter(|items| items.len() == 2));
    assert!(items.iter().all(|item| item.title == "it was lost"), "{items:?}");
    let resumed = crew.qd(&["resume", "--all"]);
    assert!(resumed.status.success(), "{resumed:?}");
    for (name, session) in names.into_iter().zip(sessions) {
        crew.until_state(name, AgentState::Idle);
        assert_eq!(crew.agent(name).session, session, "{name} goes on in its session");
    }
    assert!(crew.inbox().is_empty(), "{:?}", crew.inbox());
}

#[test]
fn m22c_the_inbox_shows_the_last_words_of_a_program_that_ended_badly() {
    let crew = crew();
    crew.enlist("a", &[]);
    let turn = crew.submit("a", "say the disk is full");
    crew.wait_until("a", Until::Turn(turn));
    crew.until_state("a", AgentState::Idle);
    let _told = crew.qd(&["tell", "a", "exit 3"]);
    crew.wait_until("a", Until::Exit(Empty {}));
    let item = eventually("its last words are in the inbox", || {
        crew.inbox().into_iter().find(|item| item.body.contains("the disk is full"))
    });
    assert!(item.body.starts_with("it exited with code 3"), "{item:?}");
    let shown = String::from_utf8(crew.qd(&["inbox"]).stdout).unwrap();
    assert!(shown.contains("the disk is full"), "{shown}");
}
