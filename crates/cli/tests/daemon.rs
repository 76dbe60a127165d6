//! `qd` and its real daemon together: only what needs both. Everything else is tested closer to its code.

#[path = "daemon/starting.rs"]
mod starting;
#[path = "daemon/stopping.rs"]
mod stopping;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proto::request::Spawn;
use proto::{Dirs, Size, Status};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::{DEADLINE, MarkedDaemon, Pty, TestDaemon, child};

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
    // The repaint after the reattach shows what was there, and typing works again.
    pty.expect(b"got:one");
    pty.type_keys(b"two\r");
    pty.expect(b"got:two");
    assert_eq!(daemon.process("echo").pid, pid);
    pty.type_keys(b"\x1cd");
    assert_eq!(pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn f10_a_crash_loop_has_five_starts_however_often_the_daemon_is_killed() {
    let stage = MarkedDaemon::start(QD);
    let script = "echo started >> starts; exit 1";
    stage.spawn_as(Spawn { auto_restart: true, ..stage.spec("loop", child::shell(script)) });
    for run in [2, 3, 5] {
        stage.until_view("loop", |view| view.run.0 >= run && view.exit.is_some());
        stage.kill_9();
    }
    stage.until_view("loop", |view| view.status == Status::Parked);
    assert_eq!(std::fs::read_to_string(stage.root().join("starts")).unwrap().lines().count(), 5);
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

/// A daemon that is stopped until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn stop(daemon: &TestDaemon) -> Self {
        let pid = Pid::from_raw(daemon.pid()).expect("a pid is positive");
        kill_process(pid, Signal::STOP).expect("our own daemon can be stopped");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).expect("our own daemon can be woken");
    }
}

#[test]
fn e8_a_stopped_daemon_is_told_in_time_and_an_attached_terminal_is_given_back() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("echo", child::repeat_lines());
    let mut pty = attach(&daemon, "echo");
    pty.expect(b"ready");
    let stopped = Stopped::stop(&daemon);
    let verbs = [("ps", 6), ("status", 6), ("attach echo", 6), ("shutdown", 6), ("doctor", 1)];
    let callers = verbs.map(|(verb, code)| {
        let words: Vec<&str> = verb.split(' ').collect();
        let mut command = daemon.command(&words);
        (
            verb,
            code,
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
        )
    });
    for (verb, code, mut caller) in callers {
        let ended = testkit::wait_for_end(&mut caller, DEADLINE);
        let mut said = String::new();
        caller.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        caller.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(ended.code(), Some(code), "{verb}: {said}");
        assert!(said.contains("has not answered for 5 s") && said.contains("hint: "), "{verb}: {said}");
    }
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait_exit(DEADLINE).code(), Some(143));
    assert!(!pty.is_raw());
    drop(stopped);
    assert_eq!(daemon.list().len(), 1, "it goes on where it was");
}

#[test]
fn d10_a_client_that_leaves_with_as_many_calls_as_it_may_have_is_seen_to_leave() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("sleeper", child::run_for_ever());
    let mut stream = UnixStream::connect(daemon.dirs().socket()).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let hello = json!({"hello": {"protocol": proto::version::PROTOCOL, "client": "test"}});
    let wait = json!({"wait": {"targets": ["sleeper"], "until": {"exit": {}}}});
    let waits = || std::iter::repeat_n(wait.clone(), 63);
    let calls = [hello].into_iter().chain(waits()).chain([json!({"list": {}})]).chain(waits());
    let lines: Vec<String> =
        calls.zip(1..).map(|(request, id)| format!("{}\n", json!({"id": id, "request": request}))).collect();
    stream.write_all(lines.concat().as_bytes()).unwrap();
    let mut answers = BufReader::new(&stream);
    let mut next = || {
        let mut line = String::new();
        answers.read_line(&mut line).expect("the daemon answers or closes the connection");
        line
    };
    assert!(next().contains("welcome"));
    assert!(next().contains("processes"), "the only one that is answered");
    // A later request finds as many of the waits begun as are allowed; the rest is not even read.
    assert_eq!(daemon.list().len(), 1);
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(next(), "", "the daemon has let go of it");
}

#[test]
fn t11_what_is_missing_is_named_the_interpreter_and_not_the_script() {
    let daemon = TestDaemon::start(QD);
    let script = daemon.root().join("script");
    let mut file =
        std::fs::OpenOptions::new().create_new(true).write(true).mode(0o700).open(&script).unwrap();
    file.write_all(b"#!/no/such/interpreter -x\n").unwrap();
    drop(file);
    let output = daemon.qd(&["spawn", "--", script.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("its interpreter is not: /no/such/interpreter"),
        "{said}"
    );
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
    let path = daemon.dirs().lock();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
    let held = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&path).unwrap();
    held.lock().unwrap();
    let starter = daemon.command(&["ps", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    testkit::process_scan::eventually("the starter waits for the lock", || has_open(&path).then_some(()));
    drop(held);
    let output = starter.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"[]\n"[..]));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), daemon.pid().to_string());
}

