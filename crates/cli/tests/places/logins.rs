//! One database, one daemon: a login with `XDG_RUNTIME_DIR` and one without (cron, su, ssh) use the same
//! daemon.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::process::Stdio;

use serde_json::Value;
use testkit::{TestDaemon, child};

use crate::{QD, daemons, from_other_login, only_daemon, said};

#[test]
fn m1_a_login_with_another_runtime_directory_sees_the_same_processes() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("mine", child::run_for_ever());
    let other = daemon.root().join("other");
    for verb in [&["--json", "ps"][..], &["--json", "status"], &["--json", "whoami"]] {
        let output = from_other_login(&daemon, &other, verb).output().unwrap();
        assert!(output.status.success(), "{verb:?}: {}", said(&output));
    }
    let listed = from_other_login(&daemon, &other, &["--json", "ps"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["pid"], daemon.process("mine").pid.unwrap(), "{listed}");
    assert_eq!(daemons(&daemon), [daemon.pid()]);
    assert!(!other.exists(), "nothing was made for a daemon that was not started");
}

#[test]
fn m1_a_daemon_started_with_another_runtime_directory_finds_the_first_one() {
    let daemon = TestDaemon::start(QD);
    let other = daemon.root().join("other");
    let output = from_other_login(&daemon, &other, &["daemon"]).output().unwrap();
    assert_eq!(said(&output), format!("ready {}\n", daemon.pid()));
    assert_eq!(daemons(&daemon), [daemon.pid()]);
}

