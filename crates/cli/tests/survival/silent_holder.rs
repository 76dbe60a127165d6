//! Holders that do not answer: stopped, out of reach, or with an unreadable answer. Their runs are waited
//! for, shown and never killed on doubt; a request to end one succeeds within the bound.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use proto::request::Restart;
use proto::{ExitReason, Request, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::{eventually, is_alive, parent, pin, scale, wait_gone};
use testkit::{Mark, TestDaemon, child};

use crate::QD;
use crate::moments::mortal;

/// Rounds of which the best one counts: a busy machine delays some of them, a wrong bound all.
const ROUNDS: usize = 3;

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn warnings(daemon: &TestDaemon) -> Vec<String> {
    daemon.client().status().unwrap().warnings
}

/// Returns the error and exit code of `qd`.
fn refusal(daemon: &TestDaemon, arguments: &[&str]) -> (Option<i32>, String) {
    let output = daemon.qd(arguments);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn s1_a_stopped_holder_is_waited_for_while_the_others_go_on() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawn = |name: &str| daemon.client().spawn(mark.spawn(name, child::repeat_lines())).unwrap();
    let stopped: Vec<_> = ["still", "quiet"].map(spawn).into_iter().collect();
    let other = spawn("other");
    assert!(daemon.qd(&["send", "still", "before"]).status.success());
    daemon.wait_pattern("still", "got:before");
    daemon.wait_pattern("quiet", "ready");
    let screen = daemon.screen("still");
    for round in 0..ROUNDS {
        let holders: Vec<i32> = stopped.iter().map(|spawned| parent(spawned.pid.unwrap())).collect();
        holders.iter().for_each(|holder| signal(*holder, Signal::STOP));
        daemon.kill_9();
        let listed = daemon.json(&["ps"]);
        for spawned in stopped.iter().chain([&other]) {
            let found = listed.as_array().unwrap().iter().find(|p| p["id"] == spawned.id.to_string());
            let found = found.unwrap();
            assert_eq!((&found["status"], &found["pid"]), (&"running".into(), &spawned.pid.into()));
            assert!(is_alive(spawned.pid.unwrap()));
        }
        let told = warnings(&daemon);
        assert!(told.iter().any(|w| w.contains("still") && w.contains("cannot be reached")), "{told:?}");
        let (code, words) = refusal(&daemon, &["read", "still"]);
        assert!(code != Some(0) && words.contains("its holder does not answer"), "{words}");
        let (code, words) = refusal(&daemon, &["kill", "still", "--signal", "USR1"]);
        assert!(code != Some(0) && words.contains("its holder does not answer"), "{words}");
        assert!(daemon.qd(&["send", "other", &format!("round{round}")]).status.success());
        daemon.wait_pattern("other", &format!("got:round{round}"));
        holders.iter().for_each(|holder| signal(*holder, Signal::CONT));
        eventually("both are heard again", || warnings(&daemon).is_empty().then_some(()));
        for spawned in &stopped {
            assert_eq!(daemon.process(spawned.name.as_str()).pid, spawned.pid);
        }
        assert_eq!(daemon.screen("still"), screen);
    }
    assert!(daemon.qd(&["send", "still", "after"]).status.success());
    daemon.wait_pattern("still", "got:after");
}

#[test]
fn s2_a_silent_holder_that_dies_is_a_lost_run() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.client().spawn(mark.spawn("victim", child::run_for_ever())).unwrap();
    daemon.wait_pattern("victim", "ready");
    let holder = parent(spawned.pid.unwrap());
    signal(holder, Signal::STOP);
    daemon.kill_9();
    assert_eq!(daemon.process("victim").status, Status::Running);
    signal(holder, Signal::KILL);
    let exit = daemon.wait_exit("victim").satisfied[0].exit.unwrap();
    assert_eq!(exit.reason, ExitReason::Lost);
    mark.expect_gone();
    assert!(warnings(&daemon).is_empty(), "{:?}", warnings(&daemon));
}

