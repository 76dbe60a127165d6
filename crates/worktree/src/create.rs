//! Makes a worktree in two steps: a plan that changes nothing, then its execution.
//!
//! The caller stores the plan ([`Creation`]) before it runs it. After a crash at any moment the caller either
//! finishes the same plan ([`Creation::resume`]) or undoes it ([`Creation::undo`]); no client has seen the
//! directory yet.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{GitError, Result};
use crate::git::Git;
use crate::name::BranchName;
use crate::new_directory;
use crate::oid::Oid;
use crate::operation_lock::OperationLock;
use crate::references::References;
use crate::repository::Repository;

/// What the new branch begins from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartPoint {
    /// The repository's default branch.
    DefaultBranch,
    /// Any name of a commit: a branch, a tag, an object name.
    Revision(String),
    /// The local branch that has the worktree's name already; no branch is made.
    ExistingBranch,
    /// A branch of a remote, which the new branch then tracks. Fetch it first if it must be fresh.
    RemoteBranch {
        /// The name of the remote.
        remote: String,
        /// The branch there.
        branch: BranchName,
    },
}

/// A request for a worktree.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    /// The name of the task and of its branch.
    pub name: BranchName,
    /// What the branch begins from.
    pub start: StartPoint,
    /// The directory that worktrees are made in.
    pub root: PathBuf,
}

/// A plan for one worktree, complete enough to be finished or undone by another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The common git directory of the repository.
    pub common_dir: PathBuf,
    /// The directory of the worktree.
    pub path: PathBuf,
    /// The branch that is checked out there.
    pub branch: BranchName,
    /// The commit that it begins at.
    pub start: Oid,
    /// True if the branch is made with the worktree.
    pub makes_branch: bool,
    /// The remote branch that the branch tracks, as `remote/branch`.
    pub upstream: Option<String>,
}

impl Repository {
    /// Checks a request and decides every detail of it, without changing anything. The references are as they were just read.
    ///
    /// # Errors
    /// [`GitError::Exists`] for a branch or directory in the way, [`GitError::UnknownRevision`], [`GitError::NoCommits`].
    pub fn plan_worktree(&self, references: &References, request: &CreateRequest) -> Result<Creation> {
        let name = &request.name;
        let existing = references.branch(name.as_str()).cloned();
        let (start, upstream) = match &request.start {
            StartPoint::DefaultBranch => {
                (references.default.clone().ok_or_else(|| self.no_commits())?.1, None)
            }
            StartPoint::Revision(revision) => (self.start_revision(references, revision)?, None),
            StartPoint::ExistingBranch => (existing.clone().ok_or_else(|| unknown(name.as_str()))?, None),
            StartPoint::RemoteBranch { remote, branch } => {
                let upstream = format!("{remote}/{branch}");
                let start = self.find_commit(&format!("refs/remotes/{upstream}"))?;
                (start.ok_or_else(|| unknown(&upstream))?, Some(upstream))
            }
        };
        let makes_branch = request.start != StartPoint::ExistingBranch;
        if let Some(other) = references.in_the_way_of(name).filter(|_| makes_branch) {
            let way =
                if other == name.as_str() { String::new() } else { format!(" (in the way of `{name}`)") };
            return Err(GitError::exists(format!("branch `{other}`{way}")));
        }
        let path = self.free_path(&request.root, name)?;
        let common_dir = self.layout().common_dir.clone();
        Ok(Creation { common_dir, path, branch: name.clone(), start, makes_branch, upstream })
    }

    fn start_revision(&self, references: &References, revision: &str) -> Result<Oid> {
        match references.branch(revision) {
            Some(oid) => Ok(oid.clone()),
            None if references.local.is_empty() && references.default.is_none() => Err(self.no_commits()),
            None => self.commit(revision),
        }
    }

    /// Returns `<root>/<repository>--<name>`, or with a part of the project's key behind it if another
    /// repository of the same name has that directory.
    fn free_path(&self, root: &Path, name: &BranchName) -> Result<PathBuf> {
        new_directory::make(root).map_err(|error| GitError::io(root, error))?;
        let root = root.canonicalize().map_err(|error| GitError::io(root, error))?;
        let plain = format!("{}--{}", self.name(), name.file_name());
        let candidates = [root.join(&plain), root.join(format!("{plain}-{}", &self.key()[..4]))];
        let is_free = |path: &&PathBuf| path.symlink_metadata().is_err();
        let found = candidates.iter().find(is_free).cloned();
        found.ok_or_else(|| GitError::exists(format!("directory {}", candidates[0].display())))
    }
}

fn unknown(name: &str) -> GitError {
    GitError::UnknownRevision { name: name.to_owned() }
}

impl Creation {
    /// Makes the worktree and its branch.
    ///
    /// # Errors
    /// [`GitError::Exists`] if something took the name since the plan was made; whatever git says. After an error the caller
    /// resumes or undoes the plan, as after a crash.
    pub fn run(&self, git: &Git) -> Result<()> {
        let lock = OperationLock::acquire(&self.common_dir, &self.path)?;
        self.add(git, &lock, self.makes_branch)
    }

