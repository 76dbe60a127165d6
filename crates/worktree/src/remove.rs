//! Removing a worktree without losing a byte.
//!
//! 1. Everything that would be lost is listed; without `force` that is a refusal.
//! 2. The files, and the commits of a branch that goes with them, are saved to the trash ([`crate::trash_reference`]). Of a
//!    directory that is gone already only the commits are.
//! 3. The directory is moved aside in one step, and looked at once more: if anything in it changed since it was saved, it is
//!    moved back.
//! 4. git forgets the worktree; if it cannot, the directory is moved back.
//! 5. The directory is deleted, and the branch if that was asked for. What cannot be deleted is named; the removal is done.
//!
//! The caller keeps the plan ([`Removal`]) until it is done; after a crash [`Removal::resume`] finishes it.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::checkout::read_porcelain;
use crate::delete::delete_directory;
use crate::error::{GitError, Result};
use crate::git::Git;
use crate::list::ListedWorktree;
use crate::losses::{LossQuery, Losses};
use crate::name::BranchName;
use crate::nested::refuse_unsavable;
use crate::oid::Oid;
use crate::operation_lock::OperationLock;
use crate::repository::Repository;
use crate::trash::{GoneCheckout, SaveRequest};

/// A request to remove a worktree.
#[derive(Debug, Clone)]
pub struct RemoveRequest {
    /// Its directory, which may be gone already.
    pub path: PathBuf,
    /// The task it belongs to; names the trash.
    pub task: BranchName,
    /// The branch to delete with it.
    pub branch: Option<BranchName>,
    /// The branch that may have the work already, in commits of its own.
    pub base: Option<String>,
    /// Go on although something would be lost. It is saved all the same.
    pub force: bool,
}

/// A plan to remove one worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// The common git directory of the repository.
    pub common_dir: PathBuf,
    /// The directory of the worktree.
    pub path: PathBuf,
    /// The branch to delete, with the commit that it was at.
    pub branch: Option<(BranchName, Oid)>,
    /// Where files and commits are saved; none if there is neither.
    pub trash: Option<String>,
    /// When it was planned, in seconds since 1970.
    pub time: u64,
    /// What was checked out, if the directory was gone already.
    #[serde(default)]
    pub gone: Option<GoneCheckout>,
    /// Ignored clones that a build tool can fetch again are removed, too.
    #[serde(default)]
    pub force: bool,
}

/// A step of a removal after which a kill would leave something half done if nobody went on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalStep {
    /// The files are saved, and the worktree is in its place.
    Saved,
    /// The directory was moved aside, and was not looked at once more.
    Moved,
}

/// A removal that is done: the worktree is saved and git has forgotten it.
#[derive(Debug, Default)]
pub struct Removed {
    /// Why its directory, which was moved aside, or its branch could not be deleted.
    pub left: Vec<GitError>,
}

/// What is known of a worktree before it is removed.
struct Examined {
    losses: Losses,
    deleted: Option<(BranchName, Oid)>,
    /// What was checked out, if the directory is gone.
    gone: Option<GoneCheckout>,
}

impl Repository {
    /// Finds everything that removing the worktree would lose.
    fn examine(&self, request: &RemoveRequest) -> Result<Examined> {
        let what = || format!("worktree {}", request.path.display());
        let deleted = self.branch_commit(request.branch.as_ref())?;
        let base = request.base.as_deref().map(|name| self.find_commit(name)).transpose()?.flatten();
        let query = LossQuery { path: &request.path, deleted: deleted.as_ref(), base: base.as_ref() };
        let listed = self.worktree_at(&request.path)?;
        let blocked =
            |reason: &str| GitError::Blocked { path: request.path.clone(), reason: reason.to_owned() };
        if let Some(listed) = &listed {
            if listed.is_bare || self.worktree_admin_dir(&listed.path).is_none() {
                return Err(blocked("it is the main checkout of its repository"));
            }
            if let Some(reason) = &listed.locked {
                let reason = if reason.is_empty() { "no reason is given" } else { reason };
                return Err(GitError::Locked { what: what(), reason: reason.to_owned() });
            }
        }
        if !request.path.exists() {
            let gone = self.gone_checkout(request, listed.as_ref())?;
            if listed.is_none() && gone.is_none() {
                return Err(GitError::Missing { what: what() });
            }
            let detached = gone.as_ref().filter(|gone| gone.branch.is_none()).map(|gone| &gone.head);
            let losses = Losses { unpushed: self.unpushed(detached, &query)?, ..Losses::default() };
            return Ok(Examined { losses, deleted, gone });
        }
        if listed.is_none() {
            return Err(GitError::Missing { what: what() });
        }
        if !request.path.join(".git").exists() {
            return Err(blocked(
                "its `.git` file is gone, so git cannot check what would be lost: check it yourself",
            ));
        }
        refuse_unsavable(&self.git, &request.path, request.force)?;
        let porcelain = read_porcelain(&self.git, &request.path, &["--untracked-files=all", "--no-renames"])?;
        Ok(Examined { losses: self.losses(&query, &porcelain)?, deleted, gone: None })
    }

