//! The listening socket for later daemons, and the connections that have not sent HELLO yet. A connection has
//! no effect until its first frame is complete, so a probe that connects and closes does no harm. It refuses
//! other users and processes inside a run.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use rustix::process::getuid;

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
    /// The socket at `path`.
    listener: OwnedFd,
    /// The first socket, when it had to be made again: its directory may have been moved and not removed.
    first: Option<OwnedFd>,
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
    /// well. A directory that was removed under a living daemon is made again.
    pub(crate) fn open(path: &Path) -> io::Result<Listener> {
        let (listener, file) = match listen_at(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_dir(path.parent())?;
                listen_at(path)?
            }
            opened => opened?,
        };
        let (pending, closed_until) = (Vec::new(), None);
        Ok(Listener { listener, first: None, path: path.to_owned(), file, pending, closed_until })
    }

    /// Makes the socket and its directory again if the file at our path is not our socket, because no daemon could find
    /// us then. Returns false if that is not possible.
    pub(crate) fn restore(&mut self) -> bool {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            return true;
        }
        let made = make_private_dir(self.path.parent()).and_then(|()| {
            // The name is our run's own, so whatever is there is left over.
            drop(std::fs::remove_file(&self.path));
            listen_at(&self.path)
        });
        let Ok((listener, file)) = made else { return false };
        let former = std::mem::replace(&mut self.listener, listener);
        self.first.get_or_insert(former);
        self.file = file;
        true
    }

    /// Returns the listening sockets, unless accepting is paused.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let is_open = self.closed_until.is_none_or(|until| Instant::now() >= until);
        self.first.iter().chain([&self.listener]).filter(move |_| is_open).map(OwnedFd::as_fd)
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
        for listener in self.first.iter().chain([&self.listener]) {
            if accept_all(listener.as_fd(), &mut self.pending).is_err() {
                self.closed_until = Some(Instant::now() + EXHAUSTED_PAUSE);
            }
        }
    }

    /// Reads the undecided connections; drops those with any other first frame.
    pub(crate) fn first_frames(&mut self) -> Vec<FirstFrame> {
        let mut frames = Vec::new();
        for mut peer in std::mem::take(&mut self.pending) {
            // What was sent before the end of a connection counts: a HANGUP may be followed by a close at
            // once.
            let alive = peer.fill().is_ok();
            match peer.next_message() {
                // The holder of the link reads and types, so a process inside a run is never accepted as the
                // daemon.
                Ok(Some(ToHolder::Hello { .. })) if alive && self.is_from_inside(&peer) => {}
                Ok(Some(ToHolder::Hello { .. })) if alive => frames.push(FirstFrame::Daemon(peer)),
                Ok(Some(ToHolder::Hangup)) => frames.push(FirstFrame::Hangup),
                Ok(None) if alive => self.pending.push(peer),
                _ => {}
            }
        }
        frames
    }

    /// Returns true if a peer is inside a run of this Quarterdeck, or if that cannot be ruled out.
    fn is_from_inside(&self, peer: &Peer) -> bool {
        let holders = self.path.parent().unwrap_or(Path::new("/"));
        Pinned::peer(peer.as_fd()).is_none_or(|peer| peer.is_inside_a_run(holders))
    }
}

/// Returns a socket that listens at `path`, with the identity of its file.
fn listen_at(path: &Path) -> io::Result<(OwnedFd, (u64, u64))> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&listener, &SocketAddrUnix::new(path.as_os_str().as_bytes())?)?;
    listen(&listener, 16)?;
    Ok((listener, identity(path)?))
}

/// Makes the directory of the sockets again, with the data directory around it; nothing further up. Refuses a directory
/// that others could have prepared.
fn make_private_dir(dir: Option<&Path>) -> io::Result<()> {
    let dir = dir.ok_or(io::ErrorKind::NotFound)?;
    for missing in dir.parent().into_iter().chain([dir]) {
        match DirBuilder::new().mode(0o700).create(missing) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let found = std::fs::symlink_metadata(dir)?;
    let is_private = found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0;
    if is_private { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Accepts the waiting connections of our user; fails when the system has no descriptor left.
fn accept_all(listener: BorrowedFd<'_>, pending: &mut Vec<Peer>) -> Result<(), Errno> {
    loop {
        let socket = match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => socket,
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            Err(error) => return Err(error),
        };
        if !fdpass::peer_is_same_user(socket.as_fd()) {
            continue;
        }
        if pending.len() == MOST_PENDING {
            pending.remove(0);
        }
        pending.push(Peer::new(socket, FrameBuffer::default()));
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn private(dir: &Path, mode: u32) {
        fs::create_dir_all(dir).unwrap();
        fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn m2_a_socket_is_made_again_with_its_directories_and_the_first_one_stays_open() {
        let root = tempfile::tempdir().unwrap();
        let (data, holders) = (root.path().join("data"), root.path().join("data/h"));
        private(&holders, 0o700);
        let path = holders.join("p_aaaaaaaa.1");
        let mut listener = Listener::open(&path).unwrap();
        assert!(listener.restore());
        assert!(listener.first.is_none(), "nothing was missing");
        let moved = root.path().join("moved");
        fs::rename(&data, &moved).unwrap();
        assert!(listener.restore());
        let _by_path = UnixStream::connect(&path).unwrap();
        let _by_moved = UnixStream::connect(moved.join("h/p_aaaaaaaa.1")).unwrap();
        listener.accept();
        assert_eq!(listener.pending.len(), 2);
        fs::remove_dir_all(&data).unwrap();
        assert!(listener.restore());
        let _again = UnixStream::connect(&path).unwrap();
        assert_eq!(fs::metadata(&holders).unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir_all(root.path()).unwrap();
        assert!(!listener.restore(), "nothing above the data directory is made");
    }

    #[test]
    fn m2_a_directory_that_others_may_enter_gets_no_socket() {
        let root = tempfile::tempdir().unwrap();
        let holders = root.path().join("data/h");
        private(&holders, 0o700);
        let mut listener = Listener::open(&holders.join("p_aaaaaaaa.1")).unwrap();
        fs::remove_dir_all(&holders).unwrap();
        private(&holders, 0o755);
        assert!(!listener.restore());
        fs::remove_dir_all(&holders).unwrap();
        private(&root.path().join("elsewhere"), 0o700);
        std::os::unix::fs::symlink(root.path().join("elsewhere"), &holders).unwrap();
        assert!(!listener.restore());
    }
}
