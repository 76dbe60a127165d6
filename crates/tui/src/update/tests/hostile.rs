//! Strings that others choose never drive the person's terminal.

use proto::Size;
use proto::event::Event;
use serde_json::json;

use super::{model, process, typed};
use crate::frame::encode::ChangedRows;
use crate::frame::{ColorDepth, Encoder, Grid};
use crate::message::{CallFor, Message};
use crate::update::update;
use crate::view;

pub(super) const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}y";

#[test]
fn u21_names_titles_and_questions_put_no_escape_into_the_stream() {
    let view =
        process(1, "web", json!({"title": HOSTILE, "argv": [HOSTILE], "cwd": HOSTILE, "failure": HOSTILE}));
    let mut model = model(vec![view]);
    model.place.directory = HOSTILE.to_owned();
    model.deck.open(proto::ProcessId::from_entropy(1));
    let item = serde_json::from_value(json!({"item": 4, "id": proto::ProcessId::from_entropy(1).to_string(),
        "name": "web", "kind": "question", "title": HOSTILE, "body": HOSTILE, "at": 300,
        "options": [{"names": [], "label": HOSTILE, "keys": []}]}))
    .unwrap();
    update(&mut model, Message::Happened(Event::ItemOpened(Box::new(item))));
    let failure = proto::Failure::new(proto::ErrorCode::Internal, HOSTILE.to_owned());
    update(&mut model, Message::Answered(CallFor::Nothing, Err(failure)));
    for keys in [&b""[..], b"\x1c ", b"\x1ca", b"\x1ce"] {
        typed(&mut model, keys);
        let mut grid = Grid::new(Size { cols: 120, rows: 40 });
        view::chrome(&model, &mut grid);
        view::overlays(&model, &mut grid);
        assert_harmless("a view", &grid);
    }
}

/// Of the strings, the letters may be drawn; what introduces a sequence may not.
pub(super) fn assert_harmless(what: &str, grid: &Grid) {
    let mut bytes = Vec::new();
    Encoder::new(ColorDepth::True).encode(grid, &ChangedRows::All, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    for hostile in ["\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!text.contains(hostile), "{what}: {text:?}");
    }
    assert_eq!(text.matches("\u{1b}[2J").count(), 1, "{what}: only our own first clearing");
}
