//! Facts about tasks in the deck as (model, what is typed) → (model, what is asked).

use proto::request::{ReviewAct, TaskAct};
use proto::task::{TaskCreated, TaskOutcome, TaskView};
use proto::{ProcessId, Reply, Request};
use serde_json::json;

use super::{agent, model, process, typed};
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::agent_form::AgentSettings;
use crate::model::overlay::Overlay;
use crate::update::update;

pub(super) const DIFF: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-old\n+new\n+more\n";

pub(super) fn task(name: &str, status: &str, processes: &[u64]) -> TaskView {
    let view = |number: &u64| {
        json!({"id": ProcessId::from_entropy(*number).to_string(), "name": format!("p{number}"), "kind": "agent",
            "status": "running", "state": "working"})
    };
    serde_json::from_value(json!({"name": name, "workspace": "local", "status": status, "since": 0,
        "project": {"key": "00", "path": "/home/ana/acme"}, "directory": "/wt/x", "worktree": {"branch": name, "base": "main"},
        "agent": "fake", "created_at": 0, "active_at": 0, "processes": processes.iter().map(view).collect::<Vec<_>>(),
        "runs": [], "comments": 0}))
    .unwrap()
}

pub(super) fn listed(model: &mut Model, tasks: Vec<TaskView>) {
    let reply = Reply::Task(Box::new(TaskOutcome::Listed(tasks)));
    update(model, Message::Answered(CallFor::Tasks, Ok(reply)));
}

/// A task was asked for by the form as it is opened.
pub(super) fn task_made(runs: bool, stays: bool) -> CallFor {
    CallFor::TaskMade { runs, stays, settings: AgentSettings::default() }
}

/// What is asked about tasks, in order.
pub(super) fn acts(commands: Vec<Command>) -> Vec<TaskAct> {
    let act = |command| match command {
        Command::Call(_, request) => match *request {
            Request::Task(task) => Some(task.act),
            _ => None,
        },
        _ => None,
    };
    commands.into_iter().filter_map(act).collect()
}

pub(super) fn with_two() -> Model {
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
    let merged = acts(typed(&mut model, b"L\trelease\t \r"));
    assert!(
        matches!(merged.as_slice(), [TaskAct::Land(land)] if land.into.as_deref() == Some("release") && land.merge),
        "{merged:?}"
    );
}

#[test]
fn a_task_is_dropped_with_its_branch_or_although_work_is_lost_by_a_key_of_its_own() {
    let mut model = with_two();
    let drop = |model: &mut Model, keys: &[u8]| match acts(typed(model, keys)).as_slice() {
        [TaskAct::Drop(drop)] => Some((drop.branch, drop.force)),
        _ => None,
    };
    assert_eq!(drop(&mut model, b"xb"), Some((true, false)));
    assert_eq!(drop(&mut model, b"xf"), Some((false, true)));
    assert_eq!(drop(&mut model, b"xz"), None);
}

#[test]
fn the_forecast_names_who_would_conflict_and_in_which_files() {
    let mut model = with_two();
    assert!(matches!(acts(typed(&mut model, b"f")).as_slice(), [TaskAct::Forecast(_)]));
    let all = json!({"forecast": [{"task": "fix", "conflict": {"with": "docs", "files": ["src/auth.rs"]}}]});
    let outcome: TaskOutcome = serde_json::from_value(all).unwrap();
    update(&mut model, Message::Answered(CallFor::Forecast, Ok(Reply::Task(Box::new(outcome)))));
    let Some(Overlay::Page(page)) = model.overlays.last() else { panic!("no page") };
    assert_eq!(page.lines, ["# fix and docs", "  src/auth.rs", ""]);
    typed(&mut model, b"q");
    assert!(matches!(model.overlays.as_slice(), [Overlay::Tasks(_)]));
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
    let commands = update(&mut model, Message::Answered(task_made(true, false), Ok(reply)));
    let spawns = commands.iter().any(|command| {
        matches!(command, Command::Call(CallFor::Start(_), request)
            if matches!(&**request, Request::Spawn(spawn) if spawn.task.as_deref() == Some("add-rate-limiting")))
    });
    assert!(spawns, "{commands:?}");
}

