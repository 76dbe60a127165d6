//! What git says about one checkout, and how much of it is asked again after a change: nothing, the changed paths
//! alone, or everything. In a large repository the three differ by orders of magnitude.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::comparison::{Comparison, LineCounts, parse_shortstat};
use crate::error::{GitError, Result};
use crate::fingerprint::{ChangedPaths, Fingerprint, FingerprintChange};
use crate::git::Git;
use crate::layout::Layout;
use crate::oid::Oid;
use crate::porcelain::{Porcelain, StatusEntry};

/// Entries of a status that are kept to be brought up to date; with more of them git is asked for all each time.
const MAX_ENTRIES: usize = 10_000;
/// Files whose lines are counted one by one.
const MAX_EDITED: usize = 64;

/// What is checked out, and how many files differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckoutStatus {
    /// The commit; none before the first one.
    pub head: Option<Oid>,
    /// The branch; none if `HEAD` is detached.
    pub branch: Option<String>,
    /// Files that differ between commit and index.
    pub staged: usize,
    /// Tracked files that differ between index and checkout.
    pub unstaged: usize,
    /// Files and directories that git does not know and does not ignore.
    pub untracked: usize,
    /// Files with conflicts.
    pub conflicted: usize,
}

impl CheckoutStatus {
    /// Returns true if tracked files differ from the commit.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.staged + self.unstaged + self.conflicted > 0
    }

    fn count(porcelain: &Porcelain) -> Self {
        let mut status =
            Self { head: porcelain.head.clone(), branch: porcelain.branch.clone(), ..Self::default() };
        for entry in &porcelain.entries {
            match entry {
                StatusEntry::Changed(changed) => {
                    status.staged += usize::from(changed.staged != b'.');
                    status.unstaged += usize::from(changed.unstaged != b'.');
                }
                StatusEntry::Unmerged { .. } => status.conflicted += 1,
                StatusEntry::Untracked(_) => status.untracked += 1,
                StatusEntry::Ignored(_) => {}
            }
        }
        status
    }
}

/// Asks git what is in a checkout, with one process.
///
/// # Errors
/// git cannot be run, or prints what cannot be read.
pub fn checkout_status(git: &Git, path: &Path) -> Result<CheckoutStatus> {
    read_porcelain(git, path, &["--untracked-files=normal"])
        .map(|porcelain| CheckoutStatus::count(&porcelain))
}

pub(crate) fn read_porcelain(git: &Git, path: &Path, options: &[&str]) -> Result<Porcelain> {
    read_porcelain_of(git, path, options, &[])
}

/// The same of some paths only; of all if there are none.
fn read_porcelain_of(git: &Git, path: &Path, options: &[&str], paths: &[PathBuf]) -> Result<Porcelain> {
    let call = git.read(path, "status").args(["--porcelain=v2", "--branch", "-z", "--no-ahead-behind"]);
    let printed = call.args(options).arg("--").args(paths).run()?;
    Porcelain::parse(&printed).ok_or_else(|| GitError::Unreadable {
        command: "status".to_owned(),
        detail: "an unknown record".to_owned(),
    })
}

/// A checkout as it was last read.
#[derive(Debug)]
pub(crate) struct CachedCheckout {
    fingerprint: Option<Fingerprint>,
    porcelain: Porcelain,
    status: CheckoutStatus,
    /// Lines between a commit and the files, for the last commit that a caller asked for.
    lines: Option<(Oid, LineCounts)>,
}

impl CachedCheckout {
    /// Reads a checkout for the first time.
    pub(crate) fn read(git: &Git, layout: &Layout, top: &Path) -> Result<Self> {
        // Before git, so that a change in between is seen the next time.
        let fingerprint = Fingerprint::compute(layout);
        Ok(Self::new(fingerprint, read_porcelain(git, top, &["--untracked-files=normal"])?))
    }

    fn new(fingerprint: Option<Fingerprint>, porcelain: Porcelain) -> Self {
        Self { fingerprint, status: CheckoutStatus::count(&porcelain), porcelain, lines: None }
    }

    pub(crate) fn status(&self) -> &CheckoutStatus {
        &self.status
    }

