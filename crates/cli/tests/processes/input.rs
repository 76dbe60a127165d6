//! Bytes in both directions: once, in order, unchanged; and a child that does not read delays nobody.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::{ClientError, Connection};
use proto::ErrorCode;
use proto::request::{Attach, Close, Input, Write};
use testkit::{Stage, Tail, child, scaled};

use super::{sh, stage, text};

fn write(name: &str, text: String, timeout: Duration) -> Write {
    let timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap());
    Write { target: name.into(), input: Input::Text(text), submit: false, timeout_ms }
}

/// A viewer through which any byte can be typed.
fn viewer(stage: &Stage, name: &str) -> (Connection, u32) {
    let mut viewer = stage.client();
    let size = proto::Size::DEFAULT.into();
    let attach = Attach { target: name.into(), size, read_only: false, policy: None, take_over: false };
    let stream = viewer.attach(attach).unwrap().stream;
    (viewer, stream)
}

#[test]
fn t5_every_byte_value_comes_back_unchanged() {
    let stage = stage();
    stage.run("x", child::repeat_bytes());
    let mut tail = Tail::live(&stage, "x");
    let start = tail.until(b"ready\n").len();
    let (mut viewer, stream) = viewer(&stage, "x");
    let all: Vec<u8> = (0..=255u8).cycle().take(256 * scaled(200)).collect();
    for piece in all.chunks(3_001) {
        viewer.send_data(stream, 0, piece).unwrap();
    }
    let seen = &tail.until_length(start + all.len())[start..];
    assert!(seen == all, "{} bytes differ", seen.iter().zip(&all).filter(|(a, b)| a != b).count());
}

#[test]
fn t5_input_arrives_once_in_order() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    let (lanes, each) = (4, scaled(40));
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.client();
                for number in 0..each {
                    let line = format!("lane {lane} line {number}.\n");
                    client.write(write("x", line, Duration::from_secs(30))).unwrap();
                }
            });
        }
    });
    stage.type_text("x", "over\n");
    let printed = text(tail.until(b"got:over"));
    let got: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("got:lane ")).collect();
    assert_eq!(got.len(), lanes * each);
    for lane in 0..lanes {
        let prefix = format!("{lane} line ");
        let numbers: Vec<_> = got.iter().filter_map(|line| line.strip_prefix(&prefix)).collect();
        let expected: Vec<_> = (0..each).map(|number| format!("{number}.")).collect();
        assert_eq!(numbers, expected, "lane {lane}");
    }
}

/// Runs `qd` with this input; its exit code and what it said.
fn qd_with_input(stage: &Stage, arguments: &[&str], input: Vec<u8>) -> (Option<i32>, String) {
    let mut command = stage.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may stop reading early: then it has said why.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Printable text in which every place can be told from every other.
fn long_text(length: usize) -> Vec<u8> {
    (0..).flat_map(|number: u64| format!("{number:x}~").into_bytes()).take(length).collect()
}

#[test]
fn h8_e1_a_paste_of_16_mib_arrives_byte_for_byte() {
    let stage = stage();
    let file = stage.root().join("pasted");
    let length = 16 << 20;
    stage.run("x", sh(&format!("stty raw -echo; echo ready; head -c {length} > pasted; echo whole")));
    stage.wait_pattern("x", "ready");
    let sent = long_text(length);
    let (code, said) = qd_with_input(&stage, &["paste", "x", "-", "--timeout", "120"], sent.clone());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("wrote {length} of {length} bytes")), "{said}");
    stage.wait_pattern("x", "whole");
    assert!(std::fs::read(file).unwrap() == sent);
}

#[test]
fn h8_a_paste_into_a_child_that_never_reads_is_bounded_told_and_delays_nobody() {
    let stage = stage();
    stage.run("deaf", child::never_read());
    stage.run("other", child::repeat_lines());
    stage.wait_pattern("deaf", "ready");
    stage.wait_pattern("other", "ready");
    let slowest = std::thread::scope(|scope| {
        let paste = scope
            .spawn(|| qd_with_input(&stage, &["paste", "deaf", "-", "--timeout", "2"], long_text(16 << 20)));
        let mut slowest = Duration::ZERO;
        let mut rounds = 0;
        while !paste.is_finished() {
            let start = Instant::now();
            stage.type_text("other", &format!("round {rounds}\n"));
            stage.wait_pattern("other", &format!("got:round {rounds}$"));
            slowest = slowest.max(start.elapsed());
            rounds += 1;
        }
        let (code, said) = paste.join().unwrap();
        assert_eq!(code, Some(1), "{said}");
        let receipt = said.split_once("wrote ").and_then(|(_, rest)| rest.split_once(" bytes to deaf"));
        let (written, of) = receipt.and_then(|(numbers, _)| numbers.split_once(" of ")).expect("a receipt");
        assert!(written.parse::<u64>().unwrap() < of.parse::<u64>().unwrap(), "{said}");
        assert!(rounds > 0);
        slowest
    });
    assert!(slowest < Duration::from_secs(5), "another process was delayed by {slowest:?}");
}

#[test]
fn h8_a_write_into_a_child_that_never_reads_is_released_by_close() {
    let stage = stage();
    stage.run("deaf", child::never_read());
    stage.wait_pattern("deaf", "ready");
    let mut writer = stage.client();
    let wish = write("deaf", "x".repeat(1_000_000), Duration::from_secs(300));
    let id = writer.send(proto::Request::Write(wish)).unwrap();
    // The write has its turn once another one is kept waiting for it.
    let waiting = stage.client().write(write("deaf", "y".to_owned(), Duration::from_millis(300)));
    assert!(
        matches!(&waiting, Err(ClientError::Failed(failure)) if failure.code == ErrorCode::Timeout),
        "{waiting:?}"
    );
    stage.client().close(Close { target: "deaf".into(), keep_background: false }).unwrap();
    let answer = writer.answer(id);
    let Err(ClientError::Failed(failure)) = &answer else { panic!("{answer:?}") };
    assert_eq!(failure.code, ErrorCode::Partial, "{failure:?}");
    assert!(failure.message.contains("of 1000000 bytes"), "{failure:?}");
}

#[test]
fn p2_e3_a_long_prompt_is_held_until_a_slow_child_reads_it_raw() {
    let stage = stage();
    let length = 100_000;
    let script = format!("sleep 1; stty raw -echo; head -c {length} > prompt; echo whole");
    stage.run("slow", sh(&script));
    let sent = long_text(length);
    let (code, said) =
        qd_with_input(&stage, &["send", "slow", "-", "--no-enter", "--timeout", "60"], sent.clone());
    assert_eq!(code, Some(0), "{said}");
    stage.wait_pattern("slow", "whole");
    assert!(std::fs::read(stage.root().join("prompt")).unwrap() == sent);
}

#[test]
fn p2_a_long_line_for_a_child_that_stays_canonical_is_told_not_cut() {
    let stage = stage();
    stage.run("lines", sh("stty -echo; echo ready; cat > lines"));
    stage.wait_pattern("lines", "ready");
    let (code, said) =
        qd_with_input(&stage, &["send", "lines", "-", "--no-enter", "--timeout", "1"], long_text(100_000));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("wrote 0 of 100000 bytes to lines") && said.contains("4095"), "{said}");
    // Nothing of it is left in the way: short lines go on.
    stage.type_text("lines", "short\n\u{4}");
    stage.wait_exit("lines");
    assert_eq!(std::fs::read_to_string(stage.root().join("lines")).unwrap(), "short\n");
}