    /// Finishes a plan that may have been carried out in part, or wholly, or not at all.
    ///
    /// # Errors
    /// As [`Creation::run`]; [`GitError::Moved`] if the branch has new commits, which means that it is in
    /// use.
    pub fn resume(&self, git: &Git) -> Result<()> {
        let lock = OperationLock::wait(&self.common_dir, &self.path)?;
        let repository = Repository::open(git, &self.common_dir)?;
        let branch = repository.branch(&self.branch)?;
        if branch.as_ref().is_some_and(|oid| *oid != self.start) {
            return Err(GitError::Moved { reference: self.branch.reference() });
        }
        self.remove_nameless_entries();
        let Some(listed) = repository.worktree_at(&self.path)? else {
            return self.add(git, &lock, self.makes_branch && branch.is_none());
        };
        if branch.is_none() {
            let reference = self.branch.reference();
            repository.write("update-ref").names([reference.as_str(), self.start.as_str(), ""]).run()?;
        }
        self.complete_checkout(git, &lock)?;
        if listed.locked.as_deref() == Some("initializing") {
            repository.write("worktree").args(["unlock"]).names([&self.path]).run()?;
        }
        Ok(())
    }

    /// Removes what a plan has made so far: the worktree, and the branch if the plan made it and it has not moved.
    ///
    /// # Errors
    /// [`GitError::Blocked`] if there are files that the plan did not make; nothing is removed then.
    pub fn undo(&self, git: &Git) -> Result<()> {
        let lock = OperationLock::wait(&self.common_dir, &self.path)?;
        let repository = Repository::open(git, &self.common_dir)?;
        self.remove_nameless_entries();
        if let Some(listed) = repository.worktree_at(&self.path)? {
            self.refuse_foreign_files(git)?;
            let admin = repository.worktree_admin_dir(&listed.path);
            remove_stale_lock(admin.as_deref())?;
            let call = repository.write("worktree").args(["remove", "--force", "--force"]);
            call.names([&listed.path]).input(lock.input()).run()?;
        }
        match repository.branch(&self.branch)? {
            Some(oid) if self.makes_branch && oid == self.start => {
                let reference = self.branch.reference();
                repository.write("update-ref").arg("-d").names([reference.as_str(), oid.as_str()]).run()?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add(&self, git: &Git, lock: &OperationLock, makes_branch: bool) -> Result<()> {
        let mut call = git.write(&self.common_dir, "worktree").args(["add", "--quiet", "--no-guess-remote"]);
        let start = match (&self.upstream, makes_branch) {
            (Some(upstream), true) => {
                call = call.args(["--track", "-b", self.branch.as_str()]);
                upstream.as_str()
            }
            (None, true) => {
                call = call.args(["--no-track", "-b", self.branch.as_str()]);
                self.start.as_str()
            }
            (_, false) => self.branch.as_str(),
        };
        call.names([self.path.as_os_str(), start.as_ref()]).input(lock.input()).run().map(drop)
    }

    /// Writes every file of the branch's commit. A file that was written in part is written again; the
    /// worktree is not in use yet.
    fn complete_checkout(&self, git: &Git, lock: &OperationLock) -> Result<()> {
        let repository = Repository::open(git, &self.common_dir)?;
        let admin = repository.worktree_admin_dir(&self.path);
        remove_stale_lock(admin.as_deref())?;
        if let Some(admin) = admin.filter(|_| !self.path.join(".git").exists()) {
            let link = format!("gitdir: {}\n", admin.display());
            new_directory::make_with_link(&self.path, &link)
                .map_err(|error| GitError::io(&self.path, error))?;
        }
        let reference = self.branch.reference();
        git.write(&self.path, "symbolic-ref").names(["HEAD", reference.as_str()]).run()?;
        git.write(&self.path, "reset").args(["--hard", "--quiet"]).input(lock.input()).run()?;
        if let Some(upstream) = &self.upstream {
            let argument = format!("--set-upstream-to={upstream}");
            git.write(&self.path, "branch").arg(argument).names([self.branch.as_str()]).run()?;
        }
        Ok(())
    }

    fn refuse_foreign_files(&self, git: &Git) -> Result<()> {
        if !self.path.join(".git").exists() {
            return Ok(());
        }
        let call = git.read(&self.path, "ls-files").args(["--others", "--exclude-standard", "-z"]);
        let foreign = call.run().unwrap_or_default();
        let first = foreign.split(|byte| *byte == 0).next().filter(|path| !path.is_empty());
        first.map_or(Ok(()), |path| {
            let reason =
                format!("`{}` was not made by Quarterdeck: move it away", String::from_utf8_lossy(path));
            Err(GitError::Blocked { path: self.path.clone(), reason })
        })
    }

    /// Removes entries in `worktrees/` that a killed git left before it wrote which directory they are for. git never
    /// uses nor lists them.
    fn remove_nameless_entries(&self) {
        let Some(stem) = self.path.file_name() else { return };
        for entry in fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_ours = entry.file_name().to_string_lossy().starts_with(&*stem.to_string_lossy());
            let is_nameless = fs::read(path.join("gitdir")).map_or(true, |text| text.trim_ascii().is_empty());
            if is_ours && is_nameless {
                // One that cannot be removed is as harmless as before.
                let _left = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Removes the index lock of a git that was killed. The caller holds the operation lock, so no git of ours is alive.
fn remove_stale_lock(admin: Option<&Path>) -> Result<()> {
    let Some(path) = admin.map(|admin| admin.join("index.lock")) else { return Ok(()) };
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::io(&path, error)),
        _ => Ok(()),
    }
}
