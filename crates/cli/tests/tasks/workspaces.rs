//! Workspaces from the command line: what belongs to one, what is refused before anything starts, and what stays after a kill.

use serde_json::{Value, json};

use crate::stage::TaskStage;

fn row(stage: &TaskStage, name: &str) -> Option<Value> {
    let Value::Array(all) = stage.json(&["workspace"]) else { panic!("a list") };
    all.into_iter().find(|row| row["name"] == name)
}

#[test]
fn t3_a_task_belongs_to_a_workspace_that_exists_and_follows_its_name_over_a_kill() {
    let stage = TaskStage::new();
    let (code, said) = stage.refused(&["new", "fix", "--worktree", "--workspace", "phone"]);
    assert!(code == 4 && said.contains("there is no workspace \"phone\""), "{code}: {said}");
    assert!(stage.json(&["tasks"]).as_array().unwrap().is_empty(), "nothing was made");
    assert_eq!(stage.json(&["workspace", "new", "phone"])["tasks"], 0);
    stage.qd(&["new", "fix", "--worktree", "--workspace", "phone"]);
    assert_eq!(stage.task("fix").unwrap()["workspace"], "phone");
    let (code, said) = stage.refused(&["spawn", "--task", "fix", "--workspace", "local", "--", "true"]);
    assert!(code == 4 && said.contains("is not in workspace"), "{code}: {said}");
    assert!(stage.daemon.list().is_empty(), "nothing was started");
    let (code, said) = stage.refused(&["workspace", "remove", "phone"]);
    assert!(code != 0 && said.contains("1 tasks"), "{code}: {said}");
    stage.qd(&["run", "fix", "--detach", "--", "sleep", "1000"]);
    assert_eq!(stage.daemon.process("fix").workspace, "phone");
    assert_eq!(stage.json(&["workspace", "rename", "phone", "field"])["processes"], 1);
    stage.daemon.kill_9();
    assert_eq!((row(&stage, "phone"), stage.daemon.process("fix").workspace.as_str()), (None, "field"));
    assert_eq!(row(&stage, "field").unwrap()["tasks"], 1);
    assert_eq!(stage.task("fix").unwrap()["workspace"], "field");
    stage.qd(&["close", "fix"]);
    stage.qd(&["drop", "fix", "--force"]);
    assert_eq!(stage.json(&["workspace", "remove", "field"]), json!({"removed": "field", "revoked": 0}));
    let (code, said) = stage.refused(&["restore", "fix"]);
    assert!(code == 4 && said.contains("there is no workspace \"field\""), "{code}: {said}");
    stage.qd(&["workspace", "new", "field"]);
    stage.qd(&["restore", "fix"]);
    let (code, said) = stage.refused(&["workspace", "remove", "local"]);
    assert!(code == 2 && said.contains("always there"), "{code}: {said}");
}

#[test]
fn t3_w8_tokens_of_a_workspace_follow_its_name_and_go_with_it() {
    let stage = TaskStage::new();
    let (code, said) = stage.refused(&["workspace", "token", "new", "phone", "ci"]);
    assert!(code == 4 && said.contains("there is no workspace"), "{code}: {said}");
    stage.qd(&["workspace", "new", "phone"]);
    let minted = stage.json(&["workspace", "token", "new", "phone", "ci", "--role", "type"]);
    assert_eq!((minted["role"].as_str(), minted["workspace"].as_str()), (Some("type"), Some("phone")));
    let secret = minted["secret"].as_str().unwrap();
    let kept = std::fs::read_to_string(stage.daemon.dirs().data.join("web/access.json")).unwrap();
    assert!(kept.contains("phone") && !kept.contains(secret), "kept as a digest");
    stage.qd(&["access", "token", "everywhere"]);
    stage.qd(&["workspace", "rename", "phone", "field"]);
    let Value::Array(listed) = stage.json(&["workspace", "token", "list"]) else { panic!("a list") };
    assert_eq!(listed.len(), 1, "the token without a workspace is not listed: {listed:?}");
    assert_eq!((&listed[0]["id"], &listed[0]["workspace"]), (&minted["id"], &json!("field")));
    assert!(!json!(listed).to_string().contains(secret), "it is shown once");
    assert_eq!(stage.json(&["workspace", "remove", "field"])["revoked"], 1);
    assert_eq!(stage.json(&["workspace", "token", "list"]), json!([]));
    assert_eq!(stage.json(&["access"]).as_array().unwrap().len(), 1, "others stay");
}
