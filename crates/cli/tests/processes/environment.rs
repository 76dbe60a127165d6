//! What a child finds at its start: identity, size, directory, environment; and why it may not start at all.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use proto::error::Cause;
use proto::request::{ChangeWorkspace, Restart, SizeRequest, Spawn, WorkspaceChange};
use proto::{ErrorCode, Request};
use testkit::{MarkedDaemon, Tail, TestDaemon};

use super::{argv, sh, stage, text};

#[test]
fn t1_a_process_has_its_identity_its_size_and_its_directory() {
    let stage = stage();
    let directory = stage.root().join("work dir");
    std::fs::create_dir(&directory).unwrap();
    let script = "echo \"id=$QD_PROCESS_ID ws=$QD_WORKSPACE_ID task=[$QD_TASK_ID]\"; stty size; pwd -P";
    let (name, change) = ("harbour".to_owned(), WorkspaceChange::Create);
    stage.client().change_workspace(ChangeWorkspace { name, change }).unwrap();
    let spawned = stage.spawn_as(Spawn {
        cwd: Some(directory.display().to_string()),
        size: SizeRequest { cols: Some(101), rows: Some(33) },
        workspace: Some("harbour".to_owned()),
        ..stage.spec("one", sh(script))
    });
    let printed = text(Tail::live(&stage, "one").to_end());
    let real = directory.canonicalize().unwrap();
    let expected = format!("id={} ws=harbour task=[]\r\n33 101\r\n{}\r\n", spawned.id, real.display());
    assert_eq!(printed, expected);
}

#[test]
fn t4_a_directory_that_is_gone_is_told_and_nothing_is_registered() {
    let stage = stage();
    let gone = stage.root().join("gone");
    let spawn = Spawn { cwd: Some(gone.display().to_string()), ..stage.spec("x", sh("echo no")) };
    let failure = stage.refusal(Request::Spawn(Box::new(spawn)));
    assert_eq!(failure.code, ErrorCode::WorkdirGone);
    assert!(failure.message.contains("gone"), "{failure:?}");
    assert_eq!(stage.list(), []);
}

#[test]
fn t4_an_unknown_task_is_told_and_nothing_is_registered() {
    let stage = stage();
    let spawn = Spawn { task: Some("no-such".to_owned()), ..stage.spec("x", sh("echo no")) };
    let failure = stage.refusal(Request::Spawn(Box::new(spawn)));
    assert_eq!(failure.code, ErrorCode::TaskNotFound);
    assert!(failure.message.contains("no-such"), "{failure:?}");
    assert_eq!(stage.list(), []);
}

#[test]
fn t11_spawn_errors_keep_their_cause() {
    let stage = stage();
    let plain = stage.root().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    let closed = stage.root().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let cases = [
        (argv(&["/no/such/program"]), None, ErrorCode::SpawnFailed, Some(Cause::NotFound)),
        (argv(&["no-such-program-on-path"]), None, ErrorCode::SpawnFailed, Some(Cause::NotFound)),
        (argv(&[plain.to_str().unwrap()]), None, ErrorCode::SpawnFailed, Some(Cause::Permission)),
        (argv(&["/"]), None, ErrorCode::SpawnFailed, Some(Cause::Permission)),
        (argv(&["true"]), Some("/no/such/dir"), ErrorCode::WorkdirGone, None),
        (argv(&["true"]), Some("/dev/null"), ErrorCode::WorkdirGone, None),
    ];
    for (argv, cwd, code, cause) in cases {
        let cwd = cwd.map(str::to_owned).or(Some("/".to_owned()));
        let failure = stage.refusal(Request::Spawn(Box::new(Spawn { cwd, ..stage.spec("x", argv.clone()) })));
        assert_eq!((failure.code, failure.cause), (code, cause), "{argv:?}: {failure:?}");
    }
    // Root may enter every directory; for other users a closed one is reported as such.
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read_dir(&closed).is_err() {
        let cwd = Some(closed.display().to_string());
        let failure = stage.refusal(Request::Spawn(Box::new(Spawn { cwd, ..stage.spec("x", sh("true")) })));
        assert!(matches!(failure.code, ErrorCode::WorkdirGone | ErrorCode::SpawnFailed), "{failure:?}");
    }
    assert_eq!(stage.list(), []);
}

