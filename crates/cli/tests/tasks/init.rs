//! What a new worktree is prepared with: files, commands and ports; and what holds in all worktrees of a repository.

use std::ffi::OsStr;
use std::path::Path;

use daemon::TaskFailpoint;
use proto::Size;
use testkit::{DEADLINE, Pty};

use crate::stage::{QD, TaskStage, git};

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

/// Runs a verb at a terminal, waits until it shows these words, lets what it waits for end, and waits for its end.
fn shows_progress(stage: &TaskStage, verb: &[&str], words: &str, go: &Path) {
    let mut terminal = Pty::open(Size { cols: 120, rows: 20 });
    let variables = stage.daemon.variables();
    let mut variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    variables.push(("AT", stage.repository.as_os_str()));
    let line: Vec<&str> =
        ["-c", "cd \"$AT\" && exec \"$0\" \"$@\"", QD].iter().chain(verb).copied().collect();
    terminal.spawn(OsStr::new("/bin/sh"), &line, &variables);
    terminal.expect(words.as_bytes());
    std::fs::write(go, "").unwrap();
    // The line is erased before the result is printed.
    terminal.expect(b"\r\x1b[K");
    terminal.expect(b"fix");
    assert!(terminal.wait_exit(DEADLINE).success(), "{verb:?}");
    std::fs::remove_file(go).unwrap();
}

