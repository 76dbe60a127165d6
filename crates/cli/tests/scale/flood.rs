//! Much output: memory stays bounded, nothing is delayed, every byte is received or reported as a gap.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use client::{Chunk, FollowStream, Incoming};
use proto::frame::DataKind;
use proto::request::Follow;
use testkit::process_scan::{pause, scale, vitals};
use testkit::{Mark, ScriptedChild, TestDaemon, child};

use crate::{QD, attach, next};

const MIB: u64 = 1 << 20;

/// Returns a file whose bytes are known at every offset: numbered lines of 16 bytes.
fn numbered(root: &Path, length: u64) -> (PathBuf, Vec<u8>) {
    let bytes: Vec<u8> = (0..length / 16).flat_map(|n| format!("{n:013} \r\n").into_bytes()).collect();
    assert_eq!(bytes.len() as u64, length);
    let path = root.join("numbered");
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

#[test]
fn a8_viewers_that_never_read_cost_bounded_memory_and_stall_nobody() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let (file, bytes) = numbered(daemon.root(), 4 * MIB);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "flood");
    daemon.client().spawn(mark.spawn("flood", scripted_child.argv())).unwrap();
    scripted_child.tell_file(&file, bytes.len() as u64);
    daemon.wait_pattern("flood", &format!("{:013}", 4 * MIB / 16 - 1));
    let viewers: Vec<_> = (0..20).map(|_| attach(&daemon, "flood")).collect();
    testkit::process_scan::eventually("all viewers", || {
        (daemon.process("flood").terminal.viewers == 20).then_some(())
    });
    let before = vitals(daemon.pid()).rss_kib;
    for _ in 0..24 * scale() {
        scripted_child.tell_file(&file, bytes.len() as u64);
    }
    scripted_child.end();
    let waited = daemon.wait_exit("flood");
    assert_eq!(waited.satisfied[0].offset, scripted_child.produced, "the child was not stalled");
    let after = vitals(daemon.pid()).rss_kib;
    println!("20 stalled viewers, {} MB: {before} -> {after} KiB", scripted_child.produced / 1_000_000);
    assert!(after <= before + 64 * 1024, "{before} -> {after} KiB");
    drop(viewers);
}

#[test]
fn e2_m10e_a_hundred_thousand_questions_of_a_child_that_never_reads_delay_nobody() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "asks");
    daemon.client().spawn(mark.spawn("asks", scripted_child.argv())).unwrap();
    daemon.client().spawn(mark.spawn("other", child::repeat_lines())).unwrap();
    daemon.wait_pattern("other", "ready");
    let before = vitals(daemon.pid()).rss_kib;
    scripted_child.tell(&b"\x1b[6n".repeat(100_000));
    scripted_child.tell(b"=asked=");
    for n in 0..5 {
        assert!(daemon.qd(&["send", "other", &format!("hello{n}")]).status.success());
        daemon.wait_pattern("other", &format!("got:hello{n}"));
    }
    daemon.wait_pattern("asks", "=asked=");
    // Dropped answers are reported, and no longer once the process is gone.
    let status = || String::from_utf8(daemon.qd(&["status"]).stdout).unwrap();
    assert!(status().contains("sends queries to its terminal and does not read the answers"), "{}", status());
    let after = vitals(daemon.pid()).rss_kib;
    assert!(after <= before + 32 * 1024, "{before} -> {after} KiB");
    assert!(daemon.qd(&["close", "asks"]).status.success());
    assert!(!status().contains("asks its terminal"), "{}", status());
}

/// How a follower behaves.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Fast,
    /// Reads nothing until the child has ended.
    Late,
    /// Pauses after every frame.
    Slow,
}

/// Follows to the end; returns bytes received and bytes reported as gaps. Every byte is compared.
fn follow(mut stream: FollowStream, pace: Pace, over: &std::sync::Barrier, pattern: &[u8]) -> (u64, u64) {
    if matches!(pace, Pace::Late) {
        over.wait();
    }
    let (mut received, mut gaps) = (0, 0);
    for chunk in stream.by_ref() {
        match chunk.unwrap() {
            Chunk::Bytes { offset, bytes } => {
                assert_eq!(offset, received + gaps, "{pace:?}");
                let begin = usize::try_from(offset).unwrap() % pattern.len();
                let (head, tail) = bytes.split_at(bytes.len().min(pattern.len() - begin));
                let is_right = pattern[begin..].starts_with(head) && pattern.starts_with(tail);
                assert!(is_right, "{pace:?}: other bytes at {offset}");
                received += bytes.len() as u64;
            }
            Chunk::Gap { from, to } => {
                assert!(from == received + gaps && to > from, "{pace:?}: a gap {from}..{to}");
                gaps += to - from;
            }
            Chunk::Screen(_) | Chunk::Time(_) | Chunk::Resized(_) | Chunk::Exit(_) => {}
        }
        if matches!(pace, Pace::Slow) {
            pause(Duration::from_millis(2));
        }
    }
    if !matches!(pace, Pace::Late) {
        over.wait();
    }
    (received, gaps)
}

