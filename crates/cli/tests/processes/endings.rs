//! Ending trees: processes that hide, ignore signals, stop or fork are gone when the reply comes, and it
//! comes soon.

use std::sync::Barrier;
use std::time::Instant;

use client::{ClientError, Connection, DaemonAddress};
use proto::request::{Attach, Close, Follow, Shutdown, Spawn, TypedInput, Write};
use proto::{ErrorCode, Stop};
use testkit::process_scan::{all_pids, eventually, is_zombie, parent};
use testkit::{MarkedDaemon, Pty, Tail, child, scaled, survivors};

use super::{sh, stage};

/// The longest grace there is: an end that waited for it would outlast any test.
const LONGEST: Stop = Stop { signal: None, grace_ms: Some(600_000) };

/// A grace for programs that do not use it.
const SHORT: Stop = Stop { signal: None, grace_ms: Some(100) };

fn close(stage: &MarkedDaemon, name: &str, stop: Stop) {
    stage.client().close(Close { target: name.into(), keep_background: false, stop }).unwrap();
}

/// Scripts that print `ready` once what they leave is running.
const ESCAPES: [(&str, &str); 8] = [
    ("setsid", "setsid sleep 1000000 & echo ready; exec sleep 1000000"),
    ("nohup", "nohup sleep 1000000 >/dev/null 2>&1 & echo ready; exec sleep 1000000"),
    (
        "double-fork",
        "(setsid sh -c 'sleep 1000000 & sleep 1000000 & exit 0' &) ; echo ready; exec sleep 1000000",
    ),
    ("ignoring", "trap '' HUP TERM INT QUIT; echo ready; while :; do sleep 1000; done"),
    ("stopped", "sh -c 'kill -STOP $$' & echo ready; kill -STOP $$; sleep 1000000"),
    ("orphan", "(trap '' HUP TERM; sleep 1000000) & echo ready; exit 0"),
    (
        "deep",
        "setsid sh -c 'setsid sh -c \"trap \\\"\\\" HUP TERM; sleep 1000000 & wait\" & wait' & echo ready; wait",
    ),
    (
        "forking",
        "trap '' HUP TERM; echo ready; while :; do sh -c 'trap \"\" HUP TERM; sleep 1000' & sleep 0.01; done",
    ),
];

/// Runs an escape script, closes it and looks for escaped processes.
fn escape_and_close(stage: &MarkedDaemon, name: &str, script: &str) {
    let mut spawn = stage.spec(name, sh(script));
    let mark = format!("{}/{name}", stage.root().display());
    spawn.env.insert("ESCAPE_MARK".to_owned(), mark.clone());
    stage.spawn_as(spawn);
    stage.wait_pattern(name, "ready");
    close(stage, name, SHORT);
    assert_eq!(survivors(&format!("ESCAPE_MARK={mark}")), Vec::<i32>::new(), "{name}");
}

#[test]
fn h5_d1_after_close_no_descendant_lives() {
    let stage = stage();
    std::thread::scope(|scope| {
        for (name, script) in ESCAPES {
            let stage = &stage;
            scope.spawn(move || {
                for round in 0..scaled(2) {
                    escape_and_close(stage, &format!("{name}-{round}"), script);
                }
            });
        }
    });
}

#[test]
fn h5_killing_and_restarting_leave_no_descendant_either() {
    let stage = stage();
    for (name, script) in &ESCAPES[..4] {
        let mut spawn = stage.spec(name, sh(script));
        let mark = format!("{}/{name}", stage.root().display());
        spawn.env.insert("ESCAPE_MARK".to_owned(), mark.clone());
        stage.spawn_as(spawn);
        stage.wait_pattern(name, "ready");
        let before = survivors(&format!("ESCAPE_MARK={mark}"));
        assert!(!before.is_empty(), "{name}");
        stage.json(&["restart", name, "--grace", "0.1"]);
        stage.wait_pattern(name, "ready");
        let after = survivors(&format!("ESCAPE_MARK={mark}"));
        assert!(after.iter().all(|pid| !before.contains(pid)), "{name}: {before:?} {after:?}");
        stage.json(&["kill", name, "--now"]);
        assert_eq!(survivors(&format!("ESCAPE_MARK={mark}")), Vec::<i32>::new(), "{name}");
    }
}

