//! Exits: exact status, after the last byte, even when a background job keeps the terminal.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use holder::{ExitStatus, SignalTarget, ToHolder};
use testkit::scaled;

use crate::rig::{code, config, eventually, scratch, shell, start};

/// Signals that end a process that does nothing about them.
const ENDING: [i32; 23] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31];

#[test]
fn d3_h2_every_exit_code_is_reported() {
    for expected in 0..=255 {
        let mut run = start(&shell(&format!("exit {expected}")));
        assert_eq!(run.until_exit().status, code(expected));
        run.close();
    }
}

#[test]
fn d3_h3_every_ending_signal_is_reported() {
    for signal in ENDING {
        let mut config = config(&["sleep", "1000"]);
        config.cwd = scratch();
        let mut run = start(&config);
        run.send(&ToHolder::Signal { signal, to: SignalTarget::Leader });
        assert_eq!(run.until_exit().status, ExitStatus::Signal(signal));
        run.close();
    }
}

/// Bytes that pass a terminal unchanged.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| b'!' + ((at * 7 + at / 89) % 90) as u8).collect()
}

#[test]
fn h1_d6_every_byte_before_the_exit_is_delivered_under_load() {
    let file = scratch().join("pattern");
    let bytes = pattern(64 << 10);
    fs::write(&file, &bytes).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let result = scope.spawn(|| {
            for round in 0..scaled(300) {
                let length = 1024 + (round * 7919) % (63 << 10);
                let mut run = start(&config(&["head", "-c", &length.to_string(), file.to_str().unwrap()]));
                let exit = run.until_exit();
                assert_eq!(exit.final_offset, length as u64, "round {round}");
                assert_eq!(run.log, bytes[..length], "round {round}");
                run.close();
            }
        });
        let result = result.join();
        over.store(true, Ordering::Relaxed);
        result.unwrap();
    });
}

#[test]
fn h4_a_background_job_on_the_terminal_does_not_hide_the_exit() {
    let mut run = start(&shell("(trap '' HUP; sleep 1000) & echo started; exit 4"));
    run.until_text("started");
    assert_eq!(run.until_exit().status, code(4));
    assert_eq!(run.log, b"started\r\n");
    run.close();
}

#[test]
fn h4_a_chatty_background_job_does_not_hide_the_exit() {
    let mut run = start(&shell("(trap '' HUP; yes) & exit 5"));
    assert_eq!(run.until_exit().status, code(5));
    run.close();
}

#[test]
fn h4_an_interactive_shell_that_leaves_a_job_exits() {
    let mut run = start(&config(&["bash", "--norc", "-i"]));
    run.send(&ToHolder::Input {
        id: 1,
        bytes: b"nohup sleep 1000 >/dev/null 2>&1 &\ndisown; exit 7\n".to_vec(),
    });
    assert_eq!(run.until_exit().status, code(7));
    run.close();
}

#[test]
fn a_child_that_closes_its_terminal_and_opens_it_again_keeps_its_output() {
    let script = "exec 3>&1 0<&- 1>&- 2>&- 3>&-; sleep 0.2; exec >/dev/tty; echo back; exit 0";
    let mut run = start(&shell(script));
    assert_eq!(run.until_exit().status, code(0));
    assert_eq!(run.log, b"back\r\n");
    run.close();
}

#[test]
fn d3_adopted_orphans_leave_no_zombies() {
    let script = "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'sleep 0.05' &); done; echo forked; sleep 1000";
    let mut run = start(&shell(script));
    run.until_text("forked");
    let holder = run.holder_pid;
    let orphans = || {
        let pids = holder::descendants::descendants(holder);
        pids.into_iter()
            .filter(|pid| holder::proc_stat::stat(*pid).is_some_and(|stat| stat.parent == holder))
            .count()
    };
    eventually("only the leader is left", || orphans() == 1);
    run.close();
}

#[test]
fn the_end_of_a_run_stays_readable_until_it_is_released() {
    let mut run = start(&shell("echo result; exit 9"));
    run.until_exit();
    run.disconnect();
    run.reconnect();
    let exit = run.hello.fields.exited.expect("announced again");
    assert_eq!((exit.status, exit.final_offset), (code(9), 8));
    run.offset = 0;
    run.log.clear();
    run.read_ring();
    assert_eq!(run.log, b"result\r\n");
    run.send(&ToHolder::Release { end_tree: false });
    run.until_holder_gone();
}

#[test]
fn d7_an_ended_run_costs_no_processor_time() {
    let mut run = start(&shell("exit 0"));
    run.until_exit();
    let ticks = || crate::rig::ticks(run.holder_pid);
    let before = ticks();
    crate::rig::pause(Duration::from_millis(500));
    assert!(ticks() - before <= 2, "{} ticks", ticks() - before);
    run.close();
}
