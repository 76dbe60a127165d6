//! Records: what is put, replaced, removed and pruned.

use super::*;
use crate::Store;

fn process(id: &str, document: &str) -> Change {
    Change::PutProcess { id: id.into(), document: document.into() }
}

fn run(process: &str, run: u32) -> Change {
    Change::PutRun { process: process.into(), run, document: format!("run {run}") }
}

fn event(number: usize) -> Change {
    Change::Event { at_ms: 1, kind: "output".into(), process: None, document: number.to_string() }
}

fn after(batches: &[&[Change]]) -> Contents {
    let mut store = Store::in_memory().unwrap();
    for batch in batches {
        store.apply(batch).unwrap();
    }
    store.load().unwrap()
}

#[test]
fn putting_a_process_again_replaces_its_document_and_keeps_its_runs() {
    let contents = after(&[&[process("p_1", "old"), run("p_1", 1)], &[process("p_1", "new")]]);
    assert_eq!(contents.processes, [("p_1".into(), "new".into())]);
    assert_eq!(contents.runs, [("p_1".into(), 1, "run 1".into())]);
}

#[test]
fn removing_a_process_removes_its_runs_and_no_others() {
    let put = [process("p_1", "a"), process("p_2", "b"), run("p_1", 1), run("p_1", 2), run("p_2", 1)];
    let contents = after(&[&put, &[Change::RemoveProcess { id: "p_1".into() }]]);
    assert_eq!(contents.processes, [("p_2".into(), "b".into())]);
    assert_eq!(contents.runs, [("p_2".into(), 1, "run 1".into())]);
}

#[test]
fn removing_runs_keeps_the_process() {
    let contents =
        after(&[&[process("p_1", "a"), run("p_1", 1)], &[Change::RemoveRuns { process: "p_1".into() }]]);
    assert_eq!(contents.processes.len(), 1);
    assert_eq!(contents.runs, []);
}

#[test]
fn removing_what_is_not_there_is_no_error() {
    let removals = [Change::RemoveProcess { id: "p_1".into() }, Change::RemoveRuns { process: "p_1".into() }];
    assert_eq!(after(&[&removals, &[]]), Contents::default());
}

#[test]
fn within_a_batch_a_run_may_come_before_its_process() {
    assert_eq!(after(&[&[run("p_1", u32::MAX), process("p_1", "a")]]).runs.len(), 1);
}

#[test]
fn a_run_without_a_process_refuses_its_whole_batch() {
    let mut store = Store::in_memory().unwrap();
    assert!(store.apply(&[process("p_1", "a"), run("p_2", 1)]).is_err());
    assert_eq!(store.load().unwrap(), Contents::default());
    store.apply(&[process("p_1", "a")]).unwrap();
}

fn mail(id: i64, document: &str) -> Change {
    Change::PutMail { id, document: document.into() }
}

fn turn(process: &str, turn: i64, document: &str) -> Change {
    Change::PutTurn { process: process.into(), turn, document: document.into() }
}

#[test]
fn mail_is_put_replaced_and_forgotten_in_the_order_of_its_numbers() {
    let put = [mail(10, "ten"), mail(9, "nine"), mail(i64::MAX, "last")];
    let contents =
        after(&[&put, &[mail(9, "new"), Change::RemoveMail { id: 10 }, Change::RemoveMail { id: 1 }]]);
    assert_eq!(contents.mail, [(9, "new".into()), (i64::MAX, "last".into())]);
}

#[test]
fn a_message_outlives_the_process_it_went_to_and_turns_do_not() {
    let put = [
        process("p_1", "a"),
        process("p_2", "b"),
        mail(1, "to p_1"),
        turn("p_1", 1, "x"),
        turn("p_2", 1, "y"),
    ];
    let contents = after(&[&put, &[Change::RemoveProcess { id: "p_1".into() }]]);
    assert_eq!(contents.mail.len(), 1);
    assert_eq!(contents.turns, [("p_2".into(), 1, "y".into())]);
}

#[test]
fn turns_are_put_replaced_and_forgotten_one_by_one() {
    let put = [turn("p_1", 2, "two"), turn("p_1", 1, "one"), turn("p_1", 3, "three")];
    let change = [turn("p_1", 2, "new"), Change::RemoveTurn { process: "p_1".into(), turn: 1 }];
    let contents = after(&[&put, &change]);
    assert_eq!(contents.turns, [("p_1".into(), 2, "new".into()), ("p_1".into(), 3, "three".into())]);
}

#[test]
fn a_turn_without_a_process_does_not_refuse_its_batch() {
    assert_eq!(after(&[&[turn("p_gone", 1, "x"), process("p_1", "a")]]).processes.len(), 1);
}

#[test]
fn settings_are_replaced_and_any_text_comes_back_as_it_was() {
    let odd = "'; DROP TABLE settings; -- \0 \u{202e} \n é";
    let setting = |value: &str| Change::Setting { key: odd.into(), value: value.into() };
    assert_eq!(after(&[&[setting("1")], &[setting(odd)]]).settings, [(odd.into(), odd.into())]);
}

#[test]
fn the_newest_events_are_kept_and_the_oldest_are_dropped() {
    let mut store = Store::in_memory().unwrap();
    let limit = usize::try_from(EVENT_LIMIT).unwrap();
    let batch: Vec<_> = (1..=limit + 7).map(event).collect();
    store.apply(&batch).unwrap();
    store.apply(&[event(limit + 8)]).unwrap();
    let kept = store.events(0, usize::MAX).unwrap();
    assert_eq!(kept.len(), limit);
    assert_eq!(kept[0].document, "9");
    assert_eq!(kept[limit - 1].document, (limit + 8).to_string());
    assert_eq!(store.events(kept[limit - 3].id, 1).unwrap()[0].id, kept[limit - 2].id);
}
