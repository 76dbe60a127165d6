//! Facts about the deck as (model, what is typed) → (model, what is done).

mod agent_form;
mod attention;
mod copies;
mod details;
mod golden;
mod hostile;
mod later;
mod lists;
mod looks;
mod mouse;
mod own_commands;
mod parity;
mod pins;
mod plain_words;
mod pointer;
mod reading;
mod review;
mod scrolling;
mod tasks;
mod unsent;
mod verbs;
mod views;

use std::path::Path;

use proto::agent::InboxItem;
use proto::event::Event;
use proto::{ErrorCode, Failure, ProcessId, ProcessView, Size};
use serde_json::json;

use super::update;
use crate::config::Config;
use crate::frame::Grid;
use crate::host::InputParser;
use crate::message::{CallFor, Command, Message};
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::model::rail::RailItem;
use crate::model::splits::Axis;
use crate::model::{Model, Place, Prefix};
use crate::view;

/// A process of the crew; `more` overrides what it is at.
pub(super) fn process(number: u64, name: &str, more: serde_json::Value) -> ProcessView {
    let id = ProcessId::from_entropy(number).to_string();
    let mut view = json!({"id": id, "name": name, "kind": "command", "status": "running", "pid": 7, "run": 1,
        "state": null, "parent": null, "task": null, "workspace": "local", "owner": "user",
        "size": {"cols": 80, "rows": 24}, "viewers": 0, "log": {"start": 0, "end": 0}, "argv": ["x"],
        "cwd": "/p", "started_at": number, "active_at": 0});
    let fields = view.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    serde_json::from_value(view).unwrap()
}

fn blocked(number: u64, name: &str, since: u64) -> ProcessView {
    process(number, name, agent("blocked", since))
}

fn agent(state: &str, since: u64) -> serde_json::Value {
    json!({"kind": "agent", "state": state, "agent": {"manifest": "m", "state": state, "since": since, "background": 0,
        "held": false, "turn": 1, "mail": 0}})
}

pub(super) fn model(processes: Vec<ProcessView>) -> Model {
    let place = Place { directory: "/home/ana/acme".to_owned(), ..Place::default() };
    let mut model = Model::new(Size { cols: 120, rows: 40 }, Config::default().looks, place);
    model.now.epoch_ms = 600_000;
    update(&mut model, Message::Connected(processes));
    model
}

/// Types bytes; returns what is done.
fn typed(model: &mut Model, bytes: &[u8]) -> Vec<Command> {
    let mut parser = InputParser::default();
    let mut events = Vec::new();
    parser.feed(bytes, &mut events);
    parser.release(&mut events);
    events.into_iter().flat_map(|event| update(model, Message::Input(event))).collect()
}

fn to_child(commands: &[Command]) -> Vec<u8> {
    let raw = |command: &Command| match command {
        Command::Type(_, event) => event.raw.clone(),
        _ => Vec::new(),
    };
    commands.iter().flat_map(raw).collect()
}

fn focused(model: &Model) -> Option<String> {
    model.deck.focused().map(|(_, process)| model.name(process))
}

/// Returns true if something is marked as seen.
fn sees(commands: &[Command]) -> bool {
    commands.iter().any(|command| format!("{command:?}").contains("See("))
}

fn open(model: &mut Model, number: u64) {
    model.deck.open(ProcessId::from_entropy(number));
}

#[test]
fn u11_exactly_the_prefix_never_reaches_a_program_and_twice_it_does() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    for byte in (0..=0xff_u8).filter(|byte| *byte != 0x1c) {
        assert_eq!(to_child(&typed(&mut model, &[byte])), [byte], "{byte:#x}");
    }
    for key in [&b"\x1b[A"[..], b"\x1bb", b"\x1b[1;5D", b"\x1b[Z", b"\x0b", b"\x02"] {
        assert_eq!(to_child(&typed(&mut model, key)), key);
    }
    assert_eq!(to_child(&typed(&mut model, b"\x1c")), b"");
    assert_eq!(to_child(&typed(&mut model, b"\x1c")), b"\x1c");
    assert_eq!(model.prefix, Prefix::None);
}

