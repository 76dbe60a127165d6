//! The files of a process's earlier runs: one directory per process, one file per run, only the newest few. A
//! file is replaced as a whole and survives any death of the writer. A power cut may lose it, because nothing
//! is synced.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{StoreError, ensure_private_dir};

/// The name of a file that is being written.
const UNFINISHED: &str = ".unfinished";

/// The files of all processes, below one private directory.
#[derive(Clone, Debug)]
pub struct RunFiles {
    root: PathBuf,
    /// How many runs of one process are kept.
    most: usize,
}

impl RunFiles {
    /// Files below `root`, the newest `most` of each process.
    #[must_use]
    pub fn new(root: PathBuf, most: usize) -> Self {
        Self { root, most }
    }

    /// Writes the file of a run and removes the oldest runs beyond the limit.
    pub fn write(&self, process: &str, run: u32, parts: &[&[u8]]) -> Result<(), StoreError> {
        let directory = self.root.join(process);
        for private in [&self.root, &directory] {
            ensure_private_dir(private).map_err(|error| StoreError::refused(private, error.to_string()))?;
        }
        let (unfinished, path) = (directory.join(UNFINISHED), directory.join(run.to_string()));
        let written = write_parts(&unfinished, parts).and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            drop(fs::remove_file(&unfinished));
            return Err(StoreError::io(&path, error));
        }
        let runs = self.runs(process);
        for old in runs.iter().take(runs.len().saturating_sub(self.most)) {
            drop(fs::remove_file(directory.join(old.to_string())));
        }
        Ok(())
    }

    /// Returns the runs that are kept, oldest first.
    #[must_use]
    pub fn runs(&self, process: &str) -> Vec<u32> {
        let mut runs: Vec<u32> =
            names_in(&self.root.join(process)).iter().filter_map(|name| name.parse().ok()).collect();
        runs.sort_unstable();
        runs
    }

    /// Reads the file of a run; `None` when there is none. A file longer than `most_bytes` is not ours.
    pub fn read(&self, process: &str, run: u32, most_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.root.join(process).join(run.to_string());
        let is_too_long =
            fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file() || found.len() > most_bytes);
        if is_too_long {
            return Err(StoreError::refused(&path, "it is no file of a run"));
        }
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }

    /// Removes everything that is kept of a process.
    pub fn remove(&self, process: &str) {
        // What stays is removed at the next start of a daemon.
        drop(fs::remove_dir_all(self.root.join(process)));
    }

    /// Removes what is kept of every process but those for which `is_known` is true.
    pub fn retain(&self, is_known: impl Fn(&str) -> bool) {
        for name in names_in(&self.root).iter().filter(|name| !is_known(name)) {
            self.remove(name);
        }
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn write_parts(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(nofollow)
        .open(path)?;
    parts.iter().try_for_each(|part| file.write_all(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m13_only_the_newest_runs_are_kept_and_strangers_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let files = RunFiles::new(place.path().join("runs"), 3);
        for run in 1..=11 {
            files.write("p_1", run, &[b"run ", run.to_string().as_bytes()]).unwrap();
        }
        assert_eq!(files.runs("p_1"), [9, 10, 11]);
        assert_eq!(files.read("p_1", 10, 100).unwrap().unwrap(), b"run 10");
        assert_eq!(files.read("p_1", 8, 100).unwrap(), None);
        assert!(files.read("p_1", 10, 3).is_err());
        files.write("p_2", 1, &[b"x"]).unwrap();
        files.retain(|process| process == "p_2");
        assert_eq!((files.runs("p_1"), files.runs("p_2")), (vec![], vec![1]));
    }
}
