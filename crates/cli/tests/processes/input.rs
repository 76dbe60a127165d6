//! Bytes in both directions: once, in order, unchanged; and a child that does not read delays no other
//! process.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::{ClientError, Connection};
use proto::ErrorCode;
use proto::request::{Attach, Close, Empty, TypedInput, Write};
use testkit::{DEADLINE, MarkedDaemon, Tail, child, scaled};

use super::{argv, sh, stage, text};

fn write(name: &str, text: String, timeout: Duration) -> Write {
    let timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap());
    Write { target: name.into(), input: TypedInput::Text(text), submit: false, timeout_ms, key: None }
}

/// Returns a viewer through which any byte can be typed.
fn viewer(stage: &MarkedDaemon, name: &str) -> (Connection, u32) {
    let mut viewer = stage.client();
    let size = proto::Size::DEFAULT.into();
    let attach = Attach { target: name.into(), size, ..Attach::default() };
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

/// Runs `qd` with this input; returns its exit code and output.
fn qd_with_input(stage: &MarkedDaemon, arguments: &[&str], input: Vec<u8>) -> (Option<i32>, String) {
    let mut command = stage.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may stop reading early: then it has printed the reason.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Returns printable text in which every position differs from every other.
fn long_text(length: usize) -> Vec<u8> {
    (0..).flat_map(|number: u64| format!("{number:x}~").into_bytes()).take(length).collect()
}

/// Pastes 16 MiB into a child that reads them with this command and writes them to `pasted`.
fn paste_16_mib(reader: &str) {
    let stage = stage();
    let file = stage.root().join("pasted");
    let length = 16 << 20;
    let reader = reader.replace("LENGTH", &length.to_string());
    stage.run("x", sh(&format!("stty raw -echo; echo ready; {reader}; echo whole")));
    stage.wait_pattern("x", "ready");
    let sent = long_text(length);
    let (code, said) = qd_with_input(&stage, &["paste", "x", "-", "--timeout", "120"], sent.clone());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("wrote {length} of {length} bytes")), "{said}");
    stage.wait_pattern("x", "whole");
    assert!(std::fs::read(file).unwrap() == sent);
    assert!(stage.process("x").live.log.end >= 12, "nothing was printed");
}

#[test]
fn h8_e1_a_paste_of_16_mib_arrives_byte_for_byte() {
    paste_16_mib("head -c LENGTH > pasted");
}

#[test]
fn h8_e1_a_paste_of_16_mib_into_a_child_that_shows_all_of_it_arrives_byte_for_byte() {
    paste_16_mib("head -c LENGTH | tee pasted");
}

/// Returns the written and total bytes in a receipt.
fn receipt(said: &str, name: &str) -> (u64, u64) {
    let end = format!(" bytes to {name}");
    let numbers = said.split_once("wrote ").and_then(|(_, rest)| rest.split_once(&end)).expect("a receipt").0;
    let (written, of) = numbers.split_once(" of ").expect("two numbers");
    (written.parse().unwrap(), of.parse().unwrap())
}

/// Enough that every thread of the daemon serves one.
const OTHERS: [&str; 4] = ["other0", "other1", "other2", "other3"];
/// Round trips of every other process.
const ROUNDS: usize = 25;

/// Every other process answers while `deaf` is written to.
fn are_served(stage: &MarkedDaemon) {
    for round in 0..ROUNDS {
        for other in OTHERS {
            stage.type_text(other, &format!("round {round}\n"));
            stage.wait_pattern(other, &format!("got:round {round}$"));
        }
    }
}

/// Waits until a write to `deaf` makes others wait.
fn is_kept_waiting(stage: &MarkedDaemon) {
    let until = Instant::now() + DEADLINE;
    loop {
        match stage.client().write(write("deaf", "y".to_owned(), Duration::from_millis(300))) {
            Err(ClientError::Failed(failure)) if failure.code == ErrorCode::Timeout => return,
            other => assert!(Instant::now() < until, "{other:?}"),
        }
    }
}

#[test]
fn h8_a_paste_into_a_child_that_never_reads_is_bounded_and_told() {
    let stage = stage();
    stage.run("deaf", child::never_read());
    stage.wait_pattern("deaf", "ready");
    let (code, said) = qd_with_input(&stage, &["paste", "deaf", "-", "--timeout", "1"], long_text(16 << 20));
    assert_eq!(code, Some(1), "{said}");
    let (written, of) = receipt(&said, "deaf");
    assert!(written < of, "{said}");
}

