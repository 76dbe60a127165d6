//! Detects, without a git process, whether anything that a status depends on has changed.
//!
//! A [`Fingerprint`] covers `HEAD`, the index, the settings and ignore files, every tracked file (its size,
//! times and inode) and every directory that contains one (a file that appears or goes changes its
//! directory's time). Directories without tracked files are covered up to [`UNTRACKED_LIMIT`] each, because
//! build output is huge and nearly always ignored.
//!
//! So it cannot see a change more than that many directories deep inside one untracked directory. A caller
//! that needs certainty runs git now and then regardless. Where a fingerprint cannot be exact (a split or
//! sparse index, checked-out submodules, changes within the clock's last tick) there is none, and git runs
//! each time.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, statat};

use crate::index_file::{SUBMODULE, visit_entries};
use crate::layout::Layout;

/// Directories that are covered inside one directory without tracked files.
pub const UNTRACKED_LIMIT: usize = 64;
/// Untracked directories and ignore files that are covered in one worktree.
const EXTRA_LIMIT: usize = 4096;
/// Files of the git directory of a worktree that a status depends on.
const OWN_FILES: &[&str] = &["HEAD", "index", "MERGE_HEAD", "config.worktree", "info/sparse-checkout"];
/// The same of the common git directory.
const COMMON_FILES: &[&str] = &["config", "info/exclude", "info/attributes"];
/// Files in directories that decide what git sees.
const RULE_FILES: &[&str] = &[".gitignore", ".gitattributes"];
/// Two changes within this time may have the same timestamp: the clock of file systems ticks every 10 ms at
/// worst.
const TICK: Duration = Duration::from_millis(50);
/// The same where the file system keeps whole seconds only.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// The state of one checkout, as far as the file system shows it.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    sum: u64,
    /// Found when the fingerprint was taken; while all covered directories are unchanged, there are no
    /// others.
    extra: Vec<PathBuf>,
}

impl Fingerprint {
    /// Takes the fingerprint of the worktree, before git is asked about it. None where it could not be relied on.
    #[must_use]
    pub fn take(layout: &Layout) -> Option<Self> {
        let top = layout.top.as_deref()?;
        let directory = open_directory(top)?;
        let mut tracked = HashSet::from([Vec::new()]);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let mut sum = Sum::default();
        sum.git_files(layout);
        sum.tracked_files(layout, &directory, |path| {
            tracked.insert(path.to_vec());
        })?;
        let extra = extra_paths(top, &tracked)?;
        sum.extra_files(&directory, &extra);
        (!sum.is_within_tick(now)).then(|| Self { sum: sum.finish(), extra })
    }

    /// Returns true if everything that is covered is as it was.
    #[must_use]
    pub fn is_current(&self, layout: &Layout) -> bool {
        let Some(directory) = layout.top.as_deref().and_then(open_directory) else { return false };
        let mut sum = Sum::default();
        sum.git_files(layout);
        if sum.tracked_files(layout, &directory, |_| {}).is_none() {
            return false;
        }
        sum.extra_files(&directory, &self.extra);
        sum.finish() == self.sum
    }
}

/// Returns the state of a repository's references: of everything in `refs`, of the packed ones and of the
/// stash.
///
/// None while they change faster than the clock ticks.
#[must_use]
pub fn references_fingerprint(common_dir: &Path) -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let mut sum = Sum::default();
    for name in ["HEAD", "packed-refs", "reftable/tables.list", "logs/refs/stash", "config"] {
        sum.file(CWD, &common_dir.join(name));
    }
    sum.tree(&common_dir.join("refs"));
    (!sum.is_within_tick(now)).then(|| sum.finish())
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

/// Hashes what the system reports about files.
#[derive(Default)]
struct Sum {
    hasher: DefaultHasher,
    /// The latest change of all files, since 1970.
    newest: Duration,
    has_fractions: bool,
}

