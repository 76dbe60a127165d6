//! When mail is given up: after the time its sender said, whatever is done to the clocks.

use proto::Reply;
use proto::agent::{Delivery, MailId};
use proto::request::Tell;

use super::scene::{Scene, agent, tell};
use crate::{Command, Input, Launched};

const HOUR: u64 = 3_600_000;

/// An agent that takes nothing, and a message for it that may wait for two hours.
fn waiting() -> (Scene, MailId) {
    let mut scene = Scene::with(agent("a"), Launched::default());
    scene.stage.ahead = 1_000 * HOUR;
    let request = Tell { expires_ms: Some(2 * HOUR), ..tell(scene.run, "one") };
    let ticket = scene.stage.ask(Command::Tell(request));
    let Reply::Receipt(receipt) = scene.stage.reply(ticket) else { panic!("no receipt") };
    (scene, receipt.mail)
}

/// Returns true if the message is given up when this much time has passed, and not a millisecond before.
fn expires_in(scene: &mut Scene, mail: MailId, ms: u64) -> bool {
    scene.pass(ms - 1);
    let waits = matches!(scene.delivery(mail), Delivery::Queued { .. });
    scene.pass(1);
    waits && scene.delivery(mail) == Delivery::Expired
}

#[test]
fn f7_a_step_of_the_wall_clock_neither_ends_nor_prolongs_what_a_message_has() {
    for ahead in [999 * HOUR, 1_001 * HOUR, 0, 100_000 * HOUR] {
        let (mut scene, mail) = waiting();
        scene.pass(HOUR);
        scene.stage.ahead = ahead;
        assert!(expires_in(&mut scene, mail, HOUR), "{ahead}");
    }
}

#[test]
fn f7_a_machine_that_slept_for_eight_hours_gives_up_at_once_what_had_two() {
    let (mut scene, mail) = waiting();
    scene.stage.now += 8 * HOUR;
    scene.stage.input(Input::DeadlinePassed);
    assert_eq!(scene.delivery(mail), Delivery::Expired);
}

#[test]
fn f7_a_later_daemon_of_the_same_boot_keeps_the_time_whatever_the_wall_clock_says() {
    for ahead in [0, 1_001 * HOUR] {
        let (mut scene, mail) = waiting();
        scene.pass(HOUR);
        let mut later = Scene { stage: scene.stage.reborn(), run: scene.run };
        later.stage.ahead = ahead;
        assert!(expires_in(&mut later, mail, HOUR), "{ahead}");
    }
}

#[test]
fn f7_after_a_new_boot_a_message_has_what_the_wall_clock_leaves_it_and_never_more_than_it_had() {
    // Half an hour passed, the machine was off for another, and its uptime begins anew.
    for (wall, left) in [(1_001 * HOUR, HOUR), (1_003 * HOUR, 0), (0, 2 * HOUR)] {
        let (mut scene, mail) = waiting();
        scene.pass(HOUR / 2);
        let mut later = Scene { stage: scene.stage.reborn_in("next"), run: scene.run };
        (later.stage.now, later.stage.ahead) = (1_000, wall);
        assert_eq!(later.stage.engine.next_deadline(), Some(0), "it is looked at before anything happens");
        later.stage.input(Input::DeadlinePassed);
        if left == 0 {
            assert_eq!(later.delivery(mail), Delivery::Expired);
            continue;
        }
        // What was found out is written down: the next daemon of that boot does not ask the wall clock again.
        let mut last = Scene { stage: later.stage.reborn_in("next"), run: scene.run };
        last.stage.ahead = 5_000 * HOUR;
        assert!(expires_in(&mut last, mail, left), "{wall}");
    }
}
