//! What is left running: a close ends the whole tree; a shell that ends by itself, or a close that keeps the
//! background, leaves background processes alone. The example is a real terminal multiplexer.

use std::path::PathBuf;
use std::process::Command;

use proto::event::Event;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use testkit::MarkedDaemon;
use testkit::process_scan::{eventually, is_alive, parent, pin, wait_gone};

use super::{argv, sh, stage};

/// A multiplexer that was started in a terminal of the stage.
struct Multiplexer {
    socket: PathBuf,
    pid: i32,
}

impl Multiplexer {
    /// Starts one by hand in the shell of this terminal.
    fn in_terminal(stage: &MarkedDaemon, name: &str) -> Multiplexer {
        let socket = stage.root().join(format!("{name}.tmux"));
        let tmux = format!("tmux -S {} -f /dev/null", socket.display());
        stage.type_text(name, &format!("{tmux} new -d 'exec sleep 1000000'; echo has-$((40+2))\r"));
        stage.wait_pattern(name, "has-42");
        let mut found = Multiplexer { socket, pid: 0 };
        found.pid = found.asked(&["display", "-p", "#{pid}"]).expect("a server answers").parse().unwrap();
        found
    }

    fn asked(&self, words: &[&str]) -> Option<String> {
        let output = Command::new("tmux").arg("-S").arg(&self.socket).args(words).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// Returns true if the server and the program in its window are as they were.
    fn is_well(&self) -> bool {
        let window = self.asked(&["display", "-p", "#{pane_pid} #{pane_dead}"]);
        let window = window.and_then(|told| told.strip_suffix(" 0")?.parse().ok());
        is_alive(self.pid) && window.is_some_and(is_alive)
    }
}

/// Ends what a test has left running on purpose.
fn end_what_is_left(stage: &MarkedDaemon) {
    for pid in stage.survivors().into_iter().filter_map(Pid::from_raw) {
        // One of them may end when another does.
        let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        pidfd_send_signal(&pinned, Signal::KILL).ok();
        wait_gone(&pinned);
    }
}

fn terminal(stage: &MarkedDaemon, name: &str) -> i32 {
    stage.run_terminal(name, argv(&["bash", "--norc", "--noprofile", "-i"])).pid.unwrap()
}

#[test]
fn d2_a_shell_that_ends_by_itself_leaves_a_multiplexer_and_a_nohup_job_alone() {
    let stage = stage();
    let holder = pin(parent(terminal(&stage, "pane")));
    let multiplexer = Multiplexer::in_terminal(&stage, "pane");
    stage.type_text("pane", "nohup sleep 1000000 >/dev/null 2>&1 & echo job-$!-up\r");
    let told = stage.wait_pattern("pane", "job-[0-9]+-up").satisfied[0].text.clone().unwrap();
    let job = told.split('-').nth(1).unwrap().parse().unwrap();
    let mut events = stage.subscriber();
    stage.type_text("pane", "exit\r");
    stage.until_event(
        &mut events,
        |event| matches!(event, Event::Exited { exit, .. } if exit.code == Some(0)),
    );
    // It is kept for late viewers for a while; then it exits, and its descendants go to its parent.
    wait_gone(&holder);
    assert!(multiplexer.is_well() && is_alive(job));
    end_what_is_left(&stage);
}

#[test]
fn d2_a_close_that_keeps_the_background_leaves_a_multiplexer_alone() {
    let stage = stage();
    let shell = pin(terminal(&stage, "pane"));
    let multiplexer = Multiplexer::in_terminal(&stage, "pane");
    let ended = stage.json(&["close", "pane", "--keep-background"]);
    assert_eq!(ended["exit"]["reason"], "closed");
    wait_gone(&shell);
    assert_eq!(stage.list(), []);
    assert!(multiplexer.is_well());
    end_what_is_left(&stage);
}

/// A shell, the words that start it as a person would have it, and its variable for the last background pid.
const SHELLS: [(&str, &[&str], &str); 4] = [
    ("bash", &["bash", "--norc", "--noprofile", "-i"], "$!"),
    ("zsh", &["zsh", "-f", "-i"], "$!"),
    ("fish", &["fish", "--no-config", "-i"], "$last_pid"),
    ("sh", &["sh", "-i"], "$!"),
];

#[test]
fn d2_a_close_that_keeps_the_background_keeps_the_jobs_of_every_shell() {
    let stage = stage();
    for (name, words, last) in SHELLS {
        let shell = pin(stage.run_terminal(name, argv(words)).pid.unwrap());
        stage.type_text(name, &format!("sleep 1000000 & echo job {last} up\r"));
        let told = stage.wait_pattern(name, "job [0-9]+ up").satisfied[0].text.clone().unwrap();
        let job: i32 = told.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
        let ended = stage.json(&["close", name, "--keep-background"]);
        assert_eq!(ended["exit"]["reason"], "closed", "{name}");
        wait_gone(&shell);
        assert!(is_alive(job), "{name} took its job along");
    }
    assert_eq!(stage.list(), []);
    end_what_is_left(&stage);
}

#[test]
fn d2_a_child_that_is_no_shell_is_asked_before_it_is_killed() {
    let stage = stage();
    // On a busy machine one may not finish before its grace is over.
    let has_ended_itself = |_| {
        stage.run("x", sh("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"));
        stage.wait_pattern("x", "ready");
        let ended = stage.json(&["close", "x", "--keep-background"]);
        assert_eq!(ended["exit"]["reason"], "closed");
        ended["exit"]["code"] == 7
    };
    assert!((0..5).any(has_ended_itself), "it was never given the time to end by itself");
    end_what_is_left(&stage);
}

#[test]
fn d2_h5_a_plain_close_ends_a_multiplexer_too() {
    let stage = stage();
    terminal(&stage, "pane");
    let multiplexer = Multiplexer::in_terminal(&stage, "pane");
    assert!(multiplexer.is_well());
    stage.json(&["close", "pane"]);
    stage.assert_nobody_left();
    assert!(!is_alive(multiplexer.pid));
}

#[test]
fn d2_a_child_that_does_not_go_when_asked_is_killed_and_its_background_still_kept() {
    let stage = stage();
    let script = "setsid sleep 1000000 </dev/null >/dev/null 2>&1 & \
                  trap '' HUP TERM; echo daemon-$!-up; while :; do sleep 1000; done";
    let child = stage.run("x", sh(script)).pid.unwrap();
    let told = stage.wait_pattern("x", "daemon-[0-9]+-up").satisfied[0].text.clone().unwrap();
    let daemon: i32 = told.split('-').nth(1).unwrap().parse().unwrap();
    let ended = stage.json(&["close", "x", "--keep-background"]);
    assert_eq!((&ended["exit"]["signal"], &ended["exit"]["reason"]), (&9.into(), &"closed".into()));
    assert!(!is_alive(child) && is_alive(daemon));
    end_what_is_left(&stage);
}

#[test]
fn d2_a_plain_shutdown_ends_no_background_and_one_that_kills_does() {
    for kills in [false, true] {
        let stage = stage();
        // The kernel must not end it by hanging up the foreground when the child ends.
        stage.run("x", sh("trap '' HUP; setsid sleep 1000000 </dev/null >/dev/null 2>&1 & exit 0"));
        stage.wait_exit("x");
        // While the background process executes its program it shows no environment, by which it is found.
        let left =
            eventually("one background process", || Some(stage.survivors()).filter(|left| left.len() == 1));
        let words: &[&str] = if kills { &["shutdown", "--kill"] } else { &["shutdown"] };
        stage.json(words);
        assert_eq!(is_alive(left[0]), !kills);
        end_what_is_left(&stage);
    }
}

#[test]
fn h5_a_shutdown_that_kills_ends_what_was_left_while_no_daemon_ran() {
    for is_terminal in [false, true] {
        let stage = stage();
        let go = stage.root().join("go");
        let script = format!(
            "trap '' HUP; until test -e {}; do sleep 0.02; done; \
             setsid sleep 1000000 </dev/null >/dev/null 2>&1 & exit 0",
            go.display()
        );
        let script = sh(&script);
        let run = if is_terminal { stage.run_terminal("x", script) } else { stage.run("x", script) };
        let child = pin(run.pid.unwrap());
        stage.kill_9();
        std::fs::write(&go, "").unwrap();
        wait_gone(&child);
        let left =
            eventually("one background process", || Some(stage.survivors()).filter(|left| left.len() == 1));
        stage.json(&["shutdown", "--kill"]);
        assert!(!is_alive(left[0]), "terminal: {is_terminal}");
        stage.assert_nobody_left();
    }
}
