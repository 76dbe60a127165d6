//! The direct view: a program has the whole terminal until the menu key.

use proto::Size;
use term::Wraps;

use super::deck::{SIZE, assert_untouched, showing_x};
use super::window::Window;
use super::{sh, stage};

/// Repeats every line, and says its terminal's size whenever another one has reached it.
const TELLS_ITS_SIZE: &str =
    "stty -echo; echo ready; exec 3<&0; (while sleep 0.05; do s=$(stty size <&3) || exit
    [ \"$s\" = \"$t\" ] || echo \"size:$s\"; t=$s; done) & while read -r l; do echo \"got:$l\"; done";

#[test]
fn u31_the_direct_view_is_the_whole_terminal_and_the_menu_key_alone_comes_back() {
    let stage = stage();
    stage.run("x", sh(TELLS_ITS_SIZE));
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    window.type_keys("\u{1c}Z");
    window.until("no rail", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("ready") && !text.contains("COMMANDS") && !text.contains(" DECK ")
    });
    stage.until_view("x", |view| view.terminal.size == SIZE);
    window.until_shows("size:30 100");
    window.type_keys("hello\r");
    window.until_shows("got:hello");
    window.type_keys("\u{1c}");
    window.until("the deck", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("COMMANDS") && text.contains("─ x ") && text.contains(" DECK ")
    });
    stage.until_view("x", |view| view.terminal.size == Size { cols: 74, rows: 27 });
    window.until_shows("size:27 74");
    window.type_keys("again\r");
    window.until_shows("got:again");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_untouched(&window);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}
