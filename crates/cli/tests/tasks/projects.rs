//! Finding repositories, choosing one, attaching by the name of a task, and where new worktrees begin and lie.

use std::ffi::OsStr;
use std::path::Path;

use proto::Size;
use testkit::{DEADLINE, Pty};

use crate::stage::{QD, TaskStage, git};

const COMMIT: &str = "git add --all && git commit --quiet --message=work";

fn configure(stage: &TaskStage, text: &str) {
    let config = stage.daemon.dirs().config;
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), text).unwrap();
}

#[test]
fn k12_projects_are_listed_below_the_roots_of_the_settings_with_short_names_and_picked_by_a_part() {
    let stage = TaskStage::new();
    let source = stage.repository.with_file_name("src");
    for name in ["one/api", "two/api", "two/web", ".hidden/secret", "deep/er/still/app", "build-x/thing"] {
        let path = source.join(name);
        std::fs::create_dir_all(&path).unwrap();
        git(&path, &["init", "--quiet"]);
    }
    let shown = source.display();
    configure(&stage, &format!("[projects]\nroots = ['{shown}']\ndepth = 3\nignore = ['.*', 'build-*']\n"));
    let names: Vec<String> = stage.json(&["projects"]).as_array().unwrap().iter().map(name).collect();
    assert_eq!(names, ["one/api", "two/api", "web"]);
    let raw = stage.qd(&["projects", source.join("two").to_str().unwrap(), "--raw"]);
    assert_eq!(raw, format!("{shown}/two/api\n{shown}/two/web\n"));
    assert_eq!(stage.qd(&["pick", "web"]), format!("{shown}/two/web\n"));
    assert_eq!(stage.qd(&["pick", "one/api"]), format!("{shown}/one/api\n"));
    let (code, told) = stage.refused(&["pick", "api"]);
    assert!(code == 2 && told.contains("one/api, two/api"), "{code} {told}");
    let (code, told) = stage.refused(&["projects", "/no/such"]);
    assert!(code == 2 && told.contains("/no/such"), "{code} {told}");
}

fn name(project: &serde_json::Value) -> String {
    project["name"].as_str().unwrap().to_owned()
}

#[test]
fn k12_a_task_with_a_worktree_is_a_worktree_of_its_project() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    let below = stage.repository.parent().unwrap().to_str().unwrap();
    let found = stage.json(&["projects", below]);
    let project = found.as_array().unwrap().iter().find(|project| name(project) == "app repo ä").unwrap();
    assert_eq!(project["worktrees"], serde_json::json!([directory.to_str().unwrap()]));
    assert_eq!(project["key"], stage.task("fix").unwrap()["project"]["key"], "one project");
}

fn terminal(stage: &TaskStage, arguments: &[&str], directory: &Path) -> Pty {
    let mut terminal = Pty::open(Size { cols: 100, rows: 20 });
    let variables = stage.daemon.variables();
    let mut variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    variables.push(("AT", directory.as_os_str()));
    let line: Vec<&str> =
        ["-c", "cd \"$AT\" && exec \"$0\" \"$@\"", QD].iter().chain(arguments).copied().collect();
    terminal.spawn(OsStr::new("/bin/sh"), &line, &variables);
    terminal
}

#[test]
fn k12_attach_finds_the_process_of_a_task_by_its_name_and_by_the_directory() {
    let stage = TaskStage::new();
    let directory = stage.new_task("feat/x");
    std::fs::create_dir(directory.join("deep")).unwrap();
    let (code, told) = stage.refused(&["attach", "feat/x"]);
    assert!(
        code == 1 && told.contains("nothing runs in task") && told.contains("qd run feat/x"),
        "{code} {told}"
    );
    stage.qd(&[
        "run",
        "feat/x",
        "--detach",
        "--",
        "sh",
        "-c",
        "echo hello-from-the-task; exec sleep 1000000",
    ]);
    for (arguments, place) in
        [(&["attach", "feat/x"][..], &stage.repository), (&["attach"], &directory.join("deep"))]
    {
        let mut terminal = terminal(&stage, arguments, place);
        terminal.expect(b"hello-from-the-task");
        terminal.type_keys(b"\x1cd");
        assert!(terminal.wait_exit(DEADLINE).success(), "{arguments:?}");
    }
    let (code, told) = stage.refused(&["attach", "nobody"]);
    assert!(code == 3 && told.contains("nobody"), "{code} {told}");
}

#[test]
fn k12_worktrees_are_made_below_the_root_of_the_settings() {
    let stage = TaskStage::new();
    let root = stage.repository.with_file_name("my worktrees");
    configure(&stage, &format!("[tasks]\nroot = '{}'\n", root.display()));
    let directory = stage.new_task("fix");
    assert_eq!(directory, root.join("app repo ä--fix"));
    stage.work("fix", &format!("echo new > new && {COMMIT}"));
    stage.qd(&["land", "fix"]);
    assert!(stage.repository.join("new").exists());
    let left: Vec<_> = std::fs::read_dir(&root).unwrap().collect();
    assert_eq!(left.len(), 1, "no scratch worktree is left: {left:?}");
}

