//! Tasks whose agent is the fake program: what it hears of a failing gate, and which session goes on.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

use proto::request::Until;
use proto::{AgentState, Size};
use serde_json::Value;
use testkit::process_scan::eventually;
use testkit::{DEADLINE, FakeAgents, Pty};

use crate::stage::{QD, git};

const AGENT: &str = env!("CARGO_BIN_EXE_qd-agent-test");

/// A daemon with fake agents, and a repository with one task that has a commit to land.
struct LandingAgents {
    agents: FakeAgents,
    repository: PathBuf,
    directory: PathBuf,
}

impl LandingAgents {
    fn new() -> Self {
        let agents = FakeAgents::start(QD, AGENT);
        let repository = agents.root().canonicalize().unwrap().join("app");
        std::fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in [("user.name", "t"), ("user.email", "t@example.com")] {
            git(&repository, &["config", name, value]);
        }
        git(&repository, &["commit", "--quiet", "--allow-empty", "--message=first"]);
        let mut crew = Self { agents, repository, directory: PathBuf::new() };
        crew.qd(&["new", "fix", "--worktree", "--agent", "fake"]);
        crew.directory = PathBuf::from(crew.task()["directory"].as_str().unwrap());
        std::fs::write(crew.directory.join("new"), "x\n").unwrap();
        git(&crew.directory, &["add", "--all"]);
        git(&crew.directory, &["commit", "--quiet", "--message=work"]);
        crew
    }

    fn run(&self, words: &[&str]) -> Output {
        self.agents.command(words).current_dir(&self.repository).output().unwrap()
    }

