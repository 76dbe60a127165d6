//! Files that git writes for a task are as readable as those that the person's own git writes, although the daemon's own are private.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::stage::TaskStage;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// Returns the modes of these paths below a directory.
fn modes(directory: &Path, paths: [&str; 5]) -> [u32; 5] {
    paths.map(|path| mode(&directory.join(path)))
}

const WORK: &str = "mkdir -m 755 below && echo x > below/x && echo x >> shared && echo ls > run.sh && \
    chmod 644 below/x shared && chmod 755 run.sh && git add --all && git commit --quiet --message=work";
const PATHS: [&str; 5] = ["shared", "other", "below", "below/x", "run.sh"];

/// Returns the modes that the person's umask gives to a file and to a directory.
fn usual(stage: &TaskStage) -> (u32, u32) {
    (mode(&stage.repository.join("other")), mode(&stage.repository))
}

#[test]
fn f6_what_lands_has_the_modes_that_the_persons_own_git_would_give_it() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    let (file, below) = usual(&stage);
    assert_eq!(modes(&directory, ["shared", "other", ".git", "other", "shared"]), [file; 5]);
    stage.work("fix", WORK);
    stage.qd(&["land", "fix"]);
    assert_eq!(modes(&stage.repository, PATHS), [file, file, below, file, below]);
    assert_eq!((mode(&stage.repository), mode(&stage.repository.join(".git/index"))), (below, file));
}

#[test]
fn f6_what_is_restored_has_the_modes_that_it_had() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    stage.work("fix", WORK);
    stage.work(
        "fix",
        "mkdir -m 755 new && echo y > new/y && echo z > secret && chmod 644 new/y && chmod 600 secret",
    );
    stage.qd(&["drop", "fix", "--force"]);
    assert!(!directory.exists());
    stage.qd(&["restore", "fix"]);
    let (file, below) = usual(&stage);
    assert_eq!(
        modes(&directory, ["shared", "other", "below", "below/x", "run.sh"]),
        [0o644, file, below, 0o644, 0o755]
    );
    let new = modes(&directory, ["new", "new/y", "secret", "shared", "other"]);
    assert_eq!(new, [below, 0o644, 0o600, 0o644, file]);
}
