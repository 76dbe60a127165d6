//! The async driver and the pool against a scripted daemon in the same process.

use std::os::unix::net::UnixListener;

use proto::frame::{Decoder, Frame};
use proto::reply::{Answer, Done, Outcome, ServerLine};
use proto::request::{Hello, Interrupt, Target};
use proto::version::PROTOCOL;
use proto::{Call, ErrorCode, Failure, Limit, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A daemon whose answers a test gives one by one.
struct Scripted {
    listener: tokio::net::UnixListener,
    dirs: Dirs,
    _root: tempfile::TempDir,
}

/// One accepted connection.
struct Accepted {
    stream: tokio::net::UnixStream,
    decoder: Decoder,
}

impl Scripted {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        std::fs::create_dir_all(&dirs.runtime).unwrap();
        let listener = UnixListener::bind(dirs.socket()).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { listener: tokio::net::UnixListener::from_std(listener).unwrap(), dirs, _root: root }
    }

    fn client(&self) -> AsyncClient {
        AsyncClient::new(self.dirs.clone(), "/nonexistent/qd".into(), 2)
    }

    /// Accepts a connection and answers its hello.
    async fn accept(&self) -> Accepted {
        self.accept_within(None).await.0
    }

    /// Accepts a connection and answers its hello with this limit; returns the hello, too.
    async fn accept_within(&self, limit: Option<Limit>) -> (Accepted, Hello) {
        let (stream, _) = self.listener.accept().await.unwrap();
        let mut accepted = Accepted { stream, decoder: Decoder::default() };
        let Some(Call { id, request: Request::Hello(hello) }) = accepted.call().await else {
            panic!("no hello")
        };
        let (version, caller) = ("1".to_owned(), "human".to_owned());
        let welcome = Welcome { protocol: PROTOCOL, version, pid: 1, caller, limit };
        accepted.answer(id, Outcome::Ok(Reply::Welcome(welcome))).await;
        (accepted, hello)
    }
}

impl Accepted {
    /// Returns the next call; `None` when the client has closed the connection.
    async fn call(&mut self) -> Option<Call> {
        loop {
            match self.decoder.next_frame() {
                Some(Ok(Frame::Line(line))) => return Some(serde_json::from_slice(&line).unwrap()),
                Some(other) => panic!("{other:?}"),
                None => {}
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer).await.unwrap() {
                0 => return None,
                count => self.decoder.push(&buffer[..count]),
            }
        }
    }

    async fn send(&mut self, line: &ServerLine) {
        let mut bytes = serde_json::to_vec(line).unwrap();
        bytes.push(b'\n');
        self.stream.write_all(&bytes).await.unwrap();
    }

    async fn answer(&mut self, id: u64, outcome: Outcome) {
        self.send(&ServerLine::Reply(Answer { id, outcome })).await;
    }

    /// Answers one `list`.
    async fn answer_list(&mut self) {
        let call = self.call().await.unwrap();
        assert!(matches!(call.request, Request::List(_)), "{call:?}");
        self.answer(call.id, Outcome::Ok(Reply::Processes(Vec::new()))).await;
    }

    async fn answer_subscribe(&mut self, revision: u64) {
        let call = self.call().await.unwrap();
        assert!(matches!(call.request, Request::Subscribe(_)), "{call:?}");
        let began = Subscribed { revision, processes: Vec::new() };
        self.answer(call.id, Outcome::Ok(Reply::Subscribed(began))).await;
    }

    async fn announce(&mut self, revision: u64) {
        let what = Event::Selected { id: "p_aaaaaaaa".parse().unwrap(), by: None };
        self.send(&ServerLine::Event(Announcement { revision, what })).await;
    }
}

