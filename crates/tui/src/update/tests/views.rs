//! Every view as text at four sizes, and its styles in three themes. `QD_BLESS=1 cargo test -p tui golden` writes them
//! anew; look at the difference before it is committed.

use std::fmt::Write;
use std::path::PathBuf;

use proto::Size;
use proto::event::Event;
use serde_json::json;

use super::tasks::{listed, task};
use super::{agent, blocked, model, open, process, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::history::HistoryLine;
use crate::model::overlay::Overlay;
use crate::model::splits::Axis;
use crate::theme::Theme;
use crate::update::update;
use crate::view;

pub(super) const SIZES: [Size; 4] = [
    Size { cols: 60, rows: 16 },
    Size { cols: 80, rows: 24 },
    Size { cols: 120, rows: 40 },
    Size { cols: 200, rows: 60 },
];

/// The views by name, with the keys that open them.
const VIEWS: [(&str, &[u8]); 21] = [
    ("welcome", b""),
    ("rail", b"\x1c\t"),
    ("history", b""),
    ("explain", b"\x1ce"),
    ("popup", b""),
    ("menu", b"\x1c"),
    ("palette", b"\x1c "),
    ("split", b"\x1cv"),
    ("inbox", b"\x1ca"),
    ("help", b"\x1c?"),
    ("wall", b"\x1cw"),
    ("settings", b"\x1c,"),
    ("recorder", b"\x1c,jjjjjj\r\x02"),
    ("new-task", b"\x1cCFix the login"),
    ("agent", b"\x1ccagent fake\rFix the login\t "),
    ("end", b"\x1cX"),
    ("tasks", b"\x1ct"),
    ("land", b"\x1ctL"),
    ("drop", b"\x1ctx"),
    ("message", b"\x1cn\x1cm"),
    ("narrow", b""),
];

pub(super) fn crew() -> Model {
    let mut model = model(vec![
        blocked(1, "lead", 480_000),
        process(2, "web", json!({})),
        process(3, "docs", agent("idle", 0)),
    ]);
    let item = serde_json::from_value(json!({"item": 4, "id": proto::ProcessId::from_entropy(1).to_string(),
        "name": "lead", "kind": "dialog", "title": "Run a command?", "body": "rm -rf build && make release",
        "at": 480_000, "options": [{"names": ["allow"], "label": "Yes", "keys": []},
        {"names": ["deny"], "label": "No", "keys": []}]}))
    .unwrap();
    open(&mut model, 2);
    update(&mut model, Message::Happened(Event::ItemOpened(Box::new(item))));
    model.crew.agents = vec!["fake".to_owned()];
    listed(&mut model, vec![task("fix-login", "blocked", &[1]), task("api-v2", "done", &[])]);
    model.toasts.clear();
    model
}

/// The picture of a view at a size, in a theme.
fn picture(name: &str, keys: &[u8], size: Size, theme: Theme) -> Grid {
    let mut model = if name == "welcome" { super::model(Vec::new()) } else { crew() };
    model.looks.theme = theme;
    update(&mut model, Message::Resized(size));
    typed(&mut model, keys);
    match (name, model.deck.focused()) {
        ("history", Some((pane, _))) => {
            let lines = (1..=80).map(|number| line(&format!("compiled {number} of 80"))).collect();
            update(&mut model, Message::Lines { pane, lines, is_alternate: false, search: false });
            typed(&mut model, b"kkVk");
        }
        ("narrow", _) => model.deck.split(proto::ProcessId::from_entropy(1), Axis::Columns),
        ("popup", _) => model.overlays.push(Overlay::Popup(proto::ProcessId::from_entropy(3))),
        _ => {}
    }
    model.now.ms += 1_000;
    let mut grid = Grid::new(size);
    view::chrome(&model, &mut grid);
    view::overlays(&model, &mut grid);
    grid
}

/// A line of a screen, without colours.
fn line(text: &str) -> HistoryLine {
    let mut screen = term::Screen::new(term::GridSize::clamped(80, 1), term::Limits { history_lines: 0 });
    screen.feed(text.as_bytes());
    HistoryLine { cells: screen.row_cells(0), ..HistoryLine::default() }
}

/// Compares a text with the one that is kept.
pub(super) fn compare(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{name}.txt"));
    if std::env::var_os("QD_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{name} has changed; it is now:\n{text}");
}

#[test]
fn every_view_and_page_has_a_picture_that_the_documentation_shows() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let (shown, maker) = (read("tui.md") + &read("tour.md"), read("screens/make.py"));
    for name in VIEWS.map(|(name, _)| name).into_iter().chain(super::lists::LISTS) {
        let name = if name == "notices" { "notice" } else { name };
        assert!(maker.contains(&format!("\"{name}\"")), "docs/screens/make.py makes no {name}");
        for ending in ["png", "txt"] {
            let file = format!("screens/{name}.{ending}");
            assert!(docs.join(&file).exists(), "docs/{file} is missing: run docs/screens/make.py");
        }
        assert!(shown.contains(&format!("screens/{name}.png")), "neither tui.md nor tour.md shows {name}");
    }
}

