//! The proof before a removal: everything that would be lost, and everything that makes it impossible.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::layout::Layout;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::porcelain::{Porcelain, StatusEntry};
use crate::repository::Repository;
use crate::stash::Stash;
use crate::trash::operation;

/// Files, and processes, that a message names before it only counts.
const NAMED: usize = 5;

/// A process whose current directory is inside the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// What a removal would lose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files whose staged content is in no commit.
    pub staged: Vec<PathBuf>,
    /// Tracked files that were changed and not staged.
    pub unstaged: Vec<PathBuf>,
    /// Files that git does not know and does not ignore.
    pub untracked: Vec<PathBuf>,
    /// Files with conflicts.
    pub conflicted: Vec<PathBuf>,
    /// The merge, rebase or cherry-pick that is under way.
    pub operation: Option<&'static str>,
    /// Stashes that were made on the branch. They stay in the repository, but no branch would refer to them.
    pub stashes: Vec<Stash>,
    /// Commits that no other branch and no remote has.
    pub unpushed: Vec<Oid>,
    /// Processes that work in the directory.
    pub occupants: Vec<Occupant>,
}

impl Losses {
    /// Returns true if nothing would be lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.staged.len(), "staged"),
            (self.unstaged.len(), "changed"),
            (self.untracked.len(), "untracked"),
            (self.conflicted.len(), "in conflict"),
            (self.stashes.len(), "stashed"),
            (
                self.unpushed.len(),
                if self.unpushed.len() == 1 { "commit nowhere else" } else { "commits nowhere else" },
            ),
            (
                self.occupants.len(),
                if self.occupants.len() == 1 { "process at work" } else { "processes at work" },
            ),
        ];
        let operation = self.operation.map(|name| format!("a {name} under way"));
        let counted = counts.iter().filter(|(count, _)| *count > 0);
        let counted = counted.map(|(count, what)| format!("{count} {what}"));
        let parts: Vec<String> = operation.into_iter().chain(counted).collect();
        out.write_str(&parts.join(", "))?;
        let files = [&self.conflicted, &self.staged, &self.unstaged, &self.untracked];
        let mut files: Vec<String> =
            files.into_iter().flatten().map(|path| path.display().to_string()).collect();
        files.sort_unstable();
        files.dedup();
        let mut names: Vec<String> = files.iter().take(NAMED).cloned().collect();
        names.extend(self.occupants.iter().take(NAMED).map(|one| format!("{} (pid {})", one.name, one.pid)));
        let more = files.len().saturating_sub(NAMED) + self.occupants.len().saturating_sub(NAMED);
        names.extend((more > 0).then(|| format!("{more} more")));
        if names.is_empty() { Ok(()) } else { write!(out, " ({})", names.join(", ")) }
    }
}

/// The removal to check.
pub(crate) struct LossQuery<'a> {
    pub(crate) path: &'a Path,
    /// The branch that would be deleted as well, with its commit.
    pub(crate) deleted: Option<&'a (BranchName, Oid)>,
    /// A branch that may contain the work under other commits.
    pub(crate) base: Option<&'a Oid>,
}

impl Repository {
    /// Returns everything that removing a worktree would lose.
    pub(crate) fn losses(&self, query: &LossQuery<'_>, porcelain: &Porcelain) -> Result<Losses> {
        let mut losses = Losses::default();
        for entry in &porcelain.entries {
            match entry {
                StatusEntry::Changed(changed) => {
                    let path = || changed.path.clone();
                    losses.staged.extend((changed.staged != b'.').then(path));
                    losses.unstaged.extend((changed.unstaged != b'.').then(path));
                }
                StatusEntry::Unmerged { path, .. } => losses.conflicted.push(path.clone()),
                StatusEntry::Untracked(path) => losses.untracked.push(path.clone()),
                StatusEntry::Ignored(_) => {}
            }
        }
        let branch = porcelain.branch.as_deref();
        losses.stashes = self.stashes()?;
        losses.stashes.retain(|stash| stash.branch.is_some() && stash.branch.as_deref() == branch);
        losses.unpushed = self.unpushed(porcelain.head.as_ref().filter(|_| branch.is_none()), query)?;
        losses.operation = Layout::at(query.path).and_then(|layout| operation::under_way(&layout.git_dir));
        losses.occupants = occupants(&[query.path]).concat();
        Ok(losses)
    }

    /// Commits that no reference would reach, unless the base has their work: those of a `HEAD` without a branch and those
    /// of the deleted branch, whatever is checked out.
    pub(crate) fn unpushed(&self, detached: Option<&Oid>, query: &LossQuery<'_>) -> Result<Vec<Oid>> {
        let mut found = match detached {
            Some(head) => self.unpushed_below(head, query)?,
            None => Vec::new(),
        };
        if let Some((_, tip)) = query.deleted.filter(|(_, tip)| Some(tip) != detached) {
            let known: HashSet<Oid> = found.iter().cloned().collect();
            found.extend(self.unpushed_below(tip, query)?.into_iter().filter(|oid| !known.contains(oid)));
        }
        Ok(found)
    }

    fn unpushed_below(&self, tip: &Oid, query: &LossQuery<'_>) -> Result<Vec<Oid>> {
        let mut call = self.read("rev-list").args([tip.as_str(), "--not"]);
        if let Some((branch, _)) = query.deleted {
            call = call.arg(format!("--exclude={branch}"));
        }
        let printed = call.args(["--branches", "--tags", "--remotes"]).text()?;
        let commits: Vec<Oid> = printed.lines().map(Oid::parse).collect::<Result<_>>()?;
        let Some(base) = query.base.filter(|_| !commits.is_empty()) else { return Ok(commits) };
        let is_merged = self.compare(base, tip)?.merged != crate::comparison::Merged::No;
        Ok(if is_merged { Vec::new() } else { commits })
    }
}

/// Returns for each directory the processes whose current directory is in it, as far as this user may see them. However many
/// directories these are, the processes are looked at once.
#[must_use]
pub fn occupants(directories: &[&Path]) -> Vec<Vec<Occupant>> {
    let mut found = vec![Vec::new(); directories.len()];
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let Ok(current) = fs::read_link(format!("/proc/{pid}/cwd")) else { continue };
        for (directory, occupants) in directories.iter().zip(&mut found) {
            if current.starts_with(directory) {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                occupants.push(Occupant { pid, name: name.trim().to_owned() });
            }
        }
    }
    found
}
