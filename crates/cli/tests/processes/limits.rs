//! Resources for starting processes run out: the error names the limit, other requests are served, and
//! starting works again when there are resources again.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use client::Incoming;
use proto::reply::Outcome;
use proto::request::Spawn;
use proto::{Failure, Request};
use testkit::pid_namespace::with_few_pids;
use testkit::process_scan::eventually;
use testkit::{DEADLINE, MarkedDaemon, child};

use super::stage;

/// All pids but some.
#[derive(Default)]
struct Taken(Vec<Child>);

impl Taken {
    /// Uses up all pids, then frees some.
    fn all_but(&mut self, free: usize) {
        let sleep = || Command::new("sleep").arg("1000000").stdin(Stdio::null()).spawn();
        self.0.extend(std::iter::from_fn(|| sleep().ok()));
        self.give_back(free);
    }

    fn give_back(&mut self, count: usize) {
        for mut child in self.0.drain(self.0.len().saturating_sub(count)..) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// Returns the result of a spawn; `None` when it does not come in time.
fn told(stage: &MarkedDaemon, spawn: Spawn) -> Option<Result<(), Failure>> {
    let mut connection = stage.client();
    connection.send(Request::Spawn(Box::new(spawn))).unwrap();
    match connection.receive_before(Instant::now() + DEADLINE) {
        Ok(Some(Incoming::Answer(answer))) => Some(match answer.outcome {
            Outcome::Ok(_) => Ok(()),
            Outcome::Error(failure) => Err(failure),
        }),
        Ok(None) => None,
        other => stage.fail(&format!("another answer: {other:?}")),
    }
}

/// Returns the error of a spawn while this many pids are free. A thread uses a pid too: the daemon's unneeded
/// threads end first, and the one that stays does the work.
///
/// On a busy machine a thread or a reaped child may still free its pid after the others were used up. The
/// spawn then succeeds with that pid: it is closed, and all pids are used up again.
fn refusal(stage: &MarkedDaemon, taken: &mut Taken, free: usize) -> Failure {
    eventually("a spawn without a free pid", || {
        eventually("the daemon to rest", || (extra_workers(stage.pid()) == 0).then_some(()));
        taken.all_but(free);
        match told(stage, stage.spec("none", child::repeat_lines())) {
            Some(Err(failure)) => Some(failure),
            Some(Ok(())) => {
                taken.give_back(5);
                assert!(stage.qd(&["close", "none"]).status.success());
                None
            }
            None => stage.fail("the daemon did not answer"),
        }
    })
}

/// Returns the number of the daemon's threads that end when idle.
fn extra_workers(daemon: i32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{daemon}/task")).into_iter().flatten().flatten();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.trim() == "extra-worker").count()
}

fn is_served(stage: &MarkedDaemon, word: &str) {
    assert!(stage.list().iter().any(|process| process.name.as_str() == "first"));
    stage.type_text("first", &format!("{word}\r"));
    stage.wait_pattern("first", &format!("got:{word}"));
}

fn spawn_without_pids() {
    let stage = stage();
    stage.run("first", child::repeat_lines());
    stage.wait_pattern("first", "ready");
    let (daemon, mut taken) = (stage.pid(), Taken::default());
    // A holder needs one and its child another.
    for free in 0..2 {
        let failure = refusal(&stage, &mut taken, free);
        assert!(failure.message.contains("processes (ulimit -u or pids.max)"), "{free} free: {failure:?}");
        is_served(&stage, &format!("with-{free}-free"));
    }
    taken.give_back(20);
    stage.run("next", child::repeat_lines());
    stage.wait_pattern("next", "ready");
    assert_eq!(stage.list().len(), 2, "what was refused has left no entry");
    assert_eq!(stage.pid(), daemon, "the same daemon");
    taken.give_back(usize::MAX);
}

#[test]
fn d10_without_a_free_pid_the_limit_is_named_and_everybody_else_is_served() {
    let test = "limits::d10_without_a_free_pid_the_limit_is_named_and_everybody_else_is_served";
    // The holder's own tests show that the error of a failed fork names its limit.
    with_few_pids(test, spawn_without_pids, || {});
}
