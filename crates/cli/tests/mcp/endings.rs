//! How the proxy ends: with its client, promptly and silently, and for no other reason.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::json;
use testkit::{MarkedDaemon, TestDaemon, child, wait_for_end};

use crate::QD;
use crate::proxy::{Proxy, processor_time};

#[test]
fn d7_the_end_of_input_ends_it_even_while_it_waits() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quiet", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    for _ in 0..5 {
        proxy.begin(
            "tools/call",
            json!({"name": "wait_for_pattern", "arguments": {"process": "quiet", "pattern": "never"}}),
        );
    }
    assert_eq!(proxy.request("ping", json!({}))["result"], json!({}));
    proxy.hang_up();
    let status = wait_for_end(&mut proxy.child, testkit::DEADLINE);
    assert!(status.success(), "{status}");
}

#[test]
fn what_was_asked_before_the_input_ended_is_still_answered() {
    let stage = MarkedDaemon::start(QD);
    stage.run("known", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let ids: Vec<u64> = (0..20)
        .map(|_| proxy.begin("tools/call", json!({"name": "list_processes", "arguments": {}})))
        .collect();
    proxy.hang_up();
    for id in ids {
        assert_eq!(proxy.answer(id)["result"]["isError"], json!(false));
    }
    assert!(wait_for_end(&mut proxy.child, testkit::DEADLINE).success());
}

#[test]
fn an_interrupt_is_a_normal_end() {
    let daemon = TestDaemon::without_start(QD);
    for signal in [Signal::INT, Signal::TERM] {
        let mut proxy = Proxy::greeted(&daemon);
        kill_process(pid_of(proxy.child.id()), signal).unwrap();
        let status = wait_for_end(&mut proxy.child, testkit::DEADLINE);
        assert_eq!(status.code(), Some(0), "{signal:?}: {status}");
    }
}

#[test]
fn d7_it_goes_with_its_parent_and_burns_nothing() {
    let daemon = TestDaemon::without_start(QD);
    let fifo = daemon.root().join("input");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The test itself keeps the input open for writing, so that only the parent's death can end the proxy.
    let _held = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    let script = format!("'{QD}' mcp < '{}' > /dev/null & echo $!; wait", fifo.display());
    let mut parent = std::process::Command::new("sh");
    parent.args(["-c", &script]).stdout(Stdio::piped()).stdin(Stdio::null()).envs(daemon.variables());
    let mut parent = parent.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().parse().unwrap();
    let proxy = pidfd_open(pid_of(pid), PidfdFlags::empty()).unwrap();
    assert!(!is_over(&proxy, Duration::from_millis(300)), "it ended although its parent lives");
    parent.kill().unwrap();
    let killed = Instant::now();
    let mut spent = processor_time(pid);
    while !is_over(&proxy, Duration::from_millis(5)) {
        spent = processor_time(pid).or(spent);
        if killed.elapsed() > testkit::DEADLINE {
            panic!("it outlives its parent");
        }
    }
    parent.wait().unwrap();
    assert!(spent.is_none_or(|spent| spent < Duration::from_millis(200)), "{spent:?}");
}

#[test]
fn d7_it_ends_when_nobody_reads_its_answers() {
    let daemon = TestDaemon::without_start(QD);
    let mut command = daemon.command(&["mcp"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let (kept_reader, mut kept_writer) = std::io::pipe().unwrap();
    let mut child = command.stdin(kept_reader).stdout(writer).spawn().unwrap();
    drop(command);
    drop(reader);
    std::io::Write::write_all(&mut kept_writer, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    let status = wait_for_end(&mut child, testkit::DEADLINE);
    assert!(status.success(), "{status}");
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

fn is_over(process: &OwnedFd, within: Duration) -> bool {
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&time)).unwrap() > 0
}
