//! What a new daemon has of an old one's run: the whole screen always, the history as far as it was kept, and
//! a report about the rest.

use proto::Size;
use proto::reply::Text;
use proto::request::{Read, ReadMode, Resize, SizeRequest, Spawn};
use testkit::process_scan::eventually;
use testkit::{MarkedDaemon, ScriptedChild, child};

use super::{stage, text};

/// Columns, and characters in a row: each is as wide as two and as long as four.
const COLS: u32 = 1_000;
const WIDE: usize = 490;

/// Returns a run whose history is longer than what a holder keeps: ten thousand lines of wide characters.
fn long_history(stage: &MarkedDaemon) -> ScriptedChild {
    let mut scripted_child = ScriptedChild::new(stage.root(), "long");
    let size = SizeRequest { cols: Some(COLS), rows: Some(24) };
    stage.spawn_as(Spawn { size, ..stage.spec("long", scripted_child.argv()) });
    let row: String = (0..WIDE).map(|n| char::from_u32(0x1f600 + n as u32 % 64).unwrap()).collect();
    let lines: String = (0..10_100).map(|n| format!("{n:05} {row}\r\n")).collect();
    let file = stage.root().join("lines");
    std::fs::write(&file, &lines).unwrap();
    scripted_child.tell_file(&file, lines.len() as u64);
    scripted_child.tell(b"=last words=");
    stage.wait_pattern("long", "=last words=");
    scripted_child
}

fn history(stage: &MarkedDaemon, since: u64) -> Text {
    let read = Read {
        target: "long".into(),
        mode: ReadMode::History,
        since: Some(since),
        limit: Some(65_536),
        ..Read::default()
    };
    stage.client().read(read).unwrap_or_else(|error| stage.fail(&error.to_string()))
}

fn wait_for_log(stage: &MarkedDaemon, words: &str) -> String {
    let log = stage.dirs().daemon_log();
    eventually(words, || {
        let told = std::fs::read_to_string(&log).unwrap_or_default();
        told.lines().find(|line| line.contains(words)).map(str::to_owned)
    })
}

/// Resizes a process; returns its screen then.
fn resize(stage: &MarkedDaemon, name: &str, cols: u32, rows: u32) -> Text {
    let size = SizeRequest { cols: Some(cols), rows: Some(rows) };
    stage.client().resize(Resize { target: name.into(), size }).unwrap();
    let is_there = |size: Size| (u32::from(size.cols), u32::from(size.rows)) == (cols, rows);
    eventually("the new size", || {
        Some(stage.read(name, ReadMode::Screen)).filter(|screen| is_there(screen.size))
    })
}

/// Waits until everything that the child has produced is drawn. A log has bytes before the screen does.
#[cfg(debug_assertions)]
fn until_drawn(stage: &MarkedDaemon, name: &str, produced: u64) {
    eventually("everything drawn", || (stage.read(name, ReadMode::Screen).offset >= produced).then_some(()));
}

/// Returns the number in the first column of a row.
fn number(row: &str) -> u64 {
    row.split(' ').next().and_then(|number| number.parse().ok()).unwrap()
}

#[test]
fn a_history_too_long_to_be_kept_costs_its_beginning_and_that_is_told() {
    let stage = stage();
    let mut scripted_child = long_history(&stage);
    let before = stage.read("long", ReadMode::Screen);
    let full = history(&stage, 0);
    wait_for_log(&stage, "the history is too long to be kept");
    stage.kill_9();
    let after = stage.read("long", ReadMode::Screen);
    assert_eq!((&after.text, after.cursor, after.size), (&before.text, before.cursor, before.size));
    let left = history(&stage, 0);
    // Rows keep their numbers, so that what is missing can be counted.
    let (first, missed) = (left.first_line.unwrap(), left.missed);
    assert!(missed == first && missed > full.missed, "{missed} of {first}, {} before", full.missed);
    let row = left.text.lines().find(|row| row.contains('\u{1f600}')).unwrap();
    let told = left.first_line.unwrap() + left.text.lines().position(|other| other == row).unwrap() as u64;
    assert_eq!(number(row), told, "a row is where it was");
    assert!(10_100 - number(row) >= 500, "a mebibyte of output comes back: {row:.20}");
    scripted_child.tell(b"\r\nit goes on");
    stage.wait_pattern("long", "it goes on");
}

