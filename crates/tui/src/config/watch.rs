//! Notices when the settings change: the kernel says so, nothing is looked at by the clock.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use directory_watch::{Inotify, WatchFlags, WatchNumber};

use super::{Config, FILE};
use crate::theme;

/// What counts as a change: a file was written or replaced, or is gone.
const CHANGES: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM);

/// A watch of the configuration directory and of the themes in it. Editors replace files, so directories are watched and
/// not files.
#[derive(Debug)]
pub(crate) struct SettingsWatch {
    directory: PathBuf,
    inotify: Inotify,
    /// The watch of the themes' directory, once there is one.
    themes: Option<WatchNumber>,
}

impl SettingsWatch {
    /// Watches a directory, which is made when it is not there; none where that is not possible.
    pub(crate) fn of(directory: &Path) -> Option<Self> {
        std::fs::create_dir_all(directory).ok()?;
        let inotify = Inotify::new().ok()?;
        inotify.watch(directory, CHANGES | WatchFlags::CREATE).ok()?;
        let mut watch = Self { directory: directory.to_owned(), inotify, themes: None };
        watch.watch_themes();
        Some(watch)
    }

    fn watch_themes(&mut self) {
        self.themes = self.inotify.watch(&self.directory.join(theme::DIRECTORY), CHANGES).ok();
    }

    /// The settings, if their file or a theme has changed since the last call.
    pub(crate) fn changed(&mut self) -> Option<Result<Config, String>> {
        let (mut is_changed, mut has_themes) = (false, false);
        for event in self.inotify.events().unwrap_or_default() {
            let name = event.name.unwrap_or_default();
            has_themes |= name == theme::DIRECTORY;
            is_changed |= name == FILE && !event.is_created;
            is_changed |=
                Some(event.watch) == self.themes && Path::new(&name).extension() == Some("toml".as_ref());
        }
        if has_themes {
            self.watch_themes();
        }
        (is_changed || has_themes).then(|| Config::read(&self.directory))
    }
}

impl AsFd for SettingsWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
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
        assert!(watch.changed().unwrap().unwrap().looks.is_ascii);
        std::fs::write(directory.path().join(FILE), "glyphs = 7").unwrap();
        assert!(watch.changed().unwrap().is_err());
    }

    #[test]
    fn a_theme_that_is_written_later_is_noticed_and_so_is_its_change() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(FILE), "").unwrap();
        let mut watch = SettingsWatch::of(directory.path()).unwrap();
        let themes = directory.path().join(theme::DIRECTORY);
        std::fs::create_dir(&themes).unwrap();
        assert!(watch.changed().is_some());
        std::fs::write(themes.join("sea.toml"), "alert = 'cyan'").unwrap();
        assert_eq!(watch.changed().unwrap().unwrap().looks.own_themes, ["sea"]);
        std::fs::write(themes.join("notes.txt"), "").unwrap();
        assert!(watch.changed().is_none());
        std::fs::write(themes.join("sea.toml"), "alert = 'red'").unwrap();
        assert!(watch.changed().is_some());
    }
}
