//! Connecting: squatted directories, other users, parallel starts, probes, set-user-id files.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use proto::request::{Attach, SizeRequest};
use testkit::process_scan::{eventually, scale};
use testkit::{Mark, TestDaemon, child};

use crate::{NOBODY, QD, is_root, said};

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Puts something where the directory should be.
type Squat = fn(&Path);

#[test]
fn b1_a_squatted_runtime_directory_is_refused_by_its_path() {
    let layouts: [(&str, Squat); 4] = [
        ("a link", |path| {
            DirBuilder::new().mode(0o700).create(path.with_extension("real")).unwrap();
            symlink(path.with_extension("real"), path).unwrap();
        }),
        ("open to everybody", |path| {
            std::fs::create_dir(path).unwrap();
            chmod(path, 0o777);
        }),
        ("a file", |path| std::fs::write(path, "").unwrap()),
        ("somebody else's", |path| {
            DirBuilder::new().mode(0o700).create(path).unwrap();
            std::os::unix::fs::chown(path, Some(65534), None).unwrap();
        }),
    ];
    for (what, squat) in layouts {
        if what == "somebody else's" && !is_root() {
            continue;
        }
        let daemon = TestDaemon::without_start(QD);
        let runtime = daemon.dirs().runtime;
        squat(&runtime);
        let output = daemon.qd(&["ps"]);
        assert_ne!(output.status.code(), Some(0), "{what}");
        assert!(said(&output).contains(runtime.to_str().unwrap()), "{what}: {}", said(&output));
        let through = runtime.with_extension("real");
        assert!(
            !through.exists() || through.read_dir().unwrap().next().is_none(),
            "{what}: written through the link"
        );
    }
}

/// Connects as another user and sends a request; returns what the socket answered.
fn ask_as_nobody(socket: &Path) -> String {
    let program = "socket(S, AF_UNIX, SOCK_STREAM, 0) or die; \
        connect(S, sockaddr_un($ARGV[0])) or do { print \"refused\"; exit }; \
        $SIG{PIPE} = 'IGNORE'; syswrite(S, qq({\"id\":1,\"request\":{\"status\":{}}}\\n)); \
        $count = sysread(S, $answer, 100); print 'answered with ', length($answer || ''), ' bytes'";
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"]);
    said(&command.args(["perl", "-MSocket", "-e", program]).arg(socket).output().unwrap())
}

#[test]
fn b2_another_user_cannot_connect_and_gets_no_answer_from_an_opened_directory() {
    if !is_root() {
        return;
    }
    let daemon = TestDaemon::start(QD);
    let (root, dirs) = (daemon.root().to_owned(), daemon.dirs());
    chmod(&root, 0o755);
    assert_eq!(ask_as_nobody(&dirs.socket()), "refused");
    for mode in [0o755, 0o777] {
        chmod(&dirs.runtime, mode);
        chmod(&dirs.socket(), 0o777);
        assert_eq!(ask_as_nobody(&dirs.socket()), "answered with 0 bytes", "{mode:o}");
    }
    eventually("the daemon says why", || {
        let log = std::fs::read_to_string(dirs.daemon_log()).unwrap();
        log.contains("another user").then_some(())
    });
    chmod(&dirs.runtime, 0o700);
    assert!(daemon.qd(&["ps"]).status.success(), "the owner is served all the while");
}

#[test]
fn b2_another_users_qd_says_whose_socket_it_is() {
    if !is_root() {
        return;
    }
    let daemon = TestDaemon::start(QD);
    let (root, dirs) = (daemon.root().to_owned(), daemon.dirs());
    [&root, &dirs.runtime, &dirs.socket()].into_iter().for_each(|path| chmod(path, 0o777));
    let readable = tempfile::Builder::new().prefix("qds").tempdir().unwrap();
    chmod(readable.path(), 0o755);
    let exe = changed_copy(readable.path(), 0, 0o755);
    for verb in ["ps", "inbox", "status"] {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"]);
        let output = command.arg(&exe).arg(verb).envs(daemon.variables()).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{verb}: {}", said(&output));
        let told = said(&output);
        assert!(told.contains("the socket belongs to user 0, not to you"), "{verb}: {told}");
        assert!(output.stdout.is_empty(), "{verb}: {told}");
    }
    // Its client has left already; the daemon meets the connection a moment later.
    eventually("the daemon turns it away too", || {
        let log = std::fs::read_to_string(dirs.daemon_log()).unwrap();
        log.contains("another user").then_some(())
    });
    chmod(&dirs.runtime, 0o700);
}

