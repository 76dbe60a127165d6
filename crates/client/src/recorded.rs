//! Finds the sockets of a data directory's daemon, from the address that the daemon wrote into the data
//! directory's lock.
//!
//! A login without `XDG_RUNTIME_DIR` (cron, su, ssh) has another runtime directory than the one that started
//! the daemon, but the same database: so both find the same daemon.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Instant;

use proto::{Address, Dirs};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::ready;

/// Longest text that is read from a lock.
const MAX_TEXT: u64 = 16 << 10;

/// Returns the sockets of the daemon that holds the data directory's lock; empty when no daemon holds it.
pub(crate) fn sockets(dirs: &Dirs) -> Vec<PathBuf> {
    address(dirs).map(|address| address.sockets).unwrap_or_default()
}

/// Waits until the daemon that holds the data directory's lock has ended, at most until `deadline`. Returns
/// true if there was one.
pub(crate) fn wait_for_end(dirs: &Dirs, deadline: Instant) -> io::Result<bool> {
    let Some(address) = address(dirs) else { return Ok(false) };
    let own_host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let pid = address.pid.parse().ok().and_then(Pid::from_raw).filter(|_| address.host == own_host);
    let Some(pidfd) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return Ok(false) };
    // If the lock is no longer held, the pid may belong to another process by now.
    if self::address(dirs).is_none_or(|now| now.pid != address.pid) {
        return Ok(false);
    }
    ready::readable_before(pidfd.as_fd(), deadline)?;
    Ok(true)
}

fn address(dirs: &Dirs) -> Option<Address> {
    // Opening never blocks, whatever file is there.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let lock = File::from(rustix::fs::open(dirs.data_lock(), flags, Mode::empty()).ok()?);
    // The kernel releases the lock of a dead daemon, so a lock that can be taken contains an old address. A
    // daemon that starts at this very moment finds the lock taken, and tries again.
    if flock(&lock, FlockOperation::NonBlockingLockShared) != Err(Errno::WOULDBLOCK) {
        return None;
    }
    let mut text = String::new();
    lock.take(MAX_TEXT).read_to_string(&mut text).ok()?;
    Address::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_only_the_address_of_a_daemon_that_holds_the_lock_is_believed() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        assert_eq!(sockets(&dirs), Vec::<PathBuf>::new());
        std::fs::create_dir(&dirs.data).unwrap();
        std::fs::write(dirs.data_lock(), "pid 7\nsocket /somewhere/qd.sock\n").unwrap();
        assert_eq!(sockets(&dirs), Vec::<PathBuf>::new(), "its daemon is dead");
        let held = File::open(dirs.data_lock()).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(sockets(&dirs), [PathBuf::from("/somewhere/qd.sock")]);
    }
}
