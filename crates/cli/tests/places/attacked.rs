//! A program removes or replaces what keeps a second daemon away: one daemon remains, and one process has the
//! database.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::{all_pids, descriptors, eventually, is_alive, pin, wait_gone};
use testkit::{TestDaemon, child};

use crate::{QD, only_daemon, said};

/// Waits for its first argument, then removes the files that follow the third again and again. It makes the second
/// after the first time, and ends when the third exists.
const REMOVER: &str = "my ($go, $begun, $stop, @files) = @ARGV; select(undef, undef, undef, 0.01) until -e $go; \
    unlink @files; open(B, '>', $begun); close B; \
    until (-e $stop) { unlink @files; select(undef, undef, undef, 0.0005) }";

/// Returns the processes that have this data directory's database open.
fn with_database(daemon: &TestDaemon) -> Vec<i32> {
    let database = daemon.dirs().database();
    let has_it = |pid: &i32| descriptors(*pid).values().any(|file| *file == database);
    all_pids().into_iter().filter(has_it).collect()
}

/// Starts a run that removes every lock and socket until `stop` exists.
fn remove_everything(daemon: &TestDaemon, stop: PathBuf) {
    let (dirs, root) = (daemon.dirs(), daemon.root());
    let (go, begun) = (root.join("go"), root.join("begun"));
    let removed = [dirs.lock(), dirs.data_lock(), dirs.socket(), dirs.data_socket().unwrap()];
    let paths = [go.clone(), begun.clone(), stop].into_iter().chain(removed);
    let paths = paths.map(|path| path.display().to_string());
    let argv = ["perl", "-e", REMOVER].map(str::to_owned).into_iter().chain(paths).collect();
    daemon.spawn("remover", argv);
    std::fs::write(go, "").unwrap();
    eventually("it removes them", || begun.exists().then_some(()));
}

#[test]
fn m1_b3_a_run_that_removes_every_lock_and_socket_in_a_loop_gets_no_second_daemon() {
    let daemon = TestDaemon::start(QD);
    let (pid, stop) = (daemon.pid(), daemon.root().join("stop"));
    remove_everything(&daemon, stop.clone());
    let start = |_| daemon.command(&["ps"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let starters: Vec<_> = (0..12).map(start).collect();
    for mut starter in starters {
        // The loop may keep it from reaching the daemon, but not lead it to another one.
        starter.wait().unwrap();
        assert!(with_database(&daemon).iter().all(|other| *other == pid), "{:?}", with_database(&daemon));
    }
    std::fs::write(stop, "").unwrap();
    assert_eq!(only_daemon(&daemon), pid);
    eventually("the daemon is reached again", || daemon.qd(&["ps"]).status.success().then_some(()));
    assert_eq!((daemon.pid(), with_database(&daemon)), (pid, vec![pid]));
}

/// Stops the daemon, so that it cannot make anything again, and moves both of its directories away.
fn move_directories_away(daemon: &TestDaemon) -> Pid {
    let pid = Pid::from_raw(daemon.pid()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let dirs = daemon.dirs();
    std::fs::rename(dirs.runtime, daemon.root().join("runtime.away")).unwrap();
    std::fs::rename(dirs.data, daemon.root().join("data.away")).unwrap();
    pid
}

#[test]
fn m2_a_daemon_whose_directories_were_moved_away_ends_when_another_one_has_new_ones() {
    let daemon = TestDaemon::start(QD);
    let before = daemon.spawn("one", child::repeat_lines()).pid;
    let old = move_directories_away(&daemon);
    let pinned = pin(old.as_raw_pid());
    assert!(daemon.qd(&["ps"]).status.success(), "another daemon starts");
    kill_process(old, Signal::CONT).unwrap();
    wait_gone(&pinned);
    let new = only_daemon(&daemon);
    assert_eq!(with_database(&daemon), [new]);
    eventually("the new one has the run", || {
        let sent = daemon.qd(&["send", "one", "hello"]);
        sent.status.success().then_some(())
    });
    daemon.wait_pattern("one", "got:hello");
    assert_eq!(daemon.process("one").pid, before);
}

#[test]
fn m2_a_daemon_whose_directories_were_moved_away_makes_them_again_with_the_database() {
    let daemon = TestDaemon::start(QD);
    let before = daemon.spawn("one", child::repeat_lines()).pid;
    let old = move_directories_away(&daemon);
    kill_process(old, Signal::CONT).unwrap();
    let pid = old.as_raw_pid();
    eventually("the database is there again", || (with_database(&daemon) == [pid]).then_some(()));
    eventually("it answers", || daemon.qd(&["ps"]).status.success().then_some(()));
    assert_eq!((only_daemon(&daemon), daemon.process("one").pid), (pid, before));
}

/// Locks its second argument once its first exists, and makes its third.
const LOCKER: &str = "use Fcntl ':flock'; my ($go, $data, $taken) = @ARGV; print \"ready\\n\"; \
    select(undef, undef, undef, 0.01) until -e $go; open(D, '<', $data) or die; flock(D, LOCK_EX) or die; \
    open(T, '>', $taken); close T; sleep 1000000";

#[test]
fn m1_a_process_of_a_run_that_has_the_data_directory_is_named_and_the_daemon_goes_on() {
    let daemon = TestDaemon::start(QD);
    let (data, root) = (daemon.dirs().data, daemon.root());
    let (go, taken) = (root.join("go"), root.join("taken"));
    let paths = [&go, &data, &taken].map(|path| path.display().to_string());
    let argv = ["perl", "-e", LOCKER].map(str::to_owned).into_iter().chain(paths).collect();
    let attacker = daemon.spawn("attacker", argv).pid.unwrap();
    // The daemon is stopped meanwhile, so that it is not first.
    let pid = Pid::from_raw(daemon.pid()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    std::fs::rename(&data, root.join("data.away")).unwrap();
    DirBuilder::new().mode(0o700).create(&data).unwrap();
    std::fs::write(&go, "").unwrap();
    eventually("it is taken", || taken.exists().then_some(()));
    kill_process(pid, Signal::CONT).unwrap();
    let words = format!("(pid {attacker}, perl)");
    let told = eventually("the daemon names it", || {
        let told = said(&daemon.qd(&["status"]));
        told.contains(&words).then_some(told)
    });
    assert!(told.contains(data.to_str().unwrap()), "{told}");
    assert!(said(&daemon.qd(&["doctor"])).contains(&words));
    // Nothing can be saved until then, and ending it is possible all the same.
    let closed = daemon.qd(&["kill", "attacker", "--now"]);
    eventually("it is gone", || (!is_alive(attacker)).then_some(()));
    eventually("the warning goes", || (!said(&daemon.qd(&["status"])).contains(&words)).then_some(()));
    assert_eq!(only_daemon(&daemon), pid.as_raw_pid(), "{}", said(&closed));
}
