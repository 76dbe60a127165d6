//! The colours of a viewer's terminal: queried at attach, given to children that ask, never typed into one.

use std::time::{Duration, Instant};

use proto::Size;
use rustix::process::Signal;
use term::{ColorTable, Rgb, Scheme};
use testkit::{MarkedDaemon, Tail};

use super::window::Window;
use super::{deck, sh, stage};

/// For each line typed it asks for text, background, palette and scheme, and shows what it reads in caret
/// notation.
const ASKER: &str = "stty raw -echo; exec 3<&0; cat -v <&3 & \
                     trap 'printf \"\\033]11;?\\033\\\\\\\\\\033]4;1;?\\033\\\\\\\\\\033[?996n\\033[5n\"' USR1; printf ready; \
                     while :; do wait; done";

/// Returns a window whose terminal has these colours and is attached to `x` through this command.
fn window(stage: &MarkedDaemon, command: &str, ground: Rgb, scheme: Scheme) -> Window {
    let script = format!("\"$0\" {command}; echo left; read -r line; echo \"shell:$line:\"");
    let (mut window, _) =
        Window::running(stage, Size::DEFAULT, "sh", &["-c", &script, env!("CARGO_BIN_EXE_qd")]);
    wear(&mut window, ground, scheme);
    window.until_shows("ready");
    window
}

/// Gives a window's terminal other colours.
fn wear(window: &mut Window, ground: Rgb, scheme: Scheme) {
    let mut table = ColorTable::default();
    table.set(257, ground);
    table.set(1, Rgb(0xabab, 0, 0));
    window.screen.set_viewer_colors(table, Some(scheme));
}

const DARK: Rgb = Rgb(0x1111, 0x1111, 0x2222);
const LIGHT: Rgb = Rgb(0xffff, 0xfefe, 0xfdfd);

/// A child that asks on demand.
struct Asker<'s> {
    stage: &'s MarkedDaemon,
    tail: Tail,
    /// Output up to here has been examined.
    from: usize,
}

impl<'s> Asker<'s> {
    fn start(stage: &'s MarkedDaemon) -> Self {
        stage.run("x", sh(ASKER));
        let mut asker = Self { stage, tail: Tail::live(stage, "x"), from: 0 };
        asker.next(b"ready");
        asker
    }

    /// Returns what the child printed before `needle`, which it prints next.
    fn next(&mut self, needle: &[u8]) -> String {
        let mut length = self.from + 1;
        loop {
            let printed = &self.tail.until_length(length)[self.from..];
            if let Some(at) = printed.windows(needle.len()).position(|window| window == needle) {
                let before = String::from_utf8_lossy(&printed[..at]).into_owned();
                self.from += at + needle.len();
                return before;
            }
            length = self.from + printed.len() + 1;
        }
    }

    /// Makes the child ask; returns the answers, up to the one that is always given.
    fn ask(&mut self) -> String {
        let pid = rustix::process::Pid::from_raw(self.stage.process("x").pid.unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::USR1).unwrap();
        self.next(b"\x1b[5n");
        self.next(b"^[[0n")
    }

    /// Asks until the child gets this background.
    fn until_answered(&mut self, window: &mut Window, ground: &str) -> String {
        loop {
            window.draw(Instant::now() + Duration::from_millis(5));
            let answered = self.ask();
            if answered.contains(&format!("]11;{ground}")) {
                return answered;
            }
        }
    }

    /// Continues with the next daemon.
    fn listen_again(&mut self) {
        self.tail = Tail::live(self.stage, "x");
    }
}

fn children_hear_the_last_viewers_colours(command: &str) {
    let stage = stage();
    let mut asker = Asker::start(&stage);
    assert_eq!(asker.ask(), "", "no viewer has attached yet");
    let later =
        "stty raw -echo; printf ready; head -c 1 >/dev/null; printf '\\033]11;?\\033\\\\'; exec cat -v";
    stage.run("z", sh(later));
    stage.wait_pattern("z", "ready");
    let mut window = window(&stage, command, DARK, Scheme::Dark);
    let answered = asker.until_answered(&mut window, "rgb:1111/1111/2222");
    assert!(answered.contains("]4;1;rgb:abab/0000/0000") && answered.contains("[?997;1n"), "{answered}");
    // Keys are keys, and nothing else was typed.
    window.type_keys("keys\u{1b}[A!");
    assert_eq!(asker.next(b"!"), "keys^[[A");
    window.type_keys("\u{1c}d");
    window.until_shows("left");
    window.type_keys("line\r");
    window.until_shows("shell:line:");
    assert_eq!(asker.ask(), answered, "the last viewer's colours stay");
    stage.kill_9();
    assert_eq!(stage.process("x").name.to_string(), "x");
    asker.listen_again();
    assert_eq!(asker.ask(), answered, "and survive the daemon");
    // A run without a viewer so far answers with the same, whether it started before the viewer or after.
    stage.type_text("z", "g");
    stage.wait_pattern("z", "rgb:1111/1111/2222");
    stage.run("y", sh("stty raw -echo; printf '\\033]11;?\\033\\\\'; exec cat -v"));
    stage.wait_pattern("y", "rgb:1111/1111/2222");
}

