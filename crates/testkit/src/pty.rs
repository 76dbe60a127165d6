//! A real terminal that a test types into and reads: the master side. Assertions are on bytes and terminal
//! settings; nothing is emulated.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use proto::Size;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::deadline::{DEADLINE, readable};

/// A terminal, and perhaps the program in it.
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    /// Kept open so that the settings can be read after the program has ended.
    slave: OwnedFd,
    path: PathBuf,
    seen: Vec<u8>,
    child: Option<Child>,
}

impl Pty {
    /// Returns a terminal of this size without a program.
    #[must_use]
    pub fn open(size: Size) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("the system has a terminal left");
        grantpt(&master).expect("a new terminal can be granted");
        unlockpt(&master).expect("a new terminal can be unlocked");
        let name = ptsname(&master, Vec::new()).expect("a new terminal has a name");
        let path = PathBuf::from(name.to_str().expect("its name is ASCII"));
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(&path, flags, Mode::empty()).expect("a new terminal can be opened");
        let pty = Self { master, slave, path, seen: Vec::new(), child: None };
        pty.resize(size);
        pty
    }

    /// Returns the terminal's side that a program has.
    #[must_use]
    pub fn slave(&self) -> OwnedFd {
        self.slave.try_clone().expect("a descriptor can be cloned")
    }

    /// Starts a program with this as its controlling terminal, in a session of its own.
    pub fn spawn<A: AsRef<OsStr>>(
        &mut self,
        program: &OsStr,
        arguments: &[A],
        variables: &[(&str, &OsStr)],
    ) -> i32 {
        let end =
            || File::options().read(true).write(true).open(&self.path).expect("the terminal can be opened");
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program).args(arguments).envs(variables.iter().copied());
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("setsid starts");
        let pid = i32::try_from(child.id()).expect("a pid fits");
        self.child = Some(child);
        pid
    }

    /// Types bytes.
    pub fn type_keys(&self, keys: &[u8]) {
        let mut rest = keys;
        while !rest.is_empty() {
            let count = rustix::io::write(&self.master, rest).expect("a terminal takes keys");
            rest = &rest[count..];
        }
    }

    /// Resizes the terminal, which signals the program in it.
    pub fn resize(&self, size: Size) {
        let size = Winsize { ws_col: size.cols, ws_row: size.rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.slave, size).expect("a terminal can be resized");
    }

    /// Reads until `needle` was drawn; returns what came before it and drops everything up to its end.
    pub fn expect(&mut self, needle: &[u8]) -> Vec<u8> {
        let until = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.seen.windows(needle.len()).position(|window| window == needle) {
                let rest = self.seen.split_off(at + needle.len());
                let mut before = std::mem::replace(&mut self.seen, rest);
                before.truncate(at);
                return before;
            }
            let has_more = readable(&[self.master.as_fd()], until)[0] && self.read_some();
            assert!(
                has_more,
                "`{}` was not drawn, but:\n{}",
                needle.escape_ascii(),
                String::from_utf8_lossy(&self.seen)
            );
        }
    }

    /// Waits for output and returns it, with all output that no expectation has consumed; empty when the time
    /// is over or the terminal has ended.
    pub fn take_drawn(&mut self, until: Instant) -> Vec<u8> {
        if self.seen.is_empty() && readable(&[self.master.as_fd()], until)[0] {
            self.read_some();
        }
        std::mem::take(&mut self.seen)
    }

    /// Returns all output that no expectation has consumed.
    #[must_use]
    pub fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// Waits until the program has ended, drawing meanwhile.
    pub fn wait_exit(&mut self, within: Duration) -> ExitStatus {
        let mut child = self.child.take().expect("a program was started");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid is positive");
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("an un-reaped child has a pidfd");
        let until = Instant::now() + within;
        let mut ready = readable(&[pidfd.as_fd(), self.master.as_fd()], until);
        while ready[1] && self.read_some() {
            ready = readable(&[pidfd.as_fd(), self.master.as_fd()], until);
        }
        let is_late = !ready[0];
        if is_late {
            drop(child.kill());
        }
        let status = child.wait().expect("our own child can be waited for");
        let drawn = String::from_utf8_lossy(&self.seen);
        assert!(!is_late, "the program did not end within {within:?}; drawn:\n{drawn}");
        status
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("a program was started");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid is positive");
        kill_process(pid, signal).expect("our own child can be signalled");
    }

    /// Returns the terminal's settings.
    #[must_use]
    pub fn settings(&self) -> Termios {
        tcgetattr(&self.slave).expect("a terminal has settings")
    }

    /// Returns true if the terminal is raw: no lines, no echo, no signals from keys.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        !self.settings().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Closes the terminal under the program; returns the program, to be waited for.
    #[must_use]
    pub fn hang_up(mut self) -> Option<Child> {
        self.child.take()
    }

    fn read_some(&mut self) -> bool {
        let mut buffer = [0; 65_536];
        match rustix::io::read(&self.master, &mut buffer) {
            Ok(count) => {
                self.seen.extend_from_slice(&buffer[..count]);
                count > 0
            }
            Err(_) => false,
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
