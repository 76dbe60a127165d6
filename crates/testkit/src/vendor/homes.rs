//! One home with the programs of all vendors, as on a person's machine, and the environment in which a daemon
//! is started there. It has no variables for a single launch, because an agent that leads others cannot set
//! them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::home::{clear, ground};
use super::{Vendor, seed};
use crate::{ModelServer, survivors};

/// A home for every vendor, with a working directory that all of them trust. Dropping it removes it and kills
/// the processes that still use it.
#[derive(Debug)]
pub struct VendorHomes {
    root: TempDir,
    url: String,
}

impl VendorHomes {
    /// Returns a home in which every program starts at its prompt, uses this server and may use Quarterdeck's
    /// tools.
    #[must_use]
    pub fn seeded(server: &ModelServer) -> Self {
        let homes = Self { root: ground("all"), url: server.url() };
        for vendor in Vendor::ALL {
            seed::leading(vendor, &homes.home(), &homes.url);
            seed::trust(vendor, &homes.home(), &homes.workdir());
        }
        homes
    }

    /// Lets every program work in this directory too without asking. To be called before one starts there.
    pub fn trust(&self, directory: &Path) {
        Vendor::ALL.iter().for_each(|vendor| seed::trust(*vendor, &self.home(), directory));
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

    /// Returns the whole environment of the person.
    #[must_use]
    pub fn env(&self) -> BTreeMap<String, OsString> {
        let mut path: Vec<PathBuf> = Vendor::ALL.iter().map(|vendor| vendor.bin()).collect();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(path).expect("a search path has no colons");
        let vendors =
            Vendor::ALL.into_iter().flat_map(|vendor| seed::environment(vendor, &self.home(), &self.url));
        let mut env: BTreeMap<String, OsString> =
            vendors.map(|(name, value)| (name.to_owned(), value)).collect();
        env.extend([
            ("PATH".to_owned(), path),
            ("LANG".to_owned(), "C.UTF-8".into()),
            ("SHELL".to_owned(), "/bin/sh".into()),
            ("OPENAI_API_KEY".to_owned(), seed::KEY.into()),
        ]);
        env
    }

    /// Returns every process that uses this home: the programs, and what they started and left behind.
    #[must_use]
    pub fn living(&self) -> Vec<i32> {
        survivors(&format!("HOME={}", self.home().display()))
    }
}

impl Drop for VendorHomes {
    fn drop(&mut self) {
        clear(self.living());
    }
}
