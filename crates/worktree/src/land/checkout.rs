//! The checkout of a landing's target. It is updated as a fast-forward of git updates it: files that the landing changes
//! get their new content, every other change of the person stays as it is. A landing that would overwrite a change, or a
//! file that git does not know, is refused before the target moves.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Landing, TargetCheckout};
use crate::checkout::{checkout_status, read_porcelain};
use crate::error::{GitError, Result};
use crate::git::{Git, GitCall};
use crate::layout::Layout;
use crate::oid::Oid;
use crate::operation_lock::OperationLock;
use crate::porcelain::StatusEntry;
use crate::repository::Repository;
use crate::temporary::TemporaryDirectory;

/// Files of the git directory that are there while git waits for a person to finish something.
const UNFINISHED: &[(&str, &str)] =
    &[("MERGE_HEAD", "a merge"), ("CHERRY_PICK_HEAD", "a cherry-pick"), ("REVERT_HEAD", "a revert")];

/// The files that a landing changes in its target.
struct LandedFiles {
    added: Vec<PathBuf>,
    changed: Vec<PathBuf>,
    deleted: Vec<PathBuf>,
}

impl Landing {
    pub(super) fn target_checkout(&self, repository: &Repository) -> Result<Option<PathBuf>> {
        let is_target = |name: &Option<String>| name.as_deref() == Some(self.target.0.as_str());
        let listed = repository.worktrees()?.into_iter();
        Ok(listed
            .filter(|one| !one.is_bare && is_target(&one.branch))
            .map(|one| one.path)
            .find(|path| path.exists()))
    }

    /// Returns an error if the checkout cannot be updated without overwriting a person's work. Changes nothing but the
    /// times that the index has of files.
    pub(super) fn require_updatable(&self, repository: &Repository, path: &Path, result: &Oid) -> Result<()> {
        let git = &repository.git;
        if let Some(operation) = unfinished_operation(path) {
            return Err(GitError::Unfinished { path: path.to_owned(), operation });
        }
        let landed = self.landed_files(repository, result)?;
        let untracked = landed.untracked_in_the_way(git, path)?;
        if !untracked.is_empty() {
            return Err(would_overwrite(path, &untracked));
        }
        let dry_run = || self.read_tree(git.read(path, "read-tree").arg("--dry-run"), result).run();
        if dry_run().is_ok() {
            return Ok(());
        }
        refresh(git, path)?;
        dry_run()
            .map(drop)
            .map_err(|error| landed.refusal(git, path).unwrap_or_else(|other| other.unwrap_or(error)))
    }

    /// Updates index and files from the old commit to the new one.
    pub(super) fn update_checkout(
        &self,
        git: &Git,
        path: &Path,
        result: &Oid,
        lock: &OperationLock,
    ) -> Result<()> {
        let update = || self.read_tree(git.write(path, "read-tree"), result).input(lock.input()).run();
        if update().is_ok() {
            return Ok(());
        }
        refresh(git, path)?;
        update().map(drop)
    }

    /// After a crash the checkout may be of the old commit, of the new one, or something between.
    pub(super) fn complete_checkout(
        &self,
        repository: &Repository,
        result: &Oid,
        lock: &OperationLock,
        now: SystemTime,
    ) -> Result<TargetCheckout> {
        let Some(path) = self.target_checkout(repository)? else { return Ok(TargetCheckout::Absent) };
        let git = &repository.git;
        let status = checkout_status(git, &path)?;
        if !status.is_dirty() || self.update_checkout(git, &path, result, lock).is_ok() {
            return Ok(TargetCheckout::Updated(path));
        }
        if status.conflicted > 0 {
            return Ok(TargetCheckout::Left(path));
        }
        let (reference, time) = repository.free_trash_reference(&self.target.0, now)?;
        repository.save_worktree(&path, &reference, time)?;
        let landed = self.landed_files(repository, result)?;
        match landed.write(git, &path, result, lock) {
            Ok(()) => Ok(TargetCheckout::Rewritten(path, reference)),
            Err(GitError::Failed { .. } | GitError::Locked { .. }) => Ok(TargetCheckout::Left(path)),
            Err(error) => Err(error),
        }
    }

    /// Returns the state of the checkout without changing it: there are commits on top of the landed one, so its files are not ours
    /// to write.
    pub(super) fn look_at_checkout(&self, repository: &Repository) -> Result<TargetCheckout> {
        let Some(path) = self.target_checkout(repository)? else { return Ok(TargetCheckout::Absent) };
        let is_dirty = checkout_status(&repository.git, &path)?.is_dirty();
        Ok(if is_dirty { TargetCheckout::Left(path) } else { TargetCheckout::Updated(path) })
    }

