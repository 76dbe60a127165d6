//! The database is damaged, deleted, or its disk is full: processes continue and the user gets a warning.

use proto::Status;
use testkit::disk::SmallDisk;
use testkit::process_scan::eventually;
use testkit::{Mark, TestDaemon, child};

use crate::QD;

fn warnings(daemon: &TestDaemon) -> Vec<String> {
    daemon.client().status().unwrap().warnings
}

/// Returns the database and what belongs to it.
fn database_files(daemon: &TestDaemon) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(daemon.dirs().data).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("state.db")).collect()
}

fn recovers_after(spoil: impl Fn(&TestDaemon)) {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.client().spawn(mark.spawn("kept", child::repeat_lines())).unwrap();
    daemon.wait_pattern("kept", "ready");
    daemon.kill_9();
    spoil(&daemon);
    let process = daemon.process("kept");
    assert_eq!((process.id, process.pid, process.status), (spawned.id, spawned.pid, Status::Running));
    assert!(daemon.screen("kept").starts_with("ready"));
    assert!(!warnings(&daemon).is_empty(), "the user gets a warning");
    assert!(daemon.qd(&["send", "kept", "hello"]).status.success());
    daemon.wait_pattern("kept", "got:hello");
    // What was recovered is stored again: the next daemon has no warning about it.
    daemon.kill_9();
    assert_eq!(daemon.process("kept").pid, spawned.pid);
    assert_eq!(warnings(&daemon), [""; 0]);
    assert!(daemon.qd(&["close", "kept"]).status.success());
}

#[test]
fn s1_a_deleted_database_loses_no_process() {
    recovers_after(|daemon| {
        let files = database_files(daemon);
        assert!(!files.is_empty());
        files.into_iter().for_each(|path| std::fs::remove_file(path).unwrap());
    });
}

#[test]
fn f1_a_damaged_database_loses_no_process_and_is_kept_aside() {
    recovers_after(|daemon| {
        for path in database_files(daemon) {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.iter_mut().enumerate().for_each(|(n, byte)| *byte ^= (n % 251) as u8 | 1);
            std::fs::write(path, bytes).unwrap();
        }
    });
}

#[test]
fn f1_a_damaged_log_of_the_database_loses_no_process_and_is_told() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.client().spawn(mark.spawn("kept", child::repeat_lines())).unwrap();
    daemon.wait_pattern("kept", "ready");
    daemon.kill_9();
    let log = daemon.dirs().data.join("state.db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&log, &bytes).unwrap();
    let process = daemon.process("kept");
    assert_eq!((process.id, process.pid, process.status), (spawned.id, spawned.pid, Status::Running));
    let told = warnings(&daemon);
    assert!(
        told.iter().any(|warning| warning.contains("newest changes to the database were lost")),
        "{told:?}"
    );
    let is_kept = |path: &std::path::PathBuf| std::fs::read(path).unwrap() == bytes;
    assert!(database_files(&daemon).iter().any(is_kept), "{:?}", database_files(&daemon));
    assert!(daemon.qd(&["close", "kept"]).status.success());
}

#[test]
fn f3_a_full_disk_ends_no_process_and_is_forgotten_when_there_is_room_again() {
    let mark = Mark::default();
    let daemon = TestDaemon::without_start(QD);
    let Some(disk) = SmallDisk::mount(daemon.dirs().data) else {
        println!("no disk of its own without the right to mount one");
        return;
    };
    let spawned = daemon.client().spawn(mark.spawn("kept", child::repeat_lines())).unwrap();
    daemon.wait_pattern("kept", "ready");
    disk.fill();
    eventually("the warning", || {
        drop(daemon.qd(&["rename", "kept", "full"]));
        drop(daemon.qd(&["rename", "full", "kept"]));
        warnings(&daemon).iter().any(|warning| warning.contains("not being saved")).then_some(())
    });
    let told = daemon.qd(&["status"]).stdout;
    assert!(String::from_utf8_lossy(&told).contains("not being saved"), "{}", String::from_utf8_lossy(&told));
    assert!(daemon.qd(&["send", "kept", "while full"]).status.success());
    daemon.wait_pattern("kept", "got:while full");
    daemon.client().spawn(mark.spawn("new", child::run_for_ever())).unwrap();
    disk.free();
    eventually("the warning goes by itself", || warnings(&daemon).is_empty().then_some(()));
    daemon.kill_9();
    assert_eq!(daemon.process("kept").pid, spawned.pid);
    assert_eq!(daemon.list().len(), 2);
    assert!(warnings(&daemon).is_empty(), "nothing was lost: {:?}", warnings(&daemon));
    assert!(daemon.qd(&["shutdown", "--kill"]).status.success());
}