    fn branch_commit(&self, name: Option<&BranchName>) -> Result<Option<(BranchName, Oid)>> {
        let Some(name) = name else { return Ok(None) };
        Ok(self.branch(name)?.map(|oid| (name.clone(), oid)))
    }

    /// Returns what was checked out in a directory that is gone: what git remembers, or the branch of the task if git has
    /// forgotten the worktree. None if there is no commit.
    fn gone_checkout(
        &self,
        request: &RemoveRequest,
        listed: Option<&ListedWorktree>,
    ) -> Result<Option<GoneCheckout>> {
        if let Some((listed, head)) = listed.and_then(|one| Some((one, one.head.clone()?))) {
            let branch = listed.branch.as_deref().map(BranchName::parse).transpose()?;
            return Ok(Some(GoneCheckout { branch, head }));
        }
        let named = self.branch_commit(Some(request.branch.as_ref().unwrap_or(&request.task)))?;
        Ok(named.map(|(branch, head)| GoneCheckout { branch: Some(branch), head }))
    }

    /// Plans a removal, without changing anything.
    ///
    /// # Errors
    /// [`GitError::Dirty`] with everything that would be lost, unless `force` is set; [`GitError::Missing`] if git knows no
    /// such worktree; [`GitError::Blocked`] and [`GitError::Locked`] for what makes a removal impossible.
    pub fn plan_removal(&self, request: &RemoveRequest, now: SystemTime) -> Result<Removal> {
        let Examined { losses, deleted, gone } = self.examine(request)?;
        if !losses.is_empty() && !request.force {
            return Err(GitError::Dirty { path: request.path.clone(), losses: Box::new(losses) });
        }
        let path = request.path.canonicalize().unwrap_or_else(|_| request.path.clone());
        let (reference, time) = self.free_trash_reference(&request.task, now)?;
        let trash = (path.exists() || gone.is_some()).then_some(reference);
        let time = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let common_dir = self.layout().common_dir.clone();
        Ok(Removal { common_dir, path, branch: deleted, trash, time, gone, force: request.force })
    }
}

impl Removal {
    /// Saves and removes the worktree.
    ///
    /// # Errors
    /// [`GitError::Changed`] if files changed meanwhile, [`GitError::Moved`] if the branch did, and whatever git says; the
    /// worktree stays then.
    pub fn run(&self, git: &Git) -> Result<Removed> {
        let lock = OperationLock::acquire(&self.common_dir, &self.path)?;
        self.complete(git, &lock, &|_| {})
    }

    /// Finishes an interrupted removal from any step, or carries it out from the start.
    ///
    /// # Errors
    /// As [`Removal::run`].
    pub fn resume(&self, git: &Git) -> Result<Removed> {
        self.resume_observed(git, &|_| {})
    }

    /// The same; `observe` is called at each step.
    ///
    /// # Errors
    /// As [`Removal::run`].
    pub fn resume_observed(&self, git: &Git, observe: &dyn Fn(RemovalStep)) -> Result<Removed> {
        let lock = OperationLock::wait(&self.common_dir, &self.path)?;
        self.complete(git, &lock, observe)
    }

    fn complete(&self, git: &Git, lock: &OperationLock, observe: &dyn Fn(RemovalStep)) -> Result<Removed> {
        let repository = Repository::open(git, &self.common_dir)?;
        let is_listed = || repository.worktree_at(&self.path).map(|found| found.is_some());
        if is_listed()? {
            // Whether an interrupted removal had looked at the directory once more is not known, so it begins anew.
            self.move_back()?;
        }
        if self.path.symlink_metadata().is_ok() {
            self.save_and_move(&repository, observe)?;
        } else {
            self.save_commits(&repository)?;
        }
        let forget = || repository.write("worktree").args(["remove", "--force"]).names([&self.path]);
        if is_listed()?
            && let Err(error) = forget().input(lock.input()).run()
        {
            self.move_back()?;
            return Err(error);
        }
        let aside = self.aside();
        let deleted = delete_directory(&aside).map_err(|error| GitError::io(&aside, error));
        let left = deleted.err().into_iter().chain(self.delete_branch(&repository).err()).collect();
        Ok(Removed { left })
    }

