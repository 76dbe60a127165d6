//! Lands a branch on a target: combines them in a scratch worktree, lets the caller test it there, then
//! fast-forwards the target.
//!
//! | step | who | what changes |
//! |---|---|---|
//! | [`Repository::plan_landing`] | this crate | nothing |
//! | [`Landing::prepare`] | this crate | a scratch worktree appears |
//! | the gate | the caller, in [`Landing::scratch`] | whatever it does in there |
//! | [`Landing::finish`] or [`Landing::abort`] | this crate | the target moves, or not; the scratch worktree goes |
//!
//! The target moves by one `update-ref` that names its old commit: before it nothing has changed, after it
//! the branch has landed. A checkout of the target is updated with it, and a person's changes there stay (`checkout`). The
//! caller keeps the plan; after a crash [`Landing::resume`] finds out on which side of that step it was, and completes or aborts.

mod checkout;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::checkout::read_porcelain;
use crate::delete::delete_directory;
use crate::error::{GitError, Result};
use crate::git::Git;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::operation_lock::OperationLock;
use crate::porcelain::StatusEntry;
use crate::repository::Repository;

/// Scratch worktrees are in this directory of the root. No task has its worktree in there: one begins with the name of its
/// repository and is directly in the root.
const SCRATCH_DIRECTORY: &str = ".land";

/// How a branch and its target are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LandMethod {
    /// The branch's commits are made again on top of the target. A branch that has merge commits is merged instead: a
    /// rebase would leave out what a person wrote in them, and meet every conflict that they resolved once more.
    Rebase,
    /// A merge commit, unless the target can fast-forward.
    Merge,
}

/// A request to land a branch.
#[derive(Debug, Clone)]
pub struct LandRequest {
    /// The branch with the work.
    pub branch: BranchName,
    /// The branch that it lands on.
    pub target: BranchName,
    /// How.
    pub method: LandMethod,
    /// The directory that worktrees are made in; the scratch worktree is in `.land` there.
    pub root: PathBuf,
}

/// A plan for one landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The common git directory of the repository.
    pub common_dir: PathBuf,
    /// The branch with the work, and its commit.
    pub branch: (BranchName, Oid),
    /// The branch that it lands on, and its commit.
    pub target: (BranchName, Oid),
    /// How.
    pub method: LandMethod,
    /// Where the gate runs.
    pub scratch: PathBuf,
}

/// The combined commit that the gate tests. The caller keeps it beside the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The commit that the target would move to.
    pub result: Oid,
}

/// What happened to the target's checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetCheckout {
    /// The target is checked out nowhere.
    Absent,
    /// Its files are those of the new commit.
    Updated(PathBuf),
    /// Its files are those of the new commit. Some were in neither the old nor the new state; everything that was there is saved
    /// under this reference.
    Rewritten(PathBuf, String),
    /// It could not be updated and the target could not be moved back: its files are those of the old commit.
    Left(PathBuf),
}

/// How a landing that was cut short ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// The target had not moved; everything is as it was before.
    Aborted,
    /// The target had moved; what was left to do is done.
    Landed(TargetCheckout),
}

impl Repository {
    /// Plans a landing, without changing anything.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] for a branch that is not there.
    pub fn plan_landing(&self, request: &LandRequest) -> Result<Landing> {
        let commit = |name: &BranchName| {
            self.branch(name)?.ok_or_else(|| GitError::UnknownRevision { name: name.to_string() })
        };
        crate::new_directory::make(&request.root).map_err(|error| GitError::io(&request.root, error))?;
        let root = request.root.canonicalize().map_err(|error| GitError::io(&request.root, error))?;
        let scratch = format!("{}-{}", self.key(), request.branch.file_name());
        let scratch = root.join(SCRATCH_DIRECTORY).join(scratch);
        let branch = (request.branch.clone(), commit(&request.branch)?);
        let target = (request.target.clone(), commit(&request.target)?);
        let has_merges = self.has_merges(&branch.1, &target.1)?;
        let method = if has_merges { LandMethod::Merge } else { request.method };
        Ok(Landing { common_dir: self.layout().common_dir.clone(), branch, target, method, scratch })
    }

    /// Returns true if the branch has a merge commit that the target has not.
    fn has_merges(&self, branch: &Oid, target: &Oid) -> Result<bool> {
        let call = self.read("rev-list").args(["--merges", "--max-count=1"]);
        Ok(!call.args([branch.as_str(), "--not", target.as_str()]).run()?.is_empty())
    }
}

