//! The changes of a worktree or branch against its base: as git's own text, as files and hunks, and as numbers.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{GitError, Result};
use crate::git::Git;
use crate::layout::Layout;
use crate::oid::Oid;
use crate::patch::{FileDiff, parse_patch};
use crate::temporary::TemporaryDirectory;

/// How much text a diff may have unless the caller says otherwise.
pub const DIFF_LIMIT: usize = 8 << 20; // 8 MiB

/// Options that make the text independent of the user's and the repository's settings.
const OPTIONS: &[&str] = &[
    "--no-ext-diff",
    "-O/dev/null",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--inter-hunk-context=0",
    "--find-renames",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--full-index",
    "--no-indent-heuristic",
    "--diff-algorithm=histogram",
];
/// Unchanged lines around each change unless the caller says otherwise.
pub const DIFF_CONTEXT: u16 = 3;

const SETTINGS: &[&str] = &["diff.suppressBlankEmpty=false", "diff.relative=false"];

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffTarget {
    /// The files of the checkout, with untracked ones, as they are now.
    Checkout,
    /// A commit.
    Commit(Oid),
}

/// How much of a diff is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffExtent {
    /// Unchanged lines around each change.
    pub context: u16,
    /// The most bytes of text.
    pub limit: usize,
}

impl Default for DiffExtent {
    fn default() -> Self {
        Self { context: DIFF_CONTEXT, limit: DIFF_LIMIT }
    }
}

/// The text of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDiff {
    /// What git printed, up to the limit.
    pub text: Vec<u8>,
    /// True if there was more.
    pub is_truncated: bool,
}

impl RawDiff {
    /// Returns the files of the diff. The last one may be incomplete if the text was cut.
    #[must_use]
    pub fn files(&self) -> Vec<FileDiff> {
        parse_patch(&self.text)
    }
}

/// The numbers of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStat {
    /// Its path after the change.
    pub path: PathBuf,
    /// Its path before, if it was renamed.
    pub original: Option<PathBuf>,
    /// Added and removed lines; none for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// Returns the changes since `base` in the worktree at `path`, as text.
///
/// # Errors
/// git cannot be run, or `base` is gone.
pub fn raw_diff(
    git: &Git,
    path: &Path,
    base: &Oid,
    target: &DiffTarget,
    extent: DiffExtent,
) -> Result<RawDiff> {
    let context = format!("--unified={}", extent.context);
    let format = ["--patch", &context];
    let (text, is_truncated) =
        with_call(git, path, base, target, &format, |call| call.limit(extent.limit).run_truncating())?;
    Ok(RawDiff { text, is_truncated })
}

/// Returns the changed lines of each file as numbers.
///
/// # Errors
/// git cannot be run, or `base` is gone.
pub fn diff_stat(git: &Git, path: &Path, base: &Oid, target: &DiffTarget) -> Result<Vec<FileStat>> {
    let printed = with_call(git, path, base, target, &["--numstat", "-z"], |call| call.run())?;
    parse_numstat(&printed)
        .ok_or_else(|| GitError::Unreadable { command: "diff".to_owned(), detail: "its numbers".to_owned() })
}

fn with_call<T>(
    git: &Git,
    path: &Path,
    base: &Oid,
    target: &DiffTarget,
    format: &[&str],
    run: impl FnOnce(crate::git::GitCall<'_>) -> Result<T>,
) -> Result<T> {
    let mut call = git.read(path, "diff").args(OPTIONS).args(format);
    for setting in SETTINGS {
        call = call.setting(*setting);
    }
    match target {
        DiffTarget::Commit(commit) => run(call.names([base.as_str(), commit.as_str(), "--"])),
        DiffTarget::Checkout => {
            let index = IndexWithUntracked::new(git, path)?;
            run(call.env("GIT_INDEX_FILE", index.path()).names([base.as_str(), "--"]))
        }
    }
}

/// A copy of the index in which untracked files are marked as to be added, so that a diff shows them.
struct IndexWithUntracked {
    directory: TemporaryDirectory,
}

impl IndexWithUntracked {
    fn new(git: &Git, path: &Path) -> Result<Self> {
        let layout = Layout::find(path).ok_or_else(|| GitError::NotARepository { path: path.to_owned() })?;
        let index = Self { directory: TemporaryDirectory::new()? };
        match copy_with_time(&layout.git_dir.join("index"), &index.path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(GitError::io(&index.path(), error));
            }
            _ => {}
        }
        let top = layout.top.as_deref().unwrap_or(path);
        let call = git.write(top, "add").args(["--intent-to-add", "--ignore-errors", "--", "."]);
        call.env("GIT_INDEX_FILE", index.path()).run_expecting(&[0, 1])?;
        Ok(index)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("index")
    }
}

/// Copies a file with the time of its last change. Git reads a file again that changed no earlier than the index: with a
/// younger index it would overlook a change of the same length in the second of the checkout.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    fs::File::options().write(true).open(to)?.set_modified(modified)
}

/// Reads `git diff --numstat -z`: `added TAB removed TAB path NUL`, and for a rename an empty path, then both paths.
#[must_use]
pub fn parse_numstat(printed: &[u8]) -> Option<Vec<FileStat>> {
    let mut fields = printed.split(|byte| *byte == 0);
    let mut stats = Vec::new();
    while let Some(record) = fields.next().filter(|record| !record.is_empty()) {
        let mut parts = record.splitn(3, |byte| *byte == b'\t');
        let (added, removed, name) = (parts.next()?, parts.next()?, parts.next()?);
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u64>().ok();
        let lines =
            if added == b"-" && removed == b"-" { None } else { Some((number(added)?, number(removed)?)) };
        let path = |name: &[u8]| PathBuf::from(OsStr::from_bytes(name));
        let (original, path) = if name.is_empty() {
            (Some(path(fields.next()?)), path(fields.next()?))
        } else {
            (None, path(name))
        };
        stats.push(FileStat { path, original, lines });
    }
    Some(stats)
}
