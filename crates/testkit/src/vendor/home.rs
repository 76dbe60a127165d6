//! A private home for one vendor's program in one test: its directory, its environment and how the program is
//! started in it. The user's own settings and variables are not used.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Vendor, seed, vendors_dir};
use crate::{ModelServer, survivors};

/// A directory with settings and a working directory. Dropping it removes it and kills the processes that
/// still use it.
#[derive(Debug)]
pub struct Home {
    vendor: Vendor,
    root: TempDir,
    env: Vec<(&'static str, OsString)>,
}

impl Home {
    /// Returns a home in which the program starts at its prompt and uses this server, with its working
    /// directory trusted.
    #[must_use]
    pub fn seeded(vendor: Vendor, server: &ModelServer) -> Self {
        let home = Self::bare(vendor, server);
        seed::settings(vendor, &home.home(), &server.url());
        home.trust(&home.workdir());
        home
    }

    /// Returns the same with its working directory not trusted.
    #[must_use]
    pub fn untrusted(vendor: Vendor, server: &ModelServer) -> Self {
        let home = Self::bare(vendor, server);
        seed::settings(vendor, &home.home(), &server.url());
        home
    }

    /// Returns a home in which the program starts for the first time: it asks for trust or for a login.
    #[must_use]
    pub fn empty(vendor: Vendor, server: &ModelServer) -> Self {
        let home = Self::bare(vendor, server);
        seed::newcomer(vendor, &home.home());
        home
    }

    fn bare(vendor: Vendor, server: &ModelServer) -> Self {
        let root = ground(vendor.name());
        let env = seed::environment(vendor, &root.path().join("home"), &server.url());
        Self { vendor, root, env }
    }

    /// Returns the vendor whose home it is.
    #[must_use]
    pub fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// Returns the home directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Returns an empty directory to work in.
    #[must_use]
    pub fn workdir(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Returns a directory outside of the temporary one, which every user may write to and some programs
    /// distrust.
    #[must_use]
    pub fn outside_tmp(&self) -> &Path {
        self.root.path()
    }

    /// Lets the program work in this directory too without asking. To be called before it starts.
    pub fn trust(&self, directory: &Path) {
        seed::trust(self.vendor, &self.home(), directory);
    }

    /// Returns what the program needs in its environment, besides a search path and a terminal's name.
    #[must_use]
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        self.env.clone()
    }

    /// Returns a command line that starts the program with these arguments and with nothing of the caller's
    /// environment.
    #[must_use]
    pub fn argv(&self, arguments: &[&str]) -> Vec<OsString> {
        let mut argv: Vec<OsString> = ["env", "-i"].map(OsString::from).into();
        argv.extend(self.whole_env().map(|(name, value)| {
            let mut pair = OsString::from(name);
            pair.push("=");
            pair.push(value);
            pair
        }));
        argv.push(self.vendor.program().into());
        argv.extend(arguments.iter().map(OsString::from));
        argv
    }

    /// Returns the same as a command, in the working directory, with empty input.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.vendor.program());
        command.args(arguments).env_clear().envs(self.whole_env());
        command.current_dir(self.workdir()).stdin(Stdio::null());
        command
    }

    /// Returns every process that uses this home: the programs, and what they started and left behind.
    #[must_use]
    pub fn living(&self) -> Vec<i32> {
        survivors(&format!("HOME={}", self.home().display()))
    }

    fn whole_env(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin").to_owned());
        let terminal = [
            ("PATH", path),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            ("COLORTERM", "truecolor".into()),
            ("SHELL", "/bin/sh".into()),
        ];
        terminal.into_iter().chain(self.env.clone())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        clear(self.living());
    }
}

/// Returns a new directory with an empty home and an empty place to work.
pub(super) fn ground(prefix: &str) -> TempDir {
    let homes = vendors_dir().join("homes");
    std::fs::create_dir_all(&homes).expect("a directory can be made");
    let root = tempfile::Builder::new().prefix(prefix).tempdir_in(homes).expect("a directory can be made");
    for name in ["home", "work"] {
        std::fs::create_dir(root.path().join(name)).expect("a directory can be made");
    }
    root
}

/// Kills the processes that still use a home that is removed.
pub(super) fn clear(living: Vec<i32>) {
    for pid in living.into_iter().filter_map(Pid::from_raw) {
        // A process that has just ended by itself is fine.
        let _gone = kill_process(pid, Signal::KILL);
    }
}
