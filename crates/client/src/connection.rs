//! One connection: calls, their answers, and what arrives between them. It does not reconnect: only the
//! caller knows whether repeating a request is safe.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proto::event::Announcement;
use proto::frame::{Data, DataKind, Decoder, Frame, data_header};
use proto::reply::{Answer, ServerLine, Welcome};
use proto::request::Hello;
use proto::version::{PROTOCOL, VERSION};
use proto::{Call, Dirs, ErrorCode, Notice, Outcome, Reply, Request};
use rustix::event::{PollFd, PollFlags};
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, sendmsg,
};

use crate::stream_end::{Stops, StreamEnd};
use crate::wait_limit::{GREETING, TAKING, WaitLimit};
use crate::{ClientError, ready};

/// Bytes per read from the socket: one large data frame and its header fit.
const READ_SIZE: usize = 256 << 10; // 256 KiB
/// The most things that may arrive while one call waits for its answer; more means a faulty daemon.
const MAX_QUEUED: usize = 65_536;

/// The variable that names the file with the token of the run that this process is in.
pub(crate) const TOKEN_FILE: &str = "QD_TOKEN_FILE";
/// Longest token that is read.
const MAX_TOKEN: u64 = 1024;

/// Something the daemon sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to a call made with [`Connection::send`].
    Answer(Answer),
    /// An event; only after `subscribe`.
    Event(Announcement),
    /// Something about this connection's own stream; only after `attach` or `follow`.
    Notice(Notice),
    /// Bytes of a stream.
    Data(Data),
}

/// A connection to the daemon.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    decoder: Decoder,
    queue: VecDeque<Incoming>,
    next_id: u64,
    buffer: Vec<u8>,
    /// The directories of this daemon: it is only sent tokens that it has made.
    own: Vec<PathBuf>,
}

impl Connection {
    /// Connects to the socket at `path` without hello. Only `status` and `shutdown` are sure to be answered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let stream = connect(path)?;
        let peer = rustix::net::sockopt::socket_peercred(&stream)?;
        if peer.uid != rustix::process::getuid() {
            let what = format!("the socket belongs to user {}, not to you", peer.uid.as_raw());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(Self {
            stream,
            decoder: Decoder::default(),
            queue: VecDeque::new(),
            next_id: 1,
            buffer: vec![0; READ_SIZE],
            own: path.parent().map(Path::to_owned).into_iter().collect(),
        })
    }

    /// Records the daemon's directories: it has made the tokens there.
    pub(crate) fn trusting(mut self, places: &Dirs) -> Self {
        self.own.extend([places.runtime.clone(), places.data.clone()]);
        self
    }

    /// Says hello: from now on every verb is answered.
    pub fn hello(&mut self) -> Result<Welcome, ClientError> {
        self.hello_before(Instant::now() + GREETING, None)
    }

