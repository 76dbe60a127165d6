//! Reaching the daemon: the door's address, and starting a daemon when nobody is behind it.
//!
//! Owns the decision to start one and the life of a private one. Refuses touching the socket file: only the daemon
//! that holds the lock may unlink it.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use proto::Dirs;

use crate::launch::{self, Lifetime};
use crate::{ClientError, Connection, ready, recorded};

/// How long a daemon may take from start to listening, adoption of hundreds of holders included.
const START_DEADLINE: Duration = Duration::from_secs(20);
/// How often a daemon is started again because the one before vanished between its line and our knock.
const MAX_STARTS: usize = 5;
/// How long a private daemon may take to end everything in it.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// The way to one daemon.
#[derive(Debug)]
pub struct DaemonAddress {
    places: Dirs,
    exe: Option<PathBuf>,
    daemon: Option<Child>,
    /// The directory of a private daemon, removed with it.
    private: Option<PathBuf>,
}

impl DaemonAddress {
    /// The daemon of `places`; `exe` is the `qd` that is started as one when nobody listens, unless this process lives
    /// in a run: a daemon that descends from a holder ends with that run, and all it holds with it.
    #[must_use]
    pub fn new(places: Dirs, exe: PathBuf) -> Self {
        Self { places, exe: Some(exe), daemon: None, private: None }
    }

    /// The daemon of `places`, which is never started from here.
    #[must_use]
    pub fn without_start(places: Dirs) -> Self {
        Self { places, exe: None, daemon: None, private: None }
    }

    /// Starts a private daemon in a directory of its own below `parent`. It and everything in it end when this value
    /// is dropped or this process dies in whatever way.
    pub fn private(exe: &Path, parent: &Path) -> Result<Self, ClientError> {
        let root = private_directory(parent).map_err(|error| {
            ClientError::Unreachable(format!("no private directory in {}: {error}", parent.display()))
        })?;
        let places = Dirs::below(&root);
        let started = launch::start(exe, &places, Lifetime::Starter, Instant::now() + START_DEADLINE);
        let mut address = Self { places, exe: None, daemon: None, private: Some(root) };
        address.daemon = Some(started?);
        Ok(address)
    }

    /// Where this daemon keeps its things.
    #[must_use]
    pub fn places(&self) -> &Dirs {
        &self.places
    }

    /// Whether its daemon is a private one, which no other follows.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Connects without hello and never starts anybody: for `status` and `shutdown`, which any version answers.
    pub fn knock(&self) -> Result<Connection, ClientError> {
        self.open().map_err(|error| self.unreachable(error))
    }

    /// The same, with the system's own error. When our runtime directory leads to no daemon, the data directory tells
    /// where the daemon of our database listens: it may have been started with another runtime directory, or this one
    /// was removed meanwhile.
    pub fn open(&self) -> io::Result<Connection> {
        let opened = Connection::open(&self.places.socket()).or_else(|error| {
            let elsewhere = recorded::sockets(&self.places);
            elsewhere.iter().find_map(|socket| Connection::open(socket).ok()).ok_or(error)
        });
        opened.map(|connection| connection.trusting(&self.places))
    }

    /// Waits at most until `deadline` for the end of a daemon that holds the database and does not listen: it ends, or
    /// does not listen yet. Returns whether there was one.
    pub fn wait_for_leaving(&self, deadline: Instant) -> Result<bool, ClientError> {
        recorded::wait_for_end(&self.places, deadline).map_err(ClientError::Broken)
    }

    /// Connects and says hello, starting a daemon first when nobody listens and this door may.
    pub fn connect(&mut self) -> Result<Connection, ClientError> {
        self.connect_before(Instant::now() + START_DEADLINE)
    }

    /// Like [`DaemonAddress::connect`], giving up at `deadline`.
    pub fn connect_before(&mut self, deadline: Instant) -> Result<Connection, ClientError> {
        self.connect_unless(deadline, None)
    }

    /// The same, giving up also when `cancel_fd` rings while a daemon is greeted.
    pub(crate) fn connect_unless(
        &mut self,
        deadline: Instant,
        cancel_fd: Option<BorrowedFd<'_>>,
    ) -> Result<Connection, ClientError> {
        for _ in 1..MAX_STARTS {
            let mut connection = self.open_or_start(deadline)?;
            match connection.hello_before(deadline, cancel_fd) {
                // A daemon killed while it was starting a holder: the holder, not yet executed, kept its listening socket
                // open for a moment longer. Nothing but hello was asked, so asking again is safe.
                Err(ClientError::Broken(error)) if has_closed(&error) => {}
                other => return other.map(|_| connection),
            }
        }
        let mut connection = self.open_or_start(deadline)?;
        connection.hello_before(deadline, cancel_fd)?;
        Ok(connection)
    }

    fn open_or_start(&mut self, deadline: Instant) -> Result<Connection, ClientError> {
        for _ in 0..MAX_STARTS {
            match (self.open(), self.exe.clone()) {
                (Ok(connection), _) => return Ok(connection),
                (Err(error), Some(exe)) if nobody_listens(&error) => self.start(&exe, deadline)?,
                (Err(error), _) => return Err(self.unreachable(error)),
            }
        }
        self.knock()
    }

    fn unreachable(&self, error: io::Error) -> ClientError {
        let socket = self.places.socket();
        if nobody_listens(&error) {
            ClientError::Unreachable(format!("{}: {error}", socket.display()))
        } else {
            ClientError::Unopened { socket, source: error }
        }
    }

    fn start(&mut self, exe: &Path, deadline: Instant) -> Result<(), ClientError> {
        if launch::is_inside_a_run() {
            let why = "no daemon runs, and none is started from inside a process of Quarterdeck: it would end with it; \
                       any qd outside starts one";
            return Err(ClientError::Unreachable(why.to_owned()));
        }
        self.reap();
        self.daemon = Some(launch::start(exe, &self.places, Lifetime::Free, deadline)?);
        Ok(())
    }

    /// Collects a daemon started earlier that has died since; a running one is left alone.
    fn reap(&mut self) {
        if let Some(daemon) = &mut self.daemon
            && matches!(daemon.try_wait(), Ok(Some(_)))
        {
            self.daemon = None;
        }
    }
}

impl Drop for DaemonAddress {
    fn drop(&mut self) {
        let Some(root) = self.private.take() else { return };
        if let Some(mut daemon) = self.daemon.take() {
            drop(daemon.stdin.take());
            if !has_ended(&daemon) {
                drop(daemon.kill());
            }
            drop(daemon.wait());
        }
        drop(std::fs::remove_dir_all(root));
    }
}

/// Whether the child ends in time; waits on a pidfd, so no pid can be confused with another.
fn has_ended(child: &Child) -> bool {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) else {
        return true;
    };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
        return true;
    };
    ready::readable_before(pidfd.as_fd(), Instant::now() + END_DEADLINE).unwrap_or(true)
}

/// The other side went without a word.
pub(crate) fn has_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// No socket, or a socket that a dead daemon left behind.
fn nobody_listens(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// A new directory that only this user may enter, with a name nobody can guess and no link in its place.
fn private_directory(parent: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let root = parent.join(format!("qd-{:016x}", u64::from_le_bytes(random)));
    DirBuilder::new().mode(0o700).create(&root)?;
    Ok(root)
}
