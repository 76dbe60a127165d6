//! Names, paths and repositories that are made to break things: the right result or a clear error, and no byte lost.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use worktree::{
    BranchName, CreateRequest, GitError, Layout, RemoveRequest, Repository, StartPoint, StatusCache,
    StatusQuery,
};

use super::stage::{Stage, branch, contents, planned};

/// Branch names, revisions and paths that have gone wrong somewhere.
const HOSTILE: [&str; 84] = [
    "",
    " ",
    "-",
    "--",
    "-b",
    "--lock",
    "--force",
    "--detach",
    "-d",
    "--help",
    "--upload-pack=touch x",
    "-x y",
    "--end-of-options",
    "--orphan",
    "--output=x",
    "--exec=touch x",
    "a b",
    "a\tb",
    "a\nb",
    "a\rb",
    "a\x07b",
    "a\x7fb",
    "a\x1b[2Jb",
    "..",
    "a..b",
    "...",
    ".",
    ".a",
    "a.",
    "a/.b",
    "a/",
    "/a",
    "//",
    "a//b",
    "/",
    "../x",
    "../../x",
    "a/../b",
    "/etc/passwd",
    "~",
    "~root",
    "a~1",
    "a^",
    "a^{}",
    "^a",
    "a:b",
    ":/x",
    ":",
    "a?",
    "a*",
    "[a",
    "a]",
    "[a-z]",
    "a\\b",
    "\\",
    "@",
    "@{-1}",
    "@{u}",
    "a@{1}",
    "HEAD",
    "HEAD~1",
    "FETCH_HEAD",
    "a.lock",
    "a.lock/b",
    "x/a.lock",
    "refs/heads/../x",
    "$(touch x)",
    "`touch x`",
    "a;touch x",
    "a|b",
    "a&b",
    "a'b",
    "a\"b",
    "%s%n",
    "{a,b}",
    "!x",
    "#x",
    "é",
    "日本",
    "🦀",
    "a\u{202e}b",
    "main",
    "refs/heads/main",
    "CON",
];

#[test]
fn f5_a_name_is_accepted_only_if_git_accepts_it_and_it_is_no_option() {
    let stage = Stage::new();
    for name in HOSTILE {
        let ours = BranchName::parse(name).is_ok();
        let printed = stage.try_plain(&stage.app(), &["check-ref-format", "--branch", name]);
        let gits = printed.is_ok_and(|printed| printed.trim_end_matches('\n') == name);
        let is_special = name.starts_with('-') || name.starts_with("refs/") || name == "HEAD" || name == "@";
        assert_eq!(ours, gits && !is_special, "{name:?}");
    }
    assert!(BranchName::parse(&"a".repeat(150)).is_ok() && BranchName::parse(&"a".repeat(151)).is_err());
}

#[test]
fn f5_hostile_bases_and_names_make_a_worktree_of_exactly_that_name_or_nothing() {
    let stage = Stage::new();
    let repository = stage.repository();
    let outside = contents(&stage.path("home"));
    let mut made = 0;
    for (index, text) in HOSTILE.iter().enumerate() {
        let before = stage.refs();
        let name = branch(&format!("base{index}"));
        let start = StartPoint::Revision((*text).to_owned());
        let request = CreateRequest { name: name.clone(), start, root: stage.path("tasks") };
        match planned(&repository, &request) {
            Ok(creation) => {
                assert_eq!(
                    Some(creation.start.clone()),
                    repository.branch(&branch("main")).unwrap(),
                    "{text:?}"
                );
                assert_eq!(stage.refs(), before, "planning changes nothing");
            }
            Err(error) => assert!(matches!(error, GitError::UnknownRevision { .. }), "{text:?}: {error}"),
        }
        assert_eq!(stage.refs(), before, "{text:?}");
        let Ok(name) = BranchName::parse(text) else { continue };
        let request =
            CreateRequest { name: name.clone(), start: StartPoint::DefaultBranch, root: stage.path("tasks") };
        if let Ok(creation) = planned(&repository, &request) {
            creation.run(&stage.git).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert!(creation.path.starts_with(stage.path("tasks")), "{text:?}");
            let listed = repository.worktrees().unwrap();
            let ours = listed.iter().find(|one| one.path == creation.path).unwrap();
            assert_eq!((ours.branch.as_deref(), ours.locked.is_some()), (Some(*text), false));
            creation.undo(&stage.git).unwrap();
            assert_eq!(stage.refs(), before, "{text:?}");
            made += 1;
        }
    }
    assert!(made > 10, "{made}");
    assert_eq!(contents(&stage.path("home")), outside);
    assert!(!stage.path("x").exists() && !stage.app().join("x").exists());
}

#[test]
fn f5_roots_with_spaces_quotes_unicode_newlines_and_leading_dashes_work() {
    let stage = Stage::new();
    for (index, root) in
        ["with space", "é 日本", "a\"b'c", "-dash", "new\nline", "$(touch x)", "a:b"].iter().enumerate()
    {
        let name = branch(&format!("t{index}"));
        let request =
            CreateRequest { name: name.clone(), start: StartPoint::DefaultBranch, root: stage.path(root) };
        let made = planned(&stage.repository(), &request).unwrap();
        match made.run(&stage.git) {
            Ok(()) => {}
            Err(error) => panic!("{root:?}: {error}"),
        }
        stage.write(&made.path, "untracked", "u\n");
        let before = contents(&made.path);
        let request =
            RemoveRequest { path: made.path.clone(), task: name, branch: None, base: None, force: true };
        let removal = stage.repository().plan_removal(&request, UNIX_EPOCH).unwrap();
        removal.run(&stage.git).unwrap();
        assert!(!made.path.exists(), "{root:?}");
        stage
            .repository()
            .plan_restoration(removal.trash.as_deref().unwrap())
            .unwrap()
            .run(&stage.git)
            .unwrap();
        assert_eq!(contents(&made.path), before, "{root:?}");
    }
}