/// Has a daemon die after it recorded a next run of `x` and before it started that run, then stops the holder of the run
/// before, which alone has the environment. Returns that holder.
fn restart_that_was_not_carried_out(mark: &Mark, daemon: &TestDaemon, order: &Path) -> i32 {
    let script = "echo ready; read -r line";
    let spawned = daemon.client().spawn(mark.spawn("x", child::shell(script))).unwrap();
    daemon.wait_pattern("x", "ready");
    let holder = parent(spawned.pid.unwrap());
    assert!(daemon.qd(&["send", "x", "end"]).status.success());
    daemon.wait_exit("x");
    let mut connection = daemon.client();
    std::fs::write(order, "unstarted").unwrap();
    let restart = Restart { target: "x".into(), ..Restart::default() };
    connection.send(Request::Restart(restart)).unwrap();
    let is_starting = || (daemon.process("x").status == Status::Starting).then_some(());
    eventually("the next run is recorded", is_starting);
    daemon.kill_9();
    std::fs::remove_file(order).unwrap();
    signal(holder, Signal::STOP);
    assert_eq!(daemon.process("x").status, Status::Starting, "it waits for the holder");
    holder
}

#[test]
fn s1_a_next_run_waits_for_the_silent_holder_that_has_its_environment() {
    let (mark, daemon, order) = mortal();
    let holder = restart_that_was_not_carried_out(&mark, &daemon, &order);
    signal(holder, Signal::CONT);
    mark.expect(1);
    assert_eq!(daemon.process("x").status, Status::Running);
}

#[test]
fn h6_a_next_run_that_waits_for_a_silent_holder_is_closed_all_the_same() {
    let (mark, daemon, order) = mortal();
    let holder = pin(restart_that_was_not_carried_out(&mark, &daemon, &order));
    assert!(daemon.qd(&["close", "x"]).status.success());
    wait_gone(&holder);
    mark.expect_gone();
    assert!(daemon.list().is_empty());
}

/// A child with a grandchild that has neither our marks nor our session; prints its pid.
const FAMILY: &str = "env -i setsid sleep 1000000 & echo \"bg:$!.\"; exec sleep 1000000";

/// Closes runs whose holder is stopped, before or after a new daemon has started.
fn close_stopped(is_adopted: bool) {
    for _ in 0..scale().min(4) {
        let mark = Mark::default();
        let daemon = TestDaemon::start(QD);
        let spawned = daemon.client().spawn(mark.spawn("stuck", child::shell(FAMILY))).unwrap();
        let said = daemon.wait_pattern("stuck", r"bg:\d+\.").satisfied[0].text.clone().unwrap();
        let background: i32 = said.trim_start_matches("bg:").trim_end_matches('.').parse().unwrap();
        let holder = parent(spawned.pid.unwrap());
        let family = [spawned.pid.unwrap(), background, holder].map(pin);
        signal(holder, Signal::STOP);
        if is_adopted {
            daemon.kill_9();
            assert_eq!(daemon.process("stuck").status, Status::Running);
        }
        assert!(daemon.qd(&["close", "stuck", "--grace", "0.5"]).status.success());
        for member in &family {
            wait_gone(member);
        }
        mark.expect_gone();
        assert!(daemon.list().is_empty());
        assert!(warnings(&daemon).is_empty());
    }
}

#[test]
fn h6_a_run_with_a_stopped_holder_is_closed_all_the_same() {
    close_stopped(false);
}

#[test]
fn h6_a_run_that_was_never_heard_is_closed_all_the_same() {
    close_stopped(true);
}

/// A shell that forks the next one and exits, until a file is there. Functions may not call themselves without end.
const CHAIN: &str = "trap '' HUP TERM; n=0; f() { n=$((n+1)); test $n -lt 900 || exec sh $0 $1; \
    test -e $1 || f $1 & }; f $1";

#[test]
fn h5_what_forks_without_a_mark_below_a_stopped_holder_is_gone_when_close_returns() {
    let daemon = TestDaemon::start(QD);
    let directory = daemon.dirs().data;
    let [pipe, stop, chain] = ["pipe", "stop", "chain"].map(|name| directory.join(name));
    std::fs::write(&chain, CHAIN).unwrap();
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    // Every shell of the chains has the pipe open; the last one's end hangs it up.
    let reader = open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    let script = format!(
        "exec 9>{}; for i in 1 2 3 4; do env -i setsid sh {} {} & done; exec 9>&-; echo ready; \
         exec sleep 1000000",
        pipe.display(),
        chain.display(),
        stop.display()
    );
    let mark = Mark::default();
    let spawned = daemon.client().spawn(mark.spawn("forking", child::shell(&script))).unwrap();
    daemon.wait_pattern("forking", "ready");
    signal(parent(spawned.pid.unwrap()), Signal::STOP);
    let closed = daemon.qd(&["close", "forking", "--now"]);
    let is_gone = poll(&mut [PollFd::new(&reader, PollFlags::empty())], Some(&Timespec::default()));
    std::fs::write(&stop, "").unwrap();
    assert!(closed.status.success(), "{}", String::from_utf8_lossy(&closed.stderr));
    assert_eq!(is_gone, Ok(1), "something forks on");
    mark.expect_gone();
}

