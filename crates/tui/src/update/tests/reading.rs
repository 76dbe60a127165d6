//! Facts about what is read over the deck, and about keys that a window does not know.

use serde_json::json;

use super::{agent, model, open, process, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::update::update;
use crate::view;

fn two() -> Model {
    let mut model = model(vec![process(1, "web", json!({})), process(2, "fix", agent("idle", 0))]);
    open(&mut model, 1);
    model
}

fn shown(model: &Model) -> String {
    let mut grid = Grid::new(model.size);
    view::overlays(model, &mut grid);
    grid.to_text()
}

fn read_pad(model: &mut Model) {
    let text = json!({"text": {"name": "plan", "content": "one\n", "revision": 7, "author": "human"}});
    let reply = proto::Reply::Pad(serde_json::from_value(text).unwrap());
    update(model, Message::Answered(CallFor::PadText, Ok(reply)));
}

#[test]
fn a_key_that_a_window_does_not_know_closes_nothing_and_reaches_no_program() {
    let windows: [(&str, &[u8]); 9] = [
        ("help", b"\x1c?"),
        ("an explanation", b"\x1ce"),
        ("a scratchpad", b""),
        ("a question", b"\x1cX"),
        ("the settings", b"\x1c,"),
        ("the inbox", b"\x1ca"),
        ("the tasks", b"\x1ct"),
        ("the wall", b"\x1cw"),
        ("the history", b"\x1c["),
    ];
    for (name, keys) in windows {
        let mut model = two();
        for command in typed(&mut model, keys) {
            if let Command::Lines { pane, search } = command {
                let lines = super::mouse::lines("text");
                update(&mut model, Message::Lines { pane, lines, is_alternate: false, search });
            }
        }
        if keys.is_empty() {
            read_pad(&mut model);
        }
        assert_eq!(model.overlays.len(), 1, "{name}");
        let done = typed(&mut model, "ö~\x1b[20~\x1b[Z\x01".as_bytes());
        assert_eq!(model.overlays.len(), 1, "{name}: {:?}", model.toasts);
        assert!(!done.iter().any(|command| matches!(command, Command::Type(..))), "{name}: {done:?}");
        typed(&mut model, b"\x1b[27u");
        assert!(model.overlays.is_empty(), "{name}: Escape leaves");
    }
}

#[test]
fn a_scratchpad_that_is_read_says_how_to_leave_it_when_a_key_does_nothing() {
    let mut model = two();
    read_pad(&mut model);
    assert!(typed(&mut model, b"aecho hello\r").is_empty());
    assert!(model.toasts[0].text.contains("Esc goes back"), "{:?}", model.toasts);
    assert!(shown(&model).contains("plan"), "{}", shown(&model));
}

#[test]
fn the_list_of_keys_is_filtered_and_what_is_typed_for_that_reaches_no_program() {
    let mut model = two();
    assert!(typed(&mut model, b"\x1c?/zoom").is_empty());
    let text = shown(&model);
    assert!(text.contains("filter: zoom") && text.contains("IN WALL"), "{text}");
    assert!(!text.contains("scratchpads") && !text.contains("goes to the program"), "{text}");
    // Enter keeps the filter; Esc has all keys again, and leaves then.
    typed(&mut model, b"\rj");
    assert!(shown(&model).contains("filter: zoom"));
    typed(&mut model, b"\x1b[27u");
    assert!(shown(&model).contains("goes to the program") && !shown(&model).contains("filter: "));
    typed(&mut model, b"/no such key");
    assert!(shown(&model).contains("no key has this text"));
    typed(&mut model, b"\x1b[27u\x1b[27u");
    assert!(model.overlays.is_empty());
}
