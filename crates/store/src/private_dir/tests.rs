//! Private directories: what is made, what is accepted, what is refused untouched.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

/// Any user but the one who runs the tests.
const STRANGER: u32 = 54_321;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn reason(path: &Path) -> String {
    match ensure_private_dir(path) {
        Err(PrivateDirError::Refused { reason, .. }) => reason,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn b1_the_directory_and_missing_parents_are_made_for_us_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one/two/three");
    ensure_private_dir(&path).unwrap();
    ensure_private_dir(&path).unwrap();
    for made in ["one", "one/two", "one/two/three"] {
        assert_eq!(mode(&directory.path().join(made)), 0o700, "{made}");
    }
}

#[test]
fn b1_a_link_is_refused_and_nothing_is_written_through_it() {
    let directory = tempfile::tempdir().unwrap();
    let (target, path) = (directory.path().join("target"), directory.path().join("run"));
    fs::create_dir(&target).unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o700)).unwrap();
    symlink(&target, &path).unwrap();
    assert!(reason(&path).contains("symbolic link"));
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);

    fs::remove_dir(&target).unwrap();
    assert!(reason(&path).contains("symbolic link"));
    assert!(!target.exists());
}

#[test]
fn b1_a_directory_of_another_user_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("run");
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, Permissions::from_mode(0o700)).unwrap();
    // Only root can give a directory away; everyone else meets one that root has.
    let path = if me() == 0 { own } else { PathBuf::from("/usr") };
    if me() == 0 {
        chown(&path, Some(STRANGER), None).unwrap();
    }
    assert!(reason(&path).contains("belongs to user"));
}

#[test]
fn b1_a_directory_open_to_others_is_refused_and_not_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    fs::create_dir(&path).unwrap();
    for open in [0o777, 0o1777, 0o755, 0o750, 0o701] {
        fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
        assert!(reason(&path).contains("chmod 700"), "{open:o}");
        assert_eq!(mode(&path), open);
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn b1_a_plain_file_is_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    fs::write(&path, "content").unwrap();
    assert!(reason(&path).contains("not a directory"));
    assert_eq!(fs::read(&path).unwrap(), b"content");
}

#[test]
fn b1_a_parent_in_which_others_can_exchange_it_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let parent = directory.path().join("parent");
    fs::create_dir(&parent).unwrap();
    fs::set_permissions(&parent, Permissions::from_mode(0o777)).unwrap();
    assert!(reason(&parent.join("run")).contains("everyone may rename"));
    assert!(!parent.join("run").exists());
    fs::set_permissions(&parent, Permissions::from_mode(0o1777)).unwrap();
    ensure_private_dir(&parent.join("run")).unwrap();
}

#[test]
fn a_parent_may_be_reached_through_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (directory.path().join("target"), directory.path().join("link"));
    fs::create_dir(&target).unwrap();
    symlink(&target, &link).unwrap();
    ensure_private_dir(&link.join("run")).unwrap();
    assert_eq!(mode(&target.join("run")), 0o700);
}

#[test]
fn a_refusal_names_the_path_and_a_path_without_a_name_is_refused() {
    assert!(reason(Path::new("/")).contains("does not name"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    fs::write(&path, "").unwrap();
    let message = ensure_private_dir(&path).unwrap_err().to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
}