#[test]
fn m1_fifty_starts_from_two_logins_make_one_daemon() {
    let daemon = TestDaemon::without_start(QD);
    let other = daemon.root().join("other");
    let start = |n: usize| {
        let mut command = daemon.command(&["--json", "ps"]);
        if n.is_multiple_of(2) {
            command.env("QD_RUNTIME_DIR", &other);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let starters: Vec<_> = (0..50).map(start).collect();
    for starter in starters {
        let output = starter.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(only_daemon(&daemon), daemon.pid());
}

#[test]
fn m1_the_other_login_goes_on_with_the_processes_of_a_killed_daemon() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("mine", child::run_for_ever());
    let pid = daemon.process("mine").pid.unwrap();
    daemon.kill_9();
    let other = daemon.root().join("other");
    let listed = from_other_login(&daemon, &other, &["--json", "ps"]).output().unwrap();
    assert!(listed.status.success(), "{}", said(&listed));
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((&listed[0]["pid"], &listed[0]["status"]), (&pid.into(), &"running".into()), "{listed}");
    assert_eq!(daemon.process("mine").pid, Some(pid), "and the first login finds it there");
    assert_eq!(daemons(&daemon).len(), 1);
}

#[test]
fn m1_an_ephemeral_daemon_of_the_same_places_touches_nothing_of_the_database() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("mine", child::run_for_ever());
    let other = daemon.root().join("other");
    let mut ephemeral = from_other_login(&daemon, &other, &["--ephemeral", "daemon"]);
    let mut ephemeral = ephemeral.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let listed = testkit::process_scan::eventually("the ephemeral daemon answers", || {
        let output = from_other_login(&daemon, &other, &["--json", "ps"]).output().unwrap();
        other.join("qd.sock").exists().then_some(output)
    });
    let listed = from_other_login(&daemon, &other, &["--json", "ps"]).output().map_or(listed, |last| last);
    assert_eq!(said(&listed), "[]\n", "it has processes of its own only");
    drop(ephemeral.stdin.take());
    assert!(ephemeral.wait().unwrap().success());
    assert_eq!(daemon.list().len(), 1, "and ends none of the others");
}

#[test]
fn m4f_a_daemon_started_from_inside_a_run_is_refused_the_persons_database() {
    let daemon = TestDaemon::start(QD);
    let dirs = daemon.dirs();
    let (told, other) = (daemon.root().join("told"), daemon.root().join("other"));
    // What an agent could do: end the daemon, clear its environment, start another with directories of its
    // own choice.
    let script = format!(
        "until [ -e '{told}.go' ]; do sleep 0.01; done; kill -9 {pid}; env -i HOME=/ \
         QD_RUNTIME_DIR='{runtime}' QD_DATA_DIR='{data}' QD_CONFIG_DIR='{config}' setsid {QD} daemon \
         > '{told}.new' 2>&1; mv '{told}.new' '{told}'; sleep 1000000",
        pid = daemon.pid(),
        runtime = other.display(),
        data = dirs.data.display(),
        config = dirs.config.display(),
        told = told.display(),
    );
    daemon.spawn("agent", child::shell(&script));
    std::fs::write(told.with_extension("go"), "").unwrap();
    let said = testkit::process_scan::eventually("it to be refused", || std::fs::read_to_string(&told).ok());
    assert!(said.contains("inside a process of Quarterdeck"), "{said}");
    assert_eq!(daemon.list().len(), 1, "and a person's qd starts one");
}

#[test]
fn m4f_a_process_that_forges_the_mark_gets_no_daemon_on_the_persons_database_and_stops_no_other() {
    let daemon = TestDaemon::start(QD);
    let (mark, told) = (daemon.dirs().data.join("inside-a-run"), daemon.root().join("told"));
    let script = format!(
        "until [ -e '{told}.go' ]; do sleep 0.01; done; kill -9 {pid}; : > '{mark}'; \
         while :; do setsid {QD} daemon > '{told}.new' 2>&1; grep -qx 'ready {pid}' '{told}.new' || break; done; \
         mv '{told}.new' '{told}'; sleep 1000000",
        pid = daemon.pid(),
        mark = mark.display(),
        told = told.display(),
    );
    // While the kernel takes the killed daemon apart, a new one may still find it and name it as the one that is ready.
    daemon.spawn("agent", child::shell(&script));
    std::fs::write(told.with_extension("go"), "").unwrap();
    let refusal =
        testkit::process_scan::eventually("it to be refused", || std::fs::read_to_string(&told).ok());
    assert!(refusal.contains("inside a process of Quarterdeck"), "{refusal}");
    assert_eq!(daemon.list().len(), 1, "and a person's qd starts one");
    assert!(!mark.exists());
    let status = said(&daemon.qd(&["status"]));
    assert!(status.contains("inside-a-run") && status.contains("removed"), "{status}");
}

/// What a person does in a container that shares the directories with the machine.
const ELSEWHERE: &str = r#"
test "$($QD whoami)" = human
$QD spawn --name web -- sleep 1000000
$QD ps
$QD shutdown --kill
"#;

#[test]
fn m1_a_daemon_outside_of_the_callers_namespace_of_pids_is_reached_and_ended() {
    let daemon = TestDaemon::start(QD);
    let mut command = std::process::Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", "sh", "-ec", ELSEWHERE]);
    command.env_clear().envs(daemon.variables()).env("PATH", "/usr/bin:/bin").env("QD", QD);
    let output = command.output().unwrap();
    let told = said(&output);
    if told.contains("unshare:") {
        println!("not checked: no such namespace here: {told}");
        return;
    }
    assert!(output.status.success(), "{told}");
    assert!(told.contains("web") && told.contains("the daemon has ended"), "{told}");
    assert!(!daemon.qd(&["status"]).status.success(), "no daemon is left");
}

#[test]
fn m1_a_lock_that_no_daemon_answers_for_is_told_with_its_path_and_pid() {
    let daemon = TestDaemon::without_start(QD);
    let dirs = daemon.dirs();
    DirBuilder::new().mode(0o700).create(&dirs.data).unwrap();
    std::fs::write(dirs.data_lock(), "pid 4242\nhost far away\nsocket /nowhere/qd.sock\n").unwrap();
    let held = std::fs::File::open(dirs.data_lock()).unwrap();
    held.lock().unwrap();
    let output = daemon.qd(&["ps"]);
    let told = said(&output);
    assert!(!output.status.success());
    for words in ["far away", "4242", dirs.data_lock().to_str().unwrap(), "QD_DATA_DIR"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}
