//! The runtime or the data directory vanishes: systemd removes it at the last logout, people remove it by hand. No run is
//! lost.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use testkit::process_scan::{eventually, is_alive};
use testkit::{TestDaemon, child};

use crate::{QD, daemons, only_daemon, said};

/// Returns a daemon with three runs; their pids.
fn with_runs() -> (TestDaemon, Vec<i32>) {
    let daemon = TestDaemon::start(QD);
    for name in ["one", "two", "three"] {
        daemon.spawn(name, child::repeat_lines());
    }
    let pids = pids(&daemon);
    (daemon, pids)
}

fn pids(daemon: &TestDaemon) -> Vec<i32> {
    ["one", "two", "three"].map(|name| daemon.process(name).pid.unwrap()).to_vec()
}

/// Removes a directory as `rm -rf` does. A daemon may recreate a socket while the rest is being removed.
fn remove(directory: &Path) {
    eventually("the directory to go", || match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => None,
        removed => Some(removed),
    })
    .unwrap();
}

/// All of them can be reached, through one daemon.
fn assert_reachable(daemon: &TestDaemon, before: &[i32]) {
    assert_eq!(pids(daemon), before);
    for name in ["one", "two", "three"] {
        let said = daemon.qd(&["send", name, "hello"]);
        assert!(said.status.success(), "{}", crate::said(&said));
        daemon.wait_pattern(name, "got:hello");
    }
    assert_eq!(only_daemon(daemon), daemon.pid());
}

#[test]
fn m2_a_removed_runtime_directory_is_made_again_and_the_daemon_stays_the_only_one() {
    let (daemon, before) = with_runs();
    let (pid, dirs) = (daemon.pid(), daemon.dirs());
    remove(&dirs.runtime);
    assert_reachable(&daemon, &before);
    assert_eq!(daemon.pid(), pid);
    eventually("the socket is where clients look first", || UnixStream::connect(dirs.socket()).ok());
    let mode = std::fs::metadata(&dirs.runtime).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(dirs.lock().exists(), "and it is locked again");
}

#[test]
fn m2_without_a_client_the_removed_directory_is_made_again_too() {
    let (daemon, before) = with_runs();
    let dirs = daemon.dirs();
    // Often enough that one removal meets the daemon between binding the socket and looking at its file.
    for _ in 0..30 {
        remove(&dirs.runtime);
        eventually("the socket comes back by itself", || UnixStream::connect(dirs.socket()).ok());
    }
    assert_reachable(&daemon, &before);
}

#[test]
fn m2_a_daemon_killed_after_its_directory_vanished_leaves_every_run_to_the_next_one() {
    let (daemon, before) = with_runs();
    let dirs = daemon.dirs();
    // Killed first, so that nothing can recreate the directory before.
    daemon.kill_9();
    remove(&dirs.runtime);
    assert!(before.iter().all(|pid| is_alive(*pid)));
    assert_reachable(&daemon, &before);
    remove(&dirs.runtime);
    daemon.kill_9();
    assert_reachable(&daemon, &before);
}

#[test]
fn m2_a_run_that_ended_while_nobody_could_be_reached_keeps_its_exit() {
    let daemon = TestDaemon::start(QD);
    let go = daemon.root().join("go");
    let script = format!("until [ -e '{}' ]; do sleep 0.01; done; exit 7", go.display());
    let pid = {
        daemon.spawn("ends", child::shell(&script));
        daemon.process("ends").pid.unwrap()
    };
    daemon.kill_9();
    std::fs::remove_dir_all(daemon.dirs().runtime).unwrap();
    std::fs::write(&go, "").unwrap();
    eventually("the child to end", || (!is_alive(pid)).then_some(()));
    let exit = daemon.process("ends").exit.unwrap();
    assert_eq!(exit.code, Some(7), "{exit:?}");
}

