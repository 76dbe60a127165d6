//! The directories of Quarterdeck (runtime, data, config) and the files in them, once for daemon and clients.
//! It turns environment variables into paths and does not touch the disk.

use std::path::{Path, PathBuf};

/// Longest path a Unix socket can have on Linux, its closing NUL not counted.
const MAX_SOCKET_PATH: usize = 107;
/// The longest file name that the daemon creates below the runtime directory: `h/p_xxxxxxxx.9999999999`.
const LONGEST_BELOW: usize = 26;

/// The three directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// A socket and a lock; local, private, removed at a reboot and sometimes at a logout.
    pub runtime: PathBuf,
    /// The database, its lock, and everything that a running process needs; the system does not clean it up.
    pub data: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
}

/// Why the directories could not be determined.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoDirs {
    /// Neither the variable nor a home is set.
    #[error("no home directory: set HOME, or QD_RUNTIME_DIR, QD_DATA_DIR and QD_CONFIG_DIR")]
    NoHome,
    /// Sockets below it would not fit.
    #[error("{0} is too long for a socket's path: set QD_RUNTIME_DIR to a shorter one")]
    TooLong(PathBuf),
    /// A relative directory would mean another one in every working directory.
    #[error("{0} is not an absolute path: QD_RUNTIME_DIR, QD_DATA_DIR and QD_CONFIG_DIR must be")]
    Relative(PathBuf),
}

impl Dirs {
    /// Finds the directories through `variable`, a look-up of environment variables.
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Self, NoDirs> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME");
        let pick = |own: &str, xdg: &str, below_home: &str| {
            set(own)
                .or_else(|| set(xdg).map(|dir| dir.join("quarterdeck")))
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .ok_or(NoDirs::NoHome)
        };
        let dirs = Self {
            runtime: pick("QD_RUNTIME_DIR", "XDG_RUNTIME_DIR", ".local/state/quarterdeck/run")?,
            data: pick("QD_DATA_DIR", "XDG_DATA_HOME", ".local/share/quarterdeck")?,
            config: pick("QD_CONFIG_DIR", "XDG_CONFIG_HOME", ".config/quarterdeck")?,
        };
        dirs.checked()
    }

    /// Returns all directories below one root, for private daemons and tests.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { runtime: root.join("run"), data: root.join("data"), config: root.join("config") }
    }

    fn checked(self) -> Result<Self, NoDirs> {
        for dir in [&self.runtime, &self.data, &self.config] {
            if !dir.is_absolute() {
                return Err(NoDirs::Relative(dir.clone()));
            }
        }
        if !fits(&self.runtime) {
            return Err(NoDirs::TooLong(self.runtime));
        }
        Ok(self)
    }

    /// Returns the socket that clients try first.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("qd.sock")
    }

    /// Returns the lock that keeps other daemons out of this runtime directory.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.runtime.join("qd.lock")
    }

    /// Returns the same daemon's second socket, for clients that use another runtime directory or whose own
    /// has vanished. `None` when the data directory's path is too long for a socket.
    #[must_use]
    pub fn data_socket(&self) -> Option<PathBuf> {
        fits(&self.data).then(|| self.data.join("qd.sock"))
    }

    /// Returns the lock that keeps other daemons away from this database. It contains the daemon's
    /// [`Address`].
    #[must_use]
    pub fn data_lock(&self) -> PathBuf {
        self.data.join("qd.lock")
    }

    /// Returns the daemon's own log.
    #[must_use]
    pub fn daemon_log(&self) -> PathBuf {
        self.data.join("qd.log")
    }

    /// Returns the directory of the holders' sockets: beside the database, because a logout may clean the
    /// runtime directory. Only when the data directory's path is too long for sockets, they are in the
    /// runtime directory.
    #[must_use]
    pub fn holders(&self) -> PathBuf {
        if fits(&self.data) { self.data.join("h") } else { holders_in(&self.runtime) }
    }

    /// Returns the directory of the files that agents' launches have written.
    #[must_use]
    pub fn launches(&self) -> PathBuf {
        self.data.join("launch")
    }

    /// Returns the directory of the output of earlier runs.
    #[must_use]
    pub fn kept_runs(&self) -> PathBuf {
        self.data.join("runs")
    }

    /// Returns the database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.data.join("state.db")
    }
}

