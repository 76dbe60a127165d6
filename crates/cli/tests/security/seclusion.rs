//! What others and children can see of us: file modes, masks, descriptors, strings on a terminal.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proto::request::Spawn;
use proto::{Request, Size};
use testkit::census::files;
use testkit::{DEADLINE, Mark, Pty, TestDaemon, child};

use crate::{QD, said};

#[test]
fn b12_under_an_open_mask_nothing_of_ours_is_open_and_children_keep_the_users_mask() {
    let mark = Mark::default();
    let daemon = TestDaemon::without_start(QD);
    let script = "umask 000; exec \"$0\" ps";
    let started = Command::new("sh").args(["-c", script, QD]).envs(daemon.variables()).output().unwrap();
    assert!(started.status.success(), "{}", said(&started));
    let out = daemon.root().join("mask");
    let script = format!("umask > '{}'; echo ready; exec sleep 1000000", out.display());
    daemon.client().spawn(mark.spawn("masked", child::shell(&script))).unwrap();
    daemon.wait_pattern("masked", "ready");
    daemon.client().spawn(mark.spawn("over", child::print_and_exit("x", 1))).unwrap();
    daemon.wait_exit("over");
    assert!(daemon.qd(&["shutdown"]).status.success());
    assert_eq!(daemon.list().len(), 2);
    assert_eq!(std::fs::read_to_string(out).unwrap().trim(), "0000", "the user's own mask");
    let places = daemon.places();
    for root in [&places.runtime, &places.data, &places.config] {
        for path in files(root).into_iter().chain([root.clone()]) {
            let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} is {mode:o}", path.display());
        }
    }
}

#[test]
fn b10_children_have_three_descriptors_however_many_start_at_once() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut connection = daemon.client();
    let argv = || vec!["sleep".to_owned(), "1000000".to_owned()];
    let calls: Vec<u64> = (0..40)
        .map(|n| connection.send(Request::Spawn(Box::new(mark.spawn(&format!("fd{n}"), argv())))).unwrap())
        .collect();
    for call in calls {
        connection.answer(call).unwrap();
    }
    let children = mark.expect(40);
    for pid in children {
        let open = testkit::census::descriptors(pid);
        assert_eq!(open.keys().copied().collect::<Vec<i32>>(), [0, 1, 2], "{open:?}");
        assert!(open.values().all(|path| path.starts_with("/dev/pts")), "{open:?}");
    }
}

/// Something no terminal should ever be sent.
const HOSTILE: &str = "\x1b]0;x\x07\x1b[2J";

#[test]
fn c7_hostile_strings_reach_no_terminal() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let cwd = daemon.root().join(std::ffi::OsStr::from_bytes(b"dir\x1b[2J\x9b2J"));
    let cwd = if cwd.to_str().is_some() { cwd } else { daemon.root().join("dir\x1b[2J\u{9b}2J") };
    std::fs::create_dir(&cwd).unwrap();
    let mut argv = child::shell(&format!(
        "printf '\\033]2;evil\\033[2Jtitle\\007'; echo ready; exec sleep 1000000 # {HOSTILE}"
    ));
    argv.push(HOSTILE.to_owned());
    let spawn = mark.spawn("hostile", argv);
    daemon.client().spawn(Spawn { cwd: Some(cwd.to_str().unwrap().to_owned()), ..spawn }).unwrap();
    daemon.wait_pattern("hostile", "ready");
    let named = daemon.client().spawn(Spawn {
        name: Some(HOSTILE.to_owned()),
        argv: child::run_for_ever(),
        ..Spawn::default()
    });
    assert!(!named.unwrap_err().to_string().contains('\x1b'), "a refused name is not echoed raw");
    let verbs: [&[&str]; 8] = [
        &["ps"],
        &["status"],
        &["read", "hostile"],
        &["read", HOSTILE],
        &["close", HOSTILE],
        &["spawn", "--name", HOSTILE, "--", "true"],
        &["spawn", "--", HOSTILE],
        &["wait", "hostile", "--pattern", HOSTILE, "--timeout", "0.2"],
    ];
    for arguments in verbs {
        let mut pty = Pty::open(Size { cols: 200, rows: 50 });
        let variables = daemon.variables();
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        pty.spawn(QD.as_ref(), arguments, &variables);
        pty.wait_exit(DEADLINE);
        let drawn = String::from_utf8_lossy(pty.seen()).into_owned();
        assert!(!drawn.is_empty(), "{arguments:?}");
        for part in ["\x1b]", "\x1b[2J", "\x07", "\u{9b}"] {
            assert!(!drawn.contains(part), "{arguments:?} drew {}", drawn.escape_debug());
        }
    }
}
