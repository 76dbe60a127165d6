//! Saving a worktree to a hidden reference before it is removed, and forgetting such references after a time.
//!
//! A saved worktree is one commit on top of the worktree's own, and of the branch that is deleted with it if that is another.
//! Its tree has these entries:
//!
//! | entry | content |
//! |---|---|
//! | `worktree` | every file that is not ignored, byte for byte as it was on disk |
//! | `index` | the staged contents that the commit below lacks, so that they stay reachable |
//! | `index-info` | what to tell `git update-index --index-info` to have them staged again |
//! | `operation` | the files of a merge, rebase or cherry-pick that is under way |
//! | `intent-to-add`, `modes`, `path`, `meta` | what neither files nor index can say |
//!
//! `git fast-import` writes it in one stream: no filter changes a byte, neither index is touched, and the reference appears
//! only when everything is on disk.

pub(crate) mod operation;
mod snapshot;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use self::snapshot::{Snapshot, upstream};
use crate::error::Result;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::repository::Repository;

/// All saved worktrees are below this.
pub const TRASH: &str = "refs/quarterdeck/trash/";

/// Returns the reference of a worktree saved at `time`: `refs/quarterdeck/trash/<task>/<seconds since 1970>`.
/// A slash in the task's name is written `%2F`, so that no task's references are in the way of another's.
#[must_use]
pub fn trash_reference(task: &BranchName, time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{TRASH}{}/{seconds:010}", task.as_str().replace('%', "%25").replace('/', "%2F"))
}

/// One saved worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashEntry {
    /// The whole reference.
    pub reference: String,
    /// The task that the worktree belonged to.
    pub task: String,
    /// When it was saved.
    pub time: SystemTime,
    /// The commit that holds it.
    pub commit: Oid,
}

/// The content of `meta` of a saved worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrashMeta {
    /// The branch that was checked out; none if `HEAD` was detached.
    pub(crate) branch: Option<BranchName>,
    /// The commit that was checked out.
    pub(crate) head: Oid,
    /// The full name of the reference that the branch tracked.
    pub(crate) upstream: Option<String>,
    /// The branch that was deleted with the worktree although it was not checked out there, with its commit.
    pub(crate) deleted: Option<(BranchName, Oid)>,
}

impl TrashMeta {
    /// Returns one line for each: neither a commit nor a reference has a line feed in it.
    fn write(&self) -> String {
        let branch = self.branch.as_ref().map(|name| format!("branch {name}\n")).unwrap_or_default();
        let upstream = self.upstream.as_ref().map(|name| format!("upstream {name}\n")).unwrap_or_default();
        let deleted = self
            .deleted
            .as_ref()
            .map(|(name, oid)| format!("task-branch {name} {oid}\n"))
            .unwrap_or_default();
        format!("head {}\n{branch}{upstream}{deleted}", self.head)
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        Ok(Self {
            branch: value("branch").map(BranchName::parse).transpose()?,
            head: Oid::parse(value("head").unwrap_or_default())?,
            upstream: value("upstream").map(str::to_owned),
            deleted: value("task-branch").map(parse_deleted).transpose()?,
        })
    }

    /// Keeps a deleted branch, unless it is the one that is checked out.
    fn set_deleted(&mut self, deleted: Option<&(BranchName, Oid)>) {
        let is_other =
            |(name, oid): &&(BranchName, Oid)| self.branch.as_ref() != Some(name) || self.head != *oid;
        self.deleted = deleted.filter(is_other).cloned();
    }

    /// Returns the branches that a restoration needs, with their commits.
    pub(crate) fn branches(&self) -> impl Iterator<Item = (&BranchName, &Oid)> {
        let checked_out = self.branch.iter().map(|name| (name, &self.head));
        checked_out.chain(self.deleted.iter().map(|(name, oid)| (name, oid)))
    }
}

fn parse_deleted(value: &str) -> Result<(BranchName, Oid)> {
    let (name, oid) = value.split_once(' ').unwrap_or((value, ""));
    Ok((BranchName::parse(name)?, Oid::parse(oid)?))
}

