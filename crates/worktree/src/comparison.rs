//! Compares a branch with its base: how far apart they are, and whether the base has the branch's work
//! already, however it was merged.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diff::parse_numstat;
use crate::error::{GitError, Result};
use crate::oid::Oid;
use crate::repository::Repository;
use crate::temporary::TemporaryDirectory;

/// Most commits of the base that are searched for a squashed branch.
const SQUASH_SEARCH: &str = "--max-count=500";

/// Most files whose names are kept with a comparison.
const MAX_TOUCHED: usize = 1000;

/// Added and removed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
}

/// Whether the base contains a branch's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// The branch has changes that the base lacks.
    No,
    /// The branch has no change of its own.
    Nothing,
    /// The branch's commit is part of the base's history: a merge or a fast-forward.
    Ancestor,
    /// Every commit of the branch is in the base under another name.
    Rebased,
    /// The branch's changes are in the base as one commit, or as part of others.
    Squashed,
}

/// The comparison of two commits. It depends on nothing else, so a caller may keep it for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Commits that only the branch has.
    pub ahead: u32,
    /// Commits that only the base has.
    pub behind: u32,
    /// The newest commit that both have.
    pub merge_base: Option<Oid>,
    /// Whether the base has the branch's work.
    pub merged: Merged,
    /// Lines that the branch's commits changed since the merge base.
    pub lines: LineCounts,
    /// The files that they changed, with the former names of renamed ones; none if there are too many to keep.
    pub touched: Option<Arc<[PathBuf]>>,
}

impl Comparison {
    /// A commit that is part of the base.
    fn without_changes(commit: &Oid) -> Self {
        Self {
            ahead: 0,
            behind: 0,
            merge_base: Some(commit.clone()),
            merged: Merged::Ancestor,
            lines: LineCounts::default(),
            touched: Some(Arc::default()),
        }
    }
}

impl Repository {
    /// Compares a branch's commit with its base.
    ///
    /// # Errors
    /// git cannot be run, or one of the commits is gone.
    pub fn compare(&self, base: &Oid, head: &Oid) -> Result<Comparison> {
        if base == head {
            return Ok(Comparison { merged: Merged::Nothing, ..Comparison::without_changes(head) });
        }
        let range = format!("{base}...{head}");
        let counts = self.read("rev-list").args(["--left-right", "--count"]).names([&range]).text()?;
        let mut numbers = counts.split_whitespace().map(|number| number.parse::<u32>().unwrap_or(0));
        let (behind, ahead) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let merge_base = if ahead == 0 { Some(head.clone()) } else { self.merge_base(base, head)? };
        let mut comparison = Comparison { ahead, behind, merge_base, ..Comparison::without_changes(head) };
        if let Some(merge_base) = comparison.merge_base.clone().filter(|_| ahead > 0) {
            (comparison.lines, comparison.touched) = self.lines_between(&merge_base, head)?;
            comparison.merged = self.merged(base, head, &merge_base, behind)?;
        } else if ahead > 0 {
            comparison.merged = Merged::No;
        }
        Ok(comparison)
    }

