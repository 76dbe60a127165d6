//! Restores a saved worktree: its branch, its files byte for byte, and what was staged.
//!
//! Every step can be repeated, so running it again finishes an interrupted restoration.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::beneath::Beneath;
use crate::delete::delete_directory;
use crate::error::{GitError, Result};
use crate::git::{Git, GitInput};
use crate::list::ListedWorktree;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::operation_lock::OperationLock;
use crate::repository::Repository;
use crate::trash::{TrashMeta, operation};

/// A plan to restore one saved worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restoration {
    /// The common git directory of the repository.
    pub common_dir: PathBuf,
    /// The commit that holds the worktree.
    pub commit: Oid,
    /// Where it is put: where it was.
    pub path: PathBuf,
    /// The branches that were not there when it was planned, with their commits.
    #[serde(default)]
    pub makes: Vec<(BranchName, Oid)>,
}

impl Repository {
    /// Plans to restore what `reference` holds, without changing anything.
    ///
    /// # Errors
    /// [`GitError::Missing`] for an unknown reference; [`GitError::Exists`] if the directory is there, or if
    /// the branch has new commits since.
    pub fn plan_restoration(&self, reference: &str) -> Result<Restoration> {
        let missing = || GitError::Missing { what: format!("saved worktree {reference}") };
        let known = self.trash()?.into_iter().find(|entry| entry.reference == reference);
        let commit = known.ok_or_else(missing)?.commit;
        let path = PathBuf::from(OsStr::from_bytes(&self.blob(&commit, "path")?));
        if path.symlink_metadata().is_ok() {
            return Err(GitError::exists(format!("directory {}", path.display())));
        }
        let meta = self.meta(&commit)?;
        let mut makes = Vec::new();
        for (branch, oid) in meta.branches() {
            match self.branch(branch)? {
                None => makes.push((branch.clone(), oid.clone())),
                Some(now) if now == *oid => {}
                Some(_) => return Err(GitError::exists(format!("branch `{branch}` with other commits"))),
            }
        }
        Ok(Restoration { common_dir: self.layout().common_dir.clone(), commit, path, makes })
    }

    fn blob(&self, commit: &Oid, name: &str) -> Result<Vec<u8>> {
        self.read("cat-file").args(["blob", &format!("{commit}:{name}")]).run()
    }

    fn meta(&self, commit: &Oid) -> Result<TrashMeta> {
        TrashMeta::parse(&String::from_utf8_lossy(&self.blob(commit, "meta")?))
    }
}

impl Restoration {
    /// Restores the worktree, or finishes doing so.
    ///
    /// # Errors
    /// Any error of git or the file system; run it again when the cause is gone, or undo it.
    pub fn run(&self, git: &Git) -> Result<()> {
        let lock = OperationLock::wait(&self.common_dir, &self.path)?;
        let repository = Repository::open(git, &self.common_dir)?;
        let meta = repository.meta(&self.commit)?;
        self.check_out(&repository, &meta, &lock)?;
        self.restore_files(&repository, &meta)?;
        self.restore_index(&repository)?;
        self.restore_operation(&repository)
    }

    /// Removes what a restoration that failed has made: the worktree, and the branches that were not there. What it was to
    /// restore is still saved.
    ///
    /// # Errors
    /// Any error of git or the file system.
    pub fn undo(&self, git: &Git) -> Result<()> {
        let lock = OperationLock::wait(&self.common_dir, &self.path)?;
        let repository = Repository::open(git, &self.common_dir)?;
        let meta = repository.meta(&self.commit)?;
        if let Some(listed) = repository.worktree_at(&self.path)? {
            self.require_own(&listed, &meta)?;
            delete_directory(&self.path).map_err(|error| GitError::io(&self.path, error))?;
            self.forget(&repository, &listed, &lock)?;
        }
        for (branch, oid) in &self.makes {
            if repository.branch(branch)?.is_some_and(|now| now == *oid) {
                let names = [branch.reference(), oid.to_string()];
                repository.write("update-ref").arg("-d").names(&names).run()?;
            }
        }
        Ok(())
    }

