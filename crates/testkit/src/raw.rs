//! A client that may send anything: bytes as they are, replies as JSON. It does not know the protocol, so
//! that it can break it.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use proto::Dirs;
use proto::frame::{Decoder, Frame};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::SendFlags;
use serde_json::{Value, json};

use crate::deadline::{DEADLINE, readable};

/// One raw connection.
#[derive(Debug)]
pub struct RawClient {
    stream: UnixStream,
    decoder: Decoder,
    next_id: u64,
}

impl RawClient {
    /// Connects and sends nothing.
    #[must_use]
    pub fn connect(dirs: &Dirs) -> Self {
        let stream = UnixStream::connect(dirs.socket()).expect("the daemon listens");
        Self { stream, decoder: Decoder::default(), next_id: 1_000_000 }
    }

    /// Connects and sends hello.
    #[must_use]
    pub fn welcomed(dirs: &Dirs) -> Self {
        let mut client = Self::connect(dirs);
        let answer = client.call(json!({"hello": {"protocol": proto::version::PROTOCOL, "client": "raw"}}));
        assert!(answer["outcome"]["ok"]["welcome"].is_object(), "{answer}");
        client
    }

    /// Sends bytes as they are and reads meanwhile: the daemon stops reading from a client that does not
    /// read.
    pub fn send(&mut self, mut bytes: &[u8]) {
        let mut buffer = vec![0; 1 << 16];
        while !bytes.is_empty() {
            let mut fds = [PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN | PollFlags::OUT)];
            poll(&mut fds, None).expect("a socket can be polled");
            let ready = fds[0].revents();
            if ready.contains(PollFlags::IN) {
                let count = self.stream.read(&mut buffer).expect("the socket can be read");
                assert!(count > 0, "the daemon closed the connection");
                self.decoder.push(&buffer[..count]);
            }
            if ready.contains(PollFlags::OUT) {
                match rustix::net::send(&self.stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Ok(count) => bytes = &bytes[count..],
                    Err(rustix::io::Errno::AGAIN) => {}
                    Err(errno) => panic!("the socket broke: {errno}"),
                }
            }
        }
    }

    /// Sends a request with a fresh id and returns that id.
    pub fn ask(&mut self, request: Value) -> u64 {
        self.next_id += 1;
        self.ask_as(self.next_id, request);
        self.next_id
    }

    /// Sends a request with this id.
    pub fn ask_as(&mut self, id: u64, request: Value) {
        self.send(format!("{}\n", json!({"id": id, "request": request})).as_bytes());
    }

    /// Sends a request and waits for the reply with the same id; skips other lines and frames.
    pub fn call(&mut self, request: Value) -> Value {
        let id = self.ask(request);
        self.answer_to(id)
    }

    /// Returns the answer with this id.
    pub fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let line = self.line();
            if line["reply"]["id"] == id {
                return line["reply"].clone();
            }
        }
    }

    /// Returns the next line.
    pub fn line(&mut self) -> Value {
        let until = Instant::now() + DEADLINE;
        let mut buffer = vec![0; 1 << 16];
        loop {
            while let Some(frame) = self.decoder.next_frame() {
                if let Frame::Line(line) = frame.expect("a daemon sends whole frames") {
                    return serde_json::from_slice(&line).expect("a daemon sends JSON");
                }
            }
            assert!(readable(&[self.stream.as_fd()], until)[0], "the daemon did not answer");
            let count = self.stream.read(&mut buffer).expect("the socket can be read");
            assert!(count > 0, "the daemon closed the connection");
            self.decoder.push(&buffer[..count]);
        }
    }
}