#[test]
fn e4_received_and_gaps_are_exactly_what_was_produced_for_every_follower() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let (file, bytes) = numbered(daemon.root(), 4 * MIB);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "flood");
    daemon.client().spawn(mark.spawn("flood", scripted_child.argv())).unwrap();
    let (pattern, over) = (std::sync::Arc::new(bytes), std::sync::Arc::new(std::sync::Barrier::new(3)));
    let followers: Vec<_> = [Pace::Fast, Pace::Late, Pace::Slow]
        .into_iter()
        .map(|pace| {
            let request = Follow { target: "flood".into(), from: Some(0), live: true, ..Follow::default() };
            let stream = FollowStream::begin(daemon.client(), request).unwrap();
            let (pattern, over) = (std::sync::Arc::clone(&pattern), std::sync::Arc::clone(&over));
            (pace, std::thread::spawn(move || follow(stream, pace, &over, &pattern)))
        })
        .collect();
    for _ in 0..48 * scale() {
        scripted_child.tell_file(&file, pattern.len() as u64);
    }
    scripted_child.end();
    assert_eq!(daemon.wait_exit("flood").satisfied[0].offset, scripted_child.produced);
    for (pace, follower) in followers {
        let (received, gaps) = follower.join().expect("a follower accounts for every byte");
        println!("{pace:?}: received {received} + gaps {gaps} of {}", scripted_child.produced);
        assert_eq!(received + gaps, scripted_child.produced, "{pace:?}");
        assert!(received > 0, "{pace:?}");
        assert!(!matches!(pace, Pace::Late) || gaps > 0, "a follower that reads nothing gets gaps");
    }
}

/// Returns pseudo-random bytes, the same in every run.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// One piece of noise: less than a follower may fall behind.
const PIECE: usize = 128 * 1024;

#[test]
fn e6_random_bytes_come_through_the_log_and_the_command_line_unchanged() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "noise");
    daemon.client().spawn(mark.spawn("noise", scripted_child.argv())).unwrap();
    let mut logs = daemon.command(&["logs", "noise", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = logs.stdout.take().unwrap();
    for n in 0..160 * scale() as u64 {
        let piece = noise(PIECE, n + 1);
        scripted_child.tell(&piece);
        let mut got = vec![0; PIECE];
        out.read_exact(&mut got).unwrap();
        assert!(got == piece, "piece {n} came through changed");
    }
    scripted_child.end();
    assert_eq!(out.read_to_end(&mut Vec::new()).unwrap(), 0, "nothing more came");
    testkit::wait_for_end(&mut logs, testkit::DEADLINE);
}

#[test]
fn e6_random_bytes_reach_a_viewer_unchanged() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "noise");
    daemon.client().spawn(mark.spawn("noise", scripted_child.argv())).unwrap();
    let mut viewer = attach(&daemon, "noise");
    while !matches!(next(&mut viewer), Incoming::Data(data) if data.kind == DataKind::Repaint) {}
    for n in 0..800 * scale() as u64 {
        let piece = noise(8 * 1024, n + 1);
        let begin = scripted_child.produced;
        scripted_child.tell(&piece);
        let mut got = Vec::new();
        while got.len() < piece.len() {
            match next(&mut viewer) {
                Incoming::Data(data) if data.kind == DataKind::Output => {
                    assert_eq!(data.offset, begin + got.len() as u64);
                    got.extend_from_slice(&data.bytes);
                }
                Incoming::Data(data) => {
                    panic!("a viewer that keeps up was sent {:?} at {}", data.kind, data.offset)
                }
                Incoming::Notice(_) | Incoming::Event(_) | Incoming::Answer(_) => {}
            }
        }
        assert!(got == piece, "piece {n} came through changed");
    }
}
