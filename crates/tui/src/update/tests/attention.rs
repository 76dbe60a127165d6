//! Facts about who needs the person, and how the person hears of it.

use proptest::prelude::*;
use proto::event::Event;
use proto::{ProcessId, ProcessView, Request};
use serde_json::json;

use super::{agent, blocked, focused, model, open, process, typed};
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::rail::RailItem;
use crate::update::update;

/// Presses a key so many times; returns what has the keys after each.
fn visited(model: &mut Model, key: &[u8], times: usize) -> Vec<String> {
    let press = |_| {
        typed(model, key);
        focused(model).unwrap()
    };
    (0..times).map(press).collect()
}

fn with_every_need() -> Model {
    let unseen = |what: &str, since: u64| json!({"unseen": {"what": what, "since": since}});
    let quota = json!({"kind": "agent", "state": "waiting", "agent": {"manifest": "m", "state": "waiting", "since": 1,
        "background": 0, "held": false, "turn": 1, "mail": 0, "quota": {"until": 900_000}}});
    let parked = json!({"status": "parked", "pid": null, "active_at": 7});
    let mut model = model(vec![
        process(1, "suggested", json!({})),
        process(2, "quota", quota),
        process(3, "done", unseen("turn", 5)),
        process(4, "parked", parked),
        blocked(5, "blocked", 400),
        process(6, "calm", json!({})),
    ]);
    let by = Some(ProcessId::from_entropy(6));
    update(&mut model, Message::Happened(Event::Selected { id: ProcessId::from_entropy(1), by }));
    model
}

#[test]
fn u15_a_parked_process_comes_with_the_failed_and_quota_and_suggestions_come_last() {
    let mut model = with_every_need();
    open(&mut model, 6);
    let needing: Vec<String> = model.crew.needing().into_iter().map(|(id, _, _)| model.name(id)).collect();
    assert_eq!(needing, ["blocked", "parked", "done", "quota", "suggested"]);
    assert_eq!(visited(&mut model, b"\x1cn", 3), ["blocked", "parked", "done"]);
}

#[test]
fn u15_previous_goes_the_other_way_and_both_go_on_at_the_other_end() {
    let all = |model: &mut Model| {
        *model = super::model((1..=3).map(|number| blocked(number, &format!("b{number}"), number)).collect());
        open(model, 1);
    };
    let mut model = with_every_need();
    all(&mut model);
    assert_eq!(visited(&mut model, b"\x1cn", 4), ["b2", "b3", "b1", "b2"]);
    all(&mut model);
    assert_eq!(visited(&mut model, b"\x1cN", 4), ["b3", "b2", "b1", "b3"]);
}

#[test]
fn there_are_five_notices_at_most_the_newest_first_and_none_twice() {
    let mut model = model(Vec::new());
    for number in 0..9 {
        model.toast(format!("notice {number}"));
    }
    model.toast("notice 6");
    let texts: Vec<&str> = model.toasts.iter().map(|toast| toast.text.as_str()).collect();
    assert_eq!(texts, ["notice 6", "notice 8", "notice 7", "notice 5", "notice 4"]);
}

#[test]
fn what_is_on_the_screen_gets_no_notice_unless_the_person_looks_elsewhere() {
    let ended = |number: u64| Event::TurnEnded { id: ProcessId::from_entropy(number), turn: 1 };
    let mut model =
        model(vec![process(1, "shown", agent("idle", 0)), process(2, "hidden", agent("idle", 0))]);
    open(&mut model, 1);
    update(&mut model, Message::Happened(ended(1)));
    assert!(model.toasts.is_empty(), "{:?}", model.toasts);
    update(&mut model, Message::Happened(ended(2)));
    assert_eq!(model.toasts[0].text, "hidden has ended its turn");
    typed(&mut model, b"\x1b[O");
    update(&mut model, Message::Happened(ended(1)));
    assert_eq!(model.toasts[0].text, "shown has ended its turn");
}

