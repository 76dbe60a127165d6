//! `qd` and its real daemon together: only what needs both. Everything else is tested closer to its code.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;

use proto::{Places, Size};
use testkit::{DEADLINE, Pty, TestDaemon, child};

const QD: &str = env!("CARGO_BIN_EXE_qd");

fn attach(daemon: &TestDaemon, name: &str) -> Pty {
    let mut pty = Pty::open(Size::DEFAULT);
    let variables = daemon.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    pty.spawn(OsStr::new(QD), &["attach", name], &variables);
    pty
}

#[test]
fn what_a_process_printed_can_be_read_after_it_ended() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("build", child::print_and_exit("it's done", 3));
    let waited = daemon.wait_exit("build");
    assert_eq!(waited.satisfied[0].exit.unwrap().code, Some(3));
    assert_eq!(daemon.screen("build").trim_end(), "it's done");
    assert_eq!(daemon.json(&["read", "build"])["text"].as_str().unwrap().trim_end(), "it's done");
}

#[test]
fn s1_killing_the_daemon_changes_no_pid_and_an_attached_viewer_goes_on() {
    let daemon = TestDaemon::start(QD);
    let pid = daemon.spawn("echo", child::repeat_lines()).pid;
    daemon.wait_pattern("echo", "ready");
    let mut pty = attach(&daemon, "echo");
    pty.expect(b"ready");
    pty.type_keys(b"one\r");
    pty.expect(b"got:one");
    daemon.kill_9();
    // The repaint after the return shows what was there, and typing works again.
    pty.expect(b"got:one");
    pty.type_keys(b"two\r");
    pty.expect(b"got:two");
    assert_eq!(daemon.process("echo").pid, pid);
    pty.type_keys(b"\x1cd");
    assert_eq!(pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn attach_ends_with_the_childs_code() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("read", child::shell("echo ready; read line; exit 5"));
    let mut pty = attach(&daemon, "read");
    pty.expect(b"ready");
    pty.type_keys(b"\r");
    assert_eq!(pty.wait_exit(DEADLINE).code(), Some(5));
}

#[test]
fn b3_many_starters_at_once_find_one_daemon() {
    let daemon = TestDaemon::without_start(QD);
    let start = |_| daemon.command(&["ps", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..20).map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"[]\n"[..]));
    }
    let pids: BTreeSet<i32> = (0..3).map(|_| daemon.pid()).collect();
    assert_eq!(pids.len(), 1);
}

#[test]
fn b3_a_starter_takes_the_place_of_a_daemon_that_died_before_it_answered() {
    let daemon = TestDaemon::without_start(QD);
    let path = daemon.places().lock();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
    let held = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&path).unwrap();
    held.lock().unwrap();
    let starter = daemon.command(&["ps", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    testkit::census::eventually("the starter waits for the lock", || has_open(&path).then_some(()));
    drop(held);
    let output = starter.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"[]\n"[..]));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), daemon.pid().to_string());
}

/// Whether another process has this file open.
fn has_open(path: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let others = processes.filter(|process| !process.ends_with(std::process::id().to_string()));
    let open = others.filter_map(|process| std::fs::read_dir(process.join("fd")).ok()).flatten().flatten();
    open.into_iter().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == path))
}

#[test]
fn an_ephemeral_daemon_leaves_no_process_and_no_directory() {
    let temporary = tempfile::Builder::new().prefix("qdt").tempdir().unwrap();
    let pid_file = temporary.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000000", pid_file.display());
    let mut command = std::process::Command::new(QD);
    command.args(["--ephemeral", "spawn", "--", "sh", "-c", &script]).env("TMPDIR", temporary.path());
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    // The child may have been ended before it wrote its pid; when it did write, it must be gone all the same.
    if let Ok(pid) = std::fs::read_to_string(&pid_file) {
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} lives");
    }
    let is_private = |name: &str| name.starts_with("qd-");
    let left: Vec<_> = std::fs::read_dir(temporary.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| is_private(name))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn e8_a_bad_request_leaves_the_next_one_working() {
    let daemon = TestDaemon::start(QD);
    for bad in [
        &["read", "nobody"][..],
        &["spawn", "--cwd", "/nowhere/at/all", "--", "true"],
        &["spawn", "--", "/no/such/program"],
    ] {
        let output = daemon.qd(bad);
        assert_ne!(output.status.code(), Some(0), "{bad:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("qd: "), "{bad:?}");
    }
    daemon.spawn("ok", child::print_and_exit("fine", 0));
    daemon.wait_exit("ok");
    assert!(Places::below(daemon.root()).socket().exists());
}
