//! Daemons come and go: nothing is lost, a probe displaces no daemon, and only our own user may connect.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use holder::{Link, LinkError, ToHolder, WIRE_VERSION};
use testkit::scaled;

use crate::rig::{TIMEOUT, code, config, eventually, marked, shell, start};

#[test]
fn h10_s1_a_child_runs_on_without_a_daemon_and_the_next_one_sees_everything() {
    let mut config = shell("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done; exit 6");
    config.meta = b"which process this is".to_vec();
    let mut run = start(&config);
    let pid = run.child_pid;
    run.until_text("line 10\r");
    run.disconnect();
    eventually("the rest is in the ring", || run.hello.ring.end() > 3000 * 6);
    run.reconnect();
    assert_eq!(
        (run.hello.fields.child_pid, run.hello.fields.meta.as_slice()),
        (pid, b"which process this is".as_slice())
    );
    assert_eq!(run.until_exit().status, code(6));
    let expected: String = (1..=3000).map(|i| format!("line {i}\r\n")).collect();
    assert_eq!(String::from_utf8_lossy(&run.log), expected);
    assert_eq!(run.gaps, 0);
    run.close();
}

#[test]
fn s1_daemons_that_die_at_any_moment_lose_nothing() {
    let mut run = start(&shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo $i; done; exit 0"));
    let mut deaths = 0;
    while !run.has_exited() {
        run.turn();
        run.disconnect();
        run.reconnect();
        deaths += 1;
    }
    run.read_ring();
    let expected: String = (1..=20000).map(|i| format!("{i}\r\n")).collect();
    assert!(run.log == expected.as_bytes(), "after {deaths} deaths: {} bytes", run.log.len());
    assert_eq!(run.gaps, 0);
    run.close();
}

#[test]
fn a_checkpoint_comes_back_as_it_was() {
    let mut run = start(&config(&["cat"]));
    assert!(run.hello.fields.checkpoint.is_none());
    for (offset, blob) in [(7, vec![1; 10]), (12, vec![9; 5 << 20]), (99, (0..=255).collect())] {
        run.send(&ToHolder::Checkpoint { offset, blob: blob.clone() });
        run.until("sent", |run| !run.link.as_ref().unwrap().wants_write());
        run.reconnect();
        let length = u32::try_from(blob.len()).unwrap();
        assert_eq!(run.hello.fields.checkpoint, Some((offset, length)));
        assert_eq!(run.hello.checkpoint, blob);
    }
    let too_long = ToHolder::Checkpoint { offset: 1, blob: vec![0; (16 << 20) + 1] };
    assert!(run.link.as_mut().unwrap().send(&too_long).is_err());
    run.close();
}

#[test]
fn m2_an_ended_run_whose_socket_cannot_be_made_again_leaves() {
    let mut config = shell("sleep 1000 & exit 0");
    let root = config.socket.clone();
    config.socket = root.join("d/h/s");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root.join("d/h")).unwrap();
    let mut run = start(&config);
    assert_eq!(run.until_exit().status, code(0));
    std::fs::remove_dir_all(root.join("d")).unwrap();
    run.disconnect();
    eventually("it listens again", || UnixStream::connect(&config.socket).is_ok());
    run.reconnect();
    assert!(run.hello.fields.exited.is_some(), "its socket and directories were made again");
    std::fs::remove_dir_all(root).unwrap();
    run.disconnect();
    run.until_holder_dead();
    eventually("nothing is left behind", || marked(&run.marker).is_empty());
}

#[test]
fn b4_probes_do_not_disturb_the_daemon() {
    let mut run = start(&config(&["cat"]));
    for round in 0..scaled(100) {
        let mut probe = UnixStream::connect(&run.socket).unwrap();
        match round % 4 {
            0 => {}
            1 => probe.write_all(&[3, 0]).unwrap(),
            2 => probe.write_all(&[0xff; 64]).unwrap(),
            _ => probe.write_all(&ToHolder::Kill { grace_ms: 0 }.encode()).unwrap(),
        }
        drop(probe);
    }
    run.send(&ToHolder::Input { id: 1, bytes: b"still here\n".to_vec() });
    run.until_text("still here\r\nstill here");
    run.close();
}

