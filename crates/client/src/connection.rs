//! The blocking driver of the protocol: one connection, whose calls wait for their answers. It does not
//! reconnect: [`reconnect_policy`](crate::reconnect_policy) decides when that is safe.

use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proto::reply::Welcome;
use proto::{Dirs, Reply, Request};
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, UCred, sendmsg,
};

use crate::protocol::{Greeting, Incoming, Protocol, hello};
use crate::stream_end::{Stops, StreamEnd};
use crate::wait_limit::{GREETING, TAKING, WaitLimit};
use crate::{ClientError, ready, token};

/// Bytes per read from the socket: one large data frame and its header fit.
const READ_SIZE: usize = 256 << 10; // 256 KiB

/// A connection to the daemon.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    protocol: Protocol,
    buffer: Vec<u8>,
    /// The directories of this daemon: it is only sent tokens that it has made.
    own: Vec<PathBuf>,
    /// The daemon closed the connection with bytes of ours unread.
    is_reset: bool,
}

impl Connection {
    /// Connects to the socket at `path` without hello. Only `status` and `shutdown` are sure to be answered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let stream = connect(path)?;
        let owner = match peer(&stream)? {
            Some(peer) => peer.uid.as_raw(),
            // Whoever listens has made the file, in a directory that only its user may write to.
            None => std::fs::metadata(path)?.uid(),
        };
        if owner != rustix::process::getuid().as_raw() {
            let what = format!("the socket belongs to user {owner}, not to you");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(Self {
            stream,
            protocol: Protocol::default(),
            buffer: vec![0; READ_SIZE],
            own: path.parent().map(Path::to_owned).into_iter().collect(),
            is_reset: false,
        })
    }

    /// Records the daemon's directories: it has made the tokens there.
    pub(crate) fn trusting(mut self, dirs: &Dirs) -> Self {
        self.own.extend([dirs.runtime.clone(), dirs.data.clone()]);
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
        let greeting = self.protocol.greet(hello(token::own_token(&self.own)))?;
        self.await_welcome(greeting, deadline, cancel_fd)
    }

    /// Says hello and sends a request behind it without waiting for the welcome; returns the request's id once
    /// the daemon has welcomed us. A daemon that refuses the hello refuses the request as well. The request must
    /// be one that may be sent again: after an error it is unknown whether the daemon has received it.
    pub(crate) fn hello_with(&mut self, request: Request, deadline: Instant) -> Result<u64, ClientError> {
        let greeting = self.protocol.greet(hello(token::own_token(&self.own)))?;
        let id = self.protocol.sends.request(request)?;
        self.await_welcome(greeting, deadline, None).map(|_| id)
    }

    /// Sends what is queued and waits for the answer to a hello.
    fn await_welcome(
        &mut self,
        mut greeting: Greeting,
        deadline: Instant,
        cancel_fd: Option<BorrowedFd<'_>>,
    ) -> Result<Welcome, ClientError> {
        let wait_limit = WaitLimit { cancel_fd, ..WaitLimit::of(GREETING).until(deadline) };
        loop {
            if let Some(welcome) = self.protocol.welcome(&mut greeting)? {
                return Ok(welcome);
            }
            self.flush()?;
            if !self.has_more(wait_limit)? {
                return Err(ClientError::Broken(io::ErrorKind::Interrupted.into()));
            }
            if self.fill().map_err(ClientError::Broken)? == 0 {
                return Err(Protocol::ended(&greeting));
            }
        }
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
        self.answer_unless_cancelled(id, wait_limit)
    }

    /// Waits for the answer to a request that was sent already, as long as that request may take.
    pub(crate) fn answer_to(&mut self, id: u64, request: &Request) -> Result<Reply, ClientError> {
        self.answer_unless_cancelled(id, WaitLimit::with(request))
    }

    fn answer_unless_cancelled(&mut self, id: u64, wait_limit: WaitLimit<'_>) -> Result<Reply, ClientError> {
        match self.answer_with(id, wait_limit)? {
            Some(reply) => Ok(reply),
            None => Err(ClientError::Broken(io::ErrorKind::Interrupted.into())),
        }
    }