/// Kills a run whose holder is silent and lets the holder continue; returns how the run ended.
fn kill_in_the_silence() -> ExitReason {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.client().spawn(mark.spawn("late", child::run_for_ever())).unwrap();
    daemon.wait_pattern("late", "ready");
    let holder = parent(spawned.pid.unwrap());
    signal(holder, Signal::STOP);
    daemon.kill_9();
    let killing = daemon.command(&["kill", "late"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    eventually("the end has begun", || (daemon.process("late").status == Status::Stopping).then_some(()));
    signal(holder, Signal::CONT);
    let killed = killing.unwrap().wait_with_output().unwrap();
    assert!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
    let process = daemon.process("late");
    assert_eq!(process.status, Status::Exited);
    mark.expect_gone();
    process.exit.unwrap().reason
}

#[test]
fn h6_an_end_asked_for_in_the_silence_comes_when_the_holder_answers() {
    // On a machine so busy that the bound passes first the run is lost instead; one round in time is proof.
    let is_told = (0..ROUNDS).any(|_| kill_in_the_silence() == ExitReason::Signalled);
    assert!(is_told, "the holder's own end was never waited for");
}

/// Returns a daemon with a limit of open files, which has reported that it is ready.
fn daemon_with_files(daemon: &TestDaemon, count: u32) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {count} && exec \"$0\" daemon"), QD]);
    command.envs(daemon.variables()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut started = command.spawn().unwrap();
    let mut said = [0; 5];
    started.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    assert_eq!(&said, b"ready", "a daemon with {count} files starts");
    started
}

#[test]
fn d10_a_daemon_that_may_open_too_few_files_loses_no_run() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawn = |n| daemon.client().spawn(mark.spawn(&format!("r{n}"), child::repeat_lines())).unwrap();
    let spawned: Vec<_> = (0..20).map(spawn).collect();
    let expect_all = || {
        let listed = daemon.list();
        assert_eq!(listed.len(), spawned.len());
        for one in &spawned {
            let found = listed.iter().find(|process| process.id == one.id).unwrap();
            assert_eq!((found.pid, found.status), (one.pid, Status::Running));
            assert!(is_alive(one.pid.unwrap()));
        }
    };
    daemon.kill_9();
    let mut poor = daemon_with_files(&daemon, 90);
    expect_all();
    let told = warnings(&daemon);
    assert!(told.iter().any(|warning| warning.contains("Too many open files")), "{told:?}");
    poor.kill().unwrap();
    poor.wait().unwrap();
    expect_all();
    assert!(warnings(&daemon).is_empty(), "{:?}", warnings(&daemon));
    for one in &spawned {
        assert!(daemon.qd(&["send", one.name.as_str(), "hello"]).status.success());
        daemon.wait_pattern(one.name.as_str(), "got:hello");
    }
}

#[test]
fn d10_a_poor_daemon_goes_on_when_others_have_made_room() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawn = |n| daemon.client().spawn(mark.spawn(&format!("r{n}"), child::run_for_ever())).unwrap();
    let spawned: Vec<_> = (0..14).map(spawn).collect();
    daemon.kill_9();
    let mut poor = daemon_with_files(&daemon, 90);
    // Those that were adopted can be closed; the rest then fits, and is tried again automatically.
    let reached: Vec<_> = spawned
        .iter()
        .filter(|one| daemon.qd(&["read", one.name.as_str()]).status.success())
        .map(|one| one.name.to_string())
        .collect();
    assert!(!reached.is_empty() && reached.len() < spawned.len(), "{reached:?}");
    for name in &reached {
        assert!(daemon.qd(&["close", name]).status.success());
    }
    eventually("the rest is heard", || warnings(&daemon).is_empty().then_some(()));
    let listed = daemon.list();
    assert_eq!(listed.len(), spawned.len() - reached.len());
    for process in &listed {
        let known = spawned.iter().find(|one| one.id == process.id).unwrap();
        assert_eq!((process.pid, process.status), (known.pid, Status::Running));
    }
    assert!(daemon.qd(&["shutdown", "--kill"]).status.success());
    poor.wait().unwrap();
}

