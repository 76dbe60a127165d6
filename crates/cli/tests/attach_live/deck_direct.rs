//! The direct view: a program has the whole terminal until the menu key.

use proto::Size;
use term::Wraps;

use super::deck::{SIZE, assert_untouched, showing_x};
use super::window::Window;
use super::{sh, stage};

#[test]
fn u31_the_direct_view_is_the_whole_terminal_and_the_menu_key_alone_comes_back() {
    let stage = stage();
    stage.run("x", sh("stty -echo; echo ready; while read -r l; do echo \"got:$l\"; stty size; done"));
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    window.type_keys("\u{1c}Z");
    window.until("no rail", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("ready") && !text.contains("COMMANDS") && !text.contains(" DECK ")
    });
    // Nothing is typed before it has the size of the whole terminal.
    stage.until_view("x", |view| view.terminal.size == SIZE);
    window.type_keys("hello\r");
    window.until_shows("got:hello");
    window.until_shows("30 100");
    window.type_keys("\u{1c}");
    window.until("the deck", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("COMMANDS") && text.contains("─ x ") && text.contains(" DECK ")
    });
    stage.until_view("x", |view| view.terminal.size == Size { cols: 74, rows: 27 });
    window.type_keys("again\r");
    window.until_shows("got:again");
    window.until_shows("27 74");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_untouched(&window);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}
