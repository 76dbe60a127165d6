//! Waits: from now, from an offset, right before the end, for any and for all.

use client::ClientError;
use proto::request::{Resize, SizeRequest, Until, Wait};
use proto::{ErrorCode, Reply, Request};
use testkit::{MarkedDaemon, child, scaled};

use super::{sh, stage, text};

fn wait(name: &str, until: Until, since: Option<u64>) -> Wait {
    Wait { since, timeout_ms: Some(30_000), ..Wait::until(vec![name.into()], until) }
}

/// Runs `qd`; returns its exit code and output.
fn qd(stage: &MarkedDaemon, arguments: &[&str]) -> (Option<i32>, String) {
    let output = stage.qd(arguments);
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_pattern_printed_right_before_the_exit_is_seen() {
    let stage = stage();
    for round in 0..scaled(20) {
        let name = format!("r{round}");
        stage.run(&name, sh("stty -echo; echo ready; read x; printf \"needle-$x\""));
        stage.wait_pattern(&name, "ready");
        let mut waiter = stage.client();
        let id =
            waiter.send(Request::Wait(wait(&name, Until::Pattern("needle-.*".to_owned()), None))).unwrap();
        // Answered calls of the same connection: the wait before them is registered.
        for _ in 0..3 {
            drop(waiter.list().unwrap());
        }
        stage.type_text(&name, "seen\n");
        let Reply::Waited(waited) = waiter.answer(id).unwrap() else { panic!("another answer") };
        assert_eq!(waited.satisfied[0].text.as_deref(), Some("needle-seen"));
    }
}

#[test]
fn a_pattern_in_the_log_is_found_whether_the_run_is_over_or_is_just_ending() {
    let stage = stage();
    for round in 0..scaled(60) {
        let name = format!("fast-{round}");
        stage.run(&name, sh("echo one; echo needle; echo two"));
        let waited = stage.client().wait(wait(&name, Until::Pattern("needle".to_owned()), Some(0)));
        let waited = waited.unwrap_or_else(|error| stage.fail(&format!("{name}: {error}")));
        assert_eq!(waited.satisfied[0].text.as_deref(), Some("needle"));
    }
}

#[test]
fn a_pattern_that_cannot_come_any_more_is_told() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let mut waiter = stage.client();
    let id = waiter.send(Request::Wait(wait("x", Until::Pattern("never".to_owned()), None))).unwrap();
    drop(waiter.list().unwrap());
    stage.json(&["kill", "x"]);
    let answer = waiter.answer(id);
    assert!(
        matches!(&answer, Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotRunning),
        "{answer:?}"
    );
    // The same when it is over already, and when its entry is removed or another run replaces it.
    let answer = stage.client().wait(wait("x", Until::Pattern("never".to_owned()), Some(0)));
    assert!(
        matches!(&answer, Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotRunning),
        "{answer:?}"
    );
    stage.json(&["restart", "x"]);
    stage.wait_pattern("x", "ready");
    let id = waiter.send(Request::Wait(wait("x", Until::Pattern("never".to_owned()), None))).unwrap();
    drop(waiter.list().unwrap());
    stage.json(&["restart", "x"]);
    assert!(waiter.answer(id).is_err());
    let id = waiter.send(Request::Wait(wait("x", Until::Pattern("never".to_owned()), None))).unwrap();
    drop(waiter.list().unwrap());
    stage.json(&["close", "x"]);
    assert!(waiter.answer(id).is_err());
}

#[test]
fn a_pattern_means_from_now_unless_an_offset_is_given() {
    let stage = stage();
    stage.run("x", sh("stty -echo; echo old needle; echo ready; while read -r l; do echo \"$l\"; done"));
    stage.wait_pattern("x", "ready");
    let (code, said) =
        qd(&stage, &["wait", "x", "--pattern", "needle", "--since", "now", "--timeout", "0.7"]);
    assert_eq!(code, Some(5), "{said}");
    let (code, said) = qd(&stage, &["wait", "x", "--pattern", "needle", "--since", "0", "--timeout", "30"]);
    assert_eq!((code, said.as_str()), (Some(0), "old needle\n"));
    let end = stage.process("x").live.log.end.to_string();
    let since = ["wait", "x", "--pattern", "needle", "--since", &end, "--timeout", "0.5"];
    assert_eq!(qd(&stage, &since).0, Some(5));
    stage.type_text("x", "new needle\n");
    let (code, said) = qd(&stage, &["wait", "x", "--pattern", "needle", "--since", &end, "--timeout", "30"]);
    assert_eq!((code, said.as_str()), (Some(0), "new needle\n"));
}

