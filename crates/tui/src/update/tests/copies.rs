//! Facts about programs that write the clipboard: none may as shipped, and the one that has the keyboard if the person says so.

use serde_json::json;

use super::{model, process, typed};
use crate::message::{Command, Message};
use crate::model::Model;
use crate::model::splits::{Axis, PaneId};
use crate::update::update;

/// A deck with two panes; the second one has the keyboard.
fn two_panes() -> (Model, PaneId, PaneId) {
    let mut model = model(vec![process(1, "one", json!({})), process(2, "two", json!({}))]);
    model.deck.open(proto::ProcessId::from_entropy(1));
    let other = model.deck.focused().unwrap().0;
    model.deck.split(proto::ProcessId::from_entropy(2), Axis::Columns);
    let focused = model.deck.focused().unwrap().0;
    (model, focused, other)
}

fn copies(model: &mut Model, pane: PaneId, bytes: &[u8]) -> Vec<Command> {
    update(model, Message::ChildCopies(pane, bytes.to_vec()))
}

#[test]
fn c6_only_the_program_that_has_the_keyboard_copies_and_only_if_the_person_allows_it() {
    let (mut model, focused, other) = two_panes();
    assert_eq!(copies(&mut model, focused, b"x"), [], "as shipped");
    model.looks.clipboard.has_children = true;
    assert_eq!(
        copies(&mut model, focused, b"x"),
        [Command::CopyFor("two".to_owned(), "x".to_owned())],
        "the focused one"
    );
    assert_eq!(model.register, "", "the deck's own register is the person's");
    assert_eq!(copies(&mut model, other, b"x"), [], "one beside it");
    assert_eq!(copies(&mut model, focused, b""), [], "nothing");
    typed(&mut model, b"\x1c\t");
    assert_eq!(copies(&mut model, focused, b"x"), [], "the rail has the keys");
    typed(&mut model, b"\x1b");
    typed(&mut model, b"\x1cw");
    assert_eq!(copies(&mut model, focused, b"x"), [], "the wall has the keys");
    typed(&mut model, b"\x1b");
    assert_eq!(copies(&mut model, focused, b"x").len(), 1);
    typed(&mut model, b"\x1b[O");
    assert_eq!(copies(&mut model, focused, b"x"), [], "the person looks elsewhere");
}

#[test]
fn c6_a_copy_of_a_program_has_at_most_64_kib_and_the_person_hears_of_a_longer_one() {
    let (mut model, focused, _) = two_panes();
    model.looks.clipboard.has_children = true;
    assert_eq!(copies(&mut model, focused, &vec![b'x'; 64 << 10]).len(), 1);
    assert_eq!(copies(&mut model, focused, &vec![b'x'; (64 << 10) + 1]), []);
    assert_eq!(model.toasts[0].text, "two wanted to copy 65537 bytes: more than 65536");
}
