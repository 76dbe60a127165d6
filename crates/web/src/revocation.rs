//! Notices when another process has changed the file of identities, so that sockets of revoked callers close at once.

use std::io;
use std::path::Path;

use directory_watch::{Inotify, WatchFlags};
use tokio::sync::watch;

/// Watches a directory on a thread of its own; the number that is returned changes with each file that is put into it.
pub(crate) fn watch(directory: &Path) -> io::Result<watch::Receiver<u64>> {
    let inotify = Inotify::new()?;
    inotify.watch(directory, WatchFlags::MOVED_TO | WatchFlags::DELETE)?;
    let (sender, receiver) = watch::channel(0);
    let body = move || {
        // That something has happened is all that counts. The thread ends with the process.
        while inotify.wait(None).is_ok() {
            sender.send_modify(|changes| *changes += 1);
        }
    };
    std::thread::Builder::new().name("web-revocation".to_owned()).spawn(body)?;
    Ok(receiver)
}
