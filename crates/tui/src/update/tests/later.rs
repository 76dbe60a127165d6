//! Facts about what is put off, brought back, adopted, hinted at and asked for one by one.

use proto::agent::InboxItem;
use proto::event::Event;
use proto::task::TaskOutcome;
use proto::{ErrorCode, Failure, ProcessId, Reply};
use serde_json::json;

use super::tasks::{listed, task};
use super::{agent, blocked, model, open, process, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::hints::Hints;
use crate::model::overlay::Overlay;
use crate::model::splits::Axis;
use crate::model::{Model, hints};
use crate::preparation::Preparation;
use crate::update::update;
use crate::{Adoption, view};

const TEN_MINUTES: u64 = 600_000;

fn item(number: u64, process: u64, at: u64) -> InboxItem {
    let id = ProcessId::from_entropy(process).to_string();
    serde_json::from_value(
        json!({"item": number, "id": id, "name": format!("a{process}"), "kind": "question",
        "title": "Which one?", "body": "", "at": at, "options": []}),
    )
    .unwrap()
}

fn drawn(model: &Model) -> String {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    grid.to_text()
}

fn asked(model: &mut Model, item: InboxItem) {
    update(model, Message::Happened(Event::ItemOpened(Box::new(item))));
}

fn needing(model: &Model) -> Vec<String> {
    model.crew.needing().into_iter().map(|(id, _, _)| model.name(id)).collect()
}

#[test]
fn u15_what_is_put_off_needs_nobody_for_ten_minutes_and_then_again() {
    let mut model = model(vec![blocked(1, "a1", 100), blocked(2, "a2", 200)]);
    asked(&mut model, item(7, 1, 100));
    asked(&mut model, item(8, 2, 200));
    typed(&mut model, b"\x1cas");
    assert_eq!(needing(&model), ["a2"]);
    assert!(drawn(&model).contains("Inbox (1, 1 later)"), "{}", drawn(&model));
    typed(&mut model, b"q");
    model.toasts.clear();
    assert_eq!(model.next_deadline().filter(|due| *due <= TEN_MINUTES), model.next_deadline());
    model.now.ms = TEN_MINUTES;
    update(&mut model, Message::Tick);
    assert_eq!(needing(&model), ["a1", "a2"]);
    assert!(model.toasts.iter().any(|toast| toast.text.starts_with("a1 needs you")), "{:?}", model.toasts);
}

#[test]
fn an_item_that_is_closed_elsewhere_does_not_come_back() {
    let mut model = model(vec![blocked(1, "a1", 100)]);
    asked(&mut model, item(7, 1, 100));
    typed(&mut model, b"\x1cas");
    update(&mut model, Message::Happened(Event::ItemClosed { item: 7 }));
    assert!(model.crew.snoozed.is_empty());
}

fn ports_asked(commands: &[Command]) -> usize {
    commands.iter().filter(|command| matches!(command, Command::Call(CallFor::Ports(_), _))).count()
}

#[test]
fn fifty_commands_are_asked_for_their_ports_one_after_the_other_and_each_once() {
    let processes = (1..=50).map(|number| process(number, &format!("p{number}"), json!({}))).collect();
    let mut model = model(processes);
    let mut commands = update(&mut model, Message::Tick);
    let mut asked = Vec::new();
    while let Some(Command::Call(CallFor::Ports(id), _)) = commands.first().cloned() {
        assert_eq!(ports_asked(&commands), 1);
        assert_eq!(ports_asked(&update(&mut model, Message::Tick)), 0, "another answer is awaited");
        asked.push(id);
        let refused = Err(Failure::new(ErrorCode::NotFound, "gone"));
        commands = update(&mut model, Message::Answered(CallFor::Ports(id), refused));
    }
    asked.sort();
    asked.dedup();
    assert_eq!((asked.len(), model.port_questions.due.len()), (50, 0));
}

#[test]
fn a_dropped_task_is_chosen_from_those_that_are_kept() {
    let mut model = model(Vec::new());
    typed(&mut model, b"\x1ct");
    let commands = typed(&mut model, b"u");
    assert!(matches!(commands.as_slice(), [Command::Call(CallFor::Restorable, _)]), "{commands:?}");
    let kept = |name: &str| {
        json!({"name": name, "workspace": "local", "directory": "/wt/x", "dropped_at": 0,
        "kept_until": 900_000_000})
    };
    let tasks = serde_json::from_value(json!([kept("docs"), kept("fix")])).unwrap();
    let reply = Reply::Task(Box::new(TaskOutcome::Restorable(tasks)));
    update(&mut model, Message::Answered(CallFor::Restorable, Ok(reply)));
    let seen = drawn(&model);
    assert!(seen.contains("BRING BACK") && seen.contains("docs") && seen.contains("kept for"), "{seen}");
    let commands = typed(&mut model, b"fix\r");
    let restores = commands.iter().any(|command| format!("{command:?}").contains("Restore(Name(\"fix\"))"));
    assert!(restores, "{commands:?}");
    assert!(matches!(model.overlays.last(), Some(Overlay::Tasks(_))), "back in the list");
}

#[test]
fn nothing_to_bring_back_is_said() {
    let mut model = model(Vec::new());
    let reply = Reply::Task(Box::new(TaskOutcome::Restorable(Vec::new())));
    update(&mut model, Message::Answered(CallFor::Restorable, Ok(reply)));
    assert!(model.overlays.is_empty() && model.toasts[0].text.contains("no dropped task"));
}

#[test]
fn tasks_of_another_program_are_offered_until_they_are_tasks_here() {
    let mut model = model(Vec::new());
    assert!(!drawn(&model).contains("Adopt"));
    let argv = ["qd", "import", "tam", "--apply"].map(str::to_owned).to_vec();
    model.place.adoption =
        Some(Adoption { from: "tam", tasks: vec!["fix".to_owned(), "docs".to_owned()], argv });
    assert!(drawn(&model).contains("5  Adopt tasks from tam       2 found"), "{}", drawn(&model));
    typed(&mut model, b"5");
    assert!(drawn(&model).contains("qd import tam --apply"), "{}", drawn(&model));
    let commands = typed(&mut model, b"y");
    assert!(matches!(commands.as_slice(), [Command::Call(CallFor::Start(_), _)]), "{commands:?}");
    listed(&mut model, vec![task("fix", "idle", &[]), task("docs", "idle", &[])]);
    assert!(!drawn(&model).contains("Adopt"), "{}", drawn(&model));
}

#[test]
fn the_form_of_a_new_task_says_what_is_copied_and_what_runs_in_its_worktree() {
    let mut model = model(Vec::new());
    assert!(typed(&mut model, b"\x1cC").contains(&Command::Preparation));
    let preparation = Preparation { copies: vec![".env".into()], commands: vec!["npm ci".into()] };
    update(&mut model, Message::Prepares(preparation));
    let seen = drawn(&model);
    let has =
        |label: &str, words: &str| seen.lines().any(|line| line.contains(label) && line.contains(words));
    assert!(has("Copies", ".env") && has("Then", "npm ci"), "{seen}");
}

#[test]
fn a_hint_for_a_situation_is_shown_three_times_and_never_again() {
    let mut model = model(vec![process(1, "a", json!({})), process(2, "b", json!({}))]);
    model.hints = Some(Hints::default());
    let mut shown = 0;
    for _ in 0..5 {
        open(&mut model, 1);
        model.deck.split(ProcessId::from_entropy(2), Axis::Columns);
        shown += usize::from(update(&mut model, Message::Tick).contains(&Command::KeepHints));
        assert_eq!(hints::words(&model).is_some(), shown == 1 || shown == 2 || model.now.ms < 30_000);
        typed(&mut model, b"\x1cx");
        model.now.ms += 10_000;
        update(&mut model, Message::Tick);
        assert_eq!(hints::words(&model), None, "its time is over");
    }
    assert_eq!(shown, 3);
    // The next start goes on counting.
    model.hints = Some(Hints::new(model.hints.take().unwrap().counts));
    model.deck.split(ProcessId::from_entropy(2), Axis::Columns);
    assert!(!update(&mut model, Message::Tick).contains(&Command::KeepHints));
}

#[test]
fn a_hint_stands_in_the_status_line_and_settings_switch_it_off() {
    let mut model = model(Vec::new());
    model.hints = Some(Hints::default());
    let changed = Event::Changed(Box::new(process(1, "fix", agent("blocked", 1))));
    update(&mut model, Message::Happened(changed.clone()));
    let status = drawn(&model).lines().last().unwrap_or_default().to_owned();
    assert!(status.contains("Ctrl-\\ n goes there"), "{status}");
    let mut quiet = self::model(Vec::new());
    (quiet.hints, quiet.looks.has_hints) = (Some(Hints::default()), false);
    assert!(!update(&mut quiet, Message::Happened(changed)).contains(&Command::KeepHints));
}

#[test]
fn who_has_opened_the_inbox_is_not_told_how() {
    let mut model = model(vec![process(1, "one", json!({}))]);
    model.hints = Some(Hints::default());
    update(&mut model, Message::Happened(Event::Changed(Box::new(blocked(1, "one", 300)))));
    assert!(hints::words(&model).is_some());
    typed(&mut model, b"\x1ca");
    assert_eq!(hints::words(&model), None);
    typed(&mut model, b"\x1b");
    assert!(hints::words(&model).is_some());
}
