//! Names, renames, restarts, signals and keys, as a person uses them.

use testkit::{Tail, child};

use super::{argv, sh, stage, text};

#[test]
fn names_are_given_checked_and_unique() {
    let stage = stage();
    let spawned = stage.json(&["spawn", "--env", &stage.mark(), "--", "sleep", "1000000"]);
    assert_eq!(spawned["name"], "command-1");
    let spawned =
        stage.json(&["spawn", "--env", &stage.mark(), "--kind", "terminal", "--", "sleep", "1000000"]);
    assert_eq!(spawned["name"], "terminal-1");
    let again = stage.qd(&["spawn", "--name", "command-1", "--", "true"]);
    assert_eq!(again.status.code(), Some(7), "{}", text(&again.stderr));
    for bad in ["", "a b", "a/b", "\u{1b}[2J", "..", "-x", &"x".repeat(41), "p_00000000"] {
        let refused = stage.qd(&["spawn", &format!("--name={bad}"), "--", "true"]);
        assert_eq!(refused.status.code(), Some(2), "{bad:?}: {}", text(&refused.stderr));
        assert!(!text(&refused.stderr).contains('\u{1b}'), "{bad:?}");
    }
    assert_eq!(stage.list().len(), 2);
}

#[test]
fn a_renamed_process_is_the_same_process() {
    let stage = stage();
    let before = stage.run("old", child::run_for_ever());
    stage.run("taken", child::run_for_ever());
    assert_eq!(stage.qd(&["rename", "old", "taken"]).status.code(), Some(7));
    assert_eq!(stage.qd(&["rename", "old", "bad name"]).status.code(), Some(2));
    stage.json(&["rename", "old", "new"]);
    let after = stage.process("new");
    assert_eq!((after.id, after.pid), (before.id, before.pid));
    assert_eq!(stage.qd(&["read", "old"]).status.code(), Some(3));
}

#[test]
fn a_restart_is_a_new_run_of_the_same_entry() {
    let stage = stage();
    let first = stage.run("x", sh("echo run of $$; exec sleep 1000000"));
    stage.wait_pattern("x", "run of");
    let second = stage.json(&["restart", "x"]);
    assert_eq!((second["id"].as_str(), &second["run"]), (Some(first.id.to_string().as_str()), &2.into()));
    assert_ne!(second["pid"].as_i64(), first.pid.map(i64::from));
    stage.wait_pattern("x", &format!("run of {}", second["pid"]));
    assert!(!stage.screen("x").contains(&format!("run of {}\n", first.pid.unwrap())));
    // An entry whose run is over can be restarted, too.
    stage.json(&["kill", "x"]);
    assert_eq!(stage.json(&["restart", "x"])["run"], 3);
}

#[test]
fn a_kill_names_every_process_that_it_ended_and_goes_on_after_one_that_is_unknown() {
    let stage = stage();
    for name in ["x", "y"] {
        stage.run(name, sh("exec sleep 1000000"));
    }
    let killed = stage.qd(&["kill", "x", "nobody", "y"]);
    assert_eq!(killed.status.code(), Some(3), "the first failure decides");
    let told = super::text(&killed.stdout);
    assert!(told.contains("x is ended: SIGTERM") && told.contains("y is ended: SIGTERM"), "{told}");
    stage.run("z", sh("exec sleep 1000000"));
    let told = stage.qd(&["kill", "z", "--signal", "WINCH"]);
    assert_eq!(super::text(&told.stdout), "z was sent SIGWINCH\n");
}

#[test]
fn one_signal_reaches_the_foreground_and_the_run_goes_on() {
    let stage = stage();
    stage.run("x", sh("trap 'echo caught' USR1; echo ready; while :; do sleep 0.05; done"));
    stage.wait_pattern("x", "ready");
    stage.json(&["kill", "x", "--signal", "USR1"]);
    stage.wait_pattern("x", "caught");
    assert_eq!(stage.process("x").status, proto::Status::Running);
    assert_eq!(stage.qd(&["kill", "x", "--signal", "65"]).status.code(), Some(2));
}

#[test]
fn h6_a_longer_grace_lets_a_child_finish_what_it_is_doing() {
    let stage = stage();
    stage.run("x", sh("trap 'sleep 1; echo cleaned; exit 9' TERM; echo ready; while :; do sleep 0.05; done"));
    stage.wait_pattern("x", "ready");
    let ended = stage.json(&["kill", "x", "--grace", "2"]);
    assert_eq!(ended["exit"]["code"], 9, "{ended}");
    assert!(stage.screen("x").contains("cleaned"));
}

#[test]
fn e8_a_real_time_signal_arrives_and_what_cannot_be_had_is_refused() {
    let stage = stage();
    stage.run("x", sh("trap 'echo caught' 40; echo ready; while :; do sleep 0.05; done"));
    stage.wait_pattern("x", "ready");
    stage.json(&["kill", "x", "--signal", "40"]);
    stage.wait_pattern("x", "caught");
    for (words, told) in [(["--signal", "33"], "C library"), (["--grace", "601"], "at most 600 seconds")] {
        let refused = stage.qd(&["kill", "x", words[0], words[1]]);
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(told), "{said}");
    }
    assert_eq!(stage.process("x").status, proto::Status::Running);
}

#[test]
fn keys_are_encoded_by_the_childs_modes() {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; printf 'ready'; exec cat -v"));
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    stage.json(&["key", "x", "up", "ctrl-c", "escape", "f5"]);
    stage.type_text("x", "END");
    let printed = text(tail.until(b"END"));
    assert_eq!(printed, "ready^[[A^C^[^[[15~END");
}

#[test]
fn a_sent_text_is_submitted_by_enter() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let wrote = stage.json(&["send", "x", "hello"]);
    assert_eq!((&wrote["written"], &wrote["submitted"]), (&5.into(), &true.into()));
    stage.wait_pattern("x", "got:hello$");
    stage.run("over", argv(&["true"]));
    stage.wait_exit("over");
    let refused = stage.qd(&["send", "over", "hello"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("over is not running"), "{}", text(&refused.stderr));
}
