//! Attach in a real terminal against a fake daemon.

use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;

use client::attach::{AttachOptions, AttachOutcome, Left, Terminal, attach_terminal};
use client::{ClientError, DaemonAddress};
use proto::frame::DataKind;
use proto::reply::{Attached, Done};
use proto::request::{SizeRequest, View};
use proto::{Dirs, ErrorCode, Exit, ExitReason, Failure, Notice, ProcessId, Reply, Request, RunNumber, Size};
use rustix::termios::{OutputModes, Termios};
use testkit::{FakeDaemon, FromClient, Peer, Pty};

const SIZE: Size = Size { cols: 100, rows: 30 };
/// The last part of the sequences that undo every mode.
const CURSOR_SHOWN: &[u8] = b"\x1b[?25h";

type Attachment = JoinHandle<Result<AttachOutcome, ClientError>>;

fn attach(dirs: &Dirs, pty: &Pty, change: impl FnOnce(&mut AttachOptions)) -> Attachment {
    let terminal: OwnedFd = pty.slave();
    let mut options = AttachOptions::new("build".into());
    change(&mut options);
    let mut door = DaemonAddress::without_start(dirs.clone());
    std::thread::spawn(move || attach_terminal(&mut door, &options, terminal.as_fd(), terminal.as_fd()))
}

fn left(attachment: Attachment) -> Left {
    attachment.join().expect("no panic").expect("an outcome").left
}

fn modes(settings: &Termios) -> (u32, u32, u32) {
    let Termios { local_modes, input_modes, output_modes, .. } = settings;
    (local_modes.bits(), input_modes.bits(), output_modes.bits())
}

#[test]
fn the_first_press_of_the_detach_keys_restores_the_terminal() {
    for keys in [&b"\x1cd"[..], b"\x1b[92;5u\x1b[100;1u", b"\x1b[92;5u\x1b[92;5:3ud"] {
        let root = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::listen(root.path());
        let mut pty = Pty::open(SIZE);
        let before = modes(&pty.settings());
        let attachment = attach(daemon.dirs(), &pty, |_| {});
        let (mut peer, request) = daemon.accept_attach();
        assert_eq!(request.size, SizeRequest::from(SIZE));
        peer.data(DataKind::Repaint, 0, b"\x1b[?1049h\x1b[?1003h\x1b[?25lhello");
        pty.expect(b"hello");
        assert!(pty.is_raw());
        pty.type_keys(&[b"ls\r", keys].concat());
        peer.expect_input(b"ls\r");
        assert_eq!(left(attachment), Left::Detached);
        assert_eq!(modes(&pty.settings()), before);
        pty.expect(b"1003;1004");
        pty.expect(b"\x1b[?1049l");
        pty.expect(CURSOR_SHOWN);
        assert_eq!(peer.receive(), FromClient::End);
    }
}

#[test]
fn a12_queries_reach_no_viewer_and_everything_else_does() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    peer.data(DataKind::Repaint, 0, b"<begin>");
    peer.data(DataKind::Output, 0, b"a\x1b[cb\x1b]11;?\x07c\x1b[?u");
    peer.data(DataKind::Output, 14, b"d\x1b[6");
    peer.data(DataKind::Output, 18, b"ne\x1b[31mf<end>");
    pty.expect(b"<begin>");
    assert_eq!(pty.expect(b"<end>"), b"abcde\x1b[31mf");
    pty.type_keys(b"\x1cd");
    assert_eq!(left(attachment), Left::Detached);
}

#[test]
fn a_repaint_after_skipped_bytes_ends_the_sequence_that_was_cut() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    peer.data(DataKind::Repaint, 0, b"<begin>");
    peer.data(DataKind::Output, 0, b"x\x1bPq~");
    peer.notice(Notice::Gap { stream: 1, from: 15, to: 90 });
    peer.data(DataKind::Repaint, 90, b"<again>");
    pty.expect(b"<begin>");
    assert_eq!(pty.expect(b"<again>"), b"x\x1bPq~\x18");
    pty.type_keys(b"\x1cd");
    assert_eq!(left(attachment), Left::Detached);
}

