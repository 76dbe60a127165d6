//! The URL of the running server, in a file, so that `qd pair` and `qd access link` show whole links.
//!
//! The server holds a lock on the file for as long as it runs, and the system gives the lock up with the process. A file
//! that nobody has locked is of a server that has ended, however it ended.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::private_file::private_file;

/// The longest URL that is read.
const MAX_LENGTH: u64 = 2048;

/// The published URL of this server; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct PublishedAddress {
    _locked: File,
}

impl PublishedAddress {
    /// Publishes a URL in place of that of an earlier server.
    pub(crate) fn publish(directory: &Path, url: &str) -> io::Result<Self> {
        let part = directory.join(format!("address.part-{}", std::process::id()));
        let mut file = private_file(&part)?;
        // The lock is there before the name is.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.set_len(0)?;
        file.write_all(url.as_bytes())?;
        fs::rename(&part, path(directory))?;
        Ok(Self { _locked: file })
    }
}

/// Returns the URL of the server that runs now, with a slash at its end.
pub fn running_url(directory: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path(directory)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => {}
        Ok(()) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut url = String::new();
    file.take(MAX_LENGTH).read_to_string(&mut url)?;
    let is_url = (url.starts_with("https://") || url.starts_with("http://"))
        && url.ends_with('/')
        && url.chars().all(|c| c.is_ascii_graphic());
    Ok(is_url.then_some(url))
}

/// Returns true if only this machine reaches a server with this URL.
#[must_use]
pub fn is_local_url(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost" || name == "[::1]" || name.starts_with("127.")
}

fn path(directory: &Path) -> PathBuf {
    directory.join("address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_counts_for_as_long_as_its_server_runs_and_the_newest_server_counts() {
        let root = tempfile::tempdir().unwrap();
        let read = || running_url(root.path()).unwrap();
        assert_eq!(read(), None);
        let first = PublishedAddress::publish(root.path(), "http://127.0.0.1:7373/").unwrap();
        assert_eq!(read().as_deref(), Some("http://127.0.0.1:7373/"));
        let second = PublishedAddress::publish(root.path(), "https://desk.example/qd/").unwrap();
        assert_eq!(read().as_deref(), Some("https://desk.example/qd/"));
        drop(first);
        assert_eq!(read().as_deref(), Some("https://desk.example/qd/"));
        drop(second);
        assert_eq!(read(), None, "its server has ended");
    }

    #[test]
    fn a_file_with_something_else_is_no_url() {
        let root = tempfile::tempdir().unwrap();
        for wrong in ["", "desk.example/", "https://desk.example", "https://desk.example/\x1b[2J/"] {
            let _published = PublishedAddress::publish(root.path(), wrong).unwrap();
            assert_eq!(running_url(root.path()).unwrap(), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_loopback_url_is_of_this_machine_alone() {
        for local in ["http://127.0.0.1:7373/", "https://localhost/", "http://[::1]:7373/qd/"] {
            assert!(is_local_url(local), "{local}");
        }
        for public in ["https://desk.example/", "https://desk.example:8443/qd/", "https://10.0.0.5:7373/"] {
            assert!(!is_local_url(public), "{public}");
        }
    }
}
