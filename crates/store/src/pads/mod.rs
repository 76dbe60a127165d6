//! Scratchpads: a project's notes as plain files that people may edit with their own editor.
//!
//! It refuses names that could lead elsewhere, links, special files and files with a second name. A write
//! that names the revision its caller has read is refused when the pad has changed since.
//!
//! The files are the truth. Beside each, `.history/NAME/` keeps its revisions, one file each, named by number
//! and author. A file that differs from its newest revision was edited by a person; the next check makes that
//! a revision.

mod dirfd;
mod history;
mod name;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dirfd::DirFd;
pub use history::Revision;
use history::{AUTHOR_EDITOR, PadHistory};
pub use name::{BadPadName, PadName};

use crate::StoreError;

/// Largest pad.
pub const PAD_LIMIT: usize = 1 << 20; // 1 MiB

/// A pad as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPad {
    /// Its text.
    pub content: String,
    /// Grows with every change, also by an editor.
    pub revision: u64,
    /// Who made this revision.
    pub author: String,
}

/// A pad was changed, by a caller or in an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PadChange {
    /// The key of its project.
    pub project: String,
    /// Which.
    pub name: PadName,
    /// Its revision now; 0 when it is gone.
    pub revision: u64,
    /// Who changed it.
    pub author: String,
}

/// Called with each change, one at a time and in order.
type PadListener = Box<dyn Fn(PadChange) + Send + Sync>;

/// Why a pad was not changed or read.
#[derive(Debug, thiserror::Error)]
pub enum PadError {
    /// There is no pad of this name.
    #[error("there is no scratchpad {0}")]
    NotFound(PadName),
    /// It has no such revision, or no longer.
    #[error("the scratchpad {0} has no revision {1}, or no longer")]
    NoRevision(PadName, u64),
    /// The caller has seen another revision.
    #[error("the scratchpad is at revision {current} now: read it again")]
    Conflict {
        /// The revision it has; 0 when there is none.
        current: u64,
    },
    /// There is one of that name already.
    #[error("there is a scratchpad {0} already")]
    Taken(PadName),
    /// It is larger than a pad may be.
    #[error("a scratchpad has at most {PAD_LIMIT} bytes")]
    TooLarge,
    /// It is not UTF-8.
    #[error("the scratchpad {0} is not UTF-8 text")]
    NotText(PadName),
    /// The file system failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All pads of one user.
pub struct Pads {
    root: PathBuf,
    /// Allows one change at a time: a change reads a revision number and then uses the next one.
    changing: Mutex<()>,
    tell: Option<PadListener>,
}

impl Pads {
    /// Returns the pads below this directory, which is created as private when the first one is written.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), changing: Mutex::new(()), tell: None }
    }

    /// Calls `tell` with every change, an editor's too once it is seen. `tell` must not use the pads: their
    /// lock is held.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(PadChange) + Send + Sync + 'static) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// Checks a pad's file, so that an editor's change becomes a revision. Returns true if the pad exists.
    pub fn check_file(&self, project: &str, name: &PadName) -> Result<bool, PadError> {
        let _one_at_a_time = self.lock();
        let Some(folder) = self.folder(project, false)? else { return Ok(false) };
        Ok(self.seen(project, &folder, name)?.is_some())
    }

    /// Checks every pad of a project, also those whose files are gone, and removes temporary files that a
    /// killed daemon left beside them.
    pub fn look_at_all(&self, project: &str) -> Result<(), PadError> {
        let _one_at_a_time = self.lock();
        let Some(folder) = self.folder(project, false)? else { return Ok(()) };
        folder.remove_left_over(|name| name.parse::<PadName>().is_ok())?;
        let mut names = folder.names()?;
        if let Some(histories) = folder.existing(".history")? {
            names.extend(histories.names()?);
        }
        names.sort();
        names.dedup();
        for name in names {
            if let Ok(Some(history)) = PadHistory::existing(&folder, &name) {
                history.remove_left_over()?;
            }
            // A file that is not a valid pad is no change.
            drop(self.seen(project, &folder, &name));
        }
        Ok(())
    }

    /// Returns the pads of a project and their revisions, by name.
    pub fn list(&self, project: &str) -> Result<Vec<(PadName, Revision)>, PadError> {
        let _one_at_a_time = self.lock();
        let Some(folder) = self.folder(project, false)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in folder.names()? {
            // A file that is not a valid pad (a link, a pipe, a file with two names) is not listed either.
            if let Ok(Some((revision, _))) = self.seen(project, &folder, &name) {
                found.push((name, revision));
            }
        }
        found.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(found)
    }

