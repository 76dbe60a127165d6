//! The listening socket for later daemons, and the connections that have not sent HELLO yet. A connection has
//! no effect until its first frame is complete, so a probe that connects and closes does no harm. It refuses
//! other users and processes inside a run.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};

use crate::fdpass;
use crate::origin::Pinned;
use crate::peer::Peer;
use crate::wire::{FrameBuffer, ToHolder};

/// The most undecided connections; the oldest is closed for a new one.
const MOST_PENDING: usize = 8;

/// The pause in accepting when the holder has no descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);

/// Longest path of a Unix socket, with its final NUL.
pub(crate) const LONGEST_SOCKET_PATH: usize = 107;

/// The listening socket; its file is removed with it.
pub(crate) struct Listener {
    listener: OwnedFd,
    path: PathBuf,
    /// Device and inode of the socket's file.
    file: (u64, u64),
    pending: Vec<Peer>,
    /// Set when the system had no descriptor left: until then nothing is accepted, so that the loop does not
    /// spin.
    closed_until: Option<Instant>,
}

/// The first frame of a connection.
pub(crate) enum FirstFrame {
    /// A daemon that wants to take over.
    Daemon(Peer),
    /// A request to end the run.
    Hangup,
}

impl Listener {
    /// Listens at `path`. The caller's umask is 077 and the directory 0700; the peer's user is checked as
    /// well.
    pub(crate) fn open(path: &Path) -> io::Result<Listener> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&listener, &SocketAddrUnix::new(path.as_os_str().as_bytes())?)?;
        listen(&listener, 16)?;
        let file = identity(path)?;
        Ok(Listener { listener, path: path.to_owned(), file, pending: Vec::new(), closed_until: None })
    }

    /// Returns true if the file at our path is still our socket; otherwise no daemon can find us.
    pub(crate) fn is_reachable(&self) -> bool {
        identity(&self.path).is_ok_and(|file| file == self.file)
    }

    /// Returns the listening socket, unless accepting is paused.
    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.closed_until.is_none_or(|until| Instant::now() >= until).then(|| self.listener.as_fd())
    }

    /// Returns when accepting continues.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.closed_until.filter(|until| *until > Instant::now())
    }

    pub(crate) fn pending(&self) -> &[Peer] {
        &self.pending
    }

    /// Accepts all waiting connections of our user.
    pub(crate) fn accept(&mut self) {
        self.closed_until = None;
        loop {
            let socket = match accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(_) => {
                    self.closed_until = Some(Instant::now() + EXHAUSTED_PAUSE);
                    return;
                }
            };
            if !fdpass::peer_is_same_user(socket.as_fd()) {
                continue;
            }
            if self.pending.len() == MOST_PENDING {
                self.pending.remove(0);
            }
            self.pending.push(Peer::new(socket, FrameBuffer::default()));
        }
    }

    /// Reads the undecided connections; drops those with any other first frame.
    pub(crate) fn visitors(&mut self) -> Vec<FirstFrame> {
        let mut visitors = Vec::new();
        for mut peer in std::mem::take(&mut self.pending) {
            // What was sent before the end of a connection counts: a HANGUP may be followed by a close at
            // once.
            let alive = peer.fill().is_ok();
            match peer.next_message() {
                // The holder of the link reads and types, so a process inside a run is never accepted as the
                // daemon.
                Ok(Some(ToHolder::Hello { .. })) if alive && self.is_from_inside(&peer) => {}
                Ok(Some(ToHolder::Hello { .. })) if alive => visitors.push(FirstFrame::Daemon(peer)),
                Ok(Some(ToHolder::Hangup)) => visitors.push(FirstFrame::Hangup),
                Ok(None) if alive => self.pending.push(peer),
                _ => {}
            }
        }
        visitors
    }

    /// Returns true if a peer is inside a run of this Quarterdeck, or if that cannot be ruled out.
    fn is_from_inside(&self, peer: &Peer) -> bool {
        let holders = self.path.parent().unwrap_or(Path::new("/"));
        Pinned::peer(peer.as_fd()).is_none_or(|peer| peer.is_inside_a_run(holders))
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The file may already be gone with its directory.
        drop(std::fs::remove_file(&self.path));
    }
}
