//! Verbs through the real program, against a fake daemon: requests, outputs and exit codes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

#[path = "verbs/gaps.rs"]
mod gaps;
#[path = "verbs/lasting.rs"]
mod lasting;
#[path = "verbs/stopping.rs"]
mod stopping;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use proto::frame::{Data, DataKind};
use proto::process::LogSpan;
use proto::reply::{Ended, Following, Waited, Wrote};
use proto::request::{Quantifier, TypedInput, Until};
use proto::{Dirs, ErrorCode, Exit, ExitReason, Failure, Notice, ProcessId, Reply, Request, RunNumber, Size};
use testkit::{FakeDaemon, FromClient, Peer};

fn qd(root: &Path, arguments: &[&str]) -> Command {
    let dirs = Dirs::below(root);
    let mut command = Command::new(env!("CARGO_BIN_EXE_qd"));
    command.args(arguments).env("QD_RUNTIME_DIR", &dirs.runtime).env("QD_DATA_DIR", &dirs.data);
    command.env("QD_CONFIG_DIR", &dirs.config).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> (Output, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    (qd(root.path(), arguments).output().unwrap(), root)
}

/// Starts `qd` and passes its welcomed connection to `serve`.
fn served(arguments: &[&str], serve: impl FnOnce(&mut Peer)) -> Output {
    served_with_input(arguments, b"", serve)
}

fn served_with_input(arguments: &[&str], input: &[u8], serve: impl FnOnce(&mut Peer)) -> Output {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut child = qd(root.path(), arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    serve(&mut daemon.accept_welcome());
    let output = child.wait_with_output().unwrap();
    drop(writer.join().unwrap());
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn id() -> ProcessId {
    ProcessId::from_entropy(1)
}

fn begin_follow(peer: &mut Peer) -> proto::request::Follow {
    let call = peer.call();
    let Request::Follow(follow) = call.request else { panic!("{call:?}") };
    let log = LogSpan { start: 0, end: 5 };
    let following =
        Following { id: id(), run: RunNumber(1), stream: 1, log, size: Size::DEFAULT, from: log.start };
    peer.reply(call.id, Reply::Following(following));
    follow
}

#[test]
fn status_never_starts_a_daemon_and_says_that_none_runs() {
    let (output, root) = run(&["status", "--json"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(6), "{\"running\":false}\n"));
    let (output, _root) = run(&["shutdown"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "not running\n"));
    assert!(!Dirs::below(root.path()).runtime.exists());
}

#[test]
fn wrong_usage_is_exit_two_also_in_json() {
    let (output, _root) = run(&["wait", "x", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).starts_with("{\"error\":{\"code\":\"invalid_args\""),
        "{}",
        text(&output.stderr)
    );
    let (output, _root) = run(&["frobnicate"]);
    assert_eq!(output.status.code(), Some(2));
    let (output, _root) = run(&["spawn"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("needs something to run"), "{}", text(&output.stderr));
}

#[test]
fn without_a_verb_there_is_help() {
    let (output, _root) = run(&[]);
    let told = [output.stdout.clone(), output.stderr.clone()].concat();
    assert!(text(&told).contains("Usage: qd"), "{}", text(&told));
}

#[test]
fn a_failure_becomes_its_exit_code_and_one_line_with_a_hint() {
    let table =
        [(ErrorCode::NotFound, 3), (ErrorCode::Denied, 4), (ErrorCode::Timeout, 5), (ErrorCode::Conflict, 7)];
    for (code, exit) in table {
        let output = served(&["restart", "x"], |peer| {
            let call = peer.call();
            peer.fail(call.id, Failure::new(code, "no\u{1b}[2J").hint("do this"));
        });
        assert_eq!(output.status.code(), Some(exit));
        assert_eq!(text(&output.stderr), "qd: no\\u{1b}[2J\nhint: do this\n");
    }
}

#[test]
fn ps_in_json_is_an_array() {
    let output = served(&["ps", "--json"], |peer| {
        let call = peer.call();
        assert!(matches!(call.request, Request::List(_)));
        peer.reply(call.id, Reply::Processes(vec![]));
    });
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "[]\n"));
}

#[test]
fn wait_asks_for_what_was_said() {
    let arguments =
        ["wait", "a", "b", "--pattern", "done|failed", "--any", "--since", "7", "--timeout", "1.5"];
    let output = served(&arguments, |peer| {
        let call = peer.call();
        assert!(matches!(call.request, Request::List(_)), "{call:?}");
        peer.reply(call.id, Reply::Processes(vec![]));
        let call = peer.call();
        let Request::Wait(wait) = call.request else { panic!("{call:?}") };
        assert_eq!(wait.until, Until::Pattern("done|failed".to_owned()));
        assert_eq!((wait.quantifier, wait.since, wait.timeout_ms), (Quantifier::Any, Some(7), Some(1500)));
        assert_eq!(wait.targets.len(), 2);
        peer.reply(call.id, Reply::Waited(Waited { satisfied: vec![] }));
    });
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn send_reads_stdin_without_its_last_line_feed_and_submits() {
    let output = served_with_input(&["send", "x", "-"], b"two\nlines\n", |peer| {
        let call = peer.call();
        let Request::Write(write) = call.request else { panic!("{call:?}") };
        assert_eq!((write.input, write.submit), (TypedInput::Text("two\nlines".to_owned()), true));
        peer.reply(call.id, Reply::Wrote(Wrote { written: 10, of: 10, submitted: Some(true) }));
    });
    assert_eq!(text(&output.stdout), "wrote 10 of 10 bytes, submitted\n");
}

#[test]
fn a_long_paste_is_streamed_whole_and_in_order() {
    let input: Vec<u8> = (0..700_000u32).map(|n| b'a' + (n % 23) as u8).collect();
    let expected = input.clone();
    let output = served_with_input(&["paste", "x", "-", "--submit"], &input, move |peer| {
        let call = peer.call();
        let Request::Write(write) = call.request else { panic!("{call:?}") };
        assert!(write.submit && matches!(write.input, TypedInput::PasteStream(_)));
        let mut seen = Vec::new();
        loop {
            let FromClient::Data(Data { kind, stream, offset, bytes }) = peer.receive() else {
                panic!("no data")
            };
            assert_eq!((kind, u64::from(stream), offset), (DataKind::Input, call.id, seen.len() as u64));
            if bytes.is_empty() {
                break;
            }
            assert!(bytes.len() <= 256 << 10);
            seen.extend_from_slice(&bytes);
        }
        assert!(seen == expected, "{} bytes", seen.len());
        let of = seen.len() as u64;
        peer.reply(call.id, Reply::Wrote(Wrote { written: of, of, submitted: Some(true) }));
    });
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn h8_a_paste_that_is_refused_early_ends_instead_of_hanging() {
    let input = vec![b'x'; 8 << 20];
    let output = served_with_input(&["paste", "x", "-"], &input, |peer| {
        let call = peer.call();
        // The rest is never read, as by a daemon that has no room for it.
        peer.fail(call.id, Failure::new(ErrorCode::Partial, "wrote 0 of 8388608"));
    });
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stderr.is_empty());
}

#[test]
fn a_paste_that_was_cut_off_is_told_by_its_whole_length() {
    let cut = "wrote 13824 of 262144 bytes to x";
    for length in [100_000, 700_000] {
        let output = served_with_input(&["paste", "x", "-"], &vec![b'x'; length], |peer| {
            let call = peer.call();
            let is_streamed = length > 262_144;
            while is_streamed
                && !matches!(peer.receive(), FromClient::Data(Data { bytes, .. }) if bytes.is_empty())
            {
            }
            peer.fail(call.id, Failure::new(ErrorCode::Partial, cut).hint("h"));
        });
        let whole = if length > 262_144 { "; the whole paste has 700000 bytes" } else { "" };
        assert_eq!(text(&output.stderr), format!("qd: {cut}{whole}\nhint: h\n"));
    }
}

#[test]
fn logs_are_bytes_as_they_are_when_nobody_looks() {
    let bytes = b"a\x1b[c\xff\x00b";
    let output = served(&["logs", "x", "--from", "3"], |peer| {
        let follow = begin_follow(peer);
        assert_eq!((follow.from, follow.live), (Some(3), false));
        peer.data(DataKind::Output, 3, bytes);
        peer.notice(Notice::Gap { stream: 1, from: 10, to: 14 });
        peer.notice(Notice::End { stream: 1, reason: "complete".to_owned(), last_row: None });
    });
    assert_eq!((output.stdout.as_slice(), text(&output.stderr)), (&bytes[..], "[4 bytes are gone]\n"));
}

#[test]
fn what_follows_a_run_that_is_lost_says_so_in_its_exit_code() {
    for verb in
        [&["logs", "x", "-f"][..], &["--json", "logs", "x", "-f"], &["record", "x", "-", "--from-start"]]
    {
        for (reason, code) in [(ExitReason::Lost, 1), (ExitReason::Closed, 0)] {
            let output = served(verb, |peer| {
                begin_follow(peer);
                let exit = Exit { code: None, signal: None, reason };
                peer.notice(Notice::Exit { stream: 1, exit, offset: 0 });
                peer.notice(Notice::End { stream: 1, reason: reason.to_string(), last_row: None });
            });
            assert_eq!(output.status.code(), Some(code), "{verb:?}");
            assert_eq!(text(&output.stderr).contains("x was lost"), code == 1, "{verb:?}");
        }
    }
}

#[test]
fn a_reader_that_has_had_enough_ends_it_quietly() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut child: Child = qd(root.path(), &["logs", "x", "-f"]).spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    begin_follow(&mut peer);
    // More than a pipe holds: it is in the middle of writing when its reader goes.
    peer.data(DataKind::Output, 0, &vec![b'x'; 150_000]);
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    assert_eq!(peer.receive(), FromClient::End);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_recording_is_an_asciicast() {
    let output = served(&["record", "x", "-", "--from-start"], |peer| {
        let follow = begin_follow(peer);
        assert_eq!((follow.from, follow.live), (None, true));
        peer.data(DataKind::Output, 0, b"hello");
        let exit = Exit { code: Some(0), signal: None, reason: ExitReason::Exited };
        peer.notice(Notice::Exit { stream: 1, exit, offset: 5 });
        peer.notice(Notice::End { stream: 1, reason: "exited".to_owned(), last_row: None });
    });
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["version"], &lines[0]["width"]), (&2.into(), &80.into()));
    assert_eq!((&lines[1][1], &lines[1][2]), (&"o".into(), &"hello".into()));
}

#[test]
fn closing_several_goes_on_after_one_failed() {
    let output = served(&["close", "a", "b"], |peer| {
        let call = peer.call();
        peer.fail(call.id, Failure::new(ErrorCode::NotFound, "no a"));
        let call = peer.call();
        peer.reply(call.id, Reply::Ended(Ended { id: id(), exit: None }));
    });
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), "b is closed\n"));
}

