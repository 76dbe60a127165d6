//! How a stream ends from this side: a reader that has gone, Ctrl-C, and a terminal that is restored
//! afterwards.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use proto::frame::DataKind;
use proto::reply::Subscribed;
use proto::{Notice, Reply, Request, Size};
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::eventually;
use testkit::{FakeDaemon, FromClient, Pty, wait_for_end};

use super::{begin_follow, qd, text};

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn events_end_with_their_reader_also_when_nothing_happens() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut child = qd(root.path(), &["--json", "events"]).spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    let call = peer.call();
    assert!(matches!(call.request, Request::Subscribe(_)));
    peer.reply(call.id, Reply::Subscribed(Subscribed { revision: 1, processes: vec![] }));
    // As `head -1` does.
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("\"revision\":1"), "{first}");
    assert_eq!(peer.receive(), FromClient::End);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_recording_ends_quietly_with_its_reader() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut child = qd(root.path(), &["record", "x", "-", "--from-start"]).spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    begin_follow(&mut peer);
    // More than a pipe holds: it is in the middle of writing when its reader goes.
    peer.data(DataKind::Output, 0, &vec![b'x'; 150_000]);
    let (mut reader, mut header) = (BufReader::new(child.stdout.take().unwrap()), String::new());
    reader.read_line(&mut header).unwrap();
    reader.read_exact(&mut [0]).unwrap();
    drop(reader);
    assert_eq!(peer.receive(), FromClient::End);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn ctrl_c_is_the_end_of_a_recording_and_no_failure() {
    for (sent, code) in [(Signal::INT, 0), (Signal::TERM, 143)] {
        let root = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::listen(root.path());
        let file = root.path().join("cast");
        let words = ["record", "x", file.to_str().unwrap(), "--from-start"];
        let mut child = qd(root.path(), &words).stderr(Stdio::null()).spawn().unwrap();
        let mut peer = daemon.accept_welcome();
        begin_follow(&mut peer);
        peer.data(DataKind::Output, 0, b"hello");
        let lines = || std::fs::read_to_string(&file).unwrap_or_default().lines().count();
        eventually("what was printed is in the file", || (lines() == 2).then_some(()));
        signal(&child, sent);
        assert_eq!(wait_for_end(&mut child, testkit::DEADLINE).code(), Some(code));
        let cast = std::fs::read_to_string(&file).unwrap();
        assert!(cast.ends_with("\"o\",\"hello\"]\n"), "{cast}");
    }
}

/// Returns a `qd logs` on a terminal, whose follow has begun.
fn logs(daemon: &FakeDaemon, words: &[&str]) -> (Pty, testkit::Peer) {
    let mut pty = Pty::open(Size::DEFAULT);
    let dirs = daemon.dirs().clone();
    let variables = [
        ("QD_RUNTIME_DIR", dirs.runtime.as_os_str()),
        ("QD_DATA_DIR", dirs.data.as_os_str()),
        ("QD_CONFIG_DIR", dirs.config.as_os_str()),
    ];
    pty.spawn(OsStr::new(env!("CARGO_BIN_EXE_qd")), &[&["logs", "x"], words].concat(), &variables);
    let mut peer = daemon.accept_welcome();
    begin_follow(&mut peer);
    (pty, peer)
}

/// What a full-screen program switches on: the alternate screen, the mouse, pastes, focus, keyboard, margins,
/// a charset.
const FULL_SCREEN: &[u8] =
    b"\x1b[?1049h\x1b[?1000;1006h\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[5;10r\x1b(0\x1b[31mtext";

/// What undoes each of them.
const UNDONE: [&[u8]; 7] = [b"\x1b[?1049l", b"1000;", b"1004;", b"2004;", b"\x1b[=0u", b"\x1b[r", b"\x1b(B"];

fn assert_undone(drawn: &[u8]) {
    for part in UNDONE {
        let is_there = drawn.windows(part.len()).any(|window| window == part);
        assert!(is_there, "no {}: {}", part.escape_ascii(), drawn.escape_ascii());
    }
}

#[test]
fn a_terminal_is_itself_after_the_log_of_a_full_screen_program() {
    for words in [&["-f"][..], &[]] {
        let root = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::listen(root.path());
        let (mut pty, mut peer) = logs(&daemon, words);
        peer.data(DataKind::Output, 0, FULL_SCREEN);
        peer.notice(Notice::End { stream: 1, reason: "complete".to_owned(), last_row: None });
        pty.expect(b"text");
        assert_eq!(pty.wait_exit(testkit::DEADLINE).code(), Some(0), "{words:?}");
        assert_undone(pty.seen());
    }
}

#[test]
fn m6c_a_log_on_a_terminal_shows_only_what_a_viewer_is_shown() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let (mut pty, mut peer) = logs(&daemon, &["-f"]);
    peer.data(
        DataKind::Output,
        0,
        b"\x1b]1337;Copy=:eA==\x07\x1b]5\x002;c;eA==\x07\x1b_Ga=T,t=f;eA==\x1b\\\x1b[21tlast",
    );
    peer.notice(Notice::End { stream: 1, reason: "complete".to_owned(), last_row: None });
    pty.expect(b"last");
    assert_eq!(pty.wait_exit(testkit::DEADLINE).code(), Some(0));
    for part in [&b"1337"[..], b"eA==", b"21t", b"\x1b_G"] {
        let is_there = pty.seen().windows(part.len()).any(|window| window == part);
        assert!(!is_there, "{}: {}", part.escape_ascii(), pty.seen().escape_ascii());
    }
}

#[test]
fn ctrl_c_leaves_a_terminal_that_is_itself() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let (mut pty, mut peer) = logs(&daemon, &["-f"]);
    peer.data(DataKind::Output, 0, FULL_SCREEN);
    pty.expect(b"text");
    pty.type_keys(b"\x03");
    assert_eq!(pty.wait_exit(testkit::DEADLINE).code(), Some(130));
    assert_undone(pty.seen());
}

#[test]
fn a_plain_log_leaves_the_cursor_where_it_is() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let (mut pty, mut peer) = logs(&daemon, &[]);
    peer.data(DataKind::Output, 0, b"text\n");
    peer.notice(Notice::End { stream: 1, reason: "complete".to_owned(), last_row: None });
    pty.wait_exit(testkit::DEADLINE);
    let mut screen = term::Screen::new(term::GridSize::clamped(80, 24), term::Limits::default());
    screen.feed(pty.seen());
    assert_eq!((screen.cursor().row, screen.cursor().col, screen.is_alternate()), (1, 0, false));
}
