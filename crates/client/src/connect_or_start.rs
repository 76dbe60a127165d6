//! Connects to the daemon and starts one when none listens, within limits of time and tries; also runs
//! a private daemon. It never touches the socket file: only the daemon that holds the lock may unlink it.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use proto::{Dirs, Request};

use crate::launch::{self, Lifetime};
use crate::reconnect_policy::DaemonStart;
use crate::{ClientError, Connection, listener_check, ready, recorded};

/// How long a daemon may take from start to listening, adoption of hundreds of holders included.
const START_DEADLINE: Duration = Duration::from_secs(20);
/// How often a daemon is started again because the one before vanished between its ready line and our
/// connection.
const MAX_STARTS: usize = 5;
/// How long a private daemon may take to end everything in it.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// The address of one daemon.
#[derive(Debug)]
pub struct DaemonAddress {
    dirs: Dirs,
    exe: Option<PathBuf>,
    daemon: Option<Child>,
    /// The directory of a private daemon, removed with it.
    private: Option<PathBuf>,
}

impl DaemonAddress {
    /// Returns the address of the daemon of `dirs`. When none listens, `exe` is started as one, unless this
    /// process is inside a run: a daemon that descends from a holder ends with that run, and everything that
    /// it has ends too.
    #[must_use]
    pub fn new(dirs: Dirs, exe: PathBuf) -> Self {
        Self { dirs, exe: Some(exe), daemon: None, private: None }
    }

    /// Returns the address of the daemon of `dirs`, which is never started from here.
    #[must_use]
    pub fn without_start(dirs: Dirs) -> Self {
        Self { dirs, exe: None, daemon: None, private: None }
    }

    /// Starts a private daemon in a directory of its own below `parent`. It and everything in it end when
    /// this value is dropped or this process dies in any way.
    pub fn private(exe: &Path, parent: &Path) -> Result<Self, ClientError> {
        let root = private_directory(parent).map_err(|error| {
            ClientError::Unreachable(format!("no private directory in {}: {error}", parent.display()))
        })?;
        let dirs = Dirs::below(&root);
        let started = launch::start(exe, &dirs, Lifetime::Starter, Instant::now() + START_DEADLINE);
        let mut address = Self { dirs, exe: None, daemon: None, private: Some(root) };
        address.daemon = Some(started?);
        Ok(address)
    }

    /// Returns the directories of this daemon.
    #[must_use]
    pub fn dirs(&self) -> &Dirs {
        &self.dirs
    }

    /// Returns the address of the same daemon for another thread. A private daemon still ends with `self`.
    #[must_use]
    pub fn for_another_thread(&self) -> Self {
        let exe = if self.is_private() { None } else { self.exe.clone() };
        Self { dirs: self.dirs.clone(), exe, daemon: None, private: None }
    }

    /// Returns true for a private daemon, which no other one replaces.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Connects without hello and never starts a daemon: for `status` and `shutdown`, which any version
    /// answers.
    pub fn connect_if_running(&self) -> Result<Connection, ClientError> {
        self.open().map_err(|error| self.unreachable(error))
    }

    /// Like `connect_if_running`, with the system's own error. A process of a run that listens where the daemon should is
    /// never talked to: the daemon opens its socket again within moments, and this waits for that.
    pub fn open(&self) -> io::Result<Connection> {
        let deadline = Instant::now() + listener_check::IMPOSTOR_TIMEOUT;
        loop {
            match self.open_once() {
                Err(error) if listener_check::is_impostor(&error) && Instant::now() < deadline => {
                    // No event announces that the daemon has opened its socket again.
                    ready::wait(&mut [], Some(listener_check::IMPOSTOR_LOOK))?;
                }
                opened => return opened.map(|connection| connection.trusting(&self.dirs)),
            }
        }
    }

