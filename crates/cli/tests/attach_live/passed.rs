//! Terminals that the daemon reads and draws on itself: which process has them, and what happens to them when
//! one dies.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::{Connection, DaemonAddress, Incoming};
use proto::frame::{DataKind, encode_data};
use proto::request::{PassedTerminal, Questions, SizeRequest, View};
use proto::terminal::DetachKeys;
use proto::{Call, ErrorCode, Outcome, Request, Size};
use rustix::fs::{FlockOperation, flock};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, tcsetattr};
use testkit::{DEADLINE, MarkedDaemon, Pty, Tail};

use super::window::Window;
use super::{running, runs_on_alone, sh, stage};

/// Returns the terminal as a file.
fn path(slave: &OwnedFd) -> PathBuf {
    std::fs::read_link(format!("/proc/self/fd/{}", slave.as_raw_fd())).unwrap()
}

/// Returns how many descriptors of the daemon refer to this terminal.
fn held_by_daemon(stage: &MarkedDaemon, window: &Window) -> usize {
    let terminal = path(&window.pty.slave());
    let entries = std::fs::read_dir(format!("/proc/{}/fd", stage.pid())).unwrap();
    entries.flatten().filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| to == terminal)).count()
}

/// Returns how many descriptors the daemon has; a few more or less come and go with connections.
fn descriptors(stage: &MarkedDaemon) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", stage.pid())).unwrap().count()
}

/// Draws until a condition holds that has no event.
fn until(window: &mut Window, what: &str, is_true: impl Fn(&Window) -> bool) {
    let end = Instant::now() + DEADLINE;
    while !is_true(window) {
        assert!(Instant::now() < end, "never: {what}; the window shows:\n{}", window.text());
        window.draw(Instant::now() + Duration::from_millis(5));
    }
}

/// Returns the number of unread keys.
fn unread(window: &Window) -> u64 {
    rustix::io::ioctl_fionread(window.pty.slave()).unwrap()
}

/// Returns the child that a shell waits for.
fn child_of(shell: i32) -> i32 {
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn an_attached_terminal_is_drawn_on_by_the_daemon_and_given_back_at_the_end() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    window.type_keys("one\r");
    window.until_shows("got:one");
    assert_eq!(held_by_daemon(&stage, &window), 1);
    assert_eq!(window.detach().code(), Some(0));
    assert_eq!(held_by_daemon(&stage, &window), 0);
}

#[test]
fn a_killed_clients_terminal_is_read_by_its_shell_and_by_nobody_else() {
    let stage = running();
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    let script =
        "\"$0\" attach x; stty sane -echo; echo back; read -r line; echo \"shell:$line\"; read -r line";
    let (mut window, shell) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", script, env!("CARGO_BIN_EXE_qd")]);
    window.until_shows("ready");
    window.type_keys("before\r");
    window.until_shows("got:before");
    signal(child_of(shell), Signal::KILL);
    window.until_shows("back");
    stage.until_view("x", |view| view.terminal.viewers == 0);
    assert_eq!(held_by_daemon(&stage, &window), 0);
    window.type_keys("for the shell\r");
    window.until_shows("shell:for the shell");
    stage.type_text("x", "after\n");
    let seen = tail.until(b"got:after");
    assert!(!seen.windows(5).any(|bytes| bytes == b"shell"), "{}", seen.escape_ascii());
    assert!(!window.text().contains("got:after"), "{}", window.text());
}

#[test]
fn a_stopped_clients_terminal_is_left_alone_until_it_goes_on() {
    let stage = running();
    let script = "\"$0\" attach x";
    let (mut window, shell) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", script, env!("CARGO_BIN_EXE_qd")]);
    window.until_shows("ready");
    window.type_keys("before\r");
    window.until_shows("got:before");
    let (client, raw) = (child_of(shell), window.pty.settings());
    signal(client, Signal::STOP);
    // What a shell does to a terminal when its foreground program stops.
    let cooked = Pty::open(Size::DEFAULT).settings();
    assert!(window.pty.is_raw());
    tcsetattr(window.pty.slave(), OptionalActions::Now, &cooked).unwrap();
    window.type_keys("for the shell\r");
    stage.type_text("x", "meanwhile\n");
    stage.wait_pattern("x", "got:meanwhile");
    assert!(!stage.screen("x").contains("got:for the shell"));
    assert_eq!(unread(&window), "for the shell\n".len() as u64);
    assert!(!window.text().contains("got:meanwhile"), "{}", window.text());
    tcsetattr(window.pty.slave(), OptionalActions::Flush, &cooked).unwrap();
    signal(client, Signal::CONT);
    window.until_shows("got:meanwhile");
    assert_eq!(format!("{:?}", window.pty.settings()), format!("{raw:?}"));
    window.type_keys("again\r");
    window.until_shows("got:again");
    assert_eq!(window.text(), stage.screen("x").trim_end());
}

