//! Ports: where a process's tree listens, which process listens, and waiting for one.

use std::net::{Ipv4Addr, TcpListener};

use proto::ErrorCode;
use proto::ports::PortView;
use proto::process::Ready;
use proto::request::{Empty, Ports, Request, Spawn, Until, Wait};
use testkit::process_scan::eventually;
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::inside::Inside;

/// Returns a program that listens on a free port (or this one) and prints the port and its pid.
fn listener(family: u8, port: u16) -> String {
    let (domain, address) = match family {
        4 => ("AF_INET", format!("pack_sockaddr_in({port}, inet_pton(AF_INET, \"127.0.0.1\"))")),
        _ => ("AF_INET6", format!("pack_sockaddr_in6({port}, inet_pton(AF_INET6, \"::1\"))")),
    };
    let unpack = if family == 4 { "unpack_sockaddr_in" } else { "unpack_sockaddr_in6" };
    format!(
        "perl -MSocket=:all -e '$| = 1; socket(S, {domain}, SOCK_STREAM, 0) or die; bind(S, {address}) or die; \
         listen(S, 5) or die; my ($port) = {unpack}(getsockname(S)); print \"port{family} $port by $$\\n\"; \
         sleep 1000000'"
    )
}

/// Returns the program's output: its port and its pid.
fn told(stage: &MarkedDaemon, name: &str, family: u8) -> (u16, i32) {
    let waited = stage.wait_pattern(name, &format!("port{family} [0-9]+ by [0-9]+"));
    let text = waited.satisfied[0].text.clone().unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| *word == format!("port{family}")).unwrap();
    (words[at + 1].parse().unwrap(), words[at + 3].parse().unwrap())
}

fn ports(stage: &MarkedDaemon, name: &str) -> Vec<PortView> {
    stage.client().ports(Ports { target: name.into() }).unwrap().ports
}

#[test]
fn a_listening_child_and_grandchild_are_found_with_pid_and_program() {
    let stage = MarkedDaemon::start(QD);
    stage.run("other", child::shell(&listener(4, 0)));
    let (other, _) = told(&stage, "other", 4);
    // One of them leaves its session and its parent: it is still below the holder.
    let script = format!("exec 2>&1; (setsid {} &); {} & wait", listener(6, 0), listener(4, 0));
    stage.run("server", child::shell(&script));
    let (four, by_four) = told(&stage, "server", 4);
    let (six, by_six) = told(&stage, "server", 6);
    let found = ports(&stage, "server");
    let seen = |view: &PortView| (view.port, view.address.clone(), view.pid);
    let mut expected = vec![(four, "127.0.0.1".to_owned(), by_four), (six, "::1".to_owned(), by_six)];
    expected.sort();
    assert_eq!(found.iter().map(seen).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|view| view.program.starts_with("perl")), "{found:?}");
    assert!(ports(&stage, "other").iter().all(|view| view.port == other));
    stage.run("quiet", child::run_for_ever());
    assert_eq!(ports(&stage, "quiet"), []);
}

#[test]
fn b6_a_process_does_not_see_its_neighbours_ports() {
    let stage = MarkedDaemon::start(QD);
    stage.run("neighbour", child::run_for_ever());
    let mut inside = Inside::command(&stage, "inside");
    let answers = inside.say(&[
        serde_json::json!({"id": 1, "request": {"hello": {"protocol": proto::version::PROTOCOL}}}),
        serde_json::json!({"id": 2, "request": {"ports": {"target": "neighbour"}}}),
        serde_json::json!({"id": 3, "request": {"ports": {"target": "inside"}}}),
    ]);
    let code = serde_json::from_value::<ErrorCode>(answers[1]["reply"]["outcome"]["error"]["code"].clone());
    assert_eq!(code.unwrap(), ErrorCode::NotRelated, "{answers:?}");
    assert_eq!(answers[2]["reply"]["outcome"]["ok"]["ports"]["ports"], serde_json::json!([]), "{answers:?}");
}

fn ready(name: &str, timeout_ms: u64) -> Request {
    Request::Wait(Wait {
        timeout_ms: Some(timeout_ms),
        ..Wait::until(vec![name.into()], Until::Ready(Empty {}))
    })
}

#[test]
fn e7_a_pattern_that_tells_readiness_is_judged_before_anything_is_started() {
    let stage = MarkedDaemon::start(QD);
    for pattern in ["(", "(a{0,999}){999}"] {
        let ready = Some(Ready::Pattern(pattern.to_owned()));
        let spec = Spawn { ready, ..stage.spec("never", child::run_for_ever()) };
        let failure = stage.refusal(Request::Spawn(Box::new(spec)));
        assert_eq!(failure.code, ErrorCode::InvalidArgs, "{failure:?}");
        assert!(failure.message.starts_with("ready.pattern"), "{failure:?}");
    }
    assert_eq!(stage.list(), []);
}

#[test]
fn a_process_is_ready_when_its_own_tree_listens_on_its_port() {
    let stage = MarkedDaemon::start(QD);
    // Another process listens on that port, on another address: that does not count.
    let ours = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    let port = ours.local_addr().unwrap().port();
    let go = stage.root().join("go");
    let script = format!("until [ -e '{}' ]; do sleep 0.01; done; {}", go.display(), listener(4, port));
    let spec = stage.spec("server", child::shell(&script));
    stage.spawn_as(Spawn { ready: Some(Ready::Port(port)), ..spec });
    assert_eq!(stage.refusal(ready("server", 700)).code, ErrorCode::Timeout);
    // The task that watched is gone; the next daemon watches again.
    stage.kill_9();
    let mut waiting = stage.client();
    let wait = waiting.send(ready("server", 30_000)).unwrap();
    std::fs::write(&go, "").unwrap();
    waiting.answer(wait).unwrap();
    assert_eq!(told(&stage, "server", 4).0, port);
    eventually("its view to say so", || stage.process("server").ready.filter(|ready| *ready));
}