#[test]
fn u12_the_key_after_the_prefix_acts_whether_or_not_the_menu_is_shown() {
    for pause in [0, 1_000] {
        for prefix in [&b"\x1c"[..], b"\x1b[92;5u", b"\x1b[52;5u"] {
            let mut model = model(vec![process(1, "web", json!({}))]);
            open(&mut model, 1);
            typed(&mut model, prefix);
            model.now.ms += pause;
            assert!(to_child(&typed(&mut model, b"z")).is_empty());
            assert!(model.deck.tab().unwrap().is_zoomed);
        }
    }
}

#[test]
fn an_unknown_key_after_the_prefix_is_sent_to_nobody() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    assert!(to_child(&typed(&mut model, b"\x1c%")).is_empty());
    assert_eq!(model.toasts.len(), 1);
}

#[test]
fn u11_a_key_that_the_person_made_direct_acts_without_the_prefix_and_no_other_does() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    let config = Config::parse("[keys.direct]\nzoom = 'alt-z'\n", Path::new("/nonexistent")).unwrap();
    model.looks = config.looks;
    assert!(to_child(&typed(&mut model, b"\x1bz")).is_empty());
    assert!(model.deck.tab().unwrap().is_zoomed);
    assert_eq!(to_child(&typed(&mut model, b"\x1bx")), b"\x1bx");
}

#[test]
fn u13_the_click_that_focuses_a_pane_reaches_no_program() {
    let mut model = model(vec![process(1, "a", json!({})), process(2, "b", json!({}))]);
    open(&mut model, 1);
    model.deck.split(ProcessId::from_entropy(2), Axis::Columns);
    assert_eq!(focused(&model).as_deref(), Some("b"));
    let first = typed(&mut model, b"\x1b[<0;35;10M");
    assert!(!first.iter().any(|command| matches!(command, Command::Mouse(..))), "{first:?}");
    assert_eq!(focused(&model).as_deref(), Some("a"));
    let second = typed(&mut model, b"\x1b[<0;35;10M");
    assert!(matches!(second.as_slice(), [Command::Mouse(..)]), "{second:?}");
}

#[test]
fn u15_next_visits_blocked_then_failed_then_unseen_the_longest_wait_first() {
    let unseen = |what: &str, since: u64| json!({"unseen": {"what": what, "since": since}});
    let failed = json!({"status": "exited", "pid": null, "exit": {"code": 2, "reason": "exited"},
        "unseen": {"what": "exit", "since": 10}});
    let mut model = model(vec![
        process(1, "done", unseen("turn", 5)),
        process(2, "failed", failed),
        blocked(3, "late", 400),
        blocked(4, "early", 300),
        process(5, "calm", json!({})),
    ]);
    let mut visited = Vec::new();
    for _ in 0..4 {
        typed(&mut model, b"\x1cn");
        visited.extend(focused(&model));
    }
    assert_eq!(visited, ["early", "late", "failed", "done"]);
}

#[test]
fn u15_next_does_nothing_but_a_notice_when_nobody_waits() {
    let mut model = model(vec![process(1, "calm", json!({}))]);
    let deck = model.deck.clone();
    assert!(typed(&mut model, b"\x1cn").is_empty());
    assert_eq!((model.deck, model.toasts[0].text.as_str()), (deck, "nobody needs you"));
}

#[test]
fn u16_the_selection_of_the_rail_follows_its_process_whatever_changes() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let all = (1..).zip(names).map(|(number, name)| process(number, name, agent("working", 0)));
    let mut model = model(all.collect());
    typed(&mut model, b"\x1c\tjj");
    let selected = model.rail.selected.clone();
    assert_eq!(selected, Some(RailItem::Process(ProcessId::from_entropy(3))));
    let states = ["blocked", "idle", "thinking", "working", "error", "waiting"];
    for step in 0..600_usize {
        let number = (step * 7 % names.len()) as u64 + 1;
        let state = states[step * 5 % 11 % states.len()];
        let view = process(number, names[number as usize - 1], agent(state, step as u64));
        update(&mut model, Message::Happened(Event::Changed(Box::new(view))));
        assert_eq!(model.rail.selected, selected);
    }
}

