//! Reads a file that a person has written: a plain file, or a link to one, of a bounded size. A pipe or a
//! device in its place is an error, where reading it could wait for ever.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most bytes of such a file.
const MAX_TEXT: u64 = 1 << 20; // 1 MiB

/// Returns the text of a plain file.
///
/// # Errors
/// It is missing, is not a plain file, cannot be read, is not UTF-8 or is too long.
pub fn read_plain_file(path: &Path) -> Result<String> {
    let text = String::from_utf8(read_plain_bytes(path)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "is not UTF-8"))
}

/// Returns the bytes of a plain file.
///
/// # Errors
/// It is missing, is not a plain file, cannot be read or is too long.
pub fn read_plain_bytes(path: &Path) -> Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "is not a plain file"));
    }
    let mut text = Vec::new();
    file.take(MAX_TEXT + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_TEXT {
        return Err(Error::new(ErrorKind::InvalidInput, "has more than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m8_a_link_to_a_plain_file_is_read_and_a_pipe_or_a_device_is_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::write(path("real"), "text").unwrap();
        std::os::unix::fs::symlink("real", path("link")).unwrap();
        assert_eq!(read_plain_file(&path("link")).unwrap(), "text");
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), pipe, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for other in [path("pipe"), "/dev/zero".into(), root.path().to_owned()] {
            let refused = read_plain_file(&other).unwrap_err();
            assert!(refused.to_string().contains("not a plain file"), "{}: {refused}", other.display());
        }
        assert_eq!(read_plain_file(&path("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
