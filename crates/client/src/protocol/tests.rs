//! The protocol without a socket: bytes in, answers and events out, however the stream is cut.

use proto::Failure;
use proto::event::Event;
use proto::reply::DaemonStatus;

use super::*;

fn line(line: &ServerLine) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).unwrap();
    bytes.push(b'\n');
    bytes
}

fn answer(id: u64, outcome: Outcome) -> Vec<u8> {
    line(&ServerLine::Reply(Answer { id, outcome }))
}

fn event(revision: u64) -> Vec<u8> {
    line(&ServerLine::Event(Announcement { revision, what: Event::Resync {} }))
}

fn done() -> Outcome {
    Outcome::Ok(Reply::Done(proto::reply::Done {}))
}

fn list() -> Request {
    Request::List(Empty {})
}

/// Returns the calls that wait to be sent.
fn calls(protocol: &mut Protocol) -> Vec<Call> {
    let bytes = protocol.sends.outgoing().to_vec();
    protocol.sends.note_sent(bytes.len());
    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect()
}

#[test]
fn answers_come_in_any_order_and_what_comes_between_stays() {
    let mut protocol = Protocol::default();
    let (first, second) = (protocol.sends.request(list()).unwrap(), protocol.sends.request(list()).unwrap());
    assert_eq!(calls(&mut protocol).iter().map(|call| call.id).collect::<Vec<_>>(), [first, second]);
    protocol.receives.receive(&[answer(second, done()), event(7), answer(first, done()), event(8)].concat());
    assert!(protocol.receives.answer(first).unwrap().is_some());
    assert!(protocol.receives.answer(first).unwrap().is_none(), "an answer is returned once");
    assert!(protocol.receives.answer(second).unwrap().is_some());
    for revision in [7, 8] {
        let next = protocol.receives.next_arrived().unwrap();
        assert!(matches!(&next, Some(Incoming::Event(event)) if event.revision == revision), "{next:?}");
    }
    assert_eq!(protocol.receives.next_arrived().unwrap(), None);
}

#[test]
fn the_same_arrives_wherever_the_stream_is_cut() {
    let mut data = Protocol::default();
    data.sends.input(3, 40, b"line\nfeed").unwrap();
    let bytes = [event(1), data.sends.outgoing().to_vec(), answer(9, done())].concat();
    for at in 0..=bytes.len() {
        let mut protocol = Protocol::default();
        let mut arrived = Vec::new();
        for part in [&bytes[..at], &bytes[at..]] {
            protocol.receives.receive(part);
            while let Some(incoming) = protocol.receives.next_arrived().unwrap() {
                arrived.push(incoming);
            }
        }
        assert!(
            matches!(&arrived[..], [Incoming::Event(_), Incoming::Data(data), Incoming::Answer(_)]
                if data.bytes == b"line\nfeed" && (data.stream, data.offset) == (3, 40)),
            "cut at {at}: {arrived:?}"
        );
    }
}

#[test]
fn bytes_are_sent_once_and_in_order_whatever_the_socket_accepts() {
    let mut protocol = Protocol::default();
    for _ in 0..2_000 {
        protocol.sends.request(list()).unwrap();
    }
    let all = protocol.sends.outgoing().to_vec();
    let mut sent = Vec::new();
    while !protocol.sends.outgoing().is_empty() {
        let count = protocol.sends.outgoing().len().min(1_000);
        sent.extend_from_slice(&protocol.sends.outgoing()[..count]);
        protocol.sends.note_sent(count);
    }
    assert_eq!(sent, all);
}

#[test]
fn a_failure_is_the_answer_to_its_call_and_without_a_call_to_any() {
    let mut protocol = Protocol::default();
    let id = protocol.sends.request(list()).unwrap();
    protocol.receives.receive(&answer(0, Outcome::Error(Failure::new(ErrorCode::Busy, "full"))));
    let error = protocol.receives.answer(id).unwrap_err();
    assert!(matches!(error, ClientError::Failed(failure) if failure.code == ErrorCode::Busy));
}

#[test]
fn what_is_not_the_protocol_is_an_error() {
    let mut protocol = Protocol::default();
    protocol.receives.receive(b"{\"hello\":1}\n");
    assert!(matches!(protocol.receives.next_arrived(), Err(ClientError::Broken(_))));
    assert!(protocol.sends.input(1, 0, &vec![0; MAX_DATA + 1]).is_err(), "a frame has a longest size");
    assert!(protocol.sends.outgoing().is_empty(), "nothing of it is sent");
}

fn welcome(protocol: u16) -> Outcome {
    let (version, caller) = ("1".to_owned(), "human".to_owned());
    Outcome::Ok(Reply::Welcome(Welcome { protocol, version, pid: 1, caller, limit: None }))
}

#[test]
fn a_hello_is_over_with_the_welcome_of_our_version() {
    let mut protocol = Protocol::default();
    let mut greeting = protocol.greet(hello(None)).unwrap();
    assert_eq!(protocol.welcome(&mut greeting).unwrap(), None);
    protocol.receives.receive(&answer(1, welcome(PROTOCOL)));
    assert!(protocol.welcome(&mut greeting).unwrap().is_some());
}

#[test]
fn a_daemon_that_refuses_our_version_is_asked_for_its_own() {
    let refused = Outcome::Error(Failure::new(ErrorCode::Version, "another version"));
    let mut protocol = Protocol::default();
    let mut greeting = protocol.greet(hello(None)).unwrap();
    calls(&mut protocol);
    protocol.receives.receive(&answer(1, refused));
    assert_eq!(protocol.welcome(&mut greeting).unwrap(), None);
    let asked = calls(&mut protocol);
    assert!(matches!(&asked[..], [Call { request: Request::Status(_), .. }]), "{asked:?}");
    let theirs = PROTOCOL + 1;
    let status = DaemonStatus { protocol: theirs, ..status() };
    protocol.receives.receive(&answer(asked[0].id, Outcome::Ok(Reply::Status(status))));
    let error = protocol.welcome(&mut greeting).unwrap_err();
    assert!(matches!(error, ClientError::Version { theirs: found, .. } if found == theirs), "{error}");
}

#[test]
fn a_daemon_that_refuses_our_version_and_closes_has_an_unknown_one() {
    let mut protocol = Protocol::default();
    let mut greeting = protocol.greet(hello(None)).unwrap();
    assert!(Protocol::ended(&greeting).is_leaving());
    protocol
        .receives
        .receive(&answer(1, Outcome::Error(Failure::new(ErrorCode::Version, "another version"))));
    assert_eq!(protocol.welcome(&mut greeting).unwrap(), None);
    assert!(matches!(Protocol::ended(&greeting), ClientError::Version { theirs: 0, .. }));
}

fn status() -> DaemonStatus {
    serde_json::from_value(serde_json::json!({
        "running": true, "pid": 1, "version": "1", "protocol": 1, "processes": 0, "viewers": 0, "uptime_s": 1,
    }))
    .unwrap()
}
