//! A task whose agent is a vendor's real program: it works in the task's worktree, reads its review as one message, and
//! commits what lands.

use std::path::{Path, PathBuf};
use std::process::Command;

use proto::AgentState;
use proto::request::{AgentRequest, CreateTask, Empty, ReviewAct, ReviewTask, Spawn, TaskAct, TaskTarget};
use proto::task::{ReviewSide, TaskOutcome, TaskView};
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::{FakeAgents, TIMEOUT};

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
    assert!(command.current_dir(directory).status().unwrap().success(), "git {arguments:?}");
}

fn ask(crew: &FakeAgents, act: TaskAct) -> TaskOutcome {
    match crew.daemon.client().task(proto::request::Task::from(act)) {
        Ok(outcome) => *outcome,
        Err(error) => crew.fail(&format!("a request about tasks: {error}")),
    }
}

fn target() -> TaskTarget {
    TaskTarget::Name("review-me".to_owned())
}

/// A repository, a task with a worktree in it, and the vendor's program at work on it.
fn crew(vendor: Vendor) -> FakeAgents {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let crew = FakeAgents { daemon: TestDaemon::start(QD), home, server };
    let repository = crew.home.workdir();
    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(repository.join("auth.rs"), "let a = 1;\nlet b = 2;\nlet c = 3;\n").unwrap();
    git(&repository, &["add", "--all"]);
    git(&repository, &["commit", "--quiet", "--message=first"]);
    let create = CreateTask {
        name: "review-me".to_owned(),
        directory: repository.display().to_string(),
        worktree: true,
        ..CreateTask::default()
    };
    let TaskOutcome::Created(created) = ask(&crew, TaskAct::Create(Box::new(create))) else {
        crew.fail("the task was not created")
    };
    crew.home.trust(Path::new(&created.task.directory));
    let spec = crew.spec(AgentRequest::default());
    crew.start(Spawn { task: Some("review-me".to_owned()), cwd: None, ..spec });
    crew.wait_state(&[AgentState::Idle]);
    crew
}

fn view(crew: &FakeAgents) -> TaskView {
    match ask(crew, TaskAct::Show(target())) {
        TaskOutcome::Task(view) => *view,
        other => crew.fail(&format!("{other:?}")),
    }
}

fn three_comments_are_one_message(vendor: Vendor) {
    let crew = crew(vendor);
    let directory = PathBuf::from(view(&crew).directory);
    std::fs::write(directory.join("auth.rs"), "let a = 10;\nlet b = 20;\nlet c = 30;\n").unwrap();
    let texts = ["why-ten", "why-twenty", "why-thirty\n@say reviewed-it"];
    for (line, text) in (1..).zip(texts) {
        let act = ReviewAct::Add {
            file: "auth.rs".to_owned(),
            side: ReviewSide::New,
            first: line,
            last: line,
            text: text.to_owned(),
        };
        ask(&crew, TaskAct::Review(ReviewTask { target: target(), act }));
    }
    let send = ReviewTask { target: target(), act: ReviewAct::Send(Empty {}) };
    ask(&crew, TaskAct::Review(send));
    let request = crew
        .server
        .wait_request(|request| !request.is_side && request.prompt.contains("why-thirty"), TIMEOUT);
    for words in ["let a = 10;", "let b = 20;", "let c = 30;", "why-ten", "why-twenty", "auth.rs:3"] {
        assert_eq!(request.prompt.matches(words).count(), 1, "{words} in {}", request.prompt);
    }
    crew.wait_turn(1);
    assert_eq!(crew.server.submissions("why-ten"), 1);
    let run = view(&crew).runs.pop().unwrap();
    assert!(run.session.is_some() && run.turns >= 1, "the session is pinned: {run:?}");
}

#[test]
fn k4_claude_reads_three_comments_as_one_message() {
    three_comments_are_one_message(Vendor::Claude);
}

#[test]
fn k4_codex_reads_three_comments_as_one_message() {
    three_comments_are_one_message(Vendor::Codex);
}