    /// Says hello and gives up at `deadline` or when `cancel_fd` becomes readable.
    pub(crate) fn hello_before(
        &mut self,
        deadline: Instant,
        cancel_fd: Option<BorrowedFd<'_>>,
    ) -> Result<Welcome, ClientError> {
        let token = own_token(&self.own);
        let hello = Request::Hello(Hello { protocol: PROTOCOL, client: format!("qd {VERSION}"), token });
        let wait_limit = WaitLimit { cancel_fd, ..WaitLimit::with(&hello).until(deadline) };
        match self.call_with(hello, wait_limit) {
            Ok(Reply::Welcome(welcome)) if welcome.protocol == PROTOCOL => Ok(welcome),
            Ok(Reply::Welcome(welcome)) => {
                Err(ClientError::Version { ours: PROTOCOL, theirs: welcome.protocol })
            }
            Ok(other) => Err(ClientError::nonsense(format!("hello was answered with {other:?}"))),
            Err(ClientError::Failed(failure)) if failure.code == ErrorCode::Version => {
                Err(self.other_version())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the protocol version of a daemon that refused ours: `status` is answered with any version.
    fn other_version(&mut self) -> ClientError {
        let theirs = self.status().map_or(0, |status| status.protocol);
        ClientError::Version { ours: PROTOCOL, theirs }
    }

    /// Sends a request and waits for the answer, as long as the request may take. What else arrives meanwhile
    /// is kept for [`Connection::receive`].
    pub fn call(&mut self, request: Request) -> Result<Reply, ClientError> {
        let wait_limit = WaitLimit::with(&request);
        self.call_with(request, wait_limit)
    }

    /// Sends a request and waits for the answer within this limit. The cancel descriptor ends it as an
    /// interruption.
    pub(crate) fn call_with(
        &mut self,
        request: Request,
        wait_limit: WaitLimit<'_>,
    ) -> Result<Reply, ClientError> {
        let id = self.send(request)?;
        match self.answer_with(id, wait_limit)? {
            Some(reply) => Ok(reply),
            None => Err(ClientError::Broken(io::ErrorKind::Interrupted.into())),
        }
    }

    /// Sends a request without waiting; the answer arrives as [`Incoming::Answer`] with this id, or through
    /// [`Connection::answer`].
    pub fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        let id = self.next_id;
        let line = self.line(request)?;
        self.stream.write_all(&line).map_err(untaken)?;
        Ok(id)
    }

    /// Sends a request without waiting, with a descriptor.
    pub(crate) fn send_with(&mut self, request: Request, fd: BorrowedFd<'_>) -> Result<u64, ClientError> {
        let id = self.next_id;
        let line = self.line(request)?;
        let fds = [fd];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !beside.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(ClientError::nonsense("no room for a descriptor beside a call"));
        }
        let bytes = [IoSlice::new(&line)];
        let sent = retry_on_intr(|| sendmsg(&self.stream, &bytes, &mut beside, SendFlags::NOSIGNAL));
        // The descriptor was sent with the first byte.
        let rest = &line[sent.map_err(broken)?..];
        self.stream.write_all(rest).map_err(untaken)?;
        Ok(id)
    }

    /// Returns the bytes of one call with the next id, for callers that write by themselves.
    pub(crate) fn line(&mut self, request: Request) -> Result<Vec<u8>, ClientError> {
        let call = Call { id: self.next_id, request };
        self.next_id += 1;
        let mut line = serde_json::to_vec(&call).map_err(|error| ClientError::Broken(error.into()))?;
        line.push(b'\n');
        Ok(line)
    }

    /// Returns the bytes of one call together with its id.
    pub(crate) fn numbered_line(&mut self, request: Request) -> Result<(u64, Vec<u8>), ClientError> {
        let id = self.next_id;
        self.line(request).map(|line| (id, line))
    }

    /// Waits for the answer to the call with this id, without a limit.
    pub fn answer(&mut self, id: u64) -> Result<Reply, ClientError> {
        self.answer_with(id, WaitLimit::default())?.ok_or_else(ClientError::gone)
    }

    /// Waits for the answer to the call with this id; `None` when it was cancelled first.
    pub(crate) fn answer_with(
        &mut self,
        id: u64,
        wait_limit: WaitLimit<'_>,
    ) -> Result<Option<Reply>, ClientError> {
        // Answers come in any order: this one may have come during the wait for another.
        let is_it = |queued: &Incoming| matches!(queued, Incoming::Answer(answer) if answer.id == id);
        if let Some(at) = self.queue.iter().position(is_it)
            && let Some(Incoming::Answer(answer)) = self.queue.remove(at)
        {
            return outcome(answer.outcome).map(Some);
        }
        loop {
            match self.decoder.next_frame().map(parse).transpose()? {
                Some(Incoming::Answer(answer)) if answer.id == id || answer.id == 0 => {
                    return outcome(answer.outcome).map(Some);
                }
                Some(other) if self.queue.len() < MAX_QUEUED => self.queue.push_back(other),
                Some(_) => {
                    return Err(ClientError::nonsense("too much arrived before the answer to a call"));
                }
                None if !self.has_more(wait_limit)? => return Ok(None),
                None if self.fill().map_err(ClientError::Broken)? == 0 => return Err(ClientError::gone()),
                None => {}
            }
        }
    }

    /// Waits until the socket has something to read; returns false when it was cancelled first.
    fn has_more(&self, wait_limit: WaitLimit<'_>) -> Result<bool, ClientError> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        fds.extend(wait_limit.cancel_fd.map(|cancel_fd| PollFd::from_borrowed_fd(cancel_fd, PollFlags::IN)));
        if wait_limit.deadline.is_none() && wait_limit.cancel_fd.is_none() {
            // The read itself waits.
            return Ok(true);
        }
        let left =
            wait_limit.deadline.map(|(deadline, _)| deadline.saturating_duration_since(Instant::now()));
        if ready::wait(&mut fds, left).map_err(broken)? == 0 {
            return Err(ClientError::Silent(wait_limit.deadline.map_or(Duration::ZERO, |(_, given)| given)));
        }
        Ok(fds.get(1).is_none_or(|cancel_fd| cancel_fd.revents().is_empty()))
    }

    /// Returns the next thing that the daemon sends; `None` once it has closed the connection.
    pub fn receive(&mut self) -> Result<Option<Incoming>, ClientError> {
        match self.queue.pop_front() {
            Some(queued) => Ok(Some(queued)),
            None => self.next_from_socket(),
        }
    }

    /// Returns the next thing that the daemon sends, unless this side stops first.
    pub(crate) fn receive_unless(
        &mut self,
        stops: &mut Stops,
    ) -> Result<Result<Incoming, StreamEnd>, ClientError> {
        loop {
            if let Some(incoming) = self.take()? {
                return Ok(Ok(incoming));
            }
            if let Some(stop) = stops.wait(Some(self.stream.as_fd()), None)? {
                return Ok(Err(stop));
            }
            if ready::readable_before(self.stream.as_fd(), Instant::now()).map_err(broken)?
                && self.fill().map_err(ClientError::Broken)? == 0
            {
                return Err(ClientError::gone());
            }
        }
    }

    /// Returns the next thing that the daemon sends before `deadline`; `Ok(None)` when the time is over.
    pub fn receive_before(&mut self, deadline: Instant) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(incoming) = self.take()? {
                return Ok(Some(incoming));
            }
            if !ready::readable_before(self.stream.as_fd(), deadline).map_err(broken)? {
                return Ok(None);
            }
            if self.fill().map_err(ClientError::Broken)? == 0 {
                return Err(ClientError::gone());
            }
        }
    }

    /// Returns what has arrived already, without reading the socket.
    pub(crate) fn take(&mut self) -> Result<Option<Incoming>, ClientError> {
        match self.queue.pop_front() {
            Some(queued) => Ok(Some(queued)),
            None => self.decoder.next_frame().map(parse).transpose(),
        }
    }

    /// Reads the socket once; returns the number of bytes, 0 at its end.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(count) => {
                    self.decoder.push(&self.buffer[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The peer died with our bytes unread: an end like any other.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(0),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends one data frame; an empty one ends a stream.
    pub fn send_data(&mut self, stream: u32, offset: u64, bytes: &[u8]) -> Result<(), ClientError> {
        let frame = data_frame(stream, offset, bytes)?;
        self.stream.write_all(&frame).map_err(untaken)
    }

    /// Returns a handle to the daemon's own process that becomes readable at its end. Opened while the
    /// connection lives, so the pid is still the daemon's.
    pub(crate) fn daemon_process(&self) -> io::Result<OwnedFd> {
        let peer = rustix::net::sockopt::socket_peercred(&self.stream)?;
        Ok(rustix::process::pidfd_open(peer.pid, rustix::process::PidfdFlags::empty())?)
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    fn next_from_socket(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return parse(frame).map(Some);
            }
            if self.fill().map_err(ClientError::Broken)? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Connects. If the daemon has no room for another connection, it waits only as long as for a greeting.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(GREETING))?;
    retry_on_intr(|| rustix::net::connect(&socket, &address))?;
    set_socket_timeout(&socket, Timeout::Send, Some(TAKING))?;
    Ok(UnixStream::from(socket))
}

/// Returns the error for a failed write. A daemon that does not read is not gone, and what it was sent may be
/// cut off in the middle.
fn untaken(error: io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::WouldBlock => ClientError::Silent(TAKING),
        _ => ClientError::Broken(error),
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Returns the token of the run that this process is in, if that run belongs to the daemon with these
/// directories. It is read again for every hello: a proxy that outlives a run must not keep its token.
/// Without one the lineage decides.
fn own_token(own: &[PathBuf]) -> Option<String> {
    let path = PathBuf::from(std::env::var_os(TOKEN_FILE)?);
    if !own.iter().any(|directory| directory.is_absolute() && path.starts_with(directory)) {
        return None;
    }
    let mut token = String::new();
    std::fs::File::open(path).ok()?.take(MAX_TOKEN).read_to_string(&mut token).ok()?;
    let token = token.trim_end();
    (!token.is_empty()).then(|| token.to_owned())
}

/// Returns one input frame, header and bytes together so that it is sent in one write.
pub(crate) fn data_frame(stream: u32, offset: u64, bytes: &[u8]) -> Result<Vec<u8>, ClientError> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= proto::frame::MAX_DATA);
    let length = length.ok_or_else(|| ClientError::nonsense("a data frame may have at most 1 MiB"))?;
    let mut frame = Vec::with_capacity(proto::frame::HEADER + bytes.len());
    frame.extend_from_slice(&data_header(DataKind::Input, stream, offset, length));
    frame.extend_from_slice(bytes);
    Ok(frame)
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

pub(crate) fn broken(errno: rustix::io::Errno) -> ClientError {
    ClientError::Broken(errno.into())
}
