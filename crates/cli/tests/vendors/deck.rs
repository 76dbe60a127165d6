//! The deck with the real programs: Shift-Enter makes a new line in each of them, and one that asks is answered from
//! the deck's inbox.

use std::time::Duration;

use proto::{AgentState, Size};
use term::{Screen, Wraps};
use testkit::vendor::Vendor;

use crate::QD;
use crate::vendor_stage::{FakeAgents, TIMEOUT, shell_script};
use crate::window::Window;

const SIZE: Size = Size { cols: 140, rows: 44 };
/// Shift-Enter as a terminal with the kitty protocol writes it.
const SHIFT_ENTER: &str = "\u{1b}[13;2u";

/// A deck that shows the program, in a terminal that answers questions about itself or does not.
fn deck(crew: &FakeAgents, answers: bool) -> Window {
    crew.wait_state(&[AgentState::Idle]);
    let (mut window, _) = Window::running(&crew.daemon, SIZE, QD, &[]);
    window.answers = answers;
    window.until_shows("4  Go to a process");
    window.type_keys("4");
    window.until_shows("SWITCH");
    window.type_keys("fix\r");
    window.until("its pane", |screen| screen.text(Wraps::Keep).contains("─ fix "));
    window
}

fn row_of(screen: &Screen, text: &str) -> Option<usize> {
    screen.text(Wraps::Keep).lines().position(|line| line.contains(text))
}

/// Types two lines with `new_line` between them: they stand in two rows of the composer, and nothing was sent.
fn makes_a_new_line(vendor: Vendor, new_line: &str, answers: bool) {
    let crew = FakeAgents::seeded(vendor);
    let mut window = deck(&crew, answers);
    window.type_keys("first-line");
    window.until_shows("first-line");
    window.type_keys(new_line);
    window.type_keys("second-line");
    window.until("two rows", |screen| {
        row_of(screen, "first-line").is_some_and(|row| row_of(screen, "second-line") == Some(row + 1))
    });
    assert_eq!(crew.server.submissions("first-line"), 0, "nothing was sent");
    // A program may draw a text a moment before its Enter submits that text. One more letter proves that the program
    // has moved on since it drew the second line.
    window.type_keys("+");
    window.until_shows("second-line+");
    window.type_keys("\r");
    crew.server.wait_request(|request| request.prompt.contains("second-line"), TIMEOUT);
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

/// It asks for permission to run a command; the answer is given by a number on the screen.
fn is_answered_from_the_deck(vendor: Vendor) {
    let crew = FakeAgents::seeded(vendor);
    let mut window = deck(&crew, true);
    let script = shell_script(vendor, "touch made-by-agent", "after-leave");
    crew.tell_within(&script, Duration::from_secs(1));
    window.until_shows("NEEDS YOU");
    window.type_keys("\u{1c}a");
    window.until_shows("Inbox (1)");
    // The question comes first; its answers are there once its dialog is on the screen.
    window.until_shows("   1  ");
    window.type_keys("1");
    window.until_shows("Inbox (0)");
    crew.wait_turn(1);
    assert!(crew.home.workdir().join("made-by-agent").exists(), "it was allowed");
    window.type_keys("q\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u10_shift_enter_and_ctrl_j_make_a_new_line_in_claude() {
    makes_a_new_line(Vendor::Claude, SHIFT_ENTER, true);
    makes_a_new_line(Vendor::Claude, "\n", false);
}

#[test]
fn u10_shift_enter_and_ctrl_j_make_a_new_line_in_codex() {
    makes_a_new_line(Vendor::Codex, SHIFT_ENTER, true);
    makes_a_new_line(Vendor::Codex, "\n", false);
}

#[test]
fn u10_shift_enter_and_ctrl_j_make_a_new_line_in_gemini() {
    makes_a_new_line(Vendor::Gemini, SHIFT_ENTER, true);
    makes_a_new_line(Vendor::Gemini, "\n", false);
}

#[test]
fn u10_shift_enter_and_ctrl_j_make_a_new_line_in_opencode() {
    makes_a_new_line(Vendor::Opencode, SHIFT_ENTER, true);
    makes_a_new_line(Vendor::Opencode, "\n", false);
}

#[test]
fn u25_claude_is_answered_from_the_deck() {
    is_answered_from_the_deck(Vendor::Claude);
}

#[test]
fn u25_opencode_is_answered_from_the_deck() {
    is_answered_from_the_deck(Vendor::Opencode);
}
