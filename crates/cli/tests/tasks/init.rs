//! What a new worktree is prepared with: files, commands and ports; and what holds in all worktrees of a repository.

use std::path::Path;

use crate::stage::{TaskStage, git};

fn write_init(stage: &TaskStage, text: &str) {
    std::fs::write(stage.repository.join(".worktree-init.toml"), text).unwrap();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn k6_a_new_worktree_gets_its_files_commands_and_ports() {
    let stage = TaskStage::new();
    std::fs::write(stage.repository.join(".env"), "SECRET=1\n").unwrap();
    write_init(
        &stage,
        "include = ['.env*']\ncommands = ['cat .env > seen', ['sh', '-c', 'echo $QD_PORT $QD_PORT_1 > ports']]\n",
    );
    let created = stage.json(&["new", "fix", "--worktree", "--ports", "2"]);
    let directory = stage.directory("fix");
    assert_eq!(created["copied"], serde_json::json!([".env"]), "{created}");
    assert_eq!(read(&directory.join("seen")), "SECRET=1\n");
    let ports = created["task"]["ports"].as_array().unwrap();
    assert_eq!(read(&directory.join("ports")), format!("{} {}\n", ports[0], ports[1]));
    assert!(stage.daemon.list().is_empty(), "what succeeded is not left in the list");
    let other = stage.json(&["new", "other", "--worktree", "--ports", "2"]);
    let theirs = other["task"]["ports"].as_array().unwrap();
    assert!(theirs.iter().all(|port| !ports.contains(port)), "{ports:?} {theirs:?}");
}

#[test]
fn k6_an_init_command_that_fails_is_reported_and_the_worktree_stays() {
    let stage = TaskStage::new();
    write_init(&stage, "commands = ['echo the reason; exit 3', 'touch never']\n");
    let (code, told) = stage.refused(&["new", "fix", "--worktree"]);
    assert!(code == 1 && told.contains("failed with 3") && told.contains("the reason"), "{code} {told}");
    let directory = stage.directory("fix");
    assert!(directory.join("shared").exists() && !directory.join("never").exists());
    assert_eq!(stage.daemon.list().len(), 1, "what failed can be looked at");
}

#[test]
fn f5_a_fault_in_the_init_file_is_named_and_nothing_is_made() {
    let stage = TaskStage::new();
    write_init(&stage, "include = []\ncomands = []\n");
    let (code, told) = stage.refused(&["new", "fix", "--worktree"]);
    assert!(code == 2 && told.contains(":2:") && told.contains("did you mean `commands`"), "{code} {told}");
    assert!(stage.task("fix").is_none());
    assert_eq!(git(&stage.repository, &["branch", "--list", "fix"]), "");
}

#[test]
fn f5_the_init_file_of_a_strangers_branch_runs_nothing() {
    let stage = TaskStage::new();
    let marks = stage.repository.with_file_name("pwned");
    git(&stage.repository, &["switch", "--quiet", "--create", "stranger"]);
    write_init(&stage, &format!("commands = ['touch {}']\n", marks.display()));
    git(&stage.repository, &["add", "--all"]);
    git(&stage.repository, &["commit", "--quiet", "--message=evil"]);
    git(&stage.repository, &["switch", "--quiet", "main"]);
    stage.qd(&["new", "look", "--worktree", "--start", "stranger"]);
    assert!(stage.directory("look").join(".worktree-init.toml").exists());
    assert!(!marks.exists());
}

#[test]
fn k9_what_is_trusted_in_one_worktree_holds_in_the_others_and_in_no_other_repository() {
    let stage = TaskStage::new();
    let preset = "[preset.dev]\nargv = [\"sh\", \"-c\", \"true\"]\n";
    std::fs::write(stage.repository.join(".quarterdeck.toml"), preset).unwrap();
    git(&stage.repository, &["add", "--all"]);
    git(&stage.repository, &["commit", "--quiet", "--message=preset"]);
    let worktree = stage.new_task("fix");
    let other = stage.repository.with_file_name("other");
    git(&stage.repository, &["clone", "--quiet", ".", other.to_str().unwrap()]);
    let is_trusted = |directory: &Path| {
        let output = stage.daemon.command(&["--json", "presets"]).current_dir(directory).output().unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        list["presets"][0]["trusted"].as_bool().unwrap()
    };
    assert!(!is_trusted(&worktree));
    let trusted = stage.daemon.command(&["trust", "preset", "dev"]).current_dir(&worktree).output().unwrap();
    assert!(trusted.status.success(), "{trusted:?}");
    assert!(is_trusted(&worktree) && is_trusted(&stage.repository));
    assert!(!is_trusted(&other), "a clone is another project");
    let pads = |directory: &Path, words: &[&str]| {
        stage.daemon.command(words).current_dir(directory).output().unwrap()
    };
    assert!(pads(&worktree, &["pads", "write", "plan", "shared"]).status.success());
    let shown = |directory: &Path| pads(directory, &["pads", "show", "plan"]).stdout;
    assert_eq!(shown(&stage.repository), shown(&worktree));
    assert!(!pads(&other, &["pads", "show", "plan"]).status.success());
}