/// Returns the names a command sees that are on no list.
fn canaries(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| line.starts_with("CANARY_")).collect()
}

#[test]
fn h9_m11_a_clean_command_sees_the_allow_list_and_none_of_the_daemons_secrets() {
    let daemon = TestDaemon::without_start(env!("CARGO_BIN_EXE_qd"));
    let mut starter = daemon.command(&["ps"]);
    for number in 0..50 {
        starter.env(format!("CANARY_{number}"), "secret");
    }
    starter.env("LC_ALL", "C").env("TERM", "dumb").env("TMUX", "x").env("GITHUB_TOKEN", "CANARY_T");
    assert!(starter.output().unwrap().status.success());
    let stage = MarkedDaemon::around(daemon);
    // Once from the daemon's own environment, once from the client's.
    stage.run("own", sh("env"));
    let clean = ["spawn", "--clean-env", "--name", "clients", "--env", &stage.mark(), "--", "env"];
    let mut client = stage.command(&clean);
    for number in 0..50 {
        client.env(format!("CANARY_{number}"), "secret");
    }
    assert!(client.env("LC_ALL", "C").output().unwrap().status.success());
    for name in ["own", "clients"] {
        let printed = text(Tail::live(&stage, name).to_end()).replace('\r', "");
        assert_eq!(canaries(&printed), Vec::<&str>::new(), "{name}");
        assert!(!printed.contains("CANARY_T") && !printed.contains("TMUX="), "{name}: {printed}");
        let has = |line: &str| printed.lines().any(|printed| printed == line);
        assert!(has("TERM=xterm-256color") && has("COLORTERM=truecolor"), "{name}: {printed}");
        assert!(has("LC_ALL=C.UTF-8"), "{name}: {printed}");
        assert!(printed.contains("\nPATH=") || printed.starts_with("PATH="), "{name}: {printed}");
    }
}

/// Returns what a process printed until its end, without carriage returns.
fn printed(stage: &MarkedDaemon, name: &str) -> String {
    text(Tail::live(stage, name).to_end()).replace('\r', "")
}

