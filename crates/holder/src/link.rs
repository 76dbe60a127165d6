//! The daemon's end of the link to one holder: connect, greet, send, receive. Non-blocking after the
//! greeting. It keeps no state of the run and never retries.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::fdpass::{self, HELLO_FDS};
use crate::launch::Failure;
use crate::lost_holder::{Unkilled, end_unlinked_holder};
use crate::origin::Pinned;
use crate::ring::RingReader;
use crate::wire::{
    FrameBuffer, FromHolder, HelloFields, MAX_CHECKPOINT, ToHolder, WIRE_VERSION, WireError, kind,
};

/// Why a holder cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No process listens: the holder is gone, and its socket file may be removed.
    #[error("no holder listens at its socket")]
    Gone,
    /// The holder did not answer in time; it may be asked again.
    #[error("the holder did not answer in time")]
    TimedOut,
    /// What answered is not a holder.
    #[error("what answered is not a holder: {0}")]
    Wire(#[from] WireError),
    /// The process that answered is inside a run, or claims to be another process.
    #[error(
        "what answered is not a holder of ours: it lives inside a run, or names another pid than its own"
    )]
    Impostor,
    /// It belongs to another user.
    #[error("the holder belongs to another user")]
    OtherUser,
    /// Anything else.
    #[error("talking to the holder failed: {0}")]
    Io(#[from] io::Error),
}

/// A greeting that a holder has not answered yet. Its descriptor becomes readable when there is an answer, or
/// when the holder is gone. A stopped holder answers when it continues.
#[derive(Debug)]
pub struct PendingHello {
    pub(crate) stream: OwnedFd,
}

impl PendingHello {
    /// Greets the holder that listens at `socket`, without waiting for anything.
    pub fn at(socket: &Path) -> Result<PendingHello, LinkError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(io::Error::from)?;
        PendingHello::over(stream, socket)
    }

    fn over(stream: OwnedFd, socket: &Path) -> Result<PendingHello, LinkError> {
        let pending = PendingHello::connect(stream, socket)?;
        pending.greet(&[])?;
        Ok(pending)
    }

    /// Connects without sending anything.
    pub(crate) fn connect(stream: OwnedFd, socket: &Path) -> Result<PendingHello, LinkError> {
        let address = SocketAddrUnix::new(socket.as_os_str().as_bytes()).map_err(io::Error::from)?;
        connect(&stream, &address).map_err(|error| refine(error.into()))?;
        if !fdpass::peer_is_same_user(stream.as_fd()) {
            return Err(LinkError::OtherUser);
        }
        Ok(PendingHello { stream })
    }

    /// Sends HELLO and these messages, in one piece: the holder executes them before it serves another
    /// connection.
    pub(crate) fn greet(&self, first: &[ToHolder]) -> Result<(), LinkError> {
        let mut bytes = ToHolder::Hello { version: WIRE_VERSION }.encode();
        first.iter().for_each(|message| bytes.extend_from_slice(&message.encode()));
        fdpass::send(self.stream.as_fd(), &bytes).map_err(refine)?;
        Ok(())
    }

    /// Returns the answer, waiting for it until `deadline`. The process that answers must be the one that it
    /// claims to be, and must not be inside a run whose holder listens in the same directory.
    pub fn answer(self, deadline: Instant) -> Result<(Link, HolderHello), LinkError> {
        match receive_reply(self.stream.as_fd(), deadline)? {
            Ok((incoming, hello)) => {
                self.check(&hello)?;
                Ok((Link::over(self.stream, incoming), hello))
            }
            Err(_) => Err(LinkError::Wire(WireError::Malformed { what: "hello reply" })),
        }
    }

    fn check(&self, hello: &HolderHello) -> Result<(), LinkError> {
        let listener = Pinned::peer(self.stream.as_fd()).ok_or(LinkError::Gone)?;
        check_listener(&listener, hello.fields.holder_pid, &self.holders())
    }

    /// Returns the directory in which the holder listens.
    fn holders(&self) -> PathBuf {
        let address = rustix::net::getpeername(&self.stream).ok().flatten();
        let address = address.and_then(|address| SocketAddrUnix::try_from(address).ok());
        let path = address.as_ref().and_then(SocketAddrUnix::path_bytes).map(OsStr::from_bytes);
        path.and_then(|path| Path::new(path).parent()).unwrap_or(Path::new("/")).to_owned()
    }

    /// Ends a holder that does not answer, with all its descendants. Returns those that live on.
    pub fn end_holder(&self) -> Vec<Unkilled> {
        let Ok(listener) = sockopt::socket_peercred(&self.stream) else { return Vec::new() };
        let pid = listener.pid.as_raw_pid();
        let Some(pinned) = crate::proc_stat::open(pid) else { return Vec::new() };
        // Our connection still waits at its socket: it lived when its pid was pinned, so the pid is its own.
        let is_there = !fdpass::is_hung_up(self.stream.as_fd());
        if is_there { end_unlinked_holder(&pinned, pid) } else { Vec::new() }
    }
}

