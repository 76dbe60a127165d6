//! Every view as text, at three sizes. `QD_BLESS=1 cargo test -p tui golden` writes them anew; look at the difference
//! before it is committed.

use std::fmt::Write;
use std::path::PathBuf;

use proto::Size;
use proto::event::Event;
use serde_json::json;

use super::{agent, blocked, model, open, process, typed};
use crate::frame::Grid;
use crate::message::Message;
use crate::model::Model;
use crate::update::update;
use crate::view;

const SIZES: [Size; 4] = [
    Size { cols: 60, rows: 16 },
    Size { cols: 80, rows: 24 },
    Size { cols: 120, rows: 40 },
    Size { cols: 200, rows: 60 },
];

/// The views by name, with the keys that open them.
const VIEWS: [(&str, &[u8]); 10] = [
    ("menu", b"\x1c"),
    ("palette", b"\x1c "),
    ("split", b"\x1cv"),
    ("inbox", b"\x1ca"),
    ("help", b"\x1c?"),
    ("wall", b"\x1cw"),
    ("settings", b"\x1c,"),
    ("recorder", b"\x1c,jjjj\r\x02"),
    ("new-task", b"\x1cCFix the login"),
    ("end", b"\x1cX"),
];

fn crew() -> Model {
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
    model.toasts.clear();
    model
}

#[test]
fn u24_golden_every_view_looks_as_it_did_at_every_size() {
    for (name, keys) in VIEWS {
        let mut text = String::new();
        for size in SIZES {
            let mut model = crew();
            update(&mut model, Message::Resized(size));
            typed(&mut model, keys);
            model.now.ms += 1_000;
            let mut grid = Grid::new(size);
            view::chrome(&model, &mut grid);
            view::overlays(&model, &mut grid);
            writeln!(text, "== {size}\n{}", grid.to_text()).unwrap();
        }
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("view-{name}.txt"));
        if std::env::var_os("QD_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{name} has changed; it is now:\n{text}");
    }
}
