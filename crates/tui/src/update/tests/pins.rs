//! Selections follow what is selected, and nothing but the person moves the keyboard.

use proto::agent::InboxItem;
use proto::event::Event;
use proto::{ProcessId, Request};
use serde_json::json;

use super::tasks::{listed, task};
use super::{agent, blocked, focused, model, open, process, to_child, typed};
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::update::update;

fn id(number: u64) -> ProcessId {
    ProcessId::from_entropy(number)
}

fn selected(model: &mut Model, number: u64, by: Option<u64>) -> Vec<Command> {
    update(model, Message::Happened(Event::Selected { id: id(number), by: by.map(id) }))
}

fn item(number: u64, process: u64, title: &str) -> Event {
    let item: InboxItem = serde_json::from_value(json!({"item": number, "id": id(process).to_string(),
        "name": format!("p{process}"), "kind": "dialog", "title": title, "body": "", "at": number,
        "options": [{"names": ["allow"], "label": "Yes", "keys": []}, {"names": ["deny"], "label": "No", "keys": []}]}))
    .unwrap();
    Event::ItemOpened(Box::new(item))
}

fn happened(model: &mut Model, event: Event) {
    update(model, Message::Happened(event));
}

/// The items that were answered, and with what.
fn answers(commands: &[Command]) -> Vec<(u64, String)> {
    let answer = |command: &Command| match command {
        Command::Call(CallFor::Answer(_), request) => match &**request {
            Request::Answer(answer) => Some((answer.item, answer.choice.clone())),
            _ => None,
        },
        _ => None,
    };
    commands.iter().filter_map(answer).collect()
}

fn notice(model: &Model) -> &str {
    model.toasts.first().map_or("", |toast| toast.text.as_str())
}

#[test]
fn what_a_process_selects_gets_a_notice_and_not_the_keyboard() {
    let mut model = model(vec![process(1, "shell", json!({})), process(2, "lead", agent("working", 0))]);
    open(&mut model, 1);
    selected(&mut model, 2, Some(2));
    assert_eq!(focused(&model).as_deref(), Some("shell"));
    assert_eq!(to_child(&typed(&mut model, b"secret\r")), b"secret\r");
    assert_eq!((notice(&model), model.toasts[0].process), ("lead asks you to look at it", Some(id(2))));
    selected(&mut model, 2, Some(1));
    assert_eq!(model.toasts.len(), 1, "asking again says nothing new");
    typed(&mut model, b"\x1cn");
    assert_eq!(focused(&model).as_deref(), Some("lead"), "next leads there");
    typed(&mut model, b"\x1cn");
    assert_eq!(notice(&model), "nobody needs you", "looking at it was enough");
}

