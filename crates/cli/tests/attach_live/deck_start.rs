//! The deck from its start to its end: a terminal that was left raw, a private daemon, a deck inside a deck, settings.

use proto::Size;
use rustix::process::{Pid, Signal};
use term::Wraps;
use testkit::process_scan::eventually;

use super::deck::{SIZE, assert_untouched, showing_x};
use super::silence::is_stopped;
use super::window::Window;
use super::{running, runs_on_alone, sh, stage};

const QD: &str = env!("CARGO_BIN_EXE_qd");

#[test]
fn u23_reset_mends_the_terminal_after_the_deck_was_killed() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    window.until_shows("COMMANDS");
    window.pty.signal(Signal::KILL);
    window.wait_exit();
    assert!(window.pty.is_raw() && window.screen.is_alternate());
    window.start(&stage, QD, &["reset"]);
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_untouched(&window);
    runs_on_alone(&stage);
}

#[test]
fn u23_stopped_the_deck_gives_the_terminal_back_and_continued_it_has_it_again() {
    let stage = running();
    let (mut window, pid) = Window::running(&stage, SIZE, QD, &[]);
    showing_x(&mut window);
    window.pty.signal(Signal::TSTP);
    window.until("the main screen", |screen| !screen.is_alternate());
    let pid = Pid::from_raw(pid).unwrap();
    eventually("the deck is stopped", || is_stopped(pid).then_some(()));
    assert_untouched(&window);
    window.pty.signal(Signal::CONT);
    window.until_shows("ready");
    window.type_keys("again\r");
    window.until_shows("got:again");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u23_without_its_terminal_the_deck_ends_and_no_process_notices() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let mut deck = window.pty.hang_up().unwrap();
    deck.wait().unwrap();
    runs_on_alone(&stage);
}

#[test]
fn an_ephemeral_deck_has_a_daemon_of_its_own_that_ends_with_it() {
    let stage = running();
    let directory = tempfile::tempdir().unwrap();
    let temporary = format!("TMPDIR={}", directory.path().display());
    let (mut window, _) = Window::running(&stage, SIZE, "env", &[&temporary, QD, "--ephemeral"]);
    window.until_shows("Nothing runs here yet.");
    window.type_keys("3");
    window.until_shows("Command to run");
    window.type_keys("echo in$((1+1)) private; cat\r");
    window.until_shows("in2 private");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    runs_on_alone(&stage);
}

#[test]
fn a_deck_inside_a_deck_leaves_its_own_process_out() {
    let stage = running();
    let size = Size { cols: 90, rows: 24 };
    let spawn = proto::request::Spawn { size: size.into(), ..stage.spec("nest", sh(&format!("exec {QD}"))) };
    stage.spawn_as(spawn);
    stage.wait_pattern("nest", "inside qd");
    stage.wait_pattern("nest", "COMMANDS");
    let text = stage.screen("nest");
    assert!(!text.contains("nest"), "{text}");
    let mut window = Window::open(&stage, Size { cols: 120, rows: 30 }, &[]);
    window.until_shows("4  Go to a process");
    window.type_keys("4");
    window.until_shows("SWITCH");
    window.type_keys("nest\r");
    window.until_shows("inside qd");
    // The prefix twice is the inner deck's prefix: it leaves, the outer one stays.
    window.type_keys("\u{1c}\u{1c}d");
    stage.until_view("nest", |view| view.pid.is_none());
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn a_change_of_the_settings_is_taken_over_at_once_and_a_fault_changes_nothing() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let file = stage.dirs().config.join("tui.toml");
    std::fs::write(&file, "glyphs = 'ascii'\nprefix = 'ctrl-]'\n").unwrap();
    window.until("marks in ASCII", |screen| screen.text(Wraps::Keep).contains("> runs"));
    std::fs::write(&file, "glyphs = 'pink'\n").unwrap();
    window.until_shows("glyphs is unicode or ascii");
    window.until("marks in ASCII", |screen| screen.text(Wraps::Keep).contains("> runs"));
    window.type_keys("\u{1d}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn the_key_recorder_of_the_first_screen_changes_the_prefix_for_good() {
    let stage = stage();
    let mut window = Window::open(&stage, SIZE, &[]);
    window.until_shows("Press k to choose another");
    window.type_keys("k");
    window.until_shows("Press the key that shall open the menu");
    window.type_keys("\u{1d}");
    window.until_shows("Enter keep it");
    window.type_keys("\r");
    window.until_shows("Your menu key is Ctrl-]");
    window.type_keys("\u{1d}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    let mut again = Window::open(&stage, SIZE, &[]);
    again.until_shows("Your menu key is Ctrl-]");
    again.type_keys("\u{1d}d");
    assert_eq!(again.wait_exit().code(), Some(0));
}

#[test]
fn u23_after_a_fault_of_the_deck_itself_the_terminal_is_as_it_was_and_says_why() {
    let stage = running();
    let (mut window, _) = Window::running(&stage, SIZE, "env", &["QD_TEST_DECK_PANICS=1", QD]);
    window.answers = false;
    window.until_shows("COMMANDS");
    window.type_keys("k");
    assert_eq!(window.wait_exit().code(), Some(1));
    assert_untouched(&window);
    window.until_shows("the deck failed and was closed");
    runs_on_alone(&stage);
}

#[test]
fn the_persons_editor_has_the_terminal_for_a_while_and_gives_it_back() {
    use std::os::unix::fs::PermissionsExt;
    let stage = running();
    let script = stage.root().join("editor");
    std::fs::write(&script, "#!/bin/sh\necho EDITING; grep -c ready \"$1\"; read line\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = format!("VISUAL={}", script.display());
    let (mut window, _) = Window::running(&stage, SIZE, "env", &[&editor, QD]);
    showing_x(&mut window);
    window.type_keys("\u{1c}[");
    window.until_shows(" COPY ");
    window.type_keys("\u{18}");
    window.until_shows("EDITING");
    assert!(!window.screen.is_alternate() && !window.pty.is_raw());
    window.type_keys("\r");
    window.until("the deck again", |screen| screen.is_alternate());
    window.until_shows(" COPY ");
    window.type_keys("q");
    window.until_shows(" DECK ");
    window.type_keys("again\r");
    window.until_shows("got:again");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn on_the_wall_keys_go_to_the_chosen_tile_alone_until_the_menu_key() {
    let stage = running();
    stage.run("y", sh("echo there; exec cat"));
    stage.wait_pattern("y", "there");
    let mut window = Window::open(&stage, SIZE, &[]);
    window.until_shows("4  Go to a process");
    window.type_keys("\u{1c}w");
    window.until_shows("WALL 2/2");
    window.until_shows("2 y");
    // In one breath: the tile is attached for typing before the first key goes to it.
    window.type_keys("2\rhello tile\r");
    stage.wait_pattern("y", "hello tile");
    window.until_shows("TYPING");
    window.type_keys("\u{1c}");
    window.until("the wall", |screen| !screen.text(Wraps::Keep).contains("TYPING"));
    window.type_keys("1\rhello x\r");
    stage.wait_pattern("x", "got:hello x");
    window.type_keys("\u{1c}\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert!(!stage.screen("y").contains("hello x"));
}