#[test]
fn u19_a_comment_goes_to_the_line_that_is_selected_and_all_are_sent_as_one() {
    let mut model = with_two();
    assert!(matches!(acts(typed(&mut model, b"d")).as_slice(), [TaskAct::Diff(_)]));
    let diff = json!({"diff": {"name": "fix", "base": "main", "files": [], "text": DIFF}});
    let outcome: TaskOutcome = serde_json::from_value(diff).unwrap();
    let opens = CallFor::Changes { opens: true };
    let shown = update(&mut model, Message::Answered(opens, Ok(Reply::Task(Box::new(outcome)))));
    // The comments are asked for once there is a review that shows them, however fast their answer is.
    assert!(
        matches!(acts(shown).as_slice(), [TaskAct::Review(review)] if matches!(review.act, ReviewAct::List(_)))
    );
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

/// A review of `fix` with one comment, opened from the list.
pub(super) fn reviewed(model: &mut Model) {
    typed(model, b"\x1ct");
    listed(model, vec![task("fix", "done", &[1]), task("docs", "idle", &[])]);
    typed(model, b"d");
    let answers = [
        json!({"diff": {"name": "fix", "base": "main", "files": [], "text": DIFF}}),
        json!({"review": {"name": "fix", "comments": [{"number": 1, "file": "f", "first": 1, "last": 2,
            "quoted": ["new", "more"], "text": "Say why.", "author": "human", "status": "draft"}]}}),
    ];
    for answer in answers {
        let outcome: TaskOutcome = serde_json::from_value(answer).unwrap();
        let opens = CallFor::Changes { opens: true };
        update(model, Message::Answered(opens, Ok(Reply::Task(Box::new(outcome)))));
    }
}

#[test]
fn a_file_of_a_review_is_opened_in_the_editor_only_below_the_tasks_directory() {
    let mut model = with_two();
    reviewed(&mut model);
    let commands = typed(&mut model, b"jjjje");
    assert!(
        matches!(commands.as_slice(), [Command::EditFile { path, line: 2, .. }] if path.as_os_str() == "/wt/x/f"),
        "{commands:?}"
    );
    let Some(Overlay::Review(review)) = model.overlays.last_mut() else { panic!("no review") };
    review.files[0].path = "../outside".to_owned();
    assert!(typed(&mut model, b"e").is_empty());
}

#[test]
fn changes_that_come_late_do_not_open_a_review_that_was_left() {
    let mut model = with_two();
    reviewed(&mut model);
    typed(&mut model, b"rq");
    let diff = json!({"diff": {"name": "fix", "base": "main", "files": [], "text": DIFF}});
    let late: TaskOutcome = serde_json::from_value(diff).unwrap();
    let again = CallFor::Changes { opens: false };
    update(&mut model, Message::Answered(again, Ok(Reply::Task(Box::new(late)))));
    assert!(matches!(model.overlays.as_slice(), [Overlay::Tasks(_)]), "{:?}", model.overlays);
}

#[test]
fn a_task_without_an_agent_is_run_with_a_shell_where_its_work_is() {
    let mut model = with_two();
    typed(&mut model, b"jr");
    let Some(Overlay::Palette(palette)) = model.overlays.last() else { panic!("no palette") };
    let offered: Vec<String> = palette.entries(&model).into_iter().map(|entry| entry.text).collect();
    assert_eq!(offered, ["new session of fake", "shell"]);
    let commands = typed(&mut model, b"shell\r");
    let [Command::Call(CallFor::Start(_), request)] = commands.as_slice() else { panic!("{commands:?}") };
    let Request::Spawn(spawn) = &**request else { panic!("{request:?}") };
    assert_eq!((spawn.cwd.as_deref(), spawn.task.as_deref()), (Some("/wt/x"), Some("docs")));
    assert_eq!((spawn.kind, spawn.argv.len()), (proto::Kind::Terminal, 0));
}

#[test]
fn a_task_whose_agent_was_not_found_says_so() {
    let mut model = with_two();
    let made = TaskView { agent: None, ..task("new", "idle", &[]) };
    let created = TaskCreated { task: made, copied: Vec::new(), skipped: Vec::new(), failure: None };
    let reply = Reply::Task(Box::new(TaskOutcome::Created(Box::new(created))));
    update(&mut model, Message::Answered(task_made(true, false), Ok(reply)));
    assert!(model.toasts[0].text.contains("no agent was found"), "{:?}", model.toasts);
}

#[test]
fn the_list_names_the_repository_only_where_there_are_several() {
    let drawn = |model: &Model| {
        let mut grid = crate::frame::Grid::new(model.size);
        crate::view::chrome(model, &mut grid);
        grid.to_text()
    };
    let tree = |name: &str, key: &str| {
        let mut view = task(name, "idle", &[]);
        view.directory = format!("/wt/acme--{name}");
        view.project = serde_json::from_value(json!({"key": key, "path": view.directory})).unwrap();
        view
    };
    let mut model = with_two();
    listed(&mut model, vec![tree("a", "0011223344556677"), tree("b", "0011223344556677")]);
    assert!(!drawn(&model).contains("in acme"), "{}", drawn(&model));
    listed(&mut model, vec![tree("a", "0011223344556677"), tree("b", "7766554433221100")]);
    let text = drawn(&model);
    assert!(text.contains("in acme") && !text.contains("in acme--"), "{text}");
}

#[test]
fn u16_tasks_are_sorted_as_the_person_wants_and_the_selected_one_stays_selected() {
    let mut model = with_two();
    let newer = TaskView { active_at: 9, ..task("newer", "idle", &[]) };
    listed(&mut model, vec![task("fix", "working", &[1]), task("docs", "idle", &[]), newer]);
    for expected in [["docs", "fix", "newer"], ["newer", "fix", "docs"], ["fix", "docs", "newer"]] {
        typed(&mut model, b"o");
        let Some(Overlay::Tasks(view)) = model.overlays.last() else { panic!("no list") };
        let names: Vec<&str> = view.rows(&model.crew).into_iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, expected);
        assert_eq!(view.task(&model.crew).unwrap().name, "fix");
    }
}

#[test]
fn a_task_is_reviewed_and_landed_from_the_palette() {
    let mut model = with_two();
    typed(&mut model, b"q");
    let asked = acts(typed(&mut model, b"\x1c review fix\r"));
    assert!(
        matches!(asked.as_slice(), [TaskAct::Diff(diff)] if diff.target == super::super::tasks::named("fix"))
    );
    typed(&mut model, b"\x1c land docs\r");
    assert!(matches!(model.overlays.as_slice(), [Overlay::Land(form)] if form.task == "docs"));
}