/// For waiting with many others, and back to read the answer.
impl From<PendingHello> for UnixStream {
    fn from(pending: PendingHello) -> UnixStream {
        pending.stream.into()
    }
}

impl From<UnixStream> for PendingHello {
    fn from(stream: UnixStream) -> PendingHello {
        PendingHello { stream: stream.into() }
    }
}

/// A holder's greeting: what it says, and the descriptors that came with it.
#[derive(Debug)]
pub struct HolderHello {
    /// What it says.
    pub fields: HelloFields,
    /// The newest checkpoint, which the fields describe; empty if there is none.
    pub checkpoint: Vec<u8>,
    /// The output.
    pub ring: RingReader,
    /// Becomes readable when an armed ring's end moves. An eventfd, non-blocking.
    pub wake: OwnedFd,
    /// The PTY master, non-blocking: for a person's keystrokes and for reading the terminal's modes. Never read output
    /// from it: the holder is the only reader.
    pub master: OwnedFd,
}

/// The daemon's link to one holder. Dropping it drops what [`Link::wants_write`] reports as unsent; the
/// holder executes what was sent even if the link ends right after.
#[derive(Debug)]
pub struct Link {
    pub(crate) socket: OwnedFd,
    pub(crate) incoming: FrameBuffer,
    outgoing: Vec<u8>,
    sent: usize,
    /// Descriptors of a HELLO reply that is incomplete; `None` when no reply is expected.
    pub(crate) greeting: Option<Vec<OwnedFd>>,
    displaced_by: Option<i32>,
}

impl Link {
    /// Connects to a running holder and takes over from the daemon that was connected.
    pub fn connect(socket: &Path, timeout: Duration) -> Result<(Link, HolderHello), LinkError> {
        let deadline = Instant::now() + timeout;
        let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
        sockopt::set_socket_timeout(&stream, sockopt::Timeout::Send, Some(timeout))
            .map_err(io::Error::from)?;
        PendingHello::over(stream, socket)?.answer(deadline)
    }

    /// Wraps a greeted, non-blocking socket, with whatever was read beyond the greeting.
    pub(crate) fn over(socket: OwnedFd, incoming: FrameBuffer) -> Link {
        Link { socket, incoming, outgoing: Vec::new(), sent: 0, greeting: None, displaced_by: None }
    }

    /// Returns the process that has taken over, if the holder reported it.
    pub fn displaced_by(&self) -> Option<i32> {
        self.displaced_by
    }

