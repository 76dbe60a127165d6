//! Records: what is put, replaced and removed.

use super::*;
use crate::Store;

fn process(id: &str, document: &str) -> Change {
    Change::PutProcess { id: id.into(), document: document.into() }
}

fn after(batches: &[&[Change]]) -> Contents {
    let mut store = Store::in_memory().unwrap();
    for batch in batches {
        store.apply(batch).unwrap();
    }
    store.load().unwrap()
}

fn stored(process: &str, turn: i64, document: &str) -> StoredTurn {
    StoredTurn { process: process.to_owned(), turn, document: document.to_owned() }
}

#[test]
fn removing_what_is_not_there_is_no_error() {
    let removals = [Change::RemoveProcess { id: "p_1".into() }, Change::RemoveMail { id: 1 }];
    assert_eq!(after(&[&removals, &[]]), Contents::default());
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
fn putting_a_process_again_replaces_its_document_and_keeps_its_turns() {
    let contents = after(&[&[process("p_1", "old"), turn("p_1", 1, "said")], &[process("p_1", "new")]]);
    assert_eq!(contents.processes, [("p_1".into(), "new".into())]);
    assert_eq!(contents.turns, [stored("p_1", 1, "said")]);
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
    assert_eq!(contents.turns, [stored("p_2", 1, "y")]);
}

#[test]
fn turns_are_put_replaced_and_forgotten_one_by_one() {
    let put = [turn("p_1", 2, "two"), turn("p_1", 1, "one"), turn("p_1", 3, "three")];
    let change = [turn("p_1", 2, "new"), Change::RemoveTurn { process: "p_1".into(), turn: 1 }];
    let contents = after(&[&put, &change]);
    assert_eq!(contents.turns, [stored("p_1", 2, "new"), stored("p_1", 3, "three")]);
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
fn the_turns_of_a_process_go_with_it_and_those_of_its_neighbours_stay() {
    let put = [turn("p_1", 1, "a"), turn("p_1", i64::MAX, "b"), turn("p_10", 1, "c"), turn("p_0", 1, "d")];
    let contents = after(&[&put, &[Change::RemoveProcess { id: "p_1".into() }]]);
    assert_eq!(contents.turns, [stored("p_0", 1, "d"), stored("p_10", 1, "c")]);
}
