//! The one place that speaks inotify: watches on directories, and their events. Which directories are
//! watched and what an event means is decided by its users: agents' files, scratchpads, the sockets.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader};
use rustix::io::Errno;

pub(crate) use rustix::fs::inotify::WatchFlags;

/// A set of watched directories. Becomes readable when there are events.
#[derive(Debug)]
pub(crate) struct Inotify(OwnedFd);

/// The number of a watch; the kernel gives one directory one number.
pub(crate) type WatchNumber = i32;

/// Something happened in a watched directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryEvent {
    pub(crate) watch: WatchNumber,
    /// The entry of the directory; `None` for the directory itself.
    pub(crate) name: Option<OsString>,
    /// Events were lost: anything may have changed.
    pub(crate) is_overflow: bool,
    /// The watch is over: the directory is deleted, or the watch was removed.
    pub(crate) is_over: bool,
}

impl Inotify {
    /// # Errors
    /// The system has no more of them to give.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    /// Watches a directory; anything else is refused.
    pub(crate) fn watch(&self, directory: &Path, events: WatchFlags) -> io::Result<WatchNumber> {
        Ok(inotify::add_watch(&self.0, directory, events | WatchFlags::ONLYDIR)?)
    }

    /// Removes a watch; a deleted directory has lost its watch already.
    pub(crate) fn unwatch(&self, watch: WatchNumber) {
        let _gone = inotify::remove_watch(&self.0, watch);
    }

    /// Returns the events that have come, without waiting.
    pub(crate) fn events(&self) -> io::Result<Vec<DirectoryEvent>> {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut space);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => events.push(DirectoryEvent {
                    watch: event.wd(),
                    name: event.file_name().map(|name| OsString::from_vec(name.to_bytes().to_vec())),
                    is_overflow: event.events().contains(ReadFlags::QUEUE_OVERFLOW),
                    is_over: event.events().contains(ReadFlags::IGNORED),
                }),
                Err(Errno::AGAIN) => return Ok(events),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Inotify {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_its_watch_and_its_entry_and_the_last_one_is_the_end_of_the_watch() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let inotify = Inotify::new().unwrap();
        assert!(inotify.watch(&inside.join("missing"), WatchFlags::CREATE).is_err());
        let watch = inotify.watch(&inside, WatchFlags::CREATE).unwrap();
        assert_eq!(inotify.events().unwrap(), []);
        std::fs::write(inside.join("a"), "").unwrap();
        let created = inotify.events().unwrap();
        assert!(
            matches!(&created[..], [event] if event.watch == watch && event.name == Some("a".into())),
            "{created:?}"
        );
        std::fs::remove_dir_all(&inside).unwrap();
        assert!(inotify.events().unwrap().last().is_some_and(|event| event.is_over && event.name.is_none()));
    }

    #[test]
    fn a_removed_watch_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let inotify = Inotify::new().unwrap();
        let watch = inotify.watch(directory.path(), WatchFlags::CREATE).unwrap();
        inotify.unwatch(watch);
        std::fs::write(directory.path().join("a"), "").unwrap();
        assert!(matches!(&inotify.events().unwrap()[..], [event] if event.is_over));
    }
}