#[test]
fn b3_fifty_cold_starts_at_once_make_one_daemon() {
    for _ in 0..3 * scale() {
        let daemon = TestDaemon::without_start(QD);
        let start = || {
            daemon.command(&["--json", "ps"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let starters: Vec<_> = (0..50).map(|_| start()).collect();
        for starter in starters {
            let output = starter.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        }
        let runtime = daemon.dirs().runtime;
        let is_ours = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let line = testkit::process_scan::command_line(*pid);
            line.contains("daemon")
                && environment
                    .split(|byte| *byte == 0)
                    .any(|entry| entry == format!("QD_RUNTIME_DIR={}", runtime.display()).as_bytes())
                && testkit::process_scan::is_alive(*pid)
        };
        let daemons = testkit::process_scan::eventually("the losers to end", || {
            let living: BTreeSet<i32> =
                testkit::process_scan::all_pids().into_iter().filter(is_ours).collect();
            (living.len() <= 1).then_some(living)
        });
        assert_eq!(daemons, BTreeSet::from([daemon.pid()]), "one daemon, and its socket leads to it");
    }
}

#[test]
fn b4_probes_that_connect_and_close_disturb_no_viewer() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("echo", child::repeat_lines())).unwrap();
    daemon.wait_pattern("echo", "ready");
    let mut viewer = daemon.client();
    let size = SizeRequest::default();
    let attach = Attach { target: "echo".into(), size, ..Attach::default() };
    let attached = viewer.attach(attach).unwrap();
    let holder = daemon.dirs().holders().read_dir().unwrap().next().unwrap().unwrap().path();
    for n in 0..100 {
        drop(std::os::unix::net::UnixStream::connect(daemon.dirs().socket()).unwrap());
        drop(std::os::unix::net::UnixStream::connect(&holder).unwrap());
        if n % 10 == 0 {
            viewer.send_data(attached.stream, 0, format!("probe{n}\n").as_bytes()).unwrap();
            daemon.wait_pattern("echo", &format!("got:probe{n}"));
        }
    }
    assert_eq!(daemon.process("echo").terminal.viewers, 1);
}

/// Returns a copy of the program with set-id bits for this owner.
fn changed_copy(directory: &Path, owner: u32, bits: u32) -> std::path::PathBuf {
    let exe = directory.join(format!("qd-{owner}-{bits:o}"));
    // Another process writes the copy: a child that another test forks meanwhile would hold our copy open,
    // and a file that is open for writing cannot be executed.
    assert!(Command::new("cp").args([Path::new(QD), &exe]).status().unwrap().success());
    std::os::unix::fs::chown(&exe, Some(owner), Some(owner)).unwrap();
    chmod(&exe, bits);
    assert_eq!(std::fs::metadata(&exe).unwrap().mode() & 0o7777, bits, "the bits are not taken here");
    exe
}

/// Every way to run the program: client, holder, daemon, and verbs that need none of them.
const MODES: [&[&str]; 9] = [
    &["ps"],
    &["--json", "status"],
    &["spawn", "--name", "taken", "--", "sleep", "1000000"],
    &["attach", "mine"],
    &["mcp"],
    &["hook"],
    &["hold"],
    &["daemon"],
    &["--version"],
];

#[test]
fn b13_a_set_user_id_program_refuses_every_mode_also_with_its_owners_daemon_running() {
    if !is_root() {
        return;
    }
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("mine", child::run_for_ever())).unwrap();
    let directory = tempfile::Builder::new().prefix("qds").tempdir().unwrap();
    chmod(directory.path(), 0o777);
    let nobody: u32 = NOBODY.parse().unwrap();
    // As another user's, with root's rights; and as root, with another user's.
    for (owner, bits, user) in
        [(0, 0o4755, nobody), (0, 0o2755, nobody), (0, 0o6755, nobody), (nobody, 0o4755, 0)]
    {
        let exe = changed_copy(directory.path(), owner, bits);
        for arguments in MODES {
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
            command.arg(&exe).args(arguments).stdin(Stdio::null()).envs(daemon.variables());
            let output = command.output().unwrap();
            let what = format!("{bits:o} of {owner} as {user}: {arguments:?}: {}", said(&output));
            assert_eq!(output.status.code(), Some(4), "{what}");
            assert!(said(&output).contains("setuid") && output.stdout.is_empty(), "{what}");
        }
    }
    let names: Vec<String> = daemon.list().into_iter().map(|view| view.name.to_string()).collect();
    assert_eq!(names, ["mine"], "no request had another user's rights");
}

#[test]
fn b13_a_set_user_id_program_makes_nothing_where_no_daemon_runs() {
    if !is_root() {
        return;
    }
    let directory = tempfile::Builder::new().prefix("qds").tempdir().unwrap();
    chmod(directory.path(), 0o777);
    let exe = changed_copy(directory.path(), 0, 0o4755);
    for arguments in MODES {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"]);
        command.arg(&exe).args(arguments).stdin(Stdio::null());
        for (name, place) in [("QD_RUNTIME_DIR", "run"), ("QD_DATA_DIR", "data"), ("QD_CONFIG_DIR", "config")]
        {
            command.env(name, directory.path().join("home").join(place));
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains("setuid"), "{arguments:?}: {}", said(&output));
        assert!(
            !directory.path().join("home").exists(),
            "{arguments:?}: nothing was made with somebody's rights"
        );
    }
}
