//! Strings that others choose never drive the person's terminal, nor the looks of what is beside them.

use proptest::prelude::*;
use proto::Size;
use proto::event::Event;
use proto::printable::is_hidden;
use serde_json::json;

use super::tasks::{listed, task};
use super::{agent, model, process, typed};
use crate::frame::encode::ChangedRows;
use crate::frame::{ColorDepth, Encoder, Grid};
use crate::message::{CallFor, Message};
use crate::model::Model;
use crate::update::update;
use crate::view;

pub(super) const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}y";

/// Pieces of hostile texts: controls, sequences, marks of direction, what shows nothing, what joins, what is wide.
const PIECES: [&str; 24] = [
    "a",
    "name",
    " ",
    "\u{1b}",
    "\u{1b}[2J",
    "\u{1b}]0;x\u{7}",
    "\u{1b}P",
    "\u{9b}31m",
    "\u{9d}8;;x\u{9c}",
    "\u{7f}",
    "\n",
    "\r",
    "\t",
    "\0",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{ad}",
    "漢",
    "😀",
    "e\u{301}",
    "\u{200d}",
    "\u{fe0f}",
];

/// A text that somebody hostile has chosen, short or very long.
pub(super) fn words() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 1..20);
    (pieces, prop_oneof![4 => Just(1usize), 1 => Just(200)])
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

/// A deck in which somebody hostile has chosen titles, arguments, questions, branches, directories and errors.
fn stained(words: &str) -> Model {
    let mut lead = agent("blocked", 480_000);
    let more = json!({"title": words, "argv": [words], "cwd": words, "failure": words});
    lead.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut model = model(vec![process(1, "web", lead)]);
    model.place.directory = words.to_owned();
    model.deck.open(proto::ProcessId::from_entropy(1));
    let item = serde_json::from_value(json!({"item": 4, "id": proto::ProcessId::from_entropy(1).to_string(),
        "name": "web", "kind": "question", "title": words, "body": words, "at": 300,
        "options": [{"names": [], "label": words, "keys": []}]}))
    .unwrap();
    update(&mut model, Message::Happened(Event::ItemOpened(Box::new(item))));
    let mut branch = task(words, "working", &[1]);
    branch.directory = words.to_owned();
    branch.worktree = serde_json::from_value(json!({"branch": words, "base": words})).unwrap();
    listed(&mut model, vec![branch]);
    let failure = proto::Failure::new(proto::ErrorCode::Internal, words.to_owned());
    update(&mut model, Message::Answered(CallFor::Nothing, Err(failure)));
    model
}

/// Keys that open the views from the deck.
const VIEWS: [&[u8]; 12] = [
    b"", b"\x1c ", b"\x1ca", b"\x1ce", b"\x1ct", b"\x1ctL", b"\x1ctx", b"\x1ctr", b"\x1cw", b"\x1c\t.",
    b"\x1cX", b"\x1cR",
];

fn drawn(model: &Model) -> Grid {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    (0..model.size.rows).for_each(|row| grid.mend_row(row));
    grid
}

#[test]
fn u21_names_titles_and_questions_put_no_escape_into_the_stream() {
    for keys in VIEWS {
        let mut model = stained(HOSTILE);
        typed(&mut model, keys);
        assert_harmless("a view", &drawn(&model));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 24 } else { 256 }))]

    #[test]
    fn u21_no_text_that_others_choose_drives_the_terminal_from_any_view(
        words in words(),
        keys in prop::sample::select(&VIEWS[..]),
        size in prop::sample::select(&[(80u16, 24u16), (60, 16), (200, 50)][..]),
    ) {
        let mut model = stained(&words);
        update(&mut model, Message::Resized(Size { cols: size.0, rows: size.1 }));
        typed(&mut model, keys);
        assert_harmless(&format!("{words:?}"), &drawn(&model));
    }
}

/// Of the strings, the letters may be drawn; what introduces a sequence, turns the reading order or shows nothing may not.
pub(super) fn assert_harmless(what: &str, grid: &Grid) {
    for row in 0..grid.size().rows {
        let is_hostile = |character: char| character.is_control() || is_hidden(character);
        let found = grid.row(row).iter().position(|cell| cell.text.chars().any(is_hostile));
        assert_eq!(found, None, "{what}: row {row} of\n{}", grid.to_text());
    }
    let mut bytes = Vec::new();
    Encoder::new(ColorDepth::True).encode(grid, &ChangedRows::All, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    for hostile in ["\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!text.contains(hostile), "{what}: {text:?}");
    }
    assert_eq!(text.matches("\u{1b}[2J").count(), 1, "{what}: only our own first clearing");
}
