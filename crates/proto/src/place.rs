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
pub struct Places {
    /// Sockets and locks; local, private, gone after a reboot.
    pub runtime: PathBuf,
    /// The database.
    pub data: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
}

/// No place could be found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoPlace {
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

impl Places {
    /// Finds the places through `variable`, a look-up of environment variables.
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Self, NoPlace> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME");
        let pick = |own: &str, xdg: &str, below_home: &str| {
            set(own)
                .or_else(|| set(xdg).map(|dir| dir.join("quarterdeck")))
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .ok_or(NoPlace::NoHome)
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

    fn checked(self) -> Result<Self, NoPlace> {
        for dir in [&self.runtime, &self.data, &self.config] {
            if !dir.is_absolute() {
                return Err(NoPlace::Relative(dir.clone()));
            }
        }
        if self.runtime.as_os_str().len() + LONGEST_BELOW > MAX_SOCKET_PATH {
            return Err(NoPlace::TooLong(self.runtime));
        }
        Ok(self)
    }

    /// The door.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("qd.sock")
    }

    /// The lock that makes the daemon the only one.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.runtime.join("qd.lock")
    }

    /// The daemon's own log.
    #[must_use]
    pub fn daemon_log(&self) -> PathBuf {
        self.runtime.join("qd.log")
    }

    /// The directory of the holders' sockets.
    #[must_use]
    pub fn holders(&self) -> PathBuf {
        self.runtime.join("h")
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.data.join("state.db")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pairs: &[(&str, &str)]) -> Result<Places, NoPlace> {
        Places::find(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
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
        assert_eq!(find(&[]), Err(NoPlace::NoHome));
        assert!(matches!(find(&[("HOME", "/h"), ("QD_RUNTIME_DIR", "rel")]), Err(NoPlace::Relative(_))));
        let long = format!("/{}", "x".repeat(100));
        assert!(matches!(find(&[("HOME", "/h"), ("QD_RUNTIME_DIR", &long)]), Err(NoPlace::TooLong(_))));
    }
}
