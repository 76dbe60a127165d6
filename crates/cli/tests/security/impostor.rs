//! A process of a run that listens where the daemon should: no `qd` talks to it, and the person is told which
//! program it is.

use std::path::PathBuf;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use testkit::process_scan::eventually;
use testkit::{MarkedDaemon, child};

use crate::inside::Inside;
use crate::{QD, said};

/// Puts sockets of its own where its arguments say, and writes down what it is sent. With a first argument of
/// `leave`, the process that listens ends, and a child of it serves.
const LISTENER: &str = r#"use Socket;
my ($how, $heard, @paths) = @ARGV;
my @listeners;
for my $path (@paths) {
    unlink $path;
    socket(my $listener, AF_UNIX, SOCK_STREAM, 0) or die;
    bind($listener, sockaddr_un($path)) or die;
    listen($listener, 16) or die;
    push @listeners, $listener;
}
if ($how eq 'leave' && fork) { exit 0 }
open(my $ready, '>', "$heard.ready"); close $ready;
while (1) {
    my $bits = '';
    vec($bits, fileno($_), 1) = 1 for @listeners;
    select(my $found = $bits, undef, undef, undef);
    for my $listener (grep { vec($found, fileno($_), 1) } @listeners) {
        accept(my $client, $listener) or next;
        my $got = sysread($client, my $bytes, 4096);
        next unless $got;
        open(my $out, '>>', $heard); print $out $bytes; close $out;
        syswrite($client, "{\"welcome\":\"here\"}\n");
    }
}
"#;

/// Stops the daemon, so that it cannot open its sockets again, and lets a run listen in its place.
fn replaced(stage: &MarkedDaemon, how: &str) -> (Pid, PathBuf) {
    let (dirs, heard) = (stage.dirs(), stage.root().join(format!("heard-{how}")));
    let script = stage.root().join("listener.pl");
    std::fs::write(&script, LISTENER).unwrap();
    let go = stage.root().join(format!("go-{how}"));
    let listen = format!(
        "until [ -e '{}' ]; do sleep 0.01; done; perl '{}' {how} '{}' '{}' '{}'; sleep 1000000",
        go.display(),
        script.display(),
        heard.display(),
        dirs.socket().display(),
        dirs.data_socket().unwrap().display(),
    );
    stage.run(how, child::shell(&listen));
    let daemon = Pid::from_raw(stage.pid()).unwrap();
    kill_process(daemon, Signal::STOP).unwrap();
    std::fs::write(&go, "").unwrap();
    eventually("it listens", || heard.with_extension("ready").exists().then_some(()));
    (daemon, heard)
}

#[test]
fn m4i_no_qd_talks_to_a_process_of_a_run_that_listens_in_the_daemons_place() {
    let stage = MarkedDaemon::start(QD);
    let mut inside = Inside::terminal(&stage, "terminal");
    let (daemon, heard) = replaced(&stage, "stay");
    let outside = stage.qd(&["ps"]);
    let doctor = stage.qd(&["doctor"]);
    kill_process(daemon, Signal::CONT).unwrap();
    assert!(!outside.status.success() && !doctor.status.success());
    for told in [said(&outside), said(&doctor)] {
        let words = ["(perl)", "`kill ", &format!("is process {}", daemon.as_raw_pid())];
        for word in words {
            assert!(told.contains(word), "{word}: {told}");
        }
    }
    assert!(!heard.exists(), "{}", std::fs::read_to_string(&heard).unwrap_or_default());
    eventually("the daemon listens again", || stage.qd(&["ps"]).status.success().then_some(()));
    assert_eq!(stage.pid(), daemon.as_raw_pid());
    let (code, out) = inside.run(&format!("{QD} ps"));
    assert_eq!(code, 0, "{out}");
    assert!(!heard.exists(), "{}", std::fs::read_to_string(&heard).unwrap_or_default());
}

#[test]
fn m4i_a_socket_whose_listener_is_gone_is_not_talked_to_whoever_serves_it() {
    let stage = MarkedDaemon::start(QD);
    let (daemon, heard) = replaced(&stage, "leave");
    let status = stage.qd(&["status"]);
    kill_process(daemon, Signal::CONT).unwrap();
    assert!(!heard.exists(), "{}: {}", said(&status), std::fs::read_to_string(&heard).unwrap_or_default());
    eventually("the daemon listens again", || stage.qd(&["ps"]).status.success().then_some(()));
    assert_eq!(stage.pid(), daemon.as_raw_pid());
}

#[test]
fn m4i_a_qd_in_a_persons_terminal_does_not_talk_to_another_run_either() {
    let stage = MarkedDaemon::start(QD);
    let mut inside = Inside::terminal(&stage, "terminal");
    let told = stage.root().join("told");
    let later = format!(
        "(until [ -e '{0}.go' ]; do sleep 0.01; done; {QD} ps > '{0}.new' 2>&1; mv '{0}.new' '{0}') > /dev/null 2>&1 &",
        told.display()
    );
    assert_eq!(inside.run(&later).0, 0);
    let (daemon, heard) = replaced(&stage, "stay");
    std::fs::write(told.with_extension("go"), "").unwrap();
    let said = eventually("its qd gives up", || std::fs::read_to_string(&told).ok());
    kill_process(daemon, Signal::CONT).unwrap();
    assert!(said.contains("(perl)"), "{said}");
    assert!(!heard.exists());
}

#[test]
fn m4i_a_daemon_whose_limit_a_run_has_lowered_is_still_the_daemon() {
    let stage = MarkedDaemon::start(QD);
    let daemon = Pid::from_raw(stage.pid());
    let lowest = Rlimit { current: Some(1000), maximum: Some(1000) };
    prlimit(daemon, Resource::Locks, lowest).unwrap();
    let listed = stage.qd(&["ps"]);
    assert!(listed.status.success(), "{}", said(&listed));
    let mut inside = Inside::terminal(&stage, "terminal");
    let (code, out) = inside.run(&format!("{QD} ps"));
    assert_eq!(code, 0, "{out}");
}