    fn delete_branch(&self, repository: &Repository) -> Result<()> {
        match &self.branch {
            Some((name, oid)) if repository.branch(name)?.is_some() => {
                let reference = name.reference();
                let call = repository.write("update-ref").arg("-d");
                call.names([reference.as_str(), oid.as_str()]).run().map(drop)
            }
            _ => Ok(()),
        }
    }

    fn refuse_moved_branch(&self, repository: &Repository) -> Result<()> {
        match &self.branch {
            Some((name, oid)) if repository.branch(name)?.is_some_and(|now| now != *oid) => {
                Err(GitError::Moved { reference: name.reference() })
            }
            _ => Ok(()),
        }
    }

    /// Saves the files, then moves the directory aside unless something in it has changed.
    fn save_and_move(&self, repository: &Repository, observe: &dyn Fn(RemovalStep)) -> Result<()> {
        let changed = || GitError::Changed { path: self.path.clone() };
        let reference = self.trash.as_deref().ok_or_else(changed)?;
        refuse_unsavable(&repository.git, &self.path, self.force)?;
        self.refuse_moved_branch(repository)?;
        let before = (directory_sum(&self.path), self.checked_out(repository));
        repository.save_with_branch(&self.save_request(reference))?;
        observe(RemovalStep::Saved);
        let aside = self.aside();
        fs::rename(&self.path, &aside).map_err(|error| GitError::io(&self.path, error))?;
        observe(RemovalStep::Moved);
        let is_same = (directory_sum(&aside), self.checked_out(repository)) == before;
        if is_same && self.refuse_moved_branch(repository).is_ok() {
            return Ok(());
        }
        self.move_back()?;
        Err(changed())
    }

    /// Returns what `HEAD` of the worktree says: a commit that was made after the files were saved changes it, or the branch.
    fn checked_out(&self, repository: &Repository) -> Option<Vec<u8>> {
        fs::read(repository.worktree_admin_dir(&self.path)?.join("HEAD")).ok()
    }

    /// Moves the directory back to its place, if it was moved aside.
    fn move_back(&self) -> Result<()> {
        let aside = self.aside();
        if self.path.symlink_metadata().is_ok() || aside.symlink_metadata().is_err() {
            return Ok(());
        }
        fs::rename(&aside, &self.path).map_err(|error| GitError::io(&aside, error))
    }

    /// Saves the commits of a worktree whose directory was gone when the removal was planned.
    fn save_commits(&self, repository: &Repository) -> Result<()> {
        let (Some(gone), Some(reference)) = (&self.gone, self.trash.as_deref()) else { return Ok(()) };
        if repository.find_commit(reference)?.is_none() {
            self.refuse_moved_branch(repository)?;
            repository.save_gone(&self.save_request(reference), gone)?;
        }
        Ok(())
    }

    fn save_request<'a>(&'a self, reference: &'a str) -> SaveRequest<'a> {
        let (path, deleted, time) = (self.path.as_path(), self.branch.as_ref(), self.time());
        SaveRequest { path, deleted, reference, time }
    }

    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.time)
    }

    /// Returns where the directory waits for its deletion: beside its old place, so that moving it is one
    /// step.
    fn aside(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.removed-{}", self.time))
    }
}

/// Returns a sum over names, sizes, times and modes of everything in a directory, links not followed.
fn directory_sum(directory: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    add_directory(directory, &mut hasher);
    hasher.finish()
}

fn add_directory(directory: &Path, hasher: &mut DefaultHasher) {
    let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        entry.file_name().hash(hasher);
        let Ok(found) = entry.metadata() else { continue };
        (found.ino(), found.mode(), found.len(), found.mtime(), found.mtime_nsec()).hash(hasher);
        (found.ctime(), found.ctime_nsec()).hash(hasher);
        if found.is_dir() {
            add_directory(&entry.path(), hasher);
        }
    }
}
