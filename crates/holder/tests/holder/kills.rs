//! Ending trees: no process escapes, no other process is touched, and it takes no longer than it must.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use holder::{ExitStatus, HANGUP, SignalTarget, ToHolder};
use rustix::process::Signal;
use testkit::scaled;

use crate::rig::{Run, config, eventually, exists, kill, marked, scratch, shell, start};

/// Ways in which processes escape from being ended; each prints a line when it is ready.
const ESCAPES: [&str; 9] = [
    "setsid sleep 1000 & echo ready; sleep 1000",
    "nohup sleep 1000 >/dev/null 2>&1 & echo ready; wait",
    "(setsid sh -c '(sleep 1000 &)' &); echo ready; sleep 1000",
    "trap '' HUP TERM INT QUIT; sh -c 'sleep 1000' & echo ready; while :; do wait; done",
    "sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$; sleep 1000",
    "trap '' HUP TERM; echo ready; while :; do sleep 60 & sleep 0.002; done",
    "(trap '' HUP TERM; setsid sleep 1000 </dev/null >/dev/null 2>&1 &); echo ready; exit 0",
    "trap '(setsid sleep 1000 &)' HUP TERM; echo ready; while :; do sleep 1; done",
    "echo ready; exec sleep 1000",
];

/// Ways of ending a run.
const ENDINGS: [fn(&mut Run); 6] = [by_kill, by_release, by_link, by_stranger, by_term, by_crash];

fn by_kill(run: &mut Run) {
    run.send(&ToHolder::Kill { grace_ms: 20 });
    assert_eq!(run.until_tree_gone(), 0);
    assert!(run.has_exited(), "the exit is announced before the end of the tree");
    assert_eq!(marked(&run.marker), Vec::<i32>::new(), "survivors of a kill");
    run.send(&ToHolder::Release { end_tree: false });
    run.until_holder_gone();
}

fn by_release(run: &mut Run) {
    run.send(&ToHolder::Release { end_tree: true });
    run.until_holder_gone();
}

fn by_link(run: &mut Run) {
    run.send(&ToHolder::Hangup);
    run.until_holder_gone();
}

fn by_stranger(run: &mut Run) {
    UnixStream::connect(&run.socket).unwrap().write_all(&HANGUP).unwrap();
    run.until_holder_gone();
}

fn by_term(run: &mut Run) {
    kill(run.holder_pid, Signal::TERM);
    run.until_holder_gone();
}

fn by_crash(run: &mut Run) {
    kill(run.holder_pid, Signal::KILL);
    run.until_holder_dead();
    holder::sweep_lost_run(&run.marker, run.child_pid, run.hello.fields.child_start_time);
    std::fs::remove_file(&run.socket).unwrap();
}

#[test]
fn h5_d1_nobody_survives_any_ending_by_any_escape() {
    for round in 0..scaled(ESCAPES.len() * ENDINGS.len()) {
        let (escape, ending) = (round % ESCAPES.len(), (round / ESCAPES.len()) % ENDINGS.len());
        let mut run = start(&shell(ESCAPES[escape]));
        run.until_text("ready");
        ENDINGS[ending](&mut run);
        // A dying process may still be in the process table for a moment after its parent was notified.
        eventually("no process carries the marker", || marked(&run.marker).is_empty());
    }
}

/// Programs that print `ready` and then resist ending.
const STUBBORN: [&[&str]; 8] = [
    &["bash", "--norc", "-i", "-c", "echo ready; sleep 1000; :"],
    &["bash", "--norc", "-c", "trap '' TERM HUP; echo ready; sleep 1000; :"],
    &["dash", "-i", "-c", "echo ready; sleep 1000; :"],
    &["zsh", "-f", "-i", "-c", "trap '' TERM HUP; echo ready; sleep 1000; :"],
    &["fish", "--no-config", "-c", "trap '' TERM HUP; echo ready; sleep 1000; true"],
    &["sh", "-c", "trap '' TERM HUP INT; echo ready; kill -STOP $$"],
    &["perl", "-e", "$SIG{$_}='IGNORE' for qw(HUP TERM INT QUIT); $|=1; print 'ready'; sleep 1000"],
    &["python3", "-c", TRAP_ALL],
];

const TRAP_ALL: &str = "import signal,time\nfor s in range(1,32):\n try: signal.signal(s, signal.SIG_IGN)\n except OSError: pass\nprint('ready', flush=True)\ntime.sleep(1000)";