#[test]
fn m10f_children_hear_the_colours_of_the_last_viewers_terminal() {
    children_hear_the_last_viewers_colours("attach x");
}

#[test]
fn m10f_children_hear_the_colours_of_a_terminal_that_its_client_reads() {
    children_hear_the_last_viewers_colours("attach x </dev/tty");
}

/// The terminal becomes light and reports it: the child is told, and gets the new colours when it asks.
fn becomes_light(window: &mut Window, asker: &mut Asker) {
    wear(window, LIGHT, Scheme::Light);
    let told = window.screen.take_replies();
    assert_eq!(told, b"\x1b[?997;2n");
    window.pty.type_keys(&told);
    let answered = asker.until_answered(window, "rgb:ffff/fefe/fdfd");
    assert!(answered.contains("[?997;2n"), "{answered}");
}

#[test]
fn m10f_a_terminal_that_becomes_light_is_asked_again_and_the_child_is_told() {
    for command in ["attach x", "attach x </dev/tty"] {
        let stage = stage();
        let mut asker = Asker::start(&stage);
        let mut window = window(&stage, command, DARK, Scheme::Dark);
        asker.until_answered(&mut window, "rgb:1111/1111/2222");
        // The terminal was asked to report changes, and does.
        assert!(window.screen.modes().color_scheme_updates);
        becomes_light(&mut window, &mut asker);
        window.type_keys("\u{1c}d");
        window.until_shows("left");
        assert!(!window.screen.modes().color_scheme_updates, "{command}");
    }
}

#[test]
fn m10f_a_program_in_a_pane_of_the_deck_gets_the_terminals_colours_and_their_change() {
    let stage = stage();
    let mut asker = Asker::start(&stage);
    let mut window = Window::open(&stage, deck::SIZE, &[]);
    wear(&mut window, DARK, Scheme::Dark);
    deck::showing_x(&mut window);
    let answered = asker.until_answered(&mut window, "rgb:1111/1111/2222");
    assert!(answered.contains("]4;1;rgb:abab/0000/0000") && answered.contains("[?997;1n"), "{answered}");
    becomes_light(&mut window, &mut asker);
    // Keys are keys, and nothing else was typed.
    window.type_keys("keys!");
    assert_eq!(asker.next(b"!"), "keys");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn m10f_a_child_that_wants_to_hear_of_the_scheme_is_told_without_asking() {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; printf '\\033[?2031hready'; exec cat -v"));
    stage.wait_pattern("x", "ready");
    let mut window = window(&stage, "attach x", DARK, Scheme::Dark);
    window.until_shows("^[[?997;1n");
}

#[test]
fn m10f_a_viewer_that_may_not_type_changes_no_colours() {
    let stage = stage();
    let mut asker = Asker::start(&stage);
    let mut window = window(&stage, "attach x --read-only", DARK, Scheme::Dark);
    // Its answers are read before the keys after them, and those before it leaves.
    window.type_keys("\u{1c}d");
    window.until_shows("left");
    assert_eq!(asker.ask(), "");
}

#[test]
fn m10f_answers_that_come_while_leaving_are_no_keys_of_the_shell() {
    for command in ["attach x", "attach x </dev/tty"] {
        let stage = stage();
        stage.run("x", sh("stty raw -echo; printf ready; exec cat -v"));
        stage.wait_pattern("x", "ready");
        let script = format!("\"$0\" {command}; echo left; read -r line; echo \"shell:$line:\"");
        let (mut window, _) =
            Window::running(&stage, Size::DEFAULT, "sh", &["-c", &script, env!("CARGO_BIN_EXE_qd")]);
        wear(&mut window, DARK, Scheme::Dark);
        // The terminal answers only after the person has left.
        window.answers = false;
        window.until_shows("ready");
        window.type_keys("\u{1c}d");
        stage.until_view("x", |view| view.terminal.viewers == 0);
        window.answers = true;
        window.until_shows("left");
        window.type_keys("line\r");
        window.until_shows("shell:");
        assert!(window.text().contains("shell:line:"), "{command}: {}", window.text());
        assert_eq!(stage.screen("x").trim_end(), "ready", "{command}");
    }
}

#[test]
fn m10g_an_answer_that_a_killed_daemon_has_half_read_is_not_typed_into_the_child() {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; printf ready; exec cat -v"));
    stage.wait_pattern("x", "ready");
    let (mut window, _) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", "\"$0\" attach x", env!("CARGO_BIN_EXE_qd")]);
    window.answers = false;
    window.until_shows("ready");
    window.type_keys("before\u{1b}]11;rgb:1111/11");
    // The daemon reads from the terminal in order: it has the half of the answer soon after the keys.
    stage.wait_pattern("x", "before");
    stage.kill_9();
    window.type_keys("11/2222\u{1b}\\\u{1b}[?62c");
    stage.until_view("x", |view| view.terminal.viewers == 1);
    window.type_keys("after");
    stage.wait_pattern("x", "after");
    assert_eq!(stage.screen("x").trim_end(), "readybeforeafter");
}
