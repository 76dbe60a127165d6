//! Notices when the settings change: the kernel says so, nothing is looked at by the clock.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

use super::{Config, FILE};

/// A watch of the configuration directory. Editors replace files, so the directory is watched and not the file.
#[derive(Debug)]
pub(crate) struct SettingsWatch {
    directory: PathBuf,
    events: OwnedFd,
}

impl SettingsWatch {
    /// Watches a directory, which is made when it is not there; none where that is not possible.
    pub(crate) fn of(directory: &Path) -> Option<Self> {
        std::fs::create_dir_all(directory).ok()?;
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        inotify::add_watch(&events, directory, flags).ok()?;
        Some(Self { directory: directory.to_owned(), events })
    }

    /// The settings, if their file has changed since the last call.
    pub(crate) fn changed(&mut self) -> Option<Result<Config, String>> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.events, &mut buffer);
        let mut is_changed = false;
        while let Ok(event) = reader.next() {
            is_changed |= event.file_name().is_some_and(|name| name.to_bytes() == FILE.as_bytes());
        }
        is_changed.then(|| Config::read(&self.directory))
    }
}

impl AsFd for SettingsWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_file_is_noticed_and_one_of_another_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let mut watch = SettingsWatch::of(directory.path()).unwrap();
        assert!(watch.changed().is_none());
        std::fs::write(directory.path().join("config.toml"), "").unwrap();
        assert!(watch.changed().is_none());
        std::fs::write(directory.path().join(FILE), "glyphs = 'ascii'").unwrap();
        assert!(watch.changed().unwrap().unwrap().is_ascii);
        std::fs::write(directory.path().join(FILE), "glyphs = 7").unwrap();
        assert!(watch.changed().unwrap().is_err());
    }
}
