//! Where Quarterdeck keeps its things: the runtime, data and config directories and what lies in them.
//!
//! Owns the rule, once, for daemon and clients. Refuses touching the disk: it turns variables into paths.

use std::path::{Path, PathBuf};

/// Longest path a Unix socket can have on Linux, its closing NUL not counted.
const MAX_SOCKET_PATH: usize = 107;
/// The longest file name the daemon puts below the runtime directory: `h/p_xxxxxxxx.9999999999`.
const LONGEST_BELOW: usize = 26;

/// The three directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// A socket and a lock; local, private, gone after a reboot, and sometimes after a logout.
    pub runtime: PathBuf,
    /// The database, its lock, and everything that a running process needs: nobody sweeps it.
    pub data: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
}

/// No place could be found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoDirs {
    /// Neither the variable nor a home is set.
    #[error("no home directory: set HOME, or QD_RUNTIME_DIR, QD_DATA_DIR and QD_CONFIG_DIR")]
    NoHome,
    /// Sockets below it would not fit.
    #[error("{0} is too long for a socket's path: set QD_RUNTIME_DIR to a shorter one")]
    TooLong(PathBuf),
    /// A relative directory would mean another place in every working directory.
    #[error("{0} is not an absolute path: QD_RUNTIME_DIR, QD_DATA_DIR and QD_CONFIG_DIR must be")]
    Relative(PathBuf),
}

impl Dirs {
    /// Finds the places through `variable`, a look-up of environment variables.
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Self, NoDirs> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME");
        let pick = |own: &str, xdg: &str, below_home: &str| {
            set(own)
                .or_else(|| set(xdg).map(|dir| dir.join("quarterdeck")))
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .ok_or(NoDirs::NoHome)
        };
        let places = Self {
            runtime: pick("QD_RUNTIME_DIR", "XDG_RUNTIME_DIR", ".local/state/quarterdeck/run")?,
            data: pick("QD_DATA_DIR", "XDG_DATA_HOME", ".local/share/quarterdeck")?,
            config: pick("QD_CONFIG_DIR", "XDG_CONFIG_HOME", ".config/quarterdeck")?,
        };
        places.checked()
    }

    /// Every place below one directory, for private daemons and tests.
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

    /// The socket that clients try first.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("qd.sock")
    }

    /// The lock that makes the daemon the only one of this runtime directory.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.runtime.join("qd.lock")
    }

    /// The same daemon's second socket, for clients that know another runtime directory or whose own has vanished. There
    /// is none when the data directory's path is too long for one.
    #[must_use]
    pub fn data_socket(&self) -> Option<PathBuf> {
        fits(&self.data).then(|| self.data.join("qd.sock"))
    }

    /// The lock that makes the daemon the only one of this database. It holds the daemon's [`Address`].
    #[must_use]
    pub fn data_lock(&self) -> PathBuf {
        self.data.join("qd.lock")
    }

    /// The daemon's own log.
    #[must_use]
    pub fn daemon_log(&self) -> PathBuf {
        self.data.join("qd.log")
    }

    /// The directory of the holders' sockets: beside the database, because a logout sweeps the runtime directory. Only
    /// when the data directory's path is too long for sockets they lie in the runtime directory.
    #[must_use]
    pub fn holders(&self) -> PathBuf {
        if fits(&self.data) { self.data.join("h") } else { holders_in(&self.runtime) }
    }

    /// The directory of what agents' launches have written.
    #[must_use]
    pub fn launches(&self) -> PathBuf {
        self.data.join("launch")
    }

    /// What is kept of earlier runs.
    #[must_use]
    pub fn kept_runs(&self) -> PathBuf {
        self.data.join("runs")
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.data.join("state.db")
    }
}

/// Whether every socket below a directory has a path that the system takes.
fn fits(dir: &Path) -> bool {
    dir.as_os_str().len() + LONGEST_BELOW <= MAX_SOCKET_PATH
}

/// Where holders' sockets lie in a runtime directory: those of earlier versions, and those of a data directory whose path
/// is too long.
#[must_use]
pub fn holders_in(runtime: &Path) -> PathBuf {
    runtime.join("h")
}

/// Where a living daemon can be reached. It stands in the lock of its data directory.
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
    /// The text that stands in the lock.
    #[must_use]
    pub fn to_text(&self) -> String {
        let sockets = self.sockets.iter().map(|socket| format!("socket {}\n", socket.display()));
        let head = format!("pid {}\nhost {}\nruntime {}\n", self.pid, self.host, self.runtime.display());
        sockets.fold(head, |text, line| text + &line)
    }

    /// Reads that text. Lines of a later version are ignored; nothing is read from a text that is cut.
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
        let places = Dirs::below(Path::new("/somewhere"));
        assert_eq!(places.holders(), Path::new("/somewhere/data/h"));
        assert_eq!(places.data_socket(), Some("/somewhere/data/qd.sock".into()));
        let long = Dirs { data: format!("/{}", "x".repeat(100)).into(), ..places };
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