fn interrupt() -> Interrupt {
    Interrupt { target: Target("a".to_owned()) }
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut accepted = daemon.accept().await;
        accepted.answer_list().await;
        accepted.answer_list().await;
    };
    let ask = async {
        assert!(client.request::<verb::List>(Empty {}).await.unwrap().is_empty());
        assert!(client.request::<verb::List>(Empty {}).await.unwrap().is_empty());
    };
    tokio::join!(serve, ask);
}

#[tokio::test]
async fn n5_a_client_for_a_remote_person_says_the_limit_and_leaves_a_daemon_that_does_not_confirm_it() {
    let daemon = Scripted::new();
    let limit = Limit { workspace: Some("phone".to_owned()), role: Role::View };
    let person = RemotePerson { label: "Ana's phone".to_owned(), limit: limit.clone() };
    let client = daemon.client().for_remote(person);
    for confirmed in [None, Some(Limit::default()), Some(limit.clone())] {
        let is_confirmed = confirmed.as_ref() == Some(&limit);
        let serve = daemon.accept_within(confirmed);
        let ((_accepted, hello), connected) = tokio::join!(serve, client.connect(DaemonStart::Never));
        assert_eq!((hello.limit.as_ref(), hello.label.as_deref()), (Some(&limit), Some("Ana's phone")));
        assert_eq!(hello.token, None, "a remote person has no rights of a run");
        assert_eq!(connected.is_ok(), is_confirmed);
    }
}

#[tokio::test]
async fn a_question_is_asked_again_when_the_daemon_goes_away_before_its_answer() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut first = daemon.accept().await;
        first.call().await.unwrap();
        drop(first);
        daemon.accept().await.answer_list().await;
    };
    let (_, asked) = tokio::join!(serve, client.request::<verb::List>(Empty {}));
    assert!(asked.unwrap().is_empty());
}

#[tokio::test]
async fn what_may_be_done_twice_is_not_sent_again_and_its_outcome_is_unknown() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut first = daemon.accept().await;
        first.call().await.unwrap();
    };
    let (_, asked) = tokio::join!(serve, client.request::<verb::Interrupt>(interrupt()));
    assert!(matches!(asked, Err(CallError::UnknownOutcome)), "{asked:?}");
}

#[tokio::test]
async fn a_connection_whose_daemon_is_gone_is_not_used_again() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        daemon.accept().await.answer_list().await;
        let mut next = daemon.accept().await;
        let call = next.call().await.unwrap();
        next.answer(call.id, Outcome::Ok(Reply::Done(Done {}))).await;
    };
    let ask = async {
        client.request::<verb::List>(Empty {}).await.unwrap();
        // The first connection closes right after its answer; the interrupt must not be lost on it.
        while client.0.idle.lock().unwrap().first().is_some_and(AsyncConnection::is_quiet) {
            tokio::task::yield_now().await;
        }
        client.request::<verb::Interrupt>(interrupt()).await.unwrap();
    };
    tokio::join!(serve, ask);
}

#[tokio::test]
async fn a_refusal_is_an_answer_and_keeps_the_connection() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut accepted = daemon.accept().await;
        let call = accepted.call().await.unwrap();
        accepted.answer(call.id, Outcome::Error(Failure::new(ErrorCode::NotFound, "no"))).await;
        accepted.answer_list().await;
    };
    let ask = async {
        let refused = client.request::<verb::Interrupt>(interrupt()).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(failure) if failure.code == ErrorCode::NotFound));
        client.request::<verb::List>(Empty {}).await.unwrap();
    };
    tokio::join!(serve, ask);
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection_so_that_the_daemon_drops_the_request() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut accepted = daemon.accept().await;
        accepted.call().await.unwrap();
        accepted
    };
    let mut accepted = tokio::select! {
        accepted = serve => accepted,
        _ = client.request::<verb::List>(Empty {}) => panic!("nothing was answered"),
    };
    assert_eq!(accepted.call().await, None, "the connection is closed");
}

