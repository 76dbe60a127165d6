//! Settings of `config.toml` as they work, not only as they are read: history, detach keys, the clipboard; and the picker.

use std::os::unix::fs::DirBuilderExt;

use testkit::{DEADLINE, MarkedDaemon, TestDaemon, child};

use crate::{on_terminal, sh, stage};

/// Returns a daemon with this configuration.
fn configured(text: &str) -> MarkedDaemon {
    let daemon = TestDaemon::without_start(env!("CARGO_BIN_EXE_qd"));
    let config = daemon.dirs().config;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&config).unwrap();
    std::fs::write(config.join("config.toml"), text).unwrap();
    MarkedDaemon::around(daemon)
}

#[test]
fn m15_a_screen_keeps_as_many_lines_of_history_as_the_setting_says() {
    let kept = |stage: &MarkedDaemon| {
        stage.run("x", sh("seq -f 'line %.0f' 2000; echo printed; exec sleep 1000000"));
        stage.wait_pattern("x", "printed");
        let history = stage.qd(&["read", "x", "--mode", "history"]).stdout;
        String::from_utf8(history).unwrap().lines().filter(|line| line.starts_with("line ")).count()
    };
    let (few, all) = (kept(&configured("history = 500\n")), kept(&stage()));
    // What is still on the screen may count, too.
    assert!((500..=524).contains(&few), "{few}");
    assert!(all > 1_900, "{all}");
}

#[test]
fn m15_detach_keys_and_clipboard_of_the_settings_count_on_a_terminal() {
    let stage = configured("[attach]\ndetach_keys = 'ctrl-q'\nclipboard = true\n");
    let copy = "read line; printf '\\033]52;c;aGVsbG8=\\007'; echo copied; exec sleep 1000000";
    stage.run("x", sh(copy));
    let mut terminal = on_terminal(&stage, &["attach", "x"]);
    stage.until_view("x", |view| view.terminal.viewers == 1);
    terminal.type_keys(b"\r");
    terminal.expect(b"]52;c;aGVsbG8=");
    terminal.expect(b"copied");
    terminal.type_keys(b"\x11");
    assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(0));
    stage.until_view("x", |view| view.terminal.viewers == 0);
}

#[test]
fn m15_attach_without_a_name_asks_on_the_terminal_which_of_several_is_meant() {
    let stage = stage();
    for name in ["first", "second"] {
        stage.run(name, child::repeat_lines());
        stage.wait_pattern(name, "ready");
    }
    for (answer, name) in [("2\r", "second"), ("fi\r", "first")] {
        let mut terminal = on_terminal(&stage, &["attach"]);
        terminal.expect(b"which one?");
        terminal.type_keys(answer.as_bytes());
        stage.until_view(name, |view| view.terminal.viewers == 1);
        terminal.type_keys(b"\x1cd");
        assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(0));
    }
    let mut terminal = on_terminal(&stage, &["attach"]);
    terminal.expect(b"which one?");
    terminal.type_keys(b"third\r");
    terminal.expect(b"is none of them");
    assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(2));
}
