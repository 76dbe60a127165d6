//! A verb's first request goes out together with the hello, against a scripted daemon in the same process.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use client::{ClientError, DaemonAddress, reconnecting};
use proto::reply::{Answer, DaemonStatus, Outcome, ServerLine, Welcome};
use proto::version::PROTOCOL;
use proto::{Call, Dirs, ErrorCode, Failure, Reply, Request};

/// One accepted connection of a scripted daemon.
struct Accepted(BufReader<UnixStream>);

impl Accepted {
    fn next_call(&mut self) -> Call {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn answer(&mut self, id: u64, outcome: Outcome) {
        let mut line = serde_json::to_vec(&ServerLine::Reply(Answer { id, outcome })).unwrap();
        line.push(b'\n');
        self.0.get_mut().write_all(&line).unwrap();
    }

    /// Returns the ids of a hello and of a `list` behind it. None of them has an answer.
    fn hello_and_list(&mut self) -> (u64, u64) {
        let (hello, list) = (self.next_call(), self.next_call());
        assert!(matches!(hello.request, Request::Hello(_)), "{hello:?}");
        assert!(matches!(list.request, Request::List(_)), "{list:?}");
        (hello.id, list.id)
    }
}

fn welcome() -> Outcome {
    let (version, caller) = ("1".to_owned(), "human".to_owned());
    Outcome::Ok(Reply::Welcome(Welcome { protocol: PROTOCOL, version, pid: 1, caller, limit: None }))
}

/// Asks a daemon, which does this with each connection, for a list.
fn list_from(mut serve: impl FnMut(usize, Accepted) -> bool + Send) -> Result<usize, ClientError> {
    let root = tempfile::tempdir().unwrap();
    let dirs = Dirs::below(root.path());
    std::fs::create_dir_all(&dirs.runtime).unwrap();
    let listener = UnixListener::bind(dirs.socket()).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let accepted = (0..).map(|number| (number, listener.accept().unwrap().0));
            for (number, stream) in accepted {
                if !serve(number, Accepted(BufReader::new(stream))) {
                    return;
                }
            }
        });
        reconnecting::list(&mut DaemonAddress::without_start(dirs)).map(|all| all.len())
    })
}

#[test]
fn the_first_request_does_not_wait_for_the_welcome() {
    let listed = list_from(|_, mut accepted| {
        let (hello, list) = accepted.hello_and_list();
        accepted.answer(hello, welcome());
        accepted.answer(list, Outcome::Ok(Reply::Processes(Vec::new())));
        false
    });
    assert_eq!(listed.unwrap(), 0);
}

#[test]
fn a_daemon_that_closes_without_a_welcome_is_asked_again() {
    let listed = list_from(|number, mut accepted| {
        let (hello, list) = accepted.hello_and_list();
        if number < 2 {
            return true;
        }
        accepted.answer(hello, welcome());
        accepted.answer(list, Outcome::Ok(Reply::Processes(Vec::new())));
        false
    });
    assert_eq!(listed.unwrap(), 0);
}

#[test]
fn a_daemon_of_another_version_is_named_although_it_answers_the_request_behind_the_hello() {
    let listed = list_from(|_, mut accepted| {
        let (hello, list) = accepted.hello_and_list();
        accepted.answer(hello, Outcome::Error(Failure::new(ErrorCode::Version, "another protocol")));
        accepted.answer(list, Outcome::Error(Failure::new(ErrorCode::Protocol, "say hello first")));
        let status = accepted.next_call();
        assert!(matches!(status.request, Request::Status(_)), "{status:?}");
        let told = DaemonStatus {
            running: true,
            pid: 1,
            version: "0".to_owned(),
            protocol: PROTOCOL + 1,
            processes: 0,
            viewers: 0,
            uptime_s: 0,
            warnings: Vec::new(),
        };
        accepted.answer(status.id, Outcome::Ok(Reply::Status(told)));
        false
    });
    assert!(matches!(listed, Err(ClientError::Version { theirs, .. }) if theirs == PROTOCOL + 1));
}
