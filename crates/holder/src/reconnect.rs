//! Links again to a holder that has accepted another link meanwhile. Nothing here waits: the holder's answer
//! is one more thing to read from the link. A listener that is not the daemon's former holder is refused.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::fdpass;
use crate::link::{HolderHello, Link, LinkError, PendingHello, open_hello, refine};
use crate::origin::Pinned;
use crate::wire::{FrameBuffer, ToHolder, kind};

impl Link {
    /// Links to the holder with this pid and start time, which listens at `socket`, and takes over from the
    /// present link. The holder executes `first` in the moment of accepting the link, so no other program can
    /// come between.
    ///
    /// What is sent over the link before [`Link::take_hello`] has returned the answer is executed in order,
    /// too.
    pub fn reconnect(
        socket: &Path,
        pid: i32,
        start_time: u64,
        first: &[ToHolder],
    ) -> Result<Link, LinkError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(io::Error::from)?;
        let pending = PendingHello::connect(stream, socket)?;
        let listener = Pinned::peer(pending.stream.as_fd()).ok_or(LinkError::Gone)?;
        if listener.identity() != (pid, start_time) {
            return Err(LinkError::Impostor);
        }
        pending.greet(first)?;
        let mut link = Link::over(pending.stream, FrameBuffer::default());
        link.greeting = Some(Vec::new());
        Ok(link)
    }

    /// Returns true if the holder has yet to answer [`Link::reconnect`].
    pub fn is_greeting(&self) -> bool {
        self.greeting.is_some()
    }

    /// Returns the holder's answer to [`Link::reconnect`]; `None` while it is incomplete.
    pub fn take_hello(&mut self) -> Result<Option<HolderHello>, LinkError> {
        let mut buf = [0u8; 16 << 10];
        while let Some(fds) = self.greeting.as_mut() {
            if let Some((kind, body)) = self.incoming.next_frame()? {
                if kind == kind::HELLO_REPLY {
                    let fds = std::mem::take(fds);
                    self.greeting = None;
                    return open_hello(body, fds).map(Some);
                }
                continue;
            }
            match fdpass::receive_with_fds(self.socket.as_fd(), &mut buf, fds) {
                Ok(0) => return Err(LinkError::Gone),
                Ok(count) => self.incoming.extend(&buf[..count]),
                Err(error) if fdpass::is_not_now(&error) => return Ok(None),
                Err(error) => return Err(refine(error)),
            }
        }
        Ok(None)
    }
}
