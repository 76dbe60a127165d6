//! `qd attach`: the real program in a real terminal, against a fake daemon.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::ffi::OsStr;

use proto::frame::DataKind;
use proto::reply::{Attached, Done};
use proto::request::View;
use proto::{Exit, ExitReason, Notice, ProcessId, Reply, Request, RunNumber, Size};
use rustix::process::Signal;
use testkit::process_scan::eventually;
use testkit::{DEADLINE, FakeDaemon, FromClient, Peer, Pty, wait_for_end};

const SIZE: Size = Size { cols: 90, rows: 20 };

struct Stage {
    _root: tempfile::TempDir,
    daemon: FakeDaemon,
    pty: Pty,
    pid: i32,
}

fn stage(arguments: &[&str]) -> Stage {
    stage_with(env!("CARGO_BIN_EXE_qd"), arguments, &[])
}

fn stage_with(program: &str, arguments: &[&str], more: &[(&str, &OsStr)]) -> Stage {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let dirs = daemon.dirs().clone();
    let own: [(&str, &OsStr); 3] = [
        ("QD_RUNTIME_DIR", dirs.runtime.as_os_str()),
        ("QD_DATA_DIR", dirs.data.as_os_str()),
        ("QD_CONFIG_DIR", dirs.config.as_os_str()),
    ];
    let pid = pty.spawn(OsStr::new(program), arguments, &[&own, more].concat());
    Stage { _root: root, daemon, pty, pid }
}

fn attached() -> (Stage, Peer) {
    let mut stage = stage(&["attach", "build"]);
    let (mut peer, _) = stage.daemon.accept_attach();
    peer.data(DataKind::Repaint, 0, b"\x1b[?1002h<drawn>");
    stage.pty.expect(b"<drawn>");
    assert!(stage.pty.is_raw());
    (stage, peer)
}

#[test]
fn detaching_says_so_and_exits_with_zero() {
    let (mut stage, _peer) = attached();
    stage.pty.type_keys(b"\x1cd");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
    stage.pty.expect(b"[detached from build]");
    assert!(!stage.pty.is_raw());
}

#[test]
fn the_exit_code_is_the_childs() {
    let (mut stage, mut peer) = attached();
    let exit = Exit { code: Some(3), signal: None, reason: ExitReason::Exited };
    peer.notice(Notice::Exit { stream: 1, exit, offset: 0 });
    peer.notice(Notice::End { stream: 1, reason: "exited".to_owned(), last_row: None });
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(3));
    stage.pty.expect(b"[build: exit 3]");
}

#[test]
fn a_signal_while_the_daemon_has_not_answered_yet_restores_the_terminal_too() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut stage = stage(&["attach", "build"]);
        let mut peer = stage.daemon.accept_welcome();
        assert!(matches!(peer.call().request, Request::Attach(_)));
        assert!(stage.pty.is_raw());
        stage.pty.signal(signal);
        assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(code));
        assert!(!stage.pty.is_raw());
    }
}

#[test]
fn a_signal_while_the_daemon_does_not_greet_ends_the_client_as_it_ends_any_program() {
    let mut stage = stage(&["attach", "build"]);
    let mut peer = stage.daemon.accept();
    assert!(matches!(peer.call().request, Request::Hello(_)));
    assert!(!stage.pty.is_raw());
    stage.pty.signal(Signal::TERM);
    let ended = stage.pty.wait_exit(DEADLINE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15));
}

#[test]
fn a_size_that_changed_before_the_daemon_has_answered_is_told_afterwards() {
    let mut stage = stage(&["attach", "build"]);
    let mut peer = stage.daemon.accept_welcome();
    let call = peer.call();
    stage.pty.resize(Size { cols: 70, rows: 15 });
    stage.pty.signal(Signal::WINCH);
    // The signal is handled before the answer: it was sent first, and both are waited for at once.
    let attached = Attached {
        id: ProcessId::from_entropy(1),
        name: "build".parse().unwrap(),
        run: RunNumber(1),
        size: SIZE,
        stream: 1,
        takes_terminal: false,
        takes_answers: false,
        receipts: false,
    };
    peer.reply(call.id, Reply::Attached(attached));
    let told = peer.call().request;
    assert!(
        matches!(told, Request::View(View::Size(size)) if size == Size { cols: 70, rows: 15 }.into()),
        "{told:?}"
    );
    // A client whose daemon goes would start another.
    stage.pty.signal(Signal::TERM);
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(143));
}

#[test]
fn every_signal_that_ends_it_restores_the_terminal_first() {
    for signal in [
        Signal::TERM,
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::ABORT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::XFSZ,
        Signal::IO,
        Signal::POWER,
        Signal::STKFLT,
    ] {
        let (mut stage, _peer) = attached();
        stage.pty.signal(signal);
        assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(128 + signal.as_raw()), "{signal:?}");
        stage.pty.expect(b"\x1b[?25h");
        assert!(!stage.pty.is_raw());
    }
}

