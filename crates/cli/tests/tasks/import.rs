//! `qd import tam`: an existing ledger and settings become tasks, after a dry run that changes nothing.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stage::{TaskStage, git, state};

/// A person's files of tam: a worktree with work, a directory, one that is gone, and one that was dropped.
struct Tam {
    stage: TaskStage,
    worktree: PathBuf,
    notes: PathBuf,
}

impl Tam {
    fn new() -> Self {
        let stage = TaskStage::new();
        let beside = |name: &str| stage.repository.with_file_name(name);
        let (worktree, notes) = (beside("worktrees").join("app--feat"), beside("notes"));
        let path = worktree.to_str().unwrap();
        git(&stage.repository, &["worktree", "add", "--quiet", "-b", "feat", path]);
        std::fs::write(worktree.join("work"), "tracked\n").unwrap();
        git(&worktree, &["add", "--all"]);
        git(&worktree, &["commit", "--quiet", "--message=work"]);
        std::fs::write(worktree.join("untracked"), "precious\n").unwrap();
        std::fs::create_dir(&notes).unwrap();
        let events = [
            json!({"type": "task_created", "name": "feat", "dir": worktree, "owned": true, "timestamp": 1_700_000_000}),
            json!({"type": "agent_run_started", "task": "feat", "provider": "qd-agent-test", "session_id": "s-1",
                "timestamp": 1_700_000_100}),
            json!({"type": "agent_run_ended", "task": "feat", "exit_code": 0, "timestamp": 1_700_000_200}),
            json!({"type": "task_created", "name": "notes", "dir": notes, "owned": false, "timestamp": 1_700_000_300}),
            json!({"type": "task_created", "name": "lost", "dir": "/no/such/place", "owned": true, "timestamp": 1}),
            json!({"type": "task_created", "name": "old", "dir": "/no/such/old", "owned": true, "timestamp": 2}),
            json!({"type": "task_dropped", "task": "old", "timestamp": 3}),
        ];
        let lines: Vec<String> = events.iter().map(ToString::to_string).collect();
        let home = stage.daemon.root();
        write(&home.join(".local/share/tam/ledger.jsonl"), &format!("{}\nhalf a li", lines.join("\n")));
        let config = "[spawn]\ndefault_agent = 'qd-agent-test'\n[worktree]\nroot = '~/worktrees'\n\
                      [discovery]\nmax_depth = 5\nignore = ['.*']\n";
        write(&home.join(".config/tam/config.toml"), config);
        Self { stage, worktree, notes }
    }

    fn import(&self, more: &[&str]) -> Value {
        let words: Vec<&str> = ["--json", "import", "tam"].iter().chain(more).copied().collect();
        let mut command = self.stage.command(&words);
        let output = command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["tasks"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn k11_a_dry_run_says_what_would_be_done_and_changes_nothing() {
    let tam = Tam::new();
    let before = state(&tam.stage.repository);
    let report = tam.import(&[]);
    assert_eq!(report["applied"], false);
    let feat = row(&report, "feat");
    assert!(feat["owned"] == true && feat["runs"] == 1 && feat["problem"].is_null(), "{report}");
    assert!(row(&report, "notes")["owned"] == false, "{report}");
    assert!(row(&report, "lost")["problem"].as_str().unwrap().contains("/no/such/place"), "{report}");
    assert!(!report.to_string().contains("/no/such/old"), "a dropped task is not imported: {report}");
    assert!(report["settings"].as_str().unwrap().contains("depth = 5"), "{report}");
    assert!(report["notes"].to_string().contains("1 lines of the ledger"), "{report}");
    assert_eq!(tam.stage.json(&["tasks"]), json!([]));
    assert!(!tam.stage.daemon.dirs().config.join("config.toml").exists());
    assert!(state(&tam.stage.repository) == before);
}

#[test]
fn k11_tasks_of_tam_become_tasks_with_their_worktree_branch_runs_and_session() {
    let tam = Tam::new();
    let report = tam.import(&["--apply"]);
    assert_eq!(report["applied"], true);
    let feat = tam.stage.task("feat").unwrap();
    assert_eq!(feat["directory"], tam.worktree.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(feat["worktree"], json!({"branch": "feat", "base": "main"}), "{feat}");
    assert_eq!(feat["created_at"], 1_700_000_000_000_u64);
    assert_eq!(
        (feat["runs"][0]["session"].as_str(), feat["runs"][0]["exit"]["code"].as_i64()),
        (Some("s-1"), Some(0))
    );
    assert_eq!((&feat["git"]["ahead"], &feat["git"]["untracked"]), (&json!(1), &json!(1)), "{feat}");
    assert_eq!(feat["agent"], "qd-agent-test");
    let notes = tam.stage.task("notes").unwrap();
    assert!(notes["worktree"].is_null() && notes["agent"] == "qd-agent-test", "{notes}");
    // A second time there is nothing to do, and nothing is doubled.
    let again = tam.import(&["--apply"]);
    assert!(row(&again, "feat")["problem"].as_str().unwrap().contains("already"), "{again}");
    assert_eq!(tam.stage.json(&["tasks"]).as_array().unwrap().len(), 2);
    let config = std::fs::read_to_string(tam.stage.daemon.dirs().config.join("config.toml")).unwrap();
    assert_eq!(config.matches("[tasks]").count(), 1, "{config}");
    // It is a task like any other: saved when it is dropped, and back with every byte.
    tam.stage.qd(&["drop", "feat", "--force"]);
    assert!(!tam.worktree.exists());
    tam.stage.qd(&["restore", "feat"]);
    assert_eq!(std::fs::read_to_string(tam.worktree.join("untracked")).unwrap(), "precious\n");
    tam.stage.qd(&["drop", "notes"]);
    assert!(tam.notes.exists(), "a directory of the person's own stays");
}

#[test]
fn k11_a_worktree_with_another_branch_is_imported_as_a_directory_that_is_never_removed() {
    let tam = Tam::new();
    git(&tam.worktree, &["switch", "--quiet", "--create", "elsewhere"]);
    let report = tam.import(&["--apply"]);
    assert_eq!(row(&report, "feat")["owned"], false, "{report}");
    assert!(report["notes"].to_string().contains("is not checked out"), "{report}");
    tam.stage.qd(&["drop", "feat"]);
    assert!(tam.worktree.join("untracked").exists());
}