#[test]
fn k6_at_a_terminal_the_command_that_prepares_a_worktree_and_the_gate_of_a_landing_are_shown_while_they_run()
{
    let stage = TaskStage::new();
    let go = stage.repository.with_file_name("go");
    let shown = "s); qd attach prepare-fix shows it";
    let wait = |name: &str| format!(": {name}; until [ -e '{}' ]; do sleep 0.05; done", go.display());
    write_init(&stage, &format!("commands = [\"{}\"]\n", wait("install")));
    shows_progress(&stage, &["new", "fix", "--worktree"], shown, &go);
    stage.work("fix", "echo new > new && git add --all && git commit --quiet --message=work");
    let land = ["land", "fix", "--gate", &wait("check")];
    shows_progress(&stage, &land, "s); qd attach gate-fix shows it", &go);
    // Without a terminal nothing is shown.
    std::fs::write(&go, "").unwrap();
    let output = stage.run(&["new", "more", "--worktree"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
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

#[test]
fn k9_presets_and_rules_of_the_main_checkout_hold_in_a_worktree_that_has_none_and_in_no_other_repository() {
    let stage = TaskStage::new();
    let worktree = stage.new_task("fix");
    let other = stage.repository.with_file_name("other");
    git(&stage.repository, &["clone", "--quiet", ".", other.to_str().unwrap()]);
    let file = "[preset.dev]\nargv = [\"sh\", \"-c\", \"pwd; exec sleep 1000000\"]\n";
    std::fs::write(stage.repository.join(".quarterdeck.toml"), file).unwrap();
    let run = |directory: &Path, words: &[&str]| {
        stage.daemon.command(words).current_dir(directory).output().unwrap()
    };
    let names = |directory: &Path| {
        let list: serde_json::Value =
            serde_json::from_slice(&run(directory, &["--json", "presets"]).stdout).unwrap();
        list["presets"].as_array().unwrap().iter().map(|preset| preset["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&worktree), ["dev"]);
    assert!(names(&other).is_empty(), "a clone is another project");
    assert!(run(&worktree, &["spawn", "--preset", "dev", "--name", "dev"]).status.success());
    stage.daemon.wait_pattern("dev", "app");
    assert_eq!(
        stage.daemon.process("dev").program.cwd,
        worktree.to_str().unwrap(),
        "it starts where it was asked for"
    );
    // A worktree's own file comes first.
    std::fs::write(worktree.join(".quarterdeck.toml"), file.replace("dev", "own")).unwrap();
    assert_eq!(names(&worktree), ["own"]);
    assert_eq!(names(&stage.repository), ["dev"]);
}

/// Lets a process in a directory start a command of its own; returns what it got for that.
fn start_from_inside(stage: &TaskStage, name: &str, directory: &Path) -> String {
    let line = format!("'{QD}' spawn --name listed-{name} -- sleep 1000001; echo it ended with $?");
    let words = ["spawn", "--name", name, "--", "sh", "-c", &line];
    let output = stage.daemon.command(&words).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    stage.daemon.wait_pattern(name, "it ended with [0-9]");
    stage.daemon.screen(name)
}

#[test]
fn k9_a_list_of_commands_that_was_trusted_in_one_worktree_holds_in_the_others_and_in_no_clone() {
    let stage = TaskStage::new();
    let policy = "[policy]\nfree = \"allow\"\nallow = [[\"sleep\", \"1000001\"]]\n";
    std::fs::write(stage.repository.join(".quarterdeck.toml"), policy).unwrap();
    git(&stage.repository, &["add", "--all"]);
    git(&stage.repository, &["commit", "--quiet", "--message=policy"]);
    let (first, second) = (stage.new_task("first"), stage.new_task("second"));
    let clone = stage.repository.with_file_name("clone");
    git(&stage.repository, &["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let before = start_from_inside(&stage, "before", &second);
    assert!(!before.contains("it ended with 0"), "nobody trusts the list yet: {before}");
    let trusted = stage.daemon.command(&["trust", "policy"]).current_dir(&first).output().unwrap();
    assert!(trusted.status.success(), "{trusted:?}");
    for (name, directory) in [("in-first", &first), ("in-second", &second), ("in-main", &stage.repository)] {
        let told = start_from_inside(&stage, name, directory);
        assert!(told.contains("it ended with 0"), "{name}: {told}");
    }
    let told = start_from_inside(&stage, "in-clone", &clone);
    assert!(!told.contains("it ended with 0"), "a clone is another project: {told}");
}

/// Starts a daemon whose environment has a variable that nothing of the person's has.
fn start_with_canary(stage: &TaskStage) {
    stage.daemon.kill_9();
    assert!(stage.command(&["ps"]).env("DAEMONS_OWN", "canary").output().unwrap().status.success());
}

#[test]
fn b9_gates_and_init_commands_have_the_environment_of_the_person_and_nothing_of_the_daemons() {
    let stage = TaskStage::new();
    start_with_canary(&stage);
    let seen = |file: &str| {
        let text = read(&stage.repository.with_file_name(file));
        ["PERSONS_OWN=here", "DAEMONS_OWN=", "PATH="]
            .map(|name| text.lines().any(|line| line.starts_with(name)))
    };
    let out = |file: &str| format!("env > '{}'", stage.repository.with_file_name(file).display());
    write_init(&stage, &format!("commands = [\"{}\"]\n", out("init")));
    let run = |words: &[&str]| {
        let output = stage.command(words).env("PERSONS_OWN", "here").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&["new", "fix", "--worktree"]);
    assert_eq!(seen("init"), [true, false, true]);
    stage.work("fix", "echo new > new && git add --all && git commit --quiet --message=work");
    run(&["land", "fix", "--gate", &out("gate")]);
    assert_eq!(seen("gate"), [true, false, true]);

    // The person's environment is not stored: after a kill neither hers nor the daemon's is passed on, beyond the variables
    // that every process gets.
    let die_at = |step: TaskFailpoint| std::fs::write(&stage.order, step.name()).unwrap();
    die_at(TaskFailpoint::Made);
    run(&["new", "more", "--worktree"]);
    assert!(!stage.order.exists());
    assert_eq!(seen("init"), [false, false, true]);
    stage.work("more", "echo more > more && git add --all && git commit --quiet --message=work");
    start_with_canary(&stage);
    die_at(TaskFailpoint::Prepared);
    run(&["land", "more", "--gate", &out("gate")]);
    assert!(!stage.order.exists());
    assert_eq!(seen("gate"), [false, false, true]);
}

#[test]
fn k9_a_bare_repository_without_a_main_checkout_is_one_project_with_all_of_its_worktrees() {
    let stage = TaskStage::new();
    let house = stage.repository.with_file_name("house");
    std::fs::create_dir(&house).unwrap();
    let bare = house.join(".bare");
    git(&stage.repository, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    std::fs::write(house.join(".git"), "gitdir: ./.bare\n").unwrap();
    git(&house, &["worktree", "add", "--quiet", "main"]);
    stage.qd(&["new", "fix", "--worktree", "--directory", house.to_str().unwrap()]);
    let worktree = stage.directory("fix");
    assert!(worktree.ends_with("house--fix"), "{}", worktree.display());
    let pads = |directory: &Path, words: &[&str]| {
        let output = stage.daemon.command(words).current_dir(directory).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(pads(&worktree, &["pads", "write", "plan", "shared"]).0);
    for directory in [&house, &house.join("main"), &bare] {
        assert_eq!(
            pads(directory, &["pads", "show", "plan"]).1,
            pads(&worktree, &["pads", "show", "plan"]).1
        );
    }
    assert!(!pads(&stage.repository, &["pads", "show", "plan"]).0, "another repository");
    let found = stage.json(&["projects", house.to_str().unwrap()]);
    assert_eq!(found[0]["key"], stage.task("fix").unwrap()["project"]["key"], "{found}");
}

#[test]
fn k9_what_was_noted_in_a_directory_before_it_was_a_worktree_is_the_repositorys() {
    let stage = TaskStage::new();
    let worktree = stage.repository.with_file_name("later");
    std::fs::create_dir(&worktree).unwrap();
    let pads = |directory: &Path, words: &[&str]| {
        let output = stage.daemon.command(words).current_dir(directory).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(pads(&worktree, &["pads", "write", "plan", "noted before"]).0);
    git(&stage.repository, &["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    assert!(pads(&worktree, &["pads", "show", "plan"]).1.contains("noted before"));
    assert!(pads(&stage.repository, &["pads", "show", "plan"]).1.contains("noted before"));
}