    /// Checks out the worktree with the files of its commit, on its branch.
    fn check_out(&self, repository: &Repository, meta: &TrashMeta, lock: &OperationLock) -> Result<()> {
        for (branch, oid) in meta.branches() {
            if repository.branch(branch)?.is_none() {
                let names = [branch.reference(), oid.to_string(), String::new()];
                repository.write("update-ref").names(&names).run()?;
            }
        }
        if let Some((branch, upstream)) = meta.branch.as_ref().zip(meta.upstream.as_deref()) {
            // The remote branch may be gone; the branch is restored without it then.
            let argument = format!("--set-upstream-to={upstream}");
            let _tracking = repository.write("branch").arg(argument).names([branch.as_str()]).run();
        }
        self.add_worktree(repository, meta, lock)?;
        if let Some(admin) = repository.worktree_admin_dir(&self.path) {
            // A killed git left this lock; the operation lock shows that none runs.
            let _stale = fs::remove_file(admin.join("index.lock"));
        }
        let call = repository.git.write(&self.path, "reset").args(["--hard", "--quiet"]);
        call.input(lock.input()).run().map(drop)
    }

    /// Adds the worktree, unless an interrupted restoration has. One that git lists without a `.git` file in its directory is
    /// made anew: git would take the directory for one of the repository around it.
    fn add_worktree(&self, repository: &Repository, meta: &TrashMeta, lock: &OperationLock) -> Result<()> {
        if let Some(listed) = repository.worktree_at(&self.path)? {
            if self.path.join(".git").exists() {
                return self.require_own(&listed, meta);
            }
            // Only an empty directory is in nobody's use.
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(GitError::io(&self.path, error));
                }
                _ => self.forget(repository, &listed, lock)?,
            }
        }
        let mut call = repository.write("worktree").args(["add", "--quiet", "--no-checkout"]);
        let start = meta.branch.as_ref().map_or(meta.head.as_str(), |branch| branch.as_str());
        if meta.branch.is_none() {
            call = call.arg("--detach");
        }
        call.names([self.path.as_os_str(), start.as_ref()]).input(lock.input()).run().map(drop)
    }

    /// Returns an error if somebody else has made a worktree in this place meanwhile.
    fn require_own(&self, listed: &ListedWorktree, meta: &TrashMeta) -> Result<()> {
        let is_own = listed.branch.as_deref() == meta.branch.as_ref().map(BranchName::as_str);
        let exists = || GitError::exists(format!("worktree {}", self.path.display()));
        if is_own { Ok(()) } else { Err(exists()) }
    }

    /// Has git forget a worktree whose directory is gone. A lock is only git's own of an interrupted `worktree add`.
    fn forget(&self, repository: &Repository, listed: &ListedWorktree, lock: &OperationLock) -> Result<()> {
        let mut call = repository.write("worktree").args(["remove", "--force"]);
        if listed.locked.as_deref() == Some("initializing") {
            call = call.arg("--force");
        }
        call.names([&self.path]).input(lock.input()).run().map(drop)
    }

    /// Writes every file that differs from the commit with the bytes that were saved.
    fn restore_files(&self, repository: &Repository, meta: &TrashMeta) -> Result<()> {
        let below = Beneath::open(&self.path).map_err(|error| GitError::io(&self.path, error))?;
        let trees = [meta.head.to_string(), format!("{}:worktree", self.commit)];
        let call = repository.read("diff-tree").args(["-r", "-z", "--raw", "--no-renames"]);
        let printed = call.names(trees).run()?;
        let mut fields = printed.split(|byte| *byte == 0);
        let mut written = Vec::new();
        while let (Some(record), Some(path)) = (fields.next(), fields.next()) {
            let words: Vec<String> = String::from_utf8_lossy(record).split(' ').map(str::to_owned).collect();
            let [_, mode, _, oid, kind] = &words[..] else { continue };
            let path = PathBuf::from(OsStr::from_bytes(path));
            if kind == "D" {
                below.remove(&path).map_err(|error| GitError::io(&path, error))?;
            } else {
                written.push((mode.clone(), oid.clone(), path));
            }
        }
        for (mode, oid, path) in &written {
            restore_file(repository, &below, mode, oid, path)?;
        }
        self.restore_modes(repository)
    }

    fn restore_modes(&self, repository: &Repository) -> Result<()> {
        for record in repository.blob(&self.commit, "modes")?.split(|byte| *byte == 0) {
            let Some(space) = record.iter().position(|byte| *byte == b' ') else { continue };
            let mode = u32::from_str_radix(&String::from_utf8_lossy(&record[..space]), 8).unwrap_or(0o644);
            let path = self.path.join(OsStr::from_bytes(&record[space + 1..]));
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                let permissions = fs::Permissions::from_mode(mode);
                fs::set_permissions(&path, permissions).map_err(|error| GitError::io(&path, error))?;
            }
        }
        Ok(())
    }

    fn restore_index(&self, repository: &Repository) -> Result<()> {
        let git = &repository.git;
        let staged = repository.blob(&self.commit, "index-info")?;
        if !staged.is_empty() {
            let call = git.write(&self.path, "update-index").args(["-z", "--index-info"]);
            call.input(GitInput::Bytes(clear_conflicts(&staged))).run()?;
        }
        let intended = repository.blob(&self.commit, "intent-to-add")?;
        let paths: Vec<&OsStr> = intended
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(OsStr::from_bytes)
            .collect();
        if !paths.is_empty() {
            git.write(&self.path, "add").args(["--intent-to-add", "--force", "--"]).args(paths).run()?;
        }
        Ok(())
    }
}

