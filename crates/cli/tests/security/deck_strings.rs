//! The deck among strings that others choose: every view is opened while each of them is hostile, and what was written to
//! the terminal is examined.

use std::path::{Path, PathBuf};
use std::process::Command;

use proto::Size;
use term::{Screen, Wraps};

use crate::QD;
use crate::strings::{HOSTILE, Stained};
use crate::window::Window;

/// What a repository may call a branch: git refuses controls of seven bits alone.
const BRANCH: &str = "evil\u{9b}2J\u{202e}branch";

/// Runs a program in a directory; it must succeed.
fn run(stained: &Stained, directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .envs(stained.crew.variables())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with a hostile branch, and a task with a hostile file, content and commit.
fn stain_a_repository(stained: &Stained) {
    let project = &stained.project;
    let git = |directory: &Path, arguments: &[&str]| {
        let own = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
        run(stained, directory, "git", &[&own[..], arguments].concat())
    };
    git(project, &["init", "--quiet", &format!("--initial-branch={BRANCH}")]);
    std::fs::write(project.join("plain"), "plain\n").unwrap();
    let words: String = HOSTILE.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect();
    let init = format!("include = [\"{words}\"]\ncommands = [\"true # {words}\"]\n");
    std::fs::write(project.join(".worktree-init.toml"), init).unwrap();
    git(project, &["add", "plain"]);
    git(project, &["commit", "--quiet", "-m", HOSTILE]);
    run(stained, project, QD, &["new", "sneaky", "--worktree"]);
    let tasks: serde_json::Value =
        serde_json::from_str(&run(stained, project, QD, &["--json", "tasks"])).unwrap();
    let tree = PathBuf::from(tasks[0]["directory"].as_str().unwrap());
    std::fs::write(tree.join("evil\x1b[2J\u{9b}2J\u{202e}.rs"), format!("{HOSTILE}\n")).unwrap();
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "-m", HOSTILE]);
}

/// The word for where keys go: the first one of the last line.
fn place_of_keys(screen: &Screen) -> String {
    let text = screen.text(Wraps::Keep);
    text.lines().last().and_then(|line| line.split_whitespace().next()).unwrap_or_default().to_owned()
}

/// Goes back to the deck from whatever is open.
fn back(window: &mut Window) {
    while place_of_keys(&window.screen) != "DECK" {
        let before = place_of_keys(&window.screen);
        window.type_keys("\u{1b}");
        // Keys go somewhere else once the key has acted: what is typed next is not read as one key with it.
        window.until("one step back", |screen| !screen.is_synchronizing() && place_of_keys(screen) != before);
    }
}

/// Views by what is typed from the deck on, each with words that show that it is there.
const VIEWS: &[(&str, &[(&str, &str)])] = &[
    ("palette", &[("\u{1c} ", "PALETTE"), ("evil", "evil")]),
    ("presets", &[("\u{1c}c", "PALETTE"), ("stained", "stained")]),
    ("inbox", &[("\u{1c}a", "Inbox ("), ("j", "evil"), ("j", "evil"), ("j", "evil"), ("e", "evil")]),
    ("tasks", &[("\u{1c}t", "TASKS 1"), ("f", "sneaky"), ("r", "sneaky")]),
    (
        "review",
        &[("\u{1c}t", "TASKS 1"), ("d", "REVIEW sneaky"), ("G", "+     1  evil"), ("c", "Comment on")],
    ),
    ("land", &[("\u{1c}t", "TASKS 1"), ("L", "Land sneaky on evil")]),
    ("drop", &[("\u{1c}t", "TASKS 1"), ("x", "Drop sneaky?")]),
    ("new task", &[("\u{1c}C", "What should be done?"), ("Sneak", "Then ")]),
    ("wall", &[("\u{1c}w", " WALL ")]),
    ("rail", &[("\u{1c}\t", " RAIL "), (".", " MENU ")]),
    ("viewers", &[("\u{1c}\t", " RAIL "), ("V", "PALETTE")]),
    ("runs", &[("\u{1c}\t", " RAIL "), ("H", "PALETTE")]),
    ("pad", &[("\u{1c}p", " RAIL "), ("\r", " READ ")]),
    ("timer", &[("\u{1c}p", " RAIL "), ("j", " RAIL "), ("\r", " READ ")]),
    ("explain", &[("\u{1c}e", "READ")]),
    ("messages", &[("\u{1c} ", "PALETTE"), ("messages with", "receipts"), ("\r", "THE NEWEST FIRST")]),
    ("end", &[("\u{1c}X", "ASK")]),
    ("history", &[("\u{1c}[", " COPY ")]),
    ("settings", &[("\u{1c},", "SETTINGS")]),
];

#[test]
fn c7_u21_what_others_chose_reaches_the_terminal_of_the_deck_harmless_in_every_view() {
    let stained = Stained::new();
    stain_a_repository(&stained);
    let project = stained.project.to_str().unwrap();
    let size = Size { cols: 200, rows: 50 };
    let (mut window, _) = Window::running(&stained.crew, size, "env", &["-C", project, QD]);
    window.until_shows("NEEDS YOU");
    // A notice for a terminal that is not looked at carries the words of the question.
    window.type_keys("\u{1b}[O");
    stained.crew.submit("talker", &format!("ask {HOSTILE}"));
    window.until_drawn(b"\x1b]9;qd: talker needs you: evil");
    window.type_keys("\u{1b}[I\u{1c}g");
    window.until_shows("Go to");
    window.type_keys("stained\r");
    window.until_shows("─ stained ");
    for (view, steps) in VIEWS {
        for (keys, shows) in *steps {
            window.type_keys(keys);
            window.until(&format!("{view}: `{shows}`"), |screen| {
                !screen.is_synchronizing() && screen.text(Wraps::Keep).contains(shows)
            });
        }
        back(&mut window);
    }
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_harmless(&window.drawn);
}

/// Of the strings, letters may have been written; what begins a sequence or turns the reading order may not. What shows
/// nothing may be on the screen of a program, which the deck shows as it is.
fn assert_harmless(written: &[u8]) {
    let text = String::from_utf8_lossy(written);
    let near =
        |at: usize| text[..at].chars().rev().take(80).collect::<Vec<_>>().iter().rev().collect::<String>();
    for hostile in ["\u{1b}]0;", "\u{9b}", "\u{202e}", "\u{2066}", "\u{7}"] {
        let found = text.find(hostile);
        assert!(found.is_none(), "{hostile:?} after {:?}", near(found.unwrap_or_default()));
    }
    // The deck clears the screen only before a first picture, from its corner.
    let strange = text.match_indices("\u{1b}[2J").find(|(at, _)| !text[..*at].ends_with("\u{1b}[H"));
    assert!(strange.is_none(), "a screen was cleared after {:?}", near(strange.map_or(0, |(at, _)| at)));
}
