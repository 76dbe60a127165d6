//! Watches files for changes, even files that do not exist yet. It watches directories, because vendors
//! replace files and create them late. It only reports which files to read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use directory_watch::{DirectoryEvent, Inotify, WatchFlags, WatchNumber};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

/// Names one watched file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WatchMark(u64);

/// The result of a wait.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The files that may have changed.
    pub(crate) marks: BTreeSet<WatchMark>,
    /// Another thread called [`Waker::wake`].
    pub(crate) was_woken: bool,
}

/// Ends a wait from another thread. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(crate) fn wake(&self) {
        // A full counter means a pending wake-up, and one is enough.
        let _full = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// The watched files.
#[derive(Debug)]
pub(crate) struct Watches {
    inotify: Inotify,
    waker: Waker,
    next: u64,
    files: BTreeMap<WatchMark, File>,
    /// Files by the number of the directory's watch.
    by_directory: BTreeMap<WatchNumber, BTreeSet<WatchMark>>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// The nearest existing directory on its path; `None` while not even that can be watched.
    near: Option<(WatchNumber, PathBuf)>,
}

impl Watches {
    /// # Errors
    /// The system has no more watches to give.
    pub(crate) fn new() -> io::Result<Self> {
        let inotify = Inotify::new()?;
        let waker = Waker(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?));
        Ok(Self { inotify, waker, next: 0, files: BTreeMap::new(), by_directory: BTreeMap::new() })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Watches a file; it and its directories may be created later. The first wait reports it.
    pub(crate) fn add(&mut self, path: PathBuf) -> WatchMark {
        let mark = WatchMark(self.next);
        self.next += 1;
        self.files.insert(mark, File { path, near: None });
        self.watch_nearest(mark);
        mark
    }

    pub(crate) fn remove(&mut self, mark: WatchMark) {
        if let Some(File { near: Some((watch, _)), .. }) = self.files.remove(&mark) {
            self.leave(watch, mark);
        }
    }

    /// Returns when something changed, another thread woke it, or the time is over.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> io::Result<Changes> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut ready =
            [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&*self.waker.0, PollFlags::IN)];
        match poll(&mut ready, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut count = [0; 8];
        let was_woken = rustix::io::read(&*self.waker.0, &mut count).is_ok();
        Ok(Changes { marks: self.changed()?, was_woken })
    }

    fn changed(&mut self) -> io::Result<BTreeSet<WatchMark>> {
        let mut marks = BTreeSet::new();
        for event in self.inotify.events()? {
            if event.is_overflow {
                // Events were lost, so every file may have changed.
                marks.extend(self.files.keys().copied());
            }
            let concerned: Vec<WatchMark> =
                self.by_directory.get(&event.watch).into_iter().flatten().copied().collect();
            for mark in concerned {
                if self.concerns(&event, mark) {
                    marks.insert(mark);
                }
            }
            if event.is_over {
                self.by_directory.remove(&event.watch);
            }
        }
        Ok(marks)
    }

    /// Returns true if an event is about a file or a directory on its path.
    fn concerns(&mut self, event: &DirectoryEvent, mark: WatchMark) -> bool {
        let Some(File { path, near: Some((watch, directory)) }) = self.files.get(&mark) else { return false };
        if *watch != event.watch {
            return false;
        }
        let next = path.strip_prefix(directory).ok().and_then(|rest| rest.iter().next());
        if event.name.is_some() && event.name.as_deref() != next {
            return false;
        }
        let is_at_file = path.parent() == Some(directory);
        if event.is_over || !is_at_file {
            self.watch_nearest(mark);
        }
        true
    }

    /// Watches the nearest directory on the path of a file, and repeats until it stays the nearest: otherwise
    /// one that is created between the check and the watch would be missed.
    fn watch_nearest(&mut self, mark: WatchMark) {
        let Some(file) = self.files.get(&mark) else { return };
        let before = file.near.as_ref().map(|(watch, _)| *watch);
        let near = nearest(&self.inotify, &file.path);
        let now = near.as_ref().map(|(watch, _)| *watch);
        if let Some(file) = self.files.get_mut(&mark) {
            file.near = near;
        }
        if let Some(before) = before.filter(|before| Some(*before) != now) {
            self.leave(before, mark);
        }
        if let Some(now) = now {
            self.by_directory.entry(now).or_default().insert(mark);
        }
    }

    fn leave(&mut self, watch: WatchNumber, mark: WatchMark) {
        let Some(marks) = self.by_directory.get_mut(&watch) else { return };
        marks.remove(&mark);
        if marks.is_empty() {
            self.by_directory.remove(&watch);
            self.inotify.unwatch(watch);
        }
    }
}

