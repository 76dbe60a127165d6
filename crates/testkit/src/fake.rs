//! A fake daemon: the daemon's side of the socket, played by the test itself, which can also send replies
//! that no daemon would. It does the framing only.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Instant;

use proto::frame::{Data, DataKind, Decoder, Frame, encode_data};
use proto::reply::{Answer, Attached, ServerLine, Welcome};
use proto::version::{PROTOCOL, VERSION};
use proto::{Call, Dirs, Failure, Name, Notice, Outcome, ProcessId, Reply, Request, RunNumber, Size};

use crate::deadline::{DEADLINE, readable};

/// A socket where a daemon's would be.
#[derive(Debug)]
pub struct FakeDaemon {
    listener: UnixListener,
    dirs: Dirs,
}

/// Something a client sent.
#[derive(Clone, Debug, PartialEq)]
pub enum FromClient {
    /// A call.
    Call(Box<Call>),
    /// A data frame.
    Data(Data),
    /// The client closed the connection.
    End,
}

/// The daemon's end of one connection.
#[derive(Debug)]
pub struct Peer {
    stream: UnixStream,
    decoder: Decoder,
    queue: VecDeque<FromClient>,
}

impl FakeDaemon {
    /// Listens in the directories below `root` and replaces a dead daemon's socket.
    #[must_use]
    pub fn listen(root: &Path) -> Self {
        let dirs = Dirs::below(root);
        DirBuilder::new().recursive(true).mode(0o700).create(&dirs.runtime).expect("a directory can be made");
        let socket = dirs.socket();
        if socket.exists() {
            std::fs::remove_file(&socket).expect("a left-over socket can be removed");
        }
        let listener = UnixListener::bind(socket).expect("a socket can be bound");
        Self { listener, dirs }
    }

    /// Returns where it listens.
    #[must_use]
    pub fn dirs(&self) -> &Dirs {
        &self.dirs
    }

    /// Returns the next client.
    #[must_use]
    pub fn accept(&self) -> Peer {
        assert!(readable(&[self.listener.as_fd()], Instant::now() + DEADLINE)[0], "no client came");
        let (stream, _) = self.listener.accept().expect("a client that knocks can be accepted");
        Peer { stream, decoder: Decoder::default(), queue: VecDeque::new() }
    }

    /// Accepts the next client and welcomes it.
    #[must_use]
    pub fn accept_welcome(&self) -> Peer {
        let mut peer = self.accept();
        let call = peer.call();
        assert!(matches!(call.request, Request::Hello(_)), "{call:?}");
        let welcome = Welcome {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            pid: 1,
            caller: "human".to_owned(),
            limit: None,
        };
        peer.reply(call.id, Reply::Welcome(welcome));
        peer
    }

    /// Accepts the next client, welcomes it and attaches it to a process called `build` of 80x24 on stream 1;
    /// returns its request too.
    #[must_use]
    pub fn accept_attach(&self) -> (Peer, proto::request::Attach) {
        let mut peer = self.accept_welcome();
        let call = peer.call();
        let Request::Attach(attach) = call.request else { panic!("not an attach: {call:?}") };
        let name: Name = "build".parse().expect("a name");
        let attached = Attached {
            id: ProcessId::from_entropy(1),
            name,
            run: RunNumber(1),
            size: Size::DEFAULT,
            stream: 1,
            takes_terminal: false,
            takes_answers: false,
            receipts: false,
        };
        peer.reply(call.id, Reply::Attached(attached));
        (peer, attach)
    }
}

impl Peer {
    /// Returns the next thing the client sends.
    pub fn receive(&mut self) -> FromClient {
        let until = Instant::now() + DEADLINE;
        let mut buffer = vec![0; 1 << 16];
        loop {
            if let Some(queued) = self.queue.pop_front() {
                return queued;
            }
            assert!(readable(&[self.stream.as_fd()], until)[0], "the client sent nothing");
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return FromClient::End,
                Ok(count) => self.decoder.push(&buffer[..count]),
            }
            while let Some(frame) = self.decoder.next_frame() {
                self.queue.push_back(match frame.expect("a client sends whole frames") {
                    Frame::Data(data) => FromClient::Data(data),
                    Frame::Line(line) => FromClient::Call(Box::new(
                        proto::request::parse_call(&line).expect("a client sends whole calls"),
                    )),
                });
            }
        }
    }

    /// Returns the next thing, which must be a call.
    pub fn call(&mut self) -> Call {
        match self.receive() {
            FromClient::Call(call) => *call,
            other => panic!("not a call: {other:?}"),
        }
    }

    /// Reads input bytes until they are `expected`; anything else fails.
    pub fn expect_input(&mut self, expected: &[u8]) {
        let mut seen = Vec::new();
        while seen.len() < expected.len() {
            match self.receive() {
                FromClient::Data(data) if data.kind == DataKind::Input => seen.extend_from_slice(&data.bytes),
                other => panic!("not input: {other:?} after {}", seen.escape_ascii()),
            }
        }
        assert_eq!(seen.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    /// Answers a call.
    pub fn reply(&mut self, id: u64, reply: Reply) {
        self.line(&ServerLine::Reply(Answer { id, outcome: Outcome::Ok(reply) }));
    }

    /// Refuses a call.
    pub fn fail(&mut self, id: u64, failure: Failure) {
        self.line(&ServerLine::Reply(Answer { id, outcome: Outcome::Error(failure) }));
    }

    /// Sends a notice about a stream.
    pub fn notice(&mut self, notice: Notice) {
        self.line(&ServerLine::Notice(notice));
    }

    /// Sends an event with its revision.
    pub fn event(&mut self, revision: u64, what: proto::Event) {
        self.line(&ServerLine::Event(proto::event::Announcement { revision, what }));
    }

    /// Sends bytes on stream 1.
    pub fn data(&mut self, kind: DataKind, offset: u64, bytes: &[u8]) {
        let mut frames = Vec::new();
        encode_data(&mut frames, kind, 1, offset, bytes);
        self.stream.write_all(&frames).expect("the client takes frames");
    }

    fn line(&mut self, line: &ServerLine) {
        let mut text = serde_json::to_vec(line).expect("our own words are JSON");
        text.push(b'\n');
        self.stream.write_all(&text).expect("the client takes lines");
    }
}
