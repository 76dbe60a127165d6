//! Starting: what a child finds, what a failed start reports, and that starting many at once leaks and hangs
//! nothing.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use holder::{LaunchError, Launcher, ToHolder};
use rustix::process::Signal;
use testkit::scaled;

use crate::rig::{code, config, launch, launch_from, launcher, scratch, shell, start, status_field};

fn open_fds(pid: i32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn b10_children_see_exactly_0_1_2_with_50_open_and_200_parallel_spawns() {
    let open: Vec<_> = (0..50).map(|_| start(&config(&["sleep", "1000"]))).collect();
    let failures = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..25).filter(|_| !is_clean()).count())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<usize>()
    });
    assert_eq!(failures, 0);
    for run in &open {
        assert_eq!(open_fds(run.child_pid), ["0", "1", "2"]);
    }
    open.into_iter().for_each(crate::rig::Run::close);
}

fn is_clean() -> bool {
    // It prints when it runs: before that the loader may have a library open.
    let mut run = start(&shell("echo ready; read -r line"));
    run.until_text("ready");
    let clean = open_fds(run.child_pid) == ["0", "1", "2"];
    run.close();
    clean
}

#[test]
fn b10_a_holder_keeps_no_descriptor_of_the_daemon() {
    let canary = fs::File::open("/dev/null").unwrap();
    // Without close-on-exec, every program that this process starts inherits it.
    rustix::io::fcntl_setfd(&canary, rustix::io::FdFlags::empty()).unwrap();
    let run = start(&config(&["cat"]));
    let targets: Vec<_> = open_fds(run.holder_pid)
        .iter()
        .filter(|fd| fd.parse::<i32>().unwrap() > 2)
        .map(|fd| fs::read_link(format!("/proc/{}/fd/{fd}", run.holder_pid)).unwrap())
        .collect();
    assert!(!targets.iter().any(|target| target.ends_with("null")), "{targets:?}");
    rustix::io::fcntl_setfd(&canary, rustix::io::FdFlags::CLOEXEC).unwrap();
    run.close();
}

#[test]
fn b11_spawns_beside_allocating_threads_never_hang() {
    let over = AtomicBool::new(false);
    let left = AtomicUsize::new(scaled(2000));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| allocate_until(&over));
        }
        let spawners: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut launcher = launcher();
                    while take_one(&left) {
                        // A forkserver is what is started beside all these threads; a holder is forked by that.
                        if left.load(Ordering::Relaxed).is_multiple_of(10) {
                            launcher = crate::rig::launcher();
                        }
                        one_short_run(&launcher)
                    }
                })
            })
            .collect();
        spawners.into_iter().for_each(|spawner| spawner.join().unwrap());
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn b11_whoever_forks_has_one_thread_and_blocks_nothing_that_it_does_not_watch() {
    let launcher = launcher();
    let runs: Vec<_> = (0..5).map(|_| launch_from(&launcher, &config(&["cat"])).unwrap()).collect();
    let forkserver = holder::proc_stat::stat(runs[0].holder_pid).unwrap().parent;
    let mask = |pid: i32| u64::from_str_radix(&status_field(pid, "SigBlk"), 16).unwrap();
    let bit = |signal: Signal| 1u64 << (signal.as_raw() - 1);
    assert_eq!((status_field(forkserver, "Threads").as_str(), mask(forkserver)), ("1", 0));
    for run in &runs {
        let watched = bit(Signal::TERM) | bit(Signal::CHILD);
        assert_eq!((status_field(run.holder_pid, "Threads").as_str(), mask(run.holder_pid)), ("1", watched));
    }
    runs.into_iter().for_each(crate::rig::Run::close);
}

fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

fn allocate_until(over: &AtomicBool) {
    let mut kept = Vec::new();
    while !over.load(Ordering::Relaxed) {
        kept.push(format!("{:?}", vec![kept.len(); 64]));
        if kept.len() > 64 {
            kept.clear();
            thread::yield_now();
        }
    }
}

fn one_short_run(launcher: &Launcher) {
    let mut run = launch_from(launcher, &config(&["true"])).unwrap();
    assert_eq!(run.until_exit().status, code(0));
    run.close();
}

#[test]
fn b11_a_child_starts_with_default_signals_and_an_empty_mask() {
    let run = start(&config(&["sleep", "1000"]));
    for field in ["SigBlk", "SigIgn", "SigCgt"] {
        assert_eq!(u64::from_str_radix(&status_field(run.child_pid, field), 16).unwrap(), 0, "{field}");
    }
    run.close();
}

