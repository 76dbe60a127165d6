//! What a person has seen: one mark for all clients that outlives the daemon.

use proto::process::UnseenEnd;
use proto::request::See;
use proto::{Event, Request};

use super::crew;

#[test]
fn n3_a_turn_that_ended_is_unseen_in_every_face_until_one_marks_it_also_over_a_kill_of_the_daemon() {
    let crew = crew();
    crew.enlist("worker", &[]);
    let turn = crew.submit("worker", "say hello");
    crew.result("worker", turn);
    let mut face = crew.subscriber();
    let shown = crew.json(&["ps"]);
    assert_eq!(shown[0]["unseen"]["what"], "turn", "{shown}");
    assert_eq!(shown[0]["unseen"]["turn"], turn);
    crew.kill_9();
    assert_eq!(crew.process("worker").unseen.and_then(|unseen| unseen.turn), Some(turn));
    drop(face);
    face = crew.subscriber();
    crew.json(&["see", "worker"]);
    crew.until_event(&mut face, |event| matches!(event, Event::Changed(view) if view.unseen.is_none()));
    crew.kill_9();
    assert_eq!(crew.process("worker").unseen, None);
    let late = Request::See(See { target: "worker".into(), turn: Some(turn + 7), version: None });
    assert!(crew.refusal(late).message.contains("no turn"));
}

#[test]
fn n3_an_exit_is_unseen_until_it_is_marked() {
    let crew = crew();
    crew.run("job", testkit::child::print_and_exit("over", 3));
    crew.wait_exit("job");
    crew.until_view("job", |view| view.unseen.is_some_and(|unseen| unseen.what == UnseenEnd::Exit));
    let version = crew.json(&["read", "job"])["version"].to_string();
    crew.json(&["see", "job", "--screen-version", &version]);
    assert_eq!(crew.process("job").unseen, None);
}