impl Landing {
    /// Makes the scratch worktree and combines branch and target in it. One from an earlier attempt is made
    /// again.
    ///
    /// # Errors
    /// [`GitError::Conflict`] with the files, or [`GitError::WouldOverwrite`] with those that a person has changed in the
    /// target's checkout; the scratch worktree is removed then.
    pub fn prepare(&self, git: &Git) -> Result<Prepared> {
        let lock = OperationLock::acquire(&self.common_dir, &self.scratch)?;
        let repository = Repository::open(git, &self.common_dir)?;
        self.remove_scratch(&repository, &lock)?;
        self.make_scratch()?;
        let call = repository.write("worktree").args(["add", "--quiet", "--detach"]);
        let call = call.names([self.scratch.as_os_str(), self.branch.1.as_ref()]);
        call.input(lock.input()).run()?;
        let combined = self.combine(git, &lock).and_then(|result| {
            if let Some(path) = self.target_checkout(&repository)? {
                self.require_updatable(&repository, &path, &result)?;
            }
            Ok(Prepared { result })
        });
        if combined.is_err() {
            self.remove_scratch(&repository, &lock)?;
        }
        combined
    }

    /// Moves the target to the prepared commit, updates its checkout and removes the scratch worktree.
    ///
    /// # Errors
    /// [`GitError::Moved`] if the target is no longer where it was, [`GitError::WouldOverwrite`] if its checkout has
    /// changes in files that the landing changes too; nothing has changed then. After any other error the target may have
    /// moved: [`Landing::resume`] finds out.
    pub fn finish(&self, git: &Git, prepared: &Prepared) -> Result<TargetCheckout> {
        self.finish_observed(git, prepared, &|| {})
    }

    /// The same; `observe_moved` is called when the target has moved and its checkout has not been updated.
    ///
    /// # Errors
    /// As [`Landing::finish`].
    pub fn finish_observed(
        &self,
        git: &Git,
        prepared: &Prepared,
        observe_moved: &dyn Fn(),
    ) -> Result<TargetCheckout> {
        let lock = OperationLock::acquire(&self.common_dir, &self.scratch)?;
        let repository = Repository::open(git, &self.common_dir)?;
        let checkout = self.target_checkout(&repository)?;
        if let Some(path) = &checkout {
            self.require_updatable(&repository, path, &prepared.result)?;
        }
        self.move_target(&repository, [&self.target.1, &prepared.result])?;
        observe_moved();
        let outcome = match checkout {
            None => TargetCheckout::Absent,
            Some(path) => self.update_or_move_back(&repository, path, &prepared.result, &lock)?,
        };
        // It has landed. A scratch worktree that stays is in nobody's way.
        let _left = self.remove_scratch(&repository, &lock);
        Ok(outcome)
    }

