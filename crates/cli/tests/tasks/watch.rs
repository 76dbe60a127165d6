//! `qd tasks --watch` on a terminal: drawn in place, again only when something has changed.

use std::ffi::OsStr;
use std::time::Instant;

use proto::Size;
use testkit::process_scan::eventually;
use testkit::{DEADLINE, Pty};

use crate::stage::{QD, TaskStage};

/// Opens a terminal in which the list is watched.
fn watching(stage: &TaskStage, size: Size) -> Pty {
    let mut terminal = Pty::open(size);
    let variables = stage.daemon.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    terminal.spawn(OsStr::new(QD), &["tasks", "--watch"], &variables);
    terminal
}

#[test]
fn k7_a_list_that_is_watched_is_drawn_over_itself_and_ends_at_ctrl_c() {
    let stage = TaskStage::new();
    stage.new_task("first");
    let mut terminal = watching(&stage, Size { cols: 120, rows: 20 });
    let mut drawn = terminal.expect(b"first");
    stage.new_task("second");
    drawn.extend(terminal.expect(b"second"));
    let text = String::from_utf8_lossy(&drawn);
    assert!(!text.contains("\u{1b}[2J"), "the whole screen is never erased: {text:?}");
    let draws = text.matches("\u{1b}[H").count();
    assert!((2..=4).contains(&draws), "{draws} drawings for two changes: {text:?}");
    terminal.type_keys(b"\x03");
    assert!(!terminal.wait_exit(DEADLINE).success());
}

#[test]
fn k7_a_list_that_is_watched_fits_the_terminal_and_follows_its_size() {
    let stage = TaskStage::new();
    for number in 0..8 {
        stage.qd(&["new", &format!("task{number}"), "--directory", &directory(&stage, number)]);
    }
    let mut terminal = watching(&stage, Size { cols: 60, rows: 6 });
    let drawn = terminal.expect(b"and 5 more");
    assert_eq!(drawn.iter().filter(|byte| **byte == b'\n').count(), 4, "the last row stays free: {drawn:?}");
    terminal.take_drawn(Instant::now());
    terminal.resize(Size { cols: 100, rows: 12 });
    terminal.expect(b"task7");
    terminal.type_keys(b"\x03");
    assert!(!terminal.wait_exit(DEADLINE).success());
}

/// A number that the system keeps of a process.
fn count(pid: i32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    count.trim().parse().unwrap()
}

/// How often the process has waited: each look at the list ends with a wait.
fn waits(pid: i32) -> u64 {
    count(pid, "status", "voluntary_ctxt_switches:")
}

/// How many bytes the process has written to files and terminals; what it sends to the daemon is not counted.
fn written(pid: i32) -> u64 {
    count(pid, "io", "wchar:")
}

#[test]
fn k7_a_list_that_is_watched_writes_nothing_while_nothing_changes() {
    let stage = TaskStage::new();
    stage.new_task("first");
    let mut terminal = Pty::open(Size { cols: 120, rows: 20 });
    let variables = stage.daemon.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let pid = terminal.spawn(OsStr::new(QD), &["tasks", "--watch"], &variables);
    terminal.expect(b"first");
    // Waits are shown in minutes, so a stretch in which a minute began is measured again.
    let minute = || {
        let task = stage.task("first").unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        ["since", "active_at"].map(|time| (now.as_secs() - task[time].as_u64().unwrap() / 1000) / 60)
    };
    loop {
        // It has read the list once more, so the first drawing is over and taken.
        let began = minute();
        let before = waits(pid);
        eventually("it has looked again", || (waits(pid) > before + 4).then_some(()));
        while !terminal.take_drawn(Instant::now()).is_empty() {}
        let before = (waits(pid), written(pid));
        // A process that belongs to no task comes and goes meanwhile: the daemon has changed, the list has not.
        stage.qd(&["spawn", "--name", "aside", "--", "true"]);
        stage.daemon.wait_exit("aside");
        stage.qd(&["close", "aside"]);
        eventually("it has looked several times", || (waits(pid) > before.0 + 10).then_some(()));
        let bytes = written(pid) - before.1;
        let drawn = terminal.take_drawn(Instant::now());
        if minute() == began {
            let drawn = String::from_utf8_lossy(&drawn);
            assert_eq!((bytes, &*drawn), (0, ""), "written while nothing has changed");
            break;
        }
    }
    stage.new_task("second");
    terminal.expect(b"second");
    terminal.type_keys(b"\x03");
    assert!(!terminal.wait_exit(DEADLINE).success());
}

#[test]
fn k7_a_list_that_is_watched_goes_on_when_the_daemon_is_killed() {
    let stage = TaskStage::new();
    stage.new_task("first");
    let mut terminal = watching(&stage, Size { cols: 120, rows: 20 });
    terminal.expect(b"first");
    stage.daemon.kill_9();
    stage.new_task("second");
    terminal.expect(b"second");
    terminal.type_keys(b"\x03");
    assert!(!terminal.wait_exit(DEADLINE).success());
}

fn directory(stage: &TaskStage, number: usize) -> String {
    let path = stage.repository.with_file_name(format!("place{number}"));
    std::fs::create_dir(&path).unwrap();
    path.display().to_string()
}
