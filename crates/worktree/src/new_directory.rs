//! Directories that are as open as the one above them. The process may have a umask that is not the user's, and what it makes
//! for a user must be as readable as what the user makes.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes a directory and those above it that are missing.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Ok(()) => open_as_above(path, 0o777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(path.parent().ok_or(error)?)?;
            make(path)
        }
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a worktree's directory with the file that leads git to its repository.
pub(crate) fn make_with_link(path: &Path, link: &str) -> io::Result<()> {
    make(path)?;
    let file = path.join(".git");
    fs::write(&file, link)?;
    open_as_above(&file, 0o666)
}

fn open_as_above(path: &Path, most: u32) -> io::Result<()> {
    let above = path.parent().unwrap_or(path).metadata()?.permissions().mode();
    fs::set_permissions(path, Permissions::from_mode(above & most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_as_open_as_the_directory_above_it() {
        let root = tempfile::tempdir().unwrap();
        for open in [0o755, 0o700, 0o775] {
            let above = root.path().join(format!("{open:o}"));
            fs::create_dir(&above).unwrap();
            fs::set_permissions(&above, Permissions::from_mode(open)).unwrap();
            let made = above.join("a/b");
            make_with_link(&made, "gitdir: x\n").unwrap();
            make(&made).unwrap();
            let modes = [mode(&above.join("a")), mode(&made), mode(&made.join(".git"))];
            assert_eq!(modes, [open, open, open & 0o666]);
        }
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        assert!(make(&root.path().join("file")).is_err());
        assert!(make(&root.path().join("file/below")).is_err());
    }
}
