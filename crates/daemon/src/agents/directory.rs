//! The private directory of one launch: the files that a vendor's program reads, and the note for a later
//! daemon. The user's own configuration is never touched.

use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use engine::RunKey;
use proto::Dirs;
use serde::{Deserialize, Serialize};
use store::{ensure_private_dir, write_file_atomically};

use crate::tokens;

/// The file with the note for a later daemon.
const NOTE: &str = "launch.json";

/// What a later daemon must know about a launch. It is never shown: it contains the secret of the vendor's
/// server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The manifest.
    pub(crate) manifest: String,
    /// The vendor session that was chosen or resumed.
    #[serde(default)]
    pub(crate) session: Option<String>,
    /// Where the vendor's server listens.
    #[serde(default)]
    pub(crate) port: Option<u16>,
    /// What opens it.
    #[serde(default)]
    pub(crate) secret: String,
    /// Where the transcript is, as a hook has reported.
    #[serde(default)]
    pub(crate) transcript: Option<PathBuf>,
    /// The version that the program reported before it was started.
    #[serde(default)]
    pub(crate) version: Option<String>,
    /// What the launch lacks.
    #[serde(default)]
    pub(crate) shortfalls: Vec<String>,
}

/// Why a launch's directory could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectoryError {
    #[error("{0}")]
    Place(#[from] store::PrivateDirError),
    #[error("{0}")]
    Write(#[from] store::StoreError),
    #[error("{} cannot be emptied: {source}", path.display())]
    Empty { path: PathBuf, source: io::Error },
    #[error("a launch's file must lie in the launch's directory, not at {}", .0.display())]
    Outside(PathBuf),
}

/// One launch's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// Returns where a run's directory is, whether or not it exists.
    pub(crate) fn of(dirs: &Dirs, run: RunKey) -> Self {
        let name = format!("{}.{}", run.process, run.run);
        let (usual, former) = (dirs.launches().join(&name), former(dirs).join(&name));
        Self(if !usual.exists() && former.exists() { former } else { usual })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates it, empty.
    pub(crate) fn create(&self) -> Result<(), DirectoryError> {
        self.remove().map_err(|source| DirectoryError::Empty { path: self.0.clone(), source })?;
        if let Some(parent) = self.0.parent() {
            ensure_private_dir(parent)?;
        }
        Ok(ensure_private_dir(&self.0)?)
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, relative: &Path, text: &str) -> Result<(), DirectoryError> {
        let is_inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || relative.file_name().is_none() {
            return Err(DirectoryError::Outside(relative.to_owned()));
        }
        let mut inside = self.0.clone();
        for part in relative.parent().into_iter().flat_map(Path::components) {
            inside.push(part);
            ensure_private_dir(&inside)?;
        }
        Ok(write_file_atomically(&self.0.join(relative), text.as_bytes())?)
    }

    /// Writes the note for a later daemon.
    pub(crate) fn keep(&self, note: &Note) -> Result<(), DirectoryError> {
        let text = serde_json::to_string(note).unwrap_or_default();
        self.write(Path::new(NOTE), &text)
    }

    /// Returns the note of an earlier daemon; `None` when there is none, or it cannot be read.
    pub(crate) fn note(&self) -> Option<Note> {
        let text = std::fs::read_to_string(self.0.join(NOTE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the token of its run, which an earlier daemon wrote.
    pub(crate) fn token(&self) -> Option<String> {
        std::fs::read_to_string(self.0.join(tokens::FILE)).ok().filter(|token| !token.is_empty())
    }

    /// Removes the token, so that no later daemon accepts it.
    pub(crate) fn remove_token(&self) -> io::Result<()> {
        match std::fs::remove_file(self.0.join(tokens::FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes it, if it exists.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns where earlier versions had the directories.
fn former(dirs: &Dirs) -> PathBuf {
    dirs.runtime.join("launch")
}

/// Removes the directories of runs that no longer exist.
pub(crate) fn sweep(dirs: &Dirs, alive: &HashSet<RunKey>) {
    let kept: HashSet<PathBuf> = alive.iter().map(|run| Directory::of(dirs, *run).0).collect();
    let all = [dirs.launches(), former(dirs)];
    for entry in all.iter().filter_map(|all| std::fs::read_dir(all).ok()).flatten().flatten() {
        let path = entry.path();
        if !kept.contains(&path)
            && let Err(error) = Directory(path.clone()).remove()
        {
            tracing::warn!(%error, path = %path.display(), "the directory of an old launch could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::{ProcessId, RunNumber};
    use std::os::unix::fs::PermissionsExt;

    fn run(number: u32) -> RunKey {
        RunKey::new(ProcessId::from_entropy(1), RunNumber(number))
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn b12_everything_in_it_is_closed_to_others_and_goes_with_it() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        let directory = Directory::of(&dirs, run(1));
        directory.create().unwrap();
        directory.write(Path::new("deep/settings.json"), "{}").unwrap();
        let note = Note { secret: "s".to_owned(), port: Some(7), ..Note::default() };
        directory.keep(&note).unwrap();
        assert_eq!(directory.note(), Some(note));
        assert_eq!((mode(directory.path()), mode(&directory.path().join("deep"))), (0o700, 0o700));
        assert_eq!(mode(&directory.path().join("deep/settings.json")), 0o600);
        assert_eq!(mode(&directory.path().join(NOTE)), 0o600);
        assert_eq!(directory.token(), None);
        directory.write(Path::new(tokens::FILE), "t").unwrap();
        assert_eq!((directory.token().as_deref(), mode(&directory.path().join("token"))), (Some("t"), 0o600));
        directory.remove_token().unwrap();
        directory.remove_token().unwrap();
        assert_eq!(directory.token(), None);
        directory.remove().unwrap();
        assert!(!directory.path().exists());
        directory.remove().unwrap();
    }

    #[test]
    fn f4_nothing_is_written_outside_of_it() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::of(&Dirs::below(root.path()), run(1));
        directory.create().unwrap();
        for path in ["../x", "/x", "a/../../x", "", "."] {
            assert!(directory.write(Path::new(path), "").is_err(), "{path}");
        }
    }

    #[test]
    fn directories_of_runs_that_are_gone_are_swept() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        let (kept, gone) = (Directory::of(&dirs, run(1)), Directory::of(&dirs, run(2)));
        kept.create().unwrap();
        gone.create().unwrap();
        sweep(&dirs, &[run(1)].into());
        assert!(kept.path().exists() && !gone.path().exists());
    }
}
