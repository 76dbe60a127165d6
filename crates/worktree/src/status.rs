//! The status of a worktree and of its branch against its base, with as few git processes as possible: none
//! at all when nothing has changed since the last time.
//!
//! Three parts are cached separately, because they change at different times: the references (by their
//! fingerprint), the checkout (by its fingerprint and its commit), and comparisons of two commits (for ever).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::comparison::{Comparison, LineCounts, Merged, parse_shortstat};
use crate::error::{GitError, Result};
use crate::fingerprint::{Fingerprint, references_fingerprint};
use crate::git::Git;
use crate::layout::Layout;
use crate::oid::Oid;
use crate::porcelain::{Entry, Porcelain};
use crate::references::References;
use crate::repository::Repository;
use crate::stash::Stash;

/// The most comparisons that are cached; past this all are dropped and computed again when needed.
const MAX_COMPARISONS: usize = 10_000;

/// The worktree whose status is wanted.
#[derive(Debug, Clone)]
pub struct StatusQuery {
    /// The common git directory of its repository.
    pub common_dir: PathBuf,
    /// Its directory, which may be gone.
    pub path: PathBuf,
    /// Its branch, which may be gone; `None` for the one that is checked out.
    pub branch: Option<String>,
    /// The branch that it is compared with; none for the repository's default branch.
    pub base: Option<String>,
    /// The commit at which the branch began, if it is known: a branch that is still there is not merged but
    /// new.
    pub start: Option<Oid>,
}

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
}

/// Everything about one worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeStatus {
    /// What is checked out; none if the directory is gone or is no worktree any more.
    pub checkout: Option<CheckoutStatus>,
    /// The commit of the branch; none if the branch is gone.
    pub commit: Option<Oid>,
    /// The comparison of the branch with its base; `None` if either is gone.
    pub comparison: Option<Comparison>,
    /// Commits that the branch's upstream lacks; none without an upstream, or if that is gone.
    pub unpushed: Option<u32>,
    /// Lines changed since the merge base, with what is not committed yet.
    pub lines: LineCounts,
    /// Stashes that were made on the branch.
    pub stashes: usize,
}

/// Caches what was read. It belongs to one caller and is kept in memory only.
#[derive(Debug, Default)]
pub struct StatusCache {
    repositories: HashMap<PathBuf, (Option<u64>, Arc<RepositoryReading>)>,
    checkouts: HashMap<PathBuf, CachedCheckout>,
    comparisons: HashMap<(Oid, Oid), Comparison>,
}

#[derive(Debug)]
struct RepositoryReading {
    references: References,
    stashes: Vec<Stash>,
}

/// A repository whose references were read at one moment, for the statuses of several worktrees of it.
#[derive(Debug, Clone)]
pub struct RepositoryLook {
    repository: Repository,
    reading: Arc<RepositoryReading>,
}

impl RepositoryLook {
    /// Returns the repository itself.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the commit of a branch; a name that is no branch is looked up by git.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn commit(&self, name: &str) -> Result<Option<Oid>> {
        base_commit(&self.repository, &self.reading.references, Some(name))
    }
}

#[derive(Debug)]
struct CachedCheckout {
    fingerprint: Option<Fingerprint>,
    commit: Option<Oid>,
    status: CheckoutStatus,
    /// Lines between a commit and the files, for the last commit that a caller asked for.
    lines: Option<(Oid, LineCounts)>,
}

impl StatusCache {
    /// Returns the status of one worktree. A directory or branch that is gone is part of the answer, not an
    /// error.
    ///
    /// # Errors
    /// git cannot be run or refuses the repository.
    pub fn status(&mut self, git: &Git, query: &StatusQuery) -> Result<WorktreeStatus> {
        let look = self.look(git, &query.common_dir)?;
        self.status_in(git, &look, query)
    }

    /// Reads the references of a repository, unless they are as they were. The statuses of all its worktrees then cost
    /// this once.
    ///
    /// # Errors
    /// git cannot be run or refuses the repository.
    pub fn look(&mut self, git: &Git, common_dir: &Path) -> Result<RepositoryLook> {
        let repository = Repository::open(git, common_dir)?;
        let reading = self.reading(&repository)?;
        Ok(RepositoryLook { repository, reading })
    }

    /// Returns the status of one worktree of a repository whose references were read.
    ///
    /// # Errors
    /// As [`StatusCache::status`].
    pub fn status_in(
        &mut self,
        git: &Git,
        look: &RepositoryLook,
        query: &StatusQuery,
    ) -> Result<WorktreeStatus> {
        let RepositoryLook { repository, reading } = look;
        let layout =
            Layout::at(&query.path).filter(|layout| layout.common_dir == repository.layout().common_dir);
        let checkout = layout.map(|layout| self.checkout(git, &layout, &reading.references)).transpose()?;
        let checked_out = checkout.as_ref().and_then(|checkout| checkout.branch.clone());
        let name = query.branch.clone().or(checked_out);
        let branch = name.as_deref().and_then(|name| reading.references.local.get(name));
        let detached =
            checkout.as_ref().filter(|_| name.is_none()).and_then(|checkout| checkout.head.clone());
        let commit = branch.map(|branch| branch.commit.clone()).or(detached);
        let mut status = WorktreeStatus { checkout, commit, ..WorktreeStatus::default() };
        status.stashes =
            reading.stashes.iter().filter(|stash| stash.branch.is_some() && stash.branch == name).count();
        let Some(commit) = status.commit.clone() else { return Ok(status) };
        if let Some(base) = base_commit(repository, &reading.references, query.base.as_deref())? {
            let comparison = self.compare(repository, &base, &commit, query.start.as_ref())?;
            status.lines = self.lines(git, query, &status, &comparison)?;
            status.comparison = Some(comparison);
        }
        let upstream = branch.and_then(|branch| reading.references.resolve(branch.upstream.as_deref()?));
        if let Some(upstream) = upstream.cloned() {
            status.unpushed = Some(self.compare(repository, &upstream, &commit, None)?.ahead);
        }
        Ok(status)
    }

