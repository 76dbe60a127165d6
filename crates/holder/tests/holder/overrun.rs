//! A full ring: back-pressure while a daemon consumes, a counted gap when none does.

use std::time::{Duration, Instant};

use holder::ToHolder;

use crate::rig::{eventually, shell, start, ticks};

const LINES: u64 = 40_000;

fn counting() -> holder::RunConfig {
    let mut config = shell(&format!("seq -f %09.0f 1 {LINES}; exit 0"));
    config.ring_bytes = 64 << 10;
    config
}

#[test]
fn a_slow_daemon_slows_the_child_and_loses_nothing() {
    let mut run = start(&counting());
    run.until_exit();
    assert_eq!((run.gaps, run.hello.ring.lost()), (0, 0));
    assert_eq!(run.log.len() as u64, LINES * 11);
    assert_eq!(run.hello.ring.capacity(), 64 << 10);
    run.close();
}

#[test]
fn h10_without_a_consumer_received_and_lost_are_what_was_produced() {
    let mut config = counting();
    config.stall_limit = Duration::from_millis(300);
    let mut run = start(&config);
    run.disconnect();
    let began = Instant::now();
    eventually("everything has been produced", || run.hello.ring.end() == LINES * 11);
    assert!(began.elapsed() >= Duration::from_millis(200), "the child was held back first");
    run.reconnect();
    let exit = run.until_exit();
    assert_eq!(exit.final_offset, LINES * 11);
    assert_eq!(run.gaps + run.log.len() as u64, LINES * 11, "received + gaps = produced");
    assert_eq!(run.hello.ring.lost(), run.gaps);
    assert!(run.log.ends_with(format!("{LINES:09}\r\n").as_bytes()));
    run.close();
}

#[test]
fn nothing_is_given_up_before_the_limit() {
    let mut config = counting();
    config.stall_limit = Duration::from_secs(600);
    let mut run = start(&config);
    run.disconnect();
    eventually("the ring is full", || run.hello.ring.end() - run.hello.ring.start() == 64 << 10);
    crate::rig::pause(Duration::from_millis(300));
    assert_eq!((run.hello.ring.start(), run.hello.ring.end()), (0, 64 << 10));
    run.reconnect();
    run.until_exit();
    assert_eq!((run.gaps, run.log.len() as u64), (0, LINES * 11));
    run.close();
}

#[test]
fn t10_a_kill_with_every_buffer_full_neither_hangs_nor_fails() {
    let mut config = shell("echo ready; yes");
    config.ring_bytes = 64 << 10;
    let mut run = start(&config);
    run.keeps = false;
    eventually("the ring is full", || run.hello.ring.end() == 64 << 10);
    run.send(&ToHolder::Kill { grace_ms: 200 });
    assert_eq!(run.until_tree_gone(), 0);
    assert!(!run.has_exited(), "the last bytes are still in the PTY");
    let before = ticks(run.holder_pid);
    crate::rig::pause(Duration::from_millis(700));
    assert!(ticks(run.holder_pid) - before <= 2, "a held back exit spins");
    run.keeps = true;
    run.until_exit();
    run.close();
}

#[test]
fn e4_a_reader_beside_a_flood_sees_every_byte_or_a_gap_and_never_garbage() {
    let mut config = shell("exec yes 0123456789");
    config.ring_bytes = 64 << 10;
    config.stall_limit = Duration::ZERO;
    let mut run = start(&config);
    run.keeps = false;
    // Twelve bytes per line: the offset determines every byte.
    let line = b"0123456789\r\n";
    let mut checked = 0u64;
    while checked < 8 << 20 {
        let at = run.log.len() as u64 + run.gaps;
        assert_eq!(at, run.offset);
        run.log.clear();
        run.gaps = run.offset;
        let mut buf = vec![0; 16 << 10];
        match run.hello.ring.read(run.offset, &mut buf) {
            holder::ReadOutcome::Bytes(count) => {
                for (at, byte) in buf[..count].iter().enumerate() {
                    assert_eq!(*byte, line[((run.offset + at as u64) % 12) as usize], "at {}", run.offset);
                }
                run.offset += count as u64;
                checked += count as u64;
            }
            holder::ReadOutcome::Missed { resume_at } => run.offset = resume_at,
        }
        run.gaps = run.offset;
    }
    run.close();
}
