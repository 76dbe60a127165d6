//! The holder's end of a daemon's link: frames in, frames out, never waiting. It decides nothing about their meaning.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use crate::fdpass;
use crate::wire::{FrameBuffer, FromHolder, MAX_FRAME, ToHolder, frame, kind};

/// Bytes read from a link per turn, so that a large checkpoint never keeps the PTY waiting.
const READ_PER_TURN: usize = 256 << 10;

/// Bytes that may wait for a daemon that does not read; beyond it, nothing more is said to it.
const MOST_WAITING: usize = MAX_FRAME + (4 << 20);

/// A connected daemon.
pub(crate) struct Peer {
    socket: OwnedFd,
    incoming: FrameBuffer,
    outgoing: VecDeque<Rc<[u8]>>,
    /// Bytes of the first outgoing piece that have gone.
    sent: usize,
    waiting: usize,
    /// The daemon does not hear us any more.
    silenced: bool,
}

impl Peer {
    /// Over a connected, non-blocking socket, with whatever was read beyond its first frame.
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

    /// Queues a message and sends what goes now. A daemon that cannot hear us any more may still have said something
    /// that has not been read (a release, then its end): so a failure only silences us, and the link ends when reading
    /// does.
    pub(crate) fn send(&mut self, message: &FromHolder) {
        self.queue(Rc::from(message.encode()));
        self.flush();
    }

    /// Tells a daemon which process has taken over, so that it does not take the end of the link for the end of the
    /// holder. Best effort: a daemon that does not read finds the link closed.
    pub(crate) fn dismiss(&mut self, newcomer: i32) {
        self.queue(Rc::from(frame(kind::DISPLACED, &[&newcomer.to_le_bytes()])));
        self.flush();
    }

    /// The pid of the process that connected; 0 when it cannot be read.
    pub(crate) fn pid(&self) -> i32 {
        rustix::net::sockopt::socket_peercred(&self.socket).map_or(0, |peer| peer.pid.as_raw_pid())
    }

    /// Sends what goes now.
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

    /// Reads what is there, up to the turn's share. An error means that the link is over.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        let mut buf = [0u8; 16 << 10];
        let mut total = 0;
        while total < READ_PER_TURN {
            match fdpass::receive(self.socket.as_fd(), &mut buf) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(count) => {
                    self.incoming.extend(&buf[..count]);
                    total += count;
                }
                Err(error) if fdpass::is_not_now(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next message that is complete; unknown ones are skipped. An error means that the link is over.
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