#[test]
fn d7_a_terminal_that_hangs_up_ends_its_viewer() {
    let stage = running();
    let window = Window::attached(&stage, "ready");
    let mut client = window.pty.hang_up().unwrap();
    testkit::wait_for_end(&mut client, testkit::DEADLINE);
    runs_on_alone(&stage);
}

#[test]
fn a9_a_terminal_that_takes_nothing_delays_nobody() {
    let stage = stage();
    let script = "stty -echo; echo ready; while read -r l; do seq -s ' ' 1 4000; echo \"got:$l\"; done";
    stage.run("x", sh(script));
    stage.wait_pattern("x", "ready");
    let mut stuck = Window::attached(&stage, "ready");
    let mut window = Window::attached(&stage, "ready");
    for round in 0..20 {
        window.type_keys(&format!("round {round}.\r"));
        window.until_shows(&format!("got:round {round}."));
    }
    assert!(!stuck.has_drawn(b"got:"));
    // It detaches although it reads nothing, and shows the same once it does.
    stuck.until_shows("got:round 19.");
    assert_eq!(stuck.text(), stage.screen("x").trim_end());
}

#[test]
fn detaching_from_a_terminal_that_takes_nothing_works() {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; echo ready; head -c 1 >/dev/null; yes | head -c 300000; printf the-end; exec cat"));
    stage.wait_pattern("x", "ready");
    let mut window = Window::attached(&stage, "ready");
    window.type_keys("g");
    stage.wait_pattern("x", "the-end");
    assert_eq!(window.detach().code(), Some(0));
}

#[test]
fn detach_keys_are_found_across_two_reads() {
    let stage = running();
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    let mut window = Window::attached(&stage, "ready");
    window.type_keys("\u{1c}");
    until(&mut window, "the first key was read", |window| unread(window) == 0);
    window.type_keys("d");
    assert_eq!(window.wait_exit().code(), Some(0));
    window.until_shows("[detached from x]");
    stage.type_text("x", "after\n");
    let seen = tail.until(b"got:after");
    assert!(!seen.contains(&0x1c), "{}", seen.escape_ascii());
}

#[test]
fn a_cut_key_reaches_the_child_although_its_rest_never_comes() {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; echo ready; exec cat -v"));
    stage.wait_pattern("x", "ready");
    let mut window = Window::attached(&stage, "ready");
    window.type_keys("\u{1b}[92");
    window.until_shows("^[[92");
}

#[test]
fn s1_keys_typed_while_no_daemon_lives_are_typed_by_the_next() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    for round in 0..3 {
        window.type_keys(&format!("before {round}\r"));
        window.until_shows(&format!("got:before {round}"));
        stage.kill_9();
        window.type_keys(&format!("kept {round}\r"));
        window.until_shows(&format!("got:kept {round}"));
        assert_eq!(held_by_daemon(&stage, &window), 1);
    }
    assert_eq!(window.text(), stage.screen("x").trim_end());
    assert_eq!(window.detach().code(), Some(0));
}

#[test]
fn s1_detach_keys_of_which_the_first_is_typed_without_a_daemon_and_the_last_with_the_next_detach() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    // The lock keeps the next daemon from starting, unless that was quicker.
    let lock = std::fs::File::open(stage.dirs().data_lock()).unwrap();
    stage.kill_9();
    let _quicker = flock(&lock, FlockOperation::NonBlockingLockExclusive);
    window.type_keys("\u{1c}");
    // A client that waits for the start of a daemon reads no key until that ends. It must detach either way.
    let deadline = Instant::now() + Duration::from_secs(2);
    while unread(&window) > 0 && Instant::now() < deadline {
        window.draw(Instant::now() + Duration::from_millis(5));
    }
    drop(lock);
    until(&mut window, "the next daemon has the terminal", |window| held_by_next(&stage, window));
    window.type_keys("d");
    assert_eq!(window.wait_exit().code(), Some(0));
    window.until_shows("[detached from x]");
}

/// Returns true if the next daemon runs and has the window's terminal.
fn held_by_next(stage: &MarkedDaemon, window: &Window) -> bool {
    let address = DaemonAddress::without_start(stage.dirs());
    address.connect_if_running().is_ok() && held_by_daemon(stage, window) == 1
}

