//! Notices when another process has changed the file of identities, so that sockets of revoked callers close at once.

use std::io;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::retry_on_intr;
use tokio::sync::watch;

/// Watches a directory on a thread of its own; the number that is returned changes with each file that is put into it.
pub(crate) fn watch(directory: &Path) -> io::Result<watch::Receiver<u64>> {
    let notes = init(CreateFlags::CLOEXEC)?;
    add_watch(&notes, directory, WatchFlags::MOVED_TO | WatchFlags::DELETE)?;
    let (sender, receiver) = watch::channel(0);
    let body = move || {
        let mut buffer = [0_u8; 4096];
        // That something has happened is all that counts. The thread ends with the process.
        while retry_on_intr(|| rustix::io::read(&notes, &mut buffer)).is_ok_and(|count| count > 0) {
            sender.send_modify(|changes| *changes += 1);
        }
    };
    std::thread::Builder::new().name("web-revocation".to_owned()).spawn(body)?;
    Ok(receiver)
}
