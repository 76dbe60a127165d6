//! Detects, without a git process, whether anything that a status depends on has changed, and what.
//!
//! A [`Fingerprint`] covers `HEAD`, the index, the settings and ignore files, every tracked file (its size,
//! times and inode) and every directory that contains one (a file that appears or goes changes its
//! directory's time). Directories without tracked files are covered up to [`UNTRACKED_LIMIT`] each, because
//! build output is huge and nearly always ignored.
//!
//! So it cannot see a change more than that many directories deep inside one untracked directory. A caller
//! that needs certainty runs git now and then regardless. Where a fingerprint cannot be exact (a split or
//! sparse index, checked-out submodules, a clock of whole seconds that has just ticked) there is none, and git
//! runs each time. A single file that changed within the clock's last tick counts as changed once more.

mod extra;
mod stamps;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

pub use self::extra::UNTRACKED_LIMIT;
use self::extra::{ExtraPaths, extra_paths, extra_paths_in};
use self::stamps::{FileStamp, Stamper, TrackedPaths};
use crate::layout::Layout;

/// Files of the git directory of a worktree that a status depends on.
const OWN_FILES: &[&str] = &["HEAD", "index", "MERGE_HEAD", "config.worktree", "info/sparse-checkout"];
/// The same of the common git directory.
const COMMON_FILES: &[&str] = &["config", "info/exclude", "info/attributes"];
/// Changed paths that are listed one by one; git is asked about the whole checkout if there are more.
const MAX_CHANGED: usize = 64;

/// The state of one checkout, as far as the file system shows it.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    git_files: Vec<FileStamp>,
    /// One for each tracked directory and file, in the order of the index.
    tracked: Vec<FileStamp>,
    /// Found when the fingerprint was taken; while all covered directories are unchanged, there are no
    /// others.
    extra: BTreeMap<Vec<u8>, Vec<(PathBuf, FileStamp)>>,
}

/// What differs from a fingerprint.
#[derive(Debug)]
pub(crate) enum FingerprintChange {
    /// Nothing that is covered.
    Nothing,
    /// Only these tracked files and directories, and the fingerprint after it.
    Paths(ChangedPaths, Fingerprint),
    /// Anything; the fingerprint after it, where there is one.
    Anything(Option<Fingerprint>),
}

/// Tracked files that changed, and directories with tracked files in which a file appeared or went.
#[derive(Debug, Default)]
pub(crate) struct ChangedPaths {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) has_directory: bool,
}

impl Fingerprint {
    /// Takes the fingerprint of the worktree, before git is asked about it. None where it could not be relied on.
    #[must_use]
    pub fn compute(layout: &Layout) -> Option<Self> {
        TrackedFiles::read(layout)?.fingerprint()
    }

    /// Compares with what is there now, in one pass over the files.
    pub(crate) fn change(&self, layout: &Layout) -> FingerprintChange {
        let Some(mut reading) = TrackedFiles::read(layout) else { return FingerprintChange::Anything(None) };
        let extra = reading.stamp_again(&self.extra);
        let is_same_around = are_same(&self.git_files, &reading.git_files)
            && self
                .extra
                .values()
                .flatten()
                .zip(extra.values().flatten())
                .all(|(old, new)| old.1.is_same(new.1))
            && self.tracked.len() == reading.tracked.len();
        if !is_same_around {
            return FingerprintChange::Anything(reading.fingerprint());
        }
        let pairs = self.tracked.iter().zip(&reading.tracked).enumerate();
        let changed = pairs.filter(|(_, (old, new))| !old.is_same(**new)).map(|(at, _)| at);
        let changed: Vec<usize> = changed.take(MAX_CHANGED + 1).collect();
        if changed.is_empty() {
            return FingerprintChange::Nothing;
        }
        match reading.changed_paths(&changed, &self.extra) {
            Some(paths) if reading.stamper.is_reliable() => {
                let TrackedFiles { git_files, tracked, .. } = reading;
                FingerprintChange::Paths(paths, Self { git_files, tracked, extra })
            }
            _ => FingerprintChange::Anything(reading.fingerprint()),
        }
    }
}

/// One pass over everything that is tracked.
struct TrackedFiles {
    top: PathBuf,
    directory: OwnedFd,
    stamper: Stamper,
    git_files: Vec<FileStamp>,
    paths: TrackedPaths,
    tracked: Vec<FileStamp>,
}