    fn read_tree<'a>(&self, call: GitCall<'a>, result: &Oid) -> GitCall<'a> {
        call.args(["-m", "-u"]).args([&self.target.1, result])
    }

    fn landed_files(&self, repository: &Repository, result: &Oid) -> Result<LandedFiles> {
        let call = repository.read("diff-tree").args(["-r", "-z", "--name-status", "--no-renames"]);
        let printed = call.names([&self.target.1, result]).run()?;
        let mut fields = printed.split(|byte| *byte == 0);
        let mut landed = LandedFiles { added: Vec::new(), changed: Vec::new(), deleted: Vec::new() };
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let list = match status {
                b"A" => &mut landed.added,
                b"D" => &mut landed.deleted,
                _ => &mut landed.changed,
            };
            list.push(PathBuf::from(OsStr::from_bytes(path)));
        }
        Ok(landed)
    }
}

impl LandedFiles {
    /// Files of the checkout that are in the place of a new one and that git does not know, ignored or not.
    fn untracked_in_the_way(&self, git: &Git, top: &Path) -> Result<BTreeSet<PathBuf>> {
        let mut found = BTreeSet::new();
        for path in &self.added {
            collect_in_place(top, path, &mut found)?;
        }
        if !found.is_empty() {
            let tracked = git.read(top, "ls-files").args(["-z", "--cached"]).run()?;
            for path in tracked.split(|byte| *byte == 0) {
                found.remove(Path::new(OsStr::from_bytes(path)));
            }
        }
        Ok(found)
    }

    /// Returns the error for a checkout that git did not update: the files with changes of the person, if that is why.
    fn refusal(&self, git: &Git, top: &Path) -> std::result::Result<GitError, Option<GitError>> {
        let options = ["--untracked-files=no", "--no-renames"];
        let porcelain = read_porcelain(git, top, &options).map_err(Some)?;
        let all = [&self.added, &self.changed, &self.deleted];
        let landed: BTreeSet<&PathBuf> = all.into_iter().flatten().collect();
        let paths = porcelain.entries.iter().filter_map(|entry| match entry {
            StatusEntry::Changed(changed) => Some(&changed.path).filter(|path| landed.contains(path)),
            StatusEntry::Unmerged { path, .. } => Some(path),
            StatusEntry::Untracked(_) | StatusEntry::Ignored(_) => None,
        });
        let paths: BTreeSet<PathBuf> = paths.cloned().collect();
        if paths.is_empty() { Err(None) } else { Ok(would_overwrite(top, &paths)) }
    }

    /// Writes the new content of these files, and of no other one, into index and checkout.
    fn write(&self, git: &Git, top: &Path, result: &Oid, lock: &OperationLock) -> Result<()> {
        let remove = git.write(top, "rm").args(["--force", "--quiet", "--ignore-unmatch"]);
        run_for(remove.input(lock.input()), self.deleted.iter())?;
        let source = format!("--source={}", result.as_str());
        let restore = git.write(top, "restore").args([source.as_str(), "--staged", "--worktree", "--quiet"]);
        run_for(restore.input(lock.input()), self.added.iter().chain(&self.changed))
    }
}

/// Runs a call for these files, however many they are.
fn run_for<'a>(call: GitCall<'_>, paths: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let text: Vec<u8> =
        paths.flat_map(|path| path.as_os_str().as_bytes().iter().chain(b"\0")).copied().collect();
    if text.is_empty() {
        return Ok(());
    }
    let directory = TemporaryDirectory::new()?;
    let list = directory.path().join("paths");
    std::fs::write(&list, text).map_err(|error| GitError::io(&list, error))?;
    let option = format!("--pathspec-from-file={}", list.display());
    call.args([option.as_str(), "--pathspec-file-nul"]).run().map(drop)
}

/// Adds what stands where the file `path` is to be: the file itself, a file in place of a directory above it, or all
/// files of a directory in its place.
fn collect_in_place(top: &Path, path: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|one| !one.as_os_str().is_empty()).collect();
    above.reverse();
    for directory in above {
        match top.join(directory).symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                found.insert(directory.to_owned());
                return Ok(());
            }
            Err(_) => return Ok(()),
        }
    }
    match top.join(path).symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => collect_below(top, path, found),
        Ok(_) => {
            found.insert(path.to_owned());
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

fn collect_below(top: &Path, directory: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    let full = top.join(directory);
    let unreadable = |error| GitError::io(&full, error);
    for entry in std::fs::read_dir(&full).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = directory.join(entry.file_name());
        if entry.file_type().map_err(unreadable)?.is_dir() {
            collect_below(top, &path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

/// Has git compare the files whose times differ from those in the index: a file that was only touched has not changed.
fn refresh(git: &Git, path: &Path) -> Result<()> {
    match git.write(path, "update-index").args(["-q", "--refresh"]).run() {
        Ok(_) | Err(GitError::Failed { .. } | GitError::Locked { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn unfinished_operation(path: &Path) -> Option<&'static str> {
    let git_dir = Layout::at(path)?.git_dir;
    UNFINISHED.iter().find(|(file, _)| git_dir.join(file).exists()).map(|(_, operation)| *operation)
}

fn would_overwrite(path: &Path, files: &BTreeSet<PathBuf>) -> GitError {
    let files = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
    GitError::WouldOverwrite { path: path.to_owned(), files }
}
