//! How views look in the details that a person stumbles over: forms, marks, lists, the first start.

use std::path::Path;

use proto::{Reply, Request, Size};
use serde_json::json;

use super::tasks::{listed, task, task_made};
use super::{agent, model, open, process, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::palette::Placement;
use crate::theme::{Mark, Role};
use crate::update::update;
use crate::view;

fn drawn(model: &Model) -> Grid {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    grid
}

fn text(model: &Model) -> String {
    drawn(model).to_text()
}

#[test]
fn keys_that_act_without_the_prefix_are_warned_about_where_programs_use_them() {
    let warn = |text: &str| crate::settings_warnings(text, Path::new("/nonexistent"));
    assert!(warn("[keys.deck]\nzoom = 'ctrl-k'\n").is_empty(), "after the prefix any key is free");
    let warned = warn("[keys.direct]\nzoom = 'ctrl-k'\nnext = 'f9'\n");
    assert!(
        matches!(warned.as_slice(), [one] if one.contains("Ctrl-K") && one.contains("delete text")),
        "{warned:?}"
    );
    assert_eq!(warn("[keys.direct]\nnext = 'alt-n'\nzoom = 'x'\n").len(), 2);
}

#[test]
fn a_long_prompt_of_a_new_task_is_shown_in_several_rows_and_its_end_is_in_sight() {
    let mut model = model(Vec::new());
    model.crew.agents = ["fake", "other", "third"].map(str::to_owned).to_vec();
    model.place.project = "/home/ana/acme".to_owned();
    let words: Vec<String> = (0..20).map(|number| format!("word{number:02}")).collect();
    typed(&mut model, format!("\x1cC{}", words.join(" ")).as_bytes());
    let shown = text(&model);
    assert!(words.iter().all(|word| shown.contains(word)), "no word is broken: {shown}");
    for words in ["< fake >   other third", "in a new worktree of acme", "[ ] stay here"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    typed(&mut model, b"\t\t\t\t\t ");
    assert!(text(&model).contains("in /home/ana/acme"), "{}", text(&model));
    // A prompt longer than its rows shows where the cursor is.
    typed(&mut model, b"\x1b[Z\x1b[Z\x1b[Z\x1b[Z\x1b[Z");
    typed(&mut model, format!("{} END", "more ".repeat(80)).as_bytes());
    assert!(text(&model).contains("END"), "{}", text(&model));
}

#[test]
fn a_new_task_whose_maker_stays_is_started_in_the_background() {
    let mut model = model(Vec::new());
    model.crew.agents = vec!["fake".to_owned()];
    typed(&mut model, b"\x1cCFix it\x1b[A\x1b[A ");
    let commands = typed(&mut model, b"\x13");
    let what = commands.iter().find_map(|command| match command {
        Command::Call(what @ CallFor::TaskMade { .. }, _) => Some(what.clone()),
        _ => None,
    });
    assert_eq!(what, Some(task_made(true, true)));
    let created = json!({"created": {"task": serde_json::to_value(task("fix-it", "idle", &[])).unwrap()}});
    let reply = Reply::Task(Box::new(serde_json::from_value(created).unwrap()));
    let commands = update(&mut model, Message::Answered(what.unwrap(), Ok(reply)));
    let is_background = |command: &Command| {
        matches!(command, Command::Call(CallFor::Start(Placement::Background), request)
            if matches!(**request, Request::Spawn(_)))
    };
    assert!(commands.iter().any(is_background), "{commands:?}");
}

#[test]
fn the_preparation_of_a_worktree_says_whether_it_needs_approval() {
    let mut model = model(Vec::new());
    model.place.preparation.commands = vec!["npm ci".to_owned()];
    typed(&mut model, b"\x1cC");
    assert!(text(&model).contains("npm ci   (trusted, because you start it)"), "{}", text(&model));
    model.place.own = Some(proto::ProcessId::from_entropy(9));
    assert!(text(&model).contains("npm ci   (needs approval)"), "{}", text(&model));
}

#[test]
fn the_state_of_an_agent_is_explained_in_sentences() {
    let view = process(1, "lead", agent("blocked", 480_000));
    let mut model = model(vec![view.clone()]);
    let explanation = json!({"id": view.id.to_string(), "name": "lead", "agent": serde_json::to_value(&view.agent).unwrap(),
        "opinions": [{"source": "screen", "rule": "ask", "state": "blocked", "at": 480_000, "counts": true}],
        "why": "The screen shows a dialog.", "drifts": 0, "composer": "empty"});
    let reply = Reply::Explanation(Box::new(serde_json::from_value(explanation).unwrap()));
    update(&mut model, Message::Answered(CallFor::Explain, Ok(reply)));
    let shown = text(&model);
    for words in
        ["lead has been blocked for 2m.", "Its composer is empty. No message waits for it.", "  lead has"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn u15_who_asks_is_told_over_the_empty_deck_of_a_terminal_without_focus() {
    let mut model = model(vec![process(1, "a", agent("idle", 0))]);
    typed(&mut model, b"\x1b[O");
    let item = json!({"item": 4, "id": proto::ProcessId::from_entropy(1).to_string(), "name": "a", "kind": "dialog",
        "title": "Delete everything?", "body": "", "at": 0, "options": []});
    let opened = proto::event::Event::ItemOpened(Box::new(serde_json::from_value(item).unwrap()));
    let commands = update(&mut model, Message::Happened(opened));
    assert!(
        matches!(commands.as_slice(), [Command::Notify(words)] if words.starts_with("a needs you")),
        "{commands:?}"
    );
    assert!(text(&model).contains("a needs you: Delete everything?"), "{}", text(&model));
}

#[test]
fn an_empty_field_of_the_land_form_says_what_it_takes() {
    let mut model = model(Vec::new());
    listed(&mut model, vec![task("fix", "done", &[])]);
    typed(&mut model, b"\x1ctL");
    let shown = text(&model);
    assert!(shown.contains("none; a command that must succeed first"), "{shown}");
    assert!(shown.contains("< rebase >   merge"), "{shown}");
    typed(&mut model, b"make\t\t ");
    let shown = text(&model);
    assert!(shown.contains("Check    make") && shown.contains("< merge >   rebase"), "{shown}");
}

#[test]
fn a_shell_that_waits_for_its_person_does_not_count_as_work() {
    let model = model(vec![
        process(1, "sh", json!({"kind": "terminal"})),
        process(2, "web", json!({})),
        process(3, "lead", agent("working", 0)),
    ]);
    let counts = model.crew.counts();
    assert_eq!(counts, [(Mark::Working, 2), (Mark::Idle, 1)]);
}

#[test]
fn the_rail_keeps_a_column_free_at_both_edges_and_changes_of_a_task_are_no_alarm() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    let mut conflict = task("bump", "conflict", &[]);
    conflict.git = Some(
        serde_json::from_value(json!({"added": 4, "removed": 2, "ahead": 1, "behind": 0,
        "staged": 0, "unstaged": 0, "untracked": 0, "conflicted": 0, "directory": true, "merged": false}))
        .unwrap(),
    );
    listed(&mut model, vec![conflict]);
    let grid = drawn(&model);
    let rail = model.areas().rail.unwrap();
    for row in rail.row..rail.bottom() {
        let cells = grid.row(row);
        assert_eq!((cells[0].text.as_str(), cells[usize::from(rail.right()) - 1].text.as_str()), (" ", " "));
    }
    let row = grid.to_text().lines().position(|line| line.contains("+4-2")).unwrap();
    let cells = grid.row(u16::try_from(row).unwrap());
    let at = cells.iter().position(|cell| cell.text.as_str() == "+").unwrap();
    assert_eq!(cells[at].style, model.theme().style(Role::Dim));
}

#[test]
fn the_palette_ends_with_an_entry_or_says_how_many_are_below() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    typed(&mut model, b"\x1c ");
    for rows in 16..40 {
        update(&mut model, Message::Resized(Size { cols: 80, rows }));
        let shown = text(&model);
        let lines: Vec<&str> = shown.lines().collect();
        let end = lines.iter().position(|line| line.contains("Enter choose")).unwrap();
        let inside = |line: &&str| line.rsplit('│').nth(1).unwrap_or_default().trim().to_owned();
        let filled: Vec<String> = lines[..end].iter().map(inside).filter(|line| !line.is_empty()).collect();
        let [.., before, last] = filled.as_slice() else { panic!("{shown}") };
        assert!(last.ends_with("more below"), "{rows}: {shown}");
        assert!(!["SWITCH", "START", "DO"].contains(&before.as_str()), "{shown}");
    }
}

#[test]
fn the_empty_deck_offers_no_process_where_there_is_none_and_worries_nobody() {
    let mut empty = model(Vec::new());
    update(&mut empty, Message::Host(crate::host::input::Answer::Last));
    assert!(
        !text(&empty).contains("Go to a process") && !text(&empty).contains("flicker"),
        "{}",
        text(&empty)
    );
    let model = model(vec![process(1, "web", json!({}))]);
    assert!(text(&model).contains("4  Go to a process"));
}

#[test]
fn a_long_name_of_a_task_has_the_place_of_notes_where_there_are_none_and_is_cut_with_a_sign() {
    let mut model = model(Vec::new());
    update(&mut model, Message::Resized(Size { cols: 80, rows: 24 }));
    typed(&mut model, b"\x1ct");
    let long = task("add-rate-limiting-to-login", "idle", &[]);
    listed(&mut model, vec![long.clone()]);
    let text = drawn(&model).to_text();
    assert!(text.contains("idle      add-rate-limiti… -"), "{text}");
    let mut noted = task("docs", "conflict", &[]);
    noted.conflicts = serde_json::from_value(json!([{"with": "api-v2", "files": []}])).unwrap();
    listed(&mut model, vec![long, noted]);
    let text = drawn(&model).to_text();
    assert!(text.contains("add-rate-lim… -") && text.contains("with a…"), "{text}");
}
