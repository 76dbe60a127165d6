//! `qd tasks --watch` on a terminal: drawn in place, again only when something has changed.

use std::ffi::OsStr;

use proto::Size;
use testkit::{DEADLINE, Pty};

use crate::stage::{QD, TaskStage};

#[test]
fn k7_a_list_that_is_watched_is_drawn_over_itself_and_ends_at_ctrl_c() {
    let stage = TaskStage::new();
    stage.new_task("first");
    let mut terminal = Pty::open(Size { cols: 120, rows: 20 });
    let variables = stage.daemon.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    terminal.spawn(OsStr::new(QD), &["tasks", "--watch"], &variables);
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
