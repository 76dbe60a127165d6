//! Ending trees: whatever hides, ignores, stops or forks is gone when the answer comes, and the answer comes soon.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use client::{ClientError, Connection, Door};
use proto::ErrorCode;
use proto::request::{Attach, Close, Follow, Input, Shutdown, Spawn, Write};
use testkit::census::{everybody, is_zombie, parent};
use testkit::{Stage, Tail, child, scaled, survivors};

use super::{sh, stage};

/// The bound of an end; kept in the best of some rounds, because a machine may have other work.
const BOUND: Duration = Duration::from_secs(3);

/// What a single round may take on a machine that also compiles.
const LOADED: Duration = Duration::from_secs(10);

fn close(stage: &Stage, name: &str) -> Duration {
    let mut client = stage.client();
    let start = Instant::now();
    client.close(Close { target: name.into(), keep_background: false }).unwrap();
    start.elapsed()
}

/// Scripts that say `ready` once what they leave is running.
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

/// Has a script escape, closes it and looks for whoever has escaped; how long the close took.
fn escape_and_close(stage: &Stage, name: &str, script: &str) -> Duration {
    let mut spawn = stage.spec(name, sh(script));
    let mark = format!("{}/{name}", stage.root().display());
    spawn.env.insert("ESCAPE_MARK".to_owned(), mark.clone());
    stage.spawn_as(spawn);
    stage.wait_pattern(name, "ready");
    let elapsed = close(stage, name);
    assert_eq!(survivors(&format!("ESCAPE_MARK={mark}")), Vec::<i32>::new(), "{name}");
    assert!(elapsed < LOADED, "{name} took {elapsed:?}");
    elapsed
}

#[test]
fn h5_d1_after_close_no_descendant_lives() {
    let stage = stage();
    std::thread::scope(|scope| {
        for (name, script) in ESCAPES {
            let stage = &stage;
            scope.spawn(move || {
                let rounds = 0..scaled(2);
                let times = rounds.map(|round| escape_and_close(stage, &format!("{name}-{round}"), script));
                let fastest = times.min().unwrap();
                assert!(fastest < BOUND, "{name} took {fastest:?}");
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
        stage.json(&["restart", name]);
        stage.wait_pattern(name, "ready");
        let after = survivors(&format!("ESCAPE_MARK={mark}"));
        assert!(after.iter().all(|pid| !before.contains(pid)), "{name}: {before:?} {after:?}");
        stage.json(&["kill", name]);
        assert_eq!(survivors(&format!("ESCAPE_MARK={mark}")), Vec::<i32>::new(), "{name}");
    }
}

#[test]
fn h6_close_returns_when_the_child_has_died_not_after_a_fixed_time() {
    let stage = stage();
    let mut fastest = Duration::MAX;
    for round in 0..5 {
        let name = format!("quick-{round}");
        stage.run(&name, child::run_for_ever());
        stage.wait_pattern(&name, "ready");
        fastest = fastest.min(close(&stage, &name));
    }
    // The grace alone is half a second: a fixed sleep would show in every round.
    assert!(fastest < Duration::from_millis(450), "{fastest:?}");
    let stubborn = |round| {
        let name = format!("stubborn-{round}");
        stage.run(&name, child::ignore_signals());
        stage.wait_pattern(&name, "ready");
        close(&stage, &name)
    };
    let fastest = (0..3).map(stubborn).min().unwrap();
    assert!(fastest < BOUND, "{fastest:?}");
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
            let wish =
                Attach { target: "flood".into(), size, read_only: false, policy: None, take_over: false };
            viewer.attach(wish).unwrap();
            viewer
        })
        .collect();
    // It never reads: half a MiB fills the terminal and the holder's queue.
    let mut writer = stage.client();
    let text = |length: usize, timeout_ms| {
        let input = Input::Text("x".repeat(length));
        Write { target: "flood".into(), input, submit: false, timeout_ms: Some(timeout_ms) }
    };
    let id = writer.send(proto::Request::Write(text(700_000, 60_000))).unwrap();
    fill_everything(&stage, &text(1, 1));
    let elapsed = close(&stage, "flood");
    assert!(elapsed < LOADED, "{elapsed:?}");
    // Whoever was writing is told instead of left waiting.
    let answer = writer.answer(id);
    assert!(
        matches!(&answer, Err(ClientError::Failed(failure)) if failure.message.contains("of 700000")),
        "{answer:?}"
    );
    drop(viewers);
    stage.assert_nobody_left();
    assert_eq!(stage.list(), []);
}

/// Waits until the flood has left more behind than four viewers that do not read can have in their queues and sockets, and
/// until the terminal takes not one key more.
fn fill_everything(stage: &Stage, key: &Write) {
    let from = Some(stage.process("flood").log.end);
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
        let places = stage.places();
        let spec = stage.spec("x", child::ignore_signals());
        stage.run("before", child::ignore_signals());
        let all = Barrier::new(4);
        std::thread::scope(|scope| {
            let spawners: Vec<_> = (0..6)
                .map(|lane| {
                    let (places, spec) = (&places, &spec);
                    scope.spawn(move || spawn_until_refused(places, spec, lane))
                })
                .collect();
            let mut early = Tail::live(&stage, "before");
            early.until(b"ready");
            // All of them are there before the first asks: none may find the door closed.
            let callers: Vec<_> =
                (0..4).map(|_| Door::without_start(places.clone()).knock().unwrap()).collect();
            let nursery = parent(parent(stage.process("before").pid.unwrap()));
            let stage = &stage;
            let enders: Vec<_> = callers
                .into_iter()
                .map(|caller| {
                    let all = &all;
                    scope.spawn(move || end_all(stage, caller, all, nursery))
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

/// Ends everything beside others who do the same. Whoever is told that it is over is told when all of it is: nobody lives,
/// and nobody is dead and not reaped.
fn end_all(stage: &Stage, mut caller: Connection, all: &Barrier, nursery: i32) {
    all.wait();
    caller.shutdown(Shutdown { kill: true }, Instant::now() + testkit::DEADLINE).unwrap();
    stage.assert_nobody_left();
    let is_below = |pid: i32| {
        std::iter::successors(Some(pid), |pid| Some(parent(*pid)).filter(|parent| *parent > 1))
            .skip(1)
            .any(|above| above == nursery)
    };
    let dead: Vec<i32> = everybody().into_iter().filter(|pid| is_zombie(*pid) && is_below(*pid)).collect();
    assert!(dead.is_empty(), "not reaped: {dead:?}");
}

/// Spawns until the daemon takes no more; every refusal must say that it is ending.
fn spawn_until_refused(places: &proto::Places, spec: &Spawn, lane: usize) {
    let mut door = Door::without_start(places.clone());
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