#[test]
fn silent_connections_do_not_keep_a_daemon_out() {
    let mut run = start(&config(&["cat"]));
    let silent: Vec<_> = (0..40).map(|_| UnixStream::connect(&run.socket).unwrap()).collect();
    run.reconnect();
    run.send(&ToHolder::Input { id: 1, bytes: b"hello\n".to_vec() });
    run.until_text("hello\r\nhello");
    drop(silent);
    run.close();
}

#[test]
fn a_new_daemon_takes_over_and_the_old_one_is_told() {
    let mut run = start(&config(&["cat"]));
    let mut old = run.link.take().unwrap();
    run.reconnect();
    eventually(
        "the old daemon learns that the run lives on",
        || matches!(old.receive(), Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted),
    );
    assert_eq!(run.hello.fields.wire_version, WIRE_VERSION);
    run.close();
}

#[test]
fn hangup_needs_no_hello() {
    let mut run = start(&shell("trap '' HUP TERM; echo ready; while :; do sleep 1; done"));
    run.until_text("ready");
    UnixStream::connect(&run.socket).unwrap().write_all(&holder::HANGUP).unwrap();
    run.until_holder_gone();
    assert!(marked(&run.marker).is_empty());
}

#[test]
fn a_dead_socket_is_told_from_a_slow_one() {
    let run = start(&config(&["cat"]));
    let socket = run.socket.clone();
    run.close();
    assert!(matches!(Link::connect(&socket, TIMEOUT), Err(LinkError::Gone)));
    let mute = crate::rig::scratch().join("mute");
    let _listener = std::os::unix::net::UnixListener::bind(&mute).unwrap();
    assert!(matches!(Link::connect(&mute, Duration::from_millis(50)), Err(LinkError::TimedOut)));
}

#[test]
fn b2_another_user_is_refused_without_an_answer() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    // Not below the build's directory, which another user may be unable to reach at all.
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&["cat"]);
    config.socket = directory.path().join("socket");
    let mut run = start(&config);
    assert_eq!(config.socket.metadata().unwrap().permissions().mode() & 0o077, 0, "made under umask 077");
    for (path, mode) in [(directory.path(), 0o755), (&config.socket, 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let script = format!(
        "use IO::Socket::UNIX; $SIG{{PIPE}} = 'IGNORE'; my $s = IO::Socket::UNIX->new(Peer => '{}') or die 'no connection'; \
         syswrite($s, pack('C*', 7,0,0,0,255), 5); syswrite($s, 'hangup', 6); \
         my $n = sysread($s, my $b, 100); print 'answered ', ($n // 0), \"\\n\"",
        config.socket.display()
    );
    let output = Command::new("/usr/bin/perl").args(["-e", &script]).uid(65534).gid(65534).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "answered 0\n", "{output:?}");
    run.send(&ToHolder::Input { id: 1, bytes: b"unharmed\n".to_vec() });
    run.until_text("unharmed\r\nunharmed");
    run.close();
}

#[test]
fn e8_garbage_after_hello_ends_that_link_only() {
    let mut run = start(&config(&["cat"]));
    let mut garbage = UnixStream::connect(&run.socket).unwrap();
    garbage.write_all(&ToHolder::Hello { version: 999 }.encode()).unwrap();
    garbage.write_all(&[0xff; 4096]).unwrap();
    let mut answer = Vec::new();
    // The reply, then the end of the connection (or its reset, with our garbage unread).
    garbage.read_to_end(&mut answer).ok();
    run.reconnect();
    run.send(&ToHolder::Input { id: 1, bytes: b"fine\n".to_vec() });
    run.until_text("fine\r\nfine");
    run.close();
}

#[test]
fn a_daemons_last_words_are_obeyed_whatever_the_holder_is_saying() {
    for _ in 0..scaled(100) {
        let mut run = start(&shell("exit 0"));
        // The exit is announced at about the time at which the link ends: the release must not be lost then.
        run.send(&ToHolder::Release { end_tree: true });
        run.until_holder_gone();
    }
}
