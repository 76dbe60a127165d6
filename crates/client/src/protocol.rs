//! The protocol of one connection as a state machine without I/O: requests go in and become bytes to send,
//! received bytes go in and become answers, events, notices and data.
//!
//! A driver moves the bytes: [`Connection`](crate::Connection) blocks, `AsyncConnection` waits in a task. Both
//! have the same behaviour because it is all here.

use std::collections::VecDeque;

use proto::event::Announcement;
use proto::frame::{Data, DataKind, Decoder, Frame, MAX_DATA, data_header};
use proto::reply::{Answer, ServerLine, Welcome};
use proto::request::{Empty, Hello};
use proto::version::{PROTOCOL, VERSION};
use proto::{Call, ErrorCode, Limit, Notice, Outcome, Reply, Request};

use crate::ClientError;

/// The most things that may arrive while one call waits for its answer; more means a faulty daemon.
const MAX_ARRIVED: usize = 65_536;
/// Sent bytes are removed from the queue once there are this many: each removal moves the rest.
const MAX_SENT: usize = 64 << 10; // 64 KiB

/// Something the daemon sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to the call with its id.
    Answer(Answer),
    /// An event; only after `subscribe`.
    Event(Announcement),
    /// Something about this connection's own stream; only after `attach` or `follow`.
    Notice(Notice),
    /// Bytes of a stream.
    Data(Data),
}

/// The remote person for whom a connection is opened: the label by which the audit log names the device or the token,
/// and what the connection may do at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePerson {
    /// The label.
    pub label: String,
    /// The limit.
    pub limit: Limit,
}

/// A hello that is not answered yet.
#[derive(Clone, Debug)]
pub struct Greeting {
    hello: u64,
    /// The limit that the daemon must confirm.
    limit: Option<Limit>,
    /// The call of `status` to a daemon that refused our version.
    status: Option<u64>,
}

/// The side of a connection that sends: requests and input go in and become bytes.
#[derive(Debug)]
pub struct SendSide {
    outgoing: Vec<u8>,
    /// How much of `outgoing` was sent.
    sent: usize,
    next_id: u64,
}

impl Default for SendSide {
    fn default() -> Self {
        Self { outgoing: Vec::new(), sent: 0, next_id: 1 }
    }
}

impl SendSide {
    /// Queues a request; returns the id that its answer will carry.
    pub fn request(&mut self, request: Request) -> Result<u64, ClientError> {
        let (id, line) = self.encode(request)?;
        self.outgoing.extend_from_slice(&line);
        Ok(id)
    }

    /// Returns the bytes of a request and its id, for a driver that sends them in a way of its own.
    pub(crate) fn encode(&mut self, request: Request) -> Result<(u64, Vec<u8>), ClientError> {
        let id = self.next_id;
        let mut line =
            serde_json::to_vec(&Call { id, request }).map_err(|error| ClientError::Broken(error.into()))?;
        line.push(b'\n');
        self.next_id += 1;
        Ok((id, line))
    }

