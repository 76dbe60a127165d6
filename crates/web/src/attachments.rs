//! Files that a person attaches in a browser for a process: stored for this user alone, never served back.
//!
//! The page puts the path into the message; nothing is sent by itself. A file is written as it arrives, so a large one
//! costs no memory, and one that does not arrive whole is removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::StreamExt;
use http_server::HANDSHAKE;
use proto::ErrorCode;
use tokio::sync::{Semaphore, mpsc};

use crate::private_file::make_private;
use crate::problem::Problem;

/// The longest file.
pub(crate) const MAX_FILE: u64 = 20 << 20; // 20 MiB
/// The most bytes of all files together.
const MOST_BYTES: u64 = 256 << 20; // 256 MiB
/// Files that arrive at once.
const MOST_AT_ONCE: usize = 4;
/// How long a file is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long all of a file may take; each piece has [`HANDSHAKE`].
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// Pieces that wait for the disk.
const PIECES: usize = 4;
/// The longest name.
const MAX_NAME: usize = 80;

/// The directory of attached files.
#[derive(Debug)]
pub(crate) struct Attachments {
    directory: PathBuf,
    permits: Semaphore,
}

/// A file that was stored.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
enum Piece {
    Bytes(Bytes),
    End,
}

impl Attachments {
    pub(crate) fn open(directory: &Path) -> Self {
        Self { directory: directory.join("files"), permits: Semaphore::new(MOST_AT_ONCE) }
    }

    /// Stores a body as a file for a process, under a name like the given one.
    pub(crate) async fn store(&self, process: &str, name: &str, body: Body) -> Result<Stored, Problem> {
        let _permit = self
            .permits
            .try_acquire()
            .map_err(|_| Problem::busy("other files are arriving: wait a moment"))?;
        let (directory, name) = (self.directory.clone(), plain_name(name));
        let process = plain_name(process);
        let (pieces, waiting) = mpsc::channel(PIECES);
        let writing = tokio::task::spawn_blocking(move || {
            make_room(&directory)?;
            let directory = directory.join(process);
            make_private(&directory)?;
            let (file, path) = create(&directory, &name)?;
            let written = write(file, waiting);
            if written.is_err() {
                drop(fs::remove_file(&path));
            }
            written.map(|bytes| Stored { path, bytes })
        });
        let sent =
            tokio::time::timeout(LONGEST, send(body, pieces)).await.unwrap_or_else(|_| Err(too_slow()));
        let stored = writing.await.map_err(Problem::internal)?;
        sent?;
        stored.map_err(|error| match error.kind() {
            io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => {
                Problem::new(StatusCode::INSUFFICIENT_STORAGE, ErrorCode::NoSpace, error.to_string())
            }
            _ => Problem::internal(error),
        })
    }
}

/// Passes a body on, piece by piece. Without its end, the other side removes the file.
async fn send(body: Body, pieces: mpsc::Sender<Piece>) -> Result<(), Problem> {
    let mut stream = body.into_data_stream();
    let mut length = 0;
    while let Some(piece) = tokio::time::timeout(HANDSHAKE, stream.next()).await.map_err(|_| too_slow())? {
        let piece = piece.map_err(|error| Problem::invalid("body", error))?;
        length += piece.len() as u64;
        check_length(length)?;
        if pieces.send(Piece::Bytes(piece)).await.is_err() {
            return Ok(()); // The disk refused; its error is the answer.
        }
    }
    drop(pieces.send(Piece::End).await);
    Ok(())
}

/// Refuses a file that is too long.
pub(crate) fn check_length(length: u64) -> Result<(), Problem> {
    if length <= MAX_FILE {
        return Ok(());
    }
    Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::Limit, "body: a file may have 20 MiB at most"))
}

fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::Timeout, "body: it took too long")
}