#[test]
fn the_exit_is_told_after_the_last_byte() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    let exit = Exit { code: Some(3), signal: None, reason: ExitReason::Exited };
    peer.data(DataKind::Output, 0, b"last words");
    peer.notice(Notice::Exit { stream: 1, exit, offset: 10 });
    peer.notice(Notice::End { stream: 1, reason: "exited".to_owned(), last_row: None });
    assert_eq!(left(attachment), Left::Exited(exit));
    pty.expect(b"last words");
}

#[test]
fn s1_a_daemon_that_dies_is_attached_to_again_and_typing_is_not_replayed() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    peer.data(DataKind::Repaint, 0, b"<before>");
    pty.expect(b"<before>");
    let dirs = daemon.dirs().clone();
    drop(daemon);
    drop(peer);
    pty.type_keys(b"typed into nothing");
    pty.expect(b"\x07");
    let daemon = FakeDaemon::listen(root.path());
    assert_eq!(daemon.dirs(), &dirs);
    let (mut peer, request) = daemon.accept_attach();
    assert!(request.target.0.starts_with("p_"), "{request:?}");
    peer.data(DataKind::Repaint, 0, b"<after>");
    pty.expect(b"<after>");
    pty.type_keys(b"now\x1cd");
    peer.expect_input(b"now");
    assert_eq!(left(attachment), Left::Detached);
}

#[test]
fn a_daemon_that_never_returns_is_given_up_and_the_terminal_restored() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let before = modes(&pty.settings());
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    peer.data(DataKind::Repaint, 0, b"<before>");
    pty.expect(b"<before>");
    drop(daemon);
    drop(peer);
    let outcome = attachment.join().expect("no panic");
    assert!(matches!(outcome, Err(ClientError::Unreachable(_))), "{outcome:?}");
    assert_eq!(modes(&pty.settings()), before);
}

#[test]
fn d7_a_terminal_that_hangs_up_detaches() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    drop(pty.hang_up());
    assert_eq!(peer.receive(), FromClient::End);
    assert_eq!(left(attachment), Left::HungUp);
}

#[test]
fn a_watcher_types_nothing_and_can_detach() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |options| options.read_only = true);
    let (mut peer, request) = daemon.accept_attach();
    assert!(request.read_only);
    pty.type_keys(b"x");
    pty.expect(b"\x07");
    pty.type_keys(b"\x1cd");
    assert_eq!(left(attachment), Left::Detached);
    assert_eq!(peer.receive(), FromClient::End);
}

/// Returns a client whose daemon accepts terminals, and the call with which it offers its own.
fn offered(daemon: &FakeDaemon) -> (Peer, u64) {
    let mut peer = daemon.accept_welcome();
    let attach = peer.call();
    assert!(matches!(attach.request, Request::Attach(_)), "{attach:?}");
    let attached = Attached {
        id: ProcessId::from_entropy(1),
        name: "build".parse().expect("a name"),
        run: RunNumber(1),
        size: Size::DEFAULT,
        stream: 1,
        takes_terminal: true,
        takes_answers: false,
        receipts: false,
    };
    peer.reply(attach.id, Reply::Attached(attached));
    let offer = peer.call();
    assert!(matches!(offer.request, Request::View(View::Terminal(_))), "{offer:?}");
    (peer, offer.id)
}

#[test]
fn a_terminal_that_was_taken_is_neither_read_nor_drawn_on_and_restored_at_the_end() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let before = modes(&pty.settings());
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, offer) = offered(&daemon);
    peer.data(DataKind::Repaint, 0, b"<drawn for the connection>");
    peer.reply(offer, Reply::Done(Done {}));
    peer.notice(Notice::Screen { stream: 1, alternate: true, colored: false });
    // The client does not read this: nothing but its end comes after the offer.
    pty.type_keys(b"\x1cd");
    peer.data(DataKind::Output, 0, b"<not taken before the end>");
    peer.notice(Notice::End { stream: 1, reason: "detached".to_owned(), last_row: None });
    assert_eq!(left(attachment), Left::Detached);
    assert_eq!(modes(&pty.settings()), before);
    let drawn = pty.expect(b"<not taken before the end>");
    assert!(!drawn.windows(6).any(|bytes| bytes == b"<drawn"), "{}", drawn.escape_ascii());
    pty.expect(b"\x1b[?1049l");
    pty.expect(CURSOR_SHOWN);
    assert_eq!(peer.receive(), FromClient::End);
}

