//! The deck among strings that others choose: what is written to the person's terminal for a title, a question, a branch and a
//! directory that are hostile.

use std::path::Path;
use std::process::Command;

use proto::{AgentState, Size};
use term::Wraps;
use testkit::FakeAgents;

use super::sh;
use super::window::Window;

const QD: &str = env!("CARGO_BIN_EXE_qd");
/// A title, an erased screen, one control of eight bits, marks that turn the reading order, and invisible marks.
const HOSTILE: &str = "evil\x1b]0;x\x07\x1b[2J\u{9b}2J\u{202e}live\u{2066}\u{200b}\u{feff}.";
/// What a repository may call a branch: git refuses controls of seven bits alone.
const BRANCH: &str = "evil\u{9b}2J\u{202e}branch";
/// The views by their keys, with the word for where keys go there and what each shows of the strings.
const VIEWS: [(&str, &str, &str); 3] =
    [("\u{1c} ", "PALETTE", "SWITCH"), ("\u{1c}a", "INBOX", "evil"), ("\u{1c}t", "TASKS", "sneaky")];

/// Runs a program in a directory; it must succeed.
fn run(crew: &FakeAgents, directory: &Path, program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(directory).envs(crew.variables()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A task in a repository whose directory and branch are hostile.
fn stain_a_repository(crew: &FakeAgents, project: &Path) {
    std::fs::create_dir(project).unwrap();
    let git = |arguments: &[&str]| {
        let own = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
        run(crew, project, "git", &[&own[..], arguments].concat());
    };
    git(&["init", "--quiet", &format!("--initial-branch={BRANCH}")]);
    git(&["commit", "--quiet", "--allow-empty", "-m", HOSTILE]);
    run(crew, project, QD, &["new", "sneaky", "--worktree"]);
}

/// Waits until this is the word for where keys go, and this text is shown, in a picture that is whole.
fn until_place(window: &mut Window, place: &str, shows: &str) {
    window.until(&format!("{place} with {shows}"), |screen| {
        let text = screen.text(Wraps::Keep);
        let word = text.trim_end().lines().last().and_then(|line| line.split_whitespace().next());
        !screen.is_synchronizing() && word == Some(place) && text.contains(shows)
    });
}

#[test]
fn u21_what_others_chose_reaches_the_terminal_of_the_deck_harmless() {
    let crew = FakeAgents::start(QD, env!("CARGO_BIN_EXE_qd-agent-test"));
    let project = crew.root().canonicalize().unwrap().join("evil\x1b[2J\u{9b}2J\u{202e}");
    stain_a_repository(&crew, &project);
    crew.enlist("talker", &[]);
    crew.run("titled", sh("printf '\\033]2;evil\\302\\2332J\\342\\200\\256title\\007ready'; exec cat"));
    crew.wait_pattern("titled", "ready");
    let size = Size { cols: 160, rows: 40 };
    let (mut window, _) = Window::running(&crew, size, "env", &["-C", project.to_str().unwrap(), QD]);
    until_place(&mut window, "DECK", "titled");
    // A notice for a terminal that is not looked at carries the words of the question.
    window.type_keys("\u{1b}[O");
    crew.submit("talker", &format!("ask {HOSTILE}"));
    crew.until_state("talker", AgentState::Blocked);
    window.until_drawn(b"\x1b]9;qd: talker needs you: evil");
    window.type_keys("\u{1b}[I\u{1c}gtitled\r");
    until_place(&mut window, "DECK", "─ titled");
    for (keys, place, shows) in VIEWS {
        window.type_keys(keys);
        until_place(&mut window, place, shows);
        window.type_keys("\u{1b}");
        until_place(&mut window, "DECK", "─ titled");
    }
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_harmless(&window.drawn);
}

/// Of the strings, letters may have been written; what begins a sequence or turns the reading order may not.
fn assert_harmless(written: &[u8]) {
    let text = String::from_utf8_lossy(written);
    for hostile in ["\u{1b}]0;", "\u{9b}", "\u{202e}", "\u{2066}", "\u{7}"] {
        let found = text.find(hostile).map(|at| text[..at].chars().rev().take(80).collect::<String>());
        assert!(found.is_none(), "{hostile:?}, and backwards before it {found:?}");
    }
    // The deck clears the screen only before a first picture, from its corner.
    let strange = text.match_indices("\u{1b}[2J").find(|(at, _)| !text[..*at].ends_with("\u{1b}[H"));
    assert_eq!(strange, None);
}