/// What was checked out in a worktree whose directory is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneCheckout {
    /// The branch; none if `HEAD` was detached.
    pub branch: Option<BranchName>,
    /// The commit.
    pub head: Oid,
}

/// What is saved of a worktree that is to be removed, and where.
pub(crate) struct SaveRequest<'a> {
    /// The directory of the worktree.
    pub(crate) path: &'a Path,
    /// The branch that is deleted with it.
    pub(crate) deleted: Option<&'a (BranchName, Oid)>,
    /// The reference that holds what is saved.
    pub(crate) reference: &'a str,
    /// When it is saved.
    pub(crate) time: SystemTime,
}

impl Repository {
    /// Returns all saved worktrees, oldest first for each task.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn trash(&self) -> Result<Vec<TrashEntry>> {
        let found = self.references(TRASH)?.into_iter().filter_map(|(reference, commit)| {
            let (task, seconds) = reference.strip_prefix(TRASH)?.split_once('/')?;
            let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds.parse().ok()?))?;
            let task = task.replace("%2F", "/").replace("%25", "%");
            Some(TrashEntry { task, time, commit, reference })
        });
        Ok(found.collect())
    }

    /// Returns worktrees that were saved more than `age` before `now`.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn old_trash(&self, age: Duration, now: SystemTime) -> Result<Vec<TrashEntry>> {
        let is_old = |entry: &TrashEntry| now.duration_since(entry.time).is_ok_and(|passed| passed > age);
        Ok(self.trash()?.into_iter().filter(is_old).collect())
    }

    /// Forgets worktrees that were saved more than `age` before `now`, and returns them. git itself frees their space
    /// later.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn forget_trash(&self, age: Duration, now: SystemTime) -> Result<Vec<TrashEntry>> {
        let old = self.old_trash(age, now)?;
        for entry in &old {
            let names = [entry.reference.as_str(), entry.commit.as_str()];
            self.write("update-ref").arg("-d").names(names).run()?;
        }
        Ok(old)
    }

    /// Returns a reference for what is saved now, and its time: the first second from `now` on in which nothing of this
    /// task was saved.
    pub(crate) fn free_trash_reference(
        &self,
        task: &BranchName,
        now: SystemTime,
    ) -> Result<(String, SystemTime)> {
        let mut time = now;
        loop {
            let reference = trash_reference(task, time);
            if self.find_commit(&reference)?.is_none() {
                return Ok((reference, time));
            }
            time += Duration::from_secs(1);
        }
    }

    /// Saves everything in the worktree at `path` that is not ignored, under `reference`. Neither the worktree nor its
    /// index is touched.
    ///
    /// # Errors
    /// [`crate::GitError::Blocked`] for a repository inside the worktree or a branch without a commit, [`crate::GitError::Changed`] if a
    /// file changed while it was read; nothing is saved then.
    pub fn save_worktree(&self, path: &Path, reference: &str, time: SystemTime) -> Result<Oid> {
        Snapshot::read(&self.git, path)?.save(self, reference, time)
    }

    /// Saves a worktree together with a branch that is to be deleted.
    pub(crate) fn save_with_branch(&self, request: &SaveRequest<'_>) -> Result<Oid> {
        let mut snapshot = Snapshot::read(&self.git, request.path)?;
        snapshot.meta.set_deleted(request.deleted);
        snapshot.save(self, request.reference, request.time)
    }

    /// Saves the commits of a worktree whose directory is gone.
    pub(crate) fn save_gone(&self, request: &SaveRequest<'_>, gone: &GoneCheckout) -> Result<Oid> {
        let upstream = upstream(&self.git, self.directory(), gone.branch.as_ref())?;
        let mut meta =
            TrashMeta { branch: gone.branch.clone(), head: gone.head.clone(), upstream, deleted: None };
        meta.set_deleted(request.deleted);
        Snapshot::without_files(meta, request.path).save(self, request.reference, request.time)
    }
}