#[test]
fn after_a_gap_in_the_events_everything_is_listed_anew() {
    let mut model = model(vec![process(1, "old", json!({})), process(2, "stays", json!({}))]);
    open(&mut model, 1);
    let commands = update(&mut model, Message::Happened(Event::Resync {}));
    let [Command::Call(what, request)] = commands.as_slice() else { panic!("{commands:?}") };
    assert!(matches!((what, &**request), (CallFor::Nothing, Request::List(_))), "{commands:?}");
    let listed = vec![process(2, "stays", json!({})), process(3, "new", json!({}))];
    let answer = Message::Answered(what.clone(), Ok(proto::Reply::Processes(listed)));
    let commands = update(&mut model, answer);
    let names: Vec<&str> = model.crew.processes.iter().map(|view| view.name.as_str()).collect();
    assert_eq!((names, model.deck.tabs.len()), (vec!["stays", "new"], 0), "a view of what is gone closes");
    let asks = |what: &CallFor| {
        commands.iter().any(|command| matches!(command, Command::Call(other, _) if other == what))
    };
    assert!(
        [CallFor::Inbox, CallFor::Timers, CallFor::Pads, CallFor::Tasks].iter().all(asks),
        "{commands:?}"
    );
}

/// The process whose row is selected; it never goes.
const SELECTED: u64 = 3;
const STATES: [&str; 6] = ["blocked", "idle", "thinking", "working", "error", "waiting"];

#[derive(Clone, Debug)]
enum Step {
    Changed(u64, usize),
    Removed(u64),
    Asked(u64),
    Settled(u64),
    Connected(Vec<u64>),
    Tasks,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..9u64, 0..STATES.len()).prop_map(|(number, state)| Step::Changed(number, state)),
        2 => (1..9u64).prop_map(Step::Removed),
        2 => (1..9u64).prop_map(Step::Asked),
        2 => (1..9u64).prop_map(Step::Settled),
        1 => prop::collection::vec(1..9u64, 0..9).prop_map(Step::Connected),
        1 => Just(Step::Tasks),
    ]
}

fn view(number: u64, state: &str) -> ProcessView {
    process(number, &format!("p{number}"), agent(state, number))
}

fn message(step: &Step) -> Option<Message> {
    let id = |number: u64| ProcessId::from_entropy(number);
    let event = match step {
        Step::Changed(number, state) => Event::Changed(Box::new(view(*number, STATES[*state]))),
        Step::Removed(SELECTED) => return None,
        Step::Removed(number) => Event::Removed { id: id(*number) },
        Step::Asked(number) => {
            let item = json!({"item": number, "id": id(*number).to_string(), "name": format!("p{number}"),
                "kind": "dialog", "title": "run?", "body": "", "at": 1, "options": []});
            Event::ItemOpened(Box::new(serde_json::from_value(item).unwrap()))
        }
        Step::Settled(number) => Event::ItemClosed { item: *number },
        Step::Connected(numbers) => {
            let mut numbers: Vec<u64> = numbers.iter().copied().chain([SELECTED]).collect();
            numbers.sort_unstable();
            numbers.dedup();
            return Some(Message::Connected(
                numbers.into_iter().map(|number| view(number, "idle")).collect(),
            ));
        }
        Step::Tasks => Event::TaskChanged { task: 1, name: "fix".to_owned(), dropped: false },
    };
    Some(Message::Happened(event))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 32 } else { 512 }))]

    #[test]
    fn u16_the_selection_of_the_rail_follows_its_process_through_anything_that_happens(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut model = model((1..=6).map(|number| view(number, "idle")).collect());
        typed(&mut model, b"\x1c\tjj");
        let selected = Some(RailItem::Process(ProcessId::from_entropy(SELECTED)));
        prop_assert_eq!(&model.rail.selected, &selected);
        for step in &steps {
            message(step).into_iter().for_each(|message| drop(update(&mut model, message)));
            prop_assert_eq!(&model.rail.selected, &selected, "after {:?}", step);
        }
    }
}
