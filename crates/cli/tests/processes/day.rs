//! A person's day: commands in the foreground, a project's presets, and tidying up.

use std::io::Write;
use std::process::Stdio;

use proto::Status;
use testkit::MarkedDaemon;

use super::{sh, stage};

/// Runs `qd` with an input to its end; returns the exit code and the output.
fn with_input(stage: &MarkedDaemon, words: &[&str], input: &str) -> (Option<i32>, String) {
    let mut command = stage.command(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn m14_exec_returns_the_exit_code_and_leaves_nothing_behind() {
    let stage = stage();
    let mark = stage.mark();
    let exec = |script: &str| {
        let output = stage.qd(&["exec", "--env", &mark, "--", "sh", "-c", script]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(exec("printf 'one\\ntwo'; exit 3"), (Some(3), "one\ntwo".to_owned()));
    assert_eq!(exec("kill -KILL $$"), (Some(137), String::new()));
    assert_eq!(exec("true"), (Some(0), String::new()));
    assert_eq!(stage.list(), []);
}

#[test]
fn m14_exec_passes_its_input_without_an_echo_and_its_end() {
    let stage = stage();
    let mark = stage.mark();
    let cat = ["exec", "--env", &mark, "--", "cat"];
    assert_eq!(with_input(&stage, &cat, "a\r\nümlaut\n"), (Some(0), "a\r\nümlaut\n".to_owned()));
    assert_eq!(with_input(&stage, &cat, "no line end"), (Some(0), "no line end".to_owned()));
    assert_eq!(with_input(&stage, &cat, ""), (Some(0), String::new()));
    let count = ["exec", "--keep", "--name", "kept", "--env", &mark, "--", "wc", "-l"];
    let lines = "line\n".repeat(5000);
    let (code, counted) = with_input(&stage, &count, &lines);
    assert_eq!((code, counted.trim()), (Some(0), "5000"));
    assert_eq!(stage.process("kept").status, Status::Exited);
}

#[test]
fn m14_exec_of_a_command_that_leaves_its_input_unread_returns_its_exit_code() {
    let stage = stage();
    let mark = stage.mark();
    let head = ["exec", "--env", &mark, "--", "sh", "-c", "head -c 1; exit 4"];
    let input = "x\n".repeat(50_000);
    for _ in 0..5 {
        assert_eq!(with_input(&stage, &head, &input), (Some(4), "x".to_owned()));
    }
    let nothing = ["exec", "--env", &mark, "--", "true"];
    for _ in 0..20 {
        assert_eq!(with_input(&stage, &nothing, ""), (Some(0), String::new()));
    }
    assert_eq!(stage.list(), []);
}

#[test]
fn m14_wait_can_return_the_exit_code() {
    let stage = stage();
    stage.run("fails", sh("exit 7"));
    assert_eq!(stage.qd(&["wait", "fails", "--exit"]).status.code(), Some(0));
    assert_eq!(stage.qd(&["wait", "fails", "--exit", "--exit-code"]).status.code(), Some(7));
}

#[test]
fn m15_presets_come_up_in_order_of_readiness_and_go_down() {
    let stage = stage();
    let app = stage.root().join("app");
    std::fs::create_dir(&app).unwrap();
    let file = format!(
        "[preset.db]\nshell = \"echo starting; until test -e go; do sleep 0.05; done; touch ran; echo db is up; sleep 1000\"\n\
         ready = {{ pattern = \"db is up\" }}\nenv = {{ {mark} }}\n\
         [preset.web]\nshell = \"test -e ran && touch in_order; sleep 1000\"\nafter = [\"db\"]\nenv = {{ {mark} }}\n",
        mark = stage.mark().replace('=', " = '") + "'"
    );
    std::fs::write(app.join(".quarterdeck.toml"), file).unwrap();
    let mut up = stage.command(&["up"]).current_dir(&app).stdout(Stdio::piped()).spawn().unwrap();
    let is_waited_for = || stage.list().iter().any(|process| process.ready == Some(false)).then_some(());
    testkit::process_scan::eventually("db is waited for", is_waited_for);
    assert!(stage.list().iter().all(|process| process.name.as_str() != "web"), "web waits for db");
    // `qd up` goes on with the next daemon.
    stage.kill_9();
    std::fs::write(app.join("go"), "").unwrap();
    assert!(up.wait().unwrap().success());
    let mut names: Vec<String> = stage.list().iter().map(|process| process.name.to_string()).collect();
    names.sort_unstable();
    assert_eq!(names, ["db", "web"]);
    testkit::process_scan::eventually("web saw db", || app.join("in_order").exists().then_some(()));
    let pids = || stage.list().iter().map(|process| process.pid).collect::<Vec<_>>();
    let before = pids();
    assert!(stage.command(&["up"]).current_dir(&app).output().unwrap().status.success());
    assert_eq!(pids(), before, "what runs is left alone");
    let down = stage.command(&["down", "db"]).current_dir(&app).output().unwrap();
    let said = String::from_utf8(down.stdout).unwrap();
    let (web, db) = (said.find("web is closed").unwrap(), said.find("db is closed").unwrap());
    assert!(web < db, "{said}");
    assert_eq!(stage.list(), []);
}

/// A project of this name whose file has these presets.
fn app(stage: &MarkedDaemon, name: &str, presets: &str) -> std::path::PathBuf {
    let directory = stage.root().join(name);
    std::fs::create_dir(&directory).unwrap();
    let file = presets.replace("MARK", &(stage.mark().replace('=', " = '") + "'"));
    std::fs::write(directory.join(".quarterdeck.toml"), file).unwrap();
    directory
}

#[test]
fn m15_presets_of_two_projects_with_one_name_come_up_and_go_down_each_by_its_project() {
    let stage = stage();
    let presets = "[preset.dev]\nshell = \"echo is up; sleep 1000\"\nready = { pattern = \"is up\" }\nenv = { MARK }\n\
                   [preset.web]\nshell = \"sleep 1000\"\nafter = [\"dev\"]\nenv = { MARK }\n";
    let (acme, shop) = (app(&stage, "acme", presets), app(&stage, "shop", presets));
    let said = |words: &[&str], directory: &std::path::Path| {
        let output = stage.command(words).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let names = || {
        let mut names: Vec<String> = stage.list().iter().map(|process| process.name.to_string()).collect();
        names.sort_unstable();
        names
    };
    said(&["up"], &acme);
    let up = said(&["up"], &shop);
    assert!(up.contains("dev is called shop-dev here") && up.contains("shop-web ("), "{up}");
    assert_eq!(names(), ["dev", "shop-dev", "shop-web", "web"]);
    let again = said(&["up"], &shop);
    assert!(again.contains("shop-dev runs already") && again.contains("shop-web runs already"), "{again}");
    // The same start by hand names the process that runs.
    let twice = stage.command(&["spawn", "--preset", "dev"]).current_dir(&shop).output().unwrap();
    let words = String::from_utf8(twice.stderr).unwrap();
    assert_eq!(twice.status.code(), Some(7), "{words}");
    assert!(words.contains("runs already, as shop-dev") && words.contains("qd attach shop-dev"), "{words}");
    said(&["down"], &acme);
    assert_eq!(names(), ["shop-dev", "shop-web"]);
    said(&["down", "dev"], &shop);
    assert_eq!(stage.list(), []);
}

#[test]
fn m15_a_preset_that_ends_before_it_is_ready_is_named_with_what_was_awaited_and_what_it_printed() {
    let stage = stage();
    let presets =
        "[preset.dev]\nshell = \"echo address in use; exit 1\"\nready = { port = 1 }\nenv = { MARK }\n";
    let shop = app(&stage, "shop", presets);
    let up = stage.command(&["up"]).current_dir(&shop).output().unwrap();
    let said = String::from_utf8(up.stderr).unwrap();
    assert_eq!(up.status.code(), Some(1), "{said}");
    assert!(
        said.contains("preset dev: dev ended before it listened on port 1\n  address in use\n"),
        "{said}"
    );
    assert!(said.contains("qd logs dev"), "{said}");
}

#[test]
fn m15_a_name_that_is_nearly_right_is_told_and_one_that_is_no_task_but_a_process() {
    let stage = stage();
    stage.run("hello", sh("read line"));
    let told = |words: &[&str]| {
        let output = stage.qd(words);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for verb in ["attach", "read", "kill"] {
        let told = told(&[verb, "helo"]);
        assert!(told.contains("no process \"helo\"") && told.contains("did you mean hello?"), "{told}");
    }
    let stop = told(&["stop", "hello"]);
    assert!(stop.contains("qd kill hello") && stop.contains("qd close hello"), "{stop}");
    assert!(told(&["diff", "hello"]).contains("hello is a process, not a task"));
    assert!(!told(&["stop", "nobody"]).contains("is a process"));
}

#[test]
fn m15_prune_removes_what_is_over_and_says_which() {
    let stage = stage();
    stage.run("over", sh("true"));
    stage.run("alive", sh("read line"));
    stage.wait_exit("over");
    let pruned = stage.qd(&["prune"]);
    assert_eq!(String::from_utf8(pruned.stdout).unwrap(), "over is removed\n");
    let names: Vec<String> = stage.list().iter().map(|process| process.name.to_string()).collect();
    assert_eq!(names, ["alive"]);
    assert!(stage.qd(&["--quiet", "prune"]).stdout.is_empty());
}

#[test]
fn m15_a_search_without_a_match_exits_1_and_attach_lists_the_names() {
    let stage = stage();
    stage.run("one", sh("echo needle; read line"));
    stage.run("two", sh("read line"));
    stage.wait_pattern("one", "needle");
    assert_eq!(stage.qd(&["search", "one", "needle"]).status.code(), Some(0));
    assert_eq!(stage.qd(&["search", "one", "haystack"]).status.code(), Some(1));
    let attach = stage.qd(&["attach"]);
    let said = String::from_utf8(attach.stderr).unwrap();
    assert_eq!(attach.status.code(), Some(2), "{said}");
    assert!(said.contains("one, two"), "{said}");
}

#[test]
fn m15_a_list_is_ordered_by_age_and_events_have_times() {
    let stage = stage();
    for name in ["c", "a", "b"] {
        stage.run(name, sh("read line"));
    }
    let listed = String::from_utf8(stage.qd(&["ps"]).stdout).unwrap();
    let names: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["c", "a", "b"]);
    let mut events = stage.command(&["events", "--limit", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    // Until it listens there may be no event for it.
    let output = testkit::process_scan::eventually("an event", || {
        stage.qd(&["rename", "a", "z"]);
        stage.qd(&["rename", "z", "a"]);
        events.try_wait().unwrap()
    });
    assert!(output.success());
    let mut line = String::new();
    std::io::Read::read_to_string(&mut events.stdout.take().unwrap(), &mut line).unwrap();
    assert!(line.starts_with("20") && line.contains(':'), "{line}");
}

#[test]
fn m15_bash_completes_names_of_processes() {
    let stage = stage();
    stage.run("builder", sh("read line"));
    let qd = env!("CARGO_BIN_EXE_qd");
    let script = format!(
        "source <({qd} completions bash); COMP_WORDS=({qd} attach bui); COMP_CWORD=2; _qd; echo \"${{COMPREPLY[*]}}\""
    );
    let mut bash = std::process::Command::new("bash");
    let output = bash.args(["-c", &script]).envs(stage.variables()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "builder\n");
}

#[test]
fn m11_fish_completes_names_verbs_and_flags_and_files_only_where_nothing_else_may_stand() {
    let stage = stage();
    stage.run("builder", sh("read line"));
    let here = stage.root().join("here");
    std::fs::create_dir(&here).unwrap();
    std::fs::write(here.join("building.txt"), "").unwrap();
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_qd")).parent().unwrap();
    let complete = |line: &str| {
        let script = format!(
            "set -p PATH {}; qd completions fish | source; complete -C '{line}'",
            directory.display()
        );
        let mut fish = std::process::Command::new("fish");
        let fish = fish.args(["--no-config", "-c", &script]).current_dir(&here).env("HOME", stage.root());
        let output = fish.envs(stage.variables()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete("qd attach bui"), "builder\n");
    assert_eq!(complete("qd spaw"), "spawn\n");
    assert_eq!(complete("qd attach --read"), "--read-only\n");
    assert_eq!(complete("qd spawn -- cat bui"), "building.txt\n");
}