#[test]
fn u18_an_answer_that_came_too_late_is_told_and_the_inbox_is_read_anew() {
    let mut model = model(vec![blocked(1, "fix", 300)]);
    let item: InboxItem =
        serde_json::from_value(json!({"item": 4, "id": ProcessId::from_entropy(1).to_string(),
        "name": "fix", "kind": "dialog", "title": "run?", "body": "rm", "at": 300,
        "options": [{"names": ["allow"], "label": "Yes", "keys": []}]}))
        .unwrap();
    update(&mut model, Message::Happened(Event::ItemOpened(Box::new(item))));
    let commands = typed(&mut model, b"\x1ca1");
    assert!(matches!(commands.as_slice(), [Command::Call(CallFor::Answer(4), _)]), "{commands:?}");
    let stale = Failure::new(ErrorCode::Conflict, "the dialog has changed".to_owned());
    let commands = update(&mut model, Message::Answered(CallFor::Answer(4), Err(stale)));
    assert!(matches!(commands.as_slice(), [Command::Call(CallFor::Inbox, _)]));
    assert!(model.toasts[0].text.contains("has changed"));
}

#[test]
fn u17_what_is_looked_at_for_a_second_is_marked_as_seen_for_every_face() {
    let mut model = model(vec![process(1, "done", json!({"unseen": {"what": "turn", "since": 5}}))]);
    open(&mut model, 1);
    update(&mut model, Message::Resized(Size { cols: 120, rows: 40 }));
    assert!(!sees(&update(&mut model, Message::Tick)));
    model.now.ms += 1_000;
    assert!(sees(&update(&mut model, Message::Tick)));
    assert!(!sees(&update(&mut model, Message::Tick)));
}

