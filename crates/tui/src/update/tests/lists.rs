//! Pages, lists and notices: how they look at every size in every theme, and that they stay harmless when every word in
//! them was chosen by somebody hostile. `QD_BLESS=1 cargo test -p tui golden` writes the pictures anew.

use std::fmt::Write;

use proptest::prelude::*;
use proto::task::TaskOutcome;
use proto::{ProcessId, Reply, Size};
use serde_json::{Value, json};

use super::tasks::{DIFF, listed, task};
use super::views::{SIZES, compare, crew, styles};
use super::{blocked, hostile, model, process, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Message};
use crate::model::Model;
use crate::model::rail::RailItem;
use crate::theme::Theme;
use crate::update::update;
use crate::view;

/// Every one of them, by name.
pub(super) const LISTS: [&str; 18] = [
    "pads",
    "pad",
    "timer",
    "row-menu",
    "notices",
    "sessions",
    "messages",
    "viewers",
    "grants",
    "runs",
    "start",
    "search",
    "signal",
    "restore",
    "forecast",
    "review",
    "comment",
    "too-small",
];

fn answer(model: &mut Model, what: CallFor, reply: Reply) {
    update(model, Message::Answered(what, Ok(reply)));
}

fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn task_reply(value: Value) -> Reply {
    Reply::Task(Box::new(made::<TaskOutcome>(value)))
}

/// A deck with pads, timers, presets and earlier runs, all called by these words.
fn with_words(words: &str) -> Model {
    let mut model = crew();
    let lead = ProcessId::from_entropy(1).to_string();
    let pad = json!([{"name": words, "revision": 7, "author": words, "at": 480_000, "bytes": 300}]);
    answer(&mut model, CallFor::Pads, Reply::Pad(proto::pads::PadOutcome::Listed(made(pad))));
    let timer = json!([{"timer": 3, "owner": lead, "owner_name": "lead", "kind": "delay", "status": "armed",
        "label": words, "body": words, "remaining_ms": 240_000}]);
    answer(&mut model, CallFor::Timers, Reply::Timers(made(timer)));
    let presets = json!({"project": {"key": "00", "path": words}, "presets": [{"name": words, "origin": words,
        "argv": ["npm", "run", words], "cwd": words, "trusted": true}]});
    answer(&mut model, CallFor::Presets, Reply::Presets(made(presets)));
    let mut fix = task("fix-login", "idle", &[]);
    fix.runs =
        made(json!([{"process": lead, "name": "fix-login", "kind": "agent", "run": 1, "session": words,
        "started_at": 120_000, "ended_at": 300_000, "prompt": words, "turns": 12}]));
    listed(&mut model, vec![fix, task("api-v2", "done", &[])]);
    model.toasts.clear();
    model
}

/// A deck in which this is open, and every word that somebody else may choose is `words`.
pub(super) fn opened(name: &str, words: &str) -> Model {
    let mut model = with_words(words);
    let lead = ProcessId::from_entropy(1);
    let id = lead.to_string();
    match name {
        "pads" => drop(typed(&mut model, b"\x1cp")),
        "pad" => {
            let content = format!("# {words}\n\n- limit the logins\n- {words}\n");
            let text = json!({"text": {"name": words, "content": content, "revision": 7, "author": words}});
            answer(&mut model, CallFor::PadText, Reply::Pad(made(text)));
        }
        "timer" => {
            (model.rail.has_keys, model.rail.selected) = (true, Some(RailItem::Timer(3)));
            typed(&mut model, b"\r");
        }
        "row-menu" => drop(typed(&mut model, b"\x1c\t.")),
        "notices" => {
            model.toast(format!("{words} is there"));
            model.alert(format!("lead needs you: {words}"), Some(lead));
        }
        "sessions" => drop(typed(&mut model, b"\x1ctr")),
        "messages" => {
            let messages = json!([{"mail": 3, "to": id, "sender": words, "at": 0, "status": "delivered", "turn": 2},
                {"mail": 4, "to": id, "sender": "human", "at": 0, "status": "queued", "reason": words}]);
            answer(&mut model, CallFor::Messages, Reply::Messages(made(messages)));
        }
        "viewers" => {
            let viewers = json!([{"viewer": 7, "id": id, "name": "lead", "by": words, "since": 0,
                "size": {"cols": 80, "rows": 24}}]);
            answer(&mut model, CallFor::Viewers(lead), Reply::Viewers(made(viewers)));
        }
        "grants" => {
            let grants = json!([{"grant": 9, "to": id, "right": "drive", "over": id, "at": 0, "to_name": "lead",
                "over_name": "web"}]);
            answer(&mut model, CallFor::Grants, Reply::Grants(made(grants)));
        }
        "runs" => drop(typed(&mut model, b"\x1c runs have printed\r")),
        "start" => drop(typed(&mut model, b"\x1cc")),
        "search" => drop(typed(&mut model, b"\x1ct/fix")),
        "signal" => drop(typed(&mut model, b"\x1cK")),
        _ => opened_tasks(&mut model, name, words),
    }
    model
}