/// Watches the nearest existing directory above a path.
fn nearest(inotify: &Inotify, path: &Path) -> Option<(WatchNumber, PathBuf)> {
    let flags = WatchFlags::CREATE
        | WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF;
    let mut found = None;
    // A directory that is created after it was found missing is found by the next check, because its parent
    // is watched by then; two checks that agree are enough.
    for _ in 0..16 {
        let now = path.ancestors().skip(1).find_map(|directory| {
            let watch = inotify.watch(directory, flags).ok()?;
            Some((watch, directory.to_owned()))
        });
        if now == found {
            break;
        }
        found = now;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// Waits until a file is reported.
    fn see(watches: &mut Watches, mark: WatchMark) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            if watches.wait(Some(left)).unwrap().marks.contains(&mark) {
                return;
            }
        }
        panic!("nothing was seen");
    }

    fn quiet(watches: &mut Watches) -> Changes {
        watches.wait(Some(Duration::ZERO)).unwrap()
    }

    #[test]
    fn a_file_that_grows_is_seen_and_its_neighbour_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let mut watches = Watches::new().unwrap();
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        let (first, second) = (watches.add(a.clone()), watches.add(b.clone()));
        fs::write(&a, "x").unwrap();
        let changes = watches.wait(Some(Duration::from_secs(10))).unwrap();
        assert_eq!((changes.marks.contains(&first), changes.marks.contains(&second)), (true, false));
        fs::write(&b, "x").unwrap();
        see(&mut watches, second);
        let _rest = quiet(&mut watches);
        assert_eq!(quiet(&mut watches), Changes::default());
    }

    #[test]
    fn a_file_whose_directories_come_later_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let mut watches = Watches::new().unwrap();
        let path = directory.path().join("x/y/z/file");
        let mark = watches.add(path.clone());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        see(&mut watches, mark);
        let _rest = quiet(&mut watches);
        fs::write(&path, "late").unwrap();
        see(&mut watches, mark);
    }

    #[test]
    fn a_replaced_file_and_a_replaced_directory_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        let mut watches = Watches::new().unwrap();
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let path = inner.join("file");
        let mark = watches.add(path.clone());
        fs::write(inner.join("new"), "1").unwrap();
        fs::rename(inner.join("new"), &path).unwrap();
        see(&mut watches, mark);
        fs::remove_dir_all(&inner).unwrap();
        see(&mut watches, mark);
        let _rest = quiet(&mut watches);
        fs::create_dir(&inner).unwrap();
        see(&mut watches, mark);
        let _rest = quiet(&mut watches);
        fs::write(&path, "2").unwrap();
        see(&mut watches, mark);
    }

    #[test]
    fn a_removed_watch_is_silent() {
        let directory = tempfile::tempdir().unwrap();
        let mut watches = Watches::new().unwrap();
        let path = directory.path().join("a");
        let mark = watches.add(path.clone());
        watches.remove(mark);
        fs::write(&path, "x").unwrap();
        assert_eq!(quiet(&mut watches), Changes::default());
    }

    #[test]
    fn a_wait_is_ended_from_another_thread() {
        let mut watches = Watches::new().unwrap();
        let waker = watches.waker();
        let thread = std::thread::spawn(move || waker.wake());
        let changes = watches.wait(Some(Duration::from_secs(10))).unwrap();
        thread.join().unwrap();
        assert!(changes.was_woken && changes.marks.is_empty());
        assert!(!quiet(&mut watches).was_woken, "once");
    }
}