/// Returns true if another process has this file open.
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
    let mut command = Command::new(QD);
    command.args(["--ephemeral", "spawn", "--", "sh", "-c", &script]).env("TMPDIR", temporary.path());
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    // The child may have been ended before it wrote its pid; if it did write, it must be gone all the same.
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

/// Listens at a path until its input closes, and reports when it does.
const LISTENER: &str = r#"use Socket; $| = 1;
socket(S, AF_UNIX, SOCK_STREAM, 0) and bind(S, sockaddr_un($ARGV[0])) and listen(S, 5) or die "no listener: $!";
print "listens\n"; <STDIN>;"#;

/// Returns a process that listens at this path and to which we may not connect. Root may connect everywhere,
/// so for root it is another user.
fn listen_closed(socket: &Path) -> Child {
    let mut listener = Command::new("perl");
    listener.arg("-e").arg(LISTENER).arg(socket).stdin(Stdio::piped()).stdout(Stdio::piped());
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let directory = socket.parent().expect("a socket lies in a directory");
        std::fs::set_permissions(directory, Permissions::from_mode(0o777)).expect("it is ours");
        listener.uid(65_534);
    }
    let mut listener = listener.spawn().expect("perl starts");
    let mut told = String::new();
    let output = listener.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut told).expect("it speaks");
    assert_eq!(told, "listens\n");
    if !is_root {
        std::fs::set_permissions(socket, Permissions::from_mode(0o000)).expect("it is ours");
    }
    listener
}

#[test]
fn a_daemon_that_may_not_be_talked_to_is_not_called_absent() {
    let daemon = TestDaemon::without_start(QD);
    let socket = daemon.dirs().socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    // Only its own directory lets others in: the way to it must, too.
    std::fs::set_permissions(daemon.root(), Permissions::from_mode(0o755)).unwrap();
    let mut listener = listen_closed(&socket);
    for verb in ["status", "ps", "shutdown", "read x"] {
        let words: Vec<&str> = verb.split(' ').collect();
        let output = daemon.command(&["--json"]).args(&words).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0), "{verb}: {told}");
        let error = &serde_json::from_str::<serde_json::Value>(&told).unwrap()["error"];
        assert_eq!(error["code"], "denied", "{verb}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(socket.to_str().unwrap()), "{verb}: {message}");
        assert!(message.contains("ermission denied") || message.contains("user 65534"), "{verb}: {message}");
        assert!(error["hint"].as_str().unwrap().contains("QD_RUNTIME_DIR"), "{verb}: {error}");
    }
    let doctor = daemon.qd(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("cannot be opened"), "{doctor:?}");
    drop(listener.stdin.take());
    listener.wait().unwrap();
    let absent = daemon.qd(&["status"]);
    assert_eq!((absent.status.code(), absent.stdout.as_slice()), (Some(6), &b"not running\n"[..]));
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
    assert!(Dirs::below(daemon.root()).socket().exists());
}

/// Kilobytes of program text that a process has mapped right now.
fn mapped_text(pid: i32) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).expect("the daemon lives");
    let mut is_text = false;
    let mut total = 0;
    for line in maps.lines() {
        match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["Rss:", size, "kB"] if is_text => total += size.parse::<u64>().expect("a number"),
            [range, rights, _, _, inode, ..] if range.contains('-') => {
                is_text = rights == "r-xp" && inode != "0";
            }
            _ => {}
        }
    }
    total
}

#[test]
fn a_daemon_that_rests_lets_its_program_text_go_and_serves_on() {
    let daemon = TestDaemon::start(QD);
    // Asked once: every request is work.
    let itself = daemon.pid();
    let mut names = (1..).map(|number| format!("shell-{number}"));
    // A busy machine may let it rest before it is measured, so the largest size of all stretches counts.
    let mut largest = 0;
    let mut rested_after = |name: String| {
        daemon.spawn(&name, child::repeat_lines());
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let mapped = mapped_text(itself);
            largest = largest.max(mapped);
            if mapped * 2 < largest {
                return true;
            }
            testkit::process_scan::pause(Duration::from_millis(20));
        }
        false
    };
    // It is idle after every stretch of work.
    for _ in 0..2 {
        assert!(names.by_ref().take(6).any(&mut rested_after), "the daemon stays large");
    }
}
