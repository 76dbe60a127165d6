//! The files in the server's own directory: plain files that only this user can read. What else stands in the place of one is an
//! error.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Makes a directory that only this user may enter, and those above it.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let known = fs::symlink_metadata(directory)?;
    if !known.is_dir() || known.uid() != rustix::process::getuid().as_raw() || known.mode() & 0o077 != 0 {
        let what = format!("{} is not a directory of yours alone: make its mode 0700", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// Opens a file for writing, or makes one that only this user can read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().create(true).write(true).truncate(false), path)
}

/// The same, for appending.
pub(crate) fn appended_file(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().create(true).append(true), path)
}

/// Reads one of the files.
pub(crate) fn read_private(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(OpenOptions::new().read(true), path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a plain file. A link would lead to a file of somebody's choice, and a pipe would wait for its other end.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let refused = |error: Option<io::Error>| {
        let kind = error.map_or(io::ErrorKind::InvalidInput, |error| error.kind());
        io::Error::new(kind, format!("{} is not a plain file: move it away", path.display()))
    };
    match options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(refused(None)),
        // What ELOOP and ENXIO say of a link and of a pipe helps nobody.
        Err(error) if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) => {
            Err(refused(Some(error)))
        }
        Err(error) => Err(error),
    }
}

/// Replaces a file by another one that only this user can read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let written = private_file(&part).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn m8_a_link_or_a_pipe_in_the_place_of_a_file_is_refused_at_once_and_nothing_is_written_through_it() {
        let root = tempfile::tempdir().unwrap();
        let (named, link, pipe) =
            (root.path().join("named"), root.path().join("link"), root.path().join("pipe"));
        std::os::unix::fs::symlink(&named, &link).unwrap();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for exists in [false, true] {
            if exists {
                fs::write(&named, "somebody's").unwrap();
            }
            for path in [&link, &pipe] {
                let errors = [private_file(path).err(), appended_file(path).err(), read_private(path).err()];
                for error in errors {
                    let said = error.expect("it is refused").to_string();
                    assert!(said.contains("is not a plain file"), "{said}");
                }
            }
            assert_eq!(fs::read_to_string(&named).ok().as_deref(), exists.then_some("somebody's"));
        }
        appended_file(&root.path().join("new")).unwrap().write_all(b"one").unwrap();
        assert_eq!(read_private(&root.path().join("new")).unwrap(), b"one");
    }
}
