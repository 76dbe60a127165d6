//! Stands in the daemon's place to see whether the server connects to it at all.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use testkit::TestDaemon;

/// A listener at the daemon's socket, while the daemon is stopped. Dropping it gives the daemon its place back.
pub(crate) struct DoorWatch {
    daemon: Pid,
    socket: PathBuf,
    aside: PathBuf,
    listener: UnixListener,
}

impl DoorWatch {
    pub(crate) fn begin(daemon: &TestDaemon) -> Self {
        let (pid, socket) = (Pid::from_raw(daemon.pid()).unwrap(), daemon.dirs().socket());
        let aside = socket.with_extension("aside");
        kill_process(pid, Signal::STOP).unwrap();
        std::fs::rename(&socket, &aside).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        Self { daemon: pid, socket, aside, listener }
    }

    /// Returns how many connections have come since the last call.
    pub(crate) fn connections(&self) -> usize {
        self.listener.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| self.listener.accept().ok()).count()
    }

    /// Waits for a connection.
    pub(crate) fn wait_connection(&self) {
        self.listener.set_nonblocking(false).unwrap();
        drop(self.listener.accept().unwrap());
    }
}

impl Drop for DoorWatch {
    fn drop(&mut self) {
        drop(std::fs::rename(&self.aside, &self.socket));
        let _ended = kill_process(self.daemon, Signal::CONT);
    }
}
