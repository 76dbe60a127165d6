//! Killed holders: exactly that run ends, soon, and the sweep leaves no orphan and touches no other process.

use std::process::Command;

use holder::sweep_lost_run;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use rustix::process::Signal;
use testkit::scaled;

use crate::rig::{eventually, exists, hangs_up, kill, marked, shell, start};

#[test]
fn s2_a_killed_holder_ends_its_run_and_the_sweep_leaves_no_orphan() {
    let bystander = shell("exec sleep 1000");
    let other = start(&bystander);
    let mut run = start(&shell(
        "trap '' HUP TERM; (setsid sleep 1000 &); nohup sleep 1001 >/dev/null 2>&1 & echo ready; while :; do sleep 1; done",
    ));
    run.until_text("ready");
    kill(run.holder_pid, Signal::KILL);
    run.until("the link ends", |run| !run.turn());
    run.until_holder_dead();
    eventually("the leader dies with its holder", || !exists(run.child_pid));
    assert!(!marked(&run.marker).is_empty(), "there are orphans to sweep");
    let killed = sweep_lost_run(&run.marker, run.child_pid, run.hello.fields.child_start_time).killed;
    assert!(killed >= 2, "{killed}");
    eventually("no orphan", || marked(&run.marker).is_empty());
    assert!(exists(other.child_pid), "another run was touched");
    std::fs::remove_file(&run.socket).unwrap();
    other.close();
}

#[test]
fn d2_a_sweep_ends_nothing_but_the_exact_marker() {
    let mark = crate::rig::marker();
    let spawn = |name: &str, value: &str| Command::new("sleep").arg("1000").env(name, value).spawn().unwrap();
    let mut strangers = [
        spawn(holder::RUN_TOKEN_VARIABLE, &format!("{mark}0")),
        spawn("X_QD_RUN_TOKEN", &mark),
        spawn("OTHER", &format!("{}={mark}", holder::RUN_TOKEN_VARIABLE)),
    ];
    let mut marked = spawn(holder::RUN_TOKEN_VARIABLE, &mark);
    let stranger = i32::try_from(strangers[0].id()).unwrap();
    // A recycled pid: the number of a living process with another start time.
    assert_eq!(sweep_lost_run(&mark, stranger, 1).killed, 1);
    assert!(!marked.wait().unwrap().success());
    for child in &mut strangers {
        assert!(child.try_wait().unwrap().is_none(), "a stranger was ended");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn p1_a_leader_is_swept_only_with_its_start_time() {
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let started = holder::proc_stat::start_time(pid).unwrap();
    assert_eq!(sweep_lost_run("no-such-run", pid, started + 1).killed, 0);
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(sweep_lost_run("no-such-run", pid, started).killed, 1);
    assert!(!child.wait().unwrap().success());
}

/// A shell that forks the next one and exits, until a file is there. Functions may not call themselves without end.
const CHAIN: &str = "trap '' HUP TERM; n=0; f() { n=$((n+1)); test $n -lt 900 || exec sh $0 $1; \
    test -e $1 || f $1 & }; f $1";

/// Starts chains without the run's mark. All of their shells have the pipe open.
const CHAINS: &str = "exec 9>$PIPE; for i in 1 2 3 4 5 6 7 8; do env -i setsid sh $CHAIN $STOP & done; \
    exec 9>&-; echo forking; exec sleep 1000";

#[test]
fn h5_what_forks_below_a_silent_holder_is_killed_until_nothing_is_left() {
    let directory = crate::rig::scratch();
    let [pipe, stop, chain] = ["pipe", "stop", "chain"].map(|name| directory.join(name));
    std::fs::write(&chain, CHAIN).unwrap();
    for _ in 0..scaled(3) {
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let reader = open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        let mut config = shell(CHAINS);
        for (name, path) in [("PIPE", &pipe), ("STOP", &stop), ("CHAIN", &chain)] {
            config.env.push((name.into(), path.into()));
        }
        let mut run = start(&config);
        run.until_text("forking");
        kill(run.holder_pid, Signal::STOP);
        let started = holder::proc_stat::start_time(run.holder_pid).unwrap();
        let left = holder::end_silent_holder(run.holder_pid, started, || false);
        let ended = hangs_up(&reader);
        std::fs::write(&stop, "").unwrap();
        assert!(ended && left.is_empty(), "{left:?} live on");
        run.until_holder_dead();
        for file in [&run.socket, &pipe, &stop] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
