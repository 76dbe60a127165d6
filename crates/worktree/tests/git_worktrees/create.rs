//! Worktrees from every kind of start, what they are given, and fetching.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use worktree::{CreateRequest, GitError, InitFile, Repository, StartPoint, copy_included};

use super::stage::{Stage, branch, planned};

#[test]
fn f5_a_worktree_begins_at_the_default_branch_a_revision_a_local_or_a_remote_branch() {
    let stage = Stage::new();
    let app = stage.app();
    let first = stage.head(&app);
    let second = stage.commit_file(&app, "b", "b");
    stage.plain(&app, &["tag", "v1", first.as_str()]);
    stage.plain(&app, &["branch", "old", first.as_str()]);
    stage.plain(&app, &["clone", "-q", ".", stage.path("origin").to_str().unwrap()]);
    stage.plain(&app, &["remote", "add", "up", stage.path("origin").to_str().unwrap()]);
    stage.repository().fetch("up", None, Duration::from_secs(60), &mut |_| {}).unwrap();
    let remote = StartPoint::RemoteBranch { remote: "up".to_owned(), branch: branch("main") };
    let cases = [
        ("a", StartPoint::DefaultBranch, &second),
        ("b/c", StartPoint::Revision("v1".to_owned()), &first),
        ("d", StartPoint::Revision(first.as_str()[..9].to_owned()), &first),
        ("old", StartPoint::ExistingBranch, &first),
        ("e", remote, &second),
    ];
    for (name, start, commit) in cases {
        let creation = stage.plan(name, start);
        creation.run(&stage.git).unwrap();
        assert_eq!(creation.path, stage.path("tasks").join(format!("app--{}", name.replace('/', "-"))));
        assert_eq!(&stage.head(&creation.path), commit, "{name}");
        let checked_out = stage.plain(&creation.path, &["symbolic-ref", "--short", "HEAD"]);
        assert_eq!(checked_out.trim(), name);
        assert_eq!(stage.plain(&creation.path, &["status", "--porcelain"]), "");
    }
    let upstream = stage.plain(&app, &["rev-parse", "--abbrev-ref", "e@{upstream}"]);
    assert_eq!(upstream.trim(), "up/main");
}

#[test]
fn f5_the_default_branch_is_what_the_remote_names_then_a_usual_name_then_the_checked_out_one() {
    let stage = Stage::new();
    let app = stage.app();
    stage.plain(&app, &["switch", "-q", "-c", "work"]);
    assert_eq!(stage.repository().default_branch().unwrap(), "main");
    stage.plain(&app, &["branch", "-q", "-m", "main", "stable"]);
    assert_eq!(stage.repository().default_branch().unwrap(), "work");
    stage.plain(&app, &["update-ref", "refs/remotes/origin/dev", "HEAD"]);
    stage.plain(&app, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev"]);
    assert_eq!(stage.repository().default_branch().unwrap(), "origin/dev");
    stage.plain(&app, &["branch", "dev"]);
    assert_eq!(stage.repository().default_branch().unwrap(), "dev");
}

#[test]
fn f5_names_that_are_taken_clash_in_case_or_are_in_the_way_are_refused_and_nothing_is_made() {
    let stage = Stage::new();
    stage.plain(&stage.app(), &["branch", "Feature/one"]);
    let before = stage.refs();
    for name in ["main", "MAIN", "feature/ONE", "feature", "main/x", "Feature/one/more"] {
        let request =
            CreateRequest { name: branch(name), start: StartPoint::DefaultBranch, root: stage.path("tasks") };
        let error = planned(&stage.repository(), &request).unwrap_err();
        assert!(matches!(error, GitError::Exists { .. }), "{name}: {error}");
    }
    assert_eq!(stage.refs(), before);
}

#[test]
fn f5_two_repositories_of_one_name_have_different_directories_for_one_task() {
    let stage = Stage::new();
    stage.init(&stage.path("elsewhere/app"));
    let first = stage.task("fix");
    let other = Repository::open(&stage.git, &stage.path("elsewhere/app")).unwrap();
    let request =
        CreateRequest { name: branch("fix"), start: StartPoint::DefaultBranch, root: stage.path("tasks") };
    let second = planned(&other, &request).unwrap();
    second.run(&stage.git).unwrap();
    assert_ne!(first, second.path);
    assert!(first.join("README").is_file() && second.path.join("README").is_file());
}

#[test]
fn f5_included_files_are_copied_with_their_mode_never_linked_never_from_outside_and_never_over_others() {
    let stage = Stage::new();
    let app = stage.app();
    stage.write(&app, ".env", "SECRET=1\n");
    std::fs::set_permissions(app.join(".env"), std::fs::Permissions::from_mode(0o600)).unwrap();
    stage.write(&app, "conf/a.local", "a");
    stage.write(&app, "conf/keep.txt", "not asked for");
    stage.write(&app, "build/cache.bin", "ignored but asked for");
    stage.write(&stage.path("outside"), "secret.local", "outside");
    std::os::unix::fs::symlink(stage.path("outside/secret.local"), app.join("link.local")).unwrap();
    std::os::unix::fs::symlink(stage.path("outside"), app.join("linked")).unwrap();
    stage.write(&app, "there.local", "main's");
    let task = stage.task("t");
    stage.write(&task, "there.local", "the task's");
    let patterns = ["/.env", "*.local", "build/cache.*", "!conf/b*", "../outside/*"].map(str::to_owned);
    let copied = copy_included(&stage.git, &app, &task, &patterns).unwrap();
    let names: Vec<&str> = copied.files.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, [".env", "build/cache.bin", "conf/a.local"]);
    let skipped: Vec<&str> = copied.skipped.iter().map(|(path, _)| path.to_str().unwrap()).collect();
    assert_eq!(skipped, ["link.local", "there.local"], "{:?}", copied.skipped);
    let mode = std::fs::metadata(task.join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(task.join("there.local")).unwrap(), "the task's");
    assert!(!task.join("linked").exists() && !task.join("conf/keep.txt").exists());
}

