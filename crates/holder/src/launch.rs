//! Starts a holder, from the daemon. The configuration is sent over a socket pair that then stays as the
//! first link, so there is no moment without a connection. It blocks for a few milliseconds.

mod control;
mod interpreter;
mod ready;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use self::control::Forkserver;
use self::ready::{ReadyHolder, ReadyHolders};
use crate::codec::Cursor;
use crate::config::RunConfig;
use crate::entry::may_enter;
use crate::fdpass;
use crate::link::{HolderHello, Link, LinkError, receive_reply, refine};
use crate::wire::{HANGUP, WireError, frame, kind};

/// How long a holder may take to start its child; generous, because a busy machine is not a failure.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Why a run could not be started. Nothing is left running in any case.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("program not found: {}", program.display())]
    NotFound {
        /// The program as requested.
        program: PathBuf,
    },
    /// The program exists, but its interpreter does not.
    #[error("{} is there, but its interpreter is not: {}", program.display(), interpreter.display())]
    InterpreterMissing {
        /// The program as requested.
        program: PathBuf,
        /// What its first line names; its loader, where it is no script.
        interpreter: PathBuf,
    },
    /// The program may not be used.
    #[error("permission denied: {}; check that it is executable and its directory accessible", program.display())]
    PermissionDenied {
        /// The program as requested.
        program: PathBuf,
    },
    /// The working directory may not be entered.
    #[error("permission denied: the working directory {} may not be entered", path.display())]
    WorkdirDenied {
        /// The directory as requested.
        path: PathBuf,
    },
    /// The working directory is not there.
    #[error("working directory is gone: {}", path.display())]
    WorkdirGone {
        /// The directory as requested.
        path: PathBuf,
    },
    /// A limit of the system was reached.
    #[error("limit reached: {what}; close something or raise it")]
    Limit {
        /// Which one.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The holder's socket path does not fit into a Unix socket address.
    #[error("socket path is longer than {longest} bytes: {}; use a shorter runtime directory", path.display())]
    SocketPathTooLong {
        /// The path.
        path: PathBuf,
        /// The limit.
        longest: usize,
    },
    /// The kernel lacks what a holder needs (subreaper, pidfd, close_range).
    #[error("this system cannot run holders: linux 5.11 or newer is needed")]
    Unsupported,
    /// The holder broke the protocol.
    #[error("the holder could not be reached")]
    Link(#[from] LinkError),
    /// Anything else.
    #[error("starting a holder failed: {0}")]
    Io(#[from] io::Error),
}

/// Starts holders from the executable as it was when the launcher was made: the file may be replaced or
/// removed afterwards, and daemon and holders still match.
///
/// Its forkserver, which forks the holders, is started with the first of them and replaced when it has died.
#[derive(Debug)]
pub struct Launcher {
    executable: OwnedFd,
    /// Locked only to read or to replace, never while a holder starts.
    forkserver: Mutex<Option<Arc<Forkserver>>>,
    ready: ReadyHolders,
}

/// An announced start. Dropping it says that the start is over, or will not come.
#[derive(Debug)]
pub struct Announced(Arc<Launcher>);

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.ready.withdraw();
    }
}

/// A holder that has started its child. The daemon does not reap it: it has ended when its link has closed.
#[derive(Debug)]
pub struct Started {
    /// The first link.
    pub link: Link,
    /// The holder's greeting.
    pub hello: HolderHello,
}

impl Launcher {
    /// Uses our own executable.
    pub fn current_exe() -> io::Result<Launcher> {
        Launcher::for_exe(Path::new("/proc/self/exe"))
    }