#[test]
fn a_signalled_client_leaves_a_terminal_that_nobody_draws_on() {
    let stage = stage();
    stage.run(
        "x",
        sh("stty raw -echo; printf '\\033[?1049hready'; head -c 1 >/dev/null; while :; do printf x; done"),
    );
    stage.wait_pattern("x", "ready");
    let script = "\"$0\" attach x; printf back; read -r line";
    let (mut window, shell) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", script, env!("CARGO_BIN_EXE_qd")]);
    window.until("the alternate screen", |screen| screen.is_alternate());
    window.type_keys("g");
    window.until_shows("xxxxx");
    signal(child_of(shell), Signal::TERM);
    window.until_shows("back");
    assert!(window.drawn.ends_with(b"back"), "{}", window.drawn[window.drawn.len() - 200..].escape_ascii());
    assert!(!window.screen.is_alternate() && window.screen.cursor().visible);
}

#[test]
fn output_into_a_pipe_goes_through_the_connection() {
    let stage = running();
    let script = "\"$0\" attach x | cat";
    let (mut window, _) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", script, env!("CARGO_BIN_EXE_qd")]);
    window.until_shows("ready");
    assert_eq!(held_by_daemon(&stage, &window), 0);
    window.type_keys("piped\r");
    window.until_shows("got:piped");
    assert_eq!(window.detach().code(), Some(0));
}

/// Passes a descriptor, or none; returns the answer.
fn pass(viewer: &mut Connection, id: u64, fd: Option<BorrowedFd<'_>>) -> Outcome {
    let request = PassedTerminal {
        detach_keys: DetachKeys::default(),
        clipboard: false,
        questions: Questions::NotAsked,
        undecided: String::new(),
    };
    let call = Call { id, request: Request::View(View::Terminal(request)) };
    let line = [serde_json::to_vec(&call).unwrap(), b"\n".to_vec()].concat();
    let fds: Vec<_> = fd.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        assert!(beside.push(SendAncillaryMessage::ScmRights(&fds)));
    }
    sendmsg(viewer.as_fd(), &[IoSlice::new(&line)], &mut beside, SendFlags::empty()).unwrap();
    loop {
        match viewer.receive_before(Instant::now() + DEADLINE).unwrap() {
            Some(Incoming::Answer(answer)) if answer.id == id => return answer.outcome,
            Some(_) => {}
            None => panic!("no answer"),
        }
    }
}

#[test]
fn what_is_no_terminal_is_refused_and_the_connection_goes_on() {
    let stage = running();
    let mut viewer = stage.client();
    let size = SizeRequest::from(Size::DEFAULT);
    let request = proto::request::Attach { target: "x".into(), size, ..proto::request::Attach::default() };
    assert!(viewer.attach(request).unwrap().takes_terminal);
    let null = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let file = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    let (pipe, _other) = rustix::pipe::pipe().unwrap();
    let socket = OwnedFd::from(std::os::unix::net::UnixStream::pair().unwrap().0);
    // The other side of a terminal is one too, but no person sits there.
    let master =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    let before = descriptors(&stage);
    let all = [Some(&null), Some(&file), Some(&pipe), Some(&socket), Some(&master), None];
    for (number, fd) in (100..).zip(all.into_iter().cycle().take(60)) {
        let outcome = pass(&mut viewer, number, fd.map(AsFd::as_fd));
        let is_refused =
            matches!(&outcome, Outcome::Error(failure) if failure.code == ErrorCode::InvalidArgs);
        assert!(is_refused, "{number}: {outcome:?}");
    }
    let after = descriptors(&stage);
    assert!(after < before + 10, "{before} descriptors became {after}");
    let mut frame = Vec::new();
    encode_data(&mut frame, DataKind::Input, 1, 0, b"through the socket\n");
    rustix::io::write(viewer.as_fd(), &frame).unwrap();
    let end = Instant::now() + DEADLINE;
    let mut seen = Vec::new();
    while !seen.windows(22).any(|bytes| bytes == b"got:through the socket") {
        if let Some(Incoming::Data(data)) = viewer.receive_before(end).unwrap() {
            seen.extend_from_slice(&data.bytes);
        }
        assert!(Instant::now() < end, "{}", seen.escape_ascii());
    }
}

#[test]
fn a_descriptor_without_a_call_is_closed_with_the_next() {
    let stage = running();
    let mut viewer = stage.client();
    let size = SizeRequest::from(Size::DEFAULT);
    let request = proto::request::Attach {
        target: "x".into(),
        size,
        read_only: true,
        ..proto::request::Attach::default()
    };
    viewer.attach(request).unwrap();
    let pty = Pty::open(Size::DEFAULT);
    let before = descriptors(&stage);
    for _ in 0..50 {
        let slave = pty.slave();
        let fds = [slave.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        assert!(beside.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(viewer.as_fd(), &[IoSlice::new(b"\n")], &mut beside, SendFlags::empty()).unwrap();
    }
    // Answered, so everything before it was read.
    assert!(matches!(pass(&mut viewer, 7, None), Outcome::Ok(_) | Outcome::Error(_)));
    let after = descriptors(&stage);
    assert!(after < before + 10, "{before} descriptors became {after}");
}
