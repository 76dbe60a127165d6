//! What a person reads off the deck without asking: timers that run, tabs with somebody who waits, troubles of the daemon; and
//! texts of several lines.

use proto::event::Event;
use proto::timers::TimerView;
use proto::{ErrorCode, Failure, ProcessId, Reply, Request};
use serde_json::json;

use super::tasks::{listed, task, with_two};
use super::{agent, blocked, model, open, process, to_child, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::rail::{RailRow, rows};
use crate::model::splits::Axis;
use crate::update::update;
use crate::view;

/// The picture as rows of text.
fn picture(model: &Model) -> Vec<String> {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    grid.to_text().lines().map(str::to_owned).collect()
}

fn timer(status: &str, remaining_ms: u64) -> TimerView {
    let id = ProcessId::from_entropy(1).to_string();
    serde_json::from_value(json!({"timer": 3, "owner": id, "owner_name": "lead", "kind": "delay",
        "status": status, "label": "ci", "body": "look", "remaining_ms": remaining_ms}))
    .unwrap()
}

fn timer_note(model: &Model) -> String {
    let note = |row: RailRow| match row {
        RailRow::Item { name, note, .. } if name == "ci" => Some(note),
        _ => None,
    };
    rows(model).into_iter().find_map(note).unwrap()
}

fn pass(model: &mut Model, ms: u64) {
    model.now.ms += ms;
    model.now.epoch_ms += ms;
    update(model, Message::Tick);
}

#[test]
fn a_timer_counts_down_minute_by_minute_and_a_paused_one_stands() {
    let mut model = model(vec![process(1, "lead", agent("idle", 0))]);
    let timers = Reply::Timers(vec![timer("armed", 185_000)]);
    update(&mut model, Message::Answered(CallFor::Timers, Ok(timers)));
    assert_eq!(timer_note(&model), "3m");
    assert_eq!(model.next_deadline(), Some(model.now.ms + 5_001), "the deck wakes when the word changes");
    pass(&mut model, 5_001);
    assert_eq!(timer_note(&model), "2m");
    pass(&mut model, 60_000);
    assert_eq!(timer_note(&model), "1m");
    update(&mut model, Message::Happened(Event::Timer(Box::new(timer("paused", 119_999)))));
    assert_eq!((timer_note(&model), model.next_deadline()), ("paused".to_owned(), None));
    pass(&mut model, 600_000);
    update(&mut model, Message::Happened(Event::Timer(Box::new(timer("armed", 119_999)))));
    assert_eq!(timer_note(&model), "1m");
}

#[test]
fn a_tab_shows_the_most_urgent_of_its_panes_and_not_the_one_that_was_used_last() {
    let mut model = model(vec![process(1, "web", json!({})), blocked(2, "fix", 5)]);
    open(&mut model, 2);
    model.deck.split(ProcessId::from_entropy(1), Axis::Columns);
    assert!(picture(&model)[0].starts_with(" 1! web"), "{}", picture(&model)[0]);
}

#[test]
fn a_daemon_that_cannot_save_is_told_in_the_status_line_until_it_can() {
    let mut model = model(vec![process(1, "lead", agent("working", 0))]);
    open(&mut model, 1);
    let full = Failure::new(ErrorCode::NoSpace, "no space".to_owned());
    let commands = update(&mut model, Message::Answered(CallFor::Nothing, Err(full)));
    let asks = |commands: &[Command]| {
        commands.iter().any(|command| matches!(command, Command::Call(CallFor::Status, _)))
    };
    assert!(asks(&commands), "{commands:?}");
    let status = |warnings: serde_json::Value| {
        let status = json!({"running": true, "pid": 1, "version": "1", "protocol": 1, "processes": 1, "viewers": 1,
            "uptime_s": 1, "warnings": warnings});
        Message::Answered(CallFor::Status, Ok(Reply::Status(serde_json::from_value(status).unwrap())))
    };
    update(&mut model, status(json!(["a manifest is odd", "state is not being saved: the disk is full"])));
    let last = |model: &Model| picture(model).pop().unwrap();
    assert!(last(&model).contains("not saved: the disk is full"), "{}", last(&model));
    model.toasts.clear();
    assert_eq!(model.next_deadline(), Some(60_000), "it is asked again");
    model.now.ms = 60_000;
    assert!(asks(&update(&mut model, Message::Tick)));
    update(&mut model, status(json!(["a manifest is odd"])));
    assert!(!last(&model).contains("not saved"), "{}", last(&model));
    model.toasts.clear();
    assert_eq!(model.next_deadline(), None);
}

#[test]
fn help_in_a_page_opens_help_and_goes_back_to_the_page() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1ce?");
    assert!(
        matches!(model.overlays.as_slice(), [Overlay::Page(_), Overlay::Help(_)]),
        "{:?}",
        model.overlays
    );
    typed(&mut model, b"\x1b");
    assert!(matches!(model.overlays.as_slice(), [Overlay::Page(_)]));
}

#[test]
fn u11_the_release_of_a_key_that_the_deck_took_reaches_no_program() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    let commands = typed(&mut model, b"\x1b[92;5u\x1b[92;5:3u\x1b[122u\x1b[122;1:3u");
    assert!(model.deck.tab().unwrap().is_zoomed);
    assert_eq!(to_child(&commands), b"");
    let child = b"\x1b[122u\x1b[122;1:3u";
    assert_eq!(
        to_child(&typed(&mut model, child)),
        child,
        "the next one is the program's, press and release"
    );
}