impl Restoration {
    /// Lets a merge or rebase that was under way go on.
    fn restore_operation(&self, repository: &Repository) -> Result<()> {
        let Some(git_dir) = repository.worktree_admin_dir(&self.path) else { return Ok(()) };
        let tree = format!("{}:", self.commit);
        let call = repository.read("ls-tree").args(["-r", "-z", "--name-only", "--full-tree"]);
        let printed = call.names([tree.as_str(), "operation/"]).run()?;
        for name in printed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = OsStr::from_bytes(name);
            let Ok(path) = Path::new(name).strip_prefix("operation") else { continue };
            let bytes = repository.blob(&self.commit, &name.to_string_lossy())?;
            operation::write(&git_dir, path, &bytes).map_err(|error| GitError::io(&git_dir, error))?;
        }
        Ok(())
    }
}

/// A conflict's stages take the place of the plain entry, which must go first.
fn clear_conflicts(staged: &[u8]) -> Vec<u8> {
    let mut input = Vec::new();
    for record in staged.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let tab = record.iter().position(|byte| *byte == b'\t').unwrap_or(record.len());
        if record[..tab].ends_with(b" 1") || record[..tab].ends_with(b" 2") || record[..tab].ends_with(b" 3")
        {
            let null = record.split(|byte| *byte == b' ').nth(1).map_or(40, <[u8]>::len);
            input.extend([b"0 ", "0".repeat(null).as_bytes(), &record[tab..], b"\0"].concat());
        }
    }
    input.extend(remove_deletions_stage(staged));
    input
}

/// Returns `mode oid stage TAB path` for what is there; a deletion has no stage.
fn remove_deletions_stage(staged: &[u8]) -> Vec<u8> {
    let mut input = Vec::new();
    for record in staged.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let tab = record.iter().position(|byte| *byte == b'\t').unwrap_or(record.len());
        let words =
            if record.starts_with(b"0 ") { record[..tab].trim_ascii_end().strip_suffix(b" 0") } else { None };
        input.extend([words.unwrap_or(&record[..tab]), &record[tab..], b"\0"].concat());
    }
    input
}

fn restore_file(repository: &Repository, below: &Beneath, mode: &str, oid: &str, path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| GitError::io(path, error);
    let content = || repository.read("cat-file").args(["blob", oid]).limit(usize::MAX).run();
    match mode {
        "120000" => below.link(path, Path::new(OsStr::from_bytes(&content()?))).map_err(failed),
        "100644" | "100755" => {
            let bytes = content()?;
            let permissions = if mode == "100755" { 0o755 } else { 0o644 };
            below.write(path, permissions, true, |file| file.write_all(&bytes)).map_err(failed)
        }
        _ => Ok(()),
    }
}