/// Starts a holder of the given run whose answer no daemon can read; returns its child's pid.
fn hold_unreadably(daemon: &TestDaemon, name: &str, mark: &Mark) -> i32 {
    let socket = daemon.dirs().holders().join(name);
    let mut config =
        holder::RunConfig::new(["sleep", "1000000"].map(Into::into).to_vec(), "/".into(), socket);
    let (variable, value) = mark.variable();
    config.env = vec![("PATH".into(), "/usr/bin:/bin".into()), (variable.into(), value.into())];
    config.meta = b"{\"from\": \"another time\"}".to_vec();
    let launcher = holder::Launcher::for_exe(std::path::Path::new(QD)).unwrap();
    launcher.start(&config).unwrap().hello.fields.child_pid
}

#[test]
fn s3_a_holder_whose_words_do_not_read_is_still_the_run_that_the_database_knows() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.client().spawn(mark.spawn("kept", child::run_for_ever())).unwrap();
    daemon.wait_pattern("kept", "ready");
    daemon.kill_9();
    let first = pin(parent(spawned.pid.unwrap()));
    signal(parent(spawned.pid.unwrap()), Signal::KILL);
    wait_gone(&first);
    let name = format!("{}.{}", spawned.id, spawned.run);
    std::fs::remove_file(daemon.dirs().holders().join(&name)).unwrap();
    let pid = hold_unreadably(&daemon, &name, &mark);
    let process = daemon.process("kept");
    assert_eq!((process.id, process.pid, process.status), (spawned.id, Some(pid), Status::Running));
    assert!(is_alive(pid));
    assert!(daemon.qd(&["close", "kept"]).status.success());
    mark.expect_gone();
}

#[test]
fn s3_a_holder_that_nobody_understands_is_left_alone_and_told_of() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.kill_9();
    let name = "p_zzzzzzzz.1";
    let pid = hold_unreadably(&daemon, name, &mark);
    assert!(daemon.list().is_empty());
    let told = warnings(&daemon);
    assert!(
        told.iter().any(|warning| warning.contains(name) && warning.contains("cannot be read")),
        "{told:?}"
    );
    assert!(is_alive(pid));
    let mut caller = UnixStream::connect(daemon.dirs().holders().join(name)).unwrap();
    caller.write_all(&holder::HANGUP).unwrap();
    mark.expect_gone();
}

/// Starts to close a run with this grace, without waiting.
fn begin_close(daemon: &TestDaemon, name: &str, grace_ms: u32) -> client::Connection {
    let stop = proto::Stop { signal: None, grace_ms: Some(grace_ms) };
    let mut caller = daemon.client();
    let close = proto::request::Close { target: name.into(), keep_background: false, stop };
    caller.send(proto::Request::Close(close)).unwrap();
    caller
}

#[test]
fn m3c_a_daemon_killed_in_the_middle_of_a_grace_leaves_the_program_the_rest_of_it() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let script =
        "trap 'echo asked; read line; echo flushed; exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    let spawned = daemon.client().spawn(mark.spawn("db", child::shell(script))).unwrap();
    daemon.wait_pattern("db", "ready");
    let child = pin(spawned.pid.unwrap());
    let _caller = begin_close(&daemon, "db", 600_000);
    daemon.wait_pattern("db", "asked");
    daemon.kill_9();
    // The next daemon continues the end: the program still has its time, and is closed when it has used it.
    assert_eq!(daemon.process("db").status, Status::Stopping);
    assert!(is_alive(spawned.pid.unwrap()));
    assert!(daemon.qd(&["send", "db", "done"]).status.success());
    wait_gone(&child);
    eventually("it is closed", || daemon.list().is_empty().then_some(()));
    mark.expect_gone();
}

#[test]
fn m3c_a_grace_that_ends_while_there_is_no_daemon_is_insisted_on_by_the_holder() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.client().spawn(mark.spawn("deaf", child::ignore_signals())).unwrap();
    daemon.wait_pattern("deaf", "ready");
    let child = pin(spawned.pid.unwrap());
    let _caller = begin_close(&daemon, "deaf", 1_500);
    eventually("the end has begun", || (daemon.process("deaf").status == Status::Stopping).then_some(()));
    daemon.kill_9();
    wait_gone(&child);
    mark.expect_gone();
    eventually("the next daemon closes it", || daemon.list().is_empty().then_some(()));
}
