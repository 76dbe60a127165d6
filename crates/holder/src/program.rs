//! Finds a program as the system would when it starts one. It decides the search path of a child without one, and
//! that only files that may be executed count.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The search path when the environment has none, as in the C library.
pub(crate) const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Returns the file that is executed for `word` in the directory `cwd`; `None` when there is none. A word with a
/// slash is a path; an empty part of the search path is `cwd`.
#[must_use]
pub fn find_program(word: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    candidates(word, path).into_iter().map(|file| cwd.join(file)).find(|file| is_program(file))
}

/// Returns the files that a word may mean, in order: itself if it has a slash, one for each directory of the search
/// path otherwise. They are relative to the child's working directory, which an empty part of the path means.
pub(crate) fn candidates(word: &OsStr, path: Option<&OsStr>) -> Vec<PathBuf> {
    if word.is_empty() {
        return Vec::new();
    }
    if word.as_bytes().contains(&b'/') {
        return vec![word.into()];
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    std::env::split_paths(path).map(|directory| directory.join(word)).collect()
}

fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_may_not_be_executed_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let write = |dir: &str, mode| {
            let dir = directory.path().join(dir);
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join("tool"), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(dir.join("tool"), PermissionsExt::from_mode(mode)).unwrap();
        };
        write("first", 0o644);
        write("second", 0o755);
        let found = find_program("tool".as_ref(), Some("first:second".as_ref()), directory.path());
        assert_eq!(found, Some(directory.path().join("second/tool")));
        let find = |word: &str| find_program(word.as_ref(), None, directory.path());
        assert_eq!(find("./first/tool"), None);
        assert_eq!(find("./second/tool"), Some(directory.path().join("./second/tool")));
        assert_eq!(find("./second"), None, "a directory is no program");
        assert_eq!(find(""), None);
        assert_eq!(find("sh"), Some("/bin/sh".into()), "the default path");
        let here = find_program("tool".as_ref(), Some("".as_ref()), &directory.path().join("second"));
        assert_eq!(here, Some(directory.path().join("second/tool")), "an empty part is the directory");
    }
}
