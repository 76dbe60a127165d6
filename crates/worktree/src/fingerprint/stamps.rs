//! What the system reports about files, one number for each, and the pass over all tracked ones.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Stat, statat};

use super::hash_length;
use crate::index_file::{SUBMODULE, visit_entries};
use crate::layout::Layout;

/// Two changes within this time may have the same timestamp: the clock of file systems ticks every 10 ms at
/// worst.
const TICK: Duration = Duration::from_millis(50);
/// The same where the file system keeps whole seconds only.
const COARSE_TICK: Duration = Duration::from_secs(2);
/// So many files are worth a second thread, which costs about as much as a hundred of them.
const PARALLEL: usize = 4096;
/// Threads at most: the kernel's cache of names serves a few well.
const MAX_THREADS: usize = 4;

/// What the system reports about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp(u64);

impl FileStamp {
    /// It changed within the clock's tick: another change may leave the same report.
    const UNKNOWN: Self = Self(0);
    const MISSING: Self = Self(1);

    /// Returns true if the file is certainly as it was.
    pub(super) fn is_same(self, other: Self) -> bool {
        self == other && self != Self::UNKNOWN
    }
}

/// Returns one number for all; none if one of them is unknown.
pub(super) fn sum(stamps: &[FileStamp]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    stamps.iter().for_each(|stamp| hasher.write_u64(stamp.0));
    stamps.iter().all(|stamp| *stamp != FileStamp::UNKNOWN).then(|| hasher.finish())
}

/// Asks the system about files. The time is that of the beginning, before any of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamper {
    now: Duration,
    /// The latest change of all files, since 1970.
    newest: Duration,
    has_fractions: bool,
}

impl Stamper {
    pub(super) fn now() -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(Self { now, newest: Duration::ZERO, has_fractions: false })
    }

    pub(super) fn file(&mut self, directory: impl AsFd, path: &Path) -> FileStamp {
        let Ok(stat) = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) else { return FileStamp::MISSING };
        let mut hasher = record(&stat);
        (stat.st_size, stat.st_ctime, stat.st_ctime_nsec).hash(&mut hasher);
        self.stamp(&stat, &hasher)
    }

    /// Covers only a directory's entries: its own inode changes when it is moved.
    pub(super) fn directory(&mut self, directory: impl AsFd, path: &Path) -> FileStamp {
        let Ok(stat) = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) else { return FileStamp::MISSING };
        self.stamp(&stat, &record(&stat))
    }

    fn stamp(&mut self, stat: &Stat, hasher: &DefaultHasher) -> FileStamp {
        let nanoseconds = u32::try_from(stat.st_ctime_nsec).unwrap_or(0);
        let changed_at = Duration::new(u64::try_from(stat.st_ctime).unwrap_or(0), nanoseconds);
        self.newest = self.newest.max(changed_at);
        self.has_fractions |= nanoseconds != 0;
        if changed_at + TICK >= self.now { FileStamp::UNKNOWN } else { FileStamp(hasher.finish().max(2)) }
    }

    /// Returns false if a change could have left the same times: the file system keeps whole seconds, and one of them has
    /// just passed.
    pub(super) fn is_reliable(&self) -> bool {
        self.has_fractions || self.newest + COARSE_TICK < self.now
    }

    /// A directory with everything in it, in the order of the names.
    pub(super) fn tree(&mut self, directory: &Path, stamps: &mut Vec<FileStamp>) {
        stamps.push(self.directory(CWD, directory));
        let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.tree(&entry.path(), stamps);
            } else {
                stamps.push(self.file(CWD, &entry.path()));
            }
        }
    }

    /// Everything that is tracked, on several threads if it is much.
    pub(super) fn tracked(&mut self, top: &OwnedFd, paths: &TrackedPaths) -> Vec<FileStamp> {
        let threads = threads_for(paths.len());
        let share = paths.len().div_ceil(threads);
        let beginning = *self;
        let part = |number: usize| {
            let mut stamper = beginning;
            let range = (number * share).min(paths.len())..((number + 1) * share).min(paths.len());
            let stamps = range.map(|at| {
                let (path, is_directory) = paths.get(at);
                stamper.entry(top, path, is_directory)
            });
            let stamps: Vec<FileStamp> = stamps.collect();
            (stamper, stamps)
        };
        let part = &part;
        std::thread::scope(|scope| {
            let start = |number| {
                let builder = std::thread::Builder::new().name("fingerprint".to_owned());
                builder.spawn_scoped(scope, move || part(number))
            };
            let others: Vec<_> = (1..threads).map(start).collect();
            let mut all = Vec::with_capacity(paths.len());
            let mut add = |(stamper, stamps): (Self, Vec<FileStamp>)| {
                self.newest = self.newest.max(stamper.newest);
                self.has_fractions |= stamper.has_fractions;
                all.extend(stamps);
            };
            add(part(0));
            for (number, other) in (1..threads).zip(others) {
                // A thread that the system refuses is done without.
                let done = other.ok().and_then(|thread| thread.join().ok());
                add(done.unwrap_or_else(|| part(number)));
            }
            all
        })
    }

    fn entry(&mut self, top: &OwnedFd, path: &[u8], is_directory: bool) -> FileStamp {
        match Path::new(OsStr::from_bytes(path)) {
            path if !is_directory => self.file(top, path),
            path if path.as_os_str().is_empty() => self.directory(top, Path::new(".")),
            path => self.directory(top, path),
        }
    }
}

