//! Facts about tasks in the deck as (model, what is typed) → (model, what is asked).

use proto::request::{ReviewAct, TaskAct};
use proto::task::{TaskCreated, TaskOutcome, TaskView};
use proto::{ProcessId, Reply, Request};
use serde_json::json;

use super::{agent, model, process, typed};
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::update::update;

const DIFF: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-old\n+new\n+more\n";

fn task(name: &str, status: &str, processes: &[u64]) -> TaskView {
    let view = |number: &u64| {
        json!({"id": ProcessId::from_entropy(*number).to_string(), "name": format!("p{number}"), "kind": "agent",
            "status": "running", "state": "working"})
    };
    serde_json::from_value(json!({"name": name, "workspace": "local", "status": status, "since": 0,
        "project": {"key": "00", "path": "/work/acme"}, "directory": "/wt/x", "worktree": {"branch": name, "base": "main"},
        "agent": "fake", "created_at": 0, "active_at": 0, "processes": processes.iter().map(view).collect::<Vec<_>>(),
        "runs": [], "comments": 0}))
    .unwrap()
}

fn listed(model: &mut Model, tasks: Vec<TaskView>) {
    let reply = Reply::Task(Box::new(TaskOutcome::Listed(tasks)));
    update(model, Message::Answered(CallFor::Tasks, Ok(reply)));
}

/// What is asked about tasks, in order.
fn acts(commands: Vec<Command>) -> Vec<TaskAct> {
    let act = |command| match command {
        Command::Call(_, request) => match *request {
            Request::Task(task) => Some(task.act),
            _ => None,
        },
        _ => None,
    };
    commands.into_iter().filter_map(act).collect()
}

fn with_two() -> Model {
    let mut model = model(vec![process(1, "p1", agent("working", 0))]);
    typed(&mut model, b"\x1ct");
    listed(&mut model, vec![task("fix", "working", &[1]), task("docs", "idle", &[])]);
    model
}

#[test]
fn u16_the_selected_task_stays_selected_when_the_list_changes() {
    let mut model = with_two();
    typed(&mut model, b"j");
    listed(&mut model, vec![task("docs", "blocked", &[]), task("fix", "working", &[1])]);
    let Some(Overlay::Tasks(view)) = model.overlays.last() else { panic!("no list") };
    assert_eq!(view.task(&model.crew).unwrap().name, "docs");
}

#[test]
fn enter_opens_the_process_of_a_task_and_the_peek_shows_it_before() {
    let mut model = with_two();
    assert_eq!(model.places().len(), 1);
    assert_eq!(model.process_of(model.places()[0].0), Some(ProcessId::from_entropy(1)));
    typed(&mut model, b"\r");
    assert!(model.overlays.is_empty());
    assert_eq!(model.deck.focused().map(|(_, process)| process), Some(ProcessId::from_entropy(1)));
}

#[test]
fn a_task_is_stopped_and_dropped_only_after_a_yes() {
    let mut model = with_two();
    assert!(typed(&mut model, b"sn").is_empty());
    let commands = typed(&mut model, b"sy");
    assert!(
        matches!(commands.as_slice(), [Command::Call(CallFor::TaskDone, request)] if matches!(**request, Request::Close(_)))
    );
    assert!(matches!(acts(typed(&mut model, b"xy")).as_slice(), [TaskAct::Drop(drop)] if !drop.force));
    assert!(matches!(model.overlays.as_slice(), [Overlay::Tasks(_)]));
}

#[test]
fn a_task_lands_with_the_check_that_was_typed() {
    let mut model = with_two();
    let landed = acts(typed(&mut model, b"Lmake test\r"));
    assert!(
        matches!(landed.as_slice(), [TaskAct::Land(land)] if land.gate.as_deref() == Some("make test") && land.tell)
    );
    let plain = acts(typed(&mut model, b"L\r"));
    assert!(matches!(plain.as_slice(), [TaskAct::Land(land)] if land.gate.is_none() && !land.tell));
}

#[test]
fn a_new_task_gets_its_name_from_the_text_and_runs_its_agent_once_it_is_made() {
    let mut model = with_two();
    model.crew.agents = vec!["fake".to_owned()];
    let made = acts(typed(&mut model, b"nAdd rate limiting\x13"));
    let [TaskAct::Create(create)] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!((create.name.as_str(), create.worktree), ("add-rate-limiting", true));
    assert_eq!(
        (create.agent.as_deref(), create.prompt.as_deref()),
        (Some("fake"), Some("Add rate limiting"))
    );
    let created = TaskCreated {
        task: task("add-rate-limiting", "idle", &[]),
        copied: Vec::new(),
        skipped: Vec::new(),
        failure: None,
    };
    let reply = Reply::Task(Box::new(TaskOutcome::Created(Box::new(created))));
    let commands = update(&mut model, Message::Answered(CallFor::TaskMade { runs: true }, Ok(reply)));
    let spawns = commands.iter().any(|command| {
        matches!(command, Command::Call(CallFor::Start(_), request)
            if matches!(&**request, Request::Spawn(spawn) if spawn.task.as_deref() == Some("add-rate-limiting")))
    });
    assert!(spawns, "{commands:?}");
}

#[test]
fn u19_a_comment_goes_to_the_line_that_is_selected_and_all_are_sent_as_one() {
    let mut model = with_two();
    assert!(matches!(acts(typed(&mut model, b"d")).as_slice(), [TaskAct::Diff(_), TaskAct::Review(_)]));
    let diff = json!({"diff": {"name": "fix", "base": "main", "files": [], "text": DIFF}});
    let outcome: TaskOutcome = serde_json::from_value(diff).unwrap();
    update(&mut model, Message::Answered(CallFor::TaskDone, Ok(Reply::Task(Box::new(outcome)))));
    let added = acts(typed(&mut model, b"jjjvjcTwo lines\r"));
    let [TaskAct::Review(review)] = added.as_slice() else { panic!("{added:?}") };
    assert!(
        matches!(&review.act, ReviewAct::Add { file, first: 1, last: 2, text, .. } if file == "f" && text == "Two lines"),
        "{review:?}"
    );
    assert!(typed(&mut model, b"S").is_empty(), "nothing is unsent yet");
    let comment = json!({"review": {"name": "fix", "comments": [{"number": 1, "file": "f", "first": 1, "last": 2,
        "quoted": ["new", "more"], "text": "Two lines", "author": "human", "status": "draft"}]}});
    let outcome: TaskOutcome = serde_json::from_value(comment).unwrap();
    update(&mut model, Message::Answered(CallFor::TaskDone, Ok(Reply::Task(Box::new(outcome)))));
    let sent = acts(typed(&mut model, b"S"));
    assert!(
        matches!(sent.as_slice(), [TaskAct::Review(review)] if matches!(review.act, ReviewAct::Send(_))),
        "{sent:?}"
    );
}
