//! An open repository: where it is, what its revisions mean, and its default branch.

use std::path::{Path, PathBuf};

use crate::error::{GitError, Result};
use crate::git::{Git, GitCall};
use crate::layout::{Layout, key_of, shared_path_of};
use crate::name::BranchName;
use crate::oid::Oid;
use crate::references::References;

/// An open repository, seen from one of its directories.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) git: Git,
    layout: Layout,
}

impl Repository {
    /// Returns the repository that `directory` belongs to.
    ///
    /// # Errors
    /// [`GitError::DirectoryGone`], [`GitError::NotARepository`], or [`GitError::NotTrusted`] if git refuses to work there.
    pub fn open(git: &Git, directory: &Path) -> Result<Self> {
        let path = directory.to_owned();
        let missing = || match directory.exists() {
            true => GitError::NotARepository { path },
            false => GitError::DirectoryGone { path },
        };
        Ok(Self { git: git.clone(), layout: Layout::find(directory).ok_or_else(missing)? })
    }

    /// Returns where its directories are.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the key of its project.
    #[must_use]
    pub fn key(&self) -> String {
        key_of(&self.layout.shared_path())
    }

    /// Returns its short name: that of the directory it was cloned into, without `.git`.
    #[must_use]
    pub fn name(&self) -> String {
        let directory = shared_path_of(&self.layout.common_dir);
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_suffix(".git").filter(|short| !short.is_empty()).map(str::to_owned).unwrap_or(name)
    }

    /// Returns the main checkout; none in a bare repository.
    #[must_use]
    pub fn main_checkout(&self) -> Option<PathBuf> {
        self.layout.main_checkout()
    }

    /// Returns where commands about the whole repository run.
    pub(crate) fn directory(&self) -> &Path {
        &self.layout.common_dir
    }

    pub(crate) fn read<'a>(&'a self, command: &'a str) -> GitCall<'a> {
        self.git.read(self.directory(), command)
    }

    pub(crate) fn write<'a>(&'a self, command: &'a str) -> GitCall<'a> {
        self.git.write(self.directory(), command)
    }

    /// Returns the commit that `name` means: a branch, a tag, an object name, anything that git can read.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`].
    pub fn commit(&self, name: &str) -> Result<Oid> {
        self.find_commit(name)?.ok_or_else(|| GitError::UnknownRevision { name: name.to_owned() })
    }

    /// Like `resolve`, with `None` for a name that means no commit.
    pub(crate) fn find_commit(&self, name: &str) -> Result<Option<Oid>> {
        if name.is_empty() || name.starts_with('-') || name.contains(['\0', '\n']) {
            return Ok(None);
        }
        let wanted = format!("{name}^{{commit}}");
        let call = self.read("rev-parse").args(["--verify", "--quiet"]).names([wanted]);
        match call.run_expecting(&[0, 1, 128])? {
            (0, printed) => Oid::parse(&String::from_utf8_lossy(&printed)).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the content of a file in a commit; none if the commit has no such file.
    ///
    /// # Errors
    /// git cannot be run, or the file is too large.
    pub fn file_at(&self, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>> {
        let call = self.read("cat-file").args(["blob", &format!("{commit}:{path}")]);
        let (code, content) = call.run_expecting(&[0, 128])?;
        Ok((code == 0).then_some(content))
    }

    /// Returns the commit that is checked out in a directory.
    pub(crate) fn head(&self, directory: &Path) -> Result<Oid> {
        Oid::parse(&self.git.read(directory, "rev-parse").args(["--verify", "HEAD"]).text()?)
    }

    /// Returns the commit of a local branch; none if there is no such branch.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn branch(&self, name: &BranchName) -> Result<Option<Oid>> {
        self.find_commit(&name.reference())
    }

    /// Returns the commit at which a local branch was made, by the first line of its log; none without a log.
    #[must_use]
    pub fn branch_beginning(&self, name: &BranchName) -> Option<Oid> {
        let log = std::fs::read_to_string(self.layout.common_dir.join("logs").join(name.reference())).ok()?;
        Oid::parse(log.lines().next()?.split(' ').nth(1)?).ok()
    }

    /// Returns all references below `prefix` with their object names.
    pub(crate) fn references(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let format = "--format=%(objectname) %(refname)";
        let printed = self.read("for-each-ref").arg(format).names([prefix]).text()?;
        let parse = |line: &str| {
            let (oid, name) = line.split_once(' ').unwrap_or((line, ""));
            Ok((name.to_owned(), Oid::parse(oid)?))
        };
        printed.lines().map(parse).collect()
    }

    /// Returns the branch that work starts from and lands on: what `origin/HEAD` names, else one with a usual
    /// name, else the branch of the main checkout. A branch that exists only at the remote is named with its
    /// remote.
    ///
    /// # Errors
    /// [`GitError::NoCommits`] if there is no branch at all.
    pub fn default_branch(&self) -> Result<String> {
        References::read(self)?.default.map(|(name, _)| name).ok_or_else(|| self.no_commits())
    }

    pub(crate) fn no_commits(&self) -> GitError {
        GitError::NoCommits { path: self.directory().to_owned() }
    }
}