#[test]
fn h6_close_returns_when_the_child_has_died_not_after_a_fixed_time() {
    let stage = stage();
    stage.run("quick", child::run_for_ever());
    stage.wait_pattern("quick", "ready");
    close(&stage, "quick", LONGEST);
    stage.run("stubborn", child::ignore_signals());
    stage.wait_pattern("stubborn", "ready");
    close(&stage, "stubborn", SHORT);
}

/// A program that records its signals, needs a while to end and then reports it.
const SLOW: &str = "trap 'echo hup >>$LOG' HUP; \
    trap 'echo asked >>$LOG; sleep 1.2; echo flushed >>$LOG; exit 7' TERM; \
    trap 'echo interrupted >>$LOG; exit 8' INT; echo ready; while :; do sleep 0.02; done";

/// Starts [`SLOW`]; returns the file that it writes to.
fn run_slow(stage: &MarkedDaemon, name: &str) -> std::path::PathBuf {
    let log = stage.root().join(format!("{name}.log"));
    let mut spawn = stage.spec(name, sh(SLOW));
    spawn.env.insert("LOG".to_owned(), log.display().to_string());
    stage.spawn_as(spawn);
    stage.wait_pattern(name, "ready");
    log
}

#[test]
fn m3a_every_way_of_ending_gives_a_command_its_time_after_term() {
    let stage = stage();
    for verb in ["close", "kill", "restart"] {
        let log = run_slow(&stage, verb);
        stage.json(&[verb, verb]);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "asked\nflushed\n", "{verb}");
    }
    let log = run_slow(&stage, "last");
    assert!(stage.qd(&["shutdown", "--kill"]).status.success());
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "asked\nflushed\n");
}