    /// Updates the checkout. If a file was changed there in this moment the target moves back, and nothing was landed.
    fn update_or_move_back(
        &self,
        repository: &Repository,
        path: PathBuf,
        result: &Oid,
        lock: &OperationLock,
    ) -> Result<TargetCheckout> {
        match self.update_checkout(&repository.git, &path, result, lock) {
            Ok(()) => Ok(TargetCheckout::Updated(path)),
            Err(error @ (GitError::Failed { .. } | GitError::Locked { .. })) => {
                match self.move_target(repository, [result, &self.target.1]) {
                    Ok(()) => Err(error),
                    // Somebody has built on the new commit already.
                    Err(GitError::Moved { .. }) => Ok(TargetCheckout::Left(path)),
                    Err(other) => Err(other),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Moves the target from the first commit to the second, if it is still at the first.
    fn move_target(&self, repository: &Repository, [from, to]: [&Oid; 2]) -> Result<()> {
        let reference = self.target.0.reference();
        let message = format!("land {}", self.branch.0);
        let names = [reference.as_str(), to.as_str(), from.as_str()];
        let moved = repository.write("update-ref").args(["-m", &message]).names(names).run();
        moved.map(drop).map_err(|error| match error {
            GitError::Failed { .. } | GitError::Moved { .. } => GitError::Moved { reference },
            other => other,
        })
    }

    /// Removes the scratch worktree. Nothing else was changed, so everything is as it was.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn abort(&self, git: &Git) -> Result<()> {
        let lock = OperationLock::wait(&self.common_dir, &self.scratch)?;
        self.remove_scratch(&Repository::open(git, &self.common_dir)?, &lock)
    }

    /// Ends a landing that was cut short. Files of the target's checkout that are in neither the old nor the new state are
    /// saved to the trash before they are overwritten.
    ///
    /// # Errors
    /// Whatever git says; it may be called again.
    pub fn resume(&self, git: &Git, prepared: Option<&Prepared>, now: SystemTime) -> Result<Resumed> {
        let lock = OperationLock::wait(&self.common_dir, &self.scratch)?;
        let repository = Repository::open(git, &self.common_dir)?;
        let landed = match prepared {
            Some(prepared) => self.target_with(&repository, &prepared.result)?.zip(Some(&prepared.result)),
            None => None,
        };
        let resumed = match landed {
            None => Resumed::Aborted,
            Some((target, result)) if target == *result => {
                Resumed::Landed(self.complete_checkout(&repository, result, &lock, now)?)
            }
            Some(_) => Resumed::Landed(self.look_at_checkout(&repository)?),
        };
        // What is recorded must not depend on it: a scratch worktree that stays is in nobody's way.
        let _left = self.remove_scratch(&repository, &lock);
        Ok(resumed)
    }

    /// Returns the commit of the target if it is the result or has it below.
    fn target_with(&self, repository: &Repository, result: &Oid) -> Result<Option<Oid>> {
        let Some(target) = repository.branch(&self.target.0)? else { return Ok(None) };
        // A commit that git has thrown away is on no branch.
        let is_known = repository.find_commit(result.as_str())?.is_some();
        let has_landed = is_known && repository.is_ancestor(result, &target)?;
        Ok(has_landed.then_some(target))
    }

    fn combine(&self, git: &Git, lock: &OperationLock) -> Result<Oid> {
        let (branch, target) = (&self.branch.1, &self.target.1);
        let call = match self.method {
            LandMethod::Rebase => {
                // Settings of a person would move other branches along and put commits in another order.
                let options = ["--quiet", "--no-autostash", "--no-update-refs", "--no-autosquash"];
                git.write(&self.scratch, "rebase").args(options).names([target])
            }
            LandMethod::Merge => {
                git.write(&self.scratch, "reset").args(["--hard", "--quiet"]).names([target]).run()?;
                let message = format!("Merge branch '{}' into {}", self.branch.0, self.target.0);
                git.write(&self.scratch, "merge")
                    .args(["--quiet", "--no-edit", "--ff", "-m", &message])
                    .names([branch])
            }
        };
        match call.input(lock.input()).run() {
            Ok(_) => Repository::open(git, &self.scratch)?.head(&self.scratch),
            Err(error) => Err(conflict(git, &self.scratch)?.unwrap_or(error)),
        }
    }

    /// Makes the empty directory that git then uses. As long as it is there, no other landing removes the one above it.
    fn make_scratch(&self) -> Result<()> {
        let make = || std::fs::create_dir_all(&self.scratch);
        // Another repository's landing may remove the directory above between the two steps of this; the second time it
        // would have to end in that very moment, too.
        make().or_else(|_| make()).map_err(|error| GitError::io(&self.scratch, error))
    }

    /// Removes the scratch worktree. A plan of an older version may name a directory that is a task's: it is left alone.
    fn remove_scratch(&self, repository: &Repository, lock: &OperationLock) -> Result<()> {
        let Some(above) = self.scratch.parent().filter(|above| above.ends_with(SCRATCH_DIRECTORY)) else {
            return Ok(());
        };
        delete_directory(&self.scratch).map_err(|error| GitError::io(&self.scratch, error))?;
        if repository.worktree_at(&self.scratch)?.is_some() {
            let call = repository.write("worktree").args(["remove", "--force", "--force"]);
            call.names([&self.scratch]).input(lock.input()).run()?;
        }
        // It stays while another landing has its scratch worktree there.
        let _in_use = std::fs::remove_dir(above);
        Ok(())
    }
}

/// Returns the files in conflict, if that is why git stopped.
fn conflict(git: &Git, scratch: &Path) -> Result<Option<GitError>> {
    let porcelain = read_porcelain(git, scratch, &["--untracked-files=no"])?;
    let files: Vec<String> = porcelain
        .entries
        .iter()
        .filter_map(|entry| match entry {
            StatusEntry::Unmerged { path, .. } => Some(path.to_string_lossy().into_owned()),
            StatusEntry::Changed(_) | StatusEntry::Untracked(_) | StatusEntry::Ignored(_) => None,
        })
        .collect();
    Ok((!files.is_empty()).then_some(GitError::Conflict { files }))
}