#[test]
fn u24_golden_every_view_looks_as_it_did_at_every_size() {
    for (name, keys) in VIEWS {
        let mut text = String::new();
        for size in SIZES {
            let grid = picture(name, keys, size, Theme::default());
            writeln!(text, "== {size}\n{}", grid.to_text()).unwrap();
        }
        compare(&format!("view-{name}"), &text);
    }
}

/// The styles of a picture: a letter for each, then the runs of every row; a row like the one above it is a `=`.
pub(super) fn styles(grid: &Grid, rows: u16) -> String {
    let (mut known, mut text, mut above) = (Vec::new(), String::new(), String::new());
    for row in 0..rows {
        let mut runs = String::new();
        let mut last = None;
        for (col, cell) in grid.row(row).iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
            let at = known.iter().position(|style| *style == cell.style).unwrap_or(known.len());
            if at == known.len() {
                known.push(cell.style);
            }
            if last.replace(at) != Some(at) {
                write!(runs, " {col}{}", char::from(b'a' + u8::try_from(at).unwrap())).unwrap();
            }
        }
        writeln!(text, "{}", if runs == above { " =" } else { &runs }).unwrap();
        above = runs;
    }
    for (letter, style) in ('a'..).zip(&known) {
        let mut pen = Vec::new();
        term::write_style(&mut pen, style);
        let pen = String::from_utf8(pen).unwrap();
        writeln!(text, "{letter} {}", pen.trim_start_matches("\x1b[").trim_end_matches('m')).unwrap();
    }
    text
}

#[test]
fn u24_golden_every_view_has_the_styles_that_it_had_in_three_themes() {
    for (name, keys) in VIEWS {
        let mut text = String::new();
        for size in &SIZES[1..] {
            for theme in [Theme::Terminal, Theme::Dark, Theme::Plain] {
                writeln!(text, "== {size} {}", theme.word()).unwrap();
                text.push_str(&styles(&picture(name, keys, *size, theme), size.rows));
            }
        }
        compare(&format!("styles-{name}"), &text);
    }
}

/// The inbox with one permission for this command, as text at 80x24.
fn asked(model: &mut Model, command: &str) -> String {
    let item = serde_json::from_value(json!({"item": 5, "id": proto::ProcessId::from_entropy(1).to_string(),
        "name": "lead", "kind": "permission", "title": "Run a command?", "body": command, "at": 470_000,
        "options": [{"names": ["allow"], "label": "Allow this once and never again without asking me about it first",
        "keys": []}, {"names": ["deny"], "label": "No", "keys": []}]}));
    update(model, Message::Resized(Size { cols: 80, rows: 24 }));
    model.crew.inbox.clear();
    update(model, Message::Happened(Event::ItemOpened(Box::new(item.unwrap()))));
    model.toasts.clear();
    typed(model, b"\x1ca");
    drawn(model)
}

fn drawn(model: &Model) -> String {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    grid.to_text()
}

#[test]
fn u18_the_inbox_hides_nothing_of_a_command_that_is_allowed() {
    let mut model = crew();
    let words: String = (0..30).map(|n| format!("part{n:02};")).collect();
    let seen = asked(&mut model, &words);
    // A part may be broken by the edge: the rows are read one after the other.
    let inside = |line: &str| line.split('│').nth(1).unwrap_or_default().trim().to_owned();
    let whole: String = seen.lines().map(inside).collect();
    assert!((0..30).all(|n| whole.contains(&format!("part{n:02};"))), "{seen}");
    assert!(seen.contains("about it first") && !seen.contains("more lines"), "{seen}");
}

