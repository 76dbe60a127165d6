//! Starting a holder, from the daemon. The configuration travels over a socket pair that then stays as the first link,
//! so there is no moment at which nobody is connected. It blocks for a few milliseconds and refuses async.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::codec::Cursor;
use crate::config::RunConfig;
use crate::fdpass;
use crate::link::{Hello, Link, LinkError, receive_reply};
use crate::wire::{WireError, frame, kind};

/// How long a holder may take to start its child; generous, because a busy machine is not a failure.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Why a run could not be started. Nothing is left behind in any case.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("program not found: {}; check the name and PATH", program.display())]
    NotFound {
        /// As it was asked for.
        program: PathBuf,
    },
    /// The program or the directory may not be used.
    #[error("permission denied: {}; check that it is executable and its directory accessible", program.display())]
    PermissionDenied {
        /// As it was asked for.
        program: PathBuf,
    },
    /// The working directory is not there.
    #[error("working directory is gone: {}", path.display())]
    WorkdirGone {
        /// As it was asked for.
        path: PathBuf,
    },
    /// A limit of the system was reached.
    #[error("limit reached: {what}; close something or raise it")]
    Limit {
        /// Which one.
        what: &'static str,
        /// What the system said.
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
    /// The holder did not speak as expected.
    #[error("the holder could not be reached")]
    Link(#[from] LinkError),
    /// Anything else.
    #[error("starting a holder failed: {0}")]
    Io(#[from] io::Error),
}

/// Starts holders from the executable as it was when the launcher was made: the file may be replaced or removed
/// afterwards, and daemon and holders still match.
#[derive(Debug)]
pub struct Launcher {
    executable: OwnedFd,
}

/// A holder that has started its child.
#[derive(Debug)]
pub struct Started {
    /// The holder itself; whoever started it reaps it once the link has closed.
    pub holder: Child,
    /// The first link.
    pub link: Link,
    /// What the holder said.
    pub hello: Hello,
}

impl Launcher {
    /// From our own executable.
    pub fn current_exe() -> io::Result<Launcher> {
        Launcher::for_exe(Path::new("/proc/self/exe"))
    }

    /// From another executable whose `hold` argument leads to [`hold`](crate::hold()).
    pub fn for_exe(path: &Path) -> io::Result<Launcher> {
        let executable = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Launcher { executable })
    }

    /// Starts a holder and its child; returns when the child runs or has failed to. Safe to call from many threads.
    pub fn start(&self, config: &RunConfig) -> Result<Started, LaunchError> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(limit_or_io)?;
        let mut holder = self.spawn(theirs).map_err(limit_or_io)?;
        match first_contact(ours, config) {
            Ok((link, hello)) => Ok(Started { holder, link, hello }),
            Err(error) => {
                // The link is closed, so a holder that has not started its child exits; one that hangs is killed.
                drop(holder.kill());
                drop(holder.wait());
                Err(error)
            }
        }
    }

    fn spawn(&self, socket: OwnedFd) -> Result<Child, Errno> {
        let path = format!("/proc/self/fd/{}", self.executable.as_raw_fd());
        let mut command = Command::new(path);
        // Without an environment no holder can be mistaken for a process of the run in which the daemon was started.
        command.arg0("qd").arg("hold").env_clear();
        command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

fn first_contact(socket: OwnedFd, config: &RunConfig) -> Result<(Link, Hello), LaunchError> {
    let deadline = Instant::now() + START_LIMIT;
    let bytes = frame(kind::CONFIG, &[&config.encode()]);
    rustix::net::sockopt::set_socket_timeout(&socket, rustix::net::sockopt::Timeout::Send, Some(START_LIMIT))
        .map_err(io::Error::from)?;
    let mut sent = 0;
    while sent < bytes.len() {
        sent += fdpass::send(socket.as_fd(), &bytes[sent..])?;
    }
    match receive_reply(socket, deadline)? {
        Ok(connected) => Ok(connected),
        Err(failure) => Err(failure.explain(config)),
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
        Errno::MFILE => Some("open files per process (ulimit -n)"),
        Errno::NFILE => Some("open files of the system (fs.file-max)"),
        Errno::AGAIN => Some("processes (ulimit -u or pids.max)"),
        Errno::NOMEM => Some("memory"),
        Errno::NOSPC => Some("space in the runtime directory"),
        _ => None,
    }
}

/// Why the holder could not start its child, as it travels back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    NotFound,
    PermissionDenied,
    WorkdirGone,
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
        // The kernel says ENOSPC (older ones EIO) when kernel.pty.max is reached.
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
            _ => Failure::Os(errno),
        })
    }

    fn explain(self, config: &RunConfig) -> LaunchError {
        let program = config.argv.first().map(PathBuf::from).unwrap_or_default();
        match self {
            Failure::NotFound => LaunchError::NotFound { program },
            Failure::PermissionDenied => LaunchError::PermissionDenied { program },
            Failure::WorkdirGone => LaunchError::WorkdirGone { path: config.cwd.clone() },
            Failure::NoPty(errno) => LaunchError::Limit {
                what: "pseudo-terminals (kernel.pty.max)",
                source: io::Error::from_raw_os_error(errno),
            },
            Failure::Unsupported => LaunchError::Unsupported,
            Failure::SocketPathTooLong => LaunchError::SocketPathTooLong {
                path: config.socket.clone(),
                longest: crate::door::LONGEST_SOCKET_PATH,
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
