//! The holder's end of a daemon's link: frames in, frames out, never waiting.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use crate::fdpass;
use crate::wire::{FrameBuffer, FromHolder, MAX_FRAME, ToHolder, frame, kind};

/// Bytes read from a link per turn, so that a large checkpoint never keeps the PTY waiting.
const READ_PER_TURN: usize = 256 << 10;

/// Bytes of the first read of a turn, and of those after it when there is more.
const SHORT_READ: usize = 1 << 10;
const LONG_READ: usize = 64 << 10;

/// The most bytes that wait for a daemon that does not read; beyond it, nothing more is sent to it.
const MOST_WAITING: usize = MAX_FRAME + (4 << 20);

/// A connected daemon.
pub(crate) struct Peer {
    socket: OwnedFd,
    incoming: FrameBuffer,
    outgoing: VecDeque<Rc<[u8]>>,
    /// Bytes of the first outgoing piece that have gone.
    sent: usize,
    waiting: usize,
    /// The daemon no longer receives.
    silenced: bool,
}

impl Peer {
    /// Wraps a connected, non-blocking socket, with whatever was read beyond its first frame.
    pub(crate) fn new(socket: OwnedFd, incoming: FrameBuffer) -> Peer {
        Peer { socket, incoming, outgoing: VecDeque::new(), sent: 0, waiting: 0, silenced: false }
    }

    pub(crate) fn wants_write(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Sends the HELLO reply: its head with the descriptors, then the checkpoint as it is.
    pub(crate) fn greet(
        &mut self,
        head: &[u8],
        blob: Option<Rc<[u8]>>,
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let sent = fdpass::send_with_fds(self.socket.as_fd(), head, fds)?;
        self.queue(Rc::from(&head[sent..]));
        if let Some(blob) = blob {
            self.queue(blob);
        }
        self.flush();
        Ok(())
    }

    /// Queues a message and sends as much as possible. A daemon that no longer receives may still have sent
    /// something unread (a release, then its end): so a failure only stops sending, and the link ends when
    /// reading does.
    pub(crate) fn send(&mut self, message: &FromHolder) {
        self.queue(Rc::from(message.encode()));
        self.flush();
    }

    /// Sends a daemon the pid of the process that has taken over, so that it does not mistake the end of the
    /// link for the end of the holder. A daemon that does not read only finds the link closed.
    pub(crate) fn dismiss(&mut self, newcomer: i32) {
        self.queue(Rc::from(frame(kind::DISPLACED, &[&newcomer.to_le_bytes()])));
        self.flush();
    }

    /// Returns the pid of the process that connected; 0 when it cannot be read.
    pub(crate) fn pid(&self) -> i32 {
        rustix::net::sockopt::socket_peercred(&self.socket).map_or(0, |peer| peer.pid.as_raw_pid())
    }

    /// Sends as much as possible.
    pub(crate) fn flush(&mut self) {
        while let Some(piece) = self.outgoing.front() {
            match fdpass::send(self.socket.as_fd(), &piece[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    self.waiting -= count;
                    if self.sent == piece.len() {
                        self.outgoing.pop_front();
                        self.sent = 0;
                    }
                }
                Err(error) if fdpass::is_not_now(&error) => return,
                Err(_) => self.silence(),
            }
        }
    }

    /// Reads what is available, up to the limit per turn. An error means that the link is over.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        // Commands are short. Pages of the stack that were used once stay for the life of the holder, so only
        // a checkpoint gets a larger buffer, and not there.
        let mut short = [0u8; SHORT_READ];
        let mut long = Vec::new();
        let mut total = 0;
        while total < READ_PER_TURN {
            let buf = if long.is_empty() { &mut short[..] } else { &mut long[..] };
            match fdpass::receive(self.socket.as_fd(), buf) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(count) => {
                    self.incoming.extend(&buf[..count]);
                    total += count;
                    if count == SHORT_READ && long.is_empty() {
                        long = vec![0; LONG_READ];
                    }
                }
                Err(error) if fdpass::is_not_now(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the next complete message; unknown ones are skipped. An error means that the link is over.
    pub(crate) fn next_message(&mut self) -> io::Result<Option<ToHolder>> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        while let Some((kind, body)) = self.incoming.next_frame().map_err(invalid)? {
            if let Some(message) = ToHolder::decode(kind, body).map_err(invalid)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn queue(&mut self, piece: Rc<[u8]>) {
        if piece.is_empty() || self.silenced {
            return;
        }
        self.waiting += piece.len();
        self.outgoing.push_back(piece);
        if self.waiting > MOST_WAITING {
            self.silence();
        }
    }

    fn silence(&mut self) {
        self.silenced = true;
        self.outgoing.clear();
        (self.sent, self.waiting) = (0, 0);
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
