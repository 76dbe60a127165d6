//! The disk is full, or another program has the database locked: what cannot be saved is refused and not
//! done, processes continue, and an end reports that it is not saved.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use proto::{AgentState, Status};
use serde_json::Value;
use testkit::disk::SmallDisk;
use testkit::process_scan::eventually;
use testkit::{FakeAgents, child};

use crate::crew;

const PRESETS: &str = "[preset.build]\nargv = [\"true\"]\n";

/// Holds the database until its input ends.
const LOCKER: &str = "import sqlite3, sys\n\
    c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n\
    c.execute('BEGIN EXCLUSIVE')\n\
    print('locked', flush=True)\n\
    sys.stdin.readline()\n";

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// An agent, two commands, a grant that was given before, and a project with a preset.
fn prepare(crew: &FakeAgents) {
    crew.enlist("agent", &[]);
    crew.run("one", child::repeat_lines());
    crew.run("two", child::run_for_ever());
    crew.wait_pattern("one", "ready");
    std::fs::write(crew.root().join(".quarterdeck.toml"), PRESETS).expect("a file can be written");
    done(crew, &["grant", "one", "read", "two"]);
}

fn done(crew: &FakeAgents, words: &[&str]) {
    let output = crew.qd(words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
}

/// Returns what is kept for people and agents: grants, timers, trust, names.
fn kept(crew: &FakeAgents) -> [Value; 3] {
    let project = crew.root().display().to_string();
    let trusted = crew.json(&["trust", "--project", &project, "list"]);
    [crew.json(&["grants"]), crew.json(&["timers"]), trusted]
}

/// Everything that would have to be saved fails with this code and has no effect.
fn refuses_what_it_cannot_save(crew: &FakeAgents, code: &str) {
    let before = kept(crew);
    let project = crew.root().display().to_string();
    let refused: [&[&str]; 6] = [
        &["grant", "two", "drive", "one"],
        &["revoke", "1"],
        &["tell", "agent", "never to be seen"],
        &["timers", "set", "--for", "agent", "--after", "0.1", "never to be seen"],
        &["trust", "--project", &project, "preset", "build"],
        &["rename", "one", "uno"],
    ];
    for words in refused {
        let output = crew.command(&["--json"]).args(words).output().expect("qd starts");
        assert!(!output.status.success(), "{words:?} was acknowledged: {}", said(&output));
        let told = said(&output);
        assert!(told.contains(&format!("\"{code}\"")), "{words:?}: {told}");
        assert!(told.contains("nothing was changed"), "{words:?}: {told}");
    }
    assert_eq!(kept(crew), before);
    assert_eq!(crew.process("one").status, Status::Running);
    let status = crew.qd(&["status"]);
    assert!(said(&status).contains("not being saved"), "{}", said(&status));
    assert!(crew.qd(&["send", "one", "still here"]).status.success());
    crew.wait_pattern("one", "got:still here");
}

/// A process ends in any case, and the error states that it is not saved.
fn ends_and_says_that_it_is_not_saved(crew: &FakeAgents) {
    let closed = crew.qd(&["close", "two"]);
    assert!(!closed.status.success(), "{}", said(&closed));
    assert!(said(&closed).contains("has ended, but this is not saved"), "{}", said(&closed));
    assert!(crew.list().iter().all(|process| process.name.as_str() != "two"));
}

/// When saving works again, the backlog is written by itself, nothing that was refused happens later, and new
/// requests are done and known to the next daemon.
fn goes_on_when_it_can_save_again(crew: &FakeAgents) {
    eventually("the warning goes by itself", || {
        crew.client().status().ok()?.warnings.is_empty().then_some(())
    });
    done(crew, &["grant", "agent", "read", "one"]);
    let granted = crew.json(&["grants"]);
    crew.kill_9();
    assert_eq!(crew.json(&["grants"]), granted, "an acknowledged grant is there");
    assert!(crew.list().iter().all(|process| process.name.as_str() != "two"), "what was closed stays closed");
    crew.until_state("agent", AgentState::Idle);
    assert_eq!(crew.prompts("agent"), [""; 0], "a refused message or timer came after all");
    let delivered = crew.submit("agent", "now");
    assert!(delivered > 0);
    assert_eq!(crew.prompts("agent"), ["now"]);
    done(crew, &["shutdown", "--kill"]);
}

#[test]
fn m7b_on_a_full_disk_what_cannot_be_saved_is_refused_and_ends_say_that_they_are_not_saved() {
    let crew = crew();
    let Some(disk) = SmallDisk::mount(crew.dirs().data) else {
        println!("no disk of its own without the right to mount one");
        return;
    };
    prepare(&crew);
    disk.fill();
    refuses_what_it_cannot_save(&crew, "no_space");
    ends_and_says_that_it_is_not_saved(&crew);
    disk.free();
    goes_on_when_it_can_save_again(&crew);
}

/// Another program that has the database locked; dropping it unlocks.
struct Locker(Child);

impl Locker {
    fn lock(crew: &FakeAgents) -> Self {
        let database = crew.dirs().data.join("state.db");
        let mut locker = Command::new("python3")
            .args(["-c", LOCKER])
            .arg(database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let mut line = String::new();
        let output = locker.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("it says when it is ready");
        assert_eq!(line.trim(), "locked");
        Self(locker)
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("it ends with its input");
    }
}

#[test]
fn m7b_while_another_program_holds_the_database_what_cannot_be_saved_is_refused() {
    let crew = crew();
    prepare(&crew);
    let locker = Locker::lock(&crew);
    refuses_what_it_cannot_save(&crew, "busy");
    ends_and_says_that_it_is_not_saved(&crew);
    drop(locker);
    goes_on_when_it_can_save_again(&crew);
}

/// Prompts of the agent that carry this text.
fn prompts_with(crew: &FakeAgents, text: &str) -> usize {
    crew.prompts("agent").iter().filter(|prompt| prompt.contains(text)).count()
}

#[test]
fn m7e_a_timer_that_is_due_while_nothing_can_be_saved_waits_and_comes_once() {
    let crew = crew();
    prepare(&crew);
    crew.until_state("agent", AgentState::Idle);
    done(&crew, &["timers", "set", "--for", "agent", "--after", "2", "look again"]);
    let locker = Locker::lock(&crew);
    eventually("status says that it waits", || {
        let warnings = crew.client().status().ok()?.warnings;
        warnings.iter().any(|warning| warning.contains("waits until state can be saved")).then_some(())
    });
    assert_eq!(prompts_with(&crew, "look again"), 0, "it is delivered although it is not saved");
    drop(locker);
    eventually("it comes", || (prompts_with(&crew, "look again") == 1).then_some(()));
    crew.until_state("agent", AgentState::Idle);
    assert!(crew.client().status().unwrap().warnings.is_empty());
    crew.kill_9();
    crew.until_state("agent", AgentState::Idle);
    assert_eq!(prompts_with(&crew, "look again"), 1);
}

#[test]
fn m7e_a_restart_that_cannot_be_saved_says_so_and_is_done() {
    let crew = crew();
    prepare(&crew);
    let before = crew.process("two").pid;
    let locker = Locker::lock(&crew);
    let restarted = crew.qd(&["restart", "two"]);
    assert!(!restarted.status.success(), "{}", said(&restarted));
    assert!(said(&restarted).contains("it was started again, but this is not saved"), "{}", said(&restarted));
    let after = crew.process("two");
    assert!(after.status == Status::Running && after.pid != before, "{after:?}");
    drop(locker);
    eventually("it is saved by itself", || crew.client().status().ok()?.warnings.is_empty().then_some(()));
    crew.kill_9();
    assert_eq!(crew.process("two").pid, after.pid);
}
