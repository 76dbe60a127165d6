//! Starts one run in a forked holder: leaves the forkserver, opens what every run needs, reads the configuration from
//! the link, starts the child, greets the daemon, and runs the loop. Every failure before the child runs goes back to
//! the daemon with its cause.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::config::{DEFAULT_RING_BYTES, RunConfig};
use crate::fdpass;
use crate::hold::Holder;
use crate::launch::Failure;
use crate::listener::{LONGEST_SOCKET_PATH, Listener};
use crate::pty::{self, Pty};
use crate::ring::RingWriter;
use crate::signals::{self, Signals};
use crate::wire::{FrameBuffer, kind};

/// Runs one holder, in a process that the forkserver has forked for it, until it is released or hung up.
pub(crate) fn hold_run(link: OwnedFd, inherited_umask: Mode) -> ExitCode {
    if leave_the_forkserver().is_err() {
        return ExitCode::FAILURE;
    }
    // The configuration may come later: a holder can be forked ahead of the request that needs it.
    let parts = Parts::open();
    let mut incoming = FrameBuffer::default();
    let Ok(config) = receive_config(link.as_fd(), &mut incoming) else { return ExitCode::FAILURE };
    match set_up(config, parts, inherited_umask, link.as_fd()) {
        Ok(mut holder) => {
            lower_oom_score();
            if fdpass::set_nonblocking(link.as_fd()).is_ok() {
                holder.adopt(crate::peer::Peer::new(link, incoming));
            }
            // After the greeting, for which nobody shall wait longer than needed.
            crate::trim_memory();
            holder.run();
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // If the daemon has gone, there is no receiver, and nothing has been started.
            drop(fdpass::send(link.as_fd(), &failure.encode()));
            ExitCode::FAILURE
        }
    }
}

/// Gives the holder a session of its own, so that signals to one holder's group do not reach another, and a
/// name of its own.
fn leave_the_forkserver() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(rustix::thread::set_name(c"qd-hold")?)
}

fn receive_config(link: BorrowedFd<'_>, incoming: &mut FrameBuffer) -> io::Result<RunConfig> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut buf = vec![0u8; 16 << 10];
    loop {
        if let Some((kind, body)) = incoming.next_frame().map_err(invalid)? {
            if kind != kind::CONFIG {
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
            return RunConfig::decode(body).map_err(invalid);
        }
        match fdpass::receive(link, &mut buf)? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            count => incoming.extend(&buf[..count]),
        }
    }
}

/// What every run needs, whatever its configuration says.
struct Parts {
    signals: Signals,
    ring: RingWriter,
    pty: Pty,
}

impl Parts {
    fn open() -> Result<Parts, Failure> {
        if !signals::can_close_at_exec() {
            return Err(Failure::Unsupported);
        }
        rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1))
            .map_err(|_| Failure::Unsupported)?;
        let signals = Signals::take_over().map_err(Failure::from_io)?;
        let ring = RingWriter::create(DEFAULT_RING_BYTES).map_err(Failure::from_io)?;
        let pty = Pty::open().map_err(Failure::from_pty)?;
        Ok(Parts { signals, ring, pty })
    }
}

fn set_up(
    config: RunConfig,
    parts: Result<Parts, Failure>,
    inherited_umask: Mode,
    link: BorrowedFd<'_>,
) -> Result<Holder, Failure> {
    check_workdir(&config.cwd)?;
    if config.socket.as_os_str().len() > LONGEST_SOCKET_PATH {
        return Err(Failure::SocketPathTooLong);
    }
    let Parts { signals, mut ring, pty } = parts?;
    if config.ring_capacity() != DEFAULT_RING_BYTES {
        ring = RingWriter::create(config.ring_capacity()).map_err(Failure::from_io)?;
    }
    let (cols, rows) = crate::clamp_size(config.cols, config.rows);
    pty::resize(pty.master.as_fd(), cols, rows).map_err(Failure::from_io)?;
    let listener = Listener::open(&config.socket).map_err(Failure::from_io)?;
    // From here on the next daemon finds the socket if this one dies. A daemon that died before may have been
    // replaced by one that found no socket: a child started now would be unknown to every daemon.
    if fdpass::is_hung_up(link) {
        return Err(Failure::Os(Errno::PIPE.raw_os_error()));
    }
    let leader = pty::start(&config, &pty.slave, inherited_umask)
        .map_err(|error| Failure::from_exec(error, &config))?;
    Ok(Holder::new(config, signals, ring, pty, listener, leader))
}

fn check_workdir(path: &Path) -> Result<(), Failure> {
    let is_denied = |error: &io::Error| error.raw_os_error() == Some(Errno::ACCESS.raw_os_error());
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() && !may_enter(path) => Err(Failure::WorkdirDenied),
        Ok(found) if found.is_dir() => Ok(()),
        Err(error) if is_denied(&error) => Err(Failure::WorkdirDenied),
        _ => Err(Failure::WorkdirGone),
    }
}

/// Returns true if the child may use this directory.
pub(crate) fn may_enter(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK) != Err(Errno::ACCESS)
}

/// Makes the kernel kill the child before its holder under memory pressure, because only the holder knows how
/// the child ended. Ordinary users are usually not allowed to. It runs after the child was started, which
/// would inherit it.
fn lower_oom_score() {
    drop(std::fs::write("/proc/self/oom_score_adj", "-500"));
}