/// Opens what has to do with tasks.
fn opened_tasks(model: &mut Model, name: &str, words: &str) {
    let keys: &[u8] = match name {
        "restore" => b"\x1ctu",
        "forecast" => b"\x1ctf",
        "review" | "comment" => b"\x1ctd",
        _ => b"",
    };
    typed(model, keys);
    match name {
        "restore" => {
            let dropped = json!({"restorable": [{"name": words, "workspace": "local", "directory": words,
                "branch": words, "dropped_at": 0, "kept_until": 900_000}]});
            answer(model, CallFor::Restorable, task_reply(dropped));
        }
        "forecast" => {
            let conflict = json!({"with": words, "files": [words]});
            let forecast = json!({"forecast": [{"task": "fix-login", "conflict": conflict}]});
            answer(model, CallFor::Forecast, task_reply(forecast));
        }
        "review" | "comment" => {
            let diff = DIFF.replace("new", words).replace("b/f", &format!("b/{words}"));
            let changes = json!({"diff": {"name": "fix-login", "base": words, "files": [], "text": diff}});
            let review = json!({"review": {"name": "fix-login", "comments": [{"number": 1, "file": words, "first": 1,
                "last": 1, "quoted": [words], "text": words, "author": words, "status": "draft"}]}});
            answer(model, CallFor::Changes { opens: true }, task_reply(changes));
            answer(model, CallFor::Changes { opens: true }, task_reply(review));
            let keys: &[u8] = if name == "comment" { b"jjjcSay whom you greet" } else { b"jj" };
            typed(model, keys);
        }
        _ => {}
    }
}

fn picture(model: &Model) -> Grid {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    (0..model.size.rows).for_each(|row| grid.mend_row(row));
    grid
}

fn drawn(name: &str, size: Size, theme: Theme) -> Grid {
    let mut model = opened(name, "plan");
    model.looks.theme = theme;
    update(&mut model, Message::Resized(size));
    picture(&model)
}

#[test]
fn u24_golden_every_page_and_list_looks_as_it_did_at_every_size() {
    for name in LISTS {
        let mut text = String::new();
        let sizes = if name == "too-small" { vec![Size { cols: 48, rows: 12 }] } else { SIZES.to_vec() };
        for size in sizes {
            writeln!(text, "== {size}\n{}", drawn(name, size, Theme::default()).to_text()).unwrap();
        }
        compare(&format!("view-{name}"), &text);
    }
}

#[test]
fn u24_golden_every_page_and_list_has_the_styles_that_it_had_in_every_theme() {
    let size = SIZES[1];
    for name in LISTS.into_iter().filter(|name| *name != "too-small") {
        let mut text = String::new();
        for theme in Theme::ALL {
            writeln!(text, "== {size} {}", theme.word()).unwrap();
            text.push_str(&styles(&drawn(name, size, theme), size.rows));
        }
        compare(&format!("styles-{name}"), &text);
    }
}

#[test]
fn u24_a_name_on_the_wall_is_not_cut_to_say_how_long_somebody_waits() {
    let others = (2..=9).map(|number| process(number, &format!("p{number}"), json!({})));
    let mut model = model([blocked(1, "fix-login", 480_000)].into_iter().chain(others).collect());
    update(&mut model, Message::Resized(Size { cols: 110, rows: 34 }));
    typed(&mut model, b"\x1cw");
    let text = picture(&model).to_text();
    assert!(text.contains(" 1 fix-login ") && text.contains("! blocked "), "{text}");
    assert!(!text.contains("blocked 2m"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 24 } else { 256 }))]

    #[test]
    fn u21_no_text_that_others_choose_drives_the_terminal_from_any_page_or_list(
        words in hostile::words(),
        name in prop::sample::select(&LISTS[..]),
        size in prop::sample::select(&SIZES[..]),
    ) {
        let mut model = opened(name, &words);
        update(&mut model, Message::Resized(size));
        hostile::assert_harmless(&format!("{name}, {words:?}"), &picture(&model));
    }
}

#[test]
fn u21_no_word_in_a_page_or_a_list_puts_an_escape_into_the_stream() {
    for name in LISTS {
        for size in &SIZES[1..] {
            let mut model = opened(name, hostile::HOSTILE);
            update(&mut model, Message::Resized(*size));
            hostile::assert_harmless(name, &picture(&model));
        }
    }
}