#[test]
fn what_a_process_selects_leaves_a_dialog_and_its_keys_alone() {
    let mut model = model(vec![process(1, "shell", json!({})), process(2, "lead", agent("working", 0))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1cR");
    selected(&mut model, 2, Some(2));
    typed(&mut model, b"x");
    assert!(matches!(model.overlays.as_slice(), [Overlay::Prompt(prompt)] if prompt.line.text() == "shellx"));
    typed(&mut model, b"\x1b");
    typed(&mut model, b"\x1c.");
    assert!(model.crew.needing().is_empty(), "dismissed with its notice");
}

#[test]
fn what_a_person_selects_is_shown_unless_something_is_open_or_a_key_is_awaited() {
    let crew = || model(vec![process(1, "shell", json!({})), process(2, "web", json!({}))]);
    for (keys, is_shown) in [(&b""[..], true), (b"\x1c,", false), (b"\x1c", false), (b"\x1c\t", false)] {
        let mut model = crew();
        open(&mut model, 1);
        typed(&mut model, keys);
        let overlays = model.overlays.len();
        selected(&mut model, 2, None);
        assert_eq!(focused(&model).as_deref() == Some("web"), is_shown, "{keys:?}");
        assert_eq!(model.overlays.len(), overlays, "{keys:?}");
        assert_eq!(notice(&model) == "web was selected", !is_shown, "{keys:?}");
    }
}

#[test]
fn u18_a_digit_that_was_meant_for_a_question_that_is_gone_answers_no_other_one() {
    let mut model = model(vec![blocked(1, "p1", 1), blocked(2, "p2", 2)]);
    happened(&mut model, item(4, 1, "First?"));
    happened(&mut model, item(5, 2, "Second?"));
    typed(&mut model, b"\x1ca");
    model.now.ms += 5_000;
    happened(&mut model, Event::ItemClosed { item: 4 });
    model.now.ms += 100;
    assert_eq!(answers(&typed(&mut model, b"1")), []);
    assert!(notice(&model).contains("press it again"), "{}", notice(&model));
    assert_eq!(answers(&typed(&mut model, b"1")), [(5, "1".to_owned())]);
}

#[test]
fn u18_a_question_that_has_been_looked_at_is_answered_at_once() {
    let mut model = model(vec![blocked(1, "p1", 1), blocked(2, "p2", 2)]);
    happened(&mut model, item(4, 1, "First?"));
    happened(&mut model, item(5, 2, "Second?"));
    assert_eq!(answers(&typed(&mut model, b"\x1ca2")), [(4, "2".to_owned())]);
    happened(&mut model, Event::ItemClosed { item: 4 });
    model.now.ms += 600;
    assert_eq!(answers(&typed(&mut model, b"2")), [(5, "2".to_owned())]);
}

#[test]
fn u16_the_inbox_keeps_its_order_and_its_selection_when_items_are_announced_again() {
    let mut model = model(vec![blocked(1, "p1", 1), blocked(2, "p2", 2), blocked(3, "p3", 3)]);
    happened(&mut model, item(5, 2, "Second?"));
    typed(&mut model, b"\x1ca");
    happened(&mut model, item(4, 1, "First?"));
    for _ in 0..3 {
        happened(&mut model, item(5, 2, "Second, in other words?"));
        happened(&mut model, item(4, 1, "First?"));
    }
    let numbers: Vec<u64> = model.crew.inbox.iter().map(|item| item.item).collect();
    assert_eq!(numbers, [4, 5], "the oldest first");
    assert_eq!(answers(&typed(&mut model, b"1")), [(5, "1".to_owned())]);
}

#[test]
fn u18_a_choice_of_the_palette_stays_chosen_when_its_row_moves_and_nothing_takes_its_place() {
    let mut model = model(vec![blocked(1, "p1", 1), blocked(2, "p2", 2)]);
    happened(&mut model, item(5, 2, "Second?"));
    typed(&mut model, b"\x1c p2: 1");
    happened(&mut model, item(4, 1, "First?"));
    happened(&mut model, Event::Changed(Box::new(process(3, "p2-1-new", json!({})))));
    let mut gone = model.clone();
    assert_eq!(answers(&typed(&mut model, b"\r")), [(5, "1".to_owned())]);
    happened(&mut gone, Event::ItemClosed { item: 5 });
    assert!(typed(&mut gone, b"\r").is_empty());
    assert!(notice(&gone).contains("choose again"), "{}", notice(&gone));
    assert!(matches!(gone.overlays.as_slice(), [Overlay::Palette(_)]));
}

#[test]
fn u16_the_first_row_of_the_tasks_stays_selected_when_another_one_becomes_the_first() {
    let mut model = model(Vec::new());
    listed(&mut model, vec![task("fix", "done", &[]), task("api", "idle", &[])]);
    typed(&mut model, b"\x1ct");
    listed(&mut model, vec![task("api", "blocked", &[]), task("fix", "done", &[])]);
    typed(&mut model, b"x");
    let Some(Overlay::Confirm(confirm)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    assert_eq!(confirm.title, "Drop fix?");
    typed(&mut model, b"\x1b");
    listed(&mut model, vec![task("api", "blocked", &[])]);
    assert!(typed(&mut model, b"x").is_empty());
    assert!(matches!(model.overlays.as_slice(), [Overlay::Tasks(_)]), "a key for a task that is gone");
}

#[test]
fn u16_the_wall_types_into_the_tile_that_was_selected_first_whatever_needs_the_person() {
    let mut model = model(vec![process(1, "a", json!({})), process(2, "b", agent("working", 0))]);
    typed(&mut model, b"\x1cw");
    happened(&mut model, Event::Changed(Box::new(blocked(2, "b", 5))));
    typed(&mut model, b"\r");
    assert!(matches!(model.overlays.last(), Some(Overlay::Wall(wall)) if wall.typing == Some(id(1))));
}

#[test]
fn before_a_process_ends_the_person_reads_what_ends_with_it_at_any_depth() {
    let child = |number: u64, name: &str, parent: u64| {
        let mut more = agent("working", 0);
        more["parent"] = json!(id(parent).to_string());
        process(number, name, more)
    };
    let mut model = model(vec![
        process(1, "lead", agent("working", 0)),
        child(2, "tests", 1),
        child(3, "deep", 2),
        process(4, "other", agent("working", 0)),
    ]);
    open(&mut model, 1);
    typed(&mut model, b"\x1cX");
    let Some(Overlay::Confirm(confirm)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    let said = confirm.lines.join("\n");
    assert!(said.contains("ends with it: tests, deep."), "{said}");
    assert!(!said.contains("other"), "{said}");
}