    /// Opens the first socket at which our daemon listens. When our runtime directory leads to no daemon, the data
    /// directory names the sockets of our database's daemon: it may have been started with another runtime
    /// directory, or this one was removed meanwhile.
    fn open_once(&self) -> io::Result<Connection> {
        let open = |socket: &Path| {
            let connection = Connection::open(socket)?;
            listener_check::check(connection.listener()?, &self.dirs).map(|()| connection)
        };
        let mut error = match open(&self.dirs.socket()) {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        let elsewhere = recorded::sockets(&self.dirs).into_iter().chain(self.dirs.data_socket());
        for socket in elsewhere {
            match open(&socket) {
                Ok(connection) => return Ok(connection),
                Err(other) if listener_check::is_impostor(&other) => error = other,
                Err(_) => {}
            }
        }
        Err(error)
    }

    /// Returns the process that holds the data directory, whether or not it listens, and the name of its program.
    #[must_use]
    pub fn directory_holder(&self) -> Option<(i32, String)> {
        listener_check::holder(&self.dirs.data)
    }

    /// Waits at most until `deadline` for the end of a daemon that holds the database and does not listen: it
    /// is ending, or not listening yet. Returns true if there was one.
    pub fn wait_for_leaving(&self, deadline: Instant) -> Result<bool, ClientError> {
        recorded::wait_for_end(&self.dirs, deadline).map_err(ClientError::Broken)
    }

    /// Connects and says hello; starts a daemon first when none listens and this address may.
    pub fn connect(&mut self) -> Result<Connection, ClientError> {
        self.connect_before(Instant::now() + START_DEADLINE)
    }

    /// Like [`DaemonAddress::connect`], giving up at `deadline`.
    pub fn connect_before(&mut self, deadline: Instant) -> Result<Connection, ClientError> {
        self.connect_unless(DaemonStart::Always, deadline, None)
    }

    /// Connects to the next daemon after one was gone, giving up at `deadline`.
    pub fn reconnect_before(&mut self, deadline: Instant) -> Result<Connection, ClientError> {
        self.connect_unless(DaemonStart::AfterCrash, deadline, None)
    }

    /// Connects and says hello; gives up at `deadline` or when `cancel_fd` becomes readable while a daemon is
    /// greeted.
    pub(crate) fn connect_unless(
        &mut self,
        start: DaemonStart,
        deadline: Instant,
        cancel_fd: Option<BorrowedFd<'_>>,
    ) -> Result<Connection, ClientError> {
        let hello = |connection: &mut Connection| connection.hello_before(deadline, cancel_fd).map(drop);
        self.greet(start, deadline, hello).map(|(connection, ())| connection)
    }

    /// Connects and sends a request together with the hello, which saves waiting for the welcome; returns the
    /// request's id. Starts a daemon first when none listens and this address may. The request is sent again to
    /// a daemon that closed the connection without a welcome, so it must have a key or change nothing.
    pub(crate) fn connect_with(&mut self, request: &Request) -> Result<(Connection, u64), ClientError> {
        let deadline = Instant::now() + START_DEADLINE;
        let hello = |connection: &mut Connection| connection.hello_with(request.clone(), deadline);
        self.greet(DaemonStart::Always, deadline, hello)
    }

    /// Connects and runs `hello`, which may be sent again.
    fn greet<T>(
        &mut self,
        start: DaemonStart,
        deadline: Instant,
        hello: impl Fn(&mut Connection) -> Result<T, ClientError>,
    ) -> Result<(Connection, T), ClientError> {
        for _ in 1..MAX_STARTS {
            let mut connection = self.open_or_start(start, deadline)?;
            match hello(&mut connection) {
                // The daemon was killed while it started a holder: the holder, not yet executed, kept the
                // listening socket open for a moment longer.
                Err(ClientError::Broken(error)) if has_closed(&error) => {}
                other => return other.map(|greeted| (connection, greeted)),
            }
        }
        let mut connection = self.open_or_start(start, deadline)?;
        let greeted = hello(&mut connection)?;
        Ok((connection, greeted))
    }

    /// Connects without hello; starts a daemon first when none listens and `start` says so.
    pub(crate) fn open_or_start(
        &mut self,
        start: DaemonStart,
        deadline: Instant,
    ) -> Result<Connection, ClientError> {
        for _ in 0..MAX_STARTS {
            match (self.open(), self.exe.clone()) {
                (Ok(connection), _) => return Ok(connection),
                (Err(error), Some(exe)) if start.is_due(error.kind()) => self.start(&exe, deadline)?,
                (Err(error), _)
                    if start == DaemonStart::AfterCrash && error.kind() == io::ErrorKind::NotFound =>
                {
                    return Err(ClientError::ShutDown);
                }
                (Err(error), _) => return Err(self.unreachable(error)),
            }
        }
        self.connect_if_running()
    }

    /// Returns the error for a socket that cannot be opened.
    pub(crate) fn unreachable(&self, error: io::Error) -> ClientError {
        let socket = self.dirs.socket();
        if DaemonStart::Always.is_due(error.kind()) {
            ClientError::Unreachable(format!("{}: {error}", socket.display()))
        } else {
            ClientError::Unopened { socket, source: error }
        }
    }

    fn start(&mut self, exe: &Path, deadline: Instant) -> Result<(), ClientError> {
        if launch::is_inside_a_run() {
            let why = "no daemon runs, and a daemon that is started inside a process of Quarterdeck would end with that process; \
                       run any qd command outside";
            return Err(ClientError::Unreachable(why.to_owned()));
        }
        self.reap();
        self.daemon = Some(launch::start(exe, &self.dirs, Lifetime::Free, deadline)?);
        Ok(())
    }

    /// Reaps a daemon that was started earlier and has died; a running one is left alone.
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

/// Returns true if the child ends in time; it waits on a pidfd, so the pid cannot mean another process.
fn has_ended(child: &Child) -> bool {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) else {
        return true;
    };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
        return true;
    };
    ready::readable_before(pidfd.as_fd(), Instant::now() + END_DEADLINE).unwrap_or(true)
}

/// Returns true if the other side closed the connection without an answer.
pub(crate) fn has_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// Creates a directory that only this user may enter, with an unpredictable name and no link in its place.
fn private_directory(parent: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let root = parent.join(format!("qd-{:016x}", u64::from_le_bytes(random)));
    DirBuilder::new().mode(0o700).create(&root)?;
    Ok(root)
}