/// Shells that wait at their prompt after what is typed into them, and what makes them print `ready`.
const AT_THE_PROMPT: [(&[&str], &str); 8] = [
    (&["bash", "--norc", "--noprofile", "-i"], SAY_READY),
    (
        &["bash", "--norc", "--noprofile", "-i"],
        "trap '' HUP TERM; sleep 1000 & sleep 1001 | cat & echo rea''dy",
    ),
    (&["dash", "-i"], SAY_READY),
    (&["zsh", "-f", "-i"], SAY_READY),
    (&["zsh", "-f", "-l"], "trap '' HUP TERM; sleep 1000 & echo rea''dy"),
    (&["fish", "--no-config", "-i"], SAY_READY),
    (&["fish", "--no-config", "-i"], "sleep 1000 & echo rea''dy"),
    (&["python3", "-i"], "print('rea' 'dy')"),
];

/// Quoted, so that the echo of the command is not taken for its output.
const SAY_READY: &str = "echo rea''dy";

/// Returns a run of a program from wherever it is installed, in a home of its own.
fn program(argv: &[&str]) -> Run {
    let mut config = config(argv);
    config.env[0].1 = std::env::var_os("PATH").unwrap();
    let home = scratch();
    config.env.push(("HOME".into(), home.clone().into()));
    config.cwd = home;
    crate::rig::launch(&config).unwrap_or_else(|error| panic!("{argv:?}: {error}"))
}

/// Ends a run that is ready, and waits until its whole tree is gone.
fn end(mut run: Run) {
    run.until_text("ready");
    run.send(&ToHolder::Kill { grace_ms: 500 });
    assert_eq!(run.until_tree_gone(), 0);
    run.close();
}

#[test]
fn d5_shells_and_trappers_are_gone() {
    for argv in STUBBORN {
        end(program(argv));
    }
}

#[test]
fn d5_shells_at_their_prompt_are_gone() {
    for (argv, line) in AT_THE_PROMPT {
        let mut run = program(argv);
        run.send(&ToHolder::Input { id: 1, bytes: format!("{line}\r").into_bytes() });
        end(run);
    }
}

#[test]
fn h6_a_kill_is_over_when_the_last_process_is_gone() {
    let mut run = start(&shell("sleep 1000 & sleep 1001 & echo ready; wait"));
    run.until_text("ready");
    // Longer than this test waits for anything: a kill that waited for the grace would fail it.
    run.send(&ToHolder::Kill { grace_ms: 600_000 });
    assert_eq!(run.until_tree_gone(), 0);
    assert_eq!(run.until_exit().status, ExitStatus::Signal(1));
    run.close();
}

#[test]
fn a_kill_of_an_ended_run_answers_at_once() {
    let mut run = start(&shell("exit 0"));
    run.until_exit();
    run.send(&ToHolder::Kill { grace_ms: 2000 });
    assert_eq!(run.until_tree_gone(), 0);
    run.close();
}

#[test]
fn last_words_at_a_hang_up_reach_the_log() {
    let mut run = start(&shell("trap 'echo goodbye; exit 3' HUP; echo ready; while :; do sleep 0.05; done"));
    run.until_text("ready");
    run.send(&ToHolder::Kill { grace_ms: 2000 });
    run.until_tree_gone();
    assert!(run.log.ends_with(b"goodbye\r\n"), "{:?}", String::from_utf8_lossy(&run.log));
    assert_eq!(run.until_exit().status, ExitStatus::Code(3));
    run.close();
}

#[test]
fn m3a_a_program_that_needs_time_after_term_gets_it_and_is_not_hung_up() {
    // It gets one signal, works for longer than the default grace, and ends by itself.
    let script = "trap 'echo hung-up' HUP; trap 'echo asked; sleep 1.5; echo flushed; exit 7' TERM; \
                  echo ready; while :; do sleep 0.02; done";
    let mut run = start(&shell(script));
    run.until_text("ready");
    run.send(&ToHolder::End { signal: 15, grace_ms: 600_000 });
    assert_eq!(run.until_tree_gone(), 0);
    let text = String::from_utf8_lossy(&run.log).into_owned();
    assert!(text.contains("asked\r\nflushed\r\n") && !text.contains("hung-up"), "{text}");
    assert_eq!(run.until_exit().status, ExitStatus::Code(7));
    run.close();
}

#[test]
fn m3a_the_kill_comes_when_the_grace_of_the_signal_is_over_and_not_before() {
    let mut run = start(&shell("trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done"));
    run.until_text("ready");
    let grace = Duration::from_secs(1);
    let asked = Instant::now();
    run.send(&ToHolder::End { signal: 15, grace_ms: 1_000 });
    assert_eq!(run.until_tree_gone(), 0);
    assert!(asked.elapsed() >= grace, "it lived for {:?} only", asked.elapsed());
    assert_eq!(run.until_exit().status, ExitStatus::Signal(9));
    run.close();
}