    /// Returns the references, read again only if they have changed.
    fn reading(&mut self, repository: &Repository) -> Result<Arc<RepositoryReading>> {
        let common_dir = &repository.layout().common_dir;
        let fingerprint = references_fingerprint(common_dir);
        if let Some((known, reading)) = self.repositories.get(common_dir)
            && known.is_some()
            && *known == fingerprint
        {
            return Ok(reading.clone());
        }
        let references = References::read(repository)?;
        let stashes = if references.has_stash { repository.stashes()? } else { Vec::new() };
        let reading = Arc::new(RepositoryReading { references, stashes });
        self.repositories.insert(common_dir.clone(), (fingerprint, reading.clone()));
        Ok(reading)
    }

    /// Returns the checkout's status, read again only if its files or its commit have changed.
    fn checkout(&mut self, git: &Git, layout: &Layout, references: &References) -> Result<CheckoutStatus> {
        let Some(top) = layout.top.as_deref() else { return Ok(CheckoutStatus::default()) };
        if let Some(known) = self.checkouts.get(top) {
            let commit =
                known.status.branch.as_deref().map_or(known.commit.as_ref(), |name| references.branch(name));
            let is_same = |fingerprint: &Fingerprint| fingerprint.is_current(layout);
            if commit == known.commit.as_ref() && known.fingerprint.as_ref().is_some_and(is_same) {
                return Ok(known.status.clone());
            }
        }
        let fingerprint = Fingerprint::take(layout);
        let status = checkout_status(git, top)?;
        let known =
            CachedCheckout { fingerprint, commit: status.head.clone(), status: status.clone(), lines: None };
        self.checkouts.insert(top.to_owned(), known);
        Ok(status)
    }

    fn compare(
        &mut self,
        repository: &Repository,
        base: &Oid,
        head: &Oid,
        start: Option<&Oid>,
    ) -> Result<Comparison> {
        let key = (base.clone(), head.clone());
        if !self.comparisons.contains_key(&key) {
            if self.comparisons.len() >= MAX_COMPARISONS {
                self.comparisons.clear();
            }
            self.comparisons.insert(key.clone(), repository.compare(base, head)?);
        }
        let mut comparison = self.comparisons[&key].clone();
        if comparison.merged == Merged::Ancestor && start == Some(head) {
            comparison.merged = Merged::Nothing;
        }
        Ok(comparison)
    }

    /// Lines since the merge base: those of the commits, or with the files if they differ from the commit.
    fn lines(
        &mut self,
        git: &Git,
        query: &StatusQuery,
        status: &WorktreeStatus,
        comparison: &Comparison,
    ) -> Result<LineCounts> {
        let is_dirty = status.checkout.as_ref().is_some_and(CheckoutStatus::is_dirty);
        let known = self.checkouts.get_mut(&query.path).filter(|_| is_dirty);
        let (Some(known), Some(from)) = (known, &comparison.merge_base) else { return Ok(comparison.lines) };
        if let Some((commit, lines)) = &known.lines
            && commit == from
        {
            return Ok(*lines);
        }
        let call =
            git.read(&query.path, "diff").args(["--no-ext-diff", "--no-textconv", "--shortstat", "-M"]);
        let lines = parse_shortstat(&call.names([from.as_str(), "--"]).text()?);
        known.lines = Some((from.clone(), lines));
        Ok(lines)
    }
}

/// Returns the base by its name: a branch that was just read, or any other revision.
fn base_commit(repository: &Repository, references: &References, name: Option<&str>) -> Result<Option<Oid>> {
    match name {
        None => Ok(references.default.as_ref().map(|(_, oid)| oid.clone())),
        Some(name) => match references.resolve(name) {
            Some(oid) => Ok(Some(oid.clone())),
            None => {
                Ok(Oid::parse(name).ok().map_or_else(|| repository.find_commit(name), |oid| Ok(Some(oid)))?)
            }
        },
    }
}

/// Asks git what is in a checkout, with one process.
///
/// # Errors
/// git cannot be run, or prints what cannot be read.
pub fn checkout_status(git: &Git, path: &Path) -> Result<CheckoutStatus> {
    let porcelain = read_porcelain(git, path, &["--untracked-files=normal"])?;
    let mut status =
        CheckoutStatus { head: porcelain.head, branch: porcelain.branch, ..CheckoutStatus::default() };
    for entry in &porcelain.entries {
        match entry {
            Entry::Changed(changed) => {
                status.staged += usize::from(changed.staged != b'.');
                status.unstaged += usize::from(changed.unstaged != b'.');
            }
            Entry::Unmerged { .. } => status.conflicted += 1,
            Entry::Untracked(_) => status.untracked += 1,
            Entry::Ignored(_) => {}
        }
    }
    Ok(status)
}

pub(crate) fn read_porcelain(git: &Git, path: &Path, options: &[&str]) -> Result<Porcelain> {
    let call = git.read(path, "status").args(["--porcelain=v2", "--branch", "-z", "--no-ahead-behind"]);
    let printed = call.args(options).run()?;
    Porcelain::parse(&printed).ok_or_else(|| GitError::Unreadable {
        command: "status".to_owned(),
        detail: "an unknown record".to_owned(),
    })
}
