//! Atomic files: mode, links, what is left behind.

use std::os::unix::fs::symlink;

use super::*;

fn names(directory: &Path) -> Vec<OsString> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn f1_content_is_replaced_as_a_whole_with_mode_0600() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("note.md");
    fs::write(&path, "a longer old content").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    write_file_atomically(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(directory.path()), ["note.md"]);
}

#[test]
fn a_link_is_replaced_and_not_written_through() {
    let directory = tempfile::tempdir().unwrap();
    let (victim, path) = (directory.path().join("victim"), directory.path().join("note.md"));
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, &path).unwrap();
    write_file_atomically(&path, b"new").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"untouched");
    assert!(path.symlink_metadata().unwrap().is_file());
}

#[test]
fn a_link_planted_as_the_temporary_file_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (victim, path) = (directory.path().join("victim"), directory.path().join("note.md"));
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, directory.path().join(format!(".note.md.tmp-{}", std::process::id()))).unwrap();
    write_file_atomically(&path, b"new").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"untouched");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn what_dead_writers_left_is_removed_and_what_living_ones_write_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    // Beyond every kernel's highest pid, and the one process that always lives.
    let dead = directory.path().join(".note.md.tmp-2000000000");
    let living = directory.path().join(".note.md.tmp-1");
    let unrelated = directory.path().join(".note.md.tmp-draft");
    for file in [&dead, &living, &unrelated] {
        fs::write(file, "").unwrap();
    }
    write_file_atomically(&directory.path().join("note.md"), b"new").unwrap();
    assert!(!dead.exists());
    assert!(living.exists() && unrelated.exists());
}

#[test]
fn a_failed_write_leaves_no_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("folder");
    fs::create_dir(&path).unwrap();
    assert!(matches!(write_file_atomically(&path, b"new"), Err(StoreError::Io { .. })));
    assert_eq!(names(directory.path()), ["folder"]);
}

#[test]
fn a_missing_directory_and_a_path_without_a_name_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let missing = write_file_atomically(&directory.path().join("no/note.md"), b"");
    assert!(matches!(missing, Err(StoreError::Io { .. })));
    assert!(matches!(write_file_atomically(Path::new("/"), b""), Err(StoreError::Refused { .. })));
}

#[test]
fn writers_in_one_process_do_not_tear_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("note.md");
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..25 {
                    write_file_atomically(path, &vec![b'a' + writer; 10_000 + usize::from(writer)]).unwrap();
                }
            });
        }
    });
    let content = fs::read(&path).unwrap();
    assert_eq!(content, vec![content[0]; 10_000 + usize::from(content[0] - b'a')]);
    assert_eq!(names(directory.path()), ["note.md"]);
}
