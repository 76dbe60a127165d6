//! The one place that speaks inotify: watches on directories, and their events. Which directories are
//! watched and what an event means is decided by its users: agents' files, scratchpads and sockets of the daemon, the
//! settings of the deck, the identities of the web server.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader};
use rustix::io::{Errno, retry_on_intr};

pub use rustix::fs::inotify::WatchFlags;

/// A set of watched directories. Becomes readable when there are events.
#[derive(Debug)]
pub struct Inotify(OwnedFd);

/// The number of a watch; the kernel gives one directory one number.
pub type WatchNumber = i32;

/// Something happened in a watched directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEvent {
    /// The watch that it is of.
    pub watch: WatchNumber,
    /// The entry of the directory; `None` for the directory itself.
    pub name: Option<OsString>,
    /// Events were lost: anything may have changed.
    pub is_overflow: bool,
    /// The entry was created, and nothing else.
    pub is_created: bool,
    /// The watch is over: the directory is deleted, or the watch was removed.
    pub is_over: bool,
}

impl Inotify {
    /// Returns a set without a watch.
    ///
    /// # Errors
    /// The system has no more of them to give.
    pub fn new() -> io::Result<Self> {
        Ok(Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    /// Watches a directory; anything else is refused.
    ///
    /// # Errors
    /// It is no directory, or the system has no more watches to give.
    pub fn watch(&self, directory: &Path, events: WatchFlags) -> io::Result<WatchNumber> {
        Ok(inotify::add_watch(&self.0, directory, events | WatchFlags::ONLYDIR)?)
    }

    /// Removes a watch; a deleted directory has lost its watch already.
    pub fn unwatch(&self, watch: WatchNumber) {
        let _gone = inotify::remove_watch(&self.0, watch);
    }

    /// Waits until an event has come or the time is over; returns the events.
    ///
    /// # Errors
    /// The system cannot wait or read.
    pub fn wait(&self, most: Option<Duration>) -> io::Result<Vec<DirectoryEvent>> {
        let most = most.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        retry_on_intr(|| poll(&mut [PollFd::new(self, PollFlags::IN)], most.as_ref()))?;
        self.events()
    }

    /// Returns the events that have come, without waiting.
    ///
    /// # Errors
    /// The system cannot read them.
    pub fn events(&self) -> io::Result<Vec<DirectoryEvent>> {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut space);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => events.push(DirectoryEvent {
                    watch: event.wd(),
                    name: event.file_name().map(|name| OsString::from_vec(name.to_bytes().to_vec())),
                    is_created: event.events().contains(ReadFlags::CREATE),
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