#[test]
fn a_terminal_that_is_not_taken_is_read_and_drawn_on_by_the_client() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, offer) = offered(&daemon);
    peer.data(DataKind::Repaint, 0, b"<too early>");
    pty.type_keys(b"typed meanwhile");
    peer.fail(offer, Failure::new(ErrorCode::InvalidArgs, "no terminal"));
    assert!(matches!(peer.call().request, Request::View(View::Repaint(_))));
    peer.expect_input(b"typed meanwhile");
    peer.data(DataKind::Repaint, 0, b"<drawn>");
    let before = pty.expect(b"<drawn>");
    assert!(!before.windows(5).any(|bytes| bytes == b"early"), "{}", before.escape_ascii());
    pty.type_keys(b"ls\x1cd");
    peer.expect_input(b"ls");
    assert_eq!(left(attachment), Left::Detached);
}

#[test]
fn a_panic_while_attached_restores_the_terminal() {
    let mut pty = Pty::open(SIZE);
    let before = modes(&pty.settings());
    let slave = pty.slave();
    let panicked = std::thread::spawn(move || {
        let mut terminal = Terminal::enter(slave.as_fd(), slave.as_fd()).expect("a terminal");
        terminal.write(b"<drawn>").expect("it takes bytes");
        panic!("on purpose");
    })
    .join();
    assert!(panicked.is_err());
    pty.expect(b"<drawn>");
    pty.expect(CURSOR_SHOWN);
    assert_eq!(modes(&pty.settings()), before);
    assert!(pty.settings().output_modes.contains(OutputModes::OPOST));
}

#[test]
fn a_refusal_leaves_the_terminal_untouched() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let mut peer = daemon.accept_welcome();
    let call = peer.call();
    peer.fail(call.id, proto::Failure::new(proto::ErrorCode::NotFound, "no such process"));
    let outcome = attachment.join().expect("no panic");
    assert!(matches!(outcome, Err(ClientError::Failed(_))), "{outcome:?}");
    assert!(!pty.is_raw());
    assert!(pty.seen().is_empty());
}

/// Returns a client whose daemon has its terminal.
fn passed(daemon: &FakeDaemon) -> Peer {
    let (mut peer, offer) = offered(daemon);
    peer.reply(offer, Reply::Done(Done {}));
    peer
}

/// Waits for a request for a sign of life and returns its id.
fn asked(peer: &mut Peer) -> u64 {
    let call = peer.call();
    assert!(matches!(call.request, Request::View(View::Size(_))), "{call:?}");
    call.id
}

#[test]
fn detaching_works_while_a_daemon_that_has_the_terminal_is_silent() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let pty = Pty::open(SIZE);
    let before = modes(&pty.settings());
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let mut peer = passed(&daemon);
    pty.type_keys(b"ls\r\x1cd");
    asked(&mut peer);
    peer.expect_input(b"ls\r");
    assert_eq!(left(attachment), Left::Detached);
    assert_eq!(modes(&pty.settings()), before);
    assert_eq!(peer.receive(), FromClient::End);
}

#[test]
fn a_daemon_that_wakes_gets_what_was_typed_meanwhile_before_it_has_the_terminal_again() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let mut peer = passed(&daemon);
    pty.type_keys(b"a");
    let first = asked(&mut peer);
    peer.expect_input(b"a");
    assert!(!pty.is_raw(), "the daemon would read beside the client");
    pty.type_keys(b"\x03\x1a");
    peer.expect_input(b"\x03\x1a");
    peer.reply(first, Reply::Done(Done {}));
    // It may not have read what was sent after the first question.
    let second = asked(&mut peer);
    assert!(!pty.is_raw());
    peer.reply(second, Reply::Done(Done {}));
    assert!(matches!(peer.call().request, Request::View(View::Repaint(_))));
    assert!(pty.is_raw());
    peer.notice(Notice::End { stream: 1, reason: "detached".to_owned(), last_row: None });
    assert_eq!(left(attachment), Left::Detached);
}

/// Returns the number of keys that no daemon has read.
fn unread(pty: &Pty) -> u64 {
    rustix::io::ioctl_fionread(pty.slave()).expect("a terminal counts its keys")
}

/// Returns true if one of five rounds succeeds: on a loaded machine a round may take longer than a daemon
/// may.
fn in_one_of_five(round: impl Fn() -> bool) -> bool {
    (0..5).any(|_| round())
}

