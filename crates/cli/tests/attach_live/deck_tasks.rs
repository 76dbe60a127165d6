//! A task in the deck from its beginning to its landing, by keys that are on the screen or in help.

use std::path::{Path, PathBuf};
use std::process::Command;

use proto::AgentState;
use proto::request::Spawn;
use testkit::FakeAgents;
use testkit::process_scan::eventually;

use super::deck::SIZE;
use super::shown_keys::ShownKeys;
use super::window::Window;

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// Runs git in a directory; it must succeed.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn repository(crew: &FakeAgents) -> PathBuf {
    let repository = crew.root().canonicalize().unwrap().join("acme");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    git(&repository, &["config", "user.name", "t"]);
    git(&repository, &["config", "user.email", "t@example.com"]);
    std::fs::write(repository.join("greeting"), "hello\n").unwrap();
    git(&repository, &["add", "--all"]);
    git(&repository, &["commit", "--quiet", "--message=first"]);
    repository
}

/// Begins the task `fix-the-greeting` by the form, without its agent; returns its directory.
fn begin(crew: &FakeAgents, window: &mut Window, keys: &ShownKeys) -> PathBuf {
    keys.press_in_menu(window, "C", "new task");
    window.until_shows("What should be done?");
    window.type_keys("Fix the greeting");
    window.until_shows("will be made: fix-the-greeting");
    // The last of eight more fields starts the agent.
    for _ in 0..8 {
        keys.press(window, "Tab", "next");
    }
    keys.press(window, "Space", "change");
    window.until_shows("[ ] start the agent now");
    keys.press(window, "Ctrl-S", "create");
    window.until_shows("fix-the-greeting is there");
    let tasks = crew.json(&["tasks"]);
    PathBuf::from(tasks[0]["directory"].as_str().unwrap())
}

/// Comments on the line so many rows up or down (`k` or `j`).
fn comment(window: &mut Window, keys: &ShownKeys, (step, rows): (&str, usize), (place, text): (&str, &str)) {
    for _ in 0..rows {
        keys.press(window, step, if step == "j" { "down" } else { "up" });
    }
    keys.press(window, "c", "comment");
    window.until_shows(&format!("Comment on greeting:{place}"));
    window.type_keys(text);
    keys.press(window, "Enter", "keep it");
}

/// Stops what works on the task, and lands it.
fn stop_and_land(window: &mut Window, keys: &ShownKeys) {
    keys.press(window, "s", "stop");
    window.until_shows("Stop fix-the-greeting?");
    keys.press(window, "y", "yes");
    window.until_shows("Nothing works on fix-the-greeting");
    keys.press(window, "L", "land");
    window.until_shows("Land fix-the-greeting on main");
    keys.press(window, "Enter", "land");
    window.until_shows("fix-the-greeting landed on main");
}

#[test]
fn u19_u25_a_task_is_begun_reviewed_with_three_comments_and_landed_in_the_deck() {
    let crew = FakeAgents::start(QD, env!("CARGO_BIN_EXE_qd-agent-test"));
    let repository = repository(&crew);
    let directory = repository.display().to_string();
    let (mut window, _) = Window::running(&crew, SIZE, "env", &["-C", &directory, QD]);
    let keys = ShownKeys::read(&mut window);
    let worktree = begin(&crew, &mut window, &keys);
    let spec = crew.agent_spec("fake", "a", &[]);
    let cwd = Some(worktree.display().to_string());
    crew.spawn_as(Spawn { task: Some("fix-the-greeting".to_owned()), cwd, ..spec });
    crew.until_state("a", AgentState::Idle);
    std::fs::write(worktree.join("greeting"), "hello there\nand welcome\n").unwrap();
    git(&worktree, &["commit", "--quiet", "--all", "--message=greet"]);
    keys.press_in_menu(&mut window, "t", "tasks");
    window.until_shows("TASKS 1");
    window.until_shows("─ a ");
    keys.press(&mut window, "d", "review");
    window.until_shows("REVIEW fix-the-greeting");
    window.until_shows("+     1  hello there");
    // File, change, the removed line, the first added one.
    comment(&mut window, &keys, ("j", 3), ("1", "Say whom you greet."));
    window.until_shows("comment on 1 (draft)");
    comment(&mut window, &keys, ("j", 2), ("2", "One line is enough."));
    window.until_shows("2 comments, 2 unsent");
    // Back over the first comment to the removed line.
    comment(&mut window, &keys, ("k", 3), ("1", "Why was it shorter?"));
    window.until_shows("3 comments, 3 unsent");
    window.until_shows("sends to: a, as one message");
    keys.press(&mut window, "S", "send 3");
    window.until_shows("sent to the agent as message");
    window.until_shows("3 comments, 0 unsent");
    let prompts = eventually("the agent has the message", || {
        Some(crew.prompts("a")).filter(|prompts| !prompts.is_empty())
    });
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    for quoted in
        ["hello there", "Say whom you greet.", "and welcome", "One line is enough.", "Why was it shorter?"]
    {
        assert!(prompts[0].contains(quoted), "{quoted}: {prompts:?}");
    }
    // The commented line changes: the comment is kept and marked.
    std::fs::write(worktree.join("greeting"), "hello Ada\n").unwrap();
    git(&worktree, &["commit", "--quiet", "--all", "--message=one line"]);
    keys.press(&mut window, "r", "read the changes again");
    window.until_shows("its lines have changed since");
    keys.press(&mut window, "q", "back");
    window.until_shows("TASKS 1");
    stop_and_land(&mut window, &keys);
    assert_eq!(git(&repository, &["show", "main:greeting"]), "hello Ada\n");
    keys.press(&mut window, "q", "back");
    keys.press_in_menu(&mut window, "d", "leave");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u25_a_key_that_is_neither_on_the_screen_nor_in_help_is_known_to_nobody() {
    let crew = FakeAgents::start(QD, env!("CARGO_BIN_EXE_qd-agent-test"));
    let mut window = Window::open(&crew, SIZE, &[]);
    let keys = ShownKeys::read(&mut window);
    window.until_shows("3  Run a command");
    assert!(keys.is_known(&window.screen, "3", "Run a command"), "it is on the screen");
    for (key, does) in [("3", "open a shell"), ("t", "tasks"), ("L", "land"), ("Ctrl-S", "create")] {
        assert!(!keys.is_known(&window.screen, key, does), "{key} does `{does}` elsewhere only");
    }
    keys.press_in_menu(&mut window, "t", "tasks");
    window.until_shows("TASKS 0");
    assert!(keys.is_known(&window.screen, "u", "bring a dropped task back"), "it is in the list alone");
    assert!(!keys.is_known(&window.screen, "t", "tasks"), "that is a key of the menu");
    keys.press(&mut window, "q", "back");
    keys.press_in_menu(&mut window, "d", "leave");
    assert_eq!(window.wait_exit().code(), Some(0));
}