    /// Returns a pad as it is now.
    pub fn read(&self, project: &str, name: &PadName) -> Result<StoredPad, PadError> {
        let _one_at_a_time = self.lock();
        let folder = self.folder(project, false)?.ok_or_else(|| PadError::NotFound(name.clone()))?;
        let (revision, bytes) =
            self.seen(project, &folder, name)?.ok_or_else(|| PadError::NotFound(name.clone()))?;
        let content = String::from_utf8(bytes).map_err(|_| PadError::NotText(name.clone()))?;
        Ok(StoredPad { content, revision: revision.number, author: revision.author })
    }

    /// Replaces a pad, or creates it. `expected` is the revision that the caller has seen, 0 for none; `None`
    /// accepts any.
    pub fn write(
        &self,
        project: &str,
        name: &PadName,
        content: &str,
        author: &str,
        expected: Option<u64>,
    ) -> Result<u64, PadError> {
        self.change(project, name, author, expected, |_| Ok(content.as_bytes().to_vec()))
    }

    /// Appends to a pad, on a line of its own, or creates it.
    pub fn append(&self, project: &str, name: &PadName, text: &str, author: &str) -> Result<u64, PadError> {
        self.change(project, name, author, None, |old| {
            let mut all = old.unwrap_or_default();
            if all.last().is_some_and(|last| *last != b'\n') {
                all.push(b'\n');
            }
            all.extend_from_slice(text.as_bytes());
            Ok(all)
        })
    }

    /// Removes a pad; its history stays.
    pub fn delete(
        &self,
        project: &str,
        name: &PadName,
        author: &str,
        expected: Option<u64>,
    ) -> Result<u64, PadError> {
        let _one_at_a_time = self.lock();
        let folder = self.folder(project, false)?.ok_or_else(|| PadError::NotFound(name.clone()))?;
        let (seen, _) = self.seen(project, &folder, name)?.ok_or_else(|| PadError::NotFound(name.clone()))?;
        refuse_other(expected, seen.number)?;
        let history = PadHistory::open(&folder, name)?;
        let removal = history.bury(author)?;
        folder.remove(name).inspect_err(|_| history.forget(&removal))?;
        self.announce(project, name, &removal);
        Ok(removal.number)
    }

    /// Renames a pad; its history starts again under the new name.
    pub fn rename(&self, project: &str, from: &PadName, to: &PadName, author: &str) -> Result<u64, PadError> {
        let _one_at_a_time = self.lock();
        let folder = self.folder(project, false)?.ok_or_else(|| PadError::NotFound(from.clone()))?;
        let (_, bytes) =
            self.seen(project, &folder, from)?.ok_or_else(|| PadError::NotFound(from.clone()))?;
        if self.seen(project, &folder, to)?.is_some() {
            return Err(PadError::Taken(to.clone()));
        }
        let made = self.put(project, &folder, to, &bytes, author)?;
        let left = PadHistory::open(&folder, from).and_then(|history| {
            let removal = history.bury(author)?;
            folder.remove(from).inspect_err(|_| history.forget(&removal))?;
            Ok(removal)
        });
        match left {
            Ok(removal) => {
                self.announce(project, from, &removal);
                Ok(made.number)
            }
            Err(error) => {
                self.take_back(project, &folder, to, &made);
                Err(error.into())
            }
        }
    }

    /// Undoes the new pad of a rename whose old pad could not be removed, so that a retry does not find the
    /// name taken.
    fn take_back(&self, project: &str, folder: &DirFd, name: &PadName, made: &Revision) {
        let removed = folder.remove(name);
        if let Ok(history) = PadHistory::open(folder, name)
            && removed.is_ok()
        {
            history.forget(made);
            self.announce(project, name, &Revision { is_removal: true, ..made.clone() });
        }
    }

    /// Returns every revision that is kept, oldest first.
    pub fn history(&self, project: &str, name: &PadName) -> Result<Vec<Revision>, PadError> {
        let _one_at_a_time = self.lock();
        let folder = self.folder(project, false)?.ok_or_else(|| PadError::NotFound(name.clone()))?;
        self.seen(project, &folder, name)?;
        let history = PadHistory::existing(&folder, name)?;
        let revisions = history.map_or_else(|| Ok(Vec::new()), |history| history.revisions())?;
        if revisions.is_empty() { Err(PadError::NotFound(name.clone())) } else { Ok(revisions) }
    }

