//! A restoration that fails: what it made goes again, and it can be repeated.

use super::remove::{forced, now, strange_task};
use super::stage::{Stage, contents};

#[test]
fn f6_a_restoration_that_failed_once_leaves_nothing_and_can_be_repeated() {
    let stage = Stage::new();
    let task = strange_task(&stage);
    let before = contents(&task);
    let repository = stage.repository();
    let removal = repository.plan_removal(&forced(&task), now()).unwrap();
    removal.run(&stage.git).unwrap();
    let refs = stage.refs();
    let trash = removal.trash.unwrap();
    for words in ["worktree add", "reset --hard", "diff-tree", "update-index"] {
        let restoration = repository.plan_restoration(&trash).unwrap();
        restoration.run(&stage.git_that_fails_at(words)).unwrap_err();
        restoration.undo(&stage.git).unwrap();
        assert_eq!((stage.refs(), task.exists()), (refs.clone(), false), "{words}");
    }
    // A directory that was deleted by hand afterwards is in nobody's way either.
    let restoration = repository.plan_restoration(&trash).unwrap();
    restoration.run(&stage.git_that_fails_at("diff-tree")).unwrap_err();
    std::fs::remove_dir_all(&task).unwrap();
    repository.plan_restoration(&trash).unwrap().run(&stage.git).unwrap();
    assert_eq!(contents(&task), before);
}

#[test]
fn f6_a_failed_restoration_leaves_a_directory_that_it_did_not_make() {
    let stage = Stage::new();
    let task = stage.task("t");
    let repository = stage.repository();
    let removal = repository.plan_removal(&forced(&task), now()).unwrap();
    removal.run(&stage.git).unwrap();
    let restoration = repository.plan_restoration(removal.trash.as_deref().unwrap()).unwrap();
    stage.write(&task, "a person's", "own\n");
    restoration.run(&stage.git).unwrap_err();
    restoration.undo(&stage.git).unwrap();
    assert_eq!(contents(&task).len(), 1);
}
