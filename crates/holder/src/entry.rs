//! The body of `qd hold`: take the configuration from stdin, leave the daemon's world, open PTY, ring and door, start the
//! child, greet the daemon, and hold. Every failure before the child runs goes back to the daemon with its cause.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::config::RunConfig;
use crate::door::{Door, LONGEST_SOCKET_PATH};
use crate::fdpass;
use crate::hold::Holder;
use crate::launch::Failure;
use crate::pty::{self, Pty};
use crate::ring::RingWriter;
use crate::signals::{self, Signals};
use crate::wire::{FrameBuffer, kind};

/// Runs one holder until it is released or hung up. Stdin must be the socket that [`Launcher`](crate::Launcher) made.
///
/// Must be called while the process is single-threaded and owns no descriptor beyond 0, 1 and 2.
pub fn hold() -> ExitCode {
    let Ok((link, inherited_umask)) = leave_the_daemons_world() else { return ExitCode::FAILURE };
    let mut incoming = FrameBuffer::default();
    let Ok(config) = receive_config(link.as_fd(), &mut incoming) else { return ExitCode::FAILURE };
    match set_up(config, inherited_umask) {
        Ok(mut holder) => {
            signals::trim_memory();
            lower_oom_score();
            if fdpass::set_nonblocking(link.as_fd()).is_ok() {
                holder.adopt(crate::peer::Peer::new(link, incoming));
            }
            holder.run();
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // If the daemon has gone, there is nobody to tell and nothing has been started.
            drop(fdpass::send(link.as_fd(), &failure.encode()));
            ExitCode::FAILURE
        }
    }
}

/// Own session, own name, no inherited descriptors, no directory kept busy. Returns the link and the umask we came with.
fn leave_the_daemons_world() -> io::Result<(OwnedFd, Mode)> {
    signals::close_inherited()?;
    let link = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    // A shell that starts `qd hold` by hand is already a group leader; that is no reason to refuse.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    rustix::thread::set_name(c"qd-hold")?;
    let inherited_umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    Ok((link, inherited_umask))
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

fn set_up(config: RunConfig, inherited_umask: Mode) -> Result<Holder, Failure> {
    check_workdir(&config.cwd)?;
    if config.socket.as_os_str().len() > LONGEST_SOCKET_PATH {
        return Err(Failure::SocketPathTooLong);
    }
    rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1))
        .map_err(|_| Failure::Unsupported)?;
    let signals = Signals::take_over().map_err(Failure::from_io)?;
    let ring = RingWriter::create(config.ring_capacity()).map_err(Failure::from_io)?;
    let (cols, rows) = crate::clamp_size(config.cols, config.rows);
    let pty = Pty::open(cols, rows).map_err(Failure::from_pty)?;
    let door = Door::open(&config.socket).map_err(Failure::from_io)?;
    let leader = pty::start(&config, &pty.slave, inherited_umask)
        .map_err(|error| Failure::from_exec(error, &config))?;
    Ok(Holder::new(config, signals, ring, pty, door, leader))
}

fn check_workdir(path: &Path) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Failure::WorkdirGone),
        Err(error) if error.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) => {
            Err(Failure::PermissionDenied)
        }
        Err(_) => Err(Failure::WorkdirGone),
    }
}

/// Under memory pressure the child should go before its holder, which alone knows how it ended. Usually refused to
/// ordinary users. Comes after the child was started, which would inherit it.
fn lower_oom_score() {
    drop(std::fs::write("/proc/self/oom_score_adj", "-500"));
}