#[test]
fn h8_a_paste_into_a_child_that_never_reads_delays_nobody() {
    let stage = stage();
    stage.run("deaf", child::never_read());
    stage.wait_pattern("deaf", "ready");
    for other in OTHERS {
        stage.run(other, child::repeat_lines());
        stage.wait_pattern(other, "ready");
    }
    let words = ["paste", "deaf", "-", "--timeout", "60"];
    std::thread::scope(|scope| {
        let paste = scope.spawn(|| qd_with_input(&stage, &words, long_text(16 << 20)));
        is_kept_waiting(&stage);
        are_served(&stage);
        assert!(!paste.is_finished(), "the paste still waits");
        stage
            .client()
            .close(Close { target: "deaf".into(), keep_background: false, stop: proto::Stop::default() })
            .unwrap();
        let (code, said) = paste.join().unwrap();
        assert_eq!(code, Some(1), "{said}");
        let (written, of) = receipt(&said, "deaf");
        assert!(written < of, "{said}");
    });
}

#[test]
fn h8_a_write_into_a_child_that_never_reads_is_released_by_close() {
    let stage = stage();
    stage.run("deaf", child::never_read());
    stage.wait_pattern("deaf", "ready");
    let mut writer = stage.client();
    let request = write("deaf", "x".repeat(1_000_000), Duration::from_secs(300));
    let id = writer.send(proto::Request::Write(request)).unwrap();
    is_kept_waiting(&stage);
    stage
        .client()
        .close(Close { target: "deaf".into(), keep_background: false, stop: proto::Stop::default() })
        .unwrap();
    let answer = writer.answer(id);
    let Err(ClientError::Failed(failure)) = &answer else { panic!("{answer:?}") };
    assert_eq!(failure.code, ErrorCode::NotRunning, "{failure:?}");
    assert!(failure.message.ends_with("deaf, which has ended"), "{failure:?}");
    assert!(failure.message.contains("of 1000000 bytes"), "{failure:?}");
}

/// How many prompts are sent too early at once.
const EARLY: usize = 5;

/// Runs `act` on a few children at once, as often as the scale says.
fn early(act: impl Fn(&MarkedDaemon, &str) + Sync) {
    let stage = stage();
    for round in 0..scaled(1) {
        std::thread::scope(|scope| {
            for number in 0..EARLY {
                let (stage, act) = (&stage, &act);
                scope.spawn(move || {
                    let name = format!("early{round}-{number}");
                    act(stage, &name);
                    stage
                        .client()
                        .close(Close {
                            target: name.as_str().into(),
                            keep_background: false,
                            stop: proto::Stop::default(),
                        })
                        .unwrap();
                });
            }
        });
    }
}

#[test]
fn p2_e3_a_long_prompt_is_held_until_a_slow_child_reads_it_raw() {
    let length = 100_000;
    early(|stage, name| {
        let read = format!("stty raw -echo; head -c {length} > {name}; echo whole; exec sleep 1000000");
        stage.run(name, sh(&format!("sleep 1; {read}")));
        let sent = long_text(length);
        let (code, said) =
            qd_with_input(stage, &["send", name, "-", "--no-enter", "--timeout", "60"], sent.clone());
        assert_eq!(code, Some(0), "{said}");
        stage.wait_pattern(name, "whole");
        assert!(std::fs::read(stage.root().join(name)).unwrap() == sent);
    });
}

/// Reads whole lines for a while, goes raw and drops what came before, asks for brackets, and records what it
/// reads up to an Enter that comes by itself after `least` bytes.
fn late_composer(file: &str, least: usize) -> Vec<String> {
    let script = format!(
        "import os, time, tty\ntime.sleep(0.7)\ntty.setraw(0)\nos.write(1, b'\\x1b[?2004h')\ngot = b''\n\
         while len(got) < {least} or not got.endswith(b'\\r'):\n    got += os.read(0, 65536)\n\
         open('{file}', 'wb').write(got)\nos.write(1, b'whole')\ntime.sleep(100000)\n"
    );
    argv(&["python3", "-c", &script])
}

/// Returns a prompt of many short lines.
fn prompt_of_lines() -> String {
    let lines: String = (0..2_000).map(|number| format!("line {number} of a prompt\n")).collect();
    lines + "and its last line, without an end"
}

#[test]
fn p2_e3_a_streamed_prompt_of_short_lines_is_held_and_bracketed_as_the_child_then_wants_it() {
    let prompt = prompt_of_lines();
    let expected = [term::encode_paste(&prompt, true), b"\r".to_vec()].concat();
    early(|stage, name| {
        stage.run(name, late_composer(name, prompt.len()));
        let words = ["paste", name, "-", "--submit", "--timeout", "60"];
        let (code, said) = qd_with_input(stage, &words, prompt.clone().into_bytes());
        assert_eq!(code, Some(0), "{said}");
        stage.wait_pattern(name, "whole");
        let got = std::fs::read(stage.root().join(name)).unwrap();
        assert!(got == expected, "{} of {} bytes", got.len(), expected.len());
    });
}