    /// Sends a request without waiting; the answer arrives as [`Incoming::Answer`] with this id, or through
    /// [`Connection::answer`].
    pub fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        let id = self.protocol.sends.request(request)?;
        self.flush()?;
        Ok(id)
    }

    /// Sends a request without waiting, with a descriptor.
    pub(crate) fn send_with(&mut self, request: Request, fd: BorrowedFd<'_>) -> Result<u64, ClientError> {
        self.flush()?;
        let (id, line) = self.protocol.sends.encode(request)?;
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
        self.stream.write_all(rest).map_err(unread)?;
        Ok(id)
    }

    /// Queues a request; [`Connection::send_ready`] sends it. Returns the id of its answer.
    pub fn queue(&mut self, request: Request) -> Result<u64, ClientError> {
        self.protocol.sends.request(request)
    }

    /// Queues input for a stream; [`Connection::send_ready`] sends it.
    pub fn queue_input(&mut self, stream: u32, bytes: &[u8]) -> Result<(), ClientError> {
        bytes.chunks(proto::frame::MAX_DATA).try_for_each(|piece| self.protocol.sends.input(stream, 0, piece))
    }

    /// Queues one data frame of a paste; an empty one ends it.
    pub(crate) fn queue_piece(&mut self, stream: u32, offset: u64, bytes: &[u8]) -> Result<(), ClientError> {
        self.protocol.sends.input(stream, offset, bytes)
    }

    /// Returns the answer to a call if it has arrived, without reading the socket.
    pub(crate) fn arrived_answer(&mut self, id: u64) -> Result<Option<Reply>, ClientError> {
        self.protocol.receives.answer(id)
    }

    /// Returns how many queued bytes were not sent.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.protocol.sends.outgoing().len()
    }

    /// Returns true if the daemon has closed the connection without reading everything that was sent. Known once
    /// everything that it sent was received.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Sends as many of the queued bytes as the socket accepts now.
    pub fn send_ready(&mut self) -> Result<(), ClientError> {
        while !self.protocol.sends.outgoing().is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::send(&self.stream, self.protocol.sends.outgoing(), flags) {
                Ok(count) => self.protocol.sends.note_sent(count),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(errno) => return Err(broken(errno)),
            }
        }
        Ok(())
    }

    /// Sends all queued bytes.
    fn flush(&mut self) -> Result<(), ClientError> {
        let sent = self.stream.write_all(self.protocol.sends.outgoing());
        // After an error the rest is useless: it is unknown how much was sent.
        self.protocol.sends.discard_outgoing();
        sent.map_err(unread)
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
        loop {
            if let Some(reply) = self.protocol.receives.answer(id)? {
                return Ok(Some(reply));
            }
            if !self.has_more(wait_limit)? {
                return Ok(None);
            }
            if self.fill().map_err(ClientError::Broken)? == 0 {
                return Err(ClientError::gone());
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
        loop {
            if let Some(incoming) = self.next_arrived()? {
                return Ok(Some(incoming));
            }
            if self.fill().map_err(ClientError::Broken)? == 0 {
                return Ok(None);
            }
        }
    }

    /// Returns the next thing that the daemon sends, unless this side stops first.
    pub(crate) fn receive_unless(
        &mut self,
        stops: &mut Stops,
    ) -> Result<Result<Incoming, StreamEnd>, ClientError> {
        loop {
            if let Some(incoming) = self.next_arrived()? {
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
            if let Some(incoming) = self.next_arrived()? {
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

    /// Reads the socket once, without waiting: for a caller whose own poll says that there is something.
    /// [`Connection::next_arrived`] then returns it piece by piece.
    pub fn fill_ready(&mut self) -> Result<(), ClientError> {
        let read = rustix::net::recv(&self.stream, &mut self.buffer[..], RecvFlags::DONTWAIT);
        match self.take_in(read.map(|(count, _)| count).map_err(io::Error::from)) {
            Ok(0) => Err(ClientError::gone()),
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(())
            }
            Err(error) => Err(ClientError::Broken(error)),
        }
    }

    /// Returns what has arrived already, without reading the socket.
    pub fn next_arrived(&mut self) -> Result<Option<Incoming>, ClientError> {
        self.protocol.receives.next_arrived()
    }

    /// Reads the socket once; returns the number of bytes, 0 at its end.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return self.take_in(read),
            }
        }
    }

    /// Takes what was read into the buffer.
    fn take_in(&mut self, read: io::Result<usize>) -> io::Result<usize> {
        match read {
            Ok(count) => {
                self.protocol.receives.receive(&self.buffer[..count]);
                Ok(count)
            }
            // The peer died with our bytes unread: an end like any other.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                self.is_reset = true;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends one data frame; an empty one ends a stream.
    pub fn send_data(&mut self, stream: u32, offset: u64, bytes: &[u8]) -> Result<(), ClientError> {
        self.protocol.sends.input(stream, offset, bytes)?;
        self.flush()
    }

    /// Returns a handle to the daemon's own process that becomes readable at its end. Opened while the
    /// connection lives, so the pid is still the daemon's. `None` if the daemon is outside of our namespace of pids.
    pub(crate) fn daemon_process(&self) -> io::Result<Option<OwnedFd>> {
        let Some(peer) = peer(&self.stream)? else { return Ok(None) };
        Ok(Some(rustix::process::pidfd_open(peer.pid, rustix::process::PidfdFlags::empty())?))
    }

    /// Returns the pid of the process that listens at the socket; 0 if it is outside of our namespace of pids.
    pub(crate) fn listener(&self) -> io::Result<i32> {
        Ok(peer(&self.stream)?.map_or(0, |peer| peer.pid.as_raw_pid()))
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Returns the socket, the protocol and the daemon's directories, for another driver.
    #[cfg(feature = "tokio")]
    pub(crate) fn into_parts(self) -> (UnixStream, Protocol, Vec<PathBuf>) {
        (self.stream, self.protocol, self.own)
    }
}

/// Returns who listens; `None` for a process outside of our namespace of pids, which has no pid here.
fn peer(stream: &UnixStream) -> io::Result<Option<UCred>> {
    match socket_peercred(stream) {
        Ok(peer) => Ok(Some(peer)),
        // The call has worked, and the pid that it gave is 0.
        Err(error) if error.raw_os_error() == 0 => Ok(None),
        Err(error) => Err(error.into()),
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
fn unread(error: io::Error) -> ClientError {
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

pub(crate) fn broken(errno: rustix::io::Errno) -> ClientError {
    ClientError::Broken(errno.into())
}