    /// Queues input for a stream; no bytes end the stream of a paste.
    pub fn input(&mut self, stream: u32, offset: u64, bytes: &[u8]) -> Result<(), ClientError> {
        let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= MAX_DATA);
        let length = length.ok_or_else(|| ClientError::nonsense("a data frame may have at most 1 MiB"))?;
        self.outgoing.extend_from_slice(&data_header(DataKind::Input, stream, offset, length));
        self.outgoing.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the bytes to send, oldest first.
    #[must_use]
    pub fn outgoing(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    /// Records that the first `count` bytes of [`SendSide::outgoing`] were sent.
    pub fn note_sent(&mut self, count: usize) {
        self.sent = self.outgoing.len().min(self.sent + count);
        if self.sent == self.outgoing.len() || self.sent >= MAX_SENT {
            self.outgoing.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Forgets what was not sent: the daemon reads no more.
    pub fn discard_outgoing(&mut self) {
        self.outgoing.clear();
        self.sent = 0;
    }
}

/// The side of a connection that receives: bytes go in and become answers, events, notices and data.
#[derive(Debug, Default)]
pub struct ReceiveSide {
    decoder: Decoder,
    /// What arrived while an answer was awaited.
    arrived: VecDeque<Incoming>,
}

impl ReceiveSide {
    /// Adds bytes that the daemon sent.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// Returns the next thing that has arrived completely.
    pub fn next_arrived(&mut self) -> Result<Option<Incoming>, ClientError> {
        match self.arrived.pop_front() {
            Some(arrived) => Ok(Some(arrived)),
            None => self.decoder.next_frame().map(parse).transpose(),
        }
    }

    /// Returns the answer to the call with this id if it has arrived. Answers come in any order; what else
    /// has arrived stays for [`ReceiveSide::next_arrived`]. An answer to call 0 is about the whole connection.
    pub fn answer(&mut self, id: u64) -> Result<Option<Reply>, ClientError> {
        let is_it = |arrived: &Incoming| matches!(arrived, Incoming::Answer(answer) if answer.id == id);
        if let Some(at) = self.arrived.iter().position(is_it)
            && let Some(Incoming::Answer(answer)) = self.arrived.remove(at)
        {
            return outcome(answer.outcome).map(Some);
        }
        while let Some(incoming) = self.decoder.next_frame().map(parse).transpose()? {
            match incoming {
                Incoming::Answer(answer) if answer.id == id || answer.id == 0 => {
                    return outcome(answer.outcome).map(Some);
                }
                other if self.arrived.len() < MAX_ARRIVED => self.arrived.push_back(other),
                _ => return Err(ClientError::nonsense("too much arrived before the answer to a call")),
            }
        }
        Ok(None)
    }
}

/// One connection without its socket.
#[derive(Debug, Default)]
pub struct Protocol {
    /// What it sends.
    pub sends: SendSide,
    /// What it receives.
    pub receives: ReceiveSide,
}

impl Protocol {
    /// Queues a hello.
    pub fn greet(&mut self, hello: Hello) -> Result<Greeting, ClientError> {
        let limit = hello.limit.clone();
        Ok(Greeting { hello: self.sends.request(Request::Hello(hello))?, limit, status: None })
    }

    /// Returns the daemon's welcome if it has arrived. A daemon that refuses our version is asked for its own
    /// with `status`, which any version answers, so there may be more to send afterwards.
    pub fn welcome(&mut self, greeting: &mut Greeting) -> Result<Option<Welcome>, ClientError> {
        if let Some(status) = greeting.status {
            return match self.receives.answer(status) {
                Ok(None) => Ok(None),
                Ok(Some(Reply::Status(status))) => Err(other_version(status.protocol)),
                Ok(Some(_)) | Err(_) => Err(other_version(0)),
            };
        }
        match self.receives.answer(greeting.hello) {
            Ok(None) => Ok(None),
            Ok(Some(Reply::Welcome(welcome))) if welcome.protocol != PROTOCOL => {
                Err(other_version(welcome.protocol))
            }
            // A daemon that does not confirm the limit enforces none: nothing may be sent to it.
            Ok(Some(Reply::Welcome(welcome)))
                if greeting.limit.is_some() && greeting.limit != welcome.limit =>
            {
                Err(ClientError::nonsense("the daemon did not confirm the limit"))
            }
            Ok(Some(Reply::Welcome(welcome))) => Ok(Some(welcome)),
            Ok(Some(other)) => Err(ClientError::nonsense(format!("hello was answered with {other:?}"))),
            Err(ClientError::Failed(failure)) if failure.code == ErrorCode::Version => {
                greeting.status = Some(self.sends.request(Request::Status(Empty {}))?);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the error for a connection that ended: a daemon that refuses our version may close it before
    /// it has reported its own.
    pub(crate) fn ended(greeting: &Greeting) -> ClientError {
        if greeting.status.is_some() { other_version(0) } else { ClientError::gone() }
    }
}

/// Returns the hello of this build.
#[must_use]
pub fn hello(token: Option<String>) -> Hello {
    Hello { protocol: PROTOCOL, client: format!("qd {VERSION}"), token, ..Hello::default() }
}

/// Returns the hello of a connection for a remote person, who has no rights of a run.
#[cfg(feature = "tokio")]
pub(crate) fn hello_for(person: &RemotePerson) -> Hello {
    Hello { limit: Some(person.limit.clone()), label: Some(person.label.clone()), ..hello(None) }
}

fn other_version(theirs: u16) -> ClientError {
    ClientError::Version { ours: PROTOCOL, theirs }
}

pub(crate) fn outcome(outcome: Outcome) -> Result<Reply, ClientError> {
    match outcome {
        Outcome::Ok(reply) => Ok(reply),
        Outcome::Error(failure) => Err(failure.into()),
    }
}

fn parse(frame: Result<Frame, proto::FrameError>) -> Result<Incoming, ClientError> {
    match frame.map_err(|error| ClientError::nonsense(error.to_string()))? {
        Frame::Data(data) => Ok(Incoming::Data(data)),
        Frame::Line(line) => {
            let line = serde_json::from_slice(&line)
                .map_err(|error| ClientError::nonsense(format!("not a line of this protocol: {error}")))?;
            Ok(match line {
                ServerLine::Reply(answer) => Incoming::Answer(answer),
                ServerLine::Event(event) => Incoming::Event(event),
                ServerLine::Notice(notice) => Incoming::Notice(notice),
            })
        }
    }
}

#[cfg(test)]
mod tests;