#[test]
fn p2_e3_a_held_paste_is_bracketed_as_the_child_then_wants_it() {
    let (prompt, stage) = (prompt_of_lines(), stage());
    stage.run("late", late_composer("late", prompt.len()));
    let (input, timeout_ms) = (TypedInput::Paste(prompt.clone()), Some(60_000));
    stage
        .client()
        .write(Write { target: "late".into(), input, submit: true, timeout_ms, key: None })
        .unwrap();
    stage.wait_pattern("late", "whole");
    let expected = [term::encode_paste(&prompt, true), b"\r".to_vec()].concat();
    assert!(std::fs::read(stage.root().join("late")).unwrap() == expected);
}

#[test]
fn p2_a_short_streamed_prompt_for_a_child_that_reads_lines_is_not_held() {
    let stage = stage();
    stage.run("lines", child::repeat_lines());
    stage.wait_pattern("lines", "ready");
    let (code, said) = qd_with_input(&stage, &["paste", "lines", "-", "--submit"], b"short".to_vec());
    assert_eq!(code, Some(0), "{said}");
    stage.wait_pattern("lines", "got:short$");
}

#[test]
fn p2_a_streamed_line_in_two_pieces_for_a_child_that_stays_canonical_is_told_not_cut() {
    let stage = stage();
    stage.run("lines", sh("stty -echo; echo ready; cat > lines"));
    stage.wait_pattern("lines", "ready");
    let mut writer = stage.client();
    let input = TypedInput::PasteStream(Empty {});
    let request = Write { target: "lines".into(), input, submit: false, timeout_ms: Some(1_000), key: None };
    let id = writer.send(proto::Request::Write(request)).unwrap();
    let (stream, half) = (u32::try_from(id).unwrap(), long_text(3_000));
    for piece in [&half, &half, &Vec::new()] {
        writer.send_data(stream, 0, piece).unwrap();
    }
    let answer = writer.answer(id);
    let Err(ClientError::Failed(failure)) = &answer else { panic!("{answer:?}") };
    assert_eq!(failure.code, ErrorCode::Partial, "{failure:?}");
    assert!(failure.message.contains("wrote 3000 of 6000 bytes"), "{failure:?}");
}

/// Returns a child that accepts pastes in brackets and shows them as they come.
fn bracketing(stage: &MarkedDaemon) -> Tail {
    stage.run("x", sh("stty raw -echo; printf '\\033[?2004hready'; exec cat -v"));
    // The screen, not the log: a paste gets brackets once their request is drawn.
    stage.wait_pattern("x", "ready");
    Tail::live(stage, "x")
}

/// Starts to stream a paste into `x`; returns the call and its stream.
fn begin_paste(writer: &mut Connection, submit: bool) -> (u64, u32) {
    let input = TypedInput::PasteStream(Empty {});
    let request = Write { target: "x".into(), input, submit, timeout_ms: Some(60_000), key: None };
    let id = writer.send(proto::Request::Write(request)).unwrap();
    (id, u32::try_from(id).unwrap())
}

#[test]
fn the_brackets_of_a_paste_whose_client_goes_are_closed_and_nothing_is_submitted() {
    let stage = stage();
    let mut tail = bracketing(&stage);
    let mut writer = stage.client();
    let (_, paste) = begin_paste(&mut writer, true);
    writer.send_data(paste, 0, "half a prompt ".repeat(400).as_bytes()).unwrap();
    tail.until(b"half");
    let (mut viewer, stream) = viewer(&stage, "x");
    viewer.send_data(stream, 0, b"key").unwrap();
    drop(writer);
    let shown = text(tail.until(b"key"));
    assert!(shown.ends_with("half a prompt ^[[201~key"), "{shown}");
}

#[test]
fn a_persons_key_waits_a_moment_for_the_rest_of_a_paste_and_never_stands_in_it() {
    let stage = stage();
    let mut tail = bracketing(&stage);
    let mut writer = stage.client();
    let (id, paste) = begin_paste(&mut writer, false);
    writer.send_data(paste, 0, b"half").unwrap();
    tail.until(b"half");
    let (mut viewer, stream) = viewer(&stage, "x");
    viewer.send_data(stream, 0, b"key").unwrap();
    tail.until(b"half^[[201~key");
    for rest in [&b"rest"[..], b""] {
        writer.send_data(paste, 0, rest).unwrap();
    }
    assert!(writer.answer(id).is_ok());
    let (shown, again) = (text(tail.until(b"rest^[[201~")), concat!("key^[[20", "0~rest^[[201~"));
    assert!(shown.ends_with(again), "{shown}");
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
    // Nothing of it blocks: short lines still work.
    stage.type_text("lines", "short\n\u{4}");
    stage.wait_exit("lines");
    assert_eq!(std::fs::read_to_string(stage.root().join("lines")).unwrap(), "short\n");
}