#[test]
fn what_is_not_looked_at_stays_unseen() {
    let mut model = model(vec![process(1, "done", json!({"unseen": {"what": "turn", "since": 5}}))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1b[O");
    model.now.ms += 60_000;
    assert!(!sees(&update(&mut model, Message::Tick)));
}

#[test]
fn u22_every_size_is_drawn_without_a_fault() {
    let mut deck = model(vec![process(1, "a", json!({})), blocked(2, "b", 5)]);
    open(&mut deck, 1);
    deck.deck.split(ProcessId::from_entropy(2), Axis::Columns);
    deck.deck.split(ProcessId::from_entropy(1), Axis::Rows);
    let keys = [
        &b""[..],
        b"\x1c ",
        b"\x1ca",
        b"\x1c?",
        b"\x1cw",
        b"\x1cX",
        b"\x1cR",
        b"\x1c\t",
        b"\x1c",
        b"\x1ct",
        b"\x1cC",
        b"\x1cc",
        b"\x1c,",
        b"\x1cp",
        b"\x1cK",
        b"\x1cT",
        b"\x1cm",
        b"\x1c\t.",
        b"\x1cg",
    ];
    let by_keys = keys.into_iter().map(|keys| {
        let mut shown = deck.clone();
        typed(&mut shown, keys);
        shown
    });
    let mut review = deck.clone();
    tasks::reviewed(&mut review);
    let all: Vec<Model> =
        by_keys.chain(lists::LISTS.map(|name| lists::opened(name, "words"))).chain([review]).collect();
    for mut shown in all {
        shown.now.ms += 1_000;
        for cols in (1..=300).step_by(23) {
            for rows in (1..=100).step_by(11) {
                let size = Size { cols, rows };
                update(&mut shown, Message::Resized(size));
                let mut grid = Grid::new(size);
                view::chrome(&shown, &mut grid);
                view::overlays(&shown, &mut grid);
            }
        }
    }
}

#[test]
fn u22_below_the_least_size_only_leaving_acts() {
    let mut model = model(vec![process(1, "a", json!({})), process(2, "b", json!({}))]);
    open(&mut model, 1);
    update(&mut model, Message::Resized(Size { cols: 40, rows: 10 }));
    let (before, tabs) = (model.overlays.len(), model.deck.tabs.len());
    let commands = typed(&mut model, b"ls\r\x1cX\x1cC\x1cx");
    assert!(commands.is_empty(), "{commands:?}");
    assert_eq!((model.overlays.len(), model.deck.tabs.len()), (before, tabs));
    assert!(!typed(&mut model, b"\x1cd").is_empty(), "a person can leave");
}

#[test]
fn u20_a_text_of_any_length_is_pasted_into_a_field_and_drawn() {
    let mut model = model(vec![process(1, "a", json!({}))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1cR");
    let text = "word\t".repeat(30_000);
    typed(&mut model, format!("\x1b[200~{text}\x1b[201~").as_bytes());
    let mut grid = Grid::new(model.size);
    view::overlays(&model, &mut grid);
    assert!(grid.to_text().contains("word word"), "its end is in sight, and a tab parts two words");
}

#[test]
fn a_view_is_closed_and_its_process_is_not() {
    let mut model = model(vec![process(1, "a", json!({}))]);
    open(&mut model, 1);
    let commands = typed(&mut model, b"\x1cx");
    assert_eq!(commands.iter().filter(|command| matches!(command, Command::Call(..))).count(), 0);
    assert!(model.deck.tabs.is_empty() && model.crew.processes.len() == 1);
}

#[test]
fn a_process_is_ended_only_after_a_yes() {
    let mut model = model(vec![process(1, "a", json!({}))]);
    open(&mut model, 1);
    assert!(typed(&mut model, b"\x1cXn").is_empty());
    assert!(model.overlays.is_empty());
    let commands = typed(&mut model, b"\x1cXy");
    assert!(matches!(commands.as_slice(), [Command::Call(CallFor::Nothing, _)]), "{commands:?}");
}

#[test]
fn a_started_process_is_shown_where_it_was_asked_for() {
    let mut model = model(vec![process(1, "a", json!({}))]);
    open(&mut model, 1);
    let view = process(2, "b", json!({}));
    update(&mut model, Message::Happened(Event::Changed(Box::new(view.clone()))));
    let spawned = proto::reply::Spawned {
        id: view.id,
        name: view.name.clone(),
        kind: view.kind,
        status: view.status,
        pid: None,
        run: view.run,
        warning: None,
        shortfalls: Vec::new(),
    };
    let what = CallFor::Start(Placement::Split(Axis::Rows));
    update(&mut model, Message::Answered(what, Ok(proto::Reply::Spawned(spawned))));
    assert_eq!((model.deck.tabs.len(), model.places().len(), focused(&model).as_deref()), (1, 2, Some("b")));
}

#[test]
fn u25_the_palette_finds_a_process_and_opens_it() {
    let mut model = model(vec![process(1, "web", json!({})), process(2, "worker", json!({}))]);
    typed(&mut model, b"\x1c wor\r");
    assert_eq!(focused(&model).as_deref(), Some("worker"));
    assert!(model.overlays.is_empty());
}

#[test]
fn u5_with_a_hundred_idle_processes_nothing_is_due() {
    let all = (1..=100).map(|number| process(number, &format!("p{number}"), agent("idle", 0)));
    let mut model = model(all.chain([process(101, "web", json!({}))]).collect());
    open(&mut model, 1);
    // A server is asked for its ports a few times; then there is no more to wait for.
    let mut turns = 0;
    while let Some(due) = model.next_deadline() {
        model.now.ms = due;
        update(&mut model, Message::Tick);
        turns += 1;
        assert!(turns < 10, "{due}");
    }
}

#[test]
fn u5_a_tick_that_changes_nothing_draws_nothing() {
    use crate::frame::encode::ChangedRows;
    let all = (1..=100).map(|number| process(number, &format!("p{number}"), agent("idle", 0)));
    let mut model = model(all.collect());
    open(&mut model, 1);
    let mut encoder = crate::frame::Encoder::new(crate::frame::ColorDepth::True);
    let mut grid = Grid::new(model.size);
    let mut bytes = Vec::new();
    for _ in 0..2 {
        bytes.clear();
        view::chrome(&model, &mut grid);
        view::overlays(&model, &mut grid);
        encoder.encode(&grid, &ChangedRows::All, &mut bytes);
        update(&mut model, Message::Tick);
    }
    assert!(bytes.is_empty(), "{}", bytes.escape_ascii());
}

#[test]
fn a_split_offers_something_new_first_and_nothing_that_is_there() {
    let mut model = model(vec![process(1, "web", json!({})), process(2, "api", json!({}))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1cv");
    let Some(Overlay::Palette(palette)) = model.overlays.last() else { panic!("no palette") };
    let texts: Vec<String> = palette.entries(&model).into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["shell", "command…", "api"]);
}

#[test]
fn a_setting_is_changed_in_the_deck_and_the_recorder_takes_no_key_that_programs_need() {
    let mut model = model(Vec::new());
    let commands = typed(&mut model, b"\x1c,jl");
    assert_eq!(commands, [Command::KeepSetting("glyphs", "'ascii'".to_owned())]);
    typed(&mut model, b"jjjjj\r");
    assert!(matches!(model.overlays.last(), Some(Overlay::Recorder(_))));
    // Neither a letter nor Ctrl-C can be it, and the prefix that there is can be pressed too.
    assert!(typed(&mut model, b"a\r\x03\r").is_empty());
    typed(&mut model, b"\x1c");
    assert_eq!(typed(&mut model, b"\x1d\r"), [Command::KeepSetting("prefix", "'Ctrl-]'".to_owned())]);
}

#[test]
fn a_deck_inside_a_process_knows_nothing_of_that_process() {
    let place = Place { own: Some(ProcessId::from_entropy(1)), ..Place::default() };
    let mut model = Model::new(Size { cols: 120, rows: 40 }, Config::default().looks, place);
    open(&mut model, 1);
    update(&mut model, Message::Connected(vec![process(1, "own", json!({})), process(2, "web", json!({}))]));
    let own = process(1, "own", json!({}));
    update(&mut model, Message::Happened(Event::Changed(Box::new(own))));
    assert_eq!(model.crew.processes.len(), 1);
    assert!(model.deck.tabs.is_empty());
}

#[test]
fn nothing_but_the_person_opens_something_over_the_deck() {
    let mut model = model(vec![blocked(1, "fix", 300)]);
    let view = process(2, "late", json!({"unseen": {"what": "turn", "since": 5}}));
    update(&mut model, Message::Happened(Event::Changed(Box::new(view))));
    update(&mut model, Message::Disconnected("gone".to_owned()));
    assert!(model.overlays.is_empty());
    typed(&mut model, b"\x1c?");
    assert!(matches!(model.overlays.as_slice(), [Overlay::Help(_)]));
}

#[test]
fn a_pad_is_edited_and_written_with_the_revision_that_was_read() {
    use proto::request::{Pad, PadAct};
    let mut model = model(Vec::new());
    let text = json!({"text": {"name": "plan", "content": "one\n", "revision": 7, "author": "human"}});
    let reply = proto::Reply::Pad(serde_json::from_value(text).unwrap());
    update(&mut model, Message::Answered(CallFor::PadText, Ok(reply)));
    let commands = typed(&mut model, b"E");
    let [Command::Edit(what, text)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(text, "one\n");
    let what = what.clone();
    assert!(
        update(&mut model, Message::Edited(what.clone(), "one\n".to_owned())).is_empty(),
        "it is as it was"
    );
    let commands = update(&mut model, Message::Edited(what, "two\n".to_owned()));
    let [Command::Call(CallFor::PadWritten(_), request)] = commands.as_slice() else {
        panic!("{commands:?}")
    };
    assert!(
        matches!(&**request, proto::Request::Pad(Pad { act: PadAct::Write { content, expected_revision: Some(7), .. }, .. })
            if content == "two\n"),
        "{request:?}"
    );
}