#[test]
fn a_terminal_that_was_passed_is_restored_only_after_the_daemon_has_let_go() {
    let mut stage = stage(&["attach", "build"]);
    let mut peer = stage.daemon.accept_welcome();
    let attach = peer.call();
    let name = "build".parse().unwrap();
    let (id, run, size) = (ProcessId::from_entropy(1), RunNumber(1), Size::DEFAULT);
    peer.reply(
        attach.id,
        Reply::Attached(Attached {
            id,
            name,
            run,
            size,
            stream: 1,
            takes_terminal: true,
            takes_answers: false,
            receipts: false,
        }),
    );
    let offer = peer.call();
    assert!(matches!(offer.request, Request::View(View::Terminal(_))), "{offer:?}");
    peer.reply(offer.id, Reply::Done(Done {}));
    stage.pty.signal(Signal::TERM);
    assert_eq!(peer.receive(), FromClient::End);
    assert!(stage.pty.is_raw(), "restored while the daemon may still draw");
    drop(peer);
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(143));
    stage.pty.expect(b"\x1b[?25h");
    assert!(!stage.pty.is_raw());
}

#[test]
fn a_new_size_of_the_terminal_is_told() {
    let (mut stage, mut peer) = attached();
    let size = Size { cols: 61, rows: 17 };
    stage.pty.resize(size);
    assert_eq!(peer.call().request, Request::View(View::Size(size.into())));
    stage.pty.type_keys(b"\x1cd");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn d7_closing_the_terminal_ends_it() {
    let (stage, mut peer) = attached();
    let mut child = stage.pty.hang_up().unwrap();
    wait_for_end(&mut child, DEADLINE);
    assert_eq!(peer.receive(), FromClient::End);
}

#[test]
fn detach_works_while_the_terminal_takes_no_output() {
    let (mut stage, mut peer) = attached();
    // More than a terminal buffers, and it is not read.
    peer.data(DataKind::Output, 0, &vec![b'x'; 300_000]);
    stage.pty.type_keys(b"k");
    peer.expect_input(b"k");
    stage.pty.type_keys(b"\x1cd");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn other_detach_keys_come_from_an_option() {
    let mut stage = stage(&["attach", "build", "--detach-keys", "ctrl-q"]);
    let (mut peer, _) = stage.daemon.accept_attach();
    assert!(stage.pty.is_raw());
    stage.pty.type_keys(b"\x1cd");
    peer.expect_input(b"\x1cd");
    stage.pty.type_keys(b"\x11");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn a_client_that_is_sent_to_sleep_leaves_a_terminal_that_a_shell_can_use() {
    let (mut stage, mut peer) = attached();
    stage.pty.signal(Signal::TSTP);
    stage.pty.expect(b"1002;1003");
    stage.pty.expect(b"\x1b[?25h");
    eventually("the client sleeps", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", stage.pid)).unwrap();
        stat.rsplit_once(')').filter(|(_, rest)| rest.starts_with(" T")).map(drop)
    });
    assert!(!stage.pty.is_raw());
    stage.pty.signal(Signal::CONT);
    assert!(matches!(peer.call().request, Request::View(View::Repaint(_))));
    assert!(stage.pty.is_raw());
    peer.data(DataKind::Repaint, 0, b"<drawn again>");
    stage.pty.expect(b"<drawn again>");
    stage.pty.type_keys(b"\x1cd");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn modes_that_are_on_in_some_terminals_and_off_in_others_are_as_they_were() {
    let (mut stage, _peer) = attached();
    stage.pty.type_keys(b"\x1cd");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
    stage.pty.expect(b";1007;1015;1016;2004;2027;2031r");
    let mut stage = self::stage(&["attach", "build"]);
    let (mut peer, _) = stage.daemon.accept_attach();
    stage.pty.expect(b";1007;1015;1016;2004;2027;2031s");
    peer.notice(Notice::End { stream: 1, reason: "detached".to_owned(), last_row: None });
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn a_watcher_without_input_watches_to_the_end() {
    let script = "\"$0\" attach build --read-only </dev/null";
    let mut stage = stage_with("sh", &["-c", script, env!("CARGO_BIN_EXE_qd")], &[]);
    let (mut peer, _) = stage.daemon.accept_attach();
    for round in 0..20 {
        let words = format!("<round {round}>");
        peer.data(DataKind::Repaint, 0, words.as_bytes());
        stage.pty.expect(words.as_bytes());
    }
    let exit = Exit { code: Some(3), signal: None, reason: ExitReason::Exited };
    peer.notice(Notice::Exit { stream: 1, exit, offset: 0 });
    peer.notice(Notice::End { stream: 1, reason: "exited".to_owned(), last_row: None });
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(3));
}

#[test]
fn a_variable_that_is_set_to_nothing_leaves_the_detach_keys_as_they_are() {
    let empty = [("QD_DETACH_KEYS", OsStr::new(""))];
    let mut stage = stage_with(env!("CARGO_BIN_EXE_qd"), &["attach", "build"], &empty);
    let (mut peer, _) = stage.daemon.accept_attach();
    peer.data(DataKind::Repaint, 0, b"<drawn>");
    stage.pty.expect(b"<drawn>");
    stage.pty.type_keys(b"\x1cd");
    assert_eq!(stage.pty.wait_exit(DEADLINE).code(), Some(0));
}

#[test]
fn why_no_daemon_comes_back_is_told() {
    let (Stage { _root, daemon, mut pty, .. }, peer) = attached();
    let runtime = daemon.dirs().runtime.clone();
    std::fs::set_permissions(&runtime, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    // It leaves its socket behind, like a killed daemon.
    drop((daemon, peer));
    assert_eq!(pty.wait_exit(DEADLINE).code(), Some(6));
    pty.expect(b"others may enter it (mode 0755)");
}
