//! A hundred kilobytes from the lines of a process to the clipboards that a person has.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64_STANDARD;
use testkit::MarkedDaemon;
use testkit::process_scan::eventually;

use super::deck::SIZE;
use super::deck_facts::{leave, open};
use super::window::Window;
use super::{sh, stage};

/// Lines of fifty characters with their ends: 101 KB.
const LINES: usize = 2_020;

fn line(number: usize) -> String {
    format!("line {number:04} {}", "x".repeat(39))
}

/// A daemon with these settings of the deck, and with a process that has printed this many lines.
fn printed(settings: &str, lines: usize) -> MarkedDaemon {
    let stage = stage();
    std::fs::write(stage.dirs().config.join("tui.toml"), settings).unwrap();
    let pad = "x".repeat(39);
    let script = format!(
        "stty -echo; i=0; while [ $i -lt {lines} ]; do printf 'line %04d {pad}\\n' $i; i=$((i+1)); done; exec cat"
    );
    stage.run("x", sh(&script));
    stage.wait_pattern("x", &line(lines - 1));
    stage
}

/// Opens the deck and copies all lines of the process.
fn copy_all(stage: &MarkedDaemon, lines: usize) -> Window {
    let mut window = Window::open(stage, SIZE, &[]);
    open(&mut window, "x");
    window.until_shows(&line(lines - 1));
    window.type_keys("\u{1c}/");
    window.until_shows("Search back");
    window.type_keys("line 0000\r");
    // The prompt shows what is sought: the whole line is in sight only when it was found.
    window.until_shows(&line(0));
    window.type_keys("VGy");
    window
}

fn all(lines: usize) -> String {
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn u20_a_hundred_kilobytes_go_to_the_terminal_in_one_sequence() {
    let stage = printed("", LINES);
    let mut window = copy_all(&stage, LINES);
    window.until_shows("sent to your terminal's clipboard");
    let text = all(LINES);
    assert!(text.len() > 100_000, "{}", text.len());
    window.until_drawn(format!("\u{1b}]52;c;{}\u{7}", BASE64_STANDARD.encode(&text)).as_bytes());
    leave(window);
}

#[test]
fn u20_a_hundred_kilobytes_go_to_the_persons_command_and_nowhere_else() {
    let stage = printed("", LINES);
    let file = stage.root().join("copied");
    let command = format!(
        "clipboard = 'off'\nclipboard-command = ['sh', '-c', 'cat > {0}.part; mv {0}.part {0}']\n",
        file.display()
    );
    std::fs::write(stage.dirs().config.join("tui.toml"), command).unwrap();
    let mut window = copy_all(&stage, LINES);
    window.until_shows("bytes sent to sh, and kept here");
    let copied = eventually("the copy", || std::fs::read_to_string(&file).ok());
    assert!(copied == all(LINES), "{} bytes", copied.len());
    assert!(!window.has_drawn(b"\x1b]52;"));
    leave(window);
}

#[test]
fn u20_a_copy_that_goes_nowhere_says_that_only_the_deck_has_it() {
    let stage = printed("clipboard = 'off'\n", LINES);
    let mut window = copy_all(&stage, LINES);
    window.until_shows("bytes kept here only: the clipboard is switched off");
    assert!(!window.has_drawn(b"\x1b]52;"));
    leave(window);
    // More than terminals take.
    let stage = printed("", LINES + 40);
    let mut window = copy_all(&stage, LINES + 40);
    window.until_shows("kept here only: too long");
    assert!(!window.has_drawn(b"\x1b]52;"));
    leave(window);
}