#[test]
fn m11_what_a_person_spawns_gets_that_persons_environment_and_nothing_of_the_daemons() {
    let daemon = TestDaemon::without_start(env!("CARGO_BIN_EXE_qd"));
    assert!(daemon.command(&["ps"]).env("DAEMONS_OWN", "secret").output().unwrap().status.success());
    let stage = MarkedDaemon::around(daemon);
    let bin = stage.root().join("own bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("only-here");
    std::fs::write(&program, "#!/bin/sh\nread line; env\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let odd = std::ffi::OsString::from_vec(b"caf\xe9".to_vec());
    let config = stage.dirs().config.join("config.toml");
    std::fs::write(config, "[spawn]\nenv_drop = ['DROPPED_*']\n").unwrap();
    for kind in ["command", "terminal"] {
        let mark = stage.mark();
        let mut spawn = stage.command(&["spawn", "--kind", kind, "--name", kind, "--env", &mark, "--"]);
        spawn.arg("only-here").env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        spawn.env("DATABASE_URL", "postgres://x").env("https_proxy", "http://p").env("LATIN", &odd);
        spawn.env("QD_MINE", "no").env("DROPPED_KEY", "no");
        let spawned = spawn.output().unwrap();
        assert!(spawned.status.success(), "{}", String::from_utf8_lossy(&spawned.stderr));
        let pid = stage.list().iter().find(|process| process.name.as_str() == kind).unwrap().pid.unwrap();
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let has = |pair: &[u8]| environ.split(|byte| *byte == 0).any(|found| found == pair);
        assert!(has(b"DATABASE_URL=postgres://x") && has(b"https_proxy=http://p"), "{kind}");
        assert!(has(b"LATIN=caf\xe9"), "{kind}: what is not text arrives too");
        let text = String::from_utf8_lossy(&environ);
        for gone in ["DAEMONS_OWN", "QD_MINE", "DROPPED_KEY"] {
            assert!(!text.contains(gone), "{kind}: {gone}");
        }
    }
}

#[test]
fn m11_a_restart_after_the_daemons_death_has_the_environment_of_the_first_start() {
    let stage = stage();
    let mark = stage.mark();
    let mut spawn = stage.command(&["spawn", "--name", "keeps", "--env", &mark, "--"]);
    spawn.args(["sh", "-c", "echo \"url=$DATABASE_URL\""]).env("DATABASE_URL", "postgres://x");
    assert!(spawn.output().unwrap().status.success());
    assert_eq!(printed(&stage, "keeps"), "url=postgres://x\n");
    let database = std::fs::read(stage.dirs().database()).unwrap();
    assert!(!database.windows(12).any(|part| part == b"postgres://x"), "nothing of it is on the disk");
    stage.kill_9();
    let restarted = stage.command(&["restart", "keeps"]).env("DATABASE_URL", "another").output().unwrap();
    assert!(restarted.status.success(), "{}", String::from_utf8_lossy(&restarted.stderr));
    assert_eq!(printed(&stage, "keeps"), "url=postgres://x\n");
}

/// Starts `lost`, which prints its `DATABASE_URL` and waits, and takes daemon and holder away, as a reboot does.
fn lose(stage: &MarkedDaemon) {
    let mark = stage.mark();
    let mut spawn = stage.command(&["spawn", "--name", "lost", "--env", &mark, "--"]);
    spawn
        .args(["sh", "-c", "echo \"url=$DATABASE_URL,$DROPPED_KEY\"; exec sleep 1000"])
        .env("DATABASE_URL", "postgres://x");
    let spawned = spawn.output().unwrap();
    assert!(spawned.status.success() && spawned.stderr.is_empty());
    let holder = testkit::process_scan::parent(stage.process("lost").pid.unwrap());
    let holder = rustix::process::Pid::from_raw(holder).unwrap();
    stage.kill_9();
    rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn m11_a_restart_for_which_nobody_has_the_environment_says_so() {
    let stage = stage();
    lose(&stage);
    assert!(stage.qd(&["ps"]).status.success());
    let restart = || Restart { target: "lost".into(), ..Restart::default() };
    let warning = stage.client().restart(restart()).unwrap().warning.unwrap();
    assert!(warning.contains("the environment it was first started with is lost"), "{warning}");
    stage.wait_pattern("lost", "url=");
    assert_eq!(stage.screen("lost").trim(), "url=,");
    let again = stage.client().restart(restart()).unwrap().warning;
    assert!(again.is_some_and(|warning| warning.contains("qd restart")));
}

#[test]
fn m11_a_person_who_restarts_what_has_lost_its_environment_gives_it_theirs() {
    let stage = stage();
    std::fs::write(stage.dirs().config.join("config.toml"), "[spawn]\nenv_drop = ['DROPPED_*']\n").unwrap();
    lose(&stage);
    let mut restart = stage.command(&["restart", "lost"]);
    let restarted = restart.env("DATABASE_URL", "mine").env("DROPPED_KEY", "no").output().unwrap();
    let said = String::from_utf8_lossy(&restarted.stderr).into_owned();
    // The mark was declared for it, and only its holder knew the value.
    assert!(restarted.status.success() && said.contains("what was declared for it is missing"), "{said}");
    stage.wait_pattern("lost", "url=");
    assert_eq!(stage.screen("lost").trim(), "url=mine,");
    // From here on it has that environment, also when nothing is offered.
    stage.client().restart(Restart { target: "lost".into(), ..Restart::default() }).unwrap();
    stage.wait_pattern("lost", "url=");
    assert_eq!(stage.screen("lost").trim(), "url=mine,");
}

#[test]
fn m11_what_a_process_spawns_gets_the_allow_list_of_its_own_environment() {
    let stage = stage();
    let qd = env!("CARGO_BIN_EXE_qd");
    let shell = stage.root().join("shell-of-the-person");
    std::fs::write(&shell, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
    let inner = format!("{qd} spawn --kind terminal --name inner; echo asked; read line");
    let mut spawn = stage.command(&["spawn", "--name", "outer", "--env", &stage.mark(), "--"]);
    spawn.args(["sh", "-c", &inner]).env("DATABASE_URL", "postgres://x").env("SHELL", &shell);
    assert!(spawn.output().unwrap().status.success());
    stage.wait_pattern("outer", "asked");
    // A process asks a person first; it would run the shell of its own environment.
    let inbox = stage.json(&["inbox"]).to_string();
    assert!(inbox.contains("shell-of-the-person"), "{inbox}");
    assert!(!inbox.contains("postgres"), "{inbox}");
}

#[test]
fn h9_what_was_declared_stands_as_it_was_declared() {
    let stage = stage();
    let mark = stage.mark();
    let declared = ["--env", "TERM=dumb", "--env", "COLORTERM=", "--env", "LC_ALL=C", "--env", &mark, "--"];
    for kind in ["command", "terminal"] {
        // A terminal's entry is removed with its child, so the child waits until it is followed.
        let name = ["--kind", kind, "--name", kind];
        let waits = ["sh", "-c", "read line; env"];
        let mut spawn = stage.command(&["spawn"]);
        spawn.args(name).args(declared).args(waits).env("LC_ALL", "de_DE");
        assert!(spawn.output().unwrap().status.success());
        let mut tail = Tail::live(&stage, kind);
        stage.type_text(kind, "\r");
        let printed = text(tail.to_end()).replace('\r', "");
        for line in ["TERM=dumb", "COLORTERM=", "LC_ALL=C"] {
            assert!(printed.lines().any(|printed| printed == line), "{kind}: {line}: {printed}");
        }
    }
}

#[test]
fn h9_a_terminal_inherits_nothing_that_tells_of_the_persons_own() {
    let stage = stage();
    let own = ["GPG_TTY", "SSH_TTY", "WINDOWID", "INSIDE_EMACS", "NVIM", "VIM_TERMINAL", "KITTY_PID"];
    let more = ["ITERM_SESSION_ID", "WT_SESSION", "KONSOLE_VERSION", "LC_TERMINAL", "TERM_SESSION_ID"];
    let mut spawn = stage.command(&["spawn", "--kind", "terminal", "--name", "pane", "--env", &stage.mark()]);
    spawn.args(["--", "sh", "-c", "read line; env"]).env("A_PERSONS_OWN", "taken over");
    spawn.envs(own.iter().chain(&more).map(|name| (name, "another terminal")));
    assert!(spawn.output().unwrap().status.success());
    let mut tail = Tail::live(&stage, "pane");
    stage.type_text("pane", "\r");
    let printed = text(tail.to_end()).replace('\r', "");
    assert!(
        printed.contains("A_PERSONS_OWN=taken over") && !printed.contains("another terminal"),
        "{printed}"
    );
}

/// Returns our own variables that a child sees, without their values.
fn ours(printed: &str) -> Vec<&str> {
    let names =
        printed.lines().filter(|line| line.starts_with("QD_")).filter_map(|line| line.split_once('='));
    let mut names: Vec<&str> = names.map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

#[test]
fn b8_b9_a_run_finds_the_daemon_it_belongs_to_and_sees_no_more_of_it() {
    let stage = stage();
    let qd = env!("CARGO_BIN_EXE_qd");
    let script = format!("env; {qd} status --json; {qd} whoami --json");
    let command = stage.run("command", sh(&script));
    // A terminal's entry is removed with its child: it waits until it is followed.
    let terminal = stage.run_terminal("terminal", sh(&format!("read line; {script}")));
    for (name, id) in [("command", command.id), ("terminal", terminal.id)] {
        let mut tail = Tail::live(&stage, name);
        if name == "terminal" {
            stage.type_text(name, "\r");
        }
        let printed = text(tail.to_end()).replace('\r', "");
        let expected = [
            "QD_CONFIG_DIR",
            "QD_DATA_DIR",
            "QD_PROCESS_ID",
            "QD_RUNTIME_DIR",
            "QD_RUN_TOKEN",
            "QD_SESSION_ID",
            "QD_TASK_ID",
            "QD_WORKSPACE_ID",
        ];
        assert_eq!(ours(&printed), expected, "{name}: {printed}");
        let said: Vec<serde_json::Value> = printed
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let [status, whoami] = said.as_slice() else { panic!("{name}: {printed}") };
        assert_eq!(status["pid"], stage.pid(), "{name}");
        // A terminal that a person opened acts for that person; a command is itself.
        let is_placed = match name {
            "terminal" => whoami["caller"] == "human" && whoami["via"] == name,
            _ => whoami["process"]["id"] == id.to_string(),
        };
        assert!(is_placed, "{name}: {whoami}");
    }
}