#[test]
fn m2_a_directory_that_somebody_made_open_to_others_is_not_used_and_the_runs_stay_reachable() {
    let (daemon, before) = with_runs();
    let dirs = daemon.dirs();
    let aside = daemon.root().join("aside");
    // Made under another name and moved there, so that the daemon cannot be first.
    let made = daemon.root().join("made");
    std::fs::create_dir(&made).unwrap();
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::rename(&dirs.runtime, &aside).unwrap();
    let swapped = std::fs::rename(&made, &dirs.runtime);
    if swapped.is_err() {
        // The daemon was faster: its directory is replaced.
        remove(&dirs.runtime);
        drop(std::fs::rename(&made, &dirs.runtime));
    }
    assert_reachable(&daemon, &before);
    if std::fs::metadata(&dirs.runtime).unwrap().permissions().mode() & 0o777 == 0o777 {
        assert!(!dirs.socket().exists(), "nothing of ours is in it");
        let told = said(&daemon.qd(&["doctor"]));
        assert!(told.contains(dirs.runtime.to_str().unwrap()) && told.contains("chmod 700"), "{told}");
        std::fs::set_permissions(&dirs.runtime, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert_reachable(&daemon, &before);
    eventually("the socket is back", || UnixStream::connect(dirs.socket()).ok());
}

#[test]
fn m2_removed_sockets_and_locks_are_made_again() {
    let (daemon, before) = with_runs();
    let dirs = daemon.dirs();
    let sockets = [dirs.socket(), dirs.data_socket().unwrap()];
    for path in [&sockets[..], &[dirs.lock(), dirs.data_lock()]].concat() {
        std::fs::remove_file(&path).unwrap();
        eventually("it is made again", || path.exists().then_some(()));
    }
    for socket in &sockets {
        drop(UnixStream::connect(socket).unwrap());
    }
    assert_reachable(&daemon, &before);
    assert_eq!(daemons(&daemon).len(), 1);
}

#[test]
fn m2_a_runtime_directory_that_cannot_be_made_is_no_reason_not_to_serve() {
    let daemon = TestDaemon::without_start(QD);
    let command = |arguments: &[&str]| {
        let mut command = daemon.command(arguments);
        command.env("QD_RUNTIME_DIR", "/proc/none/quarterdeck").output().unwrap()
    };
    let spawned = command(&["spawn", "--name", "mine", "--", "sleep", "1000000"]);
    assert!(spawned.status.success(), "{}", said(&spawned));
    assert!(said(&command(&["ps"])).contains("mine"));
    assert!(said(&command(&["doctor"])).contains("/proc/none/quarterdeck"));
    assert_eq!(daemon.list().len(), 1, "another login finds it by the data directory");
}

#[test]
fn m7g_a_removed_database_is_written_again_and_what_is_said_afterwards_holds() {
    let (daemon, before) = with_runs();
    let dirs = daemon.dirs();
    std::fs::remove_file(dirs.database()).unwrap();
    eventually("it is there again", || dirs.database().exists().then_some(()));
    // Removed again, and nobody waits: whatever is acknowledged is in the file.
    std::fs::remove_file(dirs.database()).unwrap();
    assert!(daemon.qd(&["rename", "one", "renamed"]).status.success());
    assert!(daemon.qd(&["grant", "two", "read", "three"]).status.success());
    assert!(dirs.database().exists());
    daemon.kill_9();
    let named = ["renamed", "two", "three"].map(|name| daemon.process(name).pid.unwrap());
    assert_eq!(named.to_vec(), before);
    assert!(said(&daemon.qd(&["grants"])).contains("two"), "{}", said(&daemon.qd(&["grants"])));
    assert_eq!(daemon.client().status().unwrap().warnings, [] as [String; 0]);
    assert!(said(&daemon.qd(&["audit", "--verify"])).contains("was removed while the daemon runs"));
}

/// All three runs are there again, with their pids, and can be reached.
fn assert_recovered(daemon: &TestDaemon, before: &[i32]) {
    let is_silent = |warning: &String| warning.contains("cannot be reached");
    eventually("the next daemon has them", || {
        let has_all = daemon.list().len() == 3;
        (has_all && !daemon.client().status().unwrap().warnings.iter().any(is_silent)).then_some(())
    });
    assert_reachable(daemon, before);
}

#[test]
fn m2_a_data_directory_that_was_removed_under_a_daemon_costs_the_next_one_no_run() {
    let (daemon, before) = with_runs();
    remove(&daemon.dirs().data);
    assert_reachable(&daemon, &before);
    daemon.kill_9();
    assert_recovered(&daemon, &before);
}

#[test]
fn m2_a_data_directory_that_was_removed_while_there_was_no_daemon_costs_no_run() {
    let (daemon, before) = with_runs();
    daemon.kill_9();
    remove(&daemon.dirs().data);
    assert_recovered(&daemon, &before);
}

#[test]
fn m2_the_sockets_of_the_holders_are_made_again_and_nothing_is_out_of_reach() {
    let (daemon, before) = with_runs();
    let holders = daemon.dirs().holders();
    remove(&holders);
    assert_reachable(&daemon, &before);
    daemon.kill_9();
    assert_recovered(&daemon, &before);
    daemon.kill_9();
    remove(&holders);
    assert_recovered(&daemon, &before);
    eventually("no warning is left", || daemon.client().status().unwrap().warnings.is_empty().then_some(()));
    daemon.spawn("four", child::repeat_lines());
}

#[test]
fn m2_a_run_that_starts_after_the_holders_directory_was_removed_makes_it_again() {
    let daemon = TestDaemon::start(QD);
    let holders = daemon.dirs().holders();
    remove(&holders);
    let before = daemon.spawn("one", child::repeat_lines()).pid;
    assert_eq!(std::fs::metadata(&holders).unwrap().permissions().mode() & 0o777, 0o700);
    daemon.kill_9();
    assert_eq!(daemon.process("one").pid, before);
}

#[test]
fn m2_a_run_that_ended_before_the_sockets_were_removed_keeps_its_exit() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("ends", child::shell("exit 7"));
    daemon.wait_exit("ends");
    remove(&daemon.dirs().data);
    daemon.kill_9();
    let exit = eventually("it is known again", || daemon.list().into_iter().find_map(|process| process.exit));
    assert_eq!(exit.code, Some(7), "{exit:?}");
}