#[test]
fn f5_a_linked_directory_in_the_worktree_is_not_written_through() {
    let stage = Stage::new();
    let app = stage.app();
    std::fs::create_dir(stage.path("outside")).unwrap();
    std::os::unix::fs::symlink(stage.path("outside"), app.join("conf")).unwrap();
    stage.commit_all(&app, "a link");
    let task = stage.task("t");
    std::fs::remove_file(app.join("conf")).unwrap();
    stage.write(&app, "conf/a.local", "a");
    let copied = copy_included(&stage.git, &app, &task, &["*.local".to_owned()]).unwrap();
    assert_eq!(copied.files, [""; 0].map(std::path::PathBuf::from));
    assert_eq!(copied.skipped.len(), 1);
    assert_eq!(std::fs::read_dir(stage.path("outside")).unwrap().count(), 0);
}

#[test]
fn f5_an_init_file_is_read_from_a_plain_file_only() {
    let stage = Stage::new();
    let app = stage.app();
    assert_eq!(InitFile::read(&app).unwrap(), InitFile::default());
    stage.write(&app, ".worktree-init.toml", "include = ['.env']\n\ncomands = []\n");
    let error = InitFile::read(&app).unwrap_err().to_string();
    let wanted = ".worktree-init.toml:3: unknown field `comands`, expected `include` or `commands`";
    assert!(error.ends_with(wanted), "{error}");
    std::fs::rename(app.join(".worktree-init.toml"), app.join("x.toml")).unwrap();
    std::os::unix::fs::symlink("x.toml", app.join(".worktree-init.toml")).unwrap();
    assert!(matches!(InitFile::read(&app), Err(GitError::Io { .. })));
}

#[test]
fn f5_fetching_names_a_remote_of_the_repository_and_tells_its_progress() {
    let stage = Stage::new();
    let app = stage.app();
    stage.plain(&app, &["clone", "-q", ".", stage.path("origin").to_str().unwrap()]);
    let new = stage.commit_file(&stage.path("origin"), "new", "new");
    stage.plain(&app, &["remote", "add", "origin", stage.path("origin").to_str().unwrap()]);
    let repository = stage.repository();
    let mut lines = Vec::new();
    repository
        .fetch("origin", Some(&branch("main")), Duration::from_secs(60), &mut |line| lines.push(line))
        .unwrap();
    assert!(lines.iter().any(|line| line.percent == Some(100)), "{lines:?}");
    assert_eq!(repository.commit("origin/main").unwrap(), new);
    for hostile in ["--upload-pack=touch x", "ext::sh -c touch% x", "/etc", "nowhere", ""] {
        let error = repository.fetch(hostile, None, Duration::from_secs(60), &mut |_| {}).unwrap_err();
        assert!(matches!(error, GitError::BadName { .. }), "{hostile}: {error}");
    }
}