#[test]
fn a_daemon_of_another_version_is_told_apart() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = qd(root.path(), &["ps", "--json"]).spawn().unwrap();
    let mut peer = daemon.accept();
    let call = peer.call();
    peer.fail(call.id, Failure::new(ErrorCode::Version, "another protocol"));
    let call = peer.call();
    assert!(matches!(call.request, Request::Status(_)));
    let status =
        serde_json::from_value(serde_json::json!({"running": true, "pid": 1, "version": "9", "protocol": 99,
        "processes": 0, "viewers": 0, "uptime_s": 0}))
        .unwrap();
    peer.reply(call.id, Reply::Status(status));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(text(&output.stderr).contains("speaks protocol 99"), "{}", text(&output.stderr));
}

#[test]
fn texts_for_shells_and_programs_are_printed_without_a_daemon() {
    for (arguments, part) in [
        (&["completions", "bash"][..], "_qd"),
        (&["man"], ".TH qd 1"),
        (&["schema"], "\"$defs\""),
        (&["doctor", "--json"], "\"checks\""),
    ] {
        let (output, root) = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(text(&output.stdout).contains(part), "{arguments:?}");
        assert!(!Dirs::below(root.path()).runtime.exists(), "{arguments:?}");
    }
}

#[test]
fn manual_pages_are_one_per_verb() {
    let dir = tempfile::tempdir().unwrap();
    let (output, _root) = run(&["man", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(dir.path().join("qd-spawn.1").exists() && dir.path().join("qd.1").exists());
}
