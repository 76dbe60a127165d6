//! The branches of a repository with their upstreams, and its default branch, read by one git process.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::repository::Repository;

/// Names that default branches usually have, tried when the remote names none.
const USUAL_DEFAULTS: &[&str] = &["main", "master", "trunk"];
const FORMAT: &str = "--format=%(objectname) %(refname) %(symref) %(upstream)";

/// A local branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBranch {
    /// Its commit.
    pub commit: Oid,
    /// The full name of the reference that it tracks, whether or not that is there.
    pub upstream: Option<String>,
}

/// The references at the time of reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Local branches by name.
    pub local: BTreeMap<String, LocalBranch>,
    /// Branches of remotes by name, as `remote/branch`.
    pub remote: BTreeMap<String, Oid>,
    /// The default branch: what `origin/HEAD` names, else one with a usual name, else that of the main checkout.
    pub default: Option<(String, Oid)>,
    /// True if there is a stash.
    pub has_stash: bool,
}

impl References {
    /// Reads the references.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn read(repository: &Repository) -> Result<Self> {
        let call = repository.read("for-each-ref").arg(FORMAT);
        let printed = call.names(["refs/heads", "refs/remotes", "refs/stash"]).text()?;
        let mut references = Self::default();
        let mut origin_head = None;
        for line in printed.lines() {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default();
            let (oid, name, symref, upstream) = (Oid::parse(word())?, word(), word(), word());
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                let upstream = Some(upstream.to_owned()).filter(|name| !name.is_empty());
                references.local.insert(branch.to_owned(), LocalBranch { commit: oid, upstream });
            } else if name == "refs/remotes/origin/HEAD" {
                origin_head = symref.strip_prefix("refs/remotes/").map(|target| (target.to_owned(), oid));
            } else if let Some(branch) = name.strip_prefix("refs/remotes/") {
                references.remote.insert(branch.to_owned(), oid);
            } else {
                references.has_stash = true;
            }
        }
        references.default = references.default_of(origin_head, &head_branch(repository.directory()));
        Ok(references)
    }

    /// Returns the commit of a local branch.
    #[must_use]
    pub fn branch(&self, name: &str) -> Option<&Oid> {
        self.local.get(name).map(|branch| &branch.commit)
    }

    /// Returns the commit of a branch, local before remote, or of the full name of a reference.
    #[must_use]
    pub fn resolve(&self, name: &str) -> Option<&Oid> {
        if let Some(short) = name.strip_prefix("refs/heads/") {
            return self.branch(short);
        }
        let remote = name.strip_prefix("refs/remotes/").unwrap_or(name);
        self.branch(name).or_else(|| self.remote.get(remote))
    }

    /// Returns an existing branch with which git, or a file system that ignores case, could not also have
    /// `name`.
    pub(crate) fn in_the_way_of(&self, name: &BranchName) -> Option<&str> {
        let wanted = name.as_str().to_lowercase();
        let is_in_the_way = |other: &&String| {
            let other = other.to_lowercase();
            let is_below = |inner: &str, outer: &str| {
                inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
            };
            other == wanted || is_below(&wanted, &other) || is_below(&other, &wanted)
        };
        self.local.keys().find(is_in_the_way).map(String::as_str)
    }

    fn default_of(&self, origin_head: Option<(String, Oid)>, head: &str) -> Option<(String, Oid)> {
        let known = |name: &str| self.branch(name).map(|oid| (name.to_owned(), oid.clone()));
        let of_remote = origin_head.as_ref().and_then(|(name, _)| known(name.strip_prefix("origin/")?));
        of_remote
            .or(origin_head)
            .or_else(|| USUAL_DEFAULTS.iter().find_map(|name| known(name)))
            .or_else(|| known(head))
            .or_else(|| self.local.keys().next().and_then(|name| known(name)))
    }
}

/// Returns the branch that `HEAD` of the main checkout names; empty if it is detached.
fn head_branch(common_dir: &Path) -> String {
    let text = std::fs::read_to_string(common_dir.join("HEAD")).unwrap_or_default();
    text.trim().strip_prefix("ref: refs/heads/").unwrap_or_default().to_owned()
}
