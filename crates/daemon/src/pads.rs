//! The daemon's scratchpads: the store's files, and a thread that notices changes by editors. The door asks
//! the engine who may use them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use directory_watch::{DirectoryEvent, Inotify, WatchFlags, WatchNumber};
use engine::Input;
use proto::{Dirs, Event};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use store::{PadChange, PadName, Pads, ensure_private_dir};
use tokio::sync::mpsc;

/// Returns where the pads are.
fn root(dirs: &Dirs) -> PathBuf {
    dirs.data.join("pads")
}

/// Returns the pads of this daemon's user; each change is announced. Every call blocks, so it runs on a
/// thread that may.
pub(crate) fn open(dirs: &Dirs, facts: &mpsc::Sender<Input>) -> Arc<Pads> {
    let facts = facts.clone();
    let pads = Pads::new(&root(dirs)).telling(move |change| {
        // The receiver is gone only when the daemon is ending.
        drop(facts.blocking_send(Input::Announce(Box::new(announcement(change)))));
    });
    let pads = Arc::new(pads);
    if let Err(error) = watch(&root(dirs), Arc::clone(&pads)) {
        tracing::warn!(%error, "changes of scratchpads by editors are seen late: they cannot be watched");
    }
    pads
}

fn announcement(change: PadChange) -> Event {
    let PadChange { project, name, revision, author } = change;
    Event::PadChanged { project, name: name.to_string(), revision, author }
}

/// Starts the thread that notices changes by editors. It ends with the process.
fn watch(root: &Path, pads: Arc<Pads>) -> io::Result<()> {
    ensure_private_dir(root).map_err(io::Error::other)?;
    let inotify = Inotify::new()?;
    let mut watcher = PadWatcher { inotify, root: root.to_owned(), top: -1, projects: BTreeMap::new(), pads };
    std::thread::Builder::new().name("pads-watch".to_owned()).spawn(move || {
        if let Err(error) = watcher.work() {
            tracing::warn!(%error, "changes of scratchpads by editors are no longer heard");
        }
    })?;
    Ok(())
}

/// The watches: on the directory of all projects, and on each project's.
struct PadWatcher {
    inotify: Inotify,
    root: PathBuf,
    top: WatchNumber,
    /// Projects by the number of their directory's watch.
    projects: BTreeMap<WatchNumber, String>,
    pads: Arc<Pads>,
}

impl PadWatcher {
    fn work(&mut self) -> io::Result<()> {
        self.begin()?;
        loop {
            match poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in self.inotify.events()? {
                self.handle(&event)?;
            }
        }
    }

    /// Watches everything and checks it: an editor may have been used while no daemon ran.
    fn begin(&mut self) -> io::Result<()> {
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DONT_FOLLOW;
        self.top = self.inotify.watch(&self.root, flags)?;
        let entries = std::fs::read_dir(&self.root)?.flatten();
        for project in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
            self.watch_project(project);
        }
        Ok(())
    }

    /// Watches a project's directory first and checks it then, so that no change is missed between.
    fn watch_project(&mut self, project: String) {
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::DONT_FOLLOW;
        match self.inotify.watch(&self.root.join(&project), flags) {
            Ok(watch) => {
                if let Err(error) = self.pads.look_at_all(&project) {
                    tracing::debug!(%error, project, "a directory among the scratchpads is none of ours");
                }
                self.projects.insert(watch, project);
            }
            Err(error) => tracing::debug!(%error, project, "a project's scratchpads cannot be watched"),
        }
    }

    fn handle(&mut self, event: &DirectoryEvent) -> io::Result<()> {
        if event.is_overflow {
            // Events were lost, so everything is checked again.
            return self.begin();
        }
        if event.is_over {
            self.projects.remove(&event.watch);
            return Ok(());
        }
        let Some(name) = event.name.as_deref().and_then(|name| name.to_str()) else { return Ok(()) };
        if event.watch == self.top {
            self.watch_project(name.to_owned());
        } else if let (Some(project), Ok(name)) = (self.projects.get(&event.watch), name.parse::<PadName>())
            && let Err(error) = self.pads.check_file(project, &name)
        {
            tracing::debug!(%error, project, "a file among the scratchpads is none");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = "0123456789abcdef";

    /// Pads with their watcher, and the announcements.
    fn pads(root: &Path) -> (Arc<Pads>, mpsc::Receiver<Input>, PathBuf) {
        let (facts, heard) = mpsc::channel(64);
        let dirs = Dirs::below(root);
        std::fs::create_dir_all(&dirs.data).unwrap();
        std::fs::set_permissions(&dirs.data, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        (open(&dirs, &facts), heard, dirs.data.join("pads").join(PROJECT))
    }

    /// Returns the next announcement, within a deadline.
    fn next(heard: &mut mpsc::Receiver<Input>) -> (String, u64, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let input = runtime
            .block_on(async { tokio::time::timeout(std::time::Duration::from_secs(10), heard.recv()).await });
        match input {
            Ok(Some(Input::Announce(event))) => match *event {
                Event::PadChanged { project, name, revision, author } => {
                    assert_eq!(project, PROJECT);
                    (name, revision, author)
                }
                other => panic!("{other:?}"),
            },
            other => panic!("nothing was announced but {other:?}"),
        }
    }

    #[test]
    fn an_editors_change_is_announced_however_it_saves() {
        let root = tempfile::tempdir().unwrap();
        let (pads, mut heard, folder) = pads(root.path());
        pads.write(PROJECT, &"plan".parse().unwrap(), "ours", "fix", None).unwrap();
        assert_eq!(next(&mut heard), ("plan".to_owned(), 1, "fix".to_owned()));
        std::fs::write(folder.join("plan"), "in place").unwrap();
        // An editor that truncates first may be seen in between; the last announcement is what it saved.
        let mut seen = next(&mut heard);
        while pads.read(PROJECT, &"plan".parse().unwrap()).unwrap().revision != seen.1 {
            seen = next(&mut heard);
        }
        assert_eq!((seen.0.as_str(), seen.2.as_str()), ("plan", "editor"));
        assert_eq!(pads.read(PROJECT, &"plan".parse().unwrap()).unwrap().content, "in place");
        std::fs::write(folder.join(".swap"), "moved over").unwrap();
        std::fs::rename(folder.join(".swap"), folder.join("plan")).unwrap();
        assert_eq!(next(&mut heard), ("plan".to_owned(), seen.1 + 1, "editor".to_owned()));
        std::fs::remove_file(folder.join("plan")).unwrap();
        assert_eq!(next(&mut heard), ("plan".to_owned(), 0, "editor".to_owned()));
    }

    #[test]
    fn what_an_editor_did_while_no_daemon_was_there_is_announced_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        std::fs::create_dir_all(&dirs.data).unwrap();
        let before = Pads::new(&self::root(&dirs));
        before.write(PROJECT, &"plan".parse().unwrap(), "ours", "fix", None).unwrap();
        before.write(PROJECT, &"gone".parse().unwrap(), "ours", "fix", None).unwrap();
        let folder = self::root(&dirs).join(PROJECT);
        std::fs::write(folder.join("plan"), "edited").unwrap();
        std::fs::remove_file(folder.join("gone")).unwrap();
        let (_pads, mut heard, _) = self::pads(root.path());
        assert_eq!(next(&mut heard), ("gone".to_owned(), 0, "editor".to_owned()));
        assert_eq!(next(&mut heard), ("plan".to_owned(), 2, "editor".to_owned()));
    }
}