#[test]
fn a_history_too_long_to_be_kept_before_a_resize_leaves_the_screen() {
    let stage = stage();
    let mut scripted_child = long_history(&stage);
    let before = resize(&stage, "long", COLS, 30);
    wait_for_log(&stage, "the history is too long to be kept");
    stage.kill_9();
    let after = stage.read("long", ReadMode::Screen);
    assert_eq!((after.size, after.text.lines().last()), (before.size, before.text.lines().last()));
    assert!(before.text.ends_with(&after.text), "it shows what it showed, as far as it was kept");
    assert!(history(&stage, 0).missed > 9_000);
    scripted_child.tell(b"\r\nit goes on");
    stage.wait_pattern("long", "it goes on");
}

/// Returns a daemon whose runs fail when their output contains a failpoint; debug builds only.
#[cfg(debug_assertions)]
fn fragile() -> MarkedDaemon {
    let daemon = testkit::TestDaemon::without_start(env!("CARGO_BIN_EXE_qd"));
    let started = daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", "1").output().unwrap();
    assert!(started.status.success(), "{}", text(&started.stderr));
    MarkedDaemon::around(daemon)
}

/// Output is overwritten undrawn when its run is not drawn any more and the daemon dies: the next one has a
/// screen with an open sequence, and not the bytes that would have closed it.
#[cfg(debug_assertions)]
#[test]
fn output_that_was_lost_before_it_was_drawn_is_told_and_swallows_nothing_behind_it() {
    let stage = fragile();
    let mut scripted_child = ScriptedChild::new(stage.root(), "x");
    stage.run("x", scripted_child.argv());
    let lines: String = (0..4_000).map(|n| format!("early line {n:05}\r\n")).collect();
    scripted_child.tell(lines.as_bytes());
    scripted_child.tell(b"\x1b]0;half a title");
    let open_at = scripted_child.produced;
    until_drawn(&stage, "x", open_at);
    // Before a resize everything that was drawn is checkpointed in the holder.
    resize(&stage, "x", 90, 24);
    // Faults, one after the other, until nothing is drawn any more.
    for fault in 0..12 {
        scripted_child.tell(format!("@fail-output@ {fault}.").as_bytes());
        until_drawn(&stage, "x", scripted_child.produced);
    }
    let mut log = testkit::Tail::live(&stage, "x");
    let flood: String = (0..400_000).map(|n| format!("late line {n:06}\r\n")).collect();
    let file = stage.root().join("flood");
    std::fs::write(&file, &flood).unwrap();
    scripted_child.tell_file(&file, flood.len() as u64);
    log.until(b"late line 399999\r\n");
    stage.kill_9();
    let shown = stage.read("x", ReadMode::Screen);
    assert!(shown.text.ends_with("late line 399998\nlate line 399999"), "{}", shown.text);
    assert_eq!(shown.title, "");
    let told = wait_for_log(&stage, "output was lost before it was drawn");
    let start = stage.process("x").live.log.start;
    assert!(told.contains(&format!("from={open_at}")) && told.contains(&format!("to={start}")), "{told}");
}

#[test]
fn a_version_grows_for_as_long_as_its_run_lives_whichever_daemon_tells_it() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let version = || stage.read("x", ReadMode::Screen).version;
    let mut told = vec![version()];
    for round in 0..4_u32 {
        stage.type_text("x", &format!("{round}\n"));
        stage.wait_pattern("x", &format!("got:{round}"));
        told.push(version());
        told.push(resize(&stage, "x", 90 + round, 24).version);
        stage.kill_9();
        let again = version();
        assert!(again >= told[told.len() - 1], "{again} after {told:?}");
    }
    assert!(told.is_sorted_by(|one, next| one <= next), "{told:?}");
    assert!(told.iter().step_by(2).is_sorted_by(|one, next| one < next), "{told:?}");
    // Four daemons later the first version still means the same.
    let since = |version: u64, pattern: &str, seconds: &str| {
        let version = version.to_string();
        let words = ["wait", "x", "--pattern", pattern, "--since-version", &version, "--timeout", seconds];
        let output = stage.qd(&words);
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(since(told[0], "ready|got:.", "30"), (Some(0), "got:0\n".to_owned()));
    assert_eq!(since(told[3], "got:.", "30"), (Some(0), "got:2\n".to_owned()));
    assert_eq!(since(version(), "got:.", "0.2").0, Some(5), "what was on that screen does not count");
}
