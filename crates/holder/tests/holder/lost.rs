//! Killed holders: exactly that run ends, soon, and the sweep leaves no orphan and touches no other process.

use std::process::Command;

use holder::sweep_lost_run;
use rustix::process::Signal;

use crate::rig::{eventually, exists, kill, marked, shell, start};

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
    let killed = sweep_lost_run(&run.marker, run.child_pid, run.hello.fields.child_start_time).unwrap();
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
    assert_eq!(sweep_lost_run(&mark, stranger, 1).unwrap(), 1);
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
    assert_eq!(sweep_lost_run("no-such-run", pid, started + 1).unwrap(), 0);
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(sweep_lost_run("no-such-run", pid, started).unwrap(), 1);
    assert!(!child.wait().unwrap().success());
}