    /// Returns the newest common ancestor; none for unrelated histories.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        let (code, printed) = self.read("merge-base").names([one, other]).run_expecting(&[0, 1])?;
        let text = String::from_utf8_lossy(&printed);
        if code == 0 { Oid::parse(text.lines().next().unwrap_or_default()).map(Some) } else { Ok(None) }
    }

    /// Returns true if `below` is `commit` or one of its ancestors.
    pub(crate) fn is_ancestor(&self, below: &Oid, commit: &Oid) -> Result<bool> {
        let call = self.read("merge-base").arg("--is-ancestor").names([below, commit]);
        call.run_expecting(&[0, 1]).map(|(code, _)| code == 0)
    }

    fn lines_between(&self, from: &Oid, to: &Oid) -> Result<(LineCounts, Option<Arc<[PathBuf]>>)> {
        let call = self.read("diff").args(["--no-ext-diff", "--no-textconv", "--numstat", "-z", "-M"]);
        let stats = parse_numstat(&call.names([from, to]).run()?).ok_or_else(|| GitError::Unreadable {
            command: "diff".to_owned(),
            detail: "an unknown record".to_owned(),
        })?;
        let counted = stats.iter().filter_map(|stat| stat.lines);
        let lines = counted.fold(LineCounts::default(), |sum, (added, removed)| LineCounts {
            added: sum.added + added,
            removed: sum.removed + removed,
        });
        let touched = (stats.len() <= MAX_TOUCHED)
            .then(|| stats.into_iter().flat_map(|stat| [Some(stat.path), stat.original]).flatten().collect());
        Ok((lines, touched))
    }

    fn merged(&self, base: &Oid, head: &Oid, merge_base: &Oid, behind: u32) -> Result<Merged> {
        let (head_tree, fork_tree) = (self.tree(head)?, self.tree(merge_base)?);
        if head_tree == fork_tree {
            return Ok(Merged::Nothing);
        }
        if behind == 0 {
            return Ok(Merged::No);
        }
        if self.has_every_patch(base, head)? {
            return Ok(Merged::Rebased);
        }
        let is_squashed =
            self.merging_changes_nothing(base, head)? || self.has_squashed(base, head, merge_base)?;
        Ok(if is_squashed { Merged::Squashed } else { Merged::No })
    }

    pub(crate) fn tree(&self, commit: &Oid) -> Result<Oid> {
        let wanted = format!("{commit}^{{tree}}");
        Oid::parse(&self.read("rev-parse").arg("--verify").names([wanted]).text()?)
    }

    /// Returns true if each commit of the branch has an equal patch in the base.
    fn has_every_patch(&self, base: &Oid, head: &Oid) -> Result<bool> {
        let range = format!("{base}...{head}");
        let call = self.read("rev-list").args(["--cherry-pick", "--right-only", "--count"]);
        Ok(call.names([range]).text()?.trim() == "0")
    }

    /// Returns true if a merge of the branch would leave the base as it is.
    fn merging_changes_nothing(&self, base: &Oid, head: &Oid) -> Result<bool> {
        let directory = TemporaryDirectory::new()?;
        let call = self.read("merge-tree").args(["--write-tree", "--no-messages"]).names([base, head]);
        let (code, printed) = directory.quarantine(call, self.directory()).run_expecting(&[0, 1])?;
        let tree = String::from_utf8_lossy(&printed).lines().next().map(Oid::parse).transpose()?;
        Ok(code == 0 && tree == Some(self.tree(base)?))
    }

    /// Returns true if one commit of the base is the whole branch: the same patch, wherever it stands in the
    /// file now.
    fn has_squashed(&self, base: &Oid, head: &Oid, merge_base: &Oid) -> Result<bool> {
        let whole =
            self.read("diff-tree").args(["-p", "--no-ext-diff", "--no-textconv"]).names([merge_base, head]);
        let range = format!("{merge_base}..{base}");
        let log =
            self.read("log").args(["-p", "--no-merges", "--no-ext-diff", "--no-textconv", SQUASH_SEARCH]);
        let (whole, log) = match (whole.run(), log.names([range]).run()) {
            (Ok(whole), Ok(log)) => (whole, log),
            // A text this large cannot be compared in memory; the branch counts as not merged.
            (Err(GitError::OutputTooLarge { .. }), _) | (_, Err(GitError::OutputTooLarge { .. })) => {
                return Ok(false);
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let wanted = self.patch_ids(whole)?;
        let found = self.patch_ids(log)?;
        Ok(wanted.first().is_some_and(|id| found.contains(id)))
    }

    fn patch_ids(&self, patches: Vec<u8>) -> Result<Vec<String>> {
        let call = self.read("patch-id").arg("--stable").input(crate::git::GitInput::Bytes(patches));
        let printed = call.text()?;
        Ok(printed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
    }
}

/// Parses ` 2 files changed, 3 insertions(+), 1 deletion(-)`.
pub(crate) fn parse_shortstat(text: &str) -> LineCounts {
    let count = |word: &str| {
        let part = text.split(',').find(|part| part.contains(word));
        part.and_then(|part| part.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    LineCounts { added: count("insertion"), removed: count("deletion") }
}