#[test]
fn u18_the_inbox_says_where_an_agent_works_why_it_is_blocked_and_when_an_answer_is_sent() {
    let mut model = crew();
    let mut view = blocked(1, "lead", 480_000);
    let opinion = json!({"source": "screen", "rule": "bash-permission", "state": "blocked", "at": 480_000,
        "counts": true});
    view.agent.as_mut().unwrap().evidence = Some(serde_json::from_value(opinion).unwrap());
    update(&mut model, Message::Happened(Event::Changed(Box::new(view))));
    let seen = asked(&mut model, "make release");
    for words in [
        "! lead  permission",
        "in /p",
        "why blocked: the screen shows it (rule",
        "bash-permission, 2m)",
        "The answer is sent only if this dialog is still",
        "? help",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    assert!(!seen.contains("││"), "one line is enough: {seen}");
}

#[test]
fn u22_below_80_columns_one_pane_is_beside_the_strip_and_the_others_are_counted() {
    let mut model = crew();
    model.deck.split(proto::ProcessId::from_entropy(1), Axis::Columns);
    model.deck.split(proto::ProcessId::from_entropy(3), Axis::Rows);
    assert_eq!(model.places().len(), 3);
    update(&mut model, Message::Resized(Size { cols: 79, rows: 24 }));
    assert_eq!(model.places().len(), 1);
    assert!(drawn(&model).contains("3/3 panes"), "{}", drawn(&model));
    typed(&mut model, b"\x1ck");
    assert!(drawn(&model).contains("2/3 panes"), "{}", drawn(&model));
    update(&mut model, Message::Resized(Size { cols: 80, rows: 24 }));
    assert_eq!(model.places().len(), 3);
}

#[test]
fn the_status_line_says_whose_size_it_is_and_names_no_process_that_is_hidden() {
    let mut model = crew();
    let status = |model: &Model| drawn(model).lines().last().unwrap().to_owned();
    assert!(status(&model).contains("web") && status(&model).contains("x37 yours"), "{}", status(&model));
    let pane = model.deck.focused().unwrap().0;
    let commands = update(&mut model, Message::OtherSize(pane, Some(proto::Size { cols: 120, rows: 40 })));
    let [Command::Call(CallFor::SizeOwner(asked), _)] = commands.as_slice() else { panic!("{commands:?}") };
    let id = proto::ProcessId::from_entropy(2).to_string();
    let viewer = json!([{"viewer": 7, "id": id, "name": "web", "by": "person", "since": 0,
        "size": {"cols": 120, "rows": 40}, "owns_size": true}]);
    let reply = proto::Reply::Viewers(serde_json::from_value(viewer).unwrap());
    update(&mut model, Message::Answered(CallFor::SizeOwner(*asked), Ok(reply)));
    assert!(status(&model).contains("120x40 by person (v7), type to fit"), "{}", status(&model));
    for keys in [&b"\x1ct"[..], b"\x1cw", b"\x1ca"] {
        typed(&mut model, keys);
        assert!(!status(&model).contains("web"), "{}", status(&model));
    }
}

#[test]
fn on_the_wall_enter_types_into_the_tile_until_the_menu_key() {
    let mut model = crew();
    typed(&mut model, b"\x1cw2");
    let Some(Overlay::Wall(wall)) = model.overlays.last() else { panic!("no wall") };
    let chosen = wall.selected.unwrap();
    assert!(typed(&mut model, b"\r").is_empty());
    let commands = typed(&mut model, b"z1\x1b");
    let typed_into: Vec<_> = commands
        .iter()
        .filter_map(|command| match command {
            Command::Type(pane, _) => model.process_of(*pane),
            _ => None,
        })
        .collect();
    assert_eq!(typed_into, [chosen; 3]);
    let tiles = model.places();
    let paced = tiles.iter().filter(|(pane, _)| model.tile_pace_ms(*pane).is_some()).count();
    assert_eq!(paced + 1, tiles.len(), "the others are only looked at");
    assert!(typed(&mut model, b"\x1c").is_empty());
    assert!(matches!(model.overlays.last(), Some(Overlay::Wall(wall)) if wall.typing.is_none()));
    typed(&mut model, b"z");
    assert!(model.overlays.is_empty());
    assert_eq!(model.deck.focused().map(|(_, process)| process), Some(chosen));
}

#[test]
fn on_the_wall_a_lone_last_tile_keeps_its_width_and_what_fits_is_counted() {
    let mut model = model((1..=7).map(|number| process(number, &format!("p{number}"), json!({}))).collect());
    typed(&mut model, b"\x1cw");
    let places = model.places();
    assert!(places[6].1.cols < model.areas().deck.cols / 2, "{places:?}");
    assert!(drawn(&model).contains("WALL 7/7"));
    typed(&mut model, b"---");
    assert!(drawn(&model).contains("WALL 6/7"), "{}", drawn(&model));
}

#[test]
fn u18_a_question_longer_than_the_window_says_so_and_every_line_of_it_can_be_shown() {
    let mut model = crew();
    let lines: String = (0..60).map(|n| format!("line {n:02}.\n")).collect();
    let mut seen = asked(&mut model, &lines);
    assert!(seen.contains("0 more lines above") && !seen.contains("line 59."), "{seen}");
    let mut all = seen.clone();
    for _ in 0..12 {
        typed(&mut model, b"\x04");
        seen = drawn(&model);
        all.push_str(&seen);
        assert!(seen.contains("1  Allow this once"), "the answers stay in sight: {seen}");
    }
    assert!(seen.contains("0 below") && seen.contains("line 59."), "{seen}");
    assert!((0..60).all(|n| all.contains(&format!("line {n:02}."))), "{all}");
}