#[test]
fn k10_a_fault_in_the_settings_is_an_error_where_a_worktree_would_be_made_in_another_place() {
    let stage = TaskStage::new();
    stage.new_task("fix");
    stage.work("fix", &format!("echo new > new && {COMMIT}"));
    configure(&stage, "[tasks]\n\nrot = '/elsewhere'\n");
    for verb in [&["new", "more", "--worktree"][..], &["land", "fix"]] {
        let (code, told) = stage.refused(verb);
        assert!(code == 2 && told.contains("config.toml") && told.contains("line 3"), "{code} {told}");
        assert!(told.contains("rot") && told.contains("root"), "the nearest key is named: {told}");
    }
    assert!(stage.task("more").is_none() && !stage.repository.join("new").exists());
    assert_eq!(git(&stage.repository, &["branch", "--list", "more"]), "");
    stage.qd(&["new", "here"]);
    configure(&stage, "");
    stage.qd(&["new", "more", "--worktree"]);
    stage.qd(&["land", "fix"]);
}

#[test]
fn k10_config_check_path_and_schema_answer_for_good_and_bad_files() {
    let stage = TaskStage::new();
    configure(&stage, "[tasks]\nagent = 'x'\n");
    assert!(stage.run(&["config", "check"]).status.success());
    let paths = stage.json(&["config", "path"]);
    let config = stage.daemon.dirs().config.join("config.toml");
    let is_config = |file: &serde_json::Value| file["path"] == config.to_str().unwrap();
    let entry = paths.as_array().unwrap().iter().find(|file| is_config(file)).unwrap();
    assert_eq!(entry["exists"], true, "{entry}");
    for kind in ["config", "worktree-init"] {
        let schema: serde_json::Value = serde_json::from_str(&stage.qd(&["config", "schema", kind])).unwrap();
        assert_eq!(schema["type"], "object", "{kind}");
        assert!(schema["properties"].is_object(), "{kind}: {schema}");
    }
    configure(&stage, "[tasks]\nagnt = 'x'\nrot = 'y'\n");
    std::fs::write(stage.repository.join(".worktree-init.toml"), "comands = []\n").unwrap();
    let output = stage.run(&["--json", "config", "check"]);
    assert!(!output.status.success());
    let checked: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let faults = |name: &str| -> Vec<String> {
        let files = checked.as_array().unwrap();
        let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(name)).unwrap();
        file["faults"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| format!("{} {}", fault["line"], fault["message"]))
            .collect()
    };
    let [first, second] = &faults("config.toml")[..] else { panic!("two faults: {checked}") };
    assert!(first.starts_with("2 ") && first.contains("agent"), "{first}");
    assert!(second.starts_with("3 ") && second.contains("root"), "{second}");
    let [init] = &faults(".worktree-init.toml")[..] else { panic!("one fault: {checked}") };
    assert!(init.starts_with("1 ") && init.contains("commands"), "{init}");
}

#[test]
fn f5_a_task_begins_from_a_remote_branch_that_was_just_fetched() {
    let stage = TaskStage::new();
    let remote = stage.repository.with_file_name("remote.git");
    git(&stage.repository, &["clone", "--quiet", "--bare", ".", remote.to_str().unwrap()]);
    let other = stage.repository.with_file_name("other");
    git(&stage.repository, &["clone", "--quiet", remote.to_str().unwrap(), other.to_str().unwrap()]);
    git(&stage.repository, &["remote", "add", "origin", remote.to_str().unwrap()]);
    git(&other, &["switch", "--quiet", "--create", "topic"]);
    std::fs::write(other.join("theirs"), "x\n").unwrap();
    git(&other, &["add", "--all"]);
    git(&other, &["commit", "--quiet", "--message=topic"]);
    git(&other, &["push", "--quiet", "origin", "topic"]);
    let (code, told) = stage.refused(&["new", "fix", "--worktree", "--start", "origin/topic"]);
    assert!(code == 3, "nothing is fetched unasked: {code} {told}");
    stage.qd(&["new", "fix", "--worktree", "--start", "origin/topic", "--fetch"]);
    assert!(stage.directory("fix").join("theirs").exists());
    assert_eq!(git(&stage.directory("fix"), &["rev-parse", "--abbrev-ref", "@{u}"]), "origin/topic\n");
    git(&stage.repository, &["remote", "set-url", "origin", "/no/such/remote"]);
    let (_, told) = stage.refused(&["new", "more", "--worktree", "--fetch"]);
    assert!(told.contains("--fetch") && stage.task("more").is_none(), "{told}");
}

#[test]
fn k7_a_task_lands_on_another_branch_and_by_a_merge_commit() {
    let stage = TaskStage::new();
    git(&stage.repository, &["branch", "release"]);
    for name in ["fix", "more"] {
        stage.new_task(name);
        stage.work(name, &format!("echo {name} > {name}.txt && {COMMIT}"));
    }
    let main = git(&stage.repository, &["rev-parse", "main"]);
    stage.qd(&["land", "fix", "--into", "release"]);
    assert_eq!(git(&stage.repository, &["rev-parse", "main"]), main, "only the branch that was named moves");
    assert_eq!(
        git(&stage.repository, &["rev-parse", "release"]),
        git(&stage.repository, &["rev-parse", "fix"])
    );
    let landed = stage.json(&["land", "more", "--into", "release", "--merge"]);
    assert_eq!(landed["into"], "release");
    let parents = git(&stage.repository, &["rev-list", "--parents", "--max-count=1", "release"]);
    assert_eq!(parents.split_whitespace().count(), 3, "a commit with two parents: {parents}");
    let (code, _) = stage.refused(&["land", "fix", "--into", "nowhere"]);
    assert_eq!(code, 3);
}
