//! The status of a worktree and of its branch against its base, with as few git processes as possible: none
//! at all when nothing has changed since the last time.
//!
//! Three parts are cached separately, because they change at different times: the references (by their
//! fingerprint), the checkout (by its fingerprint and its commit; `checkout`), and comparisons of two commits (for ever).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::checkout::{CachedCheckout, CheckoutStatus};
use crate::comparison::{Comparison, LineCounts, Merged};
use crate::error::Result;
use crate::fingerprint::references_fingerprint;
use crate::git::Git;
use crate::layout::Layout;
use crate::name::BranchName;
use crate::oid::Oid;
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
    /// When the checkout's commit last changed: by a commit, a rebase or a reset, whoever made it.
    pub moved_at: Option<SystemTime>,
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
    /// Names that are no branch, as git resolved them; none means that there is no such commit. Short, and never held
    /// while git runs.
    others: Mutex<HashMap<String, Option<Oid>>>,
}

impl RepositoryReading {
    /// Returns the base by its name: a branch that was just read, or any other revision.
    fn base(&self, repository: &Repository, name: Option<&str>) -> Result<Option<Oid>> {
        let Some(name) = name else {
            return Ok(self.references.default.as_ref().map(|(_, oid)| oid.clone()));
        };
        if let Some(oid) = self.references.resolve(name) {
            return Ok(Some(oid.clone()));
        }
        if let Ok(oid) = Oid::parse(name) {
            return Ok(Some(oid));
        }
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others().get(name) {
            return Ok(known.clone());
        }
        let found = repository.find_commit(name)?;
        // What a plain name means changes only with the references; `main@{yesterday}` changes by itself.
        if BranchName::parse(name).is_ok() {
            others().insert(name.to_owned(), found.clone());
        }
        Ok(found)
    }
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
        self.reading.base(&self.repository, Some(name))
    }
}

impl StatusCache {
    /// Returns the status of one worktree. A directory or branch that is gone is part of the answer, not an
    /// error.
    ///
    /// # Errors
    /// git cannot be run or refuses the repository.
    pub fn status(&mut self, git: &Git, query: &StatusQuery) -> Result<WorktreeStatus> {
        let look = self.look_at_repository(git, &query.common_dir)?;
        self.status_in(git, &look, query)
    }

    /// Reads the references of a repository, unless they are as they were. The statuses of all its worktrees then cost
    /// this once.
    ///
    /// # Errors
    /// git cannot be run or refuses the repository.
    pub fn look_at_repository(&mut self, git: &Git, common_dir: &Path) -> Result<RepositoryLook> {
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
        let moved_at = layout.as_ref().and_then(moved_at);
        let checkout = layout.map(|layout| self.checkout(git, &layout, &reading.references)).transpose()?;
        let checked_out = checkout.as_ref().and_then(|checkout| checkout.branch.clone());
        let name = query.branch.clone().or(checked_out);
        let branch = name.as_deref().and_then(|name| reading.references.local.get(name));
        let detached =
            checkout.as_ref().filter(|_| name.is_none()).and_then(|checkout| checkout.head.clone());
        let commit = branch.map(|branch| branch.commit.clone()).or(detached);
        let mut status = WorktreeStatus { checkout, commit, moved_at, ..WorktreeStatus::default() };
        status.stashes =
            reading.stashes.iter().filter(|stash| stash.branch.is_some() && stash.branch == name).count();
        let Some(commit) = status.commit.clone() else { return Ok(status) };
        if let Some(base) = reading.base(repository, query.base.as_deref())? {
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
        let reading = Arc::new(RepositoryReading { references, stashes, others: Mutex::default() });
        self.repositories.insert(common_dir.clone(), (fingerprint, reading.clone()));
        Ok(reading)
    }

    /// Returns the checkout's status, read again only as far as its files or its commit have changed.
    fn checkout(&mut self, git: &Git, layout: &Layout, references: &References) -> Result<CheckoutStatus> {
        let Some(top) = layout.top.as_deref() else { return Ok(CheckoutStatus::default()) };
        if let Some(known) = self.checkouts.get_mut(top) {
            let branch = known.status().branch.clone();
            let commit =
                branch.map_or_else(|| known.status().head.clone(), |name| references.branch(&name).cloned());
            known.refresh(git, layout, top, commit.as_ref())?;
            return Ok(known.status().clone());
        }
        let read = CachedCheckout::read(git, layout, top)?;
        let status = read.status().clone();
        self.checkouts.insert(top.to_owned(), read);
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
        let (Some(known), Some(commit)) = (known, &status.commit) else { return Ok(comparison.lines) };
        known.lines(git, &query.path, comparison, commit)
    }
}

/// Returns when git last wrote down where `HEAD` is; none in a repository that keeps no such log.
fn moved_at(layout: &Layout) -> Option<SystemTime> {
    std::fs::metadata(layout.git_dir.join("logs/HEAD")).and_then(|log| log.modified()).ok()
}