#[test]
fn any_is_the_first_and_all_is_every_one() {
    let stage = stage();
    stage.run("quick", sh("exit 4"));
    stage.run("slow", child::repeat_lines());
    stage.wait_pattern("slow", "ready");
    let any = stage.json(&["wait", "quick", "slow", "--exit", "--any", "--timeout", "30"]);
    let names = |value: &serde_json::Value| -> Vec<String> {
        let satisfied = value["satisfied"].as_array().unwrap();
        satisfied.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&any), ["quick"]);
    let (code, _) = qd(&stage, &["wait", "quick", "slow", "--exit", "--all", "--timeout", "0.3"]);
    assert_eq!(code, Some(5));
    stage.type_text("slow", "\u{4}");
    let all = stage.json(&["wait", "quick", "slow", "--exit", "--timeout", "30"]);
    assert_eq!(names(&all), ["quick", "slow"]);
    assert_eq!(all["satisfied"][0]["exit"]["code"], 4);
}

#[test]
fn silence_is_counted_from_the_last_output() {
    let stage = stage();
    stage
        .run("x", sh("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; echo over; exec sleep 1000000"));
    stage.json(&["wait", "x", "--silence", "0.7", "--timeout", "30"]);
    assert!(stage.screen("x").contains("over"));
    stage.run("noisy", sh("while :; do echo x; sleep 0.05; done"));
    let (code, said) = qd(&stage, &["wait", "noisy", "--silence", "5", "--timeout", "1"]);
    assert_eq!(code, Some(5), "{said}");
}

#[test]
fn a_time_out_has_its_own_exit_code_and_nobody_to_wait_for_another() {
    let stage = stage();
    stage.run("x", child::run_for_ever());
    assert_eq!(qd(&stage, &["wait", "x", "--exit", "--timeout", "0.1"]).0, Some(5));
    assert_eq!(qd(&stage, &["wait", "nobody", "--exit", "--timeout", "0.1"]).0, Some(3));
    assert_eq!(qd(&stage, &["wait", "x", "--pattern", "(", "--timeout", "0.1"]).0, Some(2));
}

/// Returns the result of a wait from now on, when this happens after it has begun.
fn found_after(stage: &MarkedDaemon, name: &str, happens: impl FnOnce()) -> Option<String> {
    let mut waiter = stage.client();
    let id = waiter.send(Request::Wait(wait(name, Until::Pattern("needle".to_owned()), None))).unwrap();
    // Answered calls of the same connection: the wait before them is registered.
    for _ in 0..3 {
        drop(waiter.list().unwrap());
    }
    happens();
    let Reply::Waited(waited) = waiter.answer(id).unwrap() else { stage.fail("another answer") };
    waited.satisfied[0].text.clone()
}

#[test]
fn lines_beneath_an_alternate_screen_are_old_to_a_wait_that_began_on_it() {
    let stage = stage();
    let enter = r"echo old needle; printf '\033[?1049h\033[H'; echo in the editor";
    stage.run("x", sh(&format!("stty -echo; {enter}; while read -r l; do eval \"$l\"; done")));
    stage.wait_pattern("x", "in the editor");
    let found = found_after(&stage, "x", || {
        stage.type_text("x", "printf '\\033[?1049l'; echo left\n");
        stage.wait_pattern("x", "left");
        assert!(stage.screen("x").contains("old needle"));
        stage.type_text("x", "echo new needle\n");
    });
    assert_eq!(found.as_deref(), Some("new needle"));
}

#[test]
fn old_lines_stay_old_when_a_resize_wraps_them_anew() {
    let stage = stage();
    let line = "echo \"$i old needle in a line that is longer than a narrow terminal is wide\"";
    let lines = format!("i=0; while [ $i -lt 60 ]; do {line}; i=$((i+1)); done");
    stage.run("x", sh(&format!("stty -echo; {lines}; echo ready; while read -r l; do echo \"$l\"; done")));
    stage.wait_pattern("x", "ready");
    let found = found_after(&stage, "x", || {
        for (round, (cols, rows)) in
            [(40, 24), (100, 24), (20, 60), (100, 10), (80, 50)].into_iter().enumerate()
        {
            let size = SizeRequest { cols: Some(cols), rows: Some(rows) };
            stage.client().resize(Resize { target: "x".into(), size }).unwrap();
            stage.type_text("x", &format!("round {round}.\n"));
            stage.wait_pattern("x", &format!("round {round}\\."));
        }
        stage.type_text("x", "new needle\n");
    });
    assert_eq!(found.as_deref(), Some("new needle"));
}