#[test]
fn t1_the_child_has_its_directory_size_environment_and_umask() {
    let directory = fs::canonicalize(scratch()).unwrap();
    let mut config = shell("pwd; stty size; umask; env; tty; echo end");
    config.cwd = directory.clone();
    (config.cols, config.rows) = (123, 45);
    config.umask = Some(0o027);
    config.env.push(("QD_TASK_ID".into(), "t_1".into()));
    let mut run = start(&config);
    assert_eq!((run.hello.fields.cols, run.hello.fields.rows), (123, 45));
    run.until_exit();
    let text = String::from_utf8(run.log.clone()).unwrap();
    for expected in [directory.to_str().unwrap(), "45 123", "0027", "QD_TASK_ID=t_1", "/dev/pts/"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    run.close();
}

#[test]
fn b9_nothing_of_the_holders_environment_reaches_the_child() {
    let mut run = start(&config(&["env"]));
    run.until_exit();
    let text = String::from_utf8(run.log.clone()).unwrap();
    let mut names: Vec<_> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["PATH", "QD_RUN_TOKEN", "TERM"]);
    run.close();
}

#[test]
fn t2_sizes_are_clamped_and_t6_a_resize_reaches_the_child_once() {
    let mut config = shell("trap 'stty size' WINCH; stty size; while :; do read -r line; done");
    (config.cols, config.rows) = (0, 5000);
    let mut run = start(&config);
    run.until_text("1000 2\r\n");
    run.send(&ToHolder::Resize { cols: 80, rows: 24 });
    run.until_text("24 80\r\n");
    run.send(&ToHolder::Resize { cols: 80, rows: 24 });
    run.send(&ToHolder::Resize { cols: 81, rows: 24 });
    run.until_text("24 81\r\n");
    assert_eq!(String::from_utf8_lossy(&run.log).matches("24 80").count(), 1, "an equal size is no event");
    run.close();
}

#[test]
fn t4_a_missing_directory_is_told_before_exec() {
    let mut gone = config(&["true"]);
    gone.cwd = "/nowhere/at/all".into();
    assert!(matches!(launch(&gone), Err(LaunchError::WorkdirGone { .. })));
    gone.cwd = "/dev/null".into();
    assert!(matches!(launch(&gone), Err(LaunchError::WorkdirGone { .. })));
    assert!(!gone.socket.exists());
}

#[test]
fn t11_start_errors_keep_their_cause() {
    for missing in ["no-such-program", "/no/such/program"] {
        let config = config(&[missing]);
        let error = launch(&config).err().expect("it fails");
        assert!(matches!(error, LaunchError::NotFound { .. }), "{error:?}");
        assert!(error.to_string().contains(missing), "{error}");
        assert!(!config.socket.exists(), "nothing is left behind");
    }
    let error = launch(&config(&["/etc/passwd"])).err().expect("it fails");
    assert!(matches!(error, LaunchError::PermissionDenied { .. }), "{error:?}");
    let mut long = config(&["true"]);
    long.socket = format!("/tmp/{}", "x".repeat(120)).into();
    assert!(matches!(launch(&long), Err(LaunchError::SocketPathTooLong { .. })));
}

#[test]
fn a_holder_sleeps_while_nothing_happens() {
    let run = start(&config(&["sleep", "1000"]));
    let switches = || status_field(run.holder_pid, "voluntary_ctxt_switches");
    // It may still be on its way into its first wait.
    crate::rig::eventually("the holder waits", || status_field(run.holder_pid, "State").starts_with('S'));
    crate::rig::pause(Duration::from_millis(20));
    let before = switches();
    crate::rig::pause(Duration::from_millis(1500));
    assert_eq!(switches(), before, "a periodic wake-up");
    run.close();
}

#[test]
fn configuration_travels_outside_argv_and_the_holder_has_a_name() {
    let run = start(&config(&["sleep", "1000"]));
    let argv = fs::read(format!("/proc/{}/cmdline", run.holder_pid)).unwrap();
    assert_eq!(argv, b"qd\0hold\0");
    assert_eq!(status_field(run.holder_pid, "Name"), "qd-hold");
    assert!(fs::read(format!("/proc/{}/environ", run.holder_pid)).unwrap().is_empty());
    run.close();
}