/// Returns true if every socket below a directory has a path that the system accepts.
fn fits(dir: &Path) -> bool {
    dir.as_os_str().len() + LONGEST_BELOW <= MAX_SOCKET_PATH
}

/// Returns the directory of holders' sockets in a runtime directory: those of earlier versions, and those of
/// a data directory whose path is too long.
#[must_use]
pub fn holders_in(runtime: &Path) -> PathBuf {
    runtime.join("h")
}

/// Where a running daemon can be reached. The lock of its data directory contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The daemon's pid.
    pub pid: String,
    /// The computer it runs on: a home directory may be shared by several.
    pub host: String,
    /// Its runtime directory.
    pub runtime: PathBuf,
    /// Its sockets, the best one first.
    pub sockets: Vec<PathBuf>,
}

impl Address {
    /// Returns the content of the lock file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let sockets = self.sockets.iter().map(|socket| format!("socket {}\n", socket.display()));
        let head = format!("pid {}\nhost {}\nruntime {}\n", self.pid, self.host, self.runtime.display());
        sockets.fold(head, |text, line| text + &line)
    }

    /// Parses that content. It ignores lines of later versions and returns `None` for a text that was cut.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut address = Self::default();
        for line in text.strip_suffix('\n')?.split('\n') {
            match line.split_once(' ') {
                Some(("pid", pid)) => pid.clone_into(&mut address.pid),
                Some(("host", host)) => host.clone_into(&mut address.host),
                Some(("runtime", runtime)) => address.runtime = runtime.into(),
                Some(("socket", socket)) => address.sockets.push(socket.into()),
                _ => {}
            }
        }
        (!address.pid.is_empty()).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pairs: &[(&str, &str)]) -> Result<Dirs, NoDirs> {
        Dirs::find(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn own_variables_beat_xdg_and_xdg_beats_home() {
        let all = find(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/x"), ("QD_RUNTIME_DIR", "/q")]).unwrap();
        assert_eq!((all.runtime, all.data), ("/q".into(), "/h/.local/share/quarterdeck".into()));
        let xdg = find(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/x"), ("QD_RUNTIME_DIR", "")]).unwrap();
        assert_eq!(xdg.socket(), Path::new("/x/quarterdeck/qd.sock"));
    }

    #[test]
    fn a_place_that_cannot_work_is_refused_in_words() {
        assert_eq!(find(&[]), Err(NoDirs::NoHome));
        assert!(matches!(find(&[("HOME", "/h"), ("QD_RUNTIME_DIR", "rel")]), Err(NoDirs::Relative(_))));
        let long = format!("/{}", "x".repeat(100));
        assert!(matches!(find(&[("HOME", "/h"), ("QD_RUNTIME_DIR", &long)]), Err(NoDirs::TooLong(_))));
    }
    #[test]
    fn m2_what_a_run_needs_lies_in_the_data_directory_unless_its_path_is_too_long() {
        let dirs = Dirs::below(Path::new("/somewhere"));
        assert_eq!(dirs.holders(), Path::new("/somewhere/data/h"));
        assert_eq!(dirs.data_socket(), Some("/somewhere/data/qd.sock".into()));
        let long = Dirs { data: format!("/{}", "x".repeat(100)).into(), ..dirs };
        assert_eq!((long.holders(), long.data_socket()), ("/somewhere/run/h".into(), None));
    }

    #[test]
    fn m1_an_address_reads_as_it_was_written_and_a_cut_one_does_not_read() {
        let address = Address {
            pid: "7".to_owned(),
            host: "a computer".to_owned(),
            runtime: "/run/my qd".into(),
            sockets: vec!["/data/qd.sock".into(), "/run/my qd/qd.sock".into()],
        };
        let text = address.to_text();
        assert_eq!(Address::parse(&text), Some(address.clone()));
        assert_eq!(Address::parse(&format!("later thing\n{text}")), Some(address));
        for cut in ["", "\n", "1234", &text[..text.len() - 1]] {
            assert_eq!(Address::parse(cut), None, "{cut}");
        }
    }
}
