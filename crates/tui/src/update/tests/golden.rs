//! Whole pictures, kept as text with their styles. `QD_BLESS=1 cargo test -p tui golden` writes them anew; look at the
//! difference before it is committed.

use std::fmt::Write;
use std::path::PathBuf;

use proto::{ProcessId, Size};
use serde_json::json;

use super::tasks::{listed, reviewed, task};
use super::{agent, model, process, typed};
use crate::frame::Grid;
use crate::message::Message;
use crate::model::Model;
use crate::model::splits::Axis;
use crate::theme::Theme;
use crate::update::update;
use crate::view;

const SIZES: [Size; 3] =
    [Size { cols: 80, rows: 24 }, Size { cols: 120, rows: 40 }, Size { cols: 200, rows: 60 }];
const THEMES: [Theme; 5] = [Theme::Terminal, Theme::Dark, Theme::Light, Theme::HighContrast, Theme::Plain];

/// A crew with one of everything.
fn crew() -> Model {
    let child = json!({"parent": ProcessId::from_entropy(1).to_string()});
    let mut tests = agent("working", 0);
    tests.as_object_mut().unwrap().extend(child.as_object().unwrap().clone());
    let failed = json!({"status": "exited", "pid": null, "exit": {"code": 1, "reason": "exited"}});
    let mut model = model(vec![
        process(1, "lead", agent("blocked", 480_000)),
        process(2, "tests", tests),
        process(3, "web", json!({})),
        process(4, "worker", failed),
        process(5, "shell", json!({"kind": "terminal"})),
    ]);
    model.crew.ports.insert(ProcessId::from_entropy(3), vec![5173]);
    model.deck.open(ProcessId::from_entropy(1));
    model.deck.split(ProcessId::from_entropy(3), Axis::Columns);
    model.deck.split(ProcessId::from_entropy(5), Axis::Rows);
    model
}

fn picture(model: &Model) -> String {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    let mut text = String::new();
    for row in 0..model.size.rows {
        let cells = grid.row(row);
        let line: String = cells.iter().map(|cell| cell.text.as_str()).collect();
        writeln!(text, "{}", line.trim_end()).unwrap();
        let mut start = 0;
        while start < cells.len() {
            let style = cells[start].style;
            let length = cells[start..].iter().take_while(|cell| cell.style == style).count();
            let mut pen = Vec::new();
            term::write_style(&mut pen, &style);
            let pen = String::from_utf8(pen).unwrap();
            write!(text, " {start}:{}", pen.trim_start_matches("\x1b[").trim_end_matches('m')).unwrap();
            start += length;
        }
        text.push('\n');
    }
    text
}

/// Compares the pictures of a model at three sizes in its themes with those that are kept.
fn compare(what: &str, prepared: impl Fn() -> Model) {
    for size in SIZES {
        for theme in THEMES {
            let mut model = prepared();
            let name = format!("{what}-{size}-{}.txt", theme.word());
            model.looks.theme = theme;
            update(&mut model, Message::Resized(size));
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(&name);
            let drawn = picture(&model);
            if std::env::var_os("QD_BLESS").is_some() {
                std::fs::write(&path, &drawn).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(kept == drawn, "{name} has changed; it is now:\n{drawn}");
        }
    }
}

/// Tasks in every kind of state.
fn tasks() -> Model {
    let mut model = crew();
    typed(&mut model, b"\x1ct");
    let mut conflict = task("bump-deps", "conflict", &[]);
    conflict.conflicts = vec![proto::task::TaskConflict {
        with: "api-v2".to_owned(),
        is_base: false,
        files: vec!["Cargo.lock".to_owned()],
    }];
    let mut elsewhere = task("site", "working", &[2]);
    elsewhere.workspace = "web".to_owned();
    let merged = task("cleanup", "merged", &[]);
    listed(
        &mut model,
        vec![task("fix-login", "blocked", &[1]), task("api-v2", "done", &[]), elsewhere, conflict, merged],
    );
    model
}

#[test]
fn u24_the_deck_looks_as_it_did_at_three_sizes_in_every_theme() {
    compare("deck", crew);
}

#[test]
fn u24_the_deck_in_ascii_has_no_other_character_and_looks_as_it_did() {
    let ascii = || {
        let mut model = crew();
        model.looks.is_ascii = true;
        model
    };
    compare("deck-ascii", ascii);
    let mut grid = Grid::new(SIZES[0]);
    let mut model = ascii();
    update(&mut model, Message::Resized(SIZES[0]));
    view::chrome(&model, &mut grid);
    assert!(grid.to_text().is_ascii(), "{}", grid.to_text());
}

#[test]
fn u24_tasks_and_review_look_as_they_did_at_three_sizes_in_every_theme() {
    compare("tasks", tasks);
    compare("review", || {
        let mut model = crew();
        reviewed(&mut model);
        model
    });
}