fn status_of(stage: &Stage, common_dir: PathBuf, path: PathBuf) -> worktree::WorktreeStatus {
    let query = StatusQuery { common_dir, path, branch: None, base: None, start: None };
    StatusCache::default().status(&stage.git, &query).unwrap()
}

#[test]
fn f5_a_repository_without_commits_a_plain_directory_and_a_missing_one_are_clear_errors() {
    let stage = Stage::new();
    let empty = stage.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = Repository::open(&stage.git, &empty).unwrap_err();
    assert!(matches!(error, GitError::NotARepository { .. }), "{error}");
    assert!(matches!(Repository::open(&stage.git, &stage.path("no")), Err(GitError::DirectoryGone { .. })));
    stage.plain(&empty, &["init", "-q"]);
    let repository = Repository::open(&stage.git, &empty).unwrap();
    for start in [StartPoint::DefaultBranch, StartPoint::Revision("main".to_owned())] {
        let request = CreateRequest { name: branch("t"), start, root: stage.path("tasks") };
        let error = planned(&repository, &request).unwrap_err();
        assert!(matches!(error, GitError::NoCommits { .. }), "{error}");
    }
    stage.write(&empty, "f", "");
    let status = status_of(&stage, empty.join(".git"), empty.clone());
    assert_eq!(status.checkout.unwrap().untracked, 1);
}

#[test]
fn f5_a_bare_repository_and_one_with_a_separate_git_directory_have_worktrees() {
    let stage = Stage::new();
    let bare = stage.path("bare.git");
    stage.plain(&stage.app(), &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let apart = stage.path("apart");
    let directory = format!("--separate-git-dir={}", stage.path("store").display());
    stage.plain(&stage.app(), &["clone", "-q", &directory, ".", apart.to_str().unwrap()]);
    for (path, name) in [(&bare, "bare--t"), (&apart, "store--t")] {
        let repository = Repository::open(&stage.git, path).unwrap();
        let request =
            CreateRequest { name: branch("t"), start: StartPoint::DefaultBranch, root: stage.path("tasks") };
        let creation = planned(&repository, &request).unwrap();
        creation.run(&stage.git).unwrap();
        assert_eq!(creation.path, stage.path("tasks").join(name));
        let status = status_of(&stage, creation.common_dir.clone(), creation.path.clone());
        assert_eq!(status.checkout.unwrap().branch.as_deref(), Some("t"));
        assert_eq!(
            Layout::find(&creation.path.join("src")).unwrap().common_dir,
            repository.layout().common_dir
        );
    }
}

#[test]
fn f5_a_repository_on_another_file_system_is_removed_and_restored_there() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("/dev/shm cannot be written to: not tested on another file system");
        return;
    };
    let stage = Stage::at(directory, "with space é");
    let task = stage.task("t");
    stage.write(&task, "untracked", "u\n");
    let before = contents(&task);
    let request =
        RemoveRequest { path: task.clone(), task: branch("t"), branch: None, base: None, force: true };
    let removal = stage.repository().plan_removal(&request, UNIX_EPOCH).unwrap();
    removal.run(&stage.git).unwrap();
    stage.repository().plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
    assert_eq!(contents(&task), before);
}

#[test]
fn f5_a_filter_is_run_so_that_stored_and_checked_out_bytes_are_right() {
    let stage = Stage::new();
    let app = stage.app();
    stage.plain(&app, &["config", "filter.pointer.clean", "sed s/^/stored:/"]);
    stage.plain(&app, &["config", "filter.pointer.smudge", "sed s/^stored://"]);
    stage.plain(&app, &["config", "filter.pointer.required", "true"]);
    stage.write(&app, ".gitattributes", "*.bin filter=pointer\n");
    stage.write(&app, "big.bin", "content\n");
    stage.commit_all(&app, "pointer");
    assert_eq!(stage.plain(&app, &["cat-file", "blob", "HEAD:big.bin"]), "stored:content\n");
    let task = stage.task("t");
    assert_eq!(std::fs::read_to_string(task.join("big.bin")).unwrap(), "content\n");
    let status = status_of(&stage, app.join(".git"), task.clone());
    assert!(!status.checkout.unwrap().is_dirty());
    stage.write(&task, "new.bin", "stored:literal\n");
    let before = contents(&task);
    let request =
        RemoveRequest { path: task.clone(), task: branch("t"), branch: None, base: None, force: true };
    let removal = stage.repository().plan_removal(&request, UNIX_EPOCH).unwrap();
    removal.run(&stage.git).unwrap();
    stage.repository().plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
    assert_eq!(contents(&task), before);
}

#[test]
fn f5_an_index_that_another_tool_has_locked_is_told_and_reading_goes_on() {
    let stage = Stage::new();
    let app = stage.app();
    let task = stage.task("t");
    stage.commit_file(&task, "a", "a");
    let lock = Layout::at(&task).unwrap().git_dir.join("index.lock");
    std::fs::write(&lock, "").unwrap();
    stage.write(&task, "README", "changed");
    let status = status_of(&stage, app.join(".git"), task.clone());
    assert_eq!(status.checkout.unwrap().unstaged, 1);
    let reference = app.join(".git/refs/heads/new.lock");
    std::fs::write(&reference, "").unwrap();
    let error = stage.plan("new", StartPoint::DefaultBranch).run(&stage.git).unwrap_err();
    assert!(matches!(&error, GitError::Locked { what, .. } if what.ends_with("new.lock")), "{error}");
    assert!(lock.exists() && reference.exists(), "a foreign lock is not removed");
}
