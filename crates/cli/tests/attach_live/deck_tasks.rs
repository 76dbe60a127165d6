//! A task in the deck from its beginning to its landing, by keys that are on the screen or in help.

use std::path::{Path, PathBuf};
use std::process::Command;

use proto::AgentState;
use proto::request::Spawn;
use testkit::FakeAgents;
use testkit::process_scan::eventually;

use super::deck::SIZE;
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
fn begin(crew: &FakeAgents, window: &mut Window) -> PathBuf {
    window.until_shows("3  Run a command");
    window.type_keys("\u{1c}C");
    window.until_shows("What should be done?");
    window.type_keys("Fix the greeting");
    window.until_shows("will be made: fix-the-greeting");
    // Back to the last field, the one that starts the agent.
    window.type_keys("\u{1b}[A ");
    window.until_shows("[ ] start the agent now");
    window.type_keys("\u{13}");
    window.until_shows("fix-the-greeting is there");
    let tasks = crew.json(&["tasks"]);
    PathBuf::from(tasks[0]["directory"].as_str().unwrap())
}

#[test]
fn u19_u25_a_task_is_begun_reviewed_with_three_comments_and_landed_in_the_deck() {
    let crew = FakeAgents::start(QD, env!("CARGO_BIN_EXE_qd-agent-test"));
    let repository = repository(&crew);
    let directory = repository.display().to_string();
    let (mut window, _) = Window::running(&crew, SIZE, "env", &["-C", &directory, QD]);
    let worktree = begin(&crew, &mut window);
    let spec = crew.agent_spec("fake", "a", &[]);
    let cwd = Some(worktree.display().to_string());
    crew.spawn_as(Spawn { task: Some("fix-the-greeting".to_owned()), cwd, ..spec });
    crew.until_state("a", AgentState::Idle);
    std::fs::write(worktree.join("greeting"), "hello there\nand welcome\n").unwrap();
    git(&worktree, &["commit", "--quiet", "--all", "--message=greet"]);
    window.type_keys("\u{1c}t");
    window.until_shows("TASKS 1");
    window.until_shows("─ a ");
    window.type_keys("d");
    window.until_shows("REVIEW fix-the-greeting");
    window.until_shows("+     1  hello there");
    // File, change, the removed line, the first added one.
    window.type_keys("jjjc");
    window.until_shows("Comment on greeting:1-1");
    window.type_keys("Say whom you greet.\r");
    window.until_shows("comment on 1 (draft)");
    window.type_keys("jjc");
    window.until_shows("Comment on greeting:2-2");
    window.type_keys("One line is enough.\r");
    window.until_shows("2 comments, 2 unsent");
    // Back over the first comment to the removed line.
    window.type_keys("kkkc");
    window.until_shows("Comment on greeting:1-1");
    window.type_keys("Why was it shorter?\r");
    window.until_shows("3 comments, 3 unsent");
    window.until_shows("sends to: a, as one message");
    window.type_keys("S");
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
    window.type_keys("r");
    window.until_shows("its lines have changed since");
    window.type_keys("q");
    window.until_shows("TASKS 1");
    window.type_keys("s");
    window.until_shows("Stop fix-the-greeting?");
    window.type_keys("y");
    window.until_shows("Nothing works on fix-the-greeting");
    window.type_keys("L");
    window.until_shows("Land fix-the-greeting on main");
    window.type_keys("\r");
    window.until_shows("fix-the-greeting landed on main");
    assert_eq!(git(&repository, &["show", "main:greeting"]), "hello Ada\n");
    window.type_keys("q\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}