#[tokio::test]
async fn there_are_at_most_as_many_calls_at_once_as_the_link_was_made_for() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let (first, second) = (client.request::<verb::List>(Empty {}), client.request::<verb::List>(Empty {}));
    let busy = async {
        let _both = (daemon.accept().await, daemon.accept().await);
        client.request::<verb::List>(Empty {}).await.unwrap_err()
    };
    tokio::select! {
        error = busy => assert!(matches!(error, CallError::Busy), "{error}"),
        _ = first => panic!("nothing was answered"),
        _ = second => panic!("nothing was answered"),
    }
}

#[tokio::test]
async fn events_begin_again_with_resync_after_the_end_of_a_daemon() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut first = daemon.accept().await;
        first.answer_subscribe(4).await;
        first.announce(5).await;
        drop(first);
        let mut second = daemon.accept().await;
        second.answer_subscribe(9).await;
        second
    };
    let listen = async {
        let mut events = client.events();
        let mut heard = Vec::new();
        for _ in 0..3 {
            let next = events.next().await.unwrap();
            heard.push((next.revision, matches!(next.what, Event::Resync {})));
        }
        assert_eq!(heard, [(4, true), (5, false), (9, true)]);
        assert_eq!(events.began().unwrap().revision, 9);
    };
    tokio::join!(serve, listen);
}

#[tokio::test]
async fn receiving_can_be_dropped_at_any_moment_and_sends_what_is_queued() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut accepted = daemon.accept().await;
        accepted.answer_subscribe(1).await;
        let call = accepted.call().await.unwrap();
        assert!(matches!(call.request, Request::Status(_)), "{call:?}");
        for revision in 2..200 {
            accepted.announce(revision).await;
            tokio::task::yield_now().await;
        }
        accepted
    };
    let listen = async {
        let (mut stream, began) =
            client.open::<verb::Subscribe>(CallOptions::default(), Empty {}).await.unwrap();
        stream.queue(Request::Status(Empty {})).unwrap();
        let mut last = began.revision;
        while last < 199 {
            tokio::select! {
                incoming = stream.receive() => match incoming.unwrap() {
                    Some(Incoming::Event(event)) => {
                        assert_eq!(event.revision, last + 1);
                        last = event.revision;
                    }
                    other => panic!("{other:?}"),
                },
                () = tokio::task::yield_now() => {}
            }
        }
    };
    tokio::join!(serve, listen);
}

#[tokio::test]
async fn a_half_sends_while_the_other_half_waits_for_what_the_daemon_sends() {
    let daemon = Scripted::new();
    let client = daemon.client();
    let serve = async {
        let mut accepted = daemon.accept().await;
        accepted.answer_subscribe(1).await;
        // The request arrives although nothing was sent to the half that receives.
        let call = accepted.call().await.unwrap();
        assert!(matches!(call.request, Request::Interrupt(_)), "{call:?}");
        accepted.announce(2).await;
        accepted.answer(call.id, Outcome::Ok(Reply::Done(Done {}))).await;
        call.id
    };
    let ask = async {
        let subscribe = client.open::<verb::Subscribe>(CallOptions::default(), Empty {}).await;
        let (mut reader, mut writer) = subscribe.unwrap().0.into_split();
        let mut receiving = tokio::spawn(async move {
            let mut received = Vec::new();
            while let Some(incoming) = reader.receive().await.unwrap() {
                received.push(incoming);
            }
            received
        });
        assert!(tokio::time::timeout(Duration::ZERO, &mut receiving).await.is_err(), "nothing arrived yet");
        (writer.send(Request::Interrupt(interrupt())).await.unwrap(), receiving, writer)
    };
    let (answered, (sent, receiving, _writer)) = tokio::join!(serve, ask);
    assert_eq!(answered, sent);
    let received = receiving.await.unwrap();
    assert!(matches!(&received[0], Incoming::Event(event) if event.revision == 2), "{received:?}");
    assert!(matches!(&received[1], Incoming::Answer(answer) if answer.id == sent), "{received:?}");
}
