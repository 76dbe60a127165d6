//! The deck with tmux as the person's terminal: it is drawn, its keys act, a long copy arrives, and tmux is left as it was.

use super::tmux::Tmux;
use super::{sh, stage};

/// Lines of fifty characters, which fit the pane: 102 KB with their ends.
const LINES: usize = 2_000;

fn line(number: usize) -> String {
    format!("line {number:04} {}", "x".repeat(40))
}

#[test]
fn u20_inside_tmux_the_deck_is_drawn_a_hundred_kilobytes_are_copied_and_tmux_is_left_as_it_was() {
    let stage = stage();
    let pad = "x".repeat(40);
    let script = format!(
        "stty -echo; i=0; while [ $i -lt {LINES} ]; do printf 'line %04d {pad}\\n' $i; i=$((i+1)); done; exec cat"
    );
    stage.run("x", sh(&script));
    stage.wait_pattern("x", &line(LINES - 1));
    let script = "printf '\\033]2;mine\\033\\\\'; echo before; read -r line; \"$0\"; echo after; read -r line; exec cat";
    let tmux = Tmux::start(&stage, script);
    tmux.until_shows("before");
    let before = tmux.state();
    tmux.type_keys(&["Enter"]);
    tmux.until_shows("4  Go to a process");
    tmux.type_keys(&["4"]);
    tmux.until_shows("SWITCH");
    tmux.type_keys(&["x", "Enter"]);
    tmux.until_shows(&line(LINES - 1));
    tmux.until_shows("COMMANDS");
    tmux.type_keys(&["C-\\"]);
    tmux.until_shows("search back");
    tmux.type_keys(&["/"]);
    tmux.until_shows("Search back");
    // The prompt shows what is sought: the whole line is in sight only when it was found.
    tmux.type_keys(&["-l", "line 0000"]);
    tmux.type_keys(&["Enter"]);
    tmux.until_shows(&line(0));
    tmux.type_keys(&["V", "G", "y"]);
    tmux.until_shows("sent to your terminal's clipboard");
    tmux.until_has_buffer();
    let copied = tmux.call(&["show-buffer"]);
    let wanted = (0..LINES).map(line).collect::<Vec<_>>().join("\n");
    assert!(copied.trim_end() == wanted, "{} bytes, from {:?} on", copied.len(), copied.get(..60));
    tmux.type_keys(&["C-\\", "d"]);
    tmux.until_shows("after");
    assert_eq!(tmux.state(), before);
}