    /// Queues a message and sends as much as possible. The caller limits the queue by keeping to
    /// [`INPUT_WINDOW`](crate::INPUT_WINDOW).
    pub fn send(&mut self, message: &ToHolder) -> io::Result<()> {
        if matches!(message, ToHolder::Checkpoint { blob, .. } if blob.len() > MAX_CHECKPOINT)
            || matches!(message, ToHolder::Input { bytes, .. } | ToHolder::KeyedInput { bytes, .. } if bytes.len() > crate::INPUT_WINDOW)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "message is longer than the holder accepts",
            ));
        }
        self.outgoing.extend_from_slice(&message.encode());
        self.flush()
    }

    /// Returns true if something waits to be sent: call [`Link::flush`] when the descriptor becomes writable.
    pub fn wants_write(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Sends as much as possible.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.outgoing.len() {
            match fdpass::send(self.socket.as_fd(), &self.outgoing[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if fdpass::is_not_now(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.outgoing.shrink_to(16 << 10);
        self.sent = 0;
        Ok(())
    }

    /// Returns the next message; `None` when there is none now. `UnexpectedEof` means that the holder is
    /// gone, `ConnectionAborted` that another daemon has taken over and the run lives on.
    pub fn receive(&mut self) -> io::Result<Option<FromHolder>> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut buf = [0u8; 4096];
        loop {
            while let Some((kind, body)) = self.incoming.next_frame().map_err(invalid)? {
                if kind == kind::DISPLACED {
                    let pid = <[u8; 4]>::try_from(body).ok().map(i32::from_le_bytes);
                    self.displaced_by = pid.filter(|pid| *pid > 0);
                    return Err(io::Error::new(
                        io::ErrorKind::ConnectionAborted,
                        "another daemon has taken over",
                    ));
                }
                if let Some(message) = FromHolder::decode(kind, body).map_err(invalid)? {
                    return Ok(Some(message));
                }
            }
            match fdpass::receive(self.socket.as_fd(), &mut buf) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(count) => self.incoming.extend(&buf[..count]),
                Err(error) if fdpass::is_not_now(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Waits for the HELLO reply, or for the reason why there is none. The socket is non-blocking from then on.
pub(crate) fn receive_reply(
    socket: BorrowedFd<'_>,
    deadline: Instant,
) -> Result<Result<(FrameBuffer, HolderHello), Failure>, LinkError> {
    fdpass::set_nonblocking(socket)?;
    let mut incoming = FrameBuffer::default();
    let mut fds = Vec::new();
    let mut buf = vec![0u8; 64 << 10];
    let hello = loop {
        if let Some((kind, body)) = incoming.next_frame()? {
            match kind {
                kind::HELLO_REPLY => break open_hello(body, fds)?,
                kind::LAUNCH_FAILED => return Ok(Err(Failure::decode(body)?)),
                _ => continue,
            }
        }
        wait_readable(socket, deadline)?;
        match fdpass::receive_with_fds(socket, &mut buf, &mut fds) {
            Ok(0) => return Err(LinkError::Gone),
            Ok(count) => incoming.extend(&buf[..count]),
            Err(error) if fdpass::is_not_now(&error) => {}
            Err(error) => return Err(refine(error)),
        }
    };
    Ok(Ok((incoming, hello)))
}

pub(crate) fn open_hello(body: &[u8], fds: Vec<OwnedFd>) -> Result<HolderHello, LinkError> {
    let (fields, blob) = HelloFields::decode(body)?;
    let [ring, wake, master] = match <[OwnedFd; HELLO_FDS]>::try_from(fds) {
        Ok(fds) => fds,
        // Every holder sends all of them: our own descriptor table had no room for the rest.
        Err(fds) if fds.len() < HELLO_FDS => return Err(LinkError::Io(rustix::io::Errno::MFILE.into())),
        Err(_) => {
            return Err(LinkError::Wire(WireError::Malformed { what: "descriptors of the hello reply" }));
        }
    };
    let ring = RingReader::open(ring, fields.ring_bytes)?;
    Ok(HolderHello { checkpoint: blob.to_vec(), fields, ring, wake, master })
}

/// Checks that the listener at a holder's socket is the process that it claims to be and is not inside a run.
fn check_listener(listener: &Pinned, claimed: i32, holders: &Path) -> Result<(), LinkError> {
    let is_itself = listener.pid() == claimed && !listener.is_inside_a_run(holders);
    if is_itself { Ok(()) } else { Err(LinkError::Impostor) }
}

fn wait_readable(socket: BorrowedFd<'_>, deadline: Instant) -> Result<(), LinkError> {
    let left = deadline.saturating_duration_since(Instant::now());
    match poll(&mut [PollFd::new(&socket, PollFlags::IN)], Timespec::try_from(left).ok().as_ref()) {
        Ok(0) => Err(LinkError::TimedOut),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(LinkError::Io(error.into())),
    }
}

pub(crate) fn refine(error: io::Error) -> LinkError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::NotFound
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => LinkError::Gone,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => LinkError::TimedOut,
        _ => LinkError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn m4c_what_listens_like_a_holder_inside_a_run_is_not_adopted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let caller = UnixStream::connect(&path).unwrap();
        let own = Pinned::peer(caller.as_fd()).unwrap();
        assert!(check_listener(&own, own.pid(), directory.path()).is_ok());
        let other = check_listener(&own, own.pid() + 1, directory.path());
        assert!(matches!(other, Err(LinkError::Impostor)), "it names another pid than its own");
        let mut command = Command::new("sleep");
        command.arg("1000").stdin(Stdio::null());
        crate::run_mark::put_on_program(&mut command);
        let mut child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let marked = Pinned::of(pid).unwrap();
        let checked = check_listener(&marked, pid, directory.path());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(checked, Err(LinkError::Impostor)), "it carries the mark of a run");
    }
}