/// Returns how many threads look at so many files. The system is asked for its processors only if it matters: it reads files
/// to answer.
fn threads_for(files: usize) -> usize {
    match (files / PARALLEL).min(MAX_THREADS) {
        0 | 1 => 1,
        most => std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(most),
    }
}

fn record(stat: &Stat) -> DefaultHasher {
    let mut hasher = DefaultHasher::new();
    (stat.st_ino, stat.st_mode, stat.st_mtime, stat.st_mtime_nsec).hash(&mut hasher);
    hasher
}

/// The tracked files and every directory on the way to one, in the order of the index, the top first.
#[derive(Debug, Default)]
pub(super) struct TrackedPaths {
    bytes: Vec<u8>,
    /// Where each path ends in `bytes`, and whether it is a directory.
    ends: Vec<(usize, bool)>,
}

impl TrackedPaths {
    /// Reads the index. None if it cannot be read, or with a submodule that is checked out.
    pub(super) fn read(layout: &Layout, top: &OwnedFd) -> Option<Self> {
        let mut paths = Self::default();
        paths.push(b"", true);
        let index = match fs::read(layout.git_dir.join("index")) {
            Ok(index) => index,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(paths),
            Err(_) => return None,
        };
        paths.bytes.reserve(index.len() / 2);
        let mut last_directory = Vec::new();
        let mut has_submodule = false;
        let read = visit_entries(&index, hash_length(&layout.common_dir), |entry| {
            for at in new_directories(&last_directory, entry.path) {
                paths.push(&entry.path[..at], true);
            }
            let length = entry.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            last_directory.clear();
            last_directory.extend_from_slice(&entry.path[..length]);
            paths.push(entry.path, false);
            let inside = || Path::new(OsStr::from_bytes(entry.path)).join(".git");
            has_submodule |= entry.mode == SUBMODULE && statat(top, inside(), AtFlags::empty()).is_ok();
        });
        (read.is_ok() && !has_submodule).then_some(paths)
    }

    fn push(&mut self, path: &[u8], is_directory: bool) {
        self.bytes.extend_from_slice(path);
        self.ends.push((self.bytes.len(), is_directory));
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a path, and whether it is a directory.
    pub(super) fn get(&self, at: usize) -> (&[u8], bool) {
        let begin = if at == 0 { 0 } else { self.ends[at - 1].0 };
        let (end, is_directory) = self.ends[at];
        (&self.bytes[begin..end], is_directory)
    }

    pub(super) fn directories(&self) -> HashSet<&[u8]> {
        let all = (0..self.len()).map(|at| self.get(at));
        all.filter(|(_, is_directory)| *is_directory).map(|(path, _)| path).collect()
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
