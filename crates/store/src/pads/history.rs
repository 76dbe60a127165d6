//! The history of a scratchpad: one file per revision, named by number and author, up to a hundred of them.

use super::PadName;
use super::dirfd::DirFd;
use crate::StoreError;

/// The most revisions that are kept per pad; the oldest are deleted.
const MAX_REVISIONS: usize = 100;
/// The author of a change that was made in an editor.
pub(super) const AUTHOR_EDITOR: &str = "editor";
/// Marks the revision at which a pad was removed.
const BURIED: &str = ".gone";
/// Largest revision file: the largest pad.
const LIMIT: usize = super::PAD_LIMIT;

/// One revision of a pad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u64,
    /// Who made it.
    pub author: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The pad was removed at this revision.
    pub is_removal: bool,
}

/// The revisions of one pad.
pub(super) struct PadHistory {
    folder: DirFd,
}

impl PadHistory {
    /// Opens the history of a pad and creates it when it is missing.
    pub(super) fn open(folder: &DirFd, name: &PadName) -> Result<Self, StoreError> {
        Ok(Self { folder: folder.inner(".history")?.inner(name.as_str())? })
    }

    /// Opens the history of a pad, if it has one.
    pub(super) fn existing(folder: &DirFd, name: &PadName) -> Result<Option<Self>, StoreError> {
        let Some(all) = folder.existing(".history")? else { return Ok(None) };
        Ok(all.existing(name.as_str())?.map(|folder| Self { folder }))
    }

    /// Removes temporary files of killed writers.
    pub(super) fn remove_left_over(&self) -> Result<(), StoreError> {
        self.folder.remove_left_over(|entry| parts(entry).is_some())
    }

    /// Returns every revision, oldest first.
    pub(super) fn revisions(&self) -> Result<Vec<Revision>, StoreError> {
        let mut found: Vec<Revision> =
            self.folder.entries()?.iter().filter_map(|entry| self.revision(entry)).collect();
        found.sort_by_key(|revision| revision.number);
        Ok(found)
    }

    fn find(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        Ok(self.revisions()?.into_iter().find(|revision| revision.number == number))
    }

    /// Returns true if its newest revision is a text and not a removal.
    pub(super) fn is_alive(&self) -> Result<bool, StoreError> {
        Ok(self.revisions()?.last().is_some_and(|newest| !newest.is_removal))
    }

    /// Returns the newest revision with its content; `None` after a removal.
    pub(super) fn newest(&self) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        match self.revisions()?.pop() {
            Some(newest) if !newest.is_removal => self.content(newest.number),
            _ => Ok(None),
        }
    }

    pub(super) fn content(&self, number: u64) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        let Some(revision) = self.find(number)? else { return Ok(None) };
        let bytes = self.folder.read_entry(&entry(&revision), LIMIT)?;
        Ok(bytes.map(|bytes| (revision, bytes)))
    }

    /// Adds a revision.
    pub(super) fn keep_revision(&self, bytes: &[u8], author: &str) -> Result<Revision, StoreError> {
        self.add(bytes, author, false)
    }

    /// Records that the pad was removed.
    pub(super) fn bury(&self, author: &str) -> Result<Revision, StoreError> {
        self.add(&[], author, true)
    }

    /// Removes a revision whose change failed.
    pub(super) fn forget(&self, revision: &Revision) {
        // If it stays, the next check of the file corrects it.
        let _kept = self.folder.remove_entry(&entry(revision));
    }

    fn add(&self, bytes: &[u8], author: &str, is_removal: bool) -> Result<Revision, StoreError> {
        let revisions = self.revisions()?;
        let number = revisions.last().map_or(1, |newest| newest.number + 1);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut new = Revision { number, author: plain(author), at: 0, bytes: length, is_removal };
        self.folder.replace_entry(&entry(&new), bytes)?;
        new.at = self.folder.changed_at(&entry(&new)).map_or(0, |(at, _)| at);
        let surplus = (revisions.len() + 1).saturating_sub(MAX_REVISIONS);
        for old in revisions.iter().take(surplus) {
            // The new revision is stored. A file that could not be deleted is deleted with the next one.
            let _kept = self.folder.remove_entry(&entry(old));
        }
        Ok(new)
    }

    fn revision(&self, entry: &str) -> Option<Revision> {
        let (number, author, is_removal) = parts(entry)?;
        let (at, bytes) = self.folder.changed_at(entry).unwrap_or_default();
        Some(Revision { number, author: author.to_owned(), at, bytes, is_removal })
    }
}

/// Parses the name of a revision's file into number, author and whether it records a removal; `None` for
/// other files.
fn parts(entry: &str) -> Option<(u64, &str, bool)> {
    let (rest, is_removal) = match entry.strip_suffix(BURIED) {
        Some(rest) => (rest, true),
        None => (entry, false),
    };
    let (number, author) = rest.split_once('-')?;
    let number = (number.len() == 10).then(|| number.parse().ok()).flatten()?;
    Some((number, author, is_removal))
}

/// Returns the file of a revision.
fn entry(revision: &Revision) -> String {
    let end = if revision.is_removal { BURIED } else { "" };
    format!("{:010}-{}{end}", revision.number, revision.author)
}

/// Cleans an author for a file's name: only characters that a process name may have.
fn plain(author: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let kept: String = author.chars().map(|c| if is_kept(c) { c } else { '_' }).take(40).collect();
    if kept.is_empty() { "unknown".to_owned() } else { kept }
}