    /// Returns a pad as it was at a revision that is still kept.
    pub fn read_revision(&self, project: &str, name: &PadName, number: u64) -> Result<StoredPad, PadError> {
        let _one_at_a_time = self.lock();
        let missing = || PadError::NotFound(name.clone());
        let folder = self.folder(project, false)?.ok_or_else(missing)?;
        self.seen(project, &folder, name)?;
        let history = PadHistory::existing(&folder, name)?.ok_or_else(missing)?;
        let kept = history.content(number)?.filter(|(revision, _)| !revision.is_removal);
        let (revision, bytes) = kept.ok_or_else(|| PadError::NoRevision(name.clone(), number))?;
        let content = String::from_utf8(bytes).map_err(|_| PadError::NotText(name.clone()))?;
        Ok(StoredPad { content, revision: revision.number, author: revision.author })
    }

    fn change(
        &self,
        project: &str,
        name: &PadName,
        author: &str,
        expected: Option<u64>,
        make: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, PadError>,
    ) -> Result<u64, PadError> {
        let _one_at_a_time = self.lock();
        let Some(folder) = self.folder(project, true)? else { return Err(PadError::NotFound(name.clone())) };
        let seen = self.seen(project, &folder, name)?;
        refuse_other(expected, seen.as_ref().map_or(0, |(revision, _)| revision.number))?;
        let new = make(seen.map(|(_, bytes)| bytes))?;
        if new.len() > PAD_LIMIT {
            return Err(PadError::TooLarge);
        }
        Ok(self.put(project, &folder, name, &new, author)?.number)
    }

    /// Sets the text of a pad.
    fn put(
        &self,
        project: &str,
        folder: &DirFd,
        name: &PadName,
        bytes: &[u8],
        author: &str,
    ) -> Result<Revision, PadError> {
        // The history comes first: a kill in between leaves one revision too many, never a change that cannot
        // be undone.
        let history = PadHistory::open(folder, name)?;
        let revision = history.keep_revision(bytes, author)?;
        folder.replace(name, bytes).inspect_err(|_| history.forget(&revision))?;
        self.announce(project, name, &revision);
        Ok(revision)
    }

    fn announce(&self, project: &str, name: &PadName, revision: &Revision) {
        let Some(tell) = &self.tell else { return };
        let number = if revision.is_removal { 0 } else { revision.number };
        let author = revision.author.clone();
        tell(PadChange { project: project.to_owned(), name: name.clone(), revision: number, author });
    }

    /// Reads the file after turning an editor's change into a revision; `None` when there is no such file.
    fn seen(
        &self,
        project: &str,
        folder: &DirFd,
        name: &PadName,
    ) -> Result<Option<(Revision, Vec<u8>)>, PadError> {
        let Some(bytes) = folder.read(name, PAD_LIMIT)? else {
            if let Some(history) = PadHistory::existing(folder, name)?
                && history.is_alive()?
            {
                self.announce(project, name, &history.bury(AUTHOR_EDITOR)?);
            }
            return Ok(None);
        };
        let history = PadHistory::open(folder, name)?;
        if let Some((newest, kept)) = history.newest()?
            && kept == bytes
        {
            return Ok(Some((newest, bytes)));
        }
        let revision = history.keep_revision(&bytes, AUTHOR_EDITOR)?;
        self.announce(project, name, &revision);
        Ok(Some((revision, bytes)))
    }

    fn folder(&self, project: &str, is_made: bool) -> Result<Option<DirFd>, PadError> {
        let is_key =
            !project.is_empty() && project.len() <= 64 && project.bytes().all(|b| b.is_ascii_hexdigit());
        let path = self.root.join(if is_key { project } else { "invalid" });
        if !is_key {
            return Err(StoreError::refused(&path, "a project is named by hexadecimal digits").into());
        }
        if is_made {
            for directory in [self.root.as_path(), path.as_path()] {
                crate::ensure_private_dir(directory)
                    .map_err(|error| StoreError::refused(directory, error.to_string()))?;
            }
        }
        Ok(DirFd::open(&path)?)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse_other(expected: Option<u64>, current: u64) -> Result<(), PadError> {
    match expected {
        Some(expected) if expected != current => Err(PadError::Conflict { current }),
        _ => Ok(()),
    }
}