impl TrackedFiles {
    fn read(layout: &Layout) -> Option<Self> {
        let top = layout.top.clone()?;
        let directory = open_directory(&top)?;
        let mut stamper = Stamper::now()?;
        let own = OWN_FILES.iter().map(|name| layout.git_dir.join(name));
        let common = COMMON_FILES.iter().map(|name| layout.common_dir.join(name));
        let git_files = own.chain(common).map(|path| stamper.file(CWD, &path)).collect();
        let paths = TrackedPaths::read(layout, &directory)?;
        let tracked = stamper.tracked(&directory, &paths);
        Some(Self { top, directory, stamper, git_files, paths, tracked })
    }

    /// Looks at the same untracked directories and ignore files as before.
    fn stamp_again(
        &mut self,
        extra: &BTreeMap<Vec<u8>, Vec<(PathBuf, FileStamp)>>,
    ) -> BTreeMap<Vec<u8>, Vec<(PathBuf, FileStamp)>> {
        let again = extra.iter().map(|(below, paths)| {
            let stamped =
                paths.iter().map(|(path, _)| (path.clone(), self.stamper.file(&self.directory, path)));
            (below.clone(), stamped.collect())
        });
        again.collect()
    }

    /// Returns the paths, if git can be asked about them alone: there are few, and no directory among them has another
    /// ignore file or untracked directory than before.
    fn changed_paths(
        &self,
        changed: &[usize],
        extra: &BTreeMap<Vec<u8>, Vec<(PathBuf, FileStamp)>>,
    ) -> Option<ChangedPaths> {
        let mut found = ChangedPaths::default();
        if changed.len() > MAX_CHANGED {
            return None;
        }
        let directories =
            changed.iter().map(|at| self.paths.get(*at)).filter(|(_, is_directory)| *is_directory);
        let directories: Vec<&[u8]> = directories.map(|(path, _)| path).collect();
        if !directories.is_empty() {
            let tracked = self.paths.directories();
            for directory in directories {
                let known = extra.get(directory).into_iter().flatten().map(|(path, _)| path);
                let is_top = directory.is_empty();
                if is_top || !extra_paths_in(&self.top, directory, &tracked).iter().eq(known) {
                    return None;
                }
            }
            found.has_directory = true;
        }
        found.paths =
            changed.iter().map(|at| PathBuf::from(OsStr::from_bytes(self.paths.get(*at).0))).collect();
        Some(found)
    }

    /// Completes the reading with what is untracked.
    fn fingerprint(mut self) -> Option<Fingerprint> {
        let found: ExtraPaths = extra_paths(&self.top, &self.paths.directories())?;
        let mut extra = BTreeMap::new();
        for (below, paths) in found {
            let stamped = paths.into_iter().map(|path| {
                let stamp = self.stamper.file(&self.directory, &path);
                (path, stamp)
            });
            extra.insert(below, stamped.collect());
        }
        let Self { git_files, tracked, .. } = self;
        self.stamper.is_reliable().then_some(Fingerprint { git_files, tracked, extra })
    }
}

fn are_same(one: &[FileStamp], other: &[FileStamp]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(*other))
}

/// Returns the state of a repository's references: of everything in `refs`, of the packed ones and of the
/// stash.
///
/// None while they change faster than the clock ticks.
#[must_use]
pub fn references_fingerprint(common_dir: &Path) -> Option<u64> {
    let mut stamper = Stamper::now()?;
    let mut stamps = Vec::new();
    for name in ["HEAD", "packed-refs", "reftable/tables.list", "logs/refs/stash", "config"] {
        stamps.push(stamper.file(CWD, &common_dir.join(name)));
    }
    stamper.tree(&common_dir.join("refs"), &mut stamps);
    if stamper.is_reliable() { stamps::sum(&stamps) } else { None }
}

fn open_directory(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// Returns 32 in a repository with SHA-256, else 20.
pub(crate) fn hash_length(common_dir: &Path) -> usize {
    let config = fs::read_to_string(common_dir.join("config")).unwrap_or_default().to_lowercase();
    let is_sha256 =
        config.lines().any(|line| line.trim().starts_with("objectformat") && line.contains("sha256"));
    if is_sha256 { 32 } else { 20 }
}
