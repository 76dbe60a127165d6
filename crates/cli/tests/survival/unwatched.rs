//! Resources that the kernel refuses: watches for adopted runs, threads for requests. Nothing is ended for
//! it, and a refused request names the limit.

use std::fs::DirEntry;
#[cfg(debug_assertions)]
use std::path::Path;
use std::process::{Child, Command, Stdio};
#[cfg(debug_assertions)]
use std::time::Duration;
use std::time::Instant;

use client::Incoming;
#[cfg(debug_assertions)]
use proto::Status;
use proto::error::Cause;
use proto::reply::{Answer, Outcome};
use proto::request::{Close, Restart};
use proto::{ErrorCode, ExitReason, Request};
use rustix::process::{Pid, Signal, kill_process};
use testkit::pid_namespace::with_few_pids;
use testkit::process_scan::{eventually, parent};
use testkit::{DEADLINE, Mark, TestDaemon, child};
#[cfg(debug_assertions)]
use testkit::{ScriptedChild, process_scan};

use crate::QD;

/// A daemon that cannot watch runs while the file says so.
#[cfg(debug_assertions)]
fn start_blind(daemon: &TestDaemon, order: &Path) {
    std::fs::write(order, "unwatchable").unwrap();
    let started = daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", order).output().unwrap();
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
}

#[cfg(debug_assertions)]
#[test]
fn d10_an_adopted_run_that_cannot_be_watched_is_kept_and_tried_again() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "teller");
    let told = daemon.client().spawn(mark.spawn("teller", scripted_child.argv())).unwrap();
    let typed = daemon.client().spawn(mark.spawn("typed", child::repeat_lines())).unwrap();
    let unwanted = daemon.client().spawn(mark.spawn("unwanted", child::run_for_ever())).unwrap();
    daemon.wait_pattern("typed", "ready");
    scripted_child.tell(b"before\r\n");
    daemon.wait_pattern("teller", "before");
    daemon.kill_9();
    // Printed while the run is not read: if it were still watched, it would wake its worker for ever.
    scripted_child.tell(b"between\r\n");
    let order = daemon.root().join("order");
    start_blind(&daemon, &order);
    for one in [&told, &typed, &unwanted] {
        let process = daemon.process(one.name.as_str());
        assert_eq!((process.pid, process.status), (one.pid, Status::Running));
        assert!(process_scan::is_alive(one.pid.unwrap()));
        eventually("the user is told why", || {
            let warnings = daemon.client().status().unwrap().warnings;
            let is_it = |text: &String| text.contains(one.name.as_str()) && text.contains("No space left");
            warnings.iter().any(is_it).then_some(())
        });
    }
    let refused = daemon.qd(&["read", "typed"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("its holder does not answer"), "{refused:?}");
    let begin = process_scan::processor_time(daemon.pid());
    process_scan::pause(Duration::from_millis(600));
    let worked = process_scan::processor_time(daemon.pid()) - begin;
    assert!(worked < Duration::from_millis(300), "{worked:?} of useless work");
    // A request to end one succeeds.
    assert!(daemon.qd(&["close", "unwanted"]).status.success());
    eventually("it is gone", || (!process_scan::is_alive(unwanted.pid.unwrap())).then_some(()));
    std::fs::remove_file(order).unwrap();
    eventually("they are heard", || daemon.client().status().unwrap().warnings.is_empty().then_some(()));
    daemon.wait_pattern("teller", "between");
    assert_eq!(daemon.screen("teller").trim_end(), "before\nbetween");
    assert!(daemon.qd(&["send", "typed", "after"]).status.success());
    daemon.wait_pattern("typed", "got:after");
    for one in [&told, &typed] {
        assert_eq!(daemon.process(one.name.as_str()).pid, one.pid);
    }
}

/// All pids there are.
struct Taken(Vec<Child>);

impl Taken {
    fn all() -> Self {
        let sleep = || Command::new("sleep").arg("1000000").stdin(Stdio::null()).spawn();
        Self(std::iter::from_fn(|| sleep().ok()).collect())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// Returns the number of a daemon's threads that only the last requests needed.
fn extra_workers(daemon: &TestDaemon) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap().flatten();
    let name = |task: &DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.filter(|task| name(task).trim() == "extra-worker").count()
}

/// The request is refused in time, with the limit's name and the next step.
fn expect_limit(daemon: &TestDaemon, request: Request) {
    let mut connection = daemon.client();
    connection.send(request).unwrap();
    let told = connection.receive_before(Instant::now() + DEADLINE).unwrap();
    let Some(Incoming::Answer(Answer { outcome: Outcome::Error(failure), .. })) = told else {
        daemon.fail(&format!("it is no refusal: {told:?}"))
    };
    assert_eq!((failure.code, failure.cause), (ErrorCode::SpawnFailed, Some(Cause::Limit)), "{failure:?}");
    assert!(failure.message.contains("processes (ulimit -u or pids.max)"), "{failure:?}");
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("close some processes")), "{failure:?}");
}

fn ask_a_rested_daemon_without_pids() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    for name in ["first", "second", "third"] {
        daemon.client().spawn(mark.spawn(name, child::repeat_lines())).unwrap();
        daemon.wait_pattern(name, "ready");
    }
    let (pid, first) = (daemon.pid(), daemon.process("first").pid.unwrap());
    // As long as they stay, the daemon needs no new one.
    eventually("threads that are not needed have gone", || (extra_workers(&daemon) == 0).then_some(()));
    let taken = Taken::all();
    let spawn = mark.spawn("none", child::run_for_ever());
    expect_limit(&daemon, Request::Spawn(Box::new(spawn)));
    // A restart ends the old run before it finds that it cannot start a new one.
    expect_limit(&daemon, Request::Restart(Restart { target: "second".into(), ..Restart::default() }));
    daemon
        .client()
        .close(Close { target: "third".into(), keep_background: false, stop: proto::Stop::default() })
        .unwrap();
    assert_eq!(daemon.pid(), pid, "the same daemon");
    assert!(daemon.screen("first").contains("ready"));
    // What a killed holder leaves is looked for, and its end is reported.
    kill_process(Pid::from_raw(parent(first)).unwrap(), Signal::KILL).unwrap();
    let exit = daemon.wait_exit("first").satisfied[0].exit.unwrap();
    assert_eq!(exit.reason, ExitReason::Lost);
    drop(taken);
    daemon.client().spawn(mark.spawn("next", child::run_for_ever())).unwrap();
    daemon.wait_pattern("next", "ready");
    assert_eq!(daemon.list().len(), 3, "first, second and next");
}

#[test]
fn d10_a_daemon_that_has_rested_names_the_limit_when_there_is_no_free_pid() {
    let test = "unwatched::d10_a_daemon_that_has_rested_names_the_limit_when_there_is_no_free_pid";
    with_few_pids(test, ask_a_rested_daemon_without_pids, || {});
}