#[test]
fn m3a_a_terminal_is_hung_up_and_a_signal_of_ones_own_is_used() {
    let stage = stage();
    let log = stage.root().join("shell.log");
    let script = "trap 'echo hup >>$LOG; exit' HUP; echo ready; while :; do sleep 0.02; done";
    let mut spawn = stage.spec("shell", sh(script));
    spawn.kind = proto::Kind::Terminal;
    spawn.env.insert("LOG".to_owned(), log.display().to_string());
    stage.spawn_as(spawn);
    stage.wait_pattern("shell", "ready");
    stage.json(&["close", "shell"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "hup\n");
    let log = run_slow(&stage, "web");
    stage.json(&["close", "web", "--signal", "INT", "--grace", "600"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "interrupted\n");
}

#[test]
fn m3a_a_preset_says_how_it_is_asked() {
    let stage = stage();
    let project = stage.root().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let log = stage.root().join("preset.log");
    let log_is = format!("env = {{ LOG = \"{}\" }}", log.display());
    let preset = |stop: &str| format!("[preset.db]\nshell = \"\"\"{SLOW}\"\"\"\n{log_is}\nstop = {stop}\n");
    let file = project.join(".quarterdeck.toml");
    std::fs::write(&file, preset("{ signal = \"INT\", grace = 601 }")).unwrap();
    let at = project.display().to_string();
    let spawn = ["spawn", "--preset", "db", "--name", "db", "--cwd", &at];
    let refused = String::from_utf8(stage.qd(&spawn).stderr).unwrap();
    assert!(refused.contains("stop: grace is between 0 and 600 seconds"), "{refused}");
    std::fs::write(&file, preset("{ signal = \"INT\", grace = 30 }")).unwrap();
    stage.json(&spawn);
    stage.wait_pattern("db", "ready");
    stage.json(&["close", "db"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "interrupted\n");
}

#[test]
fn m3b_a_second_call_kills_what_was_given_ten_minutes() {
    let stage = stage();
    stage.run("deaf", sh("trap 'echo asked' TERM; echo ready; while :; do sleep 0.02; done"));
    stage.wait_pattern("deaf", "ready");
    let mut first = stage.client();
    let close = Close { target: "deaf".into(), keep_background: false, stop: LONGEST };
    let id = first.send(proto::Request::Close(close)).unwrap();
    stage.wait_pattern("deaf", "asked");
    stage.json(&["close", "deaf"]);
    assert!(matches!(first.answer(id), Ok(proto::Reply::Ended(_))));
}

#[test]
fn m3d_a_crashed_commands_background_has_its_time_after_term_when_it_is_started_again() {
    let stage = stage();
    let log = stage.root().join("web.log");
    // The first run leaves a background process and crashes; the second stays.
    let script = format!(
        "test -e $LOG && {{ echo again; exec sleep 1000000; }}; echo crashed >$LOG; \
         ({SLOW}) >$LOG.ready & until grep -q ready $LOG.ready; do sleep 0.02; done; exit 1"
    );
    let mut spawn = proto::request::Spawn { auto_restart: true, ..stage.spec("web", sh(&script)) };
    spawn.env.insert("LOG".to_owned(), log.display().to_string());
    stage.spawn_as(spawn);
    stage.until_view("web", |view| view.run.0 == 2 && view.status == proto::Status::Running);
    let written = || std::fs::read_to_string(&log).unwrap();
    eventually("it was asked and had its time", || written().contains("flushed").then_some(()));
    // The kernel hangs it up when the child ends, like the background of any terminal.
    assert!(written().ends_with("asked\nflushed\n"), "{}", written());
}

#[test]
fn m3e_a_person_who_waits_for_an_end_sees_a_line_about_it_and_others_do_not() {
    let stage = stage();
    stage.run("deaf", sh("trap 'echo asked' TERM; echo ready; while :; do sleep 0.02; done"));
    stage.wait_pattern("deaf", "ready");
    let mut pty = Pty::open(proto::Size { cols: 100, rows: 10 });
    let variables = stage.variables();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let qd = std::ffi::OsStr::new(env!("CARGO_BIN_EXE_qd"));
    pty.spawn(qd, &["close", "deaf", "--grace", "600"], &variables);
    pty.expect(b"waiting for deaf to end; qd close --now deaf kills it (1 s)");
    pty.expect(b"(2 s)");
    // The second caller has no terminal on its standard error, so nothing is drawn there.
    let second = stage.qd(&["close", "deaf", "--now"]);
    assert!(second.status.success() && second.stderr.is_empty(), "{}", super::text(&second.stderr));
    assert!(pty.wait_exit(testkit::DEADLINE).success());
    // The line is removed when the end has come: what follows begins in an empty line.
    let seen = super::text(pty.seen());
    let after = seen.rsplit(" s)").next().unwrap_or_default();
    assert!(after.starts_with("\r\x1b[K"), "{seen:?}");
}

#[test]
fn t10_close_with_nobody_reading_and_every_buffer_full_neither_hangs_nor_panics() {
    let stage = stage();
    stage.run(
        "flood",
        sh("trap '' HUP; stty raw -echo; echo ready; exec yes 0123456789012345678901234567890123456789"),
    );
    stage.wait_pattern("flood", "ready");
    let size = proto::Size::DEFAULT.into();
    let viewers: Vec<_> = (0..4)
        .map(|number| {
            let mut viewer = stage.client();
            let size = if number % 2 == 0 { size } else { proto::Size { cols: 30, rows: 7 }.into() };
            let request = Attach { target: "flood".into(), size, ..Attach::default() };
            viewer.attach(request).unwrap();
            viewer
        })
        .collect();
    // It never reads: half a MiB fills the terminal and the holder's queue.
    let mut writer = stage.client();
    let text = |length: usize, timeout_ms| {
        let input = TypedInput::Text("x".repeat(length));
        Write { target: "flood".into(), input, submit: false, timeout_ms: Some(timeout_ms), key: None }
    };
    let id = writer.send(proto::Request::Write(text(700_000, 60_000))).unwrap();
    fill_everything(&stage, &text(1, 1));
    close(&stage, "flood", SHORT);
    // The waiting writer gets an error.
    let answer = writer.answer(id);
    assert!(
        matches!(&answer, Err(ClientError::Failed(failure)) if failure.message.contains("of 700000")),
        "{answer:?}"
    );
    drop(viewers);
    stage.assert_nobody_left();
    assert_eq!(stage.list(), []);
}

/// Waits until the flood exceeds what the queues and sockets of four viewers that do not read can hold, and
/// until the terminal accepts no more keys.
fn fill_everything(stage: &MarkedDaemon, key: &Write) {
    let from = Some(stage.process("flood").live.log.end);
    Tail::begin(stage, Follow { target: "flood".into(), from, live: true, ..Follow::default() })
        .until_length(8 << 20);
    let until = Instant::now() + testkit::DEADLINE;
    while stage.client().write(key.clone()).is_ok() {
        assert!(Instant::now() < until, "it takes whatever is typed");
    }
}

#[test]
fn t9_t15_nobody_survives_a_shutdown_that_races_with_spawns() {
    for _ in 0..scaled(3) {
        let stage = stage();
        let dirs = stage.dirs();
        let spec = stage.spec("x", child::ignore_signals());
        stage.run("before", child::ignore_signals());
        let all = Barrier::new(4);
        std::thread::scope(|scope| {
            let spawners: Vec<_> = (0..6)
                .map(|lane| {
                    let (dirs, spec) = (&dirs, &spec);
                    scope.spawn(move || spawn_until_refused(dirs, spec, lane))
                })
                .collect();
            let mut early = Tail::live(&stage, "before");
            early.until(b"ready");
            // All of them are connected before the first request: none may find the socket closed.
            let callers: Vec<_> = (0..4)
                .map(|_| DaemonAddress::without_start(dirs.clone()).connect_if_running().unwrap())
                .collect();
            let forkserver = parent(parent(stage.process("before").pid.unwrap()));
            let stage = &stage;
            let enders: Vec<_> = callers
                .into_iter()
                .map(|caller| {
                    let all = &all;
                    scope.spawn(move || end_all(stage, caller, all, forkserver))
                })
                .collect();
            enders.into_iter().for_each(|ender| ender.join().unwrap());
            for spawner in spawners {
                spawner.join().unwrap();
            }
        });
        stage.assert_nobody_left();
    }
}

/// Ends everything while others do the same. A successful reply comes when all of it is over: no process
/// lives, and none is unreaped.
fn end_all(stage: &MarkedDaemon, mut caller: Connection, all: &Barrier, forkserver: i32) {
    all.wait();
    let ended =
        caller.shutdown(Shutdown { kill: true, stop: Stop::default() }, Instant::now() + testkit::DEADLINE);
    // The second caller kills at once, so that a later one may find a daemon that has ended everything and is
    // exiting.
    assert!(ended.is_ok() || ended.is_err_and(|error| error.is_leaving()));
    stage.assert_nobody_left();
    let is_below = |pid: i32| {
        std::iter::successors(Some(pid), |pid| Some(parent(*pid)).filter(|parent| *parent > 1))
            .skip(1)
            .any(|above| above == forkserver)
    };
    let dead: Vec<i32> = all_pids().into_iter().filter(|pid| is_zombie(*pid) && is_below(*pid)).collect();
    assert!(dead.is_empty(), "not reaped: {dead:?}");
}

/// Spawns until the daemon accepts no more; every refusal must be because it is ending.
fn spawn_until_refused(dirs: &proto::Dirs, spec: &Spawn, lane: usize) {
    let mut door = DaemonAddress::without_start(dirs.clone());
    for number in 0.. {
        let Ok(mut connection) = door.connect() else { return };
        let name = Some(format!("lane-{lane}-{number}"));
        match connection.spawn(Spawn { name, ..spec.clone() }) {
            Ok(_) => {}
            Err(ClientError::Failed(failure)) => {
                return assert_eq!(failure.code, ErrorCode::ShuttingDown, "{failure:?}");
            }
            Err(_) => return,
        }
    }
}