#[test]
fn m3b_asked_again_without_a_grace_it_is_killed() {
    let mut run = start(&shell("trap 'echo asked' TERM; echo ready; while :; do sleep 0.02; done"));
    run.until_text("ready");
    run.send(&ToHolder::End { signal: 15, grace_ms: 600_000 });
    run.until_text("asked");
    run.send(&ToHolder::End { signal: 15, grace_ms: 300_000 });
    run.send(&ToHolder::End { signal: 15, grace_ms: 0 });
    assert_eq!(run.until_tree_gone(), 0);
    assert_eq!(run.until_exit().status, ExitStatus::Signal(9));
    run.close();
}

#[test]
fn m3c_a_release_in_the_middle_of_a_grace_leaves_it_its_time() {
    let script =
        "trap 'echo asked; sleep 1.5; echo flushed; exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    let mut run = start(&shell(script));
    run.until_text("ready");
    run.send(&ToHolder::End { signal: 15, grace_ms: 600_000 });
    run.until_text("asked");
    run.send(&ToHolder::Release { end_tree: true });
    run.until_text("flushed");
    run.until_holder_gone();
}

#[test]
fn m3a_a_stopped_program_wakes_to_be_asked() {
    let mut run = start(&shell("trap 'echo asked; exit 3' INT; echo ready; kill -STOP $$; sleep 1000"));
    run.until_text("ready");
    eventually("it is stopped", || {
        holder::proc_stat::stat(run.child_pid).is_some_and(|stat| stat.state == b'T')
    });
    run.send(&ToHolder::End { signal: 2, grace_ms: 600_000 });
    assert_eq!(run.until_tree_gone(), 0);
    assert_eq!(run.until_exit().status, ExitStatus::Code(3));
    run.close();
}

#[test]
fn d2_background_processes_live_on_when_released_without_the_tree() {
    let mut run = start(&shell("(trap '' HUP; setsid sleep 1000 </dev/null >/dev/null 2>&1 &); exit 0"));
    run.until_exit();
    let left = marked(&run.marker);
    assert_eq!(left.len(), 1);
    run.send(&ToHolder::Release { end_tree: false });
    run.until_holder_gone();
    assert!(exists(left[0]), "it was not asked for");
    kill(left[0], Signal::KILL);
}

#[test]
fn d4_an_ending_touches_no_other_run() {
    let mut other = start(&shell("trap 'echo hit' HUP TERM CONT; echo ready; while :; do sleep 0.01; done"));
    other.until_text("ready");
    for _ in 0..20 {
        let mut run = start(&shell("sleep 1000 & echo ready; wait"));
        run.until_text("ready");
        by_kill(&mut run);
    }
    other.turn();
    assert!(!String::from_utf8_lossy(&other.log).contains("hit"));
    other.close();
}

#[test]
fn signals_reach_whom_they_are_for() {
    let wait = "while :; do sleep 0.01; done";
    let job = format!("sh -c 'trap \"echo job\" USR1; echo ready; {wait}'");
    let mut run = start(&shell(&format!("trap 'echo leader' USR1; {job} & {wait}")));
    run.until_text("ready");
    run.send(&ToHolder::Signal { signal: Signal::USR1.as_raw(), to: SignalTarget::Leader });
    run.until_text("leader");
    assert!(!String::from_utf8_lossy(&run.log).contains("job\r"));
    run.close();

    let script = "set -m; sleep 1000 & sh -c 'trap \"echo front; exit\" INT; echo ready; while :; do sleep 0.01; done'; jobs";
    let mut run = start(&config(&["bash", "--norc", "-c", script]));
    run.until_text("ready");
    run.send(&ToHolder::Signal { signal: Signal::INT.as_raw(), to: SignalTarget::ForegroundGroup });
    run.until_text("front");
    run.close();

    let mut run = start(&shell("sleep 1000 & echo ready; wait; echo over; wait"));
    run.until_text("ready");
    run.send(&ToHolder::Signal { signal: Signal::TERM.as_raw(), to: SignalTarget::Tree });
    assert_eq!(run.until_exit().status, ExitStatus::Signal(15));
    run.close();
}

#[test]
fn a_holder_ignores_what_a_terminal_would_send() {
    let mut run = start(&config(&["cat"]));
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::PIPE, Signal::USR1, Signal::TSTP] {
        kill(run.holder_pid, signal);
    }
    run.send(&ToHolder::Input { id: 1, bytes: b"alive\n".to_vec() });
    run.until_text("alive\r\nalive");
    run.close();
}
