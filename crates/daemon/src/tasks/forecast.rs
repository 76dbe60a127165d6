//! Which branches of tasks would conflict, with one another and with their bases.

use std::collections::{BTreeMap, HashMap};

use proto::Failure;
use proto::task::TaskConflict;
use worktree::{ForecastCache, Oid, RepositoryLook};

use super::failure;

/// A task's branch with work of its own.
pub(super) struct TaskBranch<'a> {
    pub(super) id: u64,
    pub(super) name: &'a str,
    /// The branch that it lands on.
    pub(super) base: Option<&'a str>,
    pub(super) commit: Oid,
}

/// What git says about all pairs of branches and bases. Both are known by their place: first the branches, then the bases.
struct Forecast<'a> {
    look: &'a RepositoryLook,
    branches: &'a [TaskBranch<'a>],
    bases: Vec<(&'a str, Oid)>,
    /// The files in which two conflict, the smaller place first.
    files: HashMap<(usize, usize), Vec<String>>,
    cache: &'a mut ForecastCache,
}

/// The conflicts of each task: with the other tasks, and with its base.
pub(super) fn conflicts(
    look: &RepositoryLook,
    branches: &[TaskBranch<'_>],
    cache: &mut ForecastCache,
) -> Result<Vec<(u64, TaskConflict)>, Failure> {
    let mut bases = BTreeMap::new();
    for base in branches.iter().filter_map(|branch| branch.base) {
        if let Ok(Some(commit)) = look.commit(base) {
            bases.insert(base, commit);
        }
    }
    let bases: Vec<(&str, Oid)> = bases.into_iter().collect();
    let commits = branches.iter().map(|branch| &branch.commit).chain(bases.iter().map(|(_, commit)| commit));
    let commits: Vec<(String, Oid)> =
        commits.enumerate().map(|(place, commit)| (place.to_string(), commit.clone())).collect();
    let pairs = look.repository().forecast(&commits, cache).map_err(|error| failure(&error))?;
    let place = |name: &str| name.parse::<usize>().unwrap_or_default();
    let files = pairs.into_iter().map(|pair| ((place(&pair.one), place(&pair.other)), pair.files)).collect();
    Ok(Forecast { look, branches, bases, files, cache }.by_task())
}

impl Forecast<'_> {
    /// The conflicts of each task, in the order of the places.
    fn by_task(mut self) -> Vec<(u64, TaskConflict)> {
        let mut pairs: Vec<(usize, usize)> = self.files.keys().copied().collect();
        pairs.sort_unstable();
        let mut found = Vec::new();
        for (one, other) in pairs {
            let Some(branch) = self.branches.get(one) else { continue };
            match self.branches.get(other) {
                Some(second) => {
                    let files = self.between(one, other);
                    for (branch, other) in [(branch, second), (second, branch)] {
                        let with = other.name.to_owned();
                        found.push((branch.id, TaskConflict { with, is_base: false, files: files.clone() }));
                    }
                }
                None => found.extend(self.with_base(branch, one, other)),
            }
        }
        found.retain(|(_, conflict)| !conflict.files.is_empty());
        found
    }

    /// The files in which two tasks conflict. Where the one only has what its base has, the other conflicts with that base
    /// and not with the task.
    fn between(&mut self, one: usize, other: usize) -> Vec<String> {
        let mut files = self.files.get(&(one, other)).cloned().unwrap_or_default();
        files.retain(|file| !self.is_of_base(one, other, file) && !self.is_of_base(other, one, file));
        files
    }

    fn with_base(&self, branch: &TaskBranch<'_>, one: usize, other: usize) -> Option<(u64, TaskConflict)> {
        let (name, _) = self.bases.get(other - self.branches.len())?;
        let files = self.files.get(&(one, other)).filter(|_| branch.base == Some(*name))?.clone();
        Some((branch.id, TaskConflict { with: (*name).to_owned(), is_base: true, files }))
    }

    /// Returns true if `other` conflicts in this file with the base of `branch`, which has not changed the file itself.
    fn is_of_base(&mut self, branch: usize, other: usize, file: &String) -> bool {
        let TaskBranch { base, commit, .. } = &self.branches[branch];
        let Some(place) = self.bases.iter().position(|(name, _)| Some(*name) == *base) else { return false };
        let with_base = self.files.get(&(other, self.branches.len() + place));
        if !with_base.is_some_and(|files| files.contains(file)) {
            return false;
        }
        let own = self.look.repository().changed_files(&self.bases[place].1, commit, self.cache);
        own.is_ok_and(|own| !own.contains(file))
    }
}