#[test]
fn a_daemon_that_answers_keeps_the_terminal_however_long_it_leaves_keys_there() {
    let is_left_alone = || {
        let root = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::listen(root.path());
        let pty = Pty::open(SIZE);
        let attachment = attach(daemon.dirs(), &pty, |_| {});
        let mut peer = passed(&daemon);
        pty.type_keys(b"held back");
        let mut signs = 0;
        while signs < 2 {
            match peer.receive() {
                FromClient::Call(call) => peer.reply(call.id, Reply::Done(Done {})),
                FromClient::Data(_) | FromClient::End => break,
            }
            signs += 1;
        }
        let unread = unread(&pty);
        peer.notice(Notice::End { stream: 1, reason: "detached".to_owned(), last_row: None });
        assert_eq!(left(attachment), Left::Detached);
        signs == 2 && unread == 9
    };
    assert!(in_one_of_five(is_left_alone));
}

#[test]
fn keys_for_a_daemon_that_never_returns_are_dropped_with_a_bell() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let peer = passed(&daemon);
    drop(daemon);
    drop(peer);
    pty.type_keys(b"touch leak\r");
    let outcome = attachment.join().expect("no panic");
    assert!(matches!(outcome, Err(ClientError::Unreachable(_))), "{outcome:?}");
    pty.expect(b"\x07");
    assert_eq!(unread(&pty), 0);
}

#[test]
fn detaching_works_while_no_daemon_lives_that_had_the_terminal() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let peer = passed(&daemon);
    drop(daemon);
    drop(peer);
    pty.type_keys(b"nobody reads this\x1cd");
    assert_eq!(left(attachment), Left::Detached);
}

#[test]
fn what_was_typed_and_not_read_is_the_next_programs_after_an_exit_and_after_a_detach_only() {
    let exit = Exit { code: Some(0), signal: None, reason: ExitReason::Exited };
    let is_kept = |reason: &str, exit: Option<Exit>| {
        let root = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::listen(root.path());
        let pty = Pty::open(SIZE);
        let attachment = attach(daemon.dirs(), &pty, |_| {});
        let mut peer = passed(&daemon);
        pty.type_keys(b"next\n");
        if let Some(exit) = exit {
            peer.notice(Notice::Exit { stream: 1, exit, offset: 0 });
        }
        peer.notice(Notice::End { stream: 1, reason: reason.to_owned(), last_row: None });
        left(attachment);
        unread(&pty) > 0
    };
    assert!(in_one_of_five(|| is_kept("exited", Some(exit))));
    assert!(in_one_of_five(|| is_kept("detached", None)));
    for reason in ["taken_over", "lost", "closed"] {
        assert!(!is_kept(reason, None), "{reason}");
    }
}

#[test]
fn a_process_that_is_started_again_is_shown_again() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut pty = Pty::open(SIZE);
    let attachment = attach(daemon.dirs(), &pty, |_| {});
    let (mut peer, _) = daemon.accept_attach();
    peer.notice(Notice::End { stream: 1, reason: "restarted".to_owned(), last_row: None });
    // There is no next run yet, then the old one is still there, then the next.
    let mut early = daemon.accept_welcome();
    let call = early.call();
    early.fail(call.id, Failure::new(ErrorCode::NotRunning, "its run is gone"));
    let (mut old, _) = daemon.accept_attach();
    let exit = Exit { code: None, signal: Some(1), reason: ExitReason::Signalled };
    old.notice(Notice::Exit { stream: 1, exit, offset: 0 });
    old.notice(Notice::End { stream: 1, reason: "exited".to_owned(), last_row: None });
    let mut next = daemon.accept_welcome();
    let call = next.call();
    assert!(matches!(call.request, Request::Attach(_)), "{call:?}");
    let attached = Attached {
        id: ProcessId::from_entropy(1),
        name: "build".parse().expect("a name"),
        run: RunNumber(2),
        size: Size::DEFAULT,
        stream: 1,
        takes_terminal: false,
        takes_answers: false,
        receipts: false,
    };
    next.reply(call.id, Reply::Attached(attached));
    next.data(DataKind::Repaint, 0, b"<the next run>");
    pty.expect(b"<the next run>");
    pty.type_keys(b"ls\x1cd");
    next.expect_input(b"ls");
    assert_eq!(left(attachment), Left::Detached);
}