impl Sum {
    fn file(&mut self, directory: impl AsFd, path: &Path) {
        let Ok(stat) = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) else {
            return self.hasher.write_u8(0);
        };
        self.record(&stat);
        self.hasher.write_i64(stat.st_size);
        self.changed_at(&stat);
        (stat.st_ctime, stat.st_ctime_nsec).hash(&mut self.hasher);
    }

    /// Covers only a directory's entries: its own inode changes when it is moved.
    fn directory(&mut self, directory: impl AsFd, path: &Path) {
        let Ok(stat) = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) else {
            return self.hasher.write_u8(0);
        };
        self.record(&stat);
        self.changed_at(&stat);
    }

    fn record(&mut self, stat: &Stat) {
        (stat.st_ino, stat.st_mode, stat.st_mtime, stat.st_mtime_nsec).hash(&mut self.hasher);
    }

    fn changed_at(&mut self, stat: &Stat) {
        let nanoseconds = u32::try_from(stat.st_ctime_nsec).unwrap_or(0);
        self.newest = self.newest.max(Duration::new(u64::try_from(stat.st_ctime).unwrap_or(0), nanoseconds));
        self.has_fractions |= nanoseconds != 0;
    }

    fn git_files(&mut self, layout: &Layout) {
        OWN_FILES.iter().for_each(|name| self.file(CWD, &layout.git_dir.join(name)));
        COMMON_FILES.iter().for_each(|name| self.file(CWD, &layout.common_dir.join(name)));
    }

    /// Every entry of the index and every directory of one. None for an index that cannot be read, or with a submodule
    /// that is checked out.
    fn tracked_files(&mut self, layout: &Layout, top: &OwnedFd, mut visit: impl FnMut(&[u8])) -> Option<()> {
        let index = match fs::read(layout.git_dir.join("index")) {
            Ok(index) => index,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(()),
            Err(_) => return None,
        };
        self.directory(top, Path::new("."));
        let mut last_directory = Vec::new();
        let mut has_submodule = false;
        let read = visit_entries(&index, hash_length(&layout.common_dir), |entry| {
            for at in new_directories(&last_directory, entry.path) {
                let path = &entry.path[..at];
                self.directory(top, Path::new(OsStr::from_bytes(path)));
                visit(path);
            }
            let length = entry.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            last_directory.clear();
            last_directory.extend_from_slice(&entry.path[..length]);
            let path = Path::new(OsStr::from_bytes(entry.path));
            has_submodule |=
                entry.mode == SUBMODULE && statat(top, path.join(".git"), AtFlags::empty()).is_ok();
            self.file(top, path);
        });
        (read.is_ok() && !has_submodule).then_some(())
    }

    fn extra_files(&mut self, top: &OwnedFd, extra: &[PathBuf]) {
        extra.iter().for_each(|path| self.file(top, path));
    }

    fn tree(&mut self, directory: &Path) {
        self.directory(CWD, directory);
        let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.tree(&entry.path());
            } else {
                self.file(CWD, &entry.path());
            }
        }
    }

    fn is_within_tick(&self, now: Duration) -> bool {
        let tick = if self.has_fractions { TICK } else { COARSE_TICK };
        self.newest + tick >= now
    }

    fn finish(&self) -> u64 {
        self.hasher.finish()
    }
}

/// Returns the lengths of the directories on the way to `path` that are not on the way to the directory
/// before it. The index is sorted, so each directory is new once.
fn new_directories<'a>(last: &'a [u8], path: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let is_known =
        move |at: usize| last.starts_with(&path[..at]) && matches!(last.get(at), None | Some(b'/'));
    slashes.filter(move |at| !is_known(*at))
}

/// Returns untracked directories below tracked ones, and ignore files anywhere among them. None if there are
/// too many.
fn extra_paths(top: &Path, tracked: &HashSet<Vec<u8>>) -> Option<Vec<PathBuf>> {
    let mut extra = Vec::new();
    let mut sorted: Vec<&Vec<u8>> = tracked.iter().collect();
    sorted.sort();
    for directory in sorted {
        let directory = Path::new(OsStr::from_bytes(directory));
        for entry in fs::read_dir(top.join(directory)).into_iter().flatten().flatten() {
            let path = directory.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if RULE_FILES.iter().any(|name| entry.file_name() == *name) {
                extra.push(path);
            } else if is_directory
                && entry.file_name() != ".git"
                && !tracked.contains(path.as_os_str().as_bytes())
            {
                untracked_directories(top, path, &mut extra);
            }
        }
        if extra.len() > EXTRA_LIMIT {
            return None;
        }
    }
    Some(extra)
}

/// A directory and those in it, nearest first, up to the limit.
fn untracked_directories(top: &Path, first: PathBuf, extra: &mut Vec<PathBuf>) {
    let mut open = std::collections::VecDeque::from([first]);
    let mut count = 0;
    while let Some(directory) = open.pop_front().filter(|_| count < UNTRACKED_LIMIT) {
        count += 1;
        for entry in fs::read_dir(top.join(&directory)).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && open.len() < UNTRACKED_LIMIT {
                open.push_back(directory.join(entry.file_name()));
            } else if RULE_FILES.iter().any(|name| entry.file_name() == *name) {
                extra.push(directory.join(entry.file_name()));
            }
        }
        extra.push(directory);
    }
}
