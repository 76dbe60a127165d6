//! The PTY and the child on it. Descriptors are close-on-exec from their creation and everything is allocated
//! before the child exists; the child sees exactly 0, 1 and 2. The loop reads, writes and waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::Mode;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, ioctl_tiocsctty, pidfd_open, set_parent_process_death_signal,
    setsid, umask,
};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::config::RunConfig;
use crate::exec::Program;
use crate::proc_stat;
use crate::run_mark;
use crate::signals;

/// Both ends of a PTY.
pub(crate) struct Pty {
    /// Ours, non-blocking.
    pub(crate) master: OwnedFd,
    /// The child's side. The holder keeps it open until the leader has ended: then a child that closes its
    /// terminal and opens it again causes neither an end of file nor a spinning hang-up.
    pub(crate) slave: OwnedFd,
}

/// The started child.
pub(crate) struct Leader {
    /// Its pid, which is also its session and first process group.
    pub(crate) pid: Pid,
    /// Pins its identity for signals.
    pub(crate) pidfd: OwnedFd,
    /// Field 22 of its stat file.
    pub(crate) start_time: u64,
}

impl Pty {
    /// Opens a PTY with UTF-8 erase. It has no size yet.
    pub(crate) fn open() -> io::Result<Pty> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        unlockpt(&master)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        let mut modes = tcgetattr(&slave)?;
        modes.input_modes |= InputModes::IUTF8;
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        crate::fdpass::set_nonblocking(master.as_fd())?;
        Ok(Pty { master, slave })
    }
}

/// Sets the size, which signals the child if there is one.
pub(crate) fn resize(master: BorrowedFd<'_>, cols: u16, rows: u16) -> io::Result<()> {
    Ok(tcsetwinsize(master, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 })?)
}

/// Starts the child as session leader with the PTY as its controlling terminal. `inherited_umask` is the
/// umask that the holder was started with; the holder's own is 077.
pub(crate) fn start(config: &RunConfig, slave: &OwnedFd, inherited_umask: Mode) -> io::Result<Leader> {
    let holder = getpid();
    let mask = config.umask.map_or(inherited_umask, Mode::from_raw_mode);
    let prepare = || prepare_child(holder, mask);
    let pid = Program::new(config, slave.as_fd(), &prepare)?.start()?;
    let pidfd = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
    let start_time = proc_stat::start_time(pid.as_raw_pid()).unwrap_or(0);
    Ok(Leader { pid, pidfd, start_time })
}

/// Runs in the child before it executes anything: system calls only, no allocation, no locks.
fn prepare_child(holder: Pid, mask: Mode) -> io::Result<()> {
    setsid()?;
    ioctl_tiocsctty(rustix::stdio::stdin())?;
    signals::reset_for_child()?;
    // The kernel kills the leader at once when the holder dies. The holder may have died just before: then
    // the child exits too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(holder) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    umask(mask);
    run_mark::put_on()?;
    signals::close_others_at_exec()
}