#[test]
fn a_paste_of_several_lines_stays_several_lines_where_a_text_may_have_them() {
    const PASTE: &[u8] = b"\x1b[200~one\r\ntwo\rthree\x1b[201~";
    let mut model = model(vec![process(1, "lead", agent("idle", 0))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1cm");
    typed(&mut model, PASTE);
    let shown = picture(&model);
    assert!(
        ["one", "two", "three"].iter().all(|word| shown.iter().any(|row| row.contains(word))),
        "{shown:?}"
    );
    let commands = typed(&mut model, b"\x1b\r!\r");
    let told = commands.iter().find_map(|command| match command {
        Command::Call(CallFor::Written(_), request) => match &**request {
            Request::Tell(tell) => Some(tell.text.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("one\ntwo\nthree\n!"), "Alt-Enter makes a line, too");
    typed(&mut model, b"\x1cC");
    typed(&mut model, PASTE);
    let Some(Overlay::Form(form)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    assert_eq!(form.prompt.text(), "one\ntwo\nthree");
    typed(&mut model, b"\x1b");
    typed(&mut model, b"\x1cR");
    typed(&mut model, PASTE);
    let Some(Overlay::Prompt(prompt)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    assert_eq!(prompt.line.text(), "leadone  two three", "a name is one line");
}

#[test]
fn a_process_that_is_gone_keeps_its_name_in_notices_and_messages() {
    let mut model = model(vec![process(1, "build", json!({})), process(2, "other", json!({}))]);
    let (build, other) = (ProcessId::from_entropy(1), ProcessId::from_entropy(2));
    update(&mut model, Message::Happened(Event::Removed { id: build }));
    update(&mut model, Message::Unread(build, 7));
    assert!(model.toasts[0].text.starts_with("build had not read 7 KiB"), "{:?}", model.toasts);
    // The next daemon no longer has it.
    update(&mut model, Message::Connected(Vec::new()));
    let receipt =
        json!([{"mail": 3, "to": other.to_string(), "sender": "human", "at": 0, "status": "expired"}]);
    let receipts = Reply::Messages(serde_json::from_value(receipt).unwrap());
    update(&mut model, Message::Answered(CallFor::Messages, Ok(receipts)));
    let text = picture(&model).join("\n");
    assert!(text.contains("human to other"), "{text}");
}

#[test]
fn u24_in_ascii_the_last_of_an_agents_children_stands_out_from_the_others() {
    let child = |number: u64, name: &str| {
        let mut view = agent("working", 0);
        view.as_object_mut()
            .unwrap()
            .insert("parent".to_owned(), json!(ProcessId::from_entropy(1).to_string()));
        process(number, name, view)
    };
    let mut model = model(vec![process(1, "lead", agent("working", 0)), child(2, "tests"), child(3, "docs")]);
    let text = picture(&model).join("\n");
    assert!(text.contains("├▸ tests") && text.contains("└▸ docs"), "{text}");
    model.looks.is_ascii = true;
    let text = picture(&model).join("\n");
    assert!(text.contains("|> tests") && text.contains("`> docs"), "{text}");
}

#[test]
fn an_earlier_session_of_one_turn_has_one_turn() {
    let mut model = with_two();
    let mut docs = task("docs", "idle", &[]);
    let run = |turns: u64, prompt: &str| {
        json!({"process": ProcessId::from_entropy(9).to_string(), "name": "docs", "kind": "agent", "run": 1,
            "session": prompt, "started_at": 120_000, "ended_at": 300_000, "prompt": prompt, "turns": turns})
    };
    docs.runs = serde_json::from_value(json!([run(1, "short"), run(2, "longer")])).unwrap();
    listed(&mut model, vec![docs]);
    model.now.ms += 1_000;
    typed(&mut model, b"r");
    let text = picture(&model).join("\n");
    assert!(text.contains(", 1 turn ") && text.contains(", 2 turns"), "{text}");
}

#[test]
fn text_of_an_input_method_goes_where_letters_go() {
    let text = "\u{1b}[0;;28450:23383u".as_bytes();
    let mut model = model(vec![process(1, "a", json!({}))]);
    open(&mut model, 1);
    assert!(matches!(typed(&mut model, text).as_slice(), [Command::Type(..)]), "to the program");
    typed(&mut model, b"\x1cg");
    typed(&mut model, text);
    let Some(Overlay::Palette(palette)) = model.overlays.last() else { panic!("no palette") };
    assert_eq!(palette.line.text(), "漢字");
    // After the prefix it is no key of the deck, and nobody's.
    typed(&mut model, b"\x1b");
    typed(&mut model, b"\x1c");
    assert!(typed(&mut model, text).is_empty());
    assert!(matches!(typed(&mut model, text).as_slice(), [Command::Type(..)]));
}

#[test]
fn a_task_that_was_dropped_this_minute_was_dropped_just_now() {
    let mut model = with_two();
    typed(&mut model, b"u");
    let dropped = json!({"restorable": [{"name": "docs", "workspace": "local", "directory": "/wt/docs", "branch": "docs",
        "dropped_at": model.now.epoch_ms, "kept_until": model.now.epoch_ms + 900_000}]});
    let reply = Reply::Task(Box::new(serde_json::from_value(dropped).unwrap()));
    update(&mut model, Message::Answered(CallFor::Restorable, Ok(reply)));
    let text = picture(&model).join("\n");
    assert!(text.contains("dropped just now, kept for 15m"), "{text}");
}