    /// Uses another executable whose `hold` argument leads to [`hold`](crate::hold()).
    pub fn for_exe(path: &Path) -> io::Result<Launcher> {
        let executable = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Launcher { executable, forkserver: Mutex::new(None), ready: ReadyHolders::default() })
    }

    /// Starts a holder and its child; returns when the child runs or has failed to. Safe to call from many threads.
    pub fn start(&self, config: &RunConfig) -> Result<Started, LaunchError> {
        if let Some(ReadyHolder { forkserver, link }) = self.ready.take() {
            match self.first_contact_of(&forkserver, link, config) {
                // It was not forked, or was killed while it waited.
                Err(LaunchError::Link(LinkError::Gone)) => {}
                result => return result,
            }
        }
        let forkserver = self.forkserver_other_than(None)?;
        match self.start_in(&forkserver, config) {
            // The holder was not forked, or it died with its forkserver before it could answer: try once
            // more.
            Err(LaunchError::Link(LinkError::Gone)) if forkserver.has_ended() => {
                self.start_in(&self.forkserver_other_than(Some(&forkserver))?, config)
            }
            result => result,
        }
    }

    /// Announces a start that is about to come: a holder is forked for it at once, while the caller still decides.
    /// Without a forkserver, or with one that is busy, nothing happens, and the start forks its own.
    #[must_use]
    pub fn announce(self: &Arc<Self>) -> Announced {
        let forkserver = self.current().clone();
        if self.ready.announce()
            && let Some(forkserver) = forkserver
            && let Ok(link) = forkserver.request_at_once()
        {
            self.ready.put(ReadyHolder { forkserver, link });
        }
        Announced(Arc::clone(self))
    }

    fn start_in(&self, forkserver: &Arc<Forkserver>, config: &RunConfig) -> Result<Started, LaunchError> {
        self.first_contact_of(forkserver, forkserver.request()?, config)
    }

    /// Configures a holder. If it does not answer, its forkserver is not used again.
    fn first_contact_of(
        &self,
        forkserver: &Arc<Forkserver>,
        link: OwnedFd,
        config: &RunConfig,
    ) -> Result<Started, LaunchError> {
        let started = first_contact(link, config);
        if matches!(started, Err(LaunchError::Link(LinkError::TimedOut))) {
            self.retire(forkserver);
        }
        started
    }

    /// Returns the current forkserver; a new one if there is none or only `ended`.
    fn forkserver_other_than(&self, ended: Option<&Arc<Forkserver>>) -> Result<Arc<Forkserver>, LaunchError> {
        let mut current = self.current();
        let is_ended = |found: &Arc<Forkserver>| ended.is_some_and(|ended| Arc::ptr_eq(found, ended));
        if let Some(found) = current.as_ref().filter(|found| !is_ended(found)) {
            return Ok(Arc::clone(found));
        }
        let new = Arc::new(Forkserver::start(self.executable.as_fd())?);
        *current = Some(Arc::clone(&new));
        Ok(new)
    }

    /// Drops a forkserver that does not answer: it may be stopped or stuck. It keeps nothing, so the next
    /// start uses a new one.
    fn retire(&self, silent: &Arc<Forkserver>) {
        self.current().take_if(|found| Arc::ptr_eq(found, silent));
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Forkserver>>> {
        // The value under the lock is replaced whole, so a panic of another thread cannot have left half of
        // it.
        self.forkserver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the configuration and waits for the result. A holder that does not answer in time gets a hang-up,
/// which ends its run when it wakes up; one whose link closes before its child runs never starts it.
pub(crate) fn first_contact(socket: OwnedFd, config: &RunConfig) -> Result<Started, LaunchError> {
    let deadline = Instant::now() + START_LIMIT;
    let reply = send_config(socket.as_fd(), config).and_then(|()| receive_reply(socket.as_fd(), deadline));
    match reply {
        Ok(Ok((incoming, hello))) => Ok(Started { link: Link::over(socket, incoming), hello }),
        Ok(Err(failure)) => Err(failure.explain(config)),
        Err(error) => {
            // If the holder is gone, the hang-up is not needed.
            drop(fdpass::send(socket.as_fd(), &HANGUP));
            Err(name_limit(error))
        }
    }
}

fn send_config(socket: BorrowedFd<'_>, config: &RunConfig) -> Result<(), LinkError> {
    let bytes = frame(kind::CONFIG, &[&config.encode()]);
    set_socket_timeout(socket, Timeout::Send, Some(START_LIMIT)).map_err(io::Error::from)?;
    let mut sent = 0;
    while sent < bytes.len() {
        match fdpass::send(socket, &bytes[sent..]).map_err(refine) {
            Ok(count) => sent += count,
            // The other end may have sent the reason before it closed the link.
            Err(LinkError::Gone) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reports a link that failed because of a limit as that limit.
fn name_limit(error: LinkError) -> LaunchError {
    match error {
        LinkError::Io(source) => match Errno::from_io_error(&source).and_then(limit_name) {
            Some(what) => LaunchError::Limit { what, source },
            None => LaunchError::Link(LinkError::Io(source)),
        },
        other => other.into(),
    }
}

fn limit_or_io(error: Errno) -> LaunchError {
    match limit_name(error) {
        Some(what) => LaunchError::Limit { what, source: error.into() },
        None => LaunchError::Io(error.into()),
    }
}

fn limit_name(error: Errno) -> Option<&'static str> {
    match error {
        Errno::MFILE | Errno::TOOMANYREFS => Some("open files per process (ulimit -n)"),
        Errno::NFILE => Some("open files of the system (fs.file-max)"),
        Errno::AGAIN => Some("processes (ulimit -u or pids.max)"),
        Errno::NOMEM => Some("memory"),
        Errno::NOSPC => Some("space in the runtime directory"),
        _ => None,
    }
}

/// Why the holder could not start its child, as it is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    NotFound,
    PermissionDenied,
    WorkdirGone,
    WorkdirDenied,
    NoPty(i32),
    Unsupported,
    SocketPathTooLong,
    Os(i32),
}

impl Failure {
    pub(crate) fn from_io(error: io::Error) -> Failure {
        Failure::Os(error.raw_os_error().unwrap_or_else(|| Errno::IO.raw_os_error()))
    }

    pub(crate) fn from_pty(error: io::Error) -> Failure {
        // The kernel returns ENOSPC (older ones EIO) when kernel.pty.max is reached.
        match Errno::from_io_error(&error) {
            Some(found @ (Errno::NOSPC | Errno::IO)) => Failure::NoPty(found.raw_os_error()),
            _ => Failure::from_io(error),
        }
    }

    pub(crate) fn from_exec(error: io::Error, config: &RunConfig) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !config.cwd.is_dir() => {
                Failure::WorkdirGone
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Failure::NotFound,
            io::ErrorKind::PermissionDenied if !may_enter(&config.cwd) => Failure::WorkdirDenied,
            io::ErrorKind::PermissionDenied => Failure::PermissionDenied,
            _ => Failure::from_io(error),
        }
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        let (tag, errno): (u8, i32) = match self {
            Failure::NotFound => (1, 0),
            Failure::PermissionDenied => (2, 0),
            Failure::WorkdirGone => (3, 0),
            Failure::NoPty(errno) => (4, errno),
            Failure::Unsupported => (5, 0),
            Failure::SocketPathTooLong => (6, 0),
            Failure::WorkdirDenied => (7, 0),
            Failure::Os(errno) => (0, errno),
        };
        frame(kind::LAUNCH_FAILED, &[&[tag], &errno.to_le_bytes()])
    }

    pub(crate) fn decode(body: &[u8]) -> Result<Failure, WireError> {
        let mut cursor = Cursor::new(body);
        let (tag, errno) = (cursor.u8()?, cursor.i32()?);
        Ok(match tag {
            1 => Failure::NotFound,
            2 => Failure::PermissionDenied,
            3 => Failure::WorkdirGone,
            4 => Failure::NoPty(errno),
            5 => Failure::Unsupported,
            6 => Failure::SocketPathTooLong,
            7 => Failure::WorkdirDenied,
            _ => Failure::Os(errno),
        })
    }

    fn explain(self, config: &RunConfig) -> LaunchError {
        let program = config.argv.first().map(PathBuf::from).unwrap_or_default();
        match self {
            Failure::NotFound => match interpreter::missing(config) {
                Some(interpreter) => LaunchError::InterpreterMissing { program, interpreter },
                None => LaunchError::NotFound { program },
            },
            Failure::PermissionDenied => LaunchError::PermissionDenied { program },
            Failure::WorkdirGone => LaunchError::WorkdirGone { path: config.cwd.clone() },
            Failure::WorkdirDenied => LaunchError::WorkdirDenied { path: config.cwd.clone() },
            Failure::NoPty(errno) => LaunchError::Limit {
                what: "pseudo-terminals (kernel.pty.max)",
                source: io::Error::from_raw_os_error(errno),
            },
            Failure::Unsupported => LaunchError::Unsupported,
            Failure::SocketPathTooLong => LaunchError::SocketPathTooLong {
                path: config.socket.clone(),
                longest: crate::listener::LONGEST_SOCKET_PATH,
            },
            Failure::Os(errno) => limit_or_io(Errno::from_raw_os_error(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(failure: Failure) -> LaunchError {
        let config = RunConfig::new(vec!["program".into()], "/gone".into(), "/socket".into());
        // The body follows the length and the type.
        Failure::decode(&failure.encode()[5..]).unwrap().explain(&config)
    }

    #[test]
    fn t11_every_cause_survives_the_way_back() {
        assert!(matches!(explained(Failure::NotFound), LaunchError::NotFound { .. }));
        assert!(matches!(explained(Failure::PermissionDenied), LaunchError::PermissionDenied { .. }));
        assert!(matches!(explained(Failure::WorkdirGone), LaunchError::WorkdirGone { .. }));
        assert!(matches!(explained(Failure::WorkdirDenied), LaunchError::WorkdirDenied { .. }));
        assert!(matches!(explained(Failure::Unsupported), LaunchError::Unsupported));
        assert!(matches!(explained(Failure::SocketPathTooLong), LaunchError::SocketPathTooLong { .. }));
        assert!(matches!(explained(Failure::Os(Errno::EXIST.raw_os_error())), LaunchError::Io(_)));
    }

    #[test]
    fn d10_an_exhausted_resource_is_named() {
        let named = |errno: Errno, name: &str| {
            let error = explained(Failure::Os(errno.raw_os_error()));
            assert!(matches!(error, LaunchError::Limit { .. }), "{error:?}");
            assert!(error.to_string().contains(name), "{error}");
        };
        named(Errno::MFILE, "ulimit -n");
        named(Errno::NFILE, "fs.file-max");
        named(Errno::AGAIN, "ulimit -u");
        named(Errno::NOMEM, "memory");
        let error = explained(Failure::from_pty(Errno::NOSPC.into()));
        assert!(error.to_string().contains("kernel.pty.max"), "{error}");
    }
}
