//! How a caller is identified that tries to pass for another: by a recycled pid, or as a program that the
//! daemon runs itself.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use testkit::pid_namespace::with_few_pids;
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::inside::{Inside, with_shell_agents};

/// Connects, leaves the connection to a child and exits. The child sends lines on demand.
const CUCKOO: &str = r#"use Socket;
my ($path, $dir) = @ARGV;
socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
connect(S, sockaddr_un($path)) or die "no connection";
my $pid = $$;
if (fork) { exit 0 }
open(O, ">", "$dir/left.new"); print O $pid; close O; rename "$dir/left.new", "$dir/left";
select(undef, undef, undef, 0.01) until -e "$dir/go";
for my $line ('{"id":1,"request":{"hello":{"protocol":1,"client":"cuckoo"}}}', '{"id":2,"request":{"who_am_i":{}}}') {
    syswrite(S, "$line\n");
    my $answer = <S>;
    open(O, ">>", "$dir/heard"); print O $answer // "closed\n"; close O;
}
rename "$dir/heard", "$dir/said";
"#;

fn appears(path: &Path) -> String {
    testkit::process_scan::eventually("a file", || std::fs::read_to_string(path).ok())
}

/// Starts programs of a person until one has this pid.
fn take_pid(pid: i32) -> std::process::Child {
    // There are 400 pids: a thousand programs cover each free one.
    for _ in 0..1000 {
        let mut person = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        if i32::try_from(person.id()).unwrap() == pid {
            return person;
        }
        person.kill().unwrap();
        person.wait().unwrap();
    }
    panic!("{pid} is not used again");
}

fn leave_a_connection(is_pid_taken: bool) {
    if is_pid_taken {
        // The first three hundred pids are used only once.
        let used = Command::new("perl").args(["-e", "for (1..310) { fork or exit; wait }"]).status().unwrap();
        assert!(used.success());
    }
    let stage = MarkedDaemon::start(QD);
    let mut inside = Inside::command(&stage, "cuckoo");
    std::fs::write(inside.directory.join("cuckoo.pl"), CUCKOO).unwrap();
    let daemon = Pid::from_raw(stage.pid()).unwrap();
    let socket = stage.places().socket();
    let job = format!("until [ -e stopped ]; do sleep 0.01; done; perl cuckoo.pl '{}' .", socket.display());
    let (code, out) = inside.run(&format!("({job}) > /dev/null 2>&1 &"));
    assert_eq!(code, 0, "{out}");
    kill_process(daemon, Signal::STOP).unwrap();
    std::fs::write(inside.directory.join("stopped"), "").unwrap();
    let pid: i32 = appears(&inside.directory.join("left")).parse().unwrap();
    let person = is_pid_taken.then(|| take_pid(pid));
    kill_process(daemon, Signal::CONT).unwrap();
    std::fs::write(inside.directory.join("go"), "").unwrap();
    let said = appears(&inside.directory.join("said"));
    assert!(!said.contains("\"human\""), "{said}");
    assert!(said.contains("unauthorized"), "{said}");
    if let Some(mut person) = person {
        person.kill().unwrap();
        person.wait().unwrap();
    }
}

#[test]
fn m4a_a_caller_that_is_gone_is_nobody_even_when_a_person_has_its_pid() {
    let name = "origin::m4a_a_caller_that_is_gone_is_nobody_even_when_a_person_has_its_pid";
    with_few_pids(name, || leave_a_connection(true), || leave_a_connection(false));
}

#[test]
fn m4b_what_the_daemon_runs_is_nobody_and_stays_nobody_when_the_daemon_is_gone() {
    let stage = with_shell_agents();
    let (places, root) = (stage.places(), stage.root().to_owned());
    let exports: String = stage
        .variables()
        .iter()
        .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
        .collect();
    let script = format!(
        "{exports} cd '{}'; '{QD}' whoami > at-once 2>&1; '{QD}' close victim >> at-once 2>&1; \
         setsid sh -c \"mv at-once told; until [ -e go ]; do sleep 0.01; done; \
         '{QD}' close victim > late 2>&1; mv late told-late\" > /dev/null 2>&1 & \
         until [ -e told ]; do sleep 0.01; done",
        root.display()
    );
    let command: Vec<String> = ["sh", "-c", &script, "notify"].map(str::to_owned).to_vec();
    let config = format!("[notify]\ncommand = {}\ndesktop = false\n", serde_json::json!(command));
    std::fs::write(places.config.join("config.toml"), config).unwrap();
    stage.run("victim", child::run_for_ever());
    let mut inside = Inside::agent(&stage, "writer");
    let (code, out) = inside.run(&format!("'{QD}' attention 'look here'"));
    assert_eq!(code, 0, "{out}");
    let told = appears(&root.join("told"));
    assert!(told.contains("could not be identified"), "{told}");
    stage.kill_9();
    drop(stage.client());
    std::fs::write(root.join("go"), "").unwrap();
    let late = appears(&root.join("told-late"));
    assert!(late.contains("could not be identified"), "{late}");
    assert!(stage.process("victim").exit.is_none());
}

#[test]
fn m4b_the_daemon_runs_no_program_to_know_the_time() {
    let daemon = testkit::TestDaemon::without_start(QD);
    let planted = daemon.root().join("bin");
    std::fs::create_dir(&planted).unwrap();
    let told = daemon.root().join("told");
    let program = planted.join("date");
    std::fs::write(&program, format!("#!/bin/sh\necho run > '{}'\n", told.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", planted.display(), std::env::var("PATH").unwrap());
    let started = daemon.command(&["ps"]).env("PATH", path).output().unwrap();
    assert!(started.status.success());
    let stage = MarkedDaemon::around(daemon);
    // A whole life, and then an end: every request that it causes has been made.
    stage.run("one", child::print_and_exit("x", 0));
    stage.wait_exit("one");
    assert!(!told.exists(), "the daemon ran a program from the user's path");
}

/// Greets a holder as a daemon would, and keeps its answer.
const SPY: &str = r#"use Socket;
my ($path) = @ARGV;
socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
connect(S, sockaddr_un($path)) or die "no connection";
syswrite(S, pack("VCv", 3, 2, 1));
my $count = sysread(S, my $answer, 65536);
print "heard " . ($count // "nothing") . "\n";
"#;

#[test]
fn m4c_a_run_cannot_link_to_the_holder_of_another() {
    let stage = MarkedDaemon::start(QD);
    let victim = stage.run("victim", child::shell("read line; echo got $line; sleep 1000000"));
    let socket = stage.places().holders().join(format!("{}.1", victim.id));
    let mut inside = Inside::command(&stage, "spy");
    std::fs::write(inside.directory.join("spy.pl"), SPY).unwrap();
    for leaving in ["", "setsid -w "] {
        let (code, out) = inside.run(&format!("{leaving}perl spy.pl '{}'", socket.display()));
        assert_eq!((code, out.trim()), (0, "heard 0"), "the holder hangs up");
    }
    assert!(stage.qd(&["send", "victim", "hello"]).status.success());
    stage.wait_pattern("victim", "got hello");
}
