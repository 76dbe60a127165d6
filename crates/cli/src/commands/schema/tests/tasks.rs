//! What the verbs about tasks print, one sample of each shape with every field in it.

use proto::task::{
    TaskCollected, TaskCreated, TaskDiff, TaskDropped, TaskForecast, TaskLanded, TaskOperationKind,
    TaskRestorable, TaskReview, TaskView,
};
use serde_json::{Value, json};

use super::{exit, id, name, printed};

fn task() -> Value {
    let conflict = json!({"with": "b", "is_base": true, "files": ["f"]});
    json!({"name": "a", "workspace": "local", "status": "idle", "since": 1, "project": {"key": "00", "path": "/p"},
        "directory": "/w", "worktree": {"branch": "a", "base": "main"}, "agent": "x", "prompt": "p",
        "created_at": 1, "active_at": 1, "comments": 1, "operation": "land", "failure": "f", "ports": [20000], "conflicts": [conflict],
        "processes": [{"id": id(), "name": name(), "kind": "agent", "status": "running", "agent": "x", "state": "idle", "context": 3}],
        "runs": [{"process": id(), "name": name(), "kind": "agent", "run": 1, "session": "s", "started_at": 1,
            "ended_at": 2, "exit": exit(), "prompt": "p", "turns": 3}],
        "git": {"commit": "c", "staged": 1, "unstaged": 1, "untracked": 1, "conflicted": 1, "stashed": 1, "in_use": 1, "ahead": 1, "behind": 1,
            "added": 1, "removed": 1, "merged": true, "directory": true}})
}

/// Every operation; one that is new does not compile until it is listed.
fn operations() -> Vec<TaskOperationKind> {
    use TaskOperationKind as Kind;
    let next = |kind: &Kind| match kind {
        Kind::Create => Some(Kind::Drop),
        Kind::Drop => Some(Kind::Restore),
        Kind::Restore => Some(Kind::Land),
        Kind::Land => Some(Kind::Prepare),
        Kind::Prepare => None,
    };
    std::iter::successors(Some(Kind::Create), next).collect()
}

/// A list with a task for each operation.
fn tasks() -> Value {
    let busy = |kind: TaskOperationKind| {
        let mut task = task();
        task["operation"] = json!(kind);
        task
    };
    operations().into_iter().map(busy).collect()
}

pub(super) fn samples() -> Vec<(&'static str, Value)> {
    let conflict = json!({"with": "b", "is_base": false, "files": ["f"]});
    let file = json!({"path": "a", "original": "b", "added": 1, "removed": 1});
    let diff = json!({"name": "a", "base": "c", "files": [file], "text": "t", "is_truncated": true});
    let comment = json!({"number": 1, "file": "f", "side": "old", "first": 1, "last": 2, "quoted": ["q"], "text": "t",
        "author": "human", "status": "draft", "is_stale": true});
    let landed = json!({"name": "a", "into": "main", "commit": "c", "checkout": {"updated": {"path": "/p", "saved": "r"}}});
    vec![
        ("task", printed::<TaskView>(task())),
        (
            "task_created",
            printed::<TaskCreated>(
                json!({"task": task(), "copied": ["a"], "skipped": ["b: c"], "failure": "f"}),
            ),
        ),
        ("tasks", printed::<Vec<TaskView>>(tasks())),
        ("forecast", printed::<Vec<TaskForecast>>(json!([{"task": "a", "conflict": conflict}]))),
        ("task_diff", printed::<TaskDiff>(diff)),
        ("task_review", printed::<TaskReview>(json!({"name": "a", "comments": [comment], "mail": 1}))),
        ("task_landed", printed::<TaskLanded>(landed)),
        (
            "task_landed",
            printed::<TaskLanded>(json!({"name": "a", "into": "m", "commit": "c", "checkout": "absent"})),
        ),
        ("task_dropped", printed::<TaskDropped>(json!({"name": "a", "trash": "r", "left": ["p: why"]}))),
        (
            "tasks_dropped",
            printed::<Vec<TaskRestorable>>(
                json!([{"name": "a", "workspace": "local", "directory": "/w", "branch": "a", "dropped_at": 1,
                "kept_until": 2, "is_name_taken": true}]),
            ),
        ),
        ("task_stopped", json!({"name": "a", "stopped": ["p"]})),
        (
            "task_collected",
            printed::<TaskCollected>(
                json!({"dropped": ["a"], "kept": [{"name": "b", "why": "w"}], "forgotten": ["r"]}),
            ),
        ),
        ("picked", json!({"path": "/p"})),
        (
            "projects",
            json!([{"name": "a", "key": "00", "path": "/p", "is_bare": false, "worktrees": ["/w"]}]),
        ),
        (
            "imported",
            json!({"applied": true, "settings": "", "notes": ["n"], "tasks": [
                {"name": "a", "directory": "/w", "owned": true, "runs": 1, "problem": "p"}]}),
        ),
    ]
}