#[test]
fn waits_whose_callers_go_leave_room_for_others() {
    let stage = stage();
    stage.run("x", child::run_for_ever());
    for _ in 0..40 {
        let mut caller = stage.client();
        for _ in 0..32 {
            caller.send(Request::Wait(wait("x", Until::Pattern("never".to_owned()), None))).unwrap();
        }
    }
    // There may be 1,024 at once, and 1,280 have begun.
    testkit::process_scan::eventually("room for one more", || {
        let begun =
            stage.client().wait(Wait { timeout_ms: Some(1), ..wait("x", Until::Silence(600_000), None) });
        matches!(begun, Err(ClientError::Failed(failure)) if failure.code == ErrorCode::Timeout).then_some(())
    });
}

/// Costs more than ten microseconds for every byte of this text, which ends with a match.
const COSTLY: &str = "(?:a|b|c|ab|bc){700}Q";

fn costly_text(length: usize) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    let mut row = || (0..900).map(|_| letter()).collect::<String>();
    let rows: Vec<String> = (0..length / 900).map(|_| row()).collect();
    rows.join("\n") + "Q\n"
}

#[test]
fn e7_the_costliest_pattern_delays_no_neighbour_and_no_other_wait() {
    let stage = stage();
    let file = stage.root().join("costly");
    std::fs::write(&file, costly_text(1 << 20)).unwrap();
    stage.run("costly", sh(&format!("cat '{}'; echo =printed=; read x", file.display())));
    // At most four threads serve runs, in turn: one of so many neighbours shares its thread.
    let neighbours: Vec<String> = (0..4).map(|number| format!("neighbour{number}")).collect();
    for name in &neighbours {
        stage.run(name, child::repeat_lines());
        stage.wait_pattern(name, "ready");
    }
    stage.wait_pattern("costly", "=printed=");
    let mut waiter = stage.client();
    waiter.send(Request::Wait(wait("costly", Until::Pattern(COSTLY.to_owned()), Some(0)))).unwrap();
    // Answered calls of the same connection: the wait before them is registered.
    for _ in 0..3 {
        drop(waiter.list().unwrap());
    }
    for round in 0..3 {
        for name in &neighbours {
            stage.type_text(name, &format!("{round}\n"));
            stage.wait_pattern(name, &format!("got:{round}"));
        }
        stage.wait_pattern("costly", "=printed=");
        assert!(stage.screen("costly").contains("=printed="));
    }
    // All of that came before the pattern was found, which takes seconds: nothing waited for it.
    let told = waiter.receive_before(std::time::Instant::now()).unwrap();
    assert!(told.is_none(), "{told:?}");
}

#[test]
fn e7_a_costly_pattern_is_found_all_the_same() {
    let stage = stage();
    let file = stage.root().join("costly");
    std::fs::write(&file, costly_text(20_000)).unwrap();
    stage.run("x", sh(&format!("stty -echo; echo ready; read x; cat '{}'; read x", file.display())));
    stage.wait_pattern("x", "ready");
    let mut waiter = stage.client();
    let id = waiter.send(Request::Wait(wait("x", Until::Pattern(COSTLY.to_owned()), None))).unwrap();
    drop(waiter.list().unwrap());
    stage.type_text("x", "go\n");
    let Reply::Waited(waited) = waiter.answer(id).unwrap() else { stage.fail("another answer") };
    assert!(waited.satisfied[0].text.as_ref().is_some_and(|line| line.ends_with('Q')));
}

#[test]
fn e7_a_search_that_would_take_minutes_ends_and_says_so() {
    let stage = stage();
    let file = stage.root().join("costly");
    std::fs::write(&file, costly_text(2 << 20)).unwrap();
    stage.run("x", sh(&format!("cat '{}'; echo =printed=; read x", file.display())));
    stage.wait_pattern("x", "=printed=");
    let (code, said) = qd(&stage, &["search", "x", "(?:a|b|c|ab|bc){700}Z"]);
    assert!(code != Some(0) && said.contains("takes too long"), "{code:?}: {said}");
}

#[test]
fn m14_a_wait_right_after_a_spawn_sees_what_is_already_there() {
    let stage = stage();
    stage.run("x", sh("echo the needle; exec sleep 1000000"));
    stage.wait_pattern("x", "needle");
    let (code, said) = qd(&stage, &["wait", "x", "--pattern", "needle", "--timeout", "60"]);
    assert_eq!((code, said.trim()), (Some(0), "the needle"));
    let (code, _) = qd(&stage, &["wait", "x", "--pattern", "needle", "--since", "now", "--timeout", "0.5"]);
    assert_eq!(code, Some(5), "it came before now");
    let (code, said) = qd(&stage, &["wait", "x", "--pattern", "needle", "--since", "soon"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("`now` or an offset"), "{said}");
}