    fn qd(&self, words: &[&str]) -> String {
        let output = self.run(words);
        if !output.status.success() {
            self.agents.fail(&format!("qd {words:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a verb that must fail; returns what it said.
    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(!output.status.success(), "qd {words:?} succeeded");
        String::from_utf8(output.stderr).unwrap()
    }

    fn task(&self) -> Value {
        let tasks: Value = serde_json::from_str(&self.qd(&["--json", "tasks"])).unwrap();
        tasks[0].clone()
    }

    /// Starts the task's agent with a prompt and waits for the end of its turn; returns its session.
    fn turn(&self, prompt: &str, words: &[&str]) -> String {
        let run = [&["run", "fix", "--detach", "--prompt", prompt], words].concat();
        self.qd(&run);
        self.agents.wait_until("fix", Until::Turn(1));
        let runs = self.task()["runs"].as_array().unwrap().clone();
        runs.last().unwrap()["session"].as_str().unwrap().to_owned()
    }

    fn terminal(&self, words: &[&str], directory: &Path) -> Pty {
        let mut terminal = Pty::open(Size { cols: 100, rows: 20 });
        let variables = self.agents.variables();
        let mut variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        variables.push(("AT", directory.as_os_str()));
        let line: Vec<&str> =
            ["-c", "cd \"$AT\" && exec \"$0\" \"$@\"", QD].iter().chain(words).copied().collect();
        terminal.spawn(OsStr::new("/bin/sh"), &line, &variables);
        terminal
    }
}

#[test]
fn k7_a_new_task_that_is_run_at_once_has_its_agent_at_work_on_its_prompt_in_its_worktree() {
    let crew = LandingAgents::new();
    let words = ["new", "more", "-w", "--agent", "fake", "--prompt", "5 tries per minute", "--run"];
    assert!(crew.qd(&words).starts_with("more (p_"));
    crew.agents.wait_until("more", Until::Turn(1));
    let tasks: Value = serde_json::from_str(&crew.qd(&["--json", "tasks"])).unwrap();
    let task = tasks.as_array().unwrap().iter().find(|task| task["name"] == "more").unwrap();
    assert_eq!(task["runs"][0]["prompt"], "5 tries per minute", "{task}");
    assert_eq!(task["status"], "done", "nobody has seen it: {task}");
    assert_eq!(task["directory"], crew.agents.process("more").program.cwd, "{task}");
}

#[test]
fn k8_the_agent_of_a_task_reads_the_end_of_a_failing_gate_if_that_was_asked_for() {
    let crew = LandingAgents::new();
    let gate = |reason: &str| format!("echo {reason}; exit 3");
    let said = crew.refused(&["land", "fix", "--tell", "--gate", &gate("nobody-there")]);
    assert!(said.contains("no agent works on it"), "a person reads that nobody was told: {said}");
    let mut spec = crew.agents.agent_spec("fake", "worker", &[]);
    spec.task = Some("fix".to_owned());
    spec.cwd = None;
    crew.agents.spawn_as(spec);
    crew.agents.until_state("worker", AgentState::Idle);
    let said = crew.refused(&["land", "fix", "--gate", &gate("not-told")]);
    assert!(said.contains("the gate failed with 3") && said.contains("not-told"), "{said}");
    crew.refused(&["land", "fix", "--tell", "--gate", &gate("the-reason")]);
    crew.agents.wait_until("worker", Until::Turn(1));
    let prompts = crew.agents.prompts("worker");
    assert!(prompts[0].contains("the-reason") && prompts.len() == 1, "{prompts:?}");
    assert_eq!(git(&crew.repository, &["log", "--format=%s", "main"]), "first\n", "nothing has landed");
}

#[test]
fn k4_a_review_is_sent_with_the_lines_where_they_are_now() {
    let crew = LandingAgents::new();
    let mut spec = crew.agents.agent_spec("fake", "worker", &[]);
    spec.task = Some("fix".to_owned());
    spec.cwd = None;
    crew.agents.spawn_as(spec);
    crew.agents.until_state("worker", AgentState::Idle);
    crew.qd(&["review", "fix", "add", "new:1", "why x?"]);
    std::fs::write(crew.directory.join("new"), "above\nx\n").unwrap();
    crew.qd(&["review", "fix", "send"]);
    crew.agents.wait_until("worker", Until::Turn(1));
    let prompts = crew.agents.prompts("worker");
    assert!(prompts.last().is_some_and(|prompt| prompt.contains("1. new:2")), "{prompts:?}");
}

#[test]
fn k7_a_person_at_a_terminal_chooses_which_session_of_a_task_goes_on() {
    let crew = LandingAgents::new();
    let first = crew.turn("the first question", &[]);
    crew.qd(&["stop", "fix"]);
    let second = crew.turn("the second question", &["--new-session"]);
    crew.qd(&["stop", "fix"]);
    assert_ne!(first, second);
    let mut terminal = crew.terminal(&["run"], &crew.directory);
    let list = String::from_utf8(terminal.expect(b"Which one goes on? [1] ")).unwrap();
    let newest = list.find("the second question").unwrap();
    assert!(newest < list.find("the first question").unwrap(), "the newest comes first: {list}");
    assert!(list.contains("1 turns") && list.contains("a new session"), "{list}");
    terminal.type_keys(b"2\n");
    // The agent's own prompt: it runs, and the terminal is attached to it.
    terminal.expect(b">");
    crew.agents.until_state("fix", AgentState::Idle);
    let runs = crew.task()["runs"].as_array().unwrap().clone();
    assert_eq!(runs.last().unwrap()["session"], first, "{runs:?}");
    terminal.type_keys(b"\x1cd");
    assert!(terminal.wait_exit(DEADLINE).success());
    // Without a terminal nobody is asked: the newest run's session goes on.
    crew.qd(&["stop", "fix"]);
    crew.qd(&["run", "fix", "--detach", "--resume", &second[..8]]);
    let runs = crew.task()["runs"].as_array().unwrap().clone();
    assert_eq!(runs.last().unwrap()["session"], second, "{runs:?}");
}

/// A manifest of an agent that knows no session but its own new ones: asked to continue one it waits, then ends with 1.
fn write_refusing_agent(crew: &LandingAgents, wait: &str) {
    use std::os::unix::fs::PermissionsExt;
    let program = crew.agents.root().join("refusing-agent");
    let refuse = format!("case \"$*\" in *--resume*) {wait}; echo 'No conversation found'; exit 1;; esac");
    std::fs::write(&program, format!("#!/bin/sh\n{refuse}\nexec '{AGENT}' \"$@\"\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let manifests = crew.agents.dirs().config.join("agents");
    let fake = std::fs::read_to_string(manifests.join("fake.toml")).unwrap();
    std::fs::write(manifests.join("refusing.toml"), fake.replace(AGENT, program.to_str().unwrap())).unwrap();
}

#[test]
fn k7_a_session_that_the_agent_refuses_is_replaced_by_a_new_one_which_gets_the_prompt_once() {
    // The second one starts slowly, as large programs do on a busy machine.
    for wait in ["true", "sleep 5"] {
        let crew = LandingAgents::new();
        write_refusing_agent(&crew, wait);
        let words = ["run", "fix", "--detach", "--agent", "refusing", "--resume", "gone-session"];
        crew.qd(&[&words[..], &["--prompt", "say here-i-am"]].concat());
        let item = eventually("a person reads of it", || {
            let inbox = crew.agents.client().inbox().unwrap();
            inbox.into_iter().find(|item| item.title == "resume refused")
        });
        assert!(item.body.contains("gone-session"), "{wait}: {item:?}");
        crew.agents.wait_until("fix", Until::Turn(1));
        let screen = crew.agents.screen("fix");
        assert_eq!(screen.matches("say here-i-am").count(), 1, "{wait}: {screen}");
        let runs = crew.task()["runs"].as_array().unwrap().clone();
        let last = runs.last().unwrap();
        let session = last["session"].as_str().unwrap();
        assert!(session != "gone-session" && last["turns"] == 1, "{wait}: {runs:?}");
        let inbox = crew.agents.client().inbox().unwrap();
        assert!(inbox.iter().any(|it| it.item == item.item), "{wait}: it stays until it is read: {inbox:?}");
        // The next run continues the new session, not the one that was refused.
        crew.qd(&["stop", "fix"]);
        let shown = crew.qd(&["--json", "tasks"]);
        assert!(shown.contains(session), "{shown}");
    }
}