    /// Reads again what has changed. `commit` is that of the branch that was checked out.
    pub(crate) fn refresh(
        &mut self,
        git: &Git,
        layout: &Layout,
        top: &Path,
        commit: Option<&Oid>,
    ) -> Result<()> {
        let Some(known) = &self.fingerprint else {
            *self = Self::read(git, layout, top)?;
            return Ok(());
        };
        let is_same_commit = commit == self.status.head.as_ref();
        let fingerprint = match known.change(layout) {
            FingerprintChange::Nothing if is_same_commit => return Ok(()),
            FingerprintChange::Nothing => Some(known.clone()),
            FingerprintChange::Paths(changed, fingerprint) => {
                if is_same_commit && let Some(porcelain) = self.read_changed(git, top, &changed) {
                    *self = Self::new(Some(fingerprint), porcelain);
                    return Ok(());
                }
                Some(fingerprint)
            }
            FingerprintChange::Anything(fingerprint) => fingerprint,
        };
        *self = Self::new(fingerprint, read_porcelain(git, top, &["--untracked-files=normal"])?);
        Ok(())
    }

    /// Asks git about the changed paths only, and puts its answer in the place of what was known of them. None where that
    /// could differ from a whole status: renames have an end outside of the paths.
    fn read_changed(&self, git: &Git, top: &Path, changed: &ChangedPaths) -> Option<Porcelain> {
        if self.porcelain.entries.len() > MAX_ENTRIES || self.porcelain.entries.iter().any(may_be_renamed) {
            return None;
        }
        // A file that is tracked stays tracked while the index is the same: only in directories can files be new.
        let untracked =
            if changed.has_directory { "--untracked-files=normal" } else { "--untracked-files=no" };
        let fresh = read_porcelain_of(git, top, &[untracked], &changed.paths).ok()?;
        let is_same_head = fresh.head == self.porcelain.head && fresh.branch == self.porcelain.branch;
        if !is_same_head || fresh.entries.iter().any(may_be_renamed) {
            return None;
        }
        let known = self.porcelain.entries.iter();
        let is_outside =
            |entry: &&StatusEntry| !changed.paths.iter().any(|path| path_of(entry).starts_with(path));
        let entries = known.filter(is_outside).cloned().chain(fresh.entries).collect();
        Some(Porcelain { entries, ..fresh })
    }

    /// Returns the lines between the merge base and the files, which differ from the commit.
    pub(crate) fn lines(
        &mut self,
        git: &Git,
        top: &Path,
        comparison: &Comparison,
        head: &Oid,
    ) -> Result<LineCounts> {
        let Some(from) = &comparison.merge_base else { return Ok(comparison.lines) };
        if let Some((commit, lines)) = &self.lines
            && commit == from
        {
            return Ok(*lines);
        }
        let lines = match self.edited_apart(comparison, head) {
            Some(paths) => {
                let edited = count_lines(git, top, &[], &paths)?;
                let LineCounts { added, removed } = comparison.lines;
                LineCounts { added: added + edited.added, removed: removed + edited.removed }
            }
            None => count_lines(git, top, &[from.as_str()], &[])?,
        };
        self.lines = Some((from.clone(), lines));
        Ok(lines)
    }

    /// Returns the changed files if their lines can be added to those of the commits: each was only edited since the index,
    /// and no commit of the branch touched it. git then looks at these files alone and not at the whole checkout.
    fn edited_apart(&self, comparison: &Comparison, head: &Oid) -> Option<Vec<&Path>> {
        let touched: HashSet<&Path> = comparison.touched.as_ref()?.iter().map(PathBuf::as_path).collect();
        let tracked =
            self.porcelain.entries.iter().filter(|entry| !matches!(entry, StatusEntry::Untracked(_)));
        let edited: Option<Vec<&Path>> = tracked
            .map(|entry| match entry {
                StatusEntry::Changed(changed) if (changed.staged, changed.unstaged) == (b'.', b'M') => {
                    Some(changed.path.as_path())
                        .filter(|path| !changed.is_submodule && !touched.contains(path))
                }
                _ => None,
            })
            .collect();
        edited.filter(|paths| paths.len() <= MAX_EDITED && self.status.head.as_ref() == Some(head))
    }
}

fn count_lines(git: &Git, top: &Path, commits: &[&str], paths: &[&Path]) -> Result<LineCounts> {
    let call = git.read(top, "diff").args(["--no-ext-diff", "--no-textconv", "--shortstat", "-M"]);
    let call = if commits.is_empty() { call } else { call.names(commits) };
    Ok(parse_shortstat(&call.arg("--").args(paths).text()?))
}

fn path_of(entry: &StatusEntry) -> &Path {
    match entry {
        StatusEntry::Changed(changed) => &changed.path,
        StatusEntry::Unmerged { path, .. } | StatusEntry::Untracked(path) | StatusEntry::Ignored(path) => {
            path
        }
    }
}

/// A file that was renamed, or that git may pair with a deleted one: it is in the index without content.
fn may_be_renamed(entry: &StatusEntry) -> bool {
    matches!(entry, StatusEntry::Changed(changed) if changed.original.is_some() || changed.unstaged == b'A')
}