fn write(mut file: File, mut pieces: mpsc::Receiver<Piece>) -> io::Result<u64> {
    let mut length = 0;
    while let Some(piece) = pieces.blocking_recv() {
        match piece {
            Piece::Bytes(bytes) => {
                file.write_all(&bytes)?;
                length += bytes.len() as u64;
            }
            Piece::End => return Ok(length),
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file did not arrive whole"))
}

/// Creates a file that was not there; one that has the name already keeps it.
fn create(directory: &Path, name: &str) -> io::Result<(File, PathBuf)> {
    for number in 1_u32.. {
        let path =
            if number == 1 { directory.join(name) } else { directory.join(format!("{number}-{name}")) };
        match OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes old files; an error if those that are left leave no room for another one.
fn make_room(directory: &Path) -> io::Result<()> {
    make_private(directory)?;
    let mut total = 0;
    for process in fs::read_dir(directory)? {
        let process = process?.path();
        for file in fs::read_dir(&process)? {
            let file = file?;
            let known = file.metadata()?;
            let age = SystemTime::now().duration_since(known.modified()?).unwrap_or_default();
            if age > KEPT {
                fs::remove_file(file.path())?;
            } else {
                total += known.len();
            }
        }
        // Only an empty one goes.
        drop(fs::remove_dir(&process));
    }
    if total + MAX_FILE > MOST_BYTES {
        let what = format!("attached files have {total} bytes: remove some below {}", directory.display());
        return Err(io::Error::new(io::ErrorKind::QuotaExceeded, what));
    }
    Ok(())
}

/// Returns a name that is safe in a path and in a command: letters, digits, dots, dashes and underscores.
fn plain_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let mut plain = String::new();
    for c in name.chars() {
        if is_plain(c) {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    let plain = plain.trim_start_matches(['.', '-']);
    // The end says what kind of file it is.
    let plain = &plain[plain.len().saturating_sub(MAX_NAME)..];
    match plain.trim_start_matches(['.', '-']) {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn w14_a_file_is_stored_once_whole_and_for_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().unwrap();
        let attachments = Attachments::open(root.path());
        let first = attachments.store("p_1", "a photo.jpg", Body::from("first")).await.unwrap();
        let second = attachments.store("p_1", "a photo.jpg", Body::from("second")).await.unwrap();
        assert_eq!(first.path, root.path().join("files/p_1/a-photo.jpg"));
        assert_eq!(second.path, root.path().join("files/p_1/2-a-photo.jpg"));
        assert_eq!((fs::read(&first.path).unwrap().as_slice(), second.bytes), (&b"first"[..], 6));
        assert_eq!(fs::metadata(&first.path).unwrap().mode() & 0o777, 0o600);
        let broken = futures_util::stream::iter([Ok("half"), Err(io::Error::other("gone"))]);
        let refused = attachments.store("p_1", "half", Body::from_stream(broken)).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        let long = futures_util::stream::iter((0..21).map(|_| Ok::<_, io::Error>(vec![0_u8; 1 << 20])));
        let refused = attachments.store("p_1", "long", Body::from_stream(long)).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(
            fs::read_dir(root.path().join("files/p_1")).unwrap().count(),
            2,
            "no part of the others is left"
        );
    }

    #[tokio::test]
    async fn w14_attached_files_are_bounded_and_old_ones_go() {
        let root = tempfile::tempdir().unwrap();
        let attachments = Attachments::open(root.path());
        let stored = attachments.store("p_1", "large", Body::from("x")).await.unwrap();
        let file = OpenOptions::new().write(true).open(&stored.path).unwrap();
        file.set_len(MOST_BYTES).unwrap();
        let refused = attachments.store("p_2", "next", Body::from("x")).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::INSUFFICIENT_STORAGE);
        file.set_modified(SystemTime::now() - KEPT - Duration::from_secs(60)).unwrap();
        assert!(attachments.store("p_2", "next", Body::from("x")).await.is_ok());
        assert!(!stored.path.exists());
    }

    #[test]
    fn w14_no_name_leaves_its_directory() {
        for (given, plain) in [
            ("../../etc/passwd", "etc-passwd"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a b;c$(d)\n.png", "a-b-c-d-.png"),
            ("写真.png", "png"),
            ("", "file"),
            ("..", "file"),
        ] {
            assert_eq!(plain_name(given), plain, "{given:?}");
        }
        assert!(plain_name(&format!("{}.png", "x".repeat(300))).ends_with("xx.png"));
    }
}
